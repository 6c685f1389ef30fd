//! [`Delivery`]: the life of one message on its way to one receiver.
//!
//! Facts may arrive late, twice or out of order: each state accepts what still makes sense and
//! ignores the rest.

use serde::{Deserialize, Serialize};

use super::{DeliveryState, OnBusy, Shown};
use crate::agent::Agent;
use crate::id::{AttemptId, EntryId, RuntimeSession, Seq, ThreadId, TurnId};
use crate::snapshot::MessageSnapshot;

/// One message on its way to one receiver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// The message.
    pub id: EntryId,
    /// Its position in the ledger, which is also its position in the receiver's lane.
    pub seq: Seq,
    /// The receiver.
    pub to: Agent,
    /// The pair that it belongs to.
    pub runtime_session: RuntimeSession,
    /// What to do if the receiver is working.
    pub on_busy: OnBusy,
    /// The state of its delivery.
    pub state: DeliveryState,
    /// How often it was tried.
    pub attempts: u32,
    /// The current or last attempt, or one that was taken back before anything left.
    pub attempt: Option<AttemptId>,
    /// The conversation of Codex's for this attempt; none for an attempt of an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadId>,
    /// When the state last changed, or the message was released, ms since the epoch.
    pub changed_ms: i64,
    /// What of its text has left for the model. What leaves adds to it, proof makes it
    /// whole, and a [`Backlog`] takes it back when nothing left after all, with the attempt.
    ///
    /// [`Backlog`]: super::Backlog
    #[serde(default)]
    pub shown: Shown,
    /// A hook delivered it into a turn that has not ended: the end of that turn settles it. Known
    /// from the ledger, unless [`Self::lost_turn`].
    #[serde(default)]
    pub in_turn: bool,
    /// The turn into which a hook delivered it is known to have left it unread: the end of no other
    /// turn settles it.
    #[serde(default)]
    pub lost_turn: bool,
    /// Nobody is to get it any more, but it could not be ended at once: it ends when it is known
    /// that no turn of Codex has it. Written before the operator learns that it is asked back.
    #[serde(default)]
    pub withdrawn: bool,
    /// The turns of Codex that had it and ended early, before another attempt was requested: their
    /// history proves nothing about later attempts. Known from the ledger.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cut_off_in: Vec<TurnId>,
}

/// What can happen to a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryFact {
    /// We are about to give it to the receiver's side. Written before the first byte leaves.
    AttemptBegan(AttemptId),
    /// This much of its text leaves for an agent that reads it at once, so nobody can find out
    /// later whether it was seen. Written before the first byte leaves.
    HandedOut(AttemptId, Shown),
    /// The receiver's side took it.
    Offered,
    /// The receiver's side certainly does not have it (refused, or recovery did not find it).
    NotTaken,
    /// There is proof that the receiver has it.
    Confirmed,
    /// Whether it arrived cannot be found out.
    Unknowable,
    /// The operator wants another try.
    Requeued,
    /// The receiver has it, its turn ended early, and it is to be delivered again: the only way
    /// back from proof.
    CutOff,
}

impl MessageSnapshot {
    /// Its delivery before any attempt.
    pub fn delivery(&self, id: EntryId) -> Delivery {
        let (seq, to, pair) = (self.seq, self.to, self.pair());
        let row = Delivery::recorded(id, seq, to, pair, self.on_busy, self.at_ms);
        Delivery {
            cut_off_in: self.cut_off_in.clone(),
            ..row
        }
    }

    /// The same, of one that is taken in now: it waits from now on, by the clock of the machines of
    /// delivery. Its entry has the time of the wall, which may have been set meanwhile, or was sent
    /// long ago and is to be sent once more.
    pub fn delivery_from(&self, id: EntryId, now_ms: i64) -> Delivery {
        Delivery {
            changed_ms: now_ms,
            ..self.delivery(id)
        }
    }
}

