//! [`Head`]: the end of a ledger, kept outside the project; [`Kept`]: what is kept with it;
//! [`Heads`]: writes it; and [`HeadKeeper`]: has it written from time to time.
//!
//! Anybody who can write the project can cut its ledger, and can extend its chain, which has no
//! key. The head outside reveals a cut, and marks up to where an extended chain is believed: see
//! [`super::ledger::Border`]. It is written at most once a second, so up to a second of cutting can
//! go unnoticed; but it is always written before the operator's word is acknowledged.

mod keeper;

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::UNIX_EPOCH;

pub use keeper::HeadKeeper;

use serde::{Deserialize, Serialize};

use ctxrelay_core::alarm::Alarm;
use ctxrelay_core::id::SessionId;
use ctxrelay_core::lock::lock;

use super::dirs::{
    ProjectDirs, UserDirs, exists, if_there, make_private_dir, read_private, remove_if_there,
    write_fleeting, write_private,
};

/// More than any head is long, with its anchors and alarms.
const HEAD_BYTES_MAX: u64 = 64 * 1024;

/// How many of the operator's last entries are known outside. After a cut the record is believed
/// up to the last of them that is still there.
const ANCHORS_MAX: usize = 16;

/// How many alarms wait outside to be told in the record, at most.
const ALARMS_MAX: usize = 16;

/// The last entry of a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Head {
    /// Its number; 0 for a ledger that has none yet.
    pub seq: u64,
    pub hash: String,
    /// Its ledger.
    pub session_id: SessionId,
}

/// What is kept outside of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Kept {
    #[serde(flatten)]
    pub head: Head,
    /// Its daemon came to an orderly end: there is nothing of ours behind it.
    #[serde(default)]
    pub clean: bool,
    /// Entries up to this one are somebody else's word.
    #[serde(default)]
    pub foreign_through: u64,
    /// Number and hash of the operator's last entries, oldest first. Every entry of the operator
    /// that stands behind the first of them is one of them.
    #[serde(default)]
    pub anchors: Vec<(u64, String)>,
    /// Alarms that the record may not tell of yet.
    #[serde(default)]
    pub alarms: Vec<Alarm>,
    /// Of which folder it is.
    #[serde(flatten)]
    pub root: Option<RootFolder>,
    /// Where the operator's word was about to stand when it was last written: the ledger may have
    /// it, or not. Kept in a file of its own.
    #[serde(skip)]
    pub coming: Option<Head>,
}

/// The folder of a project: another folder with its path is another project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RootFolder {
    root_inode: u64,
    /// Some file systems give the inode of a removed folder to the next one at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    root_born_ns: Option<u64>,
}

impl RootFolder {
    fn of(dirs: &ProjectDirs) -> Option<Self> {
        let found = dirs.root.symlink_metadata().ok()?;
        let born = found.created().ok();
        let born = born.and_then(|born| born.duration_since(UNIX_EPOCH).ok());
        Some(Self {
            root_inode: found.ino(),
            root_born_ns: born.and_then(|since| u64::try_from(since.as_nanos()).ok()),
        })
    }

    /// As far as both are known: not every file system has a time of birth.
    fn is(self, found: Self) -> bool {
        let born = self.root_born_ns.zip(found.root_born_ns);
        self.root_inode == found.root_inode && born.is_none_or(|(known, now)| known == now)
    }
}

impl Kept {
    /// Of a head alone.
    pub fn new(head: Head) -> Self {
        Self {
            head,
            clean: false,
            foreign_through: 0,
            anchors: Vec::new(),
            alarms: Vec::new(),
            root: None,
            coming: None,
        }
    }

    fn forget(&mut self, told: &[Alarm]) {
        self.alarms.retain(|waiting| !told.contains(waiting));
    }

    /// Whether the project has nothing of its session any more, also where all of `.contextrelay/`
    /// was removed. Not where an older version sealed a session before the next one was known
    /// outside.
    pub fn is_lost(&self, dirs: &ProjectDirs) -> bool {
        self.is_missing(dirs) && (exists(&dirs.current()) || self.is_of(dirs))
    }

