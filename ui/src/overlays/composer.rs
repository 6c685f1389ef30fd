//! [`Composer`]: a message, a handoff or a note being written by the operator.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::key_footer::KeyFooter;
use super::sheet::{box_inner, draw_box, foot, overlay_area};
use crate::action::Action;
use crate::deck::Deck;
use crate::drafts::{Draft, Drafts, Writing};
use crate::effect::{Effect, NoteTag, WhenBusy};
use crate::model::{Agent, AgentCard, AgentState};
use crate::text;
use crate::theme::ThemeRole;
use crate::widgets::{TextField, draw_thumb, spread, width_of};

/// Most lines of the text box before it scrolls.
const ROWS_MAX: usize = 16;
/// Fewest.
const ROWS_MIN: usize = 4;
/// Widest composer.
const COLUMNS: u16 = 92;

/// What is being written.
#[derive(Debug, Clone)]
pub(crate) struct Composer {
    pub(crate) to: Agent,
    writing: Writing,
    text: TextField,
    reason: TextField,
    in_reason: bool,
    when_busy: WhenBusy,
    tag: NoteTag,
}

impl Composer {
    /// Opens with the draft that was kept, if there is one.
    pub(crate) fn open(to: Agent, writing: Writing, drafts: &mut Drafts) -> Self {
        let placeholder = match writing {
            Writing::Message => "your message",
            Writing::Handoff => "what is to be done, and how you will know that it is",
            Writing::Note => "what both agents are to find in the record",
        };
        let mut composer = Self {
            to,
            writing,
            text: TextField::lines(placeholder),
            reason: TextField::line("optional"),
            in_reason: false,
            when_busy: WhenBusy::default(),
            tag: NoteTag::default(),
        };
        composer.take(drafts);
        composer
    }

    /// Goes on with the draft to its receiver, if there is one.
    fn take(&mut self, drafts: &mut Drafts) {
        let draft = drafts.take(self.to, self.writing);
        if draft.is_blank() {
            return;
        }
        self.text.replace(&draft.text);
        self.reason.replace(&draft.reason);
        self.when_busy = draft.when_busy;
        self.tag = draft.tag;
    }

    pub(crate) fn field_mut(&mut self) -> &mut TextField {
        if self.in_reason {
            &mut self.reason
        } else {
            &mut self.text
        }
    }

    pub(crate) fn next_field(&mut self) {
        self.in_reason = self.writing == Writing::Handoff && !self.in_reason;
    }

    /// To the other agent, with the draft to that one where nothing is written yet; or to the next
    /// sort of note.
    pub(crate) fn other_agent(&mut self, drafts: &mut Drafts) {
        if self.writing == Writing::Note {
            self.tag = self.tag.next();
            return;
        }
        self.to = self.to.peer();
        if self.draft().is_blank() {
            self.take(drafts);
        }
    }

    pub(crate) fn next_when_busy(&mut self) {
        self.when_busy = self.when_busy.next();
    }

    /// Puts it away to be opened again.
    pub(crate) fn keep(&self, drafts: &mut Drafts) {
        drafts.keep(self.to, self.writing, self.draft());
    }

    /// Gives it away, by the number under which it comes back when it is refused.
    pub(crate) fn give(&self, drafts: &mut Drafts) -> u64 {
        drafts.give(self.to, self.writing, self.draft())
    }

    /// How many more drafts of its kind there are.
    pub(crate) fn more(&self, drafts: &Drafts) -> usize {
        drafts.more(self.to, self.writing)
    }

    /// The other agent, where a draft to that one waits and nothing is written to this one.
    pub(crate) fn waits_for_peer(&self, drafts: &Drafts) -> Option<Agent> {
        let peer = self.to.peer();
        let is_there = self.writing != Writing::Note && drafts.more(peer, self.writing) > 0;
        (is_there && self.draft().is_blank()).then_some(peer)
    }

    /// Nothing is written yet.
    pub(crate) fn is_blank(&self) -> bool {
        self.text.is_blank()
    }

    fn draft(&self) -> Draft {
        Draft {
            text: self.text.text(),
            reason: self.reason.text(),
            when_busy: self.when_busy,
            tag: self.tag,
        }
    }

