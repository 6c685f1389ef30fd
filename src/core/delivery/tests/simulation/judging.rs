//! What the adapter makes of a look at the thread.

use std::collections::BTreeMap;

use super::adapter::{Busy, Note, Unproven};
use super::world::{Event, World};
use crate::delivery::recovery::{RecoveryVerdict, Sight, Unconfirmed, judge};
use crate::delivery::{AdapterAnswer, CodexInput};
use crate::id::{EntryId, TurnId};

/// A thread that cannot be judged is looked at again after this long, ms.
const LOOK_AGAIN_MS: i64 = 500;

impl World {
    /// What became of the unconfirmed messages.
    pub(super) fn adapter_judges(&mut self, history: &BTreeMap<EntryId, (TurnId, bool)>) {
        let unknowable = self.nature.unknowable;
        let Some(adapter) = self.adapter() else {
            return;
        };
        let Some(Busy::LookingAtHistory(queue)) = adapter.busy.take() else {
            return;
        };
        let (life, idle) = (adapter.life, adapter.is_idle());
        let unconfirmed: Vec<Unproven> = adapter
            .inflight
            .iter()
            .filter(|message| message.unconfirmed.is_some())
            .cloned()
            .collect();
        let mut again = false;
        for mut message in unconfirmed {
            let id = message.message.id.clone();
            let found = history.get(&id);
            let found = found.filter(|(turn, _)| !message.message.cut_off_in.contains(turn));
            if let Some((turn, steered)) = found {
                self.forget(&id);
                if self.percent(unknowable) {
                    // The history of a thread that was just loaded can be behind.
                    self.answer(id, message.attempt, AdapterAnswer::Unanswered);
                    continue;
                }
                let (turn, steered) = (turn.clone(), *steered);
                if let Some(adapter) = self.adapter().filter(|it| it.turn.as_ref() == Some(&turn)) {
                    adapter.in_turn.push(id.clone());
                }
                self.fact(CodexInput::Proof { id, turn, steered });
                continue;
            }
            let mut unconfirmed = message.unconfirmed.take().unwrap_or_default();
            let in_queue = queue.contains(&id);
            let sight = Sight {
                in_queue,
                idle,
                whole: true,
            };
            match judge(&mut unconfirmed, sight) {
                RecoveryVerdict::StillQueued => {
                    self.remember(&id, None);
                    self.answer(id, message.attempt, AdapterAnswer::StillQueued);
                }
                RecoveryVerdict::NotTaken => {
                    self.forget(&id);
                    let answer = if self.percent(unknowable) {
                        // One of several, and nobody can say which.
                        AdapterAnswer::Unanswered
                    } else {
                        AdapterAnswer::NotTaken
                    };
                    self.answer(id, message.attempt, answer);
                }
                RecoveryVerdict::LookAgain => {
                    self.remember(&id, Some(unconfirmed));
                    again |= idle;
                }
                RecoveryVerdict::Unknown => {
                    self.remember(&id, Some(unconfirmed));
                    self.answer(id, message.attempt, AdapterAnswer::Unanswered);
                }
            }
        }
        if again {
            let incarnation = self.incarnations;
            self.after(LOOK_AGAIN_MS, Event::Adapter(incarnation, life, Note::Look));
        }
    }

    fn forget(&mut self, id: &EntryId) {
        if let Some(adapter) = self.adapter() {
            adapter.inflight.retain(|message| message.message.id != *id);
        }
    }

    fn remember(&mut self, id: &EntryId, unconfirmed: Option<Unconfirmed>) {
        if let Some(adapter) = self.adapter()
            && let Some(message) = adapter.inflight.iter_mut().find(|m| m.message.id == *id)
        {
            message.unconfirmed = unconfirmed;
        }
    }
}
