//! [`OperatorRefusals`]: operator commands from somebody else. The first is an entry at once; those
//! that follow are counted, and become one entry a minute: who tries again and again must not fill
//! the record.

use serde_json::Value;
use tokio::time::Instant;

use super::attach::ConnId;
use super::run::Daemon;
use crate::core::agent::Party;
use crate::core::entry::EntryKind;

/// Between two entries, ms.
const EVERY_MS: i64 = 60_000;

/// What was refused and is not recorded yet.
#[derive(Debug, Default)]
pub(super) struct OperatorRefusals {
    /// Until then refusals are only counted, ms.
    counting_until: Option<i64>,
    count: u64,
    last_from: String,
}

/// Refusals for one entry.
#[derive(Debug, PartialEq, Eq)]
struct Counted {
    count: u64,
    last_from: String,
}

impl OperatorRefusals {
    /// One more; what is to be recorded now, if anything.
    fn add(&mut self, now_ms: i64, from: String) -> Option<Counted> {
        self.count += 1;
        self.last_from = from;
        match self.counting_until {
            Some(_) => None,
            None => self.take(now_ms),
        }
    }

    /// What is to be recorded because its time has come.
    fn due(&mut self, now_ms: i64) -> Option<Counted> {
        if self.counting_until.is_none_or(|until| now_ms < until) {
            return None;
        }
        self.counting_until = None;
        self.take(now_ms)
    }

    /// Everything that was counted; the next minute begins.
    fn take(&mut self, now_ms: i64) -> Option<Counted> {
        if self.count == 0 {
            return None;
        }
        self.counting_until = Some(now_ms + EVERY_MS);
        Some(Counted {
            count: std::mem::take(&mut self.count),
            last_from: std::mem::take(&mut self.last_from),
        })
    }
}

impl Daemon {
    /// Somebody else gave an operator's command.
    pub(super) fn count_refused_operator(&mut self, conn: ConnId) {
        let from = self.attachments.get(&conn).map_or_else(
            || "a client that has gone".to_owned(),
            |attachment| {
                let hello = &attachment.hello;
                let process = attachment.process.unwrap_or(hello.pid);
                let role = hello.role.as_str();
                format!("a client that says {role}, process {process}")
            },
        );
        let now_ms = self.clock.now_ms();
        let counted = self.operator_refusals.add(now_ms, from);
        self.record_refusals(counted);
    }

    pub(super) fn next_refusals(&self) -> Option<Instant> {
        let until = self.operator_refusals.counting_until;
        until.map(|at_ms| self.clock.instant(at_ms))
    }

    pub(super) fn refusals_deadline(&mut self) {
        let now_ms = self.clock.now_ms();
        let counted = self.operator_refusals.due(now_ms);
        self.record_refusals(counted);
    }

    /// Records what is counted so far, because the daemon ends.
    pub(super) fn flush_refusals(&mut self) {
        let now_ms = self.clock.now_ms();
        let counted = self.operator_refusals.take(now_ms);
        self.record_refusals(counted);
    }

    fn record_refusals(&mut self, counted: Option<Counted>) {
        let Some(Counted { count, last_from }) = counted else {
            return;
        };
        tracing::warn!(
            count,
            last_from,
            "operator commands came from clients that are not the operator"
        );
        let text = match count {
            1 => format!("refused an operator command from {last_from}"),
            _ => format!("refused {count} operator commands, the last from {last_from}"),
        };
        let kind = EntryKind::Error {
            code: "operator_only".to_owned(),
        };
        let mut entry = self.entry(Party::System, None, kind, text, None);
        entry.meta.insert("count".to_owned(), Value::from(count));
        self.record(
            vec![entry],
            Box::new(|_, result| {
                if let Err(refusal) = result {
                    tracing::warn!(code = %refusal.code, "refusals could not be recorded");
                }
            }),
        );
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn counted(count: u64, last_from: &str) -> Option<Counted> {
        let last_from = last_from.to_owned();
        Some(Counted { count, last_from })
    }

    #[test]
    fn the_first_is_told_at_once_and_the_others_together() {
        let mut refusals = OperatorRefusals::default();
        assert_eq!(refusals.add(0, "a".to_owned()), counted(1, "a"));
        for _ in 0..1_000 {
            assert_eq!(refusals.add(10, "b".to_owned()), None);
        }
        assert_eq!(refusals.add(EVERY_MS - 1, "c".to_owned()), None);
        assert_eq!(refusals.due(EVERY_MS - 1), None);
        assert_eq!(refusals.due(EVERY_MS), counted(1_001, "c"));
        // The next minute has begun; without news it ends in silence.
        assert_eq!(refusals.add(EVERY_MS + 1, "d".to_owned()), None);
        assert_eq!(refusals.due(2 * EVERY_MS), counted(1, "d"));
        assert_eq!(refusals.due(3 * EVERY_MS), None);
        assert_eq!(refusals.add(3 * EVERY_MS, "e".to_owned()), counted(1, "e"));
    }
}
