//! [`StartError`]: why a daemon did not start, with the next step.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::adapters::port_holder::Holder;
use crate::store::dirs::exists;
use crate::store::ledger::LedgerError;
use crate::store::owner::{NO_LOCKS_HINT, cannot_lock};
use crate::store::queue::QueueError;
use crate::store::write_probe::way_on;
use crate::wire::control::ProgramCode;

/// Why a daemon did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Another process owns the project.
    #[error("another process hosts the daemon of this project")]
    Owned,
    /// The operator killed it, and this is no explicit start.
    #[error("the daemon of this project was killed by the operator")]
    Killed,
    /// The project cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Unwritable {
        path: PathBuf,
        source: std::io::Error,
        /// What names another place instead, where the project has no record yet: one that is there
        /// counts only with what is kept here.
        elsewhere: Option<&'static str>,
    },
    /// The file system has no locks, by which a project has one owner.
    #[error("the file system of {} cannot lock: {source}", path.display())]
    NoLocks {
        path: PathBuf,
        source: std::io::Error,
    },
    /// The named port is taken.
    #[error(
        "port {port} is held by {}",
        holder.as_ref().map_or_else(|| "another program".to_owned(), ToString::to_string)
    )]
    PortTaken {
        port: u16,
        /// Who has it, where that can be told.
        holder: Option<Holder>,
    },
    /// No group of ports is free.
    #[error("no free group of ports from {base} on")]
    NoPorts {
        /// Where the search began.
        base: u16,
    },
    /// The ledger cannot be opened.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The queue cannot be opened.
    #[error("cannot open the queue: {0}")]
    Queue(#[from] QueueError),
    /// The daemon before this one goes on itself.
    #[error("the daemon before this one goes on itself")]
    NotYielded,
    /// The operator's socket cannot be bound.
    #[error("cannot bind {}: {source}", path.display())]
    Socket {
        path: PathBuf,
        source: std::io::Error,
    },
}

/// What of a path is there: what is not cannot be made writable, but the folder that it would be made in.
fn there(path: &Path) -> &Path {
    path.ancestors().find(|path| exists(path)).unwrap_or(path)
}

fn is_registry(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name == "instances.json")
}

impl StartError {
    /// What was to be written there was not, for this reason.
    pub(super) fn unwritten(
        path: PathBuf,
        source: std::io::Error,
        elsewhere: Option<&'static str>,
    ) -> Self {
        match cannot_lock(&source) {
            true => Self::NoLocks { path, source },
            false => Self::Unwritable {
                path,
                source,
                elsewhere,
            },
        }
    }

    /// A stable word for `--json`.
    pub fn code(&self) -> ProgramCode {
        match self {
            Self::Owned => ProgramCode::AlreadyRunning,
            Self::Killed => ProgramCode::Killed,
            Self::Unwritable { .. } | Self::NoLocks { .. } => ProgramCode::Unwritable,
            Self::PortTaken { .. } | Self::NoPorts { .. } => ProgramCode::PortTaken,
            Self::Ledger(_) => ProgramCode::Ledger,
            Self::Queue(_) => ProgramCode::Queue,
            Self::NotYielded => ProgramCode::NotYielded,
            Self::Socket { .. } => ProgramCode::Socket,
        }
    }

