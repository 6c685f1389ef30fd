//! [`MessagesSheet`]: the messages behind a row of the inbox, to be settled singly or those marked
//! at once.

use std::collections::BTreeSet;

use ratatui::text::{Line, Span};

use super::key_footer::KeyFooter;
use super::sheet::SheetText;
use crate::action::Action;
use crate::deck::Deck;
use crate::effect::Effect;
use crate::model::{InboxCard, InboxKind, UnclearMessage};
use crate::sanitize;
use crate::text;
use crate::theme::ThemeRole;
use crate::widgets::{ListState, blank, fit_line, spread};

/// What the operator was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessagesStage {
    /// Reads and marks; no key settles anything yet.
    Reading,
    /// `enter` sends them again.
    Retrying,
    /// `enter` gives them up.
    GivingUp,
}

/// An opened list.
#[derive(Debug, Clone)]
pub(crate) struct MessagesSheet {
    /// Of the card.
    pub(crate) id: String,
    pub(crate) list: ListState,
    pub(crate) stage: MessagesStage,
    /// Ids.
    marked: BTreeSet<String>,
    /// The line of the message at which the last mark was set: a range goes from there, also once
    /// that message is settled.
    marked_at: Option<u64>,
    /// The line of the message under the cursor, and where it stood.
    at: Option<(u64, usize)>,
}

impl MessagesSheet {
    pub(crate) fn new(id: String) -> Self {
        Self {
            id,
            list: ListState::default(),
            stage: MessagesStage::Reading,
            marked: BTreeSet::new(),
            marked_at: None,
            at: None,
        }
    }

    /// Moves by rows, as long as nothing is asked.
    pub(crate) fn step(&mut self, card: Option<&InboxCard>, rows: isize) {
        if self.stage == MessagesStage::Reading {
            self.list
                .step(rows, card.map_or(0, |card| card.unclear.len()));
        }
    }

    /// What is gone is marked no more, and the cursor stays on its message. What was asked about
    /// messages that are all gone is asked no more: `enter` would be about another one.
    pub(crate) fn settle(&mut self, card: Option<&InboxCard>) {
        let messages = card.map_or(&[][..], |card| &card.unclear);
        let here = |id: &String| messages.iter().any(|message| message.id == *id);
        let had_marks = !self.marked.is_empty();
        self.marked.retain(here);
        let line_at = |at: usize| messages.get(at).map(|message| message.line);
        let mut is_gone = had_marks && self.marked.is_empty();
        if let Some((line, at)) = self.at
            && at == self.list.selected
        {
            self.list.selected = messages.partition_point(|message| message.line < line);
            is_gone |= !had_marks && line_at(self.list.selected) != Some(line);
        }
        self.list.selected = self.list.selected.min(messages.len().saturating_sub(1));
        self.at = line_at(self.list.selected).map(|line| (line, self.list.selected));
        if is_gone {
            self.stage = MessagesStage::Reading;
        }
    }

    /// Marks the row under the cursor, or takes its mark away, and goes on to the next one.
    pub(crate) fn mark(&mut self, card: &InboxCard) {
        let Some(message) = card.unclear.get(self.list.selected) else {
            return;
        };
        if !self.marked.remove(&message.id) {
            self.marked.insert(message.id.clone());
        }
        self.marked_at = Some(message.line);
        self.step(Some(card), 1);
    }

    /// Marks every row from the last mark to the cursor; from the first one where there is none.
    pub(crate) fn mark_range(&mut self, card: &InboxCard) {
        let Some(cursor) = card.unclear.get(self.list.selected) else {
            return;
        };
        let (from, to) = (self.marked_at.unwrap_or(0), cursor.line);
        let range = from.min(to)..=from.max(to);
        let messages = card.unclear.iter();
        let messages = messages.filter(|message| range.contains(&message.line));
        self.marked
            .extend(messages.map(|message| message.id.clone()));
    }

    /// What a key is about: what is marked, else the row under the cursor. Oldest first.
    fn chosen(&self, card: &InboxCard) -> Vec<String> {
        let ids = card.unclear.iter().map(|message| &message.id);
        if self.marked.is_empty() {
            let at = self.list.selected;
            return ids.skip(at).take(1).cloned().collect();
        }
        ids.filter(|id| self.marked.contains(*id))
            .cloned()
            .collect()
    }

    /// What `enter` decides now.
    pub(crate) fn decide(&self, card: &InboxCard) -> Option<Effect> {
        let ids = self.chosen(card);
        match self.stage {
            _ if ids.is_empty() => None,
            MessagesStage::Reading => None,
            MessagesStage::Retrying => Some(Effect::Retry { ids }),
            MessagesStage::GivingUp => Some(Effect::GiveUp { ids }),
        }
    }

    /// The line of the message under the cursor.
    pub(crate) fn selected(&self, card: &InboxCard) -> Option<u64> {
        card.unclear
            .get(self.list.selected)
            .map(|message| message.line)
    }

