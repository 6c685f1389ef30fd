//! [`Overlay`]: one of the things that can lie over the panes.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;

use super::key_footer::KeyFooter;
use super::sheet::{
    SheetText, draw_sheet, sheet_cursor, sheet_keys, sheet_place, sheet_rows, sheet_scroll_max,
    text_columns,
};
use super::typed_line::TypedLine;
use super::{
    AgentSheet, BeginLine, CapsuleAsk, CapsuleSheet, CapsulesSheet, CardSheet, CardStage,
    ChipSheet, Choice, Composer, Confirm, EntrySheet, FindingSheet, FindingsSheet, HelpSheet,
    MessagesSheet, MessagesStage, Palette, PlaceLine, RecoverySheet, SearchSheet, Subject,
    ThreadSheet, TickSheet, UnlockSheet,
};
use crate::action::Action;
use crate::deck::Deck;
use crate::drafts::Drafts;
use crate::keymap::KeyContext;
use crate::widgets::{ListState, TextField};

#[derive(Debug, Clone)]
pub(crate) enum Overlay {
    Help(HelpSheet),
    Palette(Palette),
    Entry(EntrySheet),
    Thread(ThreadSheet),
    Agent(AgentSheet),
    Recovery(RecoverySheet),
    Card(CardSheet),
    Messages(MessagesSheet),
    Findings(FindingsSheet),
    Finding(FindingSheet),
    Capsules(CapsulesSheet),
    Capsule(CapsuleSheet),
    Ticks(TickSheet),
    /// A task that begins.
    Begin(BeginLine),
    Composer(Composer),
    Confirm(Confirm),
    Choice(Choice),
    Search(SearchSheet),
    Place(PlaceLine),
    Chips(ChipSheet),
    Unlock(UnlockSheet),
}

