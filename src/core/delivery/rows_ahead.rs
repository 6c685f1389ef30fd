//! [`RowsAhead`]: rows that are written while their messages are being recorded.

use std::collections::BTreeMap;

use super::{Backlog, Delivery};
use crate::id::{AttemptId, EntryId};

/// The rows of messages that will leave as soon as they are recorded, unless something intervenes.
/// Each row is written in parallel with its entry, so that the message waits for the slower of two
/// writes and not for one after the other.
///
/// A row says at most that its message may have left, and after a start it counts only if the
/// ledger contains the message. So a row without its entry is dropped, and a row whose message did
/// not leave is the same as after a crash just before it left. While the daemon runs, the second
/// kind is taken back: see [`Self::take_wrong`].
#[derive(Debug, Default)]
pub struct RowsAhead {
    rows: BTreeMap<EntryId, RowAhead>,
}

#[derive(Debug)]
struct RowAhead {
    row: Delivery,
    /// The token of its write.
    token: u64,
    is_recorded: bool,
}

/// The rows that have to reach the disk before a lane goes on.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RowsDue {
    /// Rows to write.
    pub rows: Vec<Delivery>,
    /// The write to wait for if there are none; `None` if everything is on the disk.
    pub behind: Option<u64>,
}

impl RowsAhead {
    /// A row is being written, under this token. Its message is being recorded.
    pub fn begin(&mut self, row: Delivery, token: u64) {
        let ahead = RowAhead {
            row,
            token,
            is_recorded: false,
        };
        self.rows.insert(ahead.row.id.clone(), ahead);
    }

    /// The message stands in the ledger, and goes its way from now on.
    pub fn recorded(&mut self, id: &EntryId) {
        if let Some(ahead) = self.rows.get_mut(id) {
            ahead.is_recorded = true;
        }
    }

    /// The message is not recorded. Whether a row of it is to be removed.
    pub fn refused(&mut self, id: &EntryId) -> bool {
        self.rows.remove(id).is_some()
    }

    /// The writes up to this one failed: nothing of them is on the disk.
    pub fn failed(&mut self, upto: u64) {
        self.rows.retain(|_, ahead| ahead.token > upto);
    }

    /// Forgets all of them: the rows' file is a new one.
    pub fn clear(&mut self) {
        self.rows.clear();
    }