    pub(crate) fn text(&self, deck: &Deck, columns: usize) -> SheetText {
        let theme = &deck.theme;
        let Some(card) = deck.card(&self.id) else {
            return SheetText {
                title: Line::styled("Settled", theme.style(ThemeRole::TitleFocus)),
                lines: vec![Line::styled(
                    "None of them is left: each is settled.",
                    theme.style(ThemeRole::Text),
                )],
                keys: KeyFooter::new(deck, &[(Action::Back, "close")]),
                ..SheetText::default()
            };
        };
        let numbers = card.unclear.iter().map(|m| text::grouped(m.line).len());
        let number = numbers.max().unwrap_or(1);
        let mut lines: Vec<Line<'static>> = card
            .unclear
            .iter()
            .enumerate()
            .map(|(at, message)| self.row(deck, message, at, number, columns))
            .collect();
        if card.unclear_more > 0 {
            let more = text::grouped(card.unclear_more);
            let words = format!("{more} newer ones are listed once these are settled.");
            lines.push(Line::styled(words, theme.style(ThemeRole::TextMuted)));
        }
        let marked = match self.marked.len() {
            0 => String::new(),
            n => format!("{} marked", text::grouped(n as u64)),
        };
        let by = card.by.title();
        let (what, says) = match card.kind {
            InboxKind::CutOff => (
                "cut off",
                format!("{by} has them, and its turn ended early"),
            ),
            _ => (
                "ambiguous",
                format!("Nobody can know whether {by} has them"),
            ),
        };
        let (footer, keys) = self.foot(card, columns);
        let wait = theme.style(ThemeRole::Wait);
        let asked = footer.into_iter().map(|line| Line::styled(line, wait));
        SheetText {
            title: Line::from(vec![
                Span::styled(
                    format!("{} {what}", deck.glyphs.card(card.kind)),
                    theme.style(ThemeRole::OutcomeAttention),
                ),
                Span::styled(format!("  {says}"), theme.style(ThemeRole::TitleFocus)),
            ]),
            mark: Line::styled(marked, theme.style(ThemeRole::TextMuted)),
            lines,
            cursor: None,
            footer: asked.collect(),
            keys: KeyFooter::new(deck, &keys),
        }
    }

    fn row(
        &self,
        deck: &Deck,
        message: &UnclearMessage,
        at: usize,
        number: usize,
        columns: usize,
    ) -> Line<'static> {
        let theme = &deck.theme;
        let muted = theme.style(ThemeRole::TextMuted);
        let is_selected = at == self.list.selected;
        let mark = if self.marked.contains(&message.id) {
            deck.glyphs.marked()
        } else {
            " "
        };
        let words = match &message.words {
            Some(words) => Span::styled(
                sanitize::line(&words.chars().take(columns).collect::<String>()),
                theme.style(ThemeRole::Text),
            ),
            None => Span::styled("reading …", muted),
        };
        let left = Line::from(vec![
            deck.row_cursor(is_selected),
            Span::styled(mark, theme.style(ThemeRole::Wait)),
            blank(1),
            Span::styled(format!("{:>number$}", text::grouped(message.line)), muted),
            blank(2),
            Span::styled(deck.glyphs.party(&message.from), theme.party(&message.from)),
            blank(1),
            words,
        ]);
        let age = Line::styled(text::age(deck.view.now_ms, message.at_ms), muted);
        deck.sheet_row(fit_line(spread(left, age, columns), columns), is_selected)
    }

    /// What is asked, and the keys.
    fn foot(&self, card: &InboxCard, columns: usize) -> (Vec<String>, Vec<(Action, &'static str)>) {
        let chosen = self.chosen(card).len();
        let (count, them) = match chosen {
            1 => ("this message".to_owned(), "it"),
            n => (
                format!("these {} messages", text::grouped(n as u64)),
                "them",
            ),
        };
        let asks = |question: String, yes: &'static str| {
            let keys = vec![(Action::Open, yes), (Action::Back, "not yet")];
            (text::wrap(&question, columns), keys)
        };
        match self.stage {
            MessagesStage::Reading => {
                let keys = [
                    (Action::Open, "read"),
                    (Action::Mark, "mark"),
                    (Action::MarkRange, "to here"),
                    (Action::Retry, "try again"),
                    (Action::GiveUp, "give up"),
                    (Action::Back, "later"),
                ];
                (Vec::new(), keys.to_vec())
            }
            MessagesStage::Retrying if card.kind == InboxKind::CutOff => asks(
                format!("Send {count} again, marked as a repetition? Each costs a turn."),
                "send again",
            ),
            MessagesStage::Retrying => asks(
                format!("Send {count} again? What has arrived once arrives twice."),
                "send again",
            ),
            MessagesStage::GivingUp => asks(
                format!(
                    "Give up {count}? Nobody sends {them} again; the record keeps {them}, with \
                     your decision."
                ),
                "give up",
            ),
        }
    }
}
