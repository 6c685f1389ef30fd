//! Applies a patch to the work tree: all of its files, or none.
//!
//! `git apply` writes one file after the other, and stops in the middle if the disk is full. So it
//! works on copies elsewhere, and its results enter the work tree under temporary names first.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::NamedTempFile;

use super::GitAnchor;
use crate::adapters::git::own::OwnRepository;
use crate::adapters::left_files::sweep_left;
use crate::adapters::plain_file::open_plain;
use crate::core::capsule::patch_files;

/// Says how files of its folder are read.
const ATTRIBUTES: &str = ".gitattributes";

/// How a file's name begins that waits to be in the work tree.
const WAITING: &str = ".ctxrelay-patch-";

/// No patch takes longer.
const WAITS_FOR: Duration = Duration::from_secs(600);

/// Why a patch is not in the work tree.
#[derive(Debug, thiserror::Error)]
pub enum PutInFault {
    /// No file is changed.
    #[error("git does not take it")]
    Refused,
    /// No file is changed.
    #[error("the disk does not take it: {0}")]
    Disk(#[from] io::Error),
    /// These files are changed, and others are not.
    #[error("it is in {} alone: {error}", changed.join(", "))]
    Half {
        changed: Vec<String>,
        error: io::Error,
    },
}

impl GitAnchor {
    /// Puts a patch into the work tree, and into no index. Blocks, for as long as git takes.
    ///
    /// # Errors
    ///
    /// Where git does not take it, or the disk.
    pub fn put_in(&self, patch: &[u8]) -> Result<(), PutInFault> {
        let files = patch_files(patch).map_err(|_| PutInFault::Refused)?;
        let own = OwnRepository::empty(&self.root, self.deadline()).ok_or(PutInFault::Refused)?;
        let copies = own.path().join("copies");
        fs::create_dir(&copies)?;
        let full = |path: &String| format!("{}{path}", self.place.prefix);
        let places = files.iter().map(|path| self.top().join(full(path)));
        let places: BTreeSet<PathBuf> = places.collect();
        for path in &files {
            self.copy_file(&copies, &full(path), &places)?;
        }
        self.apply(&copies, &[], patch).ok_or(PutInFault::Refused)?;
        let mut change = NewFiles::default();
        for path in &files {
            let (from, to) = (copies.join(full(path)), self.top().join(full(path)));
            change.take(path, &from, to)?;
        }
        change.keep(self.top())
    }

    /// Copies a file of the work tree, if it is there, and what says how it is read. `places`: where
    /// all files of the patch are.
    fn copy_file(
        &self,
        copies: &Path,
        path: &str,
        places: &BTreeSet<PathBuf>,
    ) -> Result<(), PutInFault> {
        let (mut folder, mut copy) = (self.top().to_owned(), copies.to_owned());
        let mut parts: Vec<&str> = path.split('/').collect();
        let name = parts.pop().unwrap_or_default();
        copy_plain(&folder, &copy, ATTRIBUTES)?;
        for part in parts {
            folder.push(part);
            copy.push(part);
            match folder.symlink_metadata() {
                Ok(found) if found.is_dir() => {}
                // It may become a folder: that is for git to say, which has its copy too.
                Ok(found) if found.is_file() && places.contains(&folder) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                // A link would lead elsewhere.
                _ => return Err(PutInFault::Refused),
            }
            fs::create_dir_all(&copy)?;
            copy_plain(&folder, &copy, ATTRIBUTES)?;
        }
        if copy_plain(&folder, &copy, name)? {
            return Ok(());
        }
        let place = folder.join(name);
        match place.symlink_metadata() {
            Err(_) => Ok(()),
            // It may become a file, where nothing else is in it.
            Ok(found) if found.is_dir() && has_only(&place, places)? => Ok(()),
            Ok(_) => Err(PutInFault::Refused),
        }
    }
}

/// Whether these files are all that is in a folder. A folder without any is something else, too.
fn has_only(folder: &Path, files: &BTreeSet<PathBuf>) -> io::Result<bool> {
    let mut has_any = false;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let is_of_them = match entry.file_type()?.is_dir() {
            true => has_only(&path, files)?,
            false => files.contains(&path),
        };
        if !is_of_them {
            return Ok(false);
        }
        has_any = true;
    }
    Ok(has_any)
}

