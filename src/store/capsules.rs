//! [`Capsules`]: the folder of capsules, both the project's own and those brought from elsewhere.

mod order;

use std::collections::BTreeSet;
use std::fs::{DirEntry, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use super::dirs::{
    ProjectDirs, exists, if_there, listed, make_private_dir, read_private, remove_if_there,
    sweep_unplaced, unplaced, write_private,
};
use super::file_lock::wait_for_lock;
use super::file_stamp::FileStamp;
use ctxrelay_core::id::{CapsuleId, SessionId};
use ctxrelay_core::wire::capsule::{self, FILE_BYTES_MAX};
pub use order::ListPlace;

/// The folder of those from elsewhere.
const FOREIGN: &str = "foreign";

/// How many of them are listed, the first ones by their ids: agents can fill the folder.
const LISTED_MAX: usize = 10_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CapsuleOwner {
    /// Of a task of this project's record, from which it can be made again while that is there.
    Project,
    /// Brought from elsewhere.
    Foreign,
}

/// A file in the folder.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KeptCapsule {
    pub owner: CapsuleOwner,
    /// By its name; what stands in it was not read.
    pub id: CapsuleId,
    /// Tells it from any other file in its place, and from itself once it was written to.
    pub stamp: String,
    /// When it was written last, in ms since the epoch, as far as the disk tells: agents can change it.
    pub written_ms: i64,
}

/// The folder. Agents can write where it is, so that what is read is checked like any other file.
#[derive(Debug, Clone)]
pub struct Capsules {
    own: PathBuf,
}

impl Capsules {
    /// The project's.
    pub fn of(dirs: &ProjectDirs) -> Self {
        Self {
            own: dirs.relay.join("capsules"),
        }
    }

    /// The bytes of one; none where there is none.
    ///
    /// # Errors
    ///
    /// When it is no plain file, too long, or the disk fails.
    pub fn read(&self, owner: CapsuleOwner, id: &CapsuleId) -> io::Result<Option<Vec<u8>>> {
        let Some(path) = self.path(owner, id) else {
            return Ok(None);
        };
        if_there(read_private(&path, FILE_BYTES_MAX as u64))
    }

    /// Whether there is something in its place.
    pub fn has(&self, owner: CapsuleOwner, id: &CapsuleId) -> bool {
        self.path(owner, id).is_some_and(|path| exists(&path))
    }

    /// Has those from elsewhere for itself until the file is dropped: what is there is read, written
    /// and recorded by one process after the other.
    ///
    /// # Errors
    ///
    /// When another process has them for 5 s, or the folder cannot be written.
    pub fn lock_foreign(&self) -> io::Result<File> {
        make_private_dir(&self.own)?;
        let folder = self.folder(CapsuleOwner::Foreign);
        make_private_dir(&folder)?;
        wait_for_lock(&folder.join("import.lock"))
    }

