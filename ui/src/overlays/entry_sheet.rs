//! [`EntrySheet`]: one entry of the ledger, in full.

use ratatui::text::{Line, Span};

use super::sheet::{SheetText, key_footer, paragraphs};
use crate::action::Action;
use crate::deck::Deck;
use crate::model::{EntryPlace, TimelineRow};
use crate::panes::outcome_line;
use crate::sanitize;
use crate::text;
use crate::theme::ThemeRole;

/// An opened entry.
#[derive(Debug, Clone)]
pub(crate) struct EntrySheet {
    pub(crate) place: EntryPlace,
    pub(crate) scroll: usize,
}

impl EntrySheet {
    pub(crate) fn new(place: EntryPlace) -> Self {
        Self { place, scroll: 0 }
    }

    /// The row of the view, when it is among those that are loaded.
    fn row<'d>(&self, deck: &'d Deck) -> Option<&'d TimelineRow> {
        let rows = &deck.view.timeline;
        let index = (self.is_of_record(deck))
            .then(|| rows.binary_search_by_key(&self.place.line, |row| row.seq))?;
        rows.get(index.ok()?)
    }

    /// Another record may have begun meanwhile.
    fn is_of_record(&self, deck: &Deck) -> bool {
        self.place.session == deck.view.session_id
    }

    /// The text to be copied.
    pub(crate) fn plain(&self, deck: &Deck) -> Option<String> {
        match deck.fetched.get(&self.place) {
            Some(fetched) => Some(fetched.text.clone()),
            None => self.row(deck).map(|row| row.text.clone()),
        }
    }

    pub(crate) fn text(&self, deck: &Deck, columns: usize) -> SheetText {
        let theme = &deck.theme;
        let muted = theme.style(ThemeRole::TextMuted);
        let row = self.row(deck);
        let fetched = deck.fetched.get(&self.place);
        let mut lines = Vec::new();
        let mut title = vec![Span::styled(
            format!("Entry {}", text::grouped(self.place.line)),
            theme.style(ThemeRole::TitleFocus),
        )];
        if let Some(row) = row {
            title.push(Span::styled(
                format!("  {}", sanitize::line(&row.kind)),
                muted,
            ));
            lines.push(from_to(deck, row));
            if let Some(outcome) = &row.outcome {
                lines.push(outcome_line(deck, outcome, columns));
            }
            lines.push(Line::default());
        }
        match (fetched, row) {
            (Some(fetched), _) => lines.extend(paragraphs(
                &fetched.text,
                columns,
                0,
                theme.style(ThemeRole::Text),
            )),
            (None, Some(row)) => {
                lines.extend(paragraphs(
                    &row.text,
                    columns,
                    0,
                    theme.style(ThemeRole::Text),
                ));
                if row.text_cut {
                    lines.push(Line::styled(
                        "… the rest is being read",
                        theme.style(ThemeRole::TextFaint),
                    ));
                }
            }
            (None, None) if !self.is_of_record(deck) => lines.push(Line::styled(
                format!(
                    "this entry stands in session {}, which has ended",
                    sanitize::line(&self.place.session)
                ),
                theme.style(ThemeRole::TextFaint),
            )),
            (None, None) => lines.push(Line::styled(
                "being read from the record …",
                theme.style(ThemeRole::TextFaint),
            )),
        }
        let detail = fetched
            .map(|fetched| &fetched.detail)
            .filter(|detail| !detail.is_empty())
            .or(row.map(|row| &row.detail));
        for field in detail.into_iter().flatten() {
            lines.push(Line::default());
            lines.push(Line::from(Span::styled(
                sanitize::line(&field.name),
                theme.style(ThemeRole::Heading),
            )));
            lines.extend(paragraphs(
                &field.text,
                columns,
                2,
                theme.style(ThemeRole::Text),
            ));
        }
        let mark = row.map_or_else(Line::default, |row| {
            Line::styled(sanitize::line(&row.id), theme.style(ThemeRole::TextFaint))
        });
        SheetText {
            title: Line::from(title),
            mark,
            lines,
            footer: vec![key_footer(
                deck,
                &[
                    (Action::MoveDown, "scroll"),
                    (Action::Copy, "copy the text"),
                    (Action::Back, "close"),
                ],
            )],
        }
    }
}

fn from_to(deck: &Deck, row: &TimelineRow) -> Line<'static> {
    let theme = &deck.theme;
    let glyphs = deck.glyphs;
    let faint = theme.style(ThemeRole::TextFaint);
    let party = |party: &crate::model::Party| {
        Span::styled(
            format!("{} {}", glyphs.party(party), sanitize::line(party.title())),
            theme.party(party),
        )
    };
    let mut spans = vec![party(&row.from)];
    if let Some(to) = &row.to {
        spans.push(Span::styled(format!(" {} ", glyphs.to()), faint));
        spans.push(party(to));
    }
    let at = text::clock_seconds(row.at_ms, deck.view.utc_offset_s);
    let day = text::day(row.at_ms, deck.view.utc_offset_s);
    let ago = match text::age(deck.view.now_ms, row.at_ms) {
        now if now == "now" => now,
        age => format!("{age} ago"),
    };
    spans.push(Span::styled(
        format!("   {day} {at}   {ago}"),
        theme.style(ThemeRole::TextMuted),
    ));
    Line::from(spans)
}