impl Delivery {
    /// A message that was just recorded.
    pub fn recorded(
        id: EntryId,
        seq: Seq,
        to: Agent,
        runtime_session: RuntimeSession,
        on_busy: OnBusy,
        at_ms: i64,
    ) -> Self {
        Self {
            id,
            seq,
            to,
            runtime_session,
            on_busy,
            state: DeliveryState::Queued,
            attempts: 0,
            attempt: None,
            thread: None,
            changed_ms: at_ms,
            shown: Shown::Nothing,
            in_turn: false,
            lost_turn: false,
            withdrawn: false,
            cut_off_in: Vec::new(),
        }
    }

    /// Whether a user message with its id in this turn proves that the receiver has it. Of a turn
    /// that ended early before it was asked for once more, it does not.
    pub fn is_proven_by(&self, turn: &TurnId) -> bool {
        !self.cut_off_in.contains(turn)
    }

    /// Whether an attempt began whose end is not known.
    pub fn is_on_its_way(&self) -> bool {
        matches!(
            self.state,
            DeliveryState::Attempted | DeliveryState::Offered
        )
    }

    /// It waits as long as it has to. Returns whether it did not before.
    pub fn promise(&mut self) -> bool {
        let was_impatient = self.on_busy == OnBusy::Reject;
        if was_impatient {
            self.on_busy = OnBusy::Queue;
        }
        was_impatient
    }

    /// So much of its text has left, or may have. Returns whether that is more than before.
    pub fn show(&mut self, shown: Shown) -> bool {
        let grows = shown > self.shown;
        self.shown = self.shown.max(shown);
        grows
    }

    /// Whether the receiver had all of its text, perhaps: shown once more it says so.
    pub fn is_repeat(&self) -> bool {
        self.shown >= Shown::Rest
            || matches!(
                self.state,
                DeliveryState::Confirmed | DeliveryState::Ambiguous
            )
    }

    /// Whether the word that it arrived is about the whole message. Of one whose beginning alone
    /// was shown it is not.
    pub fn can_be_proven(&self) -> bool {
        self.shown != Shown::Head || self.is_repeat()
    }

    /// Whether an acknowledgement is about the whole message. Where its beginning left by itself
    /// that takes proof.
    pub fn can_be_acknowledged(&self) -> bool {
        match self.shown {
            Shown::Nothing | Shown::Whole => true,
            Shown::Head | Shown::Rest => matches!(
                self.state,
                DeliveryState::Confirmed | DeliveryState::Ambiguous
            ),
        }
    }

    /// Takes a fact in. Returns whether something changed.
    pub fn apply(&mut self, fact: DeliveryFact, now_ms: i64) -> bool {
        use DeliveryState as S;
        let next = match (self.state, fact) {
            (S::Queued, DeliveryFact::AttemptBegan(attempt)) => {
                self.attempts += 1;
                self.attempt = Some(attempt);
                S::Attempted
            }
            (S::Queued | S::Attempted | S::Offered, DeliveryFact::HandedOut(attempt, shown)) => {
                self.attempts += 1;
                self.attempt = Some(attempt);
                self.shown = self.shown.and(shown);
                S::Attempted
            }
            (S::Attempted, DeliveryFact::Offered) => S::Offered,
            (S::Attempted | S::Offered, DeliveryFact::NotTaken) => S::Queued,
            // Proof counts whenever it comes, also after the message became ambiguous.
            (
                S::Queued | S::Attempted | S::Offered | S::Ambiguous | S::Expired,
                DeliveryFact::Confirmed,
            ) => {
                self.show(Shown::Whole);
                S::Confirmed
            }
            (S::Queued | S::Attempted | S::Offered, DeliveryFact::Unknowable) => S::Ambiguous,
            (S::Ambiguous | S::Rejected | S::Expired | S::Cancelled, DeliveryFact::Requeued) => {
                if self.state == S::Ambiguous {
                    self.show(Shown::Whole);
                }
                self.withdrawn = false;
                S::Queued
            }
            (S::Confirmed, DeliveryFact::CutOff) => {
                self.show(Shown::Whole);
                (self.in_turn, self.lost_turn) = (false, false);
                self.withdrawn = false;
                S::Queued
            }
            _ => return false,
        };
        self.state = next;
        self.changed_ms = now_ms;
        true
    }
}