    /// Keeps one, whole or not at all, 0600.
    ///
    /// # Errors
    ///
    /// When the folder cannot be written; the one before is still there then.
    pub fn write(&self, owner: CapsuleOwner, id: &CapsuleId, bytes: &[u8]) -> io::Result<()> {
        let Some(path) = self.path(owner, id) else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "no capsule's id",
            ));
        };
        make_private_dir(&self.own)?;
        if owner == CapsuleOwner::Foreign {
            make_private_dir(&self.own.join(FOREIGN))?;
        }
        sweep_unplaced(&self.folder(owner));
        write_private(&path, bytes)
    }

    /// What a writer that was killed left of one of the project's own, or of one from elsewhere.
    ///
    /// # Errors
    ///
    /// When a folder cannot be read.
    pub(crate) fn unfinished(&self) -> io::Result<Vec<PathBuf>> {
        let mut unfinished = unplaced(&self.folder(CapsuleOwner::Project))?;
        unfinished.extend(unplaced(&self.folder(CapsuleOwner::Foreign))?);
        Ok(unfinished)
    }

    /// Takes one away; nothing where there is none.
    ///
    /// # Errors
    ///
    /// When the folder cannot be written.
    pub fn remove(&self, owner: CapsuleOwner, id: &CapsuleId) -> io::Result<()> {
        self.path(owner, id)
            .map_or(Ok(()), |path| remove_if_there(&path))
    }

    /// The ids of those that there are, in their order.
    pub fn ids(&self, owner: CapsuleOwner) -> Vec<CapsuleId> {
        let mut ids = BTreeSet::new();
        for id in self.all_ids(owner).flatten() {
            ids.insert(id);
            if ids.len() > LISTED_MAX {
                ids.pop_last();
            }
        }
        ids.into_iter().collect()
    }

    fn all_ids(&self, owner: CapsuleOwner) -> impl Iterator<Item = io::Result<CapsuleId>> {
        let id_of = |file: DirEntry| {
            let name = file.file_name();
            let id = name.to_str()?.strip_suffix(".json")?;
            CapsuleId::is_well_formed(id).then(|| CapsuleId::new(id))
        };
        let found = listed(&self.folder(owner));
        found.filter_map(move |file| file.map(id_of).transpose())
    }

    /// The files that there are: the project's own, then those from elsewhere, each by id.
    pub fn files(&self) -> Vec<KeptCapsule> {
        let owners = [CapsuleOwner::Project, CapsuleOwner::Foreign];
        let of = |owner| {
            let ids = self.ids(owner).into_iter();
            ids.filter_map(move |id| self.file(owner, id))
        };
        owners.into_iter().flat_map(of).collect()
    }

    /// The files of the project's own tasks, all of them, in no order.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub fn own_files(&self) -> io::Result<Vec<KeptCapsule>> {
        let ids = self.all_ids(CapsuleOwner::Project);
        let files = ids.map(|id| id.map(|id| self.file(CapsuleOwner::Project, id)));
        files.filter_map(Result::transpose).collect()
    }

    fn file(&self, owner: CapsuleOwner, id: CapsuleId) -> Option<KeptCapsule> {
        let found = self.path(owner, &id)?.symlink_metadata().ok()?;
        let stamp = FileStamp::from(&found).to_string();
        let written_ms = found.mtime().saturating_mul(1000);
        Some(KeptCapsule {
            owner,
            id,
            stamp,
            written_ms: written_ms.saturating_add(found.mtime_nsec() / 1_000_000),
        })
    }

    /// Whether something of one of these sessions may stand in a file: what is no capsule may hold
    /// anything.
    pub fn may_speak_of(&self, file: &KeptCapsule, sessions: &[SessionId]) -> bool {
        let bytes = self.read(file.owner, &file.id).ok().flatten();
        let capsule = bytes.and_then(|bytes| capsule::read(&bytes).ok());
        capsule.is_none_or(|capsule| {
            let mut cited = capsule.refs();
            sessions.contains(&capsule.origin.session)
                || cited.any(|(_, line)| sessions.contains(&line.session))
        })
    }

    fn folder(&self, owner: CapsuleOwner) -> PathBuf {
        match owner {
            CapsuleOwner::Project => self.own.clone(),
            CapsuleOwner::Foreign => self.own.join(FOREIGN),
        }
    }

    fn path(&self, owner: CapsuleOwner, id: &CapsuleId) -> Option<PathBuf> {
        let name = CapsuleId::is_well_formed(id.as_str()).then(|| format!("{id}.json"))?;
        Some(self.folder(owner).join(name))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::testing::Place;

    #[test]
    fn a_capsule_is_kept_for_its_user_alone_and_no_id_leaves_the_folder() {
        let place = Place::new();
        place.dirs.create().unwrap();
        let capsules = Capsules::of(&place.dirs);
        let id = CapsuleId::new("cap_0123456789ab");
        assert_eq!(capsules.read(CapsuleOwner::Project, &id).unwrap(), None);
        for owner in [CapsuleOwner::Project, CapsuleOwner::Foreign] {
            capsules.write(owner, &id, b"one").unwrap();
            let before = capsules.files();
            capsules.write(owner, &id, b"two").unwrap();
            assert_ne!(before.last(), capsules.files().last());
            assert_eq!(capsules.read(owner, &id).unwrap().unwrap(), b"two");
            assert_eq!(capsules.ids(owner), std::slice::from_ref(&id));
            capsules.remove(owner, &id).unwrap();
            capsules.remove(owner, &id).unwrap();
            assert!(capsules.ids(owner).is_empty());
            capsules.write(owner, &id, b"two").unwrap();
        }
        let own = capsules.own_files().unwrap();
        assert_eq!(own.len(), 1);
        let path = capsules.path(own[0].owner, &own[0].id).unwrap();
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let odd = CapsuleId::new("../../config");
        assert_eq!(capsules.read(CapsuleOwner::Project, &odd).unwrap(), None);
        assert!(capsules.write(CapsuleOwner::Project, &odd, b"x").is_err());
    }
    #[test]
    fn of_more_than_are_listed_the_first_ones_are_and_none_stays_behind() {
        let place = Place::new();
        place.dirs.create().unwrap();
        let capsules = Capsules::of(&place.dirs);
        make_private_dir(&capsules.own).unwrap();
        for number in (0..=LISTED_MAX).rev() {
            let name = format!("cap_{number:012x}.json");
            std::fs::write(capsules.own.join(name), "").unwrap();
        }
        let ids = capsules.ids(CapsuleOwner::Project);
        assert_eq!(ids.len(), LISTED_MAX);
        assert!(ids.is_sorted() && ids[0].as_str() == "cap_000000000000");
        assert_eq!(capsules.own_files().unwrap().len(), LISTED_MAX + 1);
    }
}
