//! [`InboxRows`]: the cards of the inbox, including those that have just gone.
//!
//! A card that is answered elsewhere stays in its place, dimmed, for a moment: nothing may jump
//! under the cursor while the operator reaches for a key.

use std::collections::HashMap;

use crate::effect::Effect;
use crate::model::{InboxCard, InboxKind};
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
    /// The card that the operator decided last, until its row goes.
    decided: Option<String>,
}

impl InboxRows {
    /// Something was decided here: when its row goes, the cursor goes on. Under a cursor that stands on
    /// a card which is answered elsewhere nothing moves.
    pub(crate) fn decided_by(&mut self, effects: &[Effect]) {
        let decided = effects.iter().find_map(|effect| match effect {
            Effect::Approve { proposal_id, .. } | Effect::Reject { proposal_id, .. } => {
                Some(proposal_id.clone())
            }
            Effect::AnswerApproval { id, .. } | Effect::Acknowledge { id } => Some(id.clone()),
            Effect::Retry { ids } => ids.first().cloned(),
            Effect::Trust { .. } => {
                let mut rows = self.rows.iter();
                let row = rows.find(|row| row.card.kind == InboxKind::Trust)?;
                Some(row.card.id.clone())
            }
            _ => None,
        });
        self.decided = decided.or(self.decided.take());
    }

    /// From a row that is gone because the operator decided it, the cursor goes to the next one that
    /// waits, else to the first.
    fn go_on(&mut self) {
        let is_decided = |row: &InboxRow| Some(&row.card.id) == self.decided.as_ref();
        let selected = self.rows.get(self.list.selected);
        if !selected.is_some_and(|row| row.gone_until_ms.is_some() && is_decided(row)) {
            return;
        }
        let waits = |row: &InboxRow| row.gone_until_ms.is_none() && row.card.kind.waits();
        let from = self.list.selected + 1;
        let below = self.rows.iter().skip(from).position(waits);
        let next = below.map(|at| from + at);
        if let Some(next) = next.or_else(|| self.rows.iter().position(waits)) {
            self.list.selected = next;
        }
        self.decided = None;
    }

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
        self.go_on();
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
    use crate::effect::Effect;
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

    #[test]
    fn the_cursor_goes_on_to_what_waits_after_a_decision_and_only_then() {
        for is_decided in [false, true] {
            let mut rows = InboxRows::default();
            rows.update(&[card("a"), card("b"), card("c"), setup()], 0, true);
            rows.list.selected = 1;
            let approve = Effect::Approve {
                proposal_id: "b".to_owned(),
                stale_tree: None,
                seen: 0,
                session: String::new(),
            };
            rows.decided_by(&Vec::from_iter(is_decided.then_some(approve)));
            rows.decided_by(&[]);
            rows.update(&[card("a"), card("c"), setup()], 1, true);
            let on = rows.selected().map(|row| row.card.id.clone());
            assert_eq!(on.as_deref(), Some(if is_decided { "c" } else { "b" }));
        }
        // Behind the last one it begins again; what is not set up waits for nobody.
        let mut rows = InboxRows::default();
        rows.update(&[card("a"), card("b"), setup()], 0, true);
        rows.list.selected = 1;
        let reject = Effect::Reject {
            proposal_id: "b".to_owned(),
            reason: "no".to_owned(),
        };
        rows.decided_by(&[reject]);
        rows.update(&[card("a"), setup()], 1, true);
        assert_eq!(rows.selected().map(|row| row.card.id.as_str()), Some("a"));
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
