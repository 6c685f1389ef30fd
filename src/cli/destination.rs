//! [`Destination`]: the file that an export becomes, once it is whole.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::cli::exit::Failure;
use crate::store::dirs::{ProjectDirs, exists};

/// A file without its name yet. Dropped, it is gone.
#[derive(Debug)]
pub(in crate::cli) struct Destination {
    file: NamedTempFile,
    path: PathBuf,
    force: bool,
}

impl Destination {
    /// Begins a file, 0600, in the folder of `path`. With `force` it will take the place of what
    /// has that name, a link included and not what it points to.
    ///
    /// # Errors
    ///
    /// When there is such a file already, the folder cannot be written, or it is the record's own.
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
        if exists(&path) && (!force || path.is_dir()) {
            return Err(in_the_way(&path));
        }
        let file = tempfile::Builder::new()
            .prefix(".ctxrelay-export-")
            .tempfile_in(&real)
            .map_err(unwritable)?;
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

fn in_the_way(path: &Path) -> Failure {
    Failure::state(
        "exists",
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
