//! [`RecoveredPairs`]: what the record has of each pair, since each continues its own work.

use std::collections::BTreeMap;

use ctxrelay_ui::model::RecoveryPart;
use serde_json::{Value, json};

use super::parts::{counted, row};
use super::state::RecoveredState;
use crate::cli::text::words::short;
use crate::core::agent::Party;
use crate::core::entry::Entry;
use crate::core::id::RuntimeSession;
use crate::core::resume_command::is_plain;
use crate::core::snapshot::RUNTIME_SESSIONS_MAX;

/// How much of a pair's name is told, in characters.
const NAME_CHARS: usize = 40;

/// The pair that recovers, and when an agent of each other one did something last.
#[derive(Default)]
pub(super) struct RecoveredPairs {
    own: RuntimeSession,
    state: RecoveredState,
    /// When, in ms since the epoch.
    others: BTreeMap<RuntimeSession, i64>,
}

impl RecoveredPairs {
    /// For this pair.
    pub(super) fn new(own: RuntimeSession) -> Self {
        Self {
            own,
            ..Self::default()
        }
    }

    /// Takes in an entry.
    pub(super) fn take(&mut self, entry: &Entry) {
        self.state.take(entry, &self.own);
        // What names none is of Codex, which is one for all pairs.
        let pair = entry.runtime_session.as_ref();
        let Some(pair) = pair.filter(|pair| **pair != self.own) else {
            return;
        };
        if !matches!(entry.source, Party::Agent(_)) {
            return;
        }
        self.others.insert(pair.clone(), entry.timestamp_ms);
        if self.others.len() > RUNTIME_SESSIONS_MAX {
            let first = self.others.iter().min_by_key(|(_, at)| **at);
            if let Some(first) = first.map(|(pair, _)| pair.clone()) {
                self.others.remove(&first);
            }
        }
    }

    /// The pair that recovers.
    pub(super) fn own(&self) -> &RuntimeSession {
        &self.own
    }

    /// Where its work stands.
    pub(super) fn state(&self) -> &RecoveredState {
        &self.state
    }

    /// What stands beside something of another pair, for people; nothing where it names none, as what
    /// is of Codex, which is one for all pairs.
    pub(super) fn mark(&self, pair: Option<&RuntimeSession>) -> String {
        let other = pair.filter(|pair| **pair != self.own);
        other.map_or_else(String::new, |pair| {
            format!(" (pair {})", short(pair.as_str(), NAME_CHARS))
        })
    }

    /// For a program.
    pub(super) fn to_json(&self) -> Value {
        let others = self.others.iter();
        let others = others.map(|(pair, at)| json!({"pair": pair, "lastAt": at}));
        json!({"pair": self.own, "otherPairs": others.collect::<Vec<_>>()})
    }

    /// The other pairs, and how each of them recovers; none where there are none.
    pub(super) fn part(&self) -> Option<RecoveryPart> {
        let rows = self.others.iter().map(|(pair, at)| {
            let name = pair.as_str();
            let text = match is_plain(name) {
                true => format!("{name}: `CONTEXTRELAY_RUNTIME_SESSION={name} ctxrelay recover`"),
                // It is no word for a shell.
                false => short(name, NAME_CHARS),
            };
            row(*at, "", text)
        });
        let rows: Vec<_> = rows.collect();
        (!rows.is_empty()).then(|| counted("Other pairs", rows.len(), rows))
    }
}
