//! [`ProgramSearch`]: a program that may be installed, moved or removed at any time.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf, absolute};

/// Where a program is looked for.
#[derive(Debug, Clone)]
pub struct ProgramSearch {
    wanted: PathBuf,
    path: Option<OsString>,
}

impl ProgramSearch {
    /// One by its path, or by its name in the folders of a `PATH`.
    pub fn new(wanted: impl Into<PathBuf>, path: Option<OsString>) -> Self {
        let wanted = wanted.into();
        let is_path = wanted.components().count() > 1;
        let wanted = match absolute(&wanted) {
            Ok(absolute) if is_path => absolute,
            _ => wanted,
        };
        Self { wanted, path }
    }

    /// Its path, or its name.
    pub fn wanted(&self) -> &Path {
        &self.wanted
    }

    /// Where it is now; absolute. Waits for the disk.
    pub fn find(&self) -> Option<PathBuf> {
        if self.wanted.is_absolute() {
            return Some(self.wanted.clone()).filter(|file| is_runnable(file));
        }
        std::env::split_paths(self.path.as_ref()?)
            // A relative folder on PATH would find what lies in the project.
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join(&self.wanted))
            .find(|file| is_runnable(file))
    }
}

fn is_runnable(file: &Path) -> bool {
    file.metadata()
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_program_that_is_installed_moved_or_removed_is_found_where_it_is_now() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
        let [at_first, at_second] = [&first, &second].map(|folder| folder.join("codex"));
        let path = std::env::join_paths([&first, &second]).unwrap();
        let search = ProgramSearch::new("codex", Some(path));
        let named = ProgramSearch::new(&at_first, None);
        let found = || (search.find(), named.find());
        assert_eq!(found(), (None, None));
        for folder in [&first, &second] {
            fs::create_dir(folder).unwrap();
        }
        fs::write(&at_first, "#!/bin/sh\n").unwrap();
        assert_eq!(found(), (None, None), "not executable yet");
        fs::set_permissions(&at_first, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(found(), (Some(at_first.clone()), Some(at_first.clone())));
        fs::rename(&at_first, &at_second).unwrap();
        // One that is named is that one and no other.
        assert_eq!(found(), (Some(at_second.clone()), None));
        fs::remove_file(at_second).unwrap();
        assert_eq!(found(), (None, None));
    }

    #[test]
    fn what_is_no_file_is_no_program_and_a_relative_path_is_of_the_folder_of_now() {
        assert_eq!(ProgramSearch::new("/", None).find(), None);
        let here = std::env::current_dir().unwrap();
        let search = ProgramSearch::new("bin/codex", None);
        assert_eq!(search.wanted(), here.join("bin/codex"));
        let relative = ProgramSearch::new("sh", Some("bin:.".into()));
        assert_eq!(
            (relative.wanted(), relative.find()),
            (Path::new("sh"), None)
        );
    }
}
