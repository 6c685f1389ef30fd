//! [`TurnEnd`]: how a turn of Codex ended, and what Claude is told of one that came to nothing.

use crate::core::agent::{Agent, Party};
use crate::core::entry::{Entry, TurnStatus};
use crate::core::id::{ThreadId, TurnId};
use crate::daemon::codex_lane::Relayed;
use crate::daemon::owners::{Agents, Base};
use crate::daemon::running_tools::first_words;

/// How a turn ended.
#[derive(Debug)]
pub(super) struct TurnEnd {
    pub(super) thread_id: ThreadId,
    pub(super) turn_id: TurnId,
    pub(super) status: TurnStatus,
    pub(super) error: Option<String>,
    pub(super) usage_limited: bool,
    /// Its app-server ended, and it with that.
    pub(super) died: bool,
}

impl Agents {
    /// A message to the Claude whose message started this turn, where that came to nothing and the
    /// message is not sent again by itself. What only came into a turn on something else was not what
    /// that turn was about.
    pub(super) fn nothing_came(
        &self,
        base: &Base,
        end: &TurnEnd,
        relayed: &[Relayed],
    ) -> Option<Entry> {
        let first = relayed.first().filter(|first| first.starts)?;
        let pair = first.runtime_session.clone();
        let is_over = end.status == TurnStatus::Completed
            || self
                .codex
                .has_answered_by_tool(&end.turn_id, &pair.clone().unwrap_or_default())
            || end.usage_limited && self.limits.will_have_again(Agent::Codex, &first.id);
        if is_over || first.from != Party::Agent(Agent::Claude) {
            return None;
        }
        // The person stopped it, and nobody waits for what would have come of it.
        let is_stopped = end.status == TurnStatus::Interrupted && !end.died;
        if is_stopped && !(first.asks || first.is_handoff) {
            return None;
        }
        let why = match (end.status, &end.error) {
            (TurnStatus::Interrupted, _) if end.died => "died with its app-server".to_owned(),
            (TurnStatus::Interrupted, _) => "was stopped by your operator".to_owned(),
            (_, Some(error)) => {
                let said = first_words(base.recorder.redactor(), error);
                format!("failed: \u{201c}{said}\u{201d}")
            }
            (_, None) => "failed".to_owned(),
        };
        base.nothing_came_of(&first.id, pair, &why)
    }
}
