//! Whether the operator can have an agent's context compacted now.

use crate::core::agent::{Agent, AgentState};
use crate::daemon::agents::claude_lane::ClaudeLane;
use crate::daemon::agents::codex_lane::CodexLane;
use crate::daemon::base::clock::Clock;
use crate::wire::control::{Refusal, RefusalCode};

/// Refuses what Codex cannot do now. Claude's context can be compacted in its terminal only.
pub(super) fn check_compaction(
    codex: &CodexLane,
    claude: &ClaudeLane,
    clock: &Clock,
    agent: Agent,
) -> Result<(), Refusal> {
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
    if codex.is_compacting() {
        return refused(
            "Codex's context is being compacted already",
            "see `ctxrelay continuity status` for when it was",
        );
    }
    if claude.is_compacting(clock.now_ms()) {
        return refused(
            "Claude's context is being compacted, and one of the two keeps the thread",
            "try again when Claude is done",
        );
    }
    match codex.state() {
        AgentState::Offline => Err(no_thread()),
        AgentState::Limited => refused(
            "Codex is at its usage limit, and a compaction asks its model",
            "try again when the limit is over",
        ),
        _ if codex.needs_sign_in() => refused(
            "Codex waits for somebody to sign in, and a compaction asks its model",
            "sign in with `ctxrelay codex`",
        ),
        AgentState::Idle if codex.is_quiet() => Ok(()),
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

pub(super) fn no_thread() -> Refusal {
    Refusal::new(
        RefusalCode::CodexUnavailable,
        "Codex has no thread loaded: there is nothing to compact",
        "start it with `ctxrelay codex`",
    )
}