    /// What is sent, by this number.
    pub(crate) fn send(&self, draft: u64) -> Effect {
        let text = self.text.text().trim().to_owned();
        let when_busy = self.when_busy;
        let draft = Some(draft);
        match self.writing {
            Writing::Handoff => Effect::Handoff {
                to: self.to,
                ask: text,
                reason: self.reason.text().trim().to_owned(),
                when_busy,
                draft,
            },
            Writing::Message => Effect::SendMessage {
                to: self.to,
                text,
                when_busy,
                draft,
            },
            Writing::Note => Effect::AppendNote {
                tag: self.tag,
                text,
                draft,
            },
        }
    }

    /// Where it stands: as high as what is written, within bounds.
    pub(super) fn area(&self, deck: &Deck, screen: Rect) -> Rect {
        let room = usize::from(
            COLUMNS
                .min(screen.width.saturating_sub(2))
                .saturating_sub(4),
        );
        let rows = self.text.rows(room).clamp(ROWS_MIN, ROWS_MAX);
        let extra = if self.writing == Writing::Handoff {
            3
        } else {
            0
        };
        let keys = usize::from(self.footer(deck).rows(room));
        overlay_area(screen, COLUMNS, rows + extra + keys + 4)
    }

    fn footer(&self, deck: &Deck) -> KeyFooter {
        let mut keys = vec![(Action::Send, "send"), (Action::Newline, "new line")];
        match self.writing {
            Writing::Note => keys.push((Action::OtherAgent, "sort")),
            Writing::Handoff => keys.push((Action::NextField, "why")),
            Writing::Message => {}
        }
        if self.writing != Writing::Note {
            keys.push((Action::OtherAgent, "agent"));
            keys.push((Action::WhenBusy, "if busy"));
        }
        keys.push((Action::Back, "draft"));
        keys.push((Action::Edit, "editor"));
        KeyFooter::new(deck, &keys)
    }

    /// Its keys, and where they stand.
    pub(super) fn keys(&self, deck: &Deck, screen: Rect) -> (Rect, KeyFooter) {
        let keys = self.footer(deck);
        let inner = box_inner(self.area(deck, screen));
        let rows = keys.rows(usize::from(inner.width));
        (foot(inner, rows.min(inner.height.saturating_sub(1))), keys)
    }

    pub(crate) fn draw(&self, deck: &Deck, screen: Rect, buf: &mut Buffer) {
        let theme = &deck.theme;
        let area = self.area(deck, screen);
        let title = self.title(deck);
        let inner = draw_box(deck, area, buf, title, self.arrival(deck));
        if inner.height == 0 {
            return;
        }
        let (place, keys) = self.keys(deck, screen);
        keys.draw(place, buf);
        let keys_rows = place.height;
        let gap = u16::from(inner.height > keys_rows + 2);
        // What becomes of it, and how much it is.
        let fate_row = u16::from(inner.height > keys_rows + 3);
        let reason_rows = if self.writing == Writing::Handoff && inner.height > keys_rows + 5 {
            3
        } else {
            0
        };
        let text = Rect {
            height: inner.height - keys_rows - fate_row - gap - reason_rows,
            ..inner
        };
        let first = self.text.draw(text, buf, theme, !self.in_reason);
        draw_thumb(
            Rect {
                x: area.x,
                width: area.width,
                ..text
            },
            buf,
            deck.glyphs,
            theme.style(ThemeRole::OverlayBorder),
            first,
            usize::from(text.height),
            self.text.rows(usize::from(text.width)),
        );
        if fate_row > 0 {
            let (fate, count) = (self.fate(deck), self.count(deck));
            let room = usize::from(inner.width);
            // What becomes of it is not cut for the sake of a figure.
            let line = match width_of(&fate) + 1 + width_of(&count) <= room {
                true => spread(fate, count, room),
                false => fate,
            };
            let y = place.y - 1;
            buf.set_line(inner.x, y, &line, inner.width);
        }
        if reason_rows > 0 {
            let y = text.bottom() + 1;
            buf.set_stringn(
                inner.x,
                y,
                "Why",
                usize::from(inner.width),
                theme.style(ThemeRole::Heading),
            );
            self.reason.draw(
                Rect {
                    y: y + 1,
                    height: 1,
                    ..inner
                },
                buf,
                theme,
                self.in_reason,
            );
        } else if self.in_reason {
            // Too low for both: the one that is typed into is the one that is seen.
            buf.set_style(text, theme.style(ThemeRole::Overlay));
            ratatui::widgets::Widget::render(ratatui::widgets::Clear, text, buf);
            buf.set_style(text, theme.style(ThemeRole::Overlay));
            self.reason
                .draw(Rect { height: 1, ..text }, buf, theme, true);
        }
    }

