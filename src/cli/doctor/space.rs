//! The check of the room on the disk.

use super::check::{Check, bad, good, note};
use crate::host::ProjectContext;
use crate::store::config;
use crate::store::dirs::exists;
use crate::store::disk_space::DiskSpace;

/// What the daemon would refuse for want of room.
pub(super) fn check(setting: &ProjectContext) -> Check {
    const ID: &str = "disk";
    if !exists(&setting.dirs.relay) {
        return note(
            ID,
            "there is no record yet",
            "start with `ctxrelay` or `ctxrelay init`",
        );
    }
    let loaded = config::load(&setting.dirs, &setting.user_dirs);
    let space = DiskSpace::new(&setting.dirs, loaded.config.storage);
    space.measure();
    let figures = space.figures();
    let megabytes = |bytes: u64| bytes / 1_000_000;
    let said = format!(
        "{} MB are free, and long texts take {} of their {} MB",
        figures
            .free
            .map_or_else(|| "?".to_owned(), |free| megabytes(free).to_string()),
        megabytes(figures.blobs),
        megabytes(figures.quota),
    );
    match space.disk_notice().or_else(|| space.blobs_notice()) {
        None => good(ID, said),
        Some(notice) if space.refuses() => bad(ID, said, notice),
        Some(notice) => note(ID, said, notice),
    }
}
