//! [`LedgerError`]: why a ledger cannot be opened or did not take an entry.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::disk_space::SpaceRefusal;
use crate::head::Heads;

/// Why a ledger cannot be opened or did not accept an entry.
///
/// Cloned into the answer of every append that waited for the same write.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LedgerError {
    /// Another program has the file.
    #[error("{} is in use by another program: {hint}", path.display())]
    ForeignOwner {
        /// The ledger.
        path: PathBuf,
        /// What to do.
        hint: String,
    },
    /// A later version wrote to it.
    #[error("{} was written by a newer ctxrelay: use that version, or move the file to .contextrelay/archives and start again; it can still be read (`ctxrelay ledger list`)", .0.display())]
    NewerSchema(PathBuf),
    /// A folder, a pipe or a device has its name.
    #[error("{} is not a file: move it away and start again", .0.display())]
    NotAFile(PathBuf),
    /// A link has its name.
    #[error("{} is a link, and links in a project are not followed: replace it by the file itself", .0.display())]
    Link(PathBuf),
    /// No permission.
    #[error("{} may not be read or written: give yourself the right to (chmod u+rw)", .0.display())]
    Denied(PathBuf),
    /// The disk is full, or the user's share of it.
    #[error("No space left for {}: nothing of this was recorded; free some space and try again", .0.display())]
    NoSpace(PathBuf),
    /// The file system takes no writes.
    #[error("{} lies on a read-only file system: nothing of this was recorded", .0.display())]
    ReadOnly(PathBuf),
    /// Somebody removed or replaced the file while it was open.
    #[error("{} was removed or replaced while it was open: nothing of this was recorded; put it back as it was, or end the daemon with `ctxrelay kill` and start again", .0.display())]
    Gone(PathBuf),
    /// Somebody else wrote to the file in the same moment.
    #[error("{} was written by somebody else in the same moment: nothing of this was recorded; try again", .0.display())]
    Crowded(PathBuf),
    /// The head outside of the project, with which alone the operator's word counts.
    #[error("{} cannot be written: {source}; what is yours in the record counts only with it, so nothing of this was recorded", path.display())]
    HeadUnwritable {
        /// The head.
        path: PathBuf,
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// Another name leads to the file.
    #[error("{} has another name as well, by which somebody else could write it: replace it by a copy (cp -p FILE FILE.new && mv FILE.new FILE) and start again", .0.display())]
    HardLink(PathBuf),
    /// The disk took longer than a caller can wait.
    #[error("{} did not take an entry in time: it may be recorded yet", .0.display())]
    Late(PathBuf),
    /// So much waits for the disk that nothing more is accepted.
    #[error("{} takes nothing more for now: too much waits for the disk", .0.display())]
    Full(PathBuf),
    /// The writing thread has failed: a fault of ours, after which nothing more is written.
    #[error("{} is no longer written, because of a fault of ctxrelay: what was being recorded may be in it or not", .0.display())]
    WriterGone(PathBuf),
    /// An entry that no reader would accept.
    #[error("an entry cannot be recorded: {0}")]
    Refused(String),
    /// There is no space for another long text; everything else is accepted.
    #[error(transparent)]
    NoRoom(SpaceRefusal),
    /// The disk failed in another way.
    #[error("could not {doing} {}: {source}", path.display())]
    Io {
        /// What was attempted.
        doing: &'static str,
        /// The ledger.
        path: PathBuf,
        /// What the system said.
        source: Arc<io::Error>,
    },
}

impl LedgerError {
    /// Whether the ledger itself takes everything else.
    pub(super) fn is_of_head(&self) -> bool {
        matches!(self, Self::HeadUnwritable { .. })
    }

    /// The head outside cannot be written.
    pub(super) fn head_unwritable(heads: &Heads, source: io::Error) -> Self {
        Self::HeadUnwritable {
            path: heads.path(),
            source: Arc::new(source),
        }
    }

    /// Names what the system said.
    pub(super) fn from_io(doing: &'static str, path: &Path, error: io::Error) -> Self {
        let path = path.to_path_buf();
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::NoSpace(path),
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly(path),
            io::ErrorKind::PermissionDenied => Self::Denied(path),
            io::ErrorKind::IsADirectory => Self::NotAFile(path),
            _ if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
                Self::Link(path)
            }
            _ => Self::Io {
                doing,
                path,
                source: Arc::new(error),
            },
        }
    }
}
