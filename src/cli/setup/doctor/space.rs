//! The check of the free space on the disk.

use super::check::{Check, bad, good, note};
use crate::host::ProjectContext;
use crate::store::config;
use crate::store::dirs::exists;
use crate::store::disk_space::DiskSpace;

/// What the daemon would refuse for want of room.
pub(super) fn check(project: &ProjectContext) -> Check {
    const ID: &str = "disk";
    if !exists(&project.dirs.relay) {
        return note(
            ID,
            "there is no record yet",
            "start with `ctxrelay` or `ctxrelay init`",
        );
    }
    let loaded = config::load(&project.dirs, &project.user_dirs);
    let space = DiskSpace::new(&project.dirs, loaded.config.storage);
    space.measure();
    let figures = space.figures();
    let said = format!(
        "{} MB are free, and long texts take {} of their {} MB",
        figures.free.map_or_else(|| "?".to_owned(), megabytes),
        megabytes(figures.blobs),
        megabytes(figures.quota),
    );
    match space.disk_notice().or_else(|| space.blobs_notice()) {
        None => good(ID, said),
        Some(notice) if space.refuses() => bad(ID, said, notice),
        Some(notice) => note(ID, said, notice),
    }
}

/// In megabytes, rounded down to a tenth below ten: a small quota is nearly used up by what is no whole
/// one.
fn megabytes(bytes: u64) -> String {
    const MEGABYTE: u64 = 1_000_000;
    let (whole, tenth) = (bytes / MEGABYTE, bytes % MEGABYTE * 10 / MEGABYTE);
    match (whole, tenth) {
        (0, 0) if bytes > 0 => "less than 0.1".to_owned(),
        (0..10, 1..) => format!("{whole}.{tenth}"),
        _ => whole.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::megabytes;

    #[test]
    fn what_is_less_than_a_megabyte_is_not_nothing() {
        for (bytes, said) in [
            (0, "0"),
            (1, "less than 0.1"),
            (800_000, "0.8"),
            (999_999, "0.9"),
            (1_000_000, "1"),
            (2_550_000, "2.5"),
            (256_900_000, "256"),
        ] {
            assert_eq!(megabytes(bytes), said);
        }
    }
}
