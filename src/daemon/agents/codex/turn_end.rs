//! [`TurnEnd`]: how a turn of Codex ended, and [`NothingCame`]: what Claude is told of a turn
//! without a result.

use crate::core::agent::{Agent, Party};
use crate::core::entry::{Entry, EntryKind, SENT_AGAIN, TurnRecord, TurnStatus};
use crate::core::id::{EntryId, ThreadId, TurnId};
use crate::daemon::agents::codex_lane::Relayed;
use crate::daemon::agents::running_tools::first_words;
use crate::daemon::owners::{Agents, Base};

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

impl TurnEnd {
    /// The entry of it, with the party whose message started the turn.
    pub(super) fn entry(&self, base: &Base, started_by: Party) -> Entry {
        let is_stopped = self.status == TurnStatus::Interrupted && !self.died;
        let content = match (self.status, &self.error) {
            (TurnStatus::Completed, _) => "the turn ended".to_owned(),
            (TurnStatus::Interrupted, _) if self.died => {
                "the turn died with the codex app-server".to_owned()
            }
            (TurnStatus::Interrupted, _) => "the turn was interrupted".to_owned(),
            (_, Some(error)) => format!("the turn failed: {error}"),
            (_, None) => "the turn failed".to_owned(),
        };
        let record = TurnRecord {
            thread_id: self.thread_id.clone(),
            turn_id: self.turn_id.clone(),
            status: self.status,
            started_by,
            stopped_by: is_stopped.then_some(Party::Human),
        };
        let (source, kind) = (Party::Agent(Agent::Codex), EntryKind::Turn(record));
        base.recorder.entry(source, None, kind, content, None)
    }
}

/// What follows for the Claude whose message started a turn that came to nothing.
#[derive(Debug)]
pub(super) enum NothingCame {
    /// This message to it.
    Told(Box<Entry>),
    /// Nothing: its message is sent again by itself.
    SentAgain(EntryId),
}

impl NothingCame {
    /// Has the record say it, behind the end of the turn.
    pub(super) fn put(self, ended: &mut Entry) -> Option<Entry> {
        match self {
            Self::Told(told) => Some(*told),
            Self::SentAgain(id) => {
                ended.meta.insert(SENT_AGAIN.to_owned(), id.as_str().into());
                None
            }
        }
    }
}

impl Agents {
    /// Of the message that started this turn. What only came into a turn on something else was not what
    /// that turn was about.
    pub(super) fn nothing_came(
        &self,
        base: &Base,
        end: &TurnEnd,
        relayed: &[Relayed],
    ) -> Option<NothingCame> {
        let first = relayed.first().filter(|first| first.starts)?;
        let pair = first.runtime_session.clone();
        let is_over = end.status == TurnStatus::Completed
            || self
                .codex
                .has_answered_by_tool(&end.turn_id, &pair.clone().unwrap_or_default());
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
        let told = base.nothing_came_of(first.asked(), pair, &why)?;
        let goes_again = end.usage_limited && self.limits.will_have_again(Agent::Codex, &first.id);
        Some(match goes_again {
            true => NothingCame::SentAgain(first.id.clone()),
            false => NothingCame::Told(Box::new(told)),
        })
    }
}
