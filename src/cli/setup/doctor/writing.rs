//! The check that acknowledged entries can be written to their places.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::check::{Check, bad, good, note};
use crate::cli::offline::disk;
use crate::host::ProjectContext;
use crate::store::dirs::exists;
use crate::store::write_probe::{way_on, write_probe};

/// What permissions and figures of the disk do not tell: a quota, a disk without inodes, a folder of
/// its own that is on another disk or is mounted read-only.
pub(super) fn check(project: &ProjectContext) -> Check {
    const ID: &str = "writing";
    let dirs = &project.dirs;
    if !exists(&dirs.relay) {
        return note(
            ID,
            "there is no record yet",
            "start with `ctxrelay` or `ctxrelay init`",
        );
    }
    let ledger = disk::current(project).ok().flatten();
    let ledger = ledger.map(|(_, path)| path).filter(|path| exists(path));
    let record = ledger.as_deref().and_then(Path::parent);
    let folders = [
        record.unwrap_or(&dirs.relay),
        &dirs.relay,
        &dirs.state,
        &project.user_dirs.registry,
    ];
    // What is not there is made when it is needed.
    let there = |folder: &Path| folder.ancestors().find(|it| exists(it)).map(Path::to_owned);
    let folders: Vec<PathBuf> = folders.into_iter().filter_map(there).collect();
    for folder in &folders {
        if let Err(error) = write_probe(folder) {
            let message = format!("nothing can be written in {}: {error}", folder.display());
            return bad(ID, message, next_step(&error, folder));
        }
    }
    // Not opened: a running daemon would notice and read the file again.
    if let Some(path) = ledger
        && let Err(error) = access(&path, Access::WRITE_OK)
    {
        let error = io::Error::from(error);
        let message = format!("the record {} cannot be written: {error}", path.display());
        return bad(ID, message, next_step(&error, &path));
    }
    good(ID, "the record, the state and the registry can be written")
}

fn next_step(error: &io::Error, place: &Path) -> String {
    let mut way_on = way_on(error, place);
    if matches!(
        error.kind(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded
    ) {
        way_on.push_str(": a daemon that runs goes on by itself then");
    }
    way_on
}
