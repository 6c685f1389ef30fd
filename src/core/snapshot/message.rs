//! [`MessageSnapshot`]: what the ledger says of a message until it is settled.

use serde::{Deserialize, Serialize};

use super::Snapshot;
use crate::agent::{Agent, Party};
use crate::entry::{DeliveryResult, DeliveryWay, OnBusy};
use crate::id::{EntryId, RuntimeSession, Seq, TurnId};
use crate::line_hash::LineHash;

/// Turns that are remembered of one message. A search of Codex's history begins with its newest
/// turn and needs no more than the latest of these.
const CUT_OFF_IN_MAX: usize = 8;

/// A message that is not settled: not confirmed (Codex), not acknowledged (Claude).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageSnapshot {
    /// Its place in the ledger.
    pub seq: Seq,
    /// Who sent it.
    pub from: Party,
    /// For whom it is.
    pub to: Agent,
    /// When it was recorded.
    pub at_ms: i64,
    /// When it was sent, where that was before it was recorded here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_ms: Option<i64>,
    /// The pair that it belongs to.
    pub runtime_session: Option<RuntimeSession>,
    /// What to do when the receiver works.
    pub on_busy: OnBusy,
    /// Where it stands; `None` while nothing is known.
    pub result: Option<DeliveryResult>,
    /// How it arrived.
    pub rung: Option<DeliveryWay>,
    /// The hash on its line when it was recorded; `None` of a record without a chain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<LineHash>,
    /// The turns of Codex that had it and ended early, the latest of them, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cut_off_in: Vec<TurnId>,
    /// How often the agents had answered each other with it, until their person speaks.
    #[serde(default, skip_serializing_if = "is_none")]
    pub answers: u32,
    /// It is a question or a handoff that is closed: a turn of it that ends early is no reason to send
    /// it again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closed: bool,
    /// The agent that sent it closed it itself: its receiver does not get it, where that is still
    /// possible.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closed_by_sender: bool,
    /// The operator closed it. Their command asks for it back itself; where the daemon died before it
    /// could, the next one does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closed_by_operator: bool,
    /// Codex answered its sender by a tool, in the turn that has it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answered_in_turn: bool,
    /// Its turn ended early, and its sender was not told: it is to be sent again by itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub will_be_sent_again: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_none(answers: &u32) -> bool {
    *answers == 0
}

impl Snapshot {
    /// What is known of a message that is not settled, or whose turn has not ended, or ended early.
    pub fn message_under_way(&self, id: &EntryId) -> Option<&MessageSnapshot> {
        let unsettled = self.unsettled.get(id).map(AsRef::as_ref);
        let in_turn = || self.in_turn.get(id).map(|(_, message)| message.as_ref());
        let cut_off = || self.cut_off.get(id).map(AsRef::as_ref);
        unsettled.or_else(in_turn).or_else(cut_off)
    }

    /// The messages that a turn of Codex's has, or had when it was cut off; the oldest first.
    pub fn had_by(&self, turn: &TurnId) -> Vec<(&EntryId, &MessageSnapshot)> {
        let running = self
            .in_turn
            .iter()
            .filter(|(_, (had_by, _))| had_by == turn);
        let running = running.map(|(id, (_, message))| (id, message));
        let cut_off = self.cut_off.iter().filter(|(_, it)| it.was_last_in(turn));
        let both = running.chain(cut_off);
        let mut had: Vec<_> = both.map(|(id, message)| (id, message.as_ref())).collect();
        had.sort_by_key(|(_, message)| message.seq);
        had
    }
}

impl MessageSnapshot {
    /// The pair that it belongs to; the first where it names none.
    pub fn pair(&self) -> RuntimeSession {
        self.runtime_session.clone().unwrap_or_default()
    }

    /// This party closed it, if any.
    pub(crate) fn set_closed_by(&mut self, by: Option<&Party>) {
        self.closed_by_sender = by == Some(&self.from) && self.from.agent().is_some();
        self.closed_by_operator = by == Some(&Party::Human);
    }

    /// Who closed it, where that keeps its receiver from getting it.
    pub fn closed_by(&self) -> Option<Party> {
        match self.closed_by_sender {
            true => Some(self.from.clone()),
            false => self.closed_by_operator.then_some(Party::Human),
        }
    }

    /// Of the turns that had it and ended early, this is the last.
    pub(crate) fn was_last_in(&self, turn: &TurnId) -> bool {
        self.cut_off_in.last() == Some(turn)
    }

    /// This turn had it and ended early.
    pub(crate) fn cut_off(&mut self, turn: &TurnId) {
        if self.cut_off_in.contains(turn) {
            return;
        }
        if self.cut_off_in.len() == CUT_OFF_IN_MAX {
            self.cut_off_in.remove(0);
        }
        self.cut_off_in.push(turn.clone());
    }

    /// The same, asked for again by the operator.
    pub(crate) fn requeued(self) -> Self {
        Self {
            result: Some(DeliveryResult::Requeued),
            answers: 0,
            closed_by_sender: false,
            closed_by_operator: false,
            answered_in_turn: false,
            will_be_sent_again: false,
            ..self
        }
    }

    /// Whether there is proof that the receiver has it.
    pub fn is_proven(&self) -> bool {
        matches!(
            self.result,
            Some(DeliveryResult::Confirmed | DeliveryResult::Acknowledged)
        )
    }
}
