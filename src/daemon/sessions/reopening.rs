//! [`SealedTask`]: a task that was closed in a session which is sealed by now, read beside the loop
//! to continue in this one. Its entries are carried over as at the end of a session, and then it is
//! reopened.

use std::collections::BTreeSet;
use std::io;

use crate::core::entry::{CarriedEntry, Entry, EntryKind, TaskStep};
use crate::core::id::{CapsuleId, RuntimeSession, Seq, SessionId};
use crate::core::snapshot::{Snapshot, TaskSnapshot};
use crate::daemon::base::under_way::UnderWay;
use crate::daemon::reply::ReplySender;
use crate::store::dirs::ProjectDirs;
use crate::store::sealed_way::{ReachedSession, WayBack, tasks_at_close};

/// A task to be reopened was looked for.
#[derive(Debug)]
pub struct SealedTaskRead {
    pub(in crate::daemon) id: CapsuleId,
    /// The session from which it was looked for.
    pub(in crate::daemon) session: SessionId,
    /// The pair that it is reopened from.
    pub(in crate::daemon) pair: RuntimeSession,
    /// What was read; nothing where no session that the record leads back to ended with it closed.
    pub(in crate::daemon) read: io::Result<Option<SealedTask>>,
    pub(in crate::daemon) reply: ReplySender,
    /// Until this is heard.
    pub(in crate::daemon) under_way: UnderWay,
}

/// A task of a sealed session.
#[derive(Debug)]
pub struct SealedTask {
    /// Its title then.
    pub(in crate::daemon) title: String,
    /// The entries that make it what it was, its end among them, as they will stand in another file.
    pub(in crate::daemon) entries: Vec<Entry>,
}

impl SealedTask {
    /// That of the youngest session which ended with it closed. Blocking.
    pub(in crate::daemon) fn find(
        dirs: &ProjectDirs,
        world: &Snapshot,
        id: &CapsuleId,
    ) -> io::Result<Option<Self>> {
        for reached in WayBack::new(dirs, world).flatten() {
            let mut closed = tasks_at_close(&reached)?;
            if let Some(task) = closed.remove(id) {
                return Self::read(&reached, task).map(Some);
            }
        }
        Ok(None)
    }

    fn read(session: &ReachedSession, task: TaskSnapshot) -> io::Result<Self> {
        let mut wanted = BTreeSet::from([task.seq, task.named, task.head]);
        wanted.extend(task.stated().map(|said| said.seq));
        wanted.extend(task.files.iter().map(|file| file.seq));
        wanted.extend(task.claims.iter().map(|claim| claim.seq));
        wanted.extend(task.handoffs.iter().map(|handoff| handoff.seq));
        wanted.extend(task.kept.iter().map(|kept| kept.seq));
        let mut entries = Vec::new();
        // To its end, which tells whether it is still the one that was verified.
        session.read(|stored| {
            let is_begun = matches!(stored.entry.kind, EntryKind::Handoff(_))
                && !task.has_handoff(&stored.entry);
            if wanted.contains(&stored.entry.seq) && !is_begun {
                entries.push(carried(stored.entry, &session.session_id, &task));
            }
        })?;
        Ok(Self {
            title: task.title,
            entries,
        })
    }
}

/// As it will stand in the file of another session: what its task is made of, and nothing that
/// happens now.
fn carried(mut entry: Entry, session: &SessionId, task: &TaskSnapshot) -> Entry {
    let (session_id, seq) = match entry.carried.take() {
        // Carried again, it still stood first where it stood first.
        Some(first) => (first.session_id, first.seq),
        None => (session.clone(), entry.seq),
    };
    let mut handoffs = task.handoffs.iter();
    let handoff = handoffs.find(|handoff| handoff.id == entry.id);
    entry.carried = Some(CarriedEntry {
        settled: entry.receiver().is_some(),
        answered: handoff.is_some_and(|handoff| handoff.is_over),
        unanswered: handoff.is_some_and(|handoff| handoff.is_unanswered),
        task_only: true,
        ..CarriedEntry::of(session_id, seq)
    });
    entry.seq = Seq(0);
    if let EntryKind::Task(record) = &mut entry.kind
        && record.step == TaskStep::Opened
    {
        record.dropped.clone_from(&task.dropped);
        record.forgotten.clone_from(&task.forgotten);
        task.leave_begun(record);
    }
    entry
}
