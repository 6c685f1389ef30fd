//! [`HashedFile`]: a file that is written piece by piece, and whose digest is known before it is
//! put in place.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use crate::dirs::{beside, take_place};
use ctxrelay_core::hex::hex;

/// What replaces the file at a path, 0600, once it is whole.
#[derive(Debug)]
pub(crate) struct HashedFile {
    file: NamedTempFile,
    path: PathBuf,
    digest: Sha256,
}

impl HashedFile {
    /// Begins it beside its place.
    ///
    /// # Errors
    ///
    /// When the folder cannot be written.
    pub(crate) fn begin(path: &Path) -> io::Result<Self> {
        Ok(Self {
            file: beside(path)?,
            path: path.to_owned(),
            digest: Sha256::new(),
        })
    }

    /// The SHA-256 of what was written so far.
    pub(crate) fn digest(&self) -> String {
        hex(&self.digest.clone().finalize())
    }

    /// Puts it into its place, as [`write_private`](crate::dirs::write_private) does.
    ///
    /// # Errors
    ///
    /// When the disk fails; the old file is then still there.
    pub(crate) fn commit(self) -> io::Result<()> {
        take_place(self.file, &self.path)
    }
}

impl Write for HashedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.digest.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_old_file_stands_until_the_new_one_is_whole_and_its_digest_is_that_of_its_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "old").unwrap();
        let mut file = HashedFile::begin(&path).unwrap();
        file.write_all(b"ne").unwrap();
        file.write_all(b"w").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        // As `sha256sum` says.
        assert_eq!(
            file.digest(),
            "11507a0e2f5e69d5dfa40a62a1bd7b6ee57e6bcd85c67c9b8431b36fff21c437"
        );
        file.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        drop(HashedFile::begin(&path).unwrap());
        assert_eq!(
            fs::read_dir(dir.path()).unwrap().count(),
            1,
            "nothing is left"
        );
    }
}
