//! [`EntrySheet`]: one entry of the ledger, in full.

use ratatui::text::{Line, Span};

use super::document::Document;
use super::key_footer::KeyFooter;
use super::search_sheet::session_label;
use super::sheet::SheetText;
use super::subject::Subject;
use super::thread_sheet::row_line;
use crate::action::Action;
use crate::deck::Deck;
use crate::model::{
    EntryPlace, EntryRef, FoldedRows, HandoffRow, OutcomeState, TaskColumn, TimelineRow,
};
use crate::panes::{handoff_age, outcome_line};
use crate::sanitize;
use crate::text;
use crate::theme::ThemeRole;

/// Characters of a text that are laid out: more than anybody reads in a pane, and as many as a frame
/// has the time for.
const SHOWN_CHARS: usize = 100_000;

/// Columns of what a command does.
const WAY_COLUMNS: usize = 17;

/// An opened entry.
#[derive(Debug, Clone)]
pub(crate) struct EntrySheet {
    pub(crate) place: EntryPlace,
    pub(crate) scroll: usize,
    /// Shown as JSON.
    pub(crate) is_raw: bool,
    /// Which of the entries that it names has the cursor.
    pub(crate) at: Option<usize>,
    /// It was named: a folded row that begins with it is another matter.
    is_named: bool,
}

impl EntrySheet {
    pub(crate) fn new(place: EntryPlace) -> Self {
        Self {
            place,
            scroll: 0,
            is_raw: false,
            at: None,
            is_named: false,
        }
    }

    /// Of an entry that another one names.
    pub(crate) fn named(place: EntryPlace) -> Self {
        Self {
            is_named: true,
            ..Self::new(place)
        }
    }