    /// Whether it is of a project that lay at this path before, and went with its folder.
    pub fn is_left_over(&self, dirs: &ProjectDirs) -> bool {
        self.is_missing(dirs) && !self.is_lost(dirs)
    }

    fn is_missing(&self, dirs: &ProjectDirs) -> bool {
        let session = &self.head.session_id;
        let archive = dirs.archives().join(format!("{session}.jsonl"));
        let is_there = exists(&dirs.ledger(session)) || exists(&archive);
        self.head.seq > 0 && !is_there
    }

    /// Builds that wrote heads without their folder also kept them where the operator ended the
    /// record: one that does not say its folder proves nothing of this one.
    fn is_of(&self, dirs: &ProjectDirs) -> bool {
        let is_it = |root: RootFolder| RootFolder::of(dirs).is_some_and(|found| root.is(found));
        self.root.is_some_and(is_it)
    }

    /// Of a ledger that is still empty: whatever comes to stand in it stands behind this.
    pub fn of_nothing(session_id: SessionId) -> Self {
        let mut kept = Self::new(Head {
            seq: 0,
            hash: String::new(),
            session_id,
        });
        kept.anchors.push((0, String::new()));
        kept
    }
}

/// Reads what is kept of a project; `None` when nothing was.
///
/// # Errors
///
/// When there is something that cannot be read.
pub fn read(user: &UserDirs, instance_id: &str) -> io::Result<Option<Kept>> {
    let Some(text) = if_there(read_private(&user.head(instance_id), HEAD_BYTES_MAX))? else {
        return Ok(None);
    };
    let mut kept: Kept = serde_json::from_slice(&text)?;
    // Only a crash of our own leaves it to say something, and not one of the machine.
    let coming = read_private(&user.coming(instance_id), HEAD_BYTES_MAX);
    kept.coming = coming
        .ok()
        .and_then(|text| serde_json::from_slice(&text).ok());
    Ok(Some(kept))
}

/// Replaces what is kept of a project, 0600.
///
/// # Errors
///
/// When the registry's folder cannot be written.
pub fn write(user: &UserDirs, instance_id: &str, kept: &Kept) -> io::Result<()> {
    let path = user.head(instance_id);
    make_private_dir(&user.registry)?;
    make_private_dir(&user.registry.join("heads"))?;
    let mut text = serde_json::to_vec(kept)?;
    text.push(b'\n');
    write_private(&path, &text)
}

/// Removes what is kept of a record that the operator has ended.
///
/// # Errors
///
/// When something of it cannot be removed.
pub fn forget(user: &UserDirs, instance_id: &str) -> io::Result<()> {
    let kept = [
        user.head(instance_id),
        user.coming(instance_id),
        user.queue_generation(instance_id),
        user.checkpoint(instance_id),
    ];
    kept.iter().try_for_each(|path| remove_if_there(path))
}

/// Writes what is kept of one project. Clones are the same.
#[derive(Debug, Clone)]
pub struct Heads {
    shared: Arc<SharedHeads>,
}

#[derive(Debug)]
struct SharedHeads {
    user: UserDirs,
    instance_id: String,
    /// What is written says in which folder the project lies.
    root: Option<RootFolder>,
    /// As it lies there, or is to be written next. Held while it is written, on whatever disk.
    kept: Mutex<Option<Kept>>,
    /// The same, for who does not wait for a disk.
    shown: Mutex<Option<Kept>>,
    /// Alarms that the record tells of, and that are still in `kept`.
    told: Mutex<Vec<Alarm>>,
}

impl Heads {
    /// As [`Self::open`], for the daemon of a project.
    ///
    /// # Errors
    ///
    /// As [`Self::open`].
    pub fn of_project(user: &UserDirs, dirs: &ProjectDirs) -> io::Result<Self> {
        Self::open_in(user, &dirs.instance_id(), RootFolder::of(dirs))
    }

