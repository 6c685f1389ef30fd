//! [`SealedRecord`]: a session that has ended, as far as kept capsules are held against it; and
//! [`TasksClosed`], what each of its tasks was when it was closed.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::adapters::capsules_now::{CapsulesNow, KeptSays};
use crate::cli::disk;
use crate::core::capsule::Capsule;
use crate::core::id::{CapsuleId, Seq};
use crate::core::redact::Redactor;
use crate::core::snapshot::{Snapshot, TaskSnapshot};
use crate::host::ProjectContext;
use crate::store::sealed_way::{ReachedSession, task_at, tasks_at_close};

/// The tasks of a ledger's file. All of it is read once: a project keeps many capsules.
pub(super) struct TasksClosed {
    path: PathBuf,
    foreign_through: Seq,
    closed: BTreeMap<CapsuleId, TaskSnapshot>,
}

impl TasksClosed {
    /// Reads those of what is believed after an entry.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub(super) fn read(path: PathBuf, foreign_through: Seq) -> io::Result<Self> {
        let closed = tasks_at_close(&path, foreign_through)?;
        Ok(Self {
            path,
            foreign_through,
            closed,
        })
    }

    /// How far a kept capsule says what the record says, whose lines `now` has: all of what it cites,
    /// and nothing else of its task.
    ///
    /// # Errors
    ///
    /// When the record cannot be read.
    pub(super) fn says(&self, now: &CapsulesNow, kept: &Capsule) -> io::Result<KeptSays> {
        let head = kept.origin.head.seq;
        let closed = self.closed.get(&kept.id);
        let task = match closed.filter(|task| task.head == head) {
            Some(task) => Some(task.clone()),
            // It went out while it was open.
            None => task_at(&self.path, self.foreign_through, &kept.id, head)?,
        };
        let task = task.map(|task| now.tells_of(kept, &task)).transpose()?;
        Ok(task.unwrap_or(KeptSays::Else))
    }
}

/// A session that has ended.
pub(super) struct SealedRecord {
    now: CapsulesNow,
    tasks: TasksClosed,
}

impl SealedRecord {
    /// None where it cannot be read.
    pub(super) fn open(
        setting: &ProjectContext,
        redactor: &Arc<Redactor>,
        reached: &ReachedSession,
    ) -> Option<Self> {
        let session = &reached.session_id;
        let reading = disk::reading(setting, session.as_str()).ok()?;
        let path = reading.path().to_owned();
        let tasks = TasksClosed::read(path, reached.foreign_through).ok()?;
        let world = Snapshot {
            session_id: Some(session.clone()),
            ..Snapshot::default()
        };
        let now = CapsulesNow::new(
            setting.dirs.root.clone(),
            Arc::new(world),
            Vec::new(),
            Arc::clone(redactor),
            move |seq| reading.read(seq),
        );
        Some(Self { now, tasks })
    }

    /// How far a kept capsule says what this says.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub(super) fn says(&self, kept: &Capsule) -> io::Result<KeptSays> {
        let has_all = self.now.has_all(kept)?;
        if has_all == KeptSays::Else {
            return Ok(has_all);
        }
        Ok(has_all.min(self.tasks.says(&self.now, kept)?))
    }
}
