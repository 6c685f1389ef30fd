//! [`QueueError`]: why the queue cannot be used.

use std::io;
use std::path::PathBuf;

use rusqlite::ErrorCode;

/// Why the queue cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// SQLite says so.
    #[error("the queue {} failed: {source}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// What it says.
        source: rusqlite::Error,
    },
    /// The file system says so.
    #[error("the queue {} cannot be opened: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What it says.
        source: io::Error,
    },
    /// The file system cannot hold a write-ahead log.
    #[error("the queue {} has the journal mode {mode:?} and not \"wal\": keep the state on a local disk (CONTEXTRELAY_STATE_DIR)", path.display())]
    NotWal {
        /// The file.
        path: PathBuf,
        /// What it has instead.
        mode: String,
    },
    /// It did not answer in time. What was asked for may still come.
    #[error("the queue {} did not answer in time", .0.display())]
    Late(PathBuf),
    /// Its writer has failed: nothing is written any more.
    #[error("the queue {} has no writer any more", .0.display())]
    WriterGone(PathBuf),
    /// A later version of ctxrelay wrote it.
    #[error("the queue {} was written by a newer ctxrelay (version {version}): use that one", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        version: usize,
    },
}

impl QueueError {
    /// Whether its file, or the folder of it, may not be written by this user.
    pub fn is_unwritable(&self) -> bool {
        match self {
            Self::Sqlite { source, .. } => matches!(
                source.sqlite_error_code(),
                Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied)
            ),
            Self::Io { source, .. } => source.kind() == io::ErrorKind::PermissionDenied,
            _ => false,
        }
    }

    /// Whether the file itself is at fault, so that an empty one is of more use.
    pub(super) fn is_damage(&self) -> bool {
        let Self::Sqlite { source, .. } = self else {
            return false;
        };
        match source {
            rusqlite::Error::QueryReturnedNoRows
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::FromSqlConversionFailure(..) => true,
            rusqlite::Error::SqliteFailure(error, message) => {
                // Tables that are not the ones the version promises have no code of their own.
                let no_table = error.code == ErrorCode::Unknown
                    && message.as_deref().is_some_and(|message| {
                        message.starts_with("no such") || message.contains("already exists")
                    });
                no_table
                    || matches!(
                        error.code,
                        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase
                    )
            }
            rusqlite::Error::SqlInputError { .. } => true,
            _ => false,
        }
    }
}

/// The error of a file that is at fault.
pub(super) fn damage(what: &str) -> rusqlite::Error {
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
    rusqlite::Error::SqliteFailure(code, Some(what.to_owned()))
}
