//! Feeds the inputs that came up during a flow to the lanes, then delivers.

use super::owners::Daemon;
use crate::core::delivery::{CodexInput, LaterInput};

impl Daemon {
    /// Tells a machine what came up while something was done for one of them.
    pub(super) fn tell(&mut self, input: LaterInput) {
        match input {
            LaterInput::Codex(input) => self.codex_input(input),
            LaterInput::Ladder(pair, input) => self.tell_ladder(&pair, input),
            LaterInput::Ladders(input) => self.tell_all_ladders(&input),
            LaterInput::Claude(pair, input) => self.claude_hears(&pair, input),
            LaterInput::Claudes(input) => self.claudes_hear(&input),
            LaterInput::Limit(agent, input) => self.limit_input(agent, input),
            LaterInput::News => {
                self.deliver();
                self.deliveries.outbox.drop_wrong_rows();
            }
        }
    }

    /// Delivers what can be delivered now.
    fn deliver(&mut self) {
        if self.base.operations.is_stopping() {
            return;
        }
        // A turn that waits for messages gets them into that very turn.
        self.answer_waiters();
        self.codex_input(CodexInput::News);
        self.pump_claude();
    }
}
