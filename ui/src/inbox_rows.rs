//! [`InboxRows`]: the cards of the inbox with those that have just gone.
//!
//! A card that is answered elsewhere stays where it is, dimmed, for a moment: nothing may jump
//! under the cursor while the operator reaches for a key.

use std::collections::HashMap;

use crate::model::InboxCard;
use crate::widgets::ListState;

/// How long a card stays after it is gone, ms.
const GONE_MS: i64 = 4_000;

/// A card, or what is left of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InboxRow {
    pub(crate) card: InboxCard,
    /// It is gone; until when it is still shown.
    pub(crate) gone_until_ms: Option<i64>,
}

/// The rows, their selection and scroll.
#[derive(Debug, Clone, Default)]
pub(crate) struct InboxRows {
    pub(crate) rows: Vec<InboxRow>,
    pub(crate) list: ListState,
}

impl InboxRows {
    /// Takes the cards of a new view.
    pub(crate) fn update(&mut self, cards: &[InboxCard], now_ms: i64) {
        let mut new: HashMap<&str, &InboxCard> =
            cards.iter().map(|card| (card.id.as_str(), card)).collect();
        for row in &mut self.rows {
            match new.remove(row.card.id.as_str()) {
                Some(card) => {
                    row.card.clone_from(card);
                    row.gone_until_ms = None;
                }
                None => {
                    row.gone_until_ms
                        .get_or_insert(now_ms.saturating_add(GONE_MS));
                }
            }
        }
        for card in cards {
            if new.remove(card.id.as_str()).is_some() {
                self.rows.push(InboxRow {
                    card: card.clone(),
                    gone_until_ms: None,
                });
            }
        }
        self.expire(now_ms);
    }

    /// Drops what was gone long enough; cursor and top stay on their cards.
    pub(crate) fn expire(&mut self, now_ms: i64) {
        let stays = |row: &InboxRow| row.gone_until_ms.is_none_or(|until| until > now_ms);
        let left_above = |index: usize| {
            let above = self.rows.iter().take(index);
            above.filter(|row| stays(row)).count()
        };
        self.list = ListState {
            selected: left_above(self.list.selected),
            top: left_above(self.list.top),
        };
        self.rows.retain(stays);
    }

    /// The selected row.
    pub(crate) fn selected(&self) -> Option<&InboxRow> {
        self.rows.get(self.list.selected)
    }

    /// When the next row goes, ms since the epoch.
    pub(crate) fn next_gone_ms(&self) -> Option<i64> {
        self.rows.iter().filter_map(|row| row.gone_until_ms).min()
    }
}

#[cfg(test)]
mod tests {
    use super::{GONE_MS, InboxRows};
    use crate::model::{Agent, InboxCard, InboxKind};

    fn card(id: &str) -> InboxCard {
        InboxCard::new(InboxKind::Finality, id, Agent::Codex, 0, "done")
    }

    #[test]
    fn a_card_that_is_gone_keeps_its_place_for_a_moment() {
        let mut rows = InboxRows::default();
        rows.update(&[card("a"), card("b")], 0);
        rows.list.selected = 1;
        rows.update(&[card("b"), card("c")], 100);
        assert_eq!(rows.rows.len(), 3);
        assert_eq!(rows.selected().map(|row| row.card.id.as_str()), Some("b"));
        assert_eq!(rows.next_gone_ms(), Some(100 + GONE_MS));
        rows.expire(100 + GONE_MS);
        assert_eq!(rows.rows.len(), 2);
        assert_eq!(rows.selected().map(|row| row.card.id.as_str()), Some("b"));
    }

    #[test]
    fn a_card_that_comes_back_is_whole_again() {
        let mut rows = InboxRows::default();
        rows.update(&[card("a")], 0);
        rows.update(&[], 1);
        rows.update(&[card("a")], 2);
        assert_eq!(rows.rows[0].gone_until_ms, None);
    }
}
