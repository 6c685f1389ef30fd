//! What the `meta` of an entry says of a Codex turn: who has an answer from it, and what of it is
//! sent again.

use serde_json::Value;

use super::{Entry, EntryKind};
use crate::agent::{Agent, Party};
use crate::id::{EntryId, TurnId};

/// The key in `meta` of what Codex says by a tool, which names its turn: the last words of that one are
/// no answer to the Claude of this pair any more.
pub const ANSWERED_TURN: &str = "answeredTurn";

/// The key in `meta` of the end of a turn, which names the message that started it: that is sent again
/// by itself once a usage limit is over, and its sender was told nothing.
pub const SENT_AGAIN: &str = "sentAgain";

/// The key in `meta` of what Codex gets of the record because it asked for it by a marker: the message
/// of the turn in which it did. The turn that has it goes on with that one.
pub const GOES_ON_WITH: &str = "goesOnWith";

impl Entry {
    /// Of a message of ours to Codex: the message whose turn goes on with it.
    pub fn goes_on_with(&self) -> Option<EntryId> {
        let is_ours = self.source == Party::System && self.on_busy().is_some();
        let id = self.meta.get(GOES_ON_WITH).filter(|_| is_ours);
        id.and_then(Value::as_str).map(EntryId::new)
    }

    /// The turn of Codex's in which it answered the Claude of this pair by a tool.
    pub fn answered_turn(&self) -> Option<TurnId> {
        let is_of_codex = self.source == Party::Agent(Agent::Codex) && self.on_busy().is_some();
        let turn = self.meta.get(ANSWERED_TURN).filter(|_| is_of_codex);
        turn.and_then(Value::as_str).map(TurnId::new)
    }

    /// Of the end of a turn: the message that is sent again by itself.
    pub fn sent_again(&self) -> Option<EntryId> {
        let is_turn = matches!(self.kind, EntryKind::Turn(_));
        let id = self.meta.get(SENT_AGAIN).filter(|_| is_turn);
        id.and_then(Value::as_str).map(EntryId::new)
    }
}
