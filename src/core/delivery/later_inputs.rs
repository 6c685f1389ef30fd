//! [`LaterInputs`]: inputs for the machines that follow from what was just done for one of them.
//!
//! No machine is told of a consequence while its own effects are still being carried out: the loop
//! tells it afterwards, in the order in which the inputs came up, and before the next event.

use std::collections::VecDeque;

use super::{ClaudeInput, CodexInput, LadderInput, LimitInput};
use crate::agent::Agent;
use crate::id::{EntryId, RuntimeSession};

/// An input for one machine, or for several.
#[derive(Debug)]
pub enum LaterInput {
    /// The lane to Codex.
    Codex(CodexInput),
    /// The ladder of one pair.
    Ladder(RuntimeSession, LadderInput),
    /// The ladders of all pairs.
    Ladders(LadderInput),
    /// The state of the Claude of one pair.
    Claude(RuntimeSession, ClaudeInput),
    /// Those of all pairs.
    Claudes(ClaudeInput),
    /// The usage limit of an agent.
    Limit(Agent, LimitInput),
    /// Both lanes: something may be delivered that could not be before.
    News,
}

/// Inputs that the machines get after what is being done.
#[derive(Debug, Default)]
pub struct LaterInputs(VecDeque<LaterInput>);

impl LaterInputs {
    /// Has a machine told behind what is being done.
    pub fn push(&mut self, input: LaterInput) {
        self.0.push_back(input);
    }

    /// As [`Self::push`], where a machine is to be told at all.
    pub fn extend(&mut self, input: Option<LaterInput>) {
        self.0.extend(input);
    }

    /// A message for Codex did not leave.
    pub fn not_sent(&mut self, id: EntryId) {
        self.push(LaterInput::Codex(CodexInput::NotSent { id }));
    }

    /// The sender of a message for Codex was told that it gets through.
    pub fn promised(&mut self, id: EntryId) {
        self.push(LaterInput::Codex(CodexInput::Promised { id }));
    }

    /// What is told next, until there is nothing.
    pub fn take_next(&mut self) -> Option<LaterInput> {
        self.0.pop_front()
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