    /// Reads what is kept. What is no head counts as none.
    ///
    /// # Errors
    ///
    /// When it is there and cannot be read.
    pub fn open(user: &UserDirs, instance_id: &str) -> io::Result<Self> {
        Self::open_in(user, instance_id, None)
    }

    fn open_in(user: &UserDirs, instance_id: &str, root: Option<RootFolder>) -> io::Result<Self> {
        let kept = read(user, instance_id).or_else(|error| match error.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
                tracing::warn!(%error, "the outside head is none");
                Ok(None)
            }
            _ => Err(error),
        })?;
        Ok(Self {
            shared: Arc::new(SharedHeads {
                user: user.clone(),
                instance_id: instance_id.to_owned(),
                root,
                kept: Mutex::new(kept.clone()),
                shown: Mutex::new(kept),
                told: Mutex::default(),
            }),
        })
    }

    /// What is kept now. Never blocks on the disk.
    pub fn kept(&self) -> Option<Kept> {
        // Held until it is known what was told: else that may be in neither.
        let shown = lock(&self.shared.shown);
        let mut kept = shown.clone()?;
        kept.forget(&lock(&self.shared.told));
        Some(kept)
    }

    /// Where it lies.
    pub fn path(&self) -> PathBuf {
        self.shared.user.head(&self.shared.instance_id)
    }

    /// Puts something else in its place.
    ///
    /// # Errors
    ///
    /// When it cannot be written; what is kept is as it was then.
    pub fn replace(&self, kept: Kept) -> io::Result<()> {
        let mut now = self.lock();
        let kept = self.of_here(kept);
        if now.as_ref() != Some(&kept) {
            self.write(&kept)?;
            self.keep(&mut now, kept);
        }
        Ok(())
    }

    /// As [`Self::replace`] after that failed: it is kept also where it cannot be written, and written
    /// with the next head then.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn put_back(&self, kept: Kept) -> io::Result<()> {
        let mut now = self.lock();
        let written = self.write(&kept);
        self.keep(&mut now, kept);
        written
    }

    /// As [`Self::replace`], but written only with the first entry: before it there is no head.
    pub fn begin(&self, kept: Kept) {
        self.keep(&mut self.lock(), kept);
    }

    /// The ledger is about to grow: behind the mark of an orderly end nothing of ours would count.
    ///
    /// # Errors
    ///
    /// When it cannot be written; the mark is still there then.
    pub fn take_mark(&self) -> io::Result<()> {
        let mut now = self.lock();
        let Some(kept) = now.as_ref().filter(|kept| kept.clean) else {
            return Ok(());
        };
        let unmarked = Kept {
            clean: false,
            ..kept.clone()
        };
        self.write(&unmarked)?;
        self.keep(&mut now, unmarked);
        Ok(())
    }

    /// Notes alarms, before what they tell of is put out of the way.
    ///
    /// # Errors
    ///
    /// When they cannot be written; nothing is noted then.
    pub fn raise(&self, alarms: &[Alarm]) -> io::Result<()> {
        let mut now = self.lock();
        let Some(mut kept) = now.clone() else {
            return Ok(());
        };
        for alarm in alarms {
            if !kept.alarms.contains(alarm) && kept.alarms.len() < ALARMS_MAX {
                kept.alarms.push(alarm.clone());
            }
        }
        self.write(&kept)?;
        self.keep(&mut now, kept);
        Ok(())
    }

    /// The record tells of an alarm. Written with the next head. Never blocks on the disk.
    pub fn told(&self, alarm: &Alarm) {
        lock(&self.shared.told).push(alarm.clone());
    }

    /// The operator's word is about to be written, and will stand in the ledger up to this entry:
    /// after a crash before [`Self::vouch`] it is not taken for somebody else's. Not for the
    /// beginning of another session, which is not begun then.
    pub fn announce(&self, head: &Head) {
        let kept = self.lock();
        let is_its = kept
            .as_ref()
            .is_some_and(|kept| kept.head.session_id == head.session_id);
        if !is_its {
            return;
        }
        let path = self.shared.user.coming(&self.shared.instance_id);
        let written = serde_json::to_vec(head)
            .map_err(io::Error::from)
            .and_then(|text| write_fleeting(&path, &text));
        if let Err(error) = written {
            // Without it a crash leaves an alarm, and nothing worse.
            tracing::debug!(%error, "what is coming was not announced");
        }
    }

    /// What was announced is not written, or was taken back.
    pub fn retract(&self) {
        let _ = std::fs::remove_file(self.shared.user.coming(&self.shared.instance_id));
    }

    /// The operator's word stands in the ledger up to this entry: it is kept before anybody hears
    /// that it is recorded. Also begins another session.
    ///
    /// # Errors
    ///
    /// When it cannot be written; nothing is kept of it then.
    pub fn vouch(&self, head: Head) -> io::Result<()> {
        let mut now = self.lock();
        let mut kept = match now.clone() {
            Some(kept) if kept.head.session_id == head.session_id => kept,
            before => Kept {
                alarms: before.map_or_else(Vec::new, |before| before.alarms),
                ..Kept::of_nothing(head.session_id.clone())
            },
        };
        kept.clean = false;
        kept.anchors.push((head.seq, head.hash.clone()));
        let surplus = kept.anchors.len().saturating_sub(ANCHORS_MAX);
        kept.anchors.drain(..surplus);
        kept.head = head;
        if let Err(error) = self.write(&kept) {
            // It may have failed behind the step that gave the file its name, and must not go on
            // telling of an entry that is taken back now: after a crash the record would lack it.
            if let Some(before) = now.as_ref()
                && let Err(error) = self.write(before)
            {
                tracing::warn!(%error, "the outside head may tell of what was not recorded");
            }
            return Err(error);
        }
        self.keep(&mut now, kept);
        Ok(())
    }

    /// The ledger has come to this entry. One of another session, or an earlier one, is not news.
    fn come_to(&self, head: Head) -> io::Result<()> {
        let mut now = self.lock();
        let mut kept = now.clone().unwrap_or_else(|| Kept::new(head.clone()));
        if kept.head.session_id != head.session_id || kept.head.seq > head.seq {
            return Ok(());
        }
        kept.head = head;
        kept.clean = false;
        self.write(&kept)?;
        self.keep(&mut now, kept);
        Ok(())
    }

    /// The daemon came to an orderly end with this entry.
    fn end(&self, head: Head) -> io::Result<()> {
        let mut now = self.lock();
        let Some(mut kept) = now.clone() else {
            return Ok(());
        };
        if kept.head.session_id == head.session_id && kept.head.seq <= head.seq {
            kept.head = head;
            kept.clean = true;
            self.write(&kept)?;
            self.keep(&mut now, kept);
        }
        Ok(())
    }

    fn write(&self, kept: &Kept) -> io::Result<()> {
        let kept = self.of_here(kept.clone());
        write(&self.shared.user, &self.shared.instance_id, &kept)
    }

    fn of_here(&self, kept: Kept) -> Kept {
        Kept {
            root: self.shared.root.or(kept.root),
            ..kept
        }
    }

    /// Each value is replaced in one step, so that a lock whose holder panicked guards a whole one.
    fn lock(&self) -> MutexGuard<'_, Option<Kept>> {
        let mut now = lock(&self.shared.kept);
        let mut shown = lock(&self.shared.shown);
        let told = std::mem::take(&mut *lock(&self.shared.told));
        for kept in now.iter_mut().chain(shown.iter_mut()) {
            kept.forget(&told);
        }
        now
    }

    fn keep(&self, now: &mut Option<Kept>, kept: Kept) {
        let kept = self.of_here(kept);
        lock(&self.shared.shown).replace(kept.clone());
        *now = Some(kept);
    }
}

#[cfg(test)]
mod tests;