    /// What of these messages has to be written now. One whose row was written ahead as it is now
    /// needs no other, and its attempt has the name that it was given there. `answered`: the last
    /// write that was answered; `lane`: the one that the lane waits for already.
    ///
    /// A row ahead that is not answered is waited for where it alone is. Behind another write the
    /// lane would go on when that one is durable, and this one may have failed before.
    pub fn due<'a>(
        &mut self,
        backlog: &mut Backlog,
        ids: impl Iterator<Item = &'a EntryId>,
        answered: u64,
        lane: Option<u64>,
    ) -> RowsDue {
        let (mut rows, mut waits) = (Vec::new(), None);
        for id in ids {
            // What was never attempted needs no row, unless it was asked for again: of that a lost
            // queue could not be told. An attempt that was taken back may have left a row.
            let is_told =
                |row: &&Delivery| row.attempts > 0 || row.attempt.is_some() || row.is_repeat();
            let Some(row) = backlog.get(id).filter(is_told).cloned() else {
                continue;
            };
            let Some((token, attempt)) = self.take_same(&row) else {
                rows.push(row);
                continue;
            };
            let row = Delivery {
                attempt: Some(attempt.clone()),
                ..row
            };
            backlog.name_attempt(id, attempt);
            if token <= answered {
                continue;
            }
            if waits.is_none() && lane.is_none_or(|lane| lane <= token) {
                waits = Some((token, row));
            } else {
                rows.push(row);
            }
        }
        if rows.is_empty() {
            let behind = waits.map(|(token, _)| token);
            return RowsDue { rows, behind };
        }
        rows.extend(waits.map(|(_, row)| row));
        RowsDue { rows, behind: None }
    }

    /// The write of this row, and the attempt that it names, if it was written ahead with the same
    /// values. Place and time may differ: a start finds them out again.
    fn take_same(&mut self, row: &Delivery) -> Option<(u64, AttemptId)> {
        let RowAhead {
            row: ahead, token, ..
        } = self.rows.remove(&row.id)?;
        let same = Delivery {
            seq: ahead.seq,
            changed_ms: ahead.changed_ms,
            attempt: ahead.attempt.clone(),
            ..row.clone()
        };
        (same == ahead).then_some(())?;
        Some((token, ahead.attempt?))
    }

    /// The messages that are recorded and did not leave as was thought: their rows are to be
    /// removed. To be asked once everything was offered that can be.
    pub fn take_wrong(&mut self) -> Vec<EntryId> {
        let wrong = self.rows.extract_if(.., |_, ahead| ahead.is_recorded);
        wrong.map(|(id, _)| id).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Agent;
    use crate::delivery::{DeliveryFact, Shown};
    use crate::entry::OnBusy;
    use crate::id::{RuntimeSession, Seq};

    fn row(id: &str, seq: u64) -> Delivery {
        let pair = RuntimeSession::default();
        Delivery::recorded(
            EntryId::new(id),
            Seq(seq),
            Agent::Claude,
            pair,
            OnBusy::Queue,
            0,
        )
    }

    fn handed(mut row: Delivery, attempt: &str, shown: Shown) -> Delivery {
        row.apply(DeliveryFact::HandedOut(AttemptId::new(attempt), shown), 7);
        row
    }

    /// Messages that are recorded and attempted, with rows ahead under the tokens 1, 2, ...
    fn attempted(ids: &[&str]) -> (RowsAhead, Backlog) {
        let (mut ahead, mut backlog) = (RowsAhead::default(), Backlog::default());
        for (id, token) in ids.iter().zip(1..) {
            ahead.begin(handed(row(id, 1), "ahead", Shown::Whole), token);
            ahead.recorded(&EntryId::new(*id));
            backlog.insert(handed(row(id, 100 + token), "now", Shown::Whole));
        }
        (ahead, backlog)
    }

    fn due(
        (ahead, backlog): &mut (RowsAhead, Backlog),
        ids: &[&str],
        answered: u64,
        lane: Option<u64>,
    ) -> (Vec<String>, Option<u64>) {
        let ids: Vec<EntryId> = ids.iter().map(|id| EntryId::new(*id)).collect();
        let due = ahead.due(backlog, ids.iter(), answered, lane);
        let rows = due.rows.iter().map(|row| row.id.to_string());
        (rows.collect(), due.behind)
    }

    #[test]
    fn a_row_that_is_written_needs_no_other_and_names_the_attempt() {
        let mut both = attempted(&["m"]);
        assert_eq!(due(&mut both, &["m"], 1, None), (vec![], None));
        let row = both.1.get(&EntryId::new("m"));
        let attempt = row.and_then(|row| row.attempt.clone());
        assert_eq!(attempt, Some(AttemptId::new("ahead")));
        // What comes later is written.
        assert_eq!(due(&mut both, &["m"], 1, None), (vec!["m".into()], None));
    }

    #[test]
    fn a_row_on_its_way_is_waited_for_where_it_is_alone() {
        let all = ["a", "b"];
        assert_eq!(
            due(&mut attempted(&["a"]), &["a"], 0, None),
            (vec![], Some(1))
        );
        assert_eq!(
            due(&mut attempted(&["a"]), &["a"], 0, Some(1)),
            (vec![], Some(1))
        );
        let written =
            |both: &[&str]| -> Vec<String> { both.iter().map(|id| (*id).into()).collect() };
        // The lane waits for a later write, which may succeed when this one fails.
        assert_eq!(
            due(&mut attempted(&["a"]), &["a"], 0, Some(2)),
            (written(&["a"]), None)
        );
        assert_eq!(
            due(&mut attempted(&all), &all, 0, None),
            (written(&["b", "a"]), None)
        );
        assert_eq!(due(&mut attempted(&all), &all, 1, None), (vec![], Some(2)));
    }

    #[test]
    fn a_row_that_says_something_else_is_written_as_it_is() {
        let mut both = attempted(&["m"]);
        let other = handed(row("n", 9), "now", Shown::Head);
        both.0.begin(handed(row("n", 1), "ahead", Shown::Whole), 2);
        both.1.insert(other);
        assert_eq!(due(&mut both, &["n"], 2, None), (vec!["n".into()], None));
    }

    #[test]
    fn what_failed_or_was_refused_is_not_there() {
        let mut both = attempted(&["a", "b"]);
        both.0.failed(1);
        assert!(both.0.refused(&EntryId::new("b")) && !both.0.refused(&EntryId::new("a")));
        assert_eq!(due(&mut both, &["a"], 1, None), (vec!["a".into()], None));
    }

    #[test]
    fn what_did_not_leave_is_taken_back_once_its_message_is_recorded() {
        let mut ahead = RowsAhead::default();
        ahead.begin(handed(row("m", 1), "ahead", Shown::Whole), 1);
        assert_eq!(ahead.take_wrong(), []);
        ahead.recorded(&EntryId::new("m"));
        assert_eq!(ahead.take_wrong(), [EntryId::new("m")]);
        assert_eq!(ahead.take_wrong(), []);
    }
}
