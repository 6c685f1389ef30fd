//! [`keep`]: saves what a person wrote and could not send when the terminal was lost. It lies
//! outside every project, where nothing is removed when the login ends.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::dirs::{UserDirs, free_name, listed, make_private_dir, write_private};

/// How long a text is kept: longer than a person is away from a project.
const KEPT_FOR: Duration = Duration::from_secs(60 * 24 * 3600);

/// How many are kept, of all projects. Each may be some MiB long.
const FILES_MAX: usize = 32;

/// Writes a text of this project into a file of its own, 0600, and removes those that are too old
/// or too many.
///
/// # Errors
///
/// When it cannot be written.
pub fn keep(user: &UserDirs, instance_id: &str, text: &str) -> io::Result<PathBuf> {
    let folder = user.unsent();
    make_private_dir(&user.registry)?;
    make_private_dir(&folder)?;
    // Several decks of a project may lose their terminals at once.
    let name = format!("{instance_id}-{}.txt", std::process::id());
    let path = free_name(&folder, &name);
    write_private(&path, text.as_bytes())?;
    make_room(&folder);
    Ok(path)
}

/// The latest of this project. Removes those that are too old.
pub fn latest(user: &UserDirs, instance_id: &str) -> Option<PathBuf> {
    make_room(&user.unsent());
    of(user, instance_id).pop()
}

/// Removes all of a project that is no more.
///
/// # Errors
///
/// When one of them cannot be removed.
pub fn forget(user: &UserDirs, instance_id: &str) -> io::Result<()> {
    of(user, instance_id)
        .into_iter()
        .try_for_each(fs::remove_file)
}

/// Whether something of this project is kept.
pub fn is_kept(user: &UserDirs, instance_id: &str) -> bool {
    !of(user, instance_id).is_empty()
}

/// Those of a project, oldest first.
fn of(user: &UserDirs, instance_id: &str) -> Vec<PathBuf> {
    let is_its = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(&format!("{instance_id}-"))
    };
    let files = files(&user.unsent()).into_iter().map(|(_, path)| path);
    files.filter(is_its).collect()
}

fn make_room(folder: &Path) {
    let files = files(folder);
    let surplus = files.len().saturating_sub(FILES_MAX);
    for (at, (written, path)) in files.iter().enumerate() {
        let is_old = written.elapsed().is_ok_and(|age| age > KEPT_FOR);
        if (at < surplus || is_old)
            && let Err(error) = fs::remove_file(path)
        {
            tracing::info!(%error, "an old file is still there");
        }
    }
}

/// Oldest first.
fn files(folder: &Path) -> Vec<(SystemTime, PathBuf)> {
    let found = listed(folder).flatten().filter_map(|file| {
        let about = file.metadata().ok().filter(fs::Metadata::is_file)?;
        Some((about.modified().ok()?, file.path()))
    });
    let mut files: Vec<_> = found.collect();
    files.sort();
    files
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::testing::{Place, mode};

    fn aged(path: &Path, age: Duration) {
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    }

    #[test]
    fn each_text_has_a_file_that_only_the_person_can_read_and_the_latest_is_found() {
        let place = Place::new();
        let user = &place.user;
        assert_eq!(latest(user, "ctx_1"), None);
        let first = keep(user, "ctx_1", "figs\n").unwrap();
        aged(&first, Duration::from_secs(60));
        let second = keep(user, "ctx_1", "plums\n").unwrap();
        aged(&second, Duration::from_secs(30));
        keep(user, "ctx_2", "pears\n").unwrap();
        assert_eq!(latest(user, "ctx_1").as_ref(), Some(&second));
        assert_eq!(latest(user, "ctx_3"), None);
        assert_eq!(fs::read_to_string(&first).unwrap(), "figs\n");
        assert_eq!(mode(&first), 0o600);
        assert_eq!(mode(first.parent().unwrap()), 0o700);
    }

    #[test]
    fn what_is_of_a_project_that_is_no_more_goes_and_what_is_too_old_is_not_named() {
        let place = Place::new();
        let user = &place.user;
        let (gone, other) = ("ctx_1", "ctx_12");
        keep(user, gone, "figs\n").unwrap();
        keep(user, gone, "plums\n").unwrap();
        let left = keep(user, other, "pears\n").unwrap();
        assert!(is_kept(user, gone));
        forget(user, gone).unwrap();
        assert!(!is_kept(user, gone));
        assert_eq!(latest(user, other).as_ref(), Some(&left));
        aged(&left, KEPT_FOR + Duration::from_secs(60));
        assert_eq!(latest(user, other), None);
        assert!(!left.exists());
    }

    #[test]
    fn what_is_too_old_or_too_much_is_removed_when_the_next_is_written() {
        let place = Place::new();
        let user = &place.user;
        let old = keep(user, "ctx_1", "old\n").unwrap();
        aged(&old, KEPT_FOR + Duration::from_secs(60));
        let hour = Duration::from_secs(3600);
        let kept: Vec<_> = (0..)
            .take(FILES_MAX)
            .map(|at| {
                let path = keep(user, "ctx_2", "kept\n").unwrap();
                aged(&path, hour - Duration::from_secs(at));
                path
            })
            .collect();
        assert!(!old.exists());
        assert!(kept.iter().all(|path| path.exists()));
        keep(user, "ctx_1", "one more\n").unwrap();
        let left: Vec<_> = kept.iter().map(|path| path.exists()).collect();
        assert!(
            !left[0] && left[1..].iter().all(|is_there| *is_there),
            "{left:?}"
        );
    }
}
