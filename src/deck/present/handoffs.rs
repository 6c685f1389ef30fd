//! The Handoffs pane: who asked whom for what, and what came of it.

use std::collections::{BTreeMap, BTreeSet};

use ctxrelay_ui::model as ui;

use super::rows::ROW_CHARS_MAX;
use super::{handoff_name, party_of, since_ms};
use crate::core::entry::Entry;
use crate::core::id::EntryId;
use crate::core::snapshot::HandoffSnapshot;
use crate::deck::model::Model;

/// Handoffs, newest first.
pub(super) fn handoffs(model: &Model) -> Vec<ui::HandoffRow> {
    let mut rows: Vec<&HandoffSnapshot> = model
        .world
        .open_handoffs
        .values()
        .chain(&model.world.closed_handoffs)
        .collect();
    rows.sort_by_key(|handoff| std::cmp::Reverse(handoff.seq));
    let answers = answers(&rows, model.entries.iter());
    rows.into_iter()
        .map(|handoff| ui::HandoffRow {
            id_short: handoff_name(handoff),
            seq: handoff.seq.0,
            since_ms: since_ms(handoff),
            from: party_of(&handoff.from),
            to: handoff.to.as_ref().map_or(ui::Party::Human, party_of),
            state: match (&handoff.handled_by, handoff.delivered) {
                (Some(_), _) => ui::HandoffState::Done,
                (None, true) => ui::HandoffState::Open,
                (None, false) => ui::HandoffState::Unconfirmed,
            },
            ask: beginning(&handoff.ask),
            reason: beginning(&handoff.reason),
            answer: handoff
                .answer
                .as_ref()
                .and_then(|id| answers.get(id))
                .map_or_else(String::new, |text| beginning(text)),
        })
        .collect()
}

/// The texts of the answers to these handoffs, as far as they are among the entries: found in one
/// pass, however many there are.
fn answers<'m>(
    handoffs: &[&'m HandoffSnapshot],
    entries: impl Iterator<Item = &'m Entry>,
) -> BTreeMap<&'m EntryId, &'m str> {
    let wanted: BTreeSet<&EntryId> = handoffs
        .iter()
        .filter_map(|handoff| handoff.answer.as_ref())
        .collect();
    if wanted.is_empty() {
        return BTreeMap::new();
    }
    entries
        .filter(|entry| wanted.contains(&entry.id))
        .map(|entry| (&entry.id, entry.content.as_str()))
        .collect()
}

fn beginning(text: &str) -> String {
    text.chars().take(ROW_CHARS_MAX).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::cell::Cell;

    use serde_json::json;

    use super::{answers, handoffs};
    use crate::core::agent::{Agent, Party};
    use crate::core::entry::Entry;
    use crate::core::id::{EntryId, Seq};
    use crate::core::snapshot::HandoffSnapshot;
    use crate::deck::model::{self, DaemonLink, Model};
    use crate::deck::run::DeckAbout;

    fn entry(line: u64) -> Entry {
        let entry = json!({"schema": "v1", "id": format!("e{line}"), "timestamp": line,
            "sessionId": "s", "seq": line, "type": "message", "source": "codex",
            "target": "claude", "content": format!("text {line}")});
        model::entry(entry, None).unwrap()
    }

    fn answered_by(line: u64) -> HandoffSnapshot {
        HandoffSnapshot {
            id: EntryId::new(format!("h{line}")),
            seq: Seq(line),
            from: Party::Agent(Agent::Claude),
            to: Some(Party::Agent(Agent::Codex)),
            ask: "look".to_owned(),
            reason: String::new(),
            at_ms: 0,
            runtime_session: None,
            delivered: true,
            answer: Some(EntryId::new(format!("e{line}"))),
            blocked_by: None,
            handled_by: None,
        }
    }

    #[test]
    fn all_answers_cost_one_look_at_each_entry() {
        let entries: Vec<Entry> = (1..=500).map(entry).collect();
        let open: Vec<HandoffSnapshot> = (301..=700).map(answered_by).collect();
        let open: Vec<&HandoffSnapshot> = open.iter().collect();
        let looked_at = Cell::new(0);
        let look = |_: &&Entry| looked_at.set(looked_at.get() + 1);
        let found = answers(&open, entries.iter().inspect(look));
        assert_eq!(found.len(), 200, "those that are loaded");
        assert_eq!(looked_at.get(), 500);

        let unanswered = HandoffSnapshot {
            answer: None,
            ..answered_by(1)
        };
        answers(&[&unanswered], entries.iter().inspect(look));
        assert_eq!(looked_at.get(), 500, "nothing is looked for");
    }

    #[test]
    fn a_handoff_shows_its_own_answer_newest_first() {
        let mut model = Model::new(DaemonLink::Hosting, DeckAbout::default());
        model.entries.extend((1..=3).map(entry));
        for line in 2..=4 {
            model.world.closed_handoffs.push_back(answered_by(line));
        }
        let rows: Vec<_> = handoffs(&model)
            .into_iter()
            .map(|row| (row.seq, row.answer))
            .collect();
        let told = [(4, ""), (3, "text 3"), (2, "text 2")];
        assert_eq!(rows, told.map(|(seq, text)| (seq, text.to_owned())));
    }
}
