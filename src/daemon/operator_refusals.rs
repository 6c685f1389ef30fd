//! Operator commands from somebody else: counted by [`Clients`](super::clients::Clients), recorded
//! here.

use serde_json::Value;
use tokio::time::Instant;

use super::attach::ConnId;
use super::clients::Counted;
use super::owners::Daemon;
use crate::core::agent::Party;
use crate::core::entry::ErrorCode;

impl Daemon {
    /// Somebody else gave an operator's command.
    pub(super) fn count_refused_operator(&mut self, conn: ConnId) {
        let from = self.clients.get(conn).map_or_else(
            || "a client that has gone".to_owned(),
            |attachment| {
                let hello = &attachment.hello;
                let process = attachment.process.as_ref();
                let process = process.map_or(hello.pid, |process| process.pid);
                let role = hello.role.as_str();
                format!("a client that says {role}, process {process}")
            },
        );
        let now_ms = self.clock.now_ms();
        let counted = self.clients.refusals_mut().add(now_ms, from);
        self.record_refusals(counted);
    }

    pub(super) fn next_refusals(&self) -> Option<Instant> {
        let until = self.clients.refusals().next_ms();
        until.map(|at_ms| self.clock.instant(at_ms))
    }

    pub(super) fn refusals_deadline(&mut self) {
        let now_ms = self.clock.now_ms();
        let counted = self.clients.refusals_mut().due(now_ms);
        self.record_refusals(counted);
    }

    /// Records what is counted so far, because the daemon ends.
    pub(super) fn flush_refusals(&mut self) {
        let now_ms = self.clock.now_ms();
        let counted = self.clients.refusals_mut().take(now_ms);
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
        let kind = ErrorCode::OperatorOnly;
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