    /// The next step.
    pub fn hint(&self) -> String {
        match self {
            Self::Owned => "run `ctxrelay` to attach to it, or `ctxrelay status`".to_owned(),
            Self::Killed => "only the operator can start it again".to_owned(),
            Self::Unwritable {
                path,
                source,
                elsewhere,
            } => {
                let mut hint = way_on(source, there(path));
                if let Some(elsewhere) = elsewhere {
                    hint.push_str(&format!(", or name another folder with {elsewhere}"));
                }
                hint
            }
            Self::NoLocks { path, .. } => match is_registry(path) {
                true => "set CONTEXTRELAY_REGISTRY_DIR to a folder on a local disk".to_owned(),
                false => NO_LOCKS_HINT.to_owned(),
            },
            Self::PortTaken { port, .. } => format!(
                "end the program that holds port {port}, or choose other ports with CODEX_WS_PORT, \
                 CODEX_PROXY_PORT and CONTEXTRELAY_CONTROL_PORT (all three)"
            ),
            Self::NoPorts { .. } => "choose another range with CONTEXTRELAY_PORT_BASE".to_owned(),
            Self::Ledger(LedgerError::NewerSchema(_)) => {
                "start it with the newer ctxrelay; this one only reads the record".to_owned()
            }
            Self::Queue(QueueError::Newer { .. }) => {
                "start it with the newer ctxrelay, or begin a new queue with `ctxrelay queue rebuild \
                 --apply`: what has no proof yet is then sent only by your word"
                    .to_owned()
            }
            Self::Ledger(LedgerError::ForeignOwner { hint, .. }) => hint.clone(),
            Self::Ledger(
                LedgerError::HeadUnwritable { path, source } | LedgerError::Io { path, source, .. },
            ) => way_on(source, there(path)),
            Self::Ledger(LedgerError::NoSpace(path)) => {
                way_on(&ErrorKind::StorageFull.into(), there(path))
            }
            Self::Ledger(LedgerError::ReadOnly(path)) => {
                way_on(&ErrorKind::ReadOnlyFilesystem.into(), there(path))
            }
            Self::Ledger(_) => {
                "see that the session file under .contextrelay/sessions is a plain file of yours"
                    .to_owned()
            }
            Self::Queue(error) if error.is_unwritable() => {
                "make its folder and its files writable for you".to_owned()
            }
            Self::Queue(_) => {
                "see that the disk has room; the queue can be rebuilt from the ledger".to_owned()
            }
            Self::NotYielded => "nothing is to be done; `ctxrelay status` shows it".to_owned(),
            Self::Socket { .. } => "see that its folder is yours and closed to others".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use rustix::io::Errno;

    use super::*;

    #[test]
    fn a_file_system_without_locks_is_named_with_another_place_for_what_needs_them() {
        let told = |path: &str, errno: Errno| {
            let error =
                StartError::unwritten(path.into(), io::Error::from(errno), Some("--project"));
            (error.to_string(), error.hint())
        };
        let (message, hint) = told("/net/plums/.contextrelay/state", Errno::NOLCK);
        let begins = "the file system of /net/plums/.contextrelay/state cannot lock: ";
        assert!(message.starts_with(begins), "{message}");
        assert!(hint.contains("CONTEXTRELAY_STATE_DIR"), "{hint}");
        let (_, hint) = told("/net/home/instances.json", Errno::OPNOTSUPP);
        assert!(hint.contains("CONTEXTRELAY_REGISTRY_DIR"), "{hint}");
        let (message, hint) = told("/no-such-folder/plums/.contextrelay/state", Errno::ACCESS);
        assert!(message.starts_with("cannot write "), "{message}");
        assert!(hint.contains("--project"), "{hint}");
        // It is not there: what can be made writable is.
        assert!(hint.starts_with("make / writable"), "{hint}");
    }
    #[test]
    fn the_next_step_is_of_the_place_that_failed_and_of_how_it_did() {
        let of_folder = |errno: Errno, elsewhere| {
            let source = io::Error::from(errno);
            StartError::unwritten("/no-such-home/instances.json".into(), source, elsewhere).hint()
        };
        let of_ledger = |errno: Errno| {
            let source = Arc::new(io::Error::from(errno));
            let head = LedgerError::HeadUnwritable {
                path: "/no-such-home/heads/plums.json".into(),
                source: Arc::clone(&source),
            };
            let io = LedgerError::Io {
                doing: "open",
                path: "/no-such-folder/sessions/plums.jsonl".into(),
                source,
            };
            [head, io].map(|error| StartError::Ledger(error).hint())
        };
        for (errno, step) in [
            (Errno::NOSPC, "make room on the disk of / "),
            (Errno::DQUOT, "make room on the disk of / "),
            (Errno::ROFS, "mount the disk of / "),
            (Errno::IO, "see that the disk of / works"),
            (Errno::MFILE, "end programs that nobody needs"),
            (Errno::ACCESS, "make / writable for you"),
        ] {
            let hints = of_ledger(errno);
            for hint in hints.iter().chain([&of_folder(errno, None)]) {
                assert!(hint.starts_with(step), "{errno:?}: {hint}");
                assert!(!hint.contains("another folder"), "{errno:?}: {hint}");
            }
        }
        let hint = of_folder(Errno::ROFS, Some("CONTEXTRELAY_REGISTRY_DIR"));
        assert!(
            hint.ends_with("another folder with CONTEXTRELAY_REGISTRY_DIR"),
            "{hint}"
        );
        let full = StartError::Ledger(LedgerError::NoSpace("/no-such-folder/ledger".into()));
        assert!(full.hint().starts_with("make room on the disk of / "));
    }
}
