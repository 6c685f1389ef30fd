//! [`SearchError`].

use std::io;
use std::path::PathBuf;

use rusqlite::ErrorCode;

/// Why the index cannot be used. Nothing is lost with it: the ledger has everything.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// A fault of ours; where it was stands in the log.
    #[error("the search failed by a fault of ctxrelay's own")]
    Failed,
    /// Others are served first.
    #[error("too many searches wait")]
    Busy,
    /// SQLite says so.
    #[error("the search index {} failed: {source}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// What it says.
        source: rusqlite::Error,
    },
    /// Little is free on the disk, and the index can be made later.
    #[error("little is free on the disk of the record: the search index waits")]
    LowDisk,
    /// The ledger cannot be read.
    #[error("the record {} cannot be read: {source}", path.display())]
    Ledger {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file system says so.
    #[error("the search index {} cannot be used: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What it says.
        source: io::Error,
    },
    /// The file system cannot hold a write-ahead log, or its beginning failed.
    #[error("the search index {} has the journal mode {mode:?} and not \"wal\"", path.display())]
    NotWal {
        /// The file.
        path: PathBuf,
        /// What it has instead.
        mode: String,
    },
    /// Another version of ctxrelay wrote it, or another program.
    #[error("the search index {} has the version {version}, which is not ours", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        version: i64,
    },
}

impl SearchError {
    /// Whether the fault is in the file, so that a new one helps. A full or failing disk and a
    /// file in use are not mended by throwing the index away.
    pub(super) fn is_damage(&self) -> bool {
        match self {
            Self::Version { .. } => true,
            Self::Sqlite { source, .. } => !matches!(
                source.sqlite_error_code(),
                Some(
                    ErrorCode::DiskFull
                        | ErrorCode::SystemIoFailure
                        | ErrorCode::DatabaseBusy
                        | ErrorCode::DatabaseLocked
                        | ErrorCode::ReadOnly
                        | ErrorCode::PermissionDenied
                        | ErrorCode::CannotOpen
                        | ErrorCode::OutOfMemory
                        | ErrorCode::OperationInterrupted
                )
            ),
            Self::Failed
            | Self::Busy
            | Self::LowDisk
            | Self::Ledger { .. }
            | Self::Io { .. }
            | Self::NotWal { .. } => false,
        }
    }
}