/// False where there is no plain file of that name. What is copied already stays: it may be read-only.
fn copy_plain(from: &Path, to: &Path, name: &str) -> io::Result<bool> {
    let from = from.join(name);
    if !from.symlink_metadata().is_ok_and(|found| found.is_file()) {
        return Ok(false);
    }
    let to = to.join(name);
    if to.symlink_metadata().is_ok() {
        return Ok(true);
    }
    let (mut file, found) = open_plain(&from)?;
    let mut copy = File::create(to)?;
    io::copy(&mut file, &mut copy)?;
    copy.set_permissions(found.permissions())?;
    Ok(true)
}

/// Files that are to be in the work tree: until then by other names, which go with this.
#[derive(Debug, Default)]
struct NewFiles {
    /// By their paths in the project.
    files: Vec<(String, NamedTempFile, PathBuf)>,
    gone: Vec<(String, PathBuf)>,
    /// Folders that are there for them alone.
    folders: Vec<PathBuf>,
    /// Folders that were looked through for what is left of another one.
    swept: BTreeSet<PathBuf>,
}

impl NewFiles {
    /// Takes what became of a copy.
    fn take(&mut self, path: &str, from: &Path, to: PathBuf) -> io::Result<()> {
        if !from.symlink_metadata().is_ok_and(|found| found.is_file()) {
            self.gone.push((path.to_owned(), to));
            return Ok(());
        }
        let folder = self.waiting_place(&to)?;
        if self.swept.insert(folder.to_owned()) {
            sweep_left(folder, WAITING, |_, age| age >= WAITS_FOR);
        }
        let mut file = tempfile::Builder::new()
            .prefix(WAITING)
            .tempfile_in(folder)?;
        let mut copy = File::open(from)?;
        io::copy(&mut copy, &mut file)?;
        file.as_file()
            .set_permissions(copy.metadata()?.permissions())?;
        self.files.push((path.to_owned(), file, to));
        Ok(())
    }

    /// The folder in which a file waits: its own, or the one with a file in it that is to be a folder.
    fn waiting_place<'a>(&mut self, to: &'a Path) -> io::Result<&'a Path> {
        let folder = to.parent().unwrap_or(to);
        let is_file = |it: &&Path| it.symlink_metadata().is_ok_and(|found| found.is_file());
        if let Some(file) = folder.ancestors().find(is_file) {
            return Ok(file.parent().unwrap_or(file));
        }
        self.make_folder(folder)?;
        Ok(folder)
    }

    fn make_folder(&mut self, folder: &Path) -> io::Result<()> {
        if folder.is_dir() {
            return Ok(());
        }
        if let Some(above) = folder.parent() {
            self.make_folder(above)?;
        }
        fs::create_dir(folder)?;
        self.folders.push(folder.to_owned());
        Ok(())
    }

    /// They are there from now on. Folders below `top` in which nothing is left go.
    fn keep(mut self, top: &Path) -> Result<(), PutInFault> {
        let mut changed = Vec::new();
        for (path, to) in std::mem::take(&mut self.gone) {
            match fs::remove_file(&to) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(fault(changed, error));
                }
                _ => changed.push(path),
            }
            let above = to.ancestors().skip(1);
            let mut above = above.take_while(|folder| *folder != top);
            while above.next().is_some_and(|it| fs::remove_dir(it).is_ok()) {}
        }
        // Now that what was in their place is gone.
        for (path, file, to) in std::mem::take(&mut self.files) {
            if let Err(error) = self.make_folder(to.parent().unwrap_or(&to)) {
                return Err(fault(changed, error));
            }
            if let Err(error) = file.persist(to) {
                return Err(fault(changed, error.error));
            }
            changed.push(path);
        }
        Ok(())
    }
}

impl Drop for NewFiles {
    fn drop(&mut self) {
        self.files.clear();
        for folder in self.folders.iter().rev() {
            // With a file in it, it stays.
            let _ = fs::remove_dir(folder);
        }
    }
}

fn fault(changed: Vec<String>, error: io::Error) -> PutInFault {
    match changed.is_empty() {
        true => PutInFault::Disk(error),
        false => PutInFault::Half { changed, error },
    }
}
