//! [`seal`]: archives a closed ledger.

use std::fs;
use std::io;
use std::path::PathBuf;

use crate::dirs::{ProjectDirs, exists, make_private_dir};
use ctxrelay_core::id::SessionId;

use super::file::sync_parent;

/// Moves the ledger of a session to `archives/` and returns its new path. The file keeps its name
/// and its bytes.
///
/// # Errors
///
/// When the id is none, there is no such ledger, or an archive of that name exists already.
pub fn seal(dirs: &ProjectDirs, session: &SessionId) -> io::Result<PathBuf> {
    if !SessionId::is_well_formed(session.as_str()) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{:?} is not a session id", session.as_str()),
        ));
    }
    let from = dirs.ledger(session);
    if !from.symlink_metadata()?.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{} is not a file", from.display()),
        ));
    }
    make_private_dir(&dirs.archives())?;
    let to = dirs.archives().join(format!("{session}.jsonl"));
    if exists(&to) {
        return Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            format!("{} exists already", to.display()),
        ));
    }
    fs::rename(&from, &to)?;
    sync_parent(&to)?;
    sync_parent(&from)?;
    Ok(to)
}
