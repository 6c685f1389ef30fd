//! [`InboxRows`]: the cards of the inbox with those that have just gone.
//!
//! A card that is answered elsewhere stays where it is, dimmed, for a moment: nothing may jump
//! under the cursor while the operator reaches for a key.

use std::collections::HashMap;

use crate::model::InboxCard;
use crate::widgets::ListState;

/// How long a card stays after it is gone, ms.
pub(crate) const GONE_MS: i64 = 4_000;

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
    /// Takes the cards of a new view. What waits for an answer stands before what is not set up; the
    /// cursor stays on its card, as long as somebody is at it (`is_looked_at`).
    pub(crate) fn update(&mut self, cards: &[InboxCard], now_ms: i64, is_looked_at: bool) {
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
        let was_empty = self.rows.is_empty();
        let mut below = self
            .rows
            .iter()
            .position(|row| !row.card.kind.waits())
            .unwrap_or(self.rows.len());
        let (at, mut inserted) = (below, 0);
        for card in cards {
            if new.remove(card.id.as_str()).is_some() {
                let row = InboxRow {
                    card: card.clone(),
                    gone_until_ms: None,
                };
                if card.kind.waits() {
                    self.rows.insert(below, row);
                    below += 1;
                    inserted += 1;
                } else {
                    self.rows.push(row);
                }
            }
        }
        if is_looked_at && !was_empty && self.list.selected >= at {
            self.list.selected += inserted;
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
            ..self.list
        };
        self.rows.retain(stays);
    }

    /// The clock was put back.
    pub(crate) fn put_back(&mut self, by_ms: i64) {
        for until in self.rows.iter_mut().flat_map(|row| &mut row.gone_until_ms) {
            *until = until.saturating_sub(by_ms);
        }
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
    use crate::model::{Agent, InboxCard, InboxKind, Party};

    fn setup() -> InboxCard {
        InboxCard::new(InboxKind::Setup, "s", Party::System, 0, "not installed")
    }

    #[test]
    fn what_waits_stands_before_what_is_not_set_up_and_a_cursor_in_use_stays_on_its_card() {
        let mut rows = InboxRows::default();
        rows.update(&[setup()], 0, false);
        rows.update(&[card("a"), setup()], 1, false);
        assert_eq!(rows.selected().map(|row| row.card.id.as_str()), Some("a"));
        rows.list.selected = 1;
        rows.update(&[card("a"), card("b"), setup()], 2, true);
        let ids: Vec<&str> = rows.rows.iter().map(|row| row.card.id.as_str()).collect();
        assert_eq!(ids, ["a", "b", "s"]);
        assert_eq!(rows.selected().map(|row| row.card.id.as_str()), Some("s"));
    }

    fn card(id: &str) -> InboxCard {
        InboxCard::new(InboxKind::Finality, id, Agent::Codex, 0, "done")
    }

    #[test]
    fn a_card_that_is_gone_keeps_its_place_for_a_moment() {
        let mut rows = InboxRows::default();
        rows.update(&[card("a"), card("b")], 0, true);
        rows.list.selected = 1;
        rows.update(&[card("b"), card("c")], 100, true);
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
        rows.update(&[card("a")], 0, true);
        rows.update(&[], 1, true);
        rows.update(&[card("a")], 2, true);
        assert_eq!(rows.rows[0].gone_until_ms, None);
    }
}
