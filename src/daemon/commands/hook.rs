//! Claude's hooks: what it is doing, and bodies handed into the very turn that runs.

use crate::core::agent::AgentState;
use crate::core::delivery::{Carrier, LadderInput};
use crate::core::id::RuntimeSession;
use crate::daemon::attach::ConnId;
use crate::daemon::event::Answer;
use crate::daemon::run::{Daemon, answer};
use crate::wire::control::{HookParams, HookReply, Reply};

/// The source of a `SessionStart` in the middle of whatever is going on.
const COMPACT: &str = "compact";

/// The failures of a turn that say that there will be no other one for now.
const LIMITS: [&str; 2] = ["rate_limit", "billing_error"];

impl Daemon {
    pub(super) fn hook(&mut self, conn: ConnId, params: &HookParams, reply: Answer) {
        if let Some(pid) = params.claude_pid {
            self.know_agent(pid);
        }
        let pair = self.runtime_session(conn, None);
        let mut handed = HookReply::default();
        if self.is_receivers_hook(&pair, params.claude_pid) {
            handed = self.receivers_hook(&pair, params);
        }
        answer(reply, Ok(Reply::Hook(handed)));
    }

    fn receivers_hook(&mut self, pair: &RuntimeSession, params: &HookParams) -> HookReply {
        if let (Some(process), Some(runs)) = (params.claude_pid, params.monitor_runs) {
            self.monitor_runs(pair, process, runs);
        }
        match params.event.as_str() {
            "UserPromptSubmit" => {
                let handed = self.context_for(pair, Carrier::Prompt);
                self.tell_ladder(pair, LadderInput::TurnBegan);
                self.claude_is(AgentState::Busy, None);
                handed
            }
            "PostToolUse" => {
                if !self.is_in_turn(pair) {
                    // Its beginning was told to nobody, or to a daemon of before.
                    self.tell_ladder(pair, LadderInput::TurnBegan);
                    self.claude_is(AgentState::Busy, None);
                }
                self.context_for(pair, Carrier::Tool)
            }
            "Stop" => self.stopped(pair, params.stop_hook_active),
            "StopFailure" => {
                let why = params.detail.clone().unwrap_or_default();
                let limited = LIMITS.contains(&why.as_str());
                let state = if limited {
                    AgentState::Limited
                } else {
                    AgentState::Idle
                };
                self.tell_ladder(pair, LadderInput::TurnEnded { limited });
                self.claude_is(state, Some(format!("the last turn failed: {why}")));
                HookReply::default()
            }
            "SessionStart" => {
                self.began_anew(pair, params.detail.as_deref());
                HookReply::default()
            }
            _ => HookReply::default(),
        }
    }

    /// The turn ends, unless it is prolonged by what has found no other way. Once: what a stop
    /// has prolonged is not prolonged again, or two machines would talk for ever.
    fn stopped(&mut self, pair: &RuntimeSession, is_prolonged: bool) -> HookReply {
        if !is_prolonged {
            let handed = self.context_for(pair, Carrier::Stop);
            if handed.additional_context.is_some() {
                return handed;
            }
        }
        self.tell_ladder(pair, LadderInput::TurnEnded { limited: false });
        self.claude_is(AgentState::Idle, None);
        HookReply::default()
    }

    /// What Claude knew of the messages it was told of is gone: started, cleared, compacted,
    /// resumed or forked.
    fn began_anew(&mut self, pair: &RuntimeSession, source: Option<&str>) {
        // A compaction can be in the middle of a turn, everything else is at its end.
        if source != Some(COMPACT) {
            let limited = self
                .claude
                .ladder(pair)
                .is_some_and(|ladder| ladder.is_limited());
            self.tell_ladder(pair, LadderInput::TurnEnded { limited });
            if !limited {
                self.claude_is(AgentState::Idle, None);
            }
        }
        self.tell_ladder(pair, LadderInput::NewContext);
    }

    fn is_in_turn(&self, pair: &RuntimeSession) -> bool {
        self.claude
            .ladder(pair)
            .is_some_and(|ladder| ladder.is_in_turn())
    }
}
