//! [`ShownEntries`]: the entries that a card names, as rows for the cursor.

use std::cell::Cell;

use ratatui::style::Style;

use super::card_sheet::CardSheet;
use super::document::Document;
use crate::deck::Deck;
use crate::model::{EntryPlace, InboxCard, NamedEntry};
use crate::text;

/// Where on a card something is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CardPart {
    /// The entry that the card is about.
    Own,
    Blockers,
    Evidence,
    Resolves,
    Replaces,
}

impl CardPart {
    fn of(self, card: &InboxCard) -> &[NamedEntry] {
        match self {
            Self::Own => &[],
            Self::Blockers => &card.blockers,
            Self::Evidence => &card.evidence,
            Self::Resolves => &card.handles,
            Self::Replaces => &card.replaces,
        }
    }
}

/// What a card names, and where the cursor is.
pub(super) struct ShownEntries<'c> {
    card: &'c InboxCard,
    selected: Option<(CardPart, usize)>,
    /// The line of the document on which that was written.
    row: Cell<Option<usize>>,
}

impl<'c> ShownEntries<'c> {
    /// `at`: the cursor, among those behind which an entry stands.
    pub(super) fn new(card: &'c InboxCard, at: Option<usize>) -> Self {
        let selected = at.and_then(|at| places(card).nth(at));
        Self {
            card,
            selected: selected.map(|(part, index, _)| (part, index)),
            row: Cell::new(None),
        }
    }

    /// The row under the cursor, below so many others.
    pub(super) fn row(&self, above: usize) -> Option<usize> {
        match self.selected? {
            (CardPart::Own, _) => Some(0),
            _ => self.row.get().map(|row| above + row),
        }
    }

    pub(super) fn is_selected(&self, part: CardPart, index: usize) -> bool {
        self.selected == Some((part, index))
    }

    /// A row each, with its number behind it.
    pub(super) fn write(
        &self,
        document: &mut Document<'_>,
        part: CardPart,
        glyph: &str,
        style: Style,
    ) {
        for (index, named) in part.of(self.card).iter().enumerate() {
            let first = document.len();
            let is_selected = self.is_selected(part, index);
            let glyph = match is_selected {
                true => document.deck.glyphs.cursor(),
                false => glyph,
            };
            match named.line {
                // It may say its own number.
                Some(line)
                    if !named
                        .text
                        .contains(&format!("entry {}", text::grouped(line))) =>
                {
                    let note = format!("entry {}", text::grouped(line));
                    document.bullet_with(glyph, style, &named.text, &note);
                }
                _ => document.bullet(glyph, style, &named.text),
            }
            if is_selected {
                document.select_from(first);
                self.row.set(Some(first));
            }
        }
    }
}

/// The entries behind what a card names, in the order in which it is read.
fn places(card: &InboxCard) -> impl Iterator<Item = (CardPart, usize, u64)> + '_ {
    use CardPart::{Blockers, Evidence, Own, Replaces, Resolves};
    let own = card.seq.map(|line| (Own, 0, line));
    let named = [Blockers, Evidence, Resolves, Replaces];
    let named = named.into_iter().flat_map(|part| {
        let items = part.of(card).iter().enumerate();
        items.filter_map(move |(index, named)| Some((part, index, named.line?)))
    });
    own.into_iter().chain(named)
}

impl CardSheet {
    /// The cursor goes to the next entry that it names, and from the last one away.
    pub(crate) fn next_entry(&mut self, card: &InboxCard) {
        let count = places(card).count();
        let next = self.at.map_or(0, |at| at + 1);
        self.at = (next < count).then_some(next);
        self.has_moved = true;
    }

    /// Whether it names any.
    pub(crate) fn names_entries(card: &InboxCard) -> bool {
        places(card).next().is_some()
    }

    /// Where the entry under the cursor stands.
    pub(crate) fn selected_entry(&self, deck: &Deck) -> Option<EntryPlace> {
        let card = deck.card(&self.id)?;
        let (_, _, line) = places(card).nth(self.at?)?;
        Some(deck.place(line))
    }

    /// Scrolls so far that the row under the cursor is among so many rows.
    pub(crate) fn show_selected(&mut self, row: Option<usize>, rows: usize) {
        if !std::mem::take(&mut self.has_moved) {
            return;
        }
        if let Some(row) = row {
            let lowest = (row + 1).saturating_sub(rows.max(1));
            self.scroll = self.scroll.clamp(lowest, row.max(lowest));
        } else {
            self.scroll = 0;
        }
    }
}
