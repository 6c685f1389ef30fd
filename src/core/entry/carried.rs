//! [`CarriedEntry`]: where an entry stood before a compaction carried it into a new file.

use serde::{Deserialize, Serialize};

use super::{DeliveryWay, TurnFiles};
use crate::agent::{Agent, Party};
use crate::id::{RuntimeSession, Seq, SessionId, TurnId};

/// Where a carried entry stood, and what of it is over already. The entry keeps its id, so that an
/// id that was given out stays valid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CarriedEntry {
    /// The sealed session in which it was recorded first.
    pub session_id: SessionId,
    /// Its number there.
    pub seq: Seq,
    /// Nobody has to get it any more: carried for what it says, not to be delivered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub settled: bool,
    /// It asked for an answer, or handed work over, and nobody owes anything for it any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answered: bool,
    /// Of such a handoff: its receiver did not answer it. It was closed, or taken back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unanswered: bool,
    /// Who closed what its receiver is not to get for that, where this may still be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_by: Option<Party>,
    /// It answered an open handoff and does not count as its answer any more: what was said later
    /// does, or the operator's rejection left it without any.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub past_answer: bool,
    /// Nobody vouched for it where it stood, and it speaks for the operator: shown, and without effect.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub foreign: bool,
    /// Its task was over and was opened again, or nobody has to answer it in this file: it makes that
    /// task what it was, and does nothing else a second time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub task_only: bool,
    /// Codex has it in this turn, whose end is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_turn: Option<TurnId>,
    /// How it came into that turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rung: Option<DeliveryWay>,
    /// Codex answered its sender by a tool in that turn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answered_in_turn: bool,
    /// Its turn ended early, and its sender was not told: it is to be sent again by itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub will_be_sent_again: bool,
    /// Of a settled one: the turns of Codex that had it and ended early, so that it can be sent
    /// again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cut_off_in: Vec<TurnId>,
    /// A note that says nothing any more of what these agents are at: there it was replaced, or
    /// forgotten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub past_for: Vec<Agent>,
    /// Under which pair the work of that Codex stood to which it counted, where the operator said it
    /// to both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codex_pair: Option<RuntimeSession>,
    /// Of what a turn touched, what its agent is still at, where that is not all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Box<TurnFiles>>,
}

impl CarriedEntry {
    /// What stood there, and of which nothing is over.
    pub fn of(session_id: SessionId, seq: Seq) -> Self {
        Self {
            session_id,
            seq,
            settled: false,
            answered: false,
            unanswered: false,
            closed_by: None,
            past_answer: false,
            foreign: false,
            task_only: false,
            in_turn: None,
            rung: None,
            answered_in_turn: false,
            will_be_sent_again: false,
            cut_off_in: Vec::new(),
            past_for: Vec::new(),
            codex_pair: None,
            held: None,
        }
    }
}
