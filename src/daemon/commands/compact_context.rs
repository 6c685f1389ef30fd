//! The operator has an agent's context compacted.

use super::agent_action::Deed;
use crate::core::agent::{Agent, AgentState};
use crate::core::delivery::CodexInput;
use crate::core::entry::LifecycleEvent;
use crate::daemon::owners::{Agents, Base, Daemon};
use crate::daemon::reply::{ReplySender, answer};
use crate::wire::control::{Refusal, RefusalCode};

impl Daemon {
    /// Compacts Codex's context. Claude's can be compacted in its terminal only.
    pub(super) fn compact_context(&mut self, agent: Agent, placed: bool, reply: ReplySender) {
        if let Err(refusal) = self.agents.may_compact(&self.base, agent) {
            return answer(reply, Err(refusal));
        }
        let life = self.agents.codex.life();
        // Before it is asked for: nothing may begin a turn that it would cut off.
        self.codex_input(CodexInput::CompactionBegan {
            life,
            is_asked: true,
        });
        let Some(begun) = self.agents.codex.compact() else {
            self.codex_input(CodexInput::CompactionOver { life });
            return answer(reply, Err(no_thread()));
        };
        self.base.clients.status_changed();
        let deed = Deed {
            done: LifecycleEvent::CompactionAsked,
            text: "the operator had Codex's context compacted".to_owned(),
            placed,
        };
        self.base
            .answer_deed(begun, deed, "look again: it may be at work", reply);
    }
}

impl Agents {
    fn may_compact(&self, base: &Base, agent: Agent) -> Result<(), Refusal> {
        let refused = |message: &str, hint: &str| {
            let code = RefusalCode::WrongState;
            Err(Refusal::new(code, message, hint))
        };
        if agent == Agent::Claude {
            return Err(Refusal::new(
                RefusalCode::NotFromHere,
                "Claude's context can only be compacted in its own terminal",
                "type /compact there",
            ));
        }
        if self.codex.is_compacting() {
            return refused(
                "Codex's context is being compacted already",
                "see `ctxrelay continuity status` for when it was",
            );
        }
        if self.reloads.is_compacting(base.clock.now_ms()) {
            return refused(
                "Claude's context is being compacted, and one of the two keeps the thread",
                "try again when Claude is done",
            );
        }
        match self.codex.state() {
            AgentState::Offline => Err(no_thread()),
            AgentState::Limited => refused(
                "Codex is at its usage limit, and a compaction asks its model",
                "try again when the limit is over",
            ),
            _ if self.codex.needs_sign_in() => refused(
                "Codex waits for somebody to sign in, and a compaction asks its model",
                "sign in with `ctxrelay codex`",
            ),
            AgentState::Idle if self.codex.is_quiet() => Ok(()),
            AgentState::Idle => refused(
                "a message is on its way to Codex, and a compaction would cut off its turn",
                "try again when Codex is idle",
            ),
            _ => refused(
                "Codex is at work, and a compaction would cut off its turn",
                "try again when Codex is idle",
            ),
        }
    }
}

fn no_thread() -> Refusal {
    Refusal::new(
        RefusalCode::CodexUnavailable,
        "Codex has no thread loaded: there is nothing to compact",
        "start it with `ctxrelay codex`",
    )
}