    /// Its row: of the view, when it is among those that are loaded, else as it was read.
    pub(crate) fn row<'d>(&self, deck: &'d Deck) -> Option<&'d TimelineRow> {
        let fetched = || deck.fetched.get(&self.place).map(|fetched| &fetched.row);
        self.loaded(deck).or_else(fetched)
    }

    fn loaded<'d>(&self, deck: &'d Deck) -> Option<&'d TimelineRow> {
        let rows = &deck.view.timeline;
        let index = (deck.is_of_record(&self.place))
            .then(|| rows.binary_search_by_key(&self.place.line, |row| row.seq))?;
        let row = rows.get(index.ok()?);
        row.filter(|row| row.folded.is_none() || !self.is_named)
    }

    /// Its text, once all of it is here.
    pub(crate) fn whole<'d>(&self, deck: &'d Deck) -> Option<&'d str> {
        match deck.fetched.get(&self.place) {
            Some(fetched) => Some(fetched.words()),
            None => {
                let row = self.loaded(deck).filter(|row| !row.text_cut)?;
                Some(&row.text)
            }
        }
    }

    /// The cursor goes to the next entry that it names, and from the last one away.
    pub(crate) fn next_ref(&mut self, deck: &Deck) {
        let count = self.refs(deck).len();
        let next = self.at.map_or(0, |at| at + 1);
        self.at = (next < count && !self.is_raw).then_some(next);
        // They stand at its top.
        self.scroll = 0;
    }

    /// Where the entry under the cursor stands.
    pub(crate) fn selected_ref(&self, deck: &Deck) -> Option<EntryPlace> {
        let named = self.refs(deck).get(self.at?)?;
        Some(EntryPlace {
            session: self.place.session.clone(),
            line: named.row.seq,
        })
    }

    /// Whether it names none.
    pub(crate) fn refs_are_none(&self, deck: &Deck) -> bool {
        self.refs(deck).is_empty()
    }

    fn refs<'d>(&self, deck: &'d Deck) -> &'d [EntryRef] {
        // What a record names that has ended meanwhile stands nowhere in this one.
        let fetched = deck.fetched.get(&self.place);
        let fetched = fetched.filter(|_| deck.is_of_record(&self.place));
        fetched.map_or(&[], |fetched| &fetched.refs)
    }

    /// The entries that it names, a row each.
    fn write_refs(&self, document: &mut Document<'_>) {
        let deck = document.deck;
        let refs = self.refs(deck);
        let label = refs.iter().map(|named| text::width(&named.label)).max();
        let number = refs.iter().map(|named| text::grouped(named.row.seq).len());
        let (Some(label), Some(number)) = (label, number.max()) else {
            return;
        };
        let room = document.columns.saturating_sub(label + 1);
        for (at, named) in refs.iter().enumerate() {
            let is_selected = self.at == Some(at);
            let mut line = row_line(deck, &named.row, number, room, is_selected);
            let word = text::pad(&sanitize::line(&named.label), label + 1);
            let style = deck.theme.style(ThemeRole::TextMuted);
            line.spans.insert(0, Span::styled(word, style));
            document.line(deck.sheet_row(line, is_selected));
        }
        document.gap();
    }

    /// Its id, where it is known.
    pub(crate) fn id(&self, deck: &Deck) -> Option<String> {
        self.row(deck).map(|row| row.id.clone())
    }

    pub(crate) fn text(&self, deck: &Deck, columns: usize) -> SheetText {
        let theme = &deck.theme;
        let row = self.row(deck);
        let bad_lines = row.and_then(|row| row.bad_lines);
        let name = match bad_lines {
            Some(_) => format!("Line {}", text::grouped(self.place.line)),
            None => format!("Entry {}", text::grouped(self.place.line)),
        };
        let mut title = vec![Span::styled(name, theme.style(ThemeRole::TitleFocus))];
        if !deck.is_of_record(&self.place) {
            let session = sanitize::line(session_label(&self.place.session));
            title.push(Span::styled(
                format!("  of session {session}, sealed"),
                theme.style(ThemeRole::OutcomeAttention),
            ));
        }
        if let Some(row) = row {
            title.push(Span::styled(
                format!("  {}", sanitize::line(&row.kind)),
                theme.style(ThemeRole::TextMuted),
            ));
        }
        if row.is_some_and(|row| row.is_foreign) {
            title.push(Span::styled(
                "  from elsewhere, nobody vouches for it",
                theme.style(ThemeRole::OutcomeAttention),
            ));
        }
        let mut document = Document::new(deck, columns);
        self.write(&mut document);
        let raw = if self.is_raw { "as text" } else { "as JSON" };
        let mut keys = vec![
            (Action::MoveDown, "scroll"),
            (Action::NextEntry, "next"),
            (Action::PrevEntry, "previous"),
            (Action::Raw, raw),
            (Action::Copy, "copy"),
            (Action::Back, "close"),
        ];
        if !self.refs(deck).is_empty() && !self.is_raw {
            keys.insert(0, (Action::NextField, "entry that it names"));
        }
        if self.at.is_some() {
            keys.insert(0, (Action::Open, "go there"));
        }
        if !Subject::Entry(self.place.clone()).has_neighbours(deck) {
            keys.retain(|(action, _)| !matches!(action, Action::NextEntry | Action::PrevEntry));
        }
        if bad_lines.is_some() || row.is_some_and(|row| row.folded.is_some()) {
            keys.retain(|(action, _)| *action != Action::Raw);
        }
        SheetText {
            title: Line::from(title),
            mark: row.map_or_else(Line::default, |row| {
                Line::styled(sanitize::line(&row.id), theme.style(ThemeRole::TextFaint))
            }),
            lines: document.into_lines(),
            keys: KeyFooter::new(deck, &keys),
            ..SheetText::default()
        }
    }

    fn write(&self, document: &mut Document<'_>) {
        let deck = document.deck;
        let fetched = deck.fetched.get(&self.place);
        if let Some(fetched) = fetched.filter(|_| self.is_raw) {
            let (raw, rest) = beginning(&fetched.raw);
            document.text(raw, ThemeRole::TextMuted);
            return write_rest(document, rest);
        }
        let row = self.row(deck);
        if let Some(row) = row.filter(|row| row.bad_lines.is_some()) {
            return write_bad_lines(document, &row.text);
        }
        if let Some((row, folded)) = row.and_then(|row| Some((row, row.folded?))) {
            return write_folded(document, row, folded);
        }
        if let Some(row) = row {
            let standing = deck
                .is_of_record(&self.place)
                .then(|| deck.handoff(row.seq));
            document.line(from_to(deck, row, standing.flatten()));
            if let Some(outcome) = &row.outcome {
                document.line(outcome_line(deck, outcome, document.columns));
            }
            if deck.is_of_record(&self.place) {
                write_ways_back(document, row, standing.flatten());
            }
            document.gap();
        }
        self.write_refs(document);
        let can_come = deck.view.daemon.state.can_act() || !deck.is_of_record(&self.place);
        match (fetched, row) {
            (Some(fetched), _) => {
                let (text, rest) = beginning(fetched.words());
                document.markdown(text);
                write_rest(document, rest);
            }
            (None, Some(row)) => {
                document.markdown(&row.text);
                let rest = match can_come {
                    true => "… the rest is being read",
                    false => "… the rest cannot be read now: not connected to the daemon",
                };
                if row.text_cut {
                    document.text(rest, ThemeRole::TextFaint);
                }
            }
            (None, None) => {
                let text = match (can_come, deck.is_of_record(&self.place)) {
                    (true, false) => "being read from the disk …",
                    (true, true) => "being read from the record …",
                    (false, _) => "not connected to the daemon: it cannot be read now",
                };
                document.text(text, ThemeRole::TextFaint);
            }
        }
        for field in fetched.iter().flat_map(|fetched| &fetched.detail) {
            document.heading(&field.name, "");
            let (text, rest) = beginning(&field.text);
            document.body(text, ThemeRole::Text);
            write_rest(document, rest);
        }
    }
}

