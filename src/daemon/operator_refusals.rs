//! Operator commands from somebody else: counted by [`Clients`], and recorded now and then.

use serde_json::Value;
use tokio::time::Instant;

use super::attach::ConnId;
use super::owners::Base;
use crate::core::agent::Party;
use crate::core::entry::ErrorCode;
use crate::daemon::base::clients::{Clients, Counted};
use crate::daemon::base::clock::Clock;
use crate::daemon::base::recorder::Recorder;

/// Somebody else gave an operator's command. The number of them, when it is to be recorded now.
pub(super) fn count_refused_operator(
    clients: &mut Clients,
    clock: &Clock,
    conn: ConnId,
) -> Option<Counted> {
    let from = clients.get(conn).map_or_else(
        || "a client that has gone".to_owned(),
        |attachment| {
            let hello = &attachment.hello;
            let process = attachment.process.as_ref();
            let process = process.map_or(hello.pid, |process| process.pid);
            let role = hello.role.as_str();
            format!("a client that says {role}, process {process}")
        },
    );
    clients.count_refusal(clock.now_ms(), from)
}

impl Base {
    /// When the next number is to be recorded.
    pub(super) fn next_refusals(&self) -> Option<Instant> {
        let until = self.clients.next_refusals_ms();
        until.map(|at_ms| self.clock.instant(at_ms))
    }

    /// Has the record say how many there were, where that is due.
    pub(super) fn note_refusals_due(&mut self) {
        let counted = self.clients.take_refusals_due(self.clock.now_ms());
        note_refusals(&mut self.recorder, counted);
    }

    /// Has the record say of how many it does not know yet: the loop ends.
    pub(super) fn note_last_refusals(&mut self) {
        let counted = self.clients.take_refusals(self.clock.now_ms());
        note_refusals(&mut self.recorder, counted);
    }
}

/// Has the record say how many there were, where that is to be said now.
pub(super) fn note_refusals<T>(recorder: &mut Recorder<T>, counted: Option<Counted>) {
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
    let mut entry = recorder.entry(Party::System, None, kind, text, None);
    entry.meta.insert("count".to_owned(), Value::from(count));
    recorder.mention_entry(entry);
}
