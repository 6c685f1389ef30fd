//! Claude's hooks: what it is doing, and bodies handed into the very turn that a prompt starts.

use crate::core::agent::{Agent, AgentState};
use crate::core::delivery::DeliveryFact;
use crate::core::id::{AttemptId, RuntimeSession};
use crate::daemon::attach::ConnId;
use crate::daemon::event::Answer;
use crate::daemon::inbox::Query;
use crate::daemon::run::{Daemon, answer};
use crate::wire::control::{HookParams, HookReply, Reply};

/// The most that a hook may hand over, in characters: Claude keeps 10,000 and turns more into a
/// file reference (Claude Code 2.1.330, observed).
const CONTEXT_CHARS_MAX: usize = 8_000;

impl Daemon {
    pub(super) fn hook(&mut self, conn: ConnId, params: &HookParams, reply: Answer) {
        if let Some(pid) = params.claude_pid {
            self.know_agent(pid);
        }
        let runtime_session = self.runtime_session(conn, None);
        if !self.is_receivers_hook(&runtime_session, params.claude_pid) {
            return answer(reply, Ok(Reply::Hook(HookReply::default())));
        }
        match params.event.as_str() {
            "UserPromptSubmit" => {
                self.turn_lives(Agent::Claude);
                self.turn_waits(Agent::Claude, false);
                // A turn that ends at the limit would have them and do nothing with them.
                let handed = if self.limits.holds(Agent::Claude) {
                    HookReply::default()
                } else {
                    self.bodies_for_turn(&runtime_session)
                };
                self.claude_is(AgentState::Busy, None);
                answer(reply, Ok(Reply::Hook(handed)));
            }
            "PostToolUse" => {
                self.turn_waits(Agent::Claude, false);
                self.claude_gives_a_sign();
                answer(reply, Ok(Reply::Hook(HookReply::default())));
            }
            // The hook runs beside the dialog, and says nothing about its answer.
            "PermissionRequest" => {
                self.claude_waits();
                answer(reply, Ok(Reply::Hook(HookReply::default())));
            }
            "Notification" => {
                match params.detail.as_deref() {
                    Some("permission_prompt" | "agent_needs_input" | "elicitation_dialog") => {
                        self.claude_waits();
                    }
                    Some("idle_prompt") => self.claude_is_idle(),
                    _ => {}
                }
                answer(reply, Ok(Reply::Hook(HookReply::default())));
            }
            "Stop" => {
                self.claude_is_idle();
                self.turn_worked(Agent::Claude);
                answer(reply, Ok(Reply::Hook(HookReply::default())));
            }
            "StopFailure" => {
                let why = params.detail.clone().unwrap_or_default();
                let is_limited = why == "rate_limit" || why == "billing_error";
                let state = if is_limited {
                    AgentState::Limited
                } else {
                    AgentState::Idle
                };
                self.turn_is_over(Agent::Claude);
                self.claude_is(state, Some(format!("the last turn failed: {why}")));
                self.claude_failed(is_limited);
                answer(reply, Ok(Reply::Hook(HookReply::default())));
            }
            "SessionStart" => {
                // A compaction may come in the middle of a turn, which goes on.
                if params.detail.as_deref() != Some("compact") {
                    self.claude_is_idle();
                }
                self.claude.forget_rings();
                self.pump_claude();
                answer(reply, Ok(Reply::Hook(HookReply::default())));
            }
            _ => answer(reply, Ok(Reply::Hook(HookReply::default()))),
        }
    }

    /// What waits and fits, in its envelopes; whatever does not fit is announced.
    fn bodies_for_turn(&mut self, runtime_session: &RuntimeSession) -> HookReply {
        let page = self.inbox(&Query {
            agent: Agent::Claude,
            runtime_session,
            after: None,
            reply_to: None,
            limit: Some(100),
            unasked: true,
        });
        let mut text = String::new();
        let mut ids = Vec::new();
        let mut left = 0usize;
        for message in &page.messages {
            // Room for the closing notice is kept free.
            if text.chars().count() + message.text.chars().count() + 200 > CONTEXT_CHARS_MAX {
                left += 1;
                continue;
            }
            if left > 0 {
                left += 1;
                continue;
            }
            text.push_str(&message.text);
            text.push('\n');
            ids.push(message.message_id.clone());
        }
        if text.is_empty() && left == 0 {
            return HookReply::default();
        }
        if left > 0 {
            text.push_str(&format!(
                "[ctxrelay: {left} more message(s) too long for here; call get_messages]\n"
            ));
        }
        // On disk before a byte leaves, so that a repetition after a crash says that it is one.
        for id in &ids {
            let begun = DeliveryFact::HandedOut(AttemptId::new(uuid::Uuid::now_v7().to_string()));
            if self.apply(id, begun).is_err() {
                return HookReply::default();
            }
        }
        HookReply {
            additional_context: Some(text),
            ids,
        }
    }
}