/// What of a text is shown, and how many bytes are not.
fn beginning(text: &str) -> (&str, usize) {
    let end = text.char_indices().nth(SHOWN_CHARS);
    let end = end.map_or(text.len(), |(at, _)| at);
    (&text[..end], text.len() - end)
}

/// Says where the rest of a text is, of so many bytes.
fn write_rest(document: &mut Document<'_>, bytes: usize) {
    if bytes > 0 {
        let key = document
            .deck
            .key_in(&document.deck.contexts(), Action::Edit);
        let bytes = text::grouped(bytes as u64);
        let text = format!("… {bytes} bytes more: {key} opens all of the text in $EDITOR");
        document.text(&text, ThemeRole::OutcomeAttention);
    }
}

/// What stands behind a folded row.
fn write_folded(document: &mut Document<'_>, row: &TimelineRow, folded: FoldedRows) {
    document.line(from_to(document.deck, row, None));
    document.gap();
    document.text(&row.text, ThemeRole::Text);
    let count = text::grouped(folded.count);
    let (first, last) = (text::grouped(row.seq), text::grouped(folded.last));
    let key = document.deck.key(Action::Open);
    let text = if folded.count == 1 {
        format!("One entry, {first}. In the timeline {key} shows it.")
    } else {
        format!("{count} entries, {first} to {last}. In the timeline {key} shows them one by one.")
    };
    document.text(&text, ThemeRole::TextMuted);
}

/// What is known of lines that could not be read, and how to look at them.
fn write_bad_lines(document: &mut Document<'_>, what: &str) {
    document.text(what, ThemeRole::OutcomeFailed);
    document.gap();
    document.text(
        "What stands there is no entry: it was damaged, was written by another program, or was \
         taken away. Everything around it can be read.",
        ThemeRole::Text,
    );
    document.heading("to look at it", "");
    document.body("ctxrelay ledger verify", ThemeRole::Key);
    document.body(
        "says whether the record is whole, how many lines are bad, and where the first fault is.",
        ThemeRole::TextMuted,
    );
}

/// How the operator takes back a message that is on its way, and closes a handoff that is open: both
/// are commands, because an agent may be at work for it.
fn write_ways_back(document: &mut Document<'_>, row: &TimelineRow, handoff: Option<&HandoffRow>) {
    let outcome = row.outcome.as_ref();
    let is_on_its_way = outcome.is_some_and(|it| it.state == OutcomeState::Unconfirmed);
    let name = handoff.map_or_else(|| row.seq.to_string(), |handoff| handoff.id_short.clone());
    let name = sanitize::line(&name);
    let remove = format!("ctxrelay queue remove {name} --apply");
    let close = format!("ctxrelay handoff close {name}");
    let questions = &document.deck.view.questions;
    let is_open = handoff.is_some_and(|handoff| handoff.column != TaskColumn::Done)
        || questions.iter().any(|question| question.seq == row.seq);
    let theme = &document.deck.theme;
    let ways = [
        (is_on_its_way, "to take it back", remove),
        (is_open, "to close it", close),
    ];
    let lines = ways.into_iter().filter(|(applies, ..)| *applies);
    let lines: Vec<Line<'static>> = lines
        .map(|(_, what, command)| {
            Line::from(vec![
                Span::styled(
                    text::pad(what, WAY_COLUMNS),
                    theme.style(ThemeRole::TextMuted),
                ),
                Span::styled(command, theme.style(ThemeRole::Key)),
            ])
        })
        .collect();
    for line in lines {
        document.line(line);
    }
}

/// Who, for whom, when, and how long ago; of a handoff where it stands, as everywhere else.
fn from_to(deck: &Deck, row: &TimelineRow, handoff: Option<&HandoffRow>) -> Line<'static> {
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
    let offset = deck.view.utc_offset_s(row.at_ms);
    let at = text::clock_seconds(row.at_ms, offset);
    let day = text::day(deck.view.now_ms, row.at_ms, offset);
    let muted = theme.style(ThemeRole::TextMuted);
    spans.push(Span::styled(format!("   {day} {at}   "), muted));
    match handoff {
        Some(handoff) => {
            let column = handoff.column;
            let state = format!("{} {} ", glyphs.column(column), column.as_str());
            spans.push(Span::styled(state, theme.column(column)));
            spans.push(Span::styled(handoff_age(deck, handoff), muted));
        }
        None => {
            let ago = text::ago(deck.view.now_ms, row.at_ms);
            spans.push(Span::styled(ago, muted));
        }
    }
    Line::from(spans)
}
