//! The refusals for callers whose words were not recorded.

use rustix::io::Errno;

use crate::daemon::fault::DaemonFault;
use crate::store::disk_space::SpaceRefusal;
use crate::store::ledger::LedgerError;
use crate::wire::control::{Refusal, RefusalCode};

/// The way on where the record's file was taken away.
pub(in crate::daemon) const GONE_HINT: &str = "put its file back as it was, and it goes on by itself; \
                                               else `ctxrelay kill`, and start again";

/// The refusal of a call for want of room.
pub(in crate::daemon) fn space_refused(refusal: &SpaceRefusal) -> Refusal {
    Refusal::new(refusal.code(), refusal.to_string(), refusal.hint())
}

pub(super) fn folder_lost() -> Refusal {
    Refusal::new(
        RefusalCode::FolderLost,
        "this project's folder was removed or renamed",
        "nothing was recorded; put the folder back, or begin anew with `ctxrelay init`",
    )
}

pub(super) fn overloaded() -> Refusal {
    Refusal::new(
        RefusalCode::Overloaded,
        "the ledger's queue is full",
        "nothing was recorded; try again in a moment",
    )
}

pub(super) fn writer_gone(error: &LedgerError) -> Refusal {
    Refusal::new(
        RefusalCode::WriterGone,
        error.to_string(),
        DaemonFault::HINT,
    )
}

/// The way on where this process or the system has as many files open as it may.
const FILES_HINT: &str = "nothing was recorded, and it goes on by itself once fewer files are open: end programs \
                          that nobody needs, or raise the limit (`ulimit -n`) and start the daemon again";

/// Whether no more files could be opened.
fn has_no_files_left(error: &LedgerError) -> bool {
    let (LedgerError::HeadUnwritable { source, .. } | LedgerError::Io { source, .. }) = error
    else {
        return false;
    };
    let errno = Errno::from_io_error(source);
    errno.is_some_and(|errno| matches!(errno, Errno::MFILE | Errno::NFILE))
}

/// Why an append failed that the writer had taken.
pub(super) fn of_error(error: &LedgerError) -> Refusal {
    let refusal = of_kind(error);
    match has_no_files_left(error) {
        true => Refusal {
            hint: FILES_HINT.to_owned(),
            ..refusal
        },
        false => refusal,
    }
}

fn of_kind(error: &LedgerError) -> Refusal {
    let hint = match error {
        LedgerError::Refused(_) => {
            let hint = "nothing was recorded; say it in fewer words";
            return Refusal::new(RefusalCode::EntryRefused, error.to_string(), hint);
        }
        LedgerError::HeadUnwritable { .. } => {
            let hint = "make that folder writable, or free some space, and say it again";
            return Refusal::new(RefusalCode::HeadUnwritable, error.to_string(), hint);
        }
        LedgerError::NoRoom(refusal) => return space_refused(refusal),
        LedgerError::Gone(_) => GONE_HINT,
        LedgerError::Crowded(_) => {
            "end what else writes there; `ctxrelay ledger verify` tells what it did"
        }
        // These two say themselves that nothing was recorded.
        LedgerError::NoSpace(_) => "once there is room it goes on by itself",
        LedgerError::ReadOnly(_) => "make the project writable, it goes on by itself",
        _ => "nothing was recorded; free space or make the project writable, it goes on by itself",
    };
    Refusal::new(
        RefusalCode::LedgerUnwritable,
        format!("the record could not be written: {error}"),
        hint,
    )
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use super::*;

    #[test]
    fn that_nothing_was_recorded_is_said_once() {
        let path = || "/plums/ledger".into();
        let source = Arc::new(io::Error::from(Errno::IO));
        let (doing, io) = ("write", path());
        for error in [
            LedgerError::NoSpace(path()),
            LedgerError::ReadOnly(path()),
            LedgerError::Io {
                doing,
                path: io,
                source,
            },
        ] {
            let refusal = of_error(&error);
            let said = format!("{}: {}", refusal.message, refusal.hint);
            assert_eq!(said.matches("recorded").count(), 1, "{said}");
            assert!(said.contains("goes on by itself"), "{said}");
        }
    }

    #[test]
    fn files_that_are_all_open_are_no_want_of_room() {
        let hints = |errno: Errno| {
            let source = Arc::new(io::Error::from(errno));
            let head = LedgerError::HeadUnwritable {
                path: "/home/head".into(),
                source: Arc::clone(&source),
            };
            let io = LedgerError::Io {
                doing: "open",
                path: "/plums/ledger".into(),
                source,
            };
            [head, io].map(|error| of_error(&error).hint)
        };
        for errno in [Errno::MFILE, Errno::NFILE] {
            for hint in hints(errno) {
                assert!(hint.contains("ulimit -n"), "{errno:?}: {hint}");
                assert!(!hint.contains("space"), "{errno:?}: {hint}");
            }
        }
        for hint in hints(Errno::IO) {
            assert!(hint.contains("space"), "{hint}");
        }
    }
}
