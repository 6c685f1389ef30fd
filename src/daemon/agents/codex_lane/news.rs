//! [`CodexNews`]: what happened to Codex, and [`CodexOnRecord`]: what the record says of it.
//! [`CodexLane::to_record`] alone decides what is still to be recorded.

use super::{CodexLane, SIGN_IN};
use crate::core::agent::{Agent, AgentState};
use crate::core::entry::AgentChanged;
use crate::core::id::ThreadId;

/// What happened to Codex. In which state that leaves it, the lane knows.
#[derive(Debug, Clone, Copy)]
pub(in crate::daemon) enum CodexNews<'a> {
    /// Its app-server is gone, which the lane is told next.
    Lost { why: &'a str },
    /// It works on this thread. What that does is told next.
    Adopted { thread: &'a ThreadId },
    /// Its turn begins to wait for the human, or goes on.
    Waits,
    /// It waits for somebody to sign in, or no longer.
    SignIn,
    /// A turn died of the usage limit, which ends then if Codex has said.
    LimitHit { until_ms: Option<i64> },
    /// The usage limit is over.
    LimitOver { now_ms: i64 },
    /// Codex says another end of its usage limit.
    LimitEnds { at_ms: i64 },
}

/// What the record says of Codex, or will once what is on its way to it is durable. It is read from
/// the record each time: a fact that was given up for good does not stand there.
#[derive(Debug)]
pub(in crate::daemon) struct CodexOnRecord {
    /// That its app-server is gone, and why.
    is_lost: bool,
    /// The thread that it works on, and the app-server's process.
    works_on: Option<(ThreadId, Option<u32>)>,
    /// Why it is in its state.
    why: Option<String>,
}

impl CodexOnRecord {
    /// `said`: the latest word on whether it works, and on which thread. `why`: of its state.
    pub(in crate::daemon) fn of(said: AgentChanged, why: Option<String>) -> Self {
        let works = said.state.is_attached();
        Self {
            // One that left with a daemon has no reason.
            is_lost: said.state == AgentState::Offline && said.why.is_some(),
            works_on: said.thread_id.map(|of| (of, said.pid)).filter(|_| works),
            why,
        }
    }
}

impl CodexLane {
    /// What the record has to say of this, and in which words; `None` where it does so already.
    pub(in crate::daemon) fn to_record(
        &self,
        news: CodexNews<'_>,
        known: CodexOnRecord,
    ) -> Option<(AgentChanged, String)> {
        let mut now = AgentChanged::of(Agent::Codex, self.state());
        let text = match news {
            CodexNews::Lost { why } => {
                // One that cannot be used is started again and again while messages wait for it.
                // Its words may name a time or a process: the record has the first ones.
                if self.server().is_none() || known.is_lost {
                    return None;
                }
                now.state = AgentState::Offline;
                now.why = Some(why.to_owned());
                format!("the codex app-server is gone: {why}")
            }
            CodexNews::Adopted { thread } => {
                now.pid = self.server().map(|server| server.pid);
                if known.works_on.as_ref() == Some(&(thread.clone(), now.pid)) {
                    return None;
                }
                (now.state, now.why) = match self.rests_at_limit() {
                    true => (AgentState::Limited, known.why),
                    false => (AgentState::Idle, None),
                };
                now.thread_id = Some(thread.clone());
                format!("Codex works on thread {thread}")
            }
            CodexNews::Waits => match now.state {
                AgentState::Waiting => "Codex waits for an approval or an answer".to_owned(),
                _ => "Codex goes on".to_owned(),
            },
            CodexNews::SignIn if self.needs_sign_in() => {
                now.why = Some(SIGN_IN.to_owned());
                SIGN_IN.to_owned()
            }
            CodexNews::SignIn => "Codex is signed in".to_owned(),
            CodexNews::LimitHit { until_ms } => {
                now.why.clone_from(&self.last_error);
                now.until_ms = until_ms;
                "Codex is at its usage limit; messages for it are held".to_owned()
            }
            CodexNews::LimitOver { now_ms } => {
                // One that is gone would keep its limit on record.
                now.until_ms = (!now.state.is_attached()).then_some(now_ms);
                "Codex works again: the usage limit is over".to_owned()
            }
            CodexNews::LimitEnds { at_ms } => {
                now.why = known.why;
                now.until_ms = Some(at_ms);
                "Codex says another end of its usage limit".to_owned()
            }
        };
        Some((now, text))
    }
}