    fn title(&self, deck: &Deck) -> Line<'static> {
        let theme = &deck.theme;
        let what = match self.writing {
            Writing::Message => "Message ",
            Writing::Handoff => "Hand off ",
            Writing::Note => "Note ",
        };
        let what = Span::styled(what, theme.style(ThemeRole::TitleFocus));
        if self.writing == Writing::Note {
            let tag = format!("{} {}", deck.glyphs.dot(), self.tag.as_str());
            let tag = Span::styled(tag, theme.style(ThemeRole::AgentHuman));
            return Line::from(vec![what, tag]);
        }
        let to = format!("{} ", deck.glyphs.to());
        let agent = format!("{} {}", deck.glyphs.agent(self.to), self.to.title());
        Line::from(vec![
            what,
            Span::styled(to, theme.style(ThemeRole::TextFaint)),
            Span::styled(agent, theme.agent(self.to)),
        ])
    }

    /// What becomes of it now, in words.
    fn fate(&self, deck: &Deck) -> Line<'static> {
        let style = |role| deck.theme.style(role);
        let (choice, words) = match deck.view.agent(self.to) {
            // What an agent is at now nobody tells.
            _ if !deck.view.daemon.state.can_act() => ("not connected", "nothing can be sent now"),
            _ if self.writing == Writing::Note => {
                let words = match self.tag {
                    NoteTag::Blocker => "in the way of a proposal until something answers it",
                    _ => "wakes nobody: both agents find it in the record",
                };
                return Line::styled(words, style(ThemeRole::TextMuted));
            }
            None => return Line::default(),
            Some(card) => fate(card, self.when_busy),
        };
        Line::from(vec![
            Span::styled(choice, style(ThemeRole::TextStrong)),
            Span::styled(
                format!(" {} {words}", deck.glyphs.dot()),
                style(ThemeRole::TextMuted),
            ),
        ])
    }

    /// How much is written.
    fn count(&self, deck: &Deck) -> Line<'static> {
        let (chars, lines) = self.text.counts();
        let count = |n: usize, one: &str| {
            let s = if n == 1 { "" } else { "s" };
            format!("{} {one}{s}", text::grouped(n as u64))
        };
        let dot = deck.glyphs.dot();
        let words = format!(
            "{} {dot} {}",
            count(chars, "character"),
            count(lines, "line")
        );
        Line::styled(words, deck.theme.style(ThemeRole::TextFaint))
    }

    /// How it will get there, in a few words.
    fn arrival(&self, deck: &Deck) -> Line<'static> {
        let card = deck.view.agent(self.to);
        let Some(card) = card.filter(|_| self.writing != Writing::Note) else {
            return Line::default();
        };
        let words = if !deck.view.daemon.state.can_act() {
            "not connected".to_owned()
        } else if !card.state.is_attached() {
            match self.to {
                Agent::Codex => "offline: this starts it".to_owned(),
                Agent::Claude => "offline: waits in the queue".to_owned(),
            }
        } else if card.rung.is_empty() {
            card.shown_state().1.to_owned()
        } else {
            format!(
                "{} {} by {}",
                card.shown_state().1,
                deck.glyphs.dot(),
                crate::sanitize::line(&card.rung)
            )
        };
        Line::styled(words, deck.theme.style(ThemeRole::TextMuted))
    }
}

/// The choice, and what it comes to as the agent is now.
fn fate(card: &AgentCard, when_busy: WhenBusy) -> (&'static str, &'static str) {
    let choice = match when_busy {
        WhenBusy::Wait => "wait if busy",
        WhenBusy::Join => "join if busy",
        WhenBusy::DoNotSend => "only if idle",
    };
    let words = match (card.state, when_busy) {
        (AgentState::Offline | AgentState::Stale, _) => match card.agent {
            Agent::Codex => "not there now: this starts it",
            Agent::Claude => "not there now: once it is",
        },
        (AgentState::Limited, _) => "at its limit now: after that",
        (AgentState::Idle, _) if card.compacting => "compacting now: after that",
        (AgentState::Idle, _) => "idle now: begins a turn",
        (_, WhenBusy::Wait) => "busy now: after this turn",
        (_, WhenBusy::Join) => "busy now: within this turn",
        (_, WhenBusy::DoNotSend) => "busy now: would be refused",
    };
    (choice, words)
}
