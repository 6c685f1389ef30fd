//! What Claude does, as its hooks and its tools tell: a turn begins, lives, waits, ends.

use crate::core::agent::{Agent, AgentState};
use crate::core::delivery::LadderInput;
use crate::daemon::run::Daemon;

impl Daemon {
    /// The state that was recorded last, durable or on its way.
    pub(in crate::daemon) fn claude_state(&self) -> AgentState {
        self.claude.told.0
    }

    /// Claude's turn does something.
    pub(in crate::daemon) fn claude_gives_a_sign(&mut self) {
        if !self.silences.is_on(Agent::Claude) {
            return;
        }
        self.turn_lives(Agent::Claude);
        if matches!(
            self.claude_state(),
            AgentState::Stale | AgentState::Waiting | AgentState::Idle
        ) {
            self.claude_is(AgentState::Busy, None);
        }
    }

    /// A turn of Claude begins. One that was told in its middle begins once.
    pub(in crate::daemon) fn claude_turn_began(&mut self) {
        self.turn_lives(Agent::Claude);
        self.turn_waits(Agent::Claude, false);
        self.claude_is(AgentState::Busy, None);
    }

    /// Claude shows a dialog.
    pub(in crate::daemon) fn claude_waits(&mut self) {
        self.turn_waits(Agent::Claude, true);
        let why = "it asks you something in its terminal".to_owned();
        self.claude_is(AgentState::Waiting, Some(why));
    }

    /// No turn of Claude runs.
    pub(in crate::daemon) fn claude_is_idle(&mut self) {
        self.turn_is_over(Agent::Claude);
        if self.limits.holds(Agent::Claude) {
            let why = "its last turn failed at the usage limit".to_owned();
            self.claude_is(AgentState::Limited, Some(why));
        } else {
            self.claude_is(AgentState::Idle, None);
        }
    }

    /// Claude's lane goes on after a limit. A turn that runs says its own state.
    pub(in crate::daemon) fn claude_limit_over(&mut self) {
        if self.claude_state() == AgentState::Limited {
            self.claude_is(AgentState::Idle, None);
        }
        self.tell_all_ladders(&LadderInput::LimitOver);
    }
}