impl Overlay {
    /// The contexts whose keys count while it is in front.
    pub(crate) fn contexts(&self) -> &'static [KeyContext] {
        match self {
            Self::Help(_) | Self::Choice(_) => &[KeyContext::Overlay],
            Self::Entry(_) | Self::Thread(_) => &[KeyContext::Entry, KeyContext::Overlay],
            Self::Agent(_) => &[KeyContext::Agent, KeyContext::Overlay],
            Self::Recovery(_) => &[KeyContext::Agent, KeyContext::Entry, KeyContext::Overlay],
            Self::Card(card) => match card.stage {
                CardStage::Reading => &[KeyContext::Card, KeyContext::Overlay],
                CardStage::Approving { .. }
                | CardStage::Retrying
                | CardStage::Acknowledging
                | CardStage::Gates { .. } => &[KeyContext::Overlay],
                CardStage::Rejecting(_)
                | CardStage::Denying(_)
                | CardStage::Answering { .. }
                | CardStage::Gone => &[KeyContext::Input],
            },
            Self::Messages(sheet) => match sheet.stage {
                MessagesStage::Reading => &[KeyContext::Messages, KeyContext::Overlay],
                MessagesStage::Retrying | MessagesStage::GivingUp => &[KeyContext::Overlay],
            },
            Self::Finding(FindingSheet {
                ruling: Some(_), ..
            }) => &[KeyContext::Input],
            Self::Findings(_) | Self::Finding(_) => &[KeyContext::Findings, KeyContext::Overlay],
            Self::Capsule(CapsuleSheet { asks: Some(_), .. }) => &[KeyContext::Input],
            Self::Capsules(_) | Self::Capsule(_) => &[KeyContext::Capsules, KeyContext::Overlay],
            Self::Ticks(_) => &[KeyContext::Ticks, KeyContext::Overlay],
            Self::Composer(_) => &[KeyContext::Composer],
            Self::Palette(_)
            | Self::Confirm(_)
            | Self::Place(_)
            | Self::Unlock(_)
            | Self::Begin(_) => &[KeyContext::Input],
            Self::Search(SearchSheet { chip: None, .. }) => &[KeyContext::Search],
            Self::Search(_) | Self::Chips(_) => &[KeyContext::Chips],
        }
    }

    /// What is read on it.
    pub(crate) fn subject(&self) -> Option<Subject> {
        match self {
            Self::Entry(sheet) => Some(Subject::Entry(sheet.place.clone())),
            Self::Thread(sheet) => sheet.selected().map(Subject::Entry),
            Self::Agent(sheet) => Some(Subject::Agent(sheet.agent)),
            Self::Card(sheet) => Some(Subject::Card(sheet.id.clone())),
            Self::Messages(sheet) => Some(Subject::Messages(sheet.id.clone())),
            _ => None,
        }
    }

    /// The field that is typed into, if there is one.
    pub(crate) fn field_mut(&mut self) -> Option<&mut TextField> {
        match self {
            Self::Palette(palette) => Some(&mut palette.field),
            Self::Card(card) => card.field_mut(),
            Self::Finding(sheet) => sheet.ruling.as_mut().map(|(_, field)| field),
            Self::Capsule(sheet) => sheet.asks.as_mut().map(CapsuleAsk::field_mut),
            Self::Composer(composer) => Some(composer.field_mut()),
            Self::Confirm(confirm) => confirm.field_mut(),
            Self::Search(search) if search.chip.is_none() => Some(&mut search.field),
            Self::Place(place) => Some(&mut place.field),
            Self::Begin(begin) => Some(&mut begin.field),
            _ => None,
        }
    }

    /// Whether letters are typed into it.
    pub(crate) fn is_typed_into(&mut self) -> bool {
        matches!(self, Self::Unlock(_)) || self.field_mut().is_some()
    }

    /// Whether the panes below stay as they are (a line at the bottom) or step back.
    pub(crate) fn is_modal(&self) -> bool {
        !matches!(self, Self::Place(_))
    }

    /// Keeps what is being written in it.
    pub(crate) fn keep(&self, drafts: &mut Drafts) {
        match self {
            Self::Card(sheet) => sheet.keep(drafts),
            Self::Finding(sheet) => sheet.keep(drafts),
            Self::Capsule(sheet) => sheet.keep(drafts),
            Self::Begin(line) => line.keep(drafts),
            Self::Composer(composer) => composer.keep(drafts),
            _ => {}
        }
    }

    /// The scroll position, for overlays that are text.
    pub(crate) fn scroll_mut(&mut self) -> Option<&mut usize> {
        match self {
            Self::Help(sheet) => Some(&mut sheet.scroll),
            Self::Entry(sheet) => Some(&mut sheet.scroll),
            Self::Thread(sheet) => Some(&mut sheet.list.top),
            Self::Agent(sheet) => Some(&mut sheet.scroll),
            Self::Recovery(sheet) => Some(&mut sheet.scroll),
            Self::Card(sheet) => Some(&mut sheet.scroll),
            Self::Messages(sheet) => Some(&mut sheet.list.top),
            Self::Findings(sheet) => Some(&mut sheet.list.top),
            Self::Finding(sheet) => Some(&mut sheet.scroll),
            Self::Capsules(sheet) => Some(&mut sheet.list.top),
            Self::Capsule(sheet) => Some(&mut sheet.scroll),
            Self::Ticks(sheet) => Some(&mut sheet.list.top),
            Self::Confirm(confirm) => Some(&mut confirm.scroll),
            _ => None,
        }
    }

    /// Its text, where it is a sheet. All else has a place, a foot and a look of its own.
    fn sheet(&self, deck: &Deck, columns: usize) -> Option<SheetText> {
        let mut text = self.sheet_text(deck, columns)?;
        if let Some(typed) = self.typed() {
            // Its box has the keys.
            text.keys = KeyFooter::default();
            text.footer = vec![Line::default(); typed.rows_on_sheet()];
        }
        Some(text)
    }

    fn sheet_text(&self, deck: &Deck, columns: usize) -> Option<SheetText> {
        match self {
            Self::Help(sheet) => Some(sheet.text(deck, columns)),
            Self::Entry(sheet) => Some(sheet.text(deck, columns)),
            Self::Thread(sheet) => Some(sheet.text(deck, columns)),
            Self::Agent(sheet) => Some(sheet.text(deck, columns)),
            Self::Recovery(sheet) => Some(sheet.text(deck, columns)),
            Self::Card(sheet) => Some(sheet.text(deck, columns)),
            Self::Messages(sheet) => Some(sheet.text(deck, columns)),
            Self::Findings(sheet) => Some(sheet.text(deck, columns)),
            Self::Finding(sheet) => Some(sheet.text(deck, columns)),
            Self::Capsules(sheet) => Some(sheet.text(deck, columns)),
            Self::Capsule(sheet) => Some(sheet.text(deck, columns)),
            Self::Ticks(sheet) => Some(sheet.text(deck, columns)),
            Self::Begin(_)
            | Self::Composer(_)
            | Self::Confirm(_)
            | Self::Choice(_)
            | Self::Palette(_)
            | Self::Search(_)
            | Self::Place(_)
            | Self::Chips(_)
            | Self::Unlock(_) => None,
        }
    }

    /// The list, for sheets that have one.
    fn list_mut(&mut self) -> Option<&mut ListState> {
        match self {
            Self::Thread(sheet) => Some(&mut sheet.list),
            Self::Messages(sheet) => Some(&mut sheet.list),
            Self::Findings(sheet) => Some(&mut sheet.list),
            Self::Capsules(sheet) => Some(&mut sheet.list),
            Self::Ticks(sheet) => Some(&mut sheet.list),
            _ => None,
        }
    }

    fn scroll(&self) -> usize {
        match self {
            Self::Help(sheet) => sheet.scroll,
            Self::Entry(sheet) => sheet.scroll,
            Self::Thread(sheet) => sheet.list.top,
            Self::Agent(sheet) => sheet.scroll,
            Self::Recovery(sheet) => sheet.scroll,
            Self::Card(sheet) => sheet.scroll,
            Self::Messages(sheet) => sheet.list.top,
            Self::Findings(sheet) => sheet.list.top,
            Self::Finding(sheet) => sheet.scroll,
            Self::Capsules(sheet) => sheet.list.top,
            Self::Capsule(sheet) => sheet.scroll,
            Self::Ticks(sheet) => sheet.list.top,
            _ => 0,
        }
    }

    /// The largest scroll position that still fills the overlay.
    pub(crate) fn scroll_max(&self, deck: &Deck, screen: Rect) -> usize {
        match self {
            Self::Confirm(confirm) => confirm.scroll_max(screen),
            _ => sheet_scroll_max(screen, |columns| self.sheet(deck, columns)),
        }
    }

    /// Where it stands.
    pub(crate) fn area(&self, deck: &Deck, screen: Rect) -> Option<Rect> {
        match self {
            Self::Palette(_) => Some(Palette::area(screen)),
            Self::Composer(composer) => Some(composer.area(deck, screen)),
            Self::Confirm(confirm) => Some(confirm.area(screen).0),
            Self::Choice(choice) => Some(choice.area(screen)),
            Self::Unlock(unlock) => Some(unlock.area(screen).0),
            Self::Search(_) => Some(SearchSheet::area(screen)),
            Self::Chips(_) => Some(ChipSheet::area(deck, screen)),
            Self::Place(_) => Some(PlaceLine::area(screen)),
            Self::Begin(begin) => Some(begin.typed().alone(screen)),
            _ => sheet_place(screen, |columns| self.sheet(deck, columns)),
        }
    }

    /// What a click on this cell means, where a key of its foot stands there.
    pub(crate) fn key_at(&self, deck: &Deck, screen: Rect, at: Position) -> Option<Action> {
        let (place, keys) = self.keys(deck, screen)?;
        keys.action_at(place, at)
    }

    fn typed(&self) -> Option<TypedLine<'_>> {
        match self {
            Self::Card(sheet) => sheet.typed(),
            Self::Finding(sheet) => sheet.typed(),
            Self::Capsule(sheet) => sheet.typed(),
            Self::Begin(begin) => Some(begin.typed()),
            _ => None,
        }
    }

    /// The same, with where its box stands.
    fn typed_at(&self, deck: &Deck, screen: Rect) -> Option<(TypedLine<'_>, Rect)> {
        let typed = self.typed()?;
        let area = self.area(deck, screen)?;
        let area = match self {
            Self::Begin(_) => area,
            _ => typed.on_sheet(area),
        };
        Some((typed, area))
    }

    /// The keys at its foot, and where they stand.
    fn keys(&self, deck: &Deck, screen: Rect) -> Option<(Rect, KeyFooter)> {
        if let Some((typed, area)) = self.typed_at(deck, screen) {
            return Some(typed.keys(deck, area));
        }
        match self {
            Self::Palette(_) | Self::Place(_) | Self::Begin(_) => None,
            Self::Composer(composer) => Some(composer.keys(deck, screen)),
            Self::Confirm(confirm) => Some(confirm.keys(deck, screen)),
            Self::Choice(choice) => Some(choice.keys(deck, screen)),
            Self::Unlock(unlock) => Some(unlock.keys(deck, screen)),
            Self::Search(search) => Some(search.keys(deck, screen)),
            Self::Chips(_) => Some(ChipSheet::keys(deck, screen)),
            _ => sheet_keys(screen, |columns| self.sheet(deck, columns)),
        }
    }

    /// Brings the row under a cursor into sight.
    pub(crate) fn settle(&mut self, deck: &Deck, screen: Rect) {
        if let Self::Messages(sheet) = self {
            let card = deck.card(&sheet.id);
            sheet.settle(card);
        }
        if let Self::Card(sheet) = &*self
            && sheet.has_moved
        {
            let row = sheet_cursor(screen, |columns| self.sheet(deck, columns));
            let rows = sheet_rows(screen, |columns| self.sheet(deck, columns));
            if let Self::Card(sheet) = self {
                sheet.show_selected(row, rows);
            }
        }
        if let Self::Findings(sheet) = self {
            sheet.settle(&deck.view.findings);
        }
        if self.list_mut().is_none() {
            return;
        }
        let rows = sheet_rows(screen, |columns| self.sheet(deck, columns));
        let of_thread = match self {
            Self::Thread(sheet) => Some(sheet.cursor_lines(text_columns(screen))),
            _ => None,
        };
        if let Some(list) = self.list_mut() {
            let (first, last) = of_thread.unwrap_or((list.selected, list.selected));
            let lowest = (last + 1).saturating_sub(rows.max(1));
            list.top = list.top.clamp(lowest, first.max(lowest));
        }
    }

    /// Draws it over the screen.
    pub(crate) fn draw(&self, deck: &Deck, screen: Rect, buf: &mut Buffer) {
        match self {
            Self::Palette(palette) => palette.draw(deck, screen, buf),
            Self::Composer(composer) => composer.draw(deck, screen, buf),
            Self::Confirm(confirm) => confirm.draw(deck, screen, buf),
            Self::Choice(choice) => choice.draw(deck, screen, buf),
            Self::Unlock(unlock) => unlock.draw(deck, screen, buf),
            Self::Search(search) => search.draw(deck, screen, buf),
            Self::Place(place) => place.draw(deck, screen, buf),
            Self::Begin(begin) => {
                let typed = begin.typed();
                typed.draw(deck, typed.alone(screen), buf);
            }
            Self::Chips(chips) => chips.draw(deck, screen, buf),
            _ => {
                draw_sheet(deck, screen, buf, self.scroll(), |columns| {
                    self.sheet(deck, columns)
                });
                if let Some((typed, area)) = self.typed_at(deck, screen) {
                    typed.draw(deck, area, buf);
                }
            }
        }
    }
}
