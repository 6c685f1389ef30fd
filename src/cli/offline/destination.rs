//! [`Destination`]: the file that an export becomes once it is complete.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::NamedTempFile;

use crate::adapters::left_files::sweep_left;
use crate::cli::exit::Failure;
use crate::store::dirs::{ProjectDirs, exists};
use crate::wire::control::ProgramCode;

/// How a file is called that has not its name yet.
const UNNAMED: &str = ".ctxrelay-export-";

/// One that is younger may not be locked yet.
const BEGUN_FOR: Duration = Duration::from_secs(2);

/// A file without its name yet. Dropped, it is gone; where its process is killed, the next one that
/// begins in the folder removes it.
#[derive(Debug)]
pub(in crate::cli) struct Destination {
    file: NamedTempFile,
    path: PathBuf,
    force: bool,
}

impl Destination {
    /// Begins a file, 0600, in the folder of `path`. With `force` it will take the place of a file
    /// that has that name, or of a link to one or to nothing, and not of what that points to.
    ///
    /// # Errors
    ///
    /// When there is such a file already, or something else of that name; the folder cannot be
    /// written, or it is the record's own.
    pub(in crate::cli) fn open(
        dirs: &ProjectDirs,
        path: &Path,
        force: bool,
    ) -> Result<Self, Failure> {
        let unwritable = |error| unwritable(path, &error);
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        // As it is, and as it is named: nobody's link leads into the record or out of it.
        let real = parent.canonicalize().map_err(unwritable)?;
        let named = std::path::absolute(path).map_err(unwritable)?;
        let relay = dirs.relay.canonicalize().map_err(unwritable)?;
        if real.starts_with(&relay) || named.starts_with(&dirs.relay) {
            return Err(Failure::invalid(
                format!("{} lies among the record's own files", path.display()),
                "name a file outside of .contextrelay",
            ));
        }
        let Some(name) = path.file_name() else {
            return Err(unwritable(io::Error::from(io::ErrorKind::IsADirectory)));
        };
        let path = real.join(name);
        check_place(&path, force)?;
        sweep_left(&real, UNNAMED, |file, age| {
            age >= BEGUN_FOR && file.try_lock().is_ok()
        });
        let file = tempfile::Builder::new()
            .prefix(UNNAMED)
            .tempfile_in(&real)
            .map_err(unwritable)?;
        // Tells the next one that somebody still writes it; without locks it tells by its age.
        let _ = file.as_file().try_lock();
        Ok(Self { file, path, force })
    }

    /// Where it is written to.
    pub(in crate::cli) fn file(&self) -> &File {
        self.file.as_file()
    }

    /// Gives it its name. Returns how long it is, in bytes.
    ///
    /// # Errors
    ///
    /// When somebody else made such a file meanwhile, or the disk fails; nothing is left then.
    pub(in crate::cli) fn keep(self) -> Result<u64, Failure> {
        let path = self.path;
        let sync = |file: &File| -> io::Result<u64> {
            file.sync_all()?;
            Ok(file.metadata()?.len())
        };
        let bytes = sync(self.file.as_file()).map_err(|error| unwritable(&path, &error))?;
        let kept = if self.force {
            self.file.persist(&path)
        } else {
            self.file.persist_noclobber(&path)
        };
        match kept {
            Ok(_) => Ok(bytes),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                Err(in_the_way(&path))
            }
            Err(error) => Err(unwritable(&path, &error.error)),
        }
    }
}

/// Whether a file may have this name. A device or a pipe would be gone, and what waits for it would
/// wait for ever.
fn check_place(path: &Path, force: bool) -> Result<(), Failure> {
    if !exists(path) {
        return Ok(());
    }
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(Failure::state(
            ProgramCode::Exists,
            format!("{} is a folder", path.display()),
            "name a file in it",
        )),
        Ok(found) if !found.is_file() => Err(Failure::state(
            ProgramCode::Exists,
            format!("{} is no plain file", path.display()),
            "name a plain file, or one that is not there; `ctxrelay ledger export` and `ctxrelay capsule \
             handoff` write to standard output without --output",
        )),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unwritable(path, &error)),
        // A link to nothing too.
        _ if force => Ok(()),
        _ => Err(in_the_way(path)),
    }
}

fn in_the_way(path: &Path) -> Failure {
    Failure::state(
        ProgramCode::Exists,
        format!("{} exists already", path.display()),
        "name another file, or add --force",
    )
}

/// An export that cannot be written.
pub(in crate::cli) fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::unwritable(
        path,
        error,
        "see that the folder is there and yours, and that the disk has room",
    )
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn what_a_killed_export_left_goes_with_the_next_one_and_nothing_else_does() {
        let place = tempfile::tempdir().unwrap();
        let dirs = ProjectDirs::new(place.path().join("shop"), None);
        fs::create_dir(&dirs.root).unwrap();
        dirs.create().unwrap();
        let out = place.path().join("out");
        fs::create_dir(&out).unwrap();
        let begun = |name: &str, age: u64| {
            let file = File::create_new(out.join(name)).unwrap();
            let then = SystemTime::now() - Duration::from_secs(age);
            file.set_modified(then).unwrap();
            file
        };
        begun(".ctxrelay-export-left", 60);
        // However long it takes until it is looked at.
        let later = SystemTime::now() + Duration::from_secs(600);
        let young = begun(".ctxrelay-export-young", 0);
        young.set_modified(later).unwrap();
        begun("mine.json", 60);
        let written = begun(".ctxrelay-export-held", 60);
        written.try_lock().unwrap();
        std::os::unix::fs::symlink(out.join("mine.json"), out.join(".ctxrelay-export-link"))
            .unwrap();
        let destination = Destination::open(&dirs, &out.join("new.json"), false).unwrap();
        destination.keep().unwrap();
        let names = fs::read_dir(&out).unwrap();
        let mut names: Vec<_> = names.map(|it| it.unwrap().file_name()).collect();
        names.sort();
        let expected = [
            ".ctxrelay-export-held",
            ".ctxrelay-export-link",
            ".ctxrelay-export-young",
            "mine.json",
            "new.json",
        ];
        assert_eq!(names, expected);
    }
}
