//! [`change_queue`]: retries or gives up messages, however many, beside the deck's loop.

use ctxrelay_ui::model::Level;
use ctxrelay_ui::text::grouped;
use ctxrelay_ui::{Effect, Msg};
use tokio::sync::mpsc;

use crate::client::{Client, ClientError};
use crate::core::id::EntryId;
use crate::deck::calls::notice::{failed, failure};
use crate::wire::control::{Command, QueueChange, QueueChangeParams, Reply};

/// From so many on it takes long enough to be told meanwhile.
const MANY: usize = 20;

/// Messages to be changed in one way.
#[derive(Debug)]
pub(in crate::deck) struct QueueChanges {
    ids: Vec<String>,
    change: QueueChange,
}

impl QueueChanges {
    /// Those of a wish, if it is one for that.
    pub(in crate::deck) fn of(effect: &Effect) -> Option<Self> {
        let (ids, change) = match effect {
            Effect::Retry { ids } => (ids, QueueChange::Retry),
            Effect::GiveUp { ids } => (ids, QueueChange::Remove),
            _ => return None,
        };
        let ids = ids.clone();
        Some(Self { ids, change })
    }

    /// Whether they are so many that it is told that they are being changed.
    pub(in crate::deck) fn are_many(&self) -> bool {
        self.ids.len() >= MANY
    }
}

/// Changes them one by one, the oldest first, and tells how many were changed, which entries say so,
/// of how many nobody knows, and why the first other one was not.
pub(in crate::deck) async fn change_queue(
    operator: Client,
    QueueChanges { ids, change }: QueueChanges,
    answers: mpsc::Sender<Msg>,
) {
    let (mut done, mut unanswered, mut left, mut why) = (0, 0_u64, 0_u64, None);
    let mut lines = Vec::new();
    let mut ids = ids.into_iter();
    while let Some(id) = ids.next() {
        let params = QueueChangeParams {
            id: EntryId::new(id),
            change,
            placed: true,
        };
        match operator.call(Command::QueueChange(params)).await {
            Ok(Reply::Recorded(recorded)) => {
                done += 1;
                lines.push(recorded.seq.0);
            }
            Ok(Reply::Done) => done += 1,
            other => {
                let error = failure(other);
                // It was asked for: it may be so all the same.
                let is_unanswered = matches!(error, ClientError::Unanswered);
                if is_unanswered {
                    unanswered += 1;
                } else {
                    left += 1;
                }
                let is_lost = is_unanswered || error.is_lost();
                why.get_or_insert(error);
                if is_lost {
                    // Each further one would wait for a daemon as long.
                    left += ids.len() as u64;
                    break;
                }
            }
        }
    }
    let (again, ended) = match change {
        QueueChange::Retry => ("queued again", "not queued"),
        QueueChange::Remove => ("given up", "not given up"),
    };
    let recorded = entries(&lines);
    let msg = match (done, why) {
        (0, Some(error)) if unanswered == 0 || left == 0 => failed(error),
        (1, None) => Msg::Notice(Level::Info, format!("{again}{recorded}")),
        (_, None) => Msg::Notice(Level::Info, format!("{} {again}{recorded}", grouped(done))),
        (_, Some(error)) => {
            let mut parts = Vec::new();
            if done > 0 {
                parts.push(format!("{} {again}{recorded}", grouped(done)));
            }
            if unanswered > 0 {
                parts.push(format!("unanswered: {}", grouped(unanswered)));
            }
            if left > 0 {
                parts.push(format!("{} {ended}", grouped(left)));
            }
            Msg::Notice(Level::Warn, format!("{}: {error}", parts.join("; ")))
        }
    };
    // Nobody waits for it where the deck was left.
    let _ = answers.send(msg).await;
}

/// `: entries 1 210 to 1 212`; the numbers lead to them, with the key for a number or a time.
fn entries(lines: &[u64]) -> String {
    match (lines.first(), lines.last()) {
        (Some(first), Some(last)) if first < last => {
            format!(": entries {} to {}", grouped(*first), grouped(*last))
        }
        (Some(only), _) => format!(": entry {}", grouped(*only)),
        (None, _) => String::new(),
    }
}

#[cfg(test)]
mod tests;
