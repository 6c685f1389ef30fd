//! [`WorkFolders`]: `state/continuity/<runtime session>/<agent>/`, what the record holds of each
//! agent's work, as files. Rendered from the record, never read back, and removed with it.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::dirs::{ProjectDirs, make_private_dir, read_private, write_fleeting};
use super::ledger::{EntryFilter, Page};
use ctxrelay_core::continuity::{RECENT_WORK, WorkFolder};
use ctxrelay_core::entry::Entry;
use ctxrelay_core::hex::hex;
use ctxrelay_core::id::RuntimeSession;

/// The longest name of a runtime session that a folder has, in bytes.
const NAME_BYTES_MAX: usize = 64;

/// The latest entries that may tell of an agent's work, oldest first. `page` reads the latest of a
/// filter, at most so many.
///
/// # Errors
///
/// When the record cannot be read.
pub fn recent_work(
    page: impl Fn(&EntryFilter, usize) -> io::Result<Page>,
) -> io::Result<Vec<Entry>> {
    let mut recent = Vec::new();
    for (entry_type, most) in RECENT_WORK {
        let filter = EntryFilter {
            entry_type: Some(entry_type.to_string()),
            ..EntryFilter::default()
        };
        let found = page(&filter, most)?.entries.into_iter();
        recent.extend(found.map(|stored| stored.entry));
    }
    recent.sort_by_key(|entry| entry.seq);
    Ok(recent)
}

/// The folders of a project. Agents can write where they are: nothing there is opened through a
/// link, and no name of theirs becomes a path unchecked.
#[derive(Debug, Clone)]
pub struct WorkFolders {
    base: PathBuf,
}

impl WorkFolders {
    /// The project's.
    pub fn of(dirs: &ProjectDirs) -> Self {
        Self {
            base: dirs.state_file("continuity"),
        }
    }

    /// Where the files of one are.
    pub fn path(&self, folder: &WorkFolder) -> PathBuf {
        let agent = folder.agent.as_str();
        self.base.join(name_of(&folder.pair)).join(agent)
    }

    /// Makes the folders say this and nothing else, each file whole or not at all.
    ///
    /// # Errors
    ///
    /// When one of them cannot be written; the others before it are.
    pub fn write(&self, folders: &[WorkFolder]) -> io::Result<()> {
        if folders.is_empty() {
            self.remove()?;
            return Ok(());
        }
        make_private_dir(&self.base)?;
        let mut wanted = BTreeSet::from([self.base.clone()]);
        for folder in folders {
            let path = self.path(folder);
            for (name, text) in &folder.files {
                let file = path.join(name);
                let mut parents: Vec<&Path> = file
                    .ancestors()
                    .skip(1)
                    .take_while(|parent| *parent != self.base)
                    .collect();
                parents.reverse();
                for parent in parents {
                    make_private_dir(parent)?;
                    wanted.insert(parent.to_owned());
                }
                let is_same = read_private(&file, text.len() as u64)
                    .is_ok_and(|found| found == text.as_bytes());
                if !is_same {
                    write_fleeting(&file, text.as_bytes())?;
                }
                wanted.insert(file);
            }
        }
        sweep(&self.base, &wanted)
    }

