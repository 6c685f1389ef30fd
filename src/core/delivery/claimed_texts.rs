//! [`ClaimedTexts`]: texts for an agent that asked, which leave once their rows are on the disk.

use super::{Backlog, CodexInput, LadderInput, LaterInput};
use crate::agent::Agent;
use crate::id::{AttemptId, EntryId};

/// The messages that an agent gets in one answer, each with the attempt by which it leaves. They
/// are [claimed](Backlog::claim) until it is known whether anybody took them.
#[derive(Debug, Clone, Default)]
pub struct ClaimedTexts(Vec<(EntryId, Option<AttemptId>)>);

impl ClaimedTexts {
    /// These, as they were just claimed: once what follows from that was done, since a row that was
    /// written beside its message has an attempt of its own.
    pub fn of(backlog: &Backlog, ids: impl IntoIterator<Item = EntryId>) -> Self {
        let with_attempt = |id: EntryId| {
            let row = backlog.get(&id);
            let attempt = row.and_then(|row| row.attempt.clone());
            (id, attempt)
        };
        Self(ids.into_iter().map(with_attempt).collect())
    }

    /// The messages.
    pub fn ids(&self) -> impl Iterator<Item = &EntryId> {
        self.0.iter().map(|(id, _)| id)
    }

    /// Whether nobody took one of them back while their rows were written.
    pub fn still_wait(&self, backlog: &Backlog) -> bool {
        self.ids()
            .all(|id| backlog.get(id).is_some() && !backlog.is_ending(id))
    }

    /// The texts have left, or nobody `took` them. What the machines are to hear of that at once,
    /// before anybody else claims the same messages.
    pub fn are_over(self, backlog: &mut Backlog, took: bool, now_ms: i64) -> Vec<LaterInput> {
        if took {
            for id in self.ids() {
                backlog.left(id, now_ms);
            }
            return Vec::new();
        }
        let not_taken = self.0.into_iter().filter_map(|(id, attempt)| {
            let row = backlog.get(&id)?;
            // Where the disk took too long, somebody else may have it by now.
            (row.attempt == attempt).then(|| match row.to {
                Agent::Codex => LaterInput::Codex(CodexInput::ClaimEnded { id }),
                Agent::Claude => {
                    let pair = row.runtime_session.clone();
                    LaterInput::Ladder(pair, LadderInput::NotStored { id })
                }
            })
        });
        not_taken.collect()
    }
}
