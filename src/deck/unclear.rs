//! [`UnclearWords`] and the rows of messages of which nobody can know whether they arrived: one for
//! each receiver, however many there are.

use std::collections::BTreeMap;

use ctxrelay_ui::{model as ui, text};

use super::present::{agent_of, party_of};
use crate::core::agent::Agent;
use crate::core::entry::DeliveryResult;
use crate::core::snapshot::Snapshot;

/// Messages that are listed; the others follow once these are settled.
const LISTED_MAX: usize = 500;

/// Beginnings that are kept: all that are listed, of both agents.
const WORDS_MAX: usize = 2 * LISTED_MAX;

/// Characters of the first message on the row.
const ROW_CHARS: usize = 80;

/// Beginnings of such messages, as far as they were read.
#[derive(Debug, Clone, Default)]
pub struct UnclearWords {
    by_line: BTreeMap<u64, String>,
}

impl UnclearWords {
    /// The one on this line was read.
    pub(super) fn read(&mut self, line: u64, words: String) {
        if self.by_line.len() >= WORDS_MAX {
            self.by_line.pop_first();
        }
        self.by_line.insert(line, words);
    }

    /// Another record began.
    pub(super) fn clear(&mut self) {
        self.by_line.clear();
    }

    /// A card for each agent that such messages are for.
    pub(super) fn cards(&self, world: &Snapshot) -> Vec<ui::InboxCard> {
        let cards = Agent::ALL.into_iter();
        cards.filter_map(|to| self.card(world, to)).collect()
    }

    fn card(&self, world: &Snapshot, to: Agent) -> Option<ui::InboxCard> {
        let mut messages: Vec<_> = world
            .unsettled
            .iter()
            .filter(|(_, message)| {
                message.to == to && message.result == Some(DeliveryResult::Ambiguous)
            })
            .collect();
        messages.sort_by_key(|(_, message)| message.seq);
        let (_, first) = messages.first()?;
        let count = messages.len();
        let title = to.title();
        let mut summary = format!("{} ambiguous to {title}", text::grouped(count as u64));
        if let Some(words) = self.by_line.get(&first.seq.0) {
            let words: String = words.chars().take(ROW_CHARS).collect();
            summary.push_str(&format!(": \u{201c}{words}\u{201d}"));
        }
        let listed = messages.iter().take(LISTED_MAX);
        let unclear = listed.map(|(id, message)| ui::UnclearMessage {
            id: id.to_string(),
            line: message.seq.0,
            at_ms: message.at_ms,
            from: party_of(&message.from),
            words: self.by_line.get(&message.seq.0).cloned(),
        });
        Some(ui::InboxCard {
            seq: Some(first.seq.0),
            unclear: unclear.collect(),
            unclear_more: count.saturating_sub(LISTED_MAX) as u64,
            ..ui::InboxCard::new(
                ui::InboxKind::Alarm,
                format!("ambiguous-{to}"),
                agent_of(to),
                first.at_ms,
                summary,
            )
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use serde_json::json;

    use super::*;

    fn world(count: u64) -> Snapshot {
        let mut world = Snapshot::default();
        for seq in 1..=count {
            let message = json!({"seq": seq, "from": "codex", "to": "claude", "at_ms": seq,
                "runtime_session": null, "on_busy": "queue", "result": "ambiguous", "rung": null});
            let message = serde_json::from_value(message).unwrap();
            let id = crate::core::id::EntryId::new(format!("m{}", count - seq));
            world.unsettled.insert(id, message);
        }
        world
    }

    #[test]
    fn five_thousand_are_one_card_that_lists_the_oldest() {
        let mut words = UnclearWords::default();
        words.read(1, "look at plum.rs".to_owned());
        let cards = words.cards(&world(5_000));
        assert_eq!(cards.len(), 1);
        let card = &cards[0];
        assert_eq!(
            card.summary,
            "5 000 ambiguous to Claude: \u{201c}look at plum.rs\u{201d}"
        );
        assert_eq!(card.unclear.len(), LISTED_MAX);
        assert_eq!(card.unclear_more, 4_500);
        let lines: Vec<u64> = card.unclear.iter().map(|message| message.line).collect();
        assert!(lines.is_sorted());
        assert_eq!(card.seq, Some(1));
    }

    #[test]
    fn what_is_known_of_its_receiver_is_no_card() {
        let mut world = world(2);
        for message in world.unsettled.values_mut() {
            message.result = Some(DeliveryResult::Confirmed);
        }
        assert_eq!(UnclearWords::default().cards(&world), []);
    }
}
