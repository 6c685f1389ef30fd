//! Clearing: the session ends, and is archived or deleted for good. Everything that was open in it
//! is closed explicitly.

use crate::core::agent::Party;
use crate::core::entry::{Entry, EntryKind, Fate, LifecycleEvent, TASK_ONLY, TaskStep, ToldDigest};
use crate::core::signing::{ActSignature, OperatorAct};
use crate::daemon::decisions::signing::check_act;
use crate::daemon::owners::{Base, Daemon};
use crate::daemon::reply::{ReplySender, answer};
use crate::daemon::sessions::carrying::{CarryingRead, EndingWish};
use crate::daemon::sessions::deletion::Deletion;
use crate::daemon::sessions::mended::TAKEN_BACK;
use crate::daemon::sessions::rollover::Rollover;
use crate::store::erase::KeptTexts;
use crate::wire::control::{ClearParams, Cleared, Refusal, Reply};

impl Daemon {
    /// A session that may end.
    pub(super) fn clear(&mut self, params: ClearParams, reply: ReplySender) {
        let world = self.base.recorder.world();
        if params.discard {
            self.base.read_texts(params, reply);
        } else if world.entries_of_open_tasks().is_empty() {
            // There is nothing to be read.
            let cleared = self.clear_now(None, None, params.signature);
            answer(reply, cleared.map(|(cleared, _)| Reply::Cleared(cleared)));
        } else {
            self.base.read_carrying(EndingWish::Clear(params), reply);
        }
    }

    /// `texts`: the session is deleted for good, and these long texts stay. Else `read` is what it
    /// leaves, if anything.
    pub(in crate::daemon) fn clear_now(
        &mut self,
        texts: Option<KeptTexts>,
        read: Option<&CarryingRead>,
        signature: Option<ActSignature>,
    ) -> Result<(Cleared, Option<Deletion>), Refusal> {
        let (fate, how) = if texts.is_some() {
            (Fate::Discarded, "deletes this session for good")
        } else {
            (Fate::Archived, "puts this session away")
        };
        let session = self.base.recorder.session_id().as_str();
        check_act(
            &self.base.recorder,
            OperatorAct::Clear,
            signature.as_ref(),
            session,
            fate.verdict(),
        )?;
        // Open tasks are none of the session's: they go on.
        let carried = match read {
            // The files of what was imported stay, and nothing else tells them from any others.
            None => self.base.imports_again(),
            Some(read) => self.base.entries_of_tasks(read)?,
        };
        let (cancelled, mut closing) = self.deliveries.take_back_all(&self.base);
        let world = self.base.recorder.world();
        let mut words = format!(
            "the operator {how}: {} messages are taken back, {} handoffs and {} proposals stay open",
            cancelled.len(),
            world.standing_handoffs().count(),
            world.pending_proposals.len(),
        );
        let cut_off = world.cut_off.len();
        if cut_off > 0 {
            words.push_str(&format!(
                ", {cut_off} whose turn ended early are not sent again"
            ));
        }
        let event = LifecycleEvent::SessionCleared;
        let mut word = self
            .base
            .recorder
            .entry(Party::Human, None, event, words, None);
        word.meta
            .insert(TAKEN_BACK.to_owned(), cancelled.len().into());
        if let Some(signature) = &signature {
            signature.put_on(&mut word);
        }
        closing.push(word);
        let rolled_over = self.roll_over(Rollover {
            fate,
            texts,
            closing,
            carried,
            signature,
        });
        // Taken back they are in any case: the record of the old session says so by now, unless
        // it took nothing at all.
        let cancelled: Vec<_> = cancelled
            .into_iter()
            .filter(|id| !self.base.recorder.world().unsettled.contains_key(id))
            .collect();
        self.base.answer_receipts_of(&cancelled);
        let rolled_over = rolled_over?;
        self.deliveries
            .forget_handoffs_that_are_over(&self.base, &self.agents.claude);
        self.claude_forgets();
        self.base.clients.move_cursors(|_| None);
        self.base.end_waits_of_cleared();
        let cleared = Cleared {
            sealed: rolled_over.before.session_id,
            archive: rolled_over.archive,
            entries: rolled_over.before.entries,
            head: rolled_over.before.head,
            session_id: self.base.recorder.session_id().clone(),
            cancelled,
            left: Vec::new(),
        };
        Ok((cleared, rolled_over.deletion))
    }
}

impl Base {
    /// What the open tasks are made of, and what of them stands in the way of a proposal. What was
    /// said for one that is not current is nothing that the agents are at, and what was handed over is
    /// the task's alone: its messages are taken back. With its handoff ends what holds up that one.
    fn entries_of_tasks(&self, read: &CarryingRead) -> Result<Vec<Entry>, Refusal> {
        let world = self.recorder.world();
        let mut wanted = world.entries_of_open_tasks();
        for seq in world.entries_of_own_blockers() {
            // One that cannot be read names no task: it stays in the session that ends.
            let Ok(entry) = self.carried_entry(seq, read) else {
                continue;
            };
            let task = entry.task();
            if task.is_some_and(|task| world.open_tasks().any(|open| open.id == task)) {
                wanted.insert(seq);
            }
        }
        let mut entries = self.carried_entries(wanted, read)?;
        entries.retain(|entry| {
            let is_handoff = matches!(entry.kind, EntryKind::Handoff(_));
            !is_handoff || world.open_tasks().any(|task| task.has_handoff(entry))
        });
        for entry in &mut entries {
            let session = entry.pair();
            let current = world.current_task(&session).map(|task| &task.id);
            if entry.task().as_ref() != current {
                entry.meta.insert(TASK_ONLY.to_owned(), true.into());
            }
            match (&mut entry.kind, &mut entry.carried) {
                (EntryKind::Handoff(_), Some(carried)) => {
                    (carried.settled, carried.task_only) = (true, true);
                }
                (EntryKind::Task(record), _) if record.step == TaskStep::Opened => {
                    if let Some(task) = world.tasks.get(&record.task) {
                        task.leave_begun(record);
                    }
                }
                _ => {}
            }
        }
        Ok(entries)
    }

    /// What was imported, as entries for the next session: the one that had them is not read.
    fn imports_again(&self) -> Vec<Entry> {
        let imported = self.recorder.world().imported.iter();
        let mut imported: Vec<_> = imported.collect();
        imported.sort_by_key(|(_, imported)| imported.seq);
        let imported = imported.into_iter();
        let entries = imported.map(|(id, imported)| {
            let step = TaskStep::Imported.of(id.clone());
            let words = ToldDigest::Imported(&imported.digest).written();
            self.recorder.entry(Party::Human, None, step, words, None)
        });
        entries.collect()
    }
}