    /// Takes all of it away. How many files that were.
    ///
    /// # Errors
    ///
    /// When something stays.
    pub fn remove(&self) -> io::Result<u64> {
        match self.base.symlink_metadata() {
            Ok(found) if found.is_dir() => {
                let files = count(&self.base);
                fs::remove_dir_all(&self.base).map(|()| files)
            }
            // A link goes, and not what it points to.
            Ok(_) => fs::remove_file(&self.base).map(|()| 1),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Takes all of it away; what is to be said where something stays.
    pub fn erase(&self) -> Option<String> {
        let error = self.remove().err()?;
        let base = self.base.display();
        Some(format!(
            "the files about the agents' work in {base}: {error}"
        ))
    }
}

/// A folder's name for a runtime session, whose own may be any text.
fn name_of(pair: &RuntimeSession) -> String {
    let name = pair.as_str();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !name.is_empty()
        && name.len() <= NAME_BYTES_MAX
        && !name.starts_with('.')
        && name.chars().all(is_plain)
    {
        return name.to_owned();
    }
    // No plain name has this sign.
    let digest = hex(&Sha256::digest(name.as_bytes()));
    format!("={}", &digest[..32])
}

/// Removes what is not wanted below a folder; a link goes, and not what it points to.
fn sweep(folder: &Path, wanted: &BTreeSet<PathBuf>) -> io::Result<()> {
    for found in fs::read_dir(folder)? {
        let found = found?;
        let path = found.path();
        match (found.file_type()?.is_dir(), wanted.contains(&path)) {
            (true, true) => sweep(&path, wanted)?,
            (true, false) => fs::remove_dir_all(&path)?,
            (false, true) => {}
            (false, false) => fs::remove_file(&path)?,
        }
    }
    Ok(())
}

fn count(folder: &Path) -> u64 {
    let Ok(found) = fs::read_dir(folder) else {
        return 0;
    };
    let files = found.flatten().map(|file| match file.file_type() {
        Ok(kind) if kind.is_dir() => count(&file.path()),
        _ => 1,
    });
    files.sum()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;
    use crate::testing::Place;
    use ctxrelay_core::agent::Agent;

    fn folder(pair: &str, files: &[(&str, &str)]) -> WorkFolder {
        let files = files
            .iter()
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        WorkFolder {
            pair: RuntimeSession::new(pair),
            agent: Agent::Claude,
            files: files.collect(),
        }
    }

    #[test]
    fn the_folders_hold_what_was_given_last_and_are_gone_at_once() {
        let place = Place::new();
        let folders = WorkFolders::of(&place.dirs);
        let first = folder(
            "default",
            &[("STATE.json", "1"), ("summaries/7.md", "seven")],
        );
        let other = folder("other", &[("STATE.json", "2")]);
        folders.write(&[first.clone(), other.clone()]).unwrap();
        let file = folders.path(&first).join("summaries/7.md");
        assert_eq!(fs::read_to_string(&file).unwrap(), "seven");
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));

        folders
            .write(&[folder("default", &[("STATE.json", "3")])])
            .unwrap();
        let state = folders.path(&first).join("STATE.json");
        assert_eq!(fs::read_to_string(state).unwrap(), "3");
        assert!(!file.exists() && !folders.path(&other).exists());

        assert_eq!(folders.remove().unwrap(), 1);
        assert_eq!(folders.remove().unwrap(), 0);
        assert!(!place.dirs.state_file("continuity").exists());
    }

    #[test]
    fn no_name_and_no_link_leads_out_of_the_folder() {
        let place = Place::new();
        let folders = WorkFolders::of(&place.dirs);
        for name in ["../../x", "", ".", "..", "a/b", "=1", "ö", &"x".repeat(65)] {
            let path = folders.path(&folder(name, &[]));
            let name = path.parent().unwrap().file_name().unwrap();
            assert!(name.to_str().unwrap().starts_with('='), "{name:?}");
        }
        let elsewhere = place.dir.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        fs::write(elsewhere.join("STATE.json"), "precious").unwrap();
        let base = place.dirs.state_file("continuity");
        fs::create_dir_all(base.join("default")).unwrap();
        symlink(&elsewhere, base.join("default/claude")).unwrap();
        symlink(&elsewhere, base.join("linked")).unwrap();
        assert!(
            folders
                .write(&[folder("default", &[("STATE.json", "mine")])])
                .is_err()
        );
        folders
            .write(&[folder("another", &[("STATE.json", "mine")])])
            .unwrap();
        assert!(!base.join("linked").exists() && !base.join("default").exists());
        folders.remove().unwrap();
        symlink(&elsewhere, &base).unwrap();
        assert!(
            folders
                .write(&[folder("default", &[("STATE.json", "mine")])])
                .is_err()
        );
        folders.remove().unwrap();
        let kept = fs::read_to_string(elsewhere.join("STATE.json")).unwrap();
        assert_eq!(kept, "precious");
    }
}
