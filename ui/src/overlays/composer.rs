//! [`Composer`]: a message or a handoff being written by the operator.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::sheet::{draw_box, key_footer, overlay_area};
use crate::action::Action;
use crate::deck::Deck;
use crate::drafts::{Draft, Drafts};
use crate::effect::Effect;
use crate::model::Agent;
use crate::theme::ThemeRole;
use crate::widgets::{TextField, fit_line};

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
    handoff: bool,
    text: TextField,
    reason: TextField,
    in_reason: bool,
}

impl Composer {
    /// Opens with the draft that was kept, if there is one.
    pub(crate) fn open(to: Agent, handoff: bool, drafts: &mut Drafts) -> Self {
        let draft = drafts.take(to, handoff);
        let placeholder = if handoff {
            "what is to be done, and how you will know that it is"
        } else {
            "your message"
        };
        Self {
            to,
            handoff,
            text: TextField::lines(placeholder).with_text(&draft.text),
            reason: TextField::line("optional").with_text(&draft.reason),
            in_reason: false,
        }
    }

    pub(crate) fn field_mut(&mut self) -> &mut TextField {
        if self.in_reason {
            &mut self.reason
        } else {
            &mut self.text
        }
    }

    pub(crate) fn next_field(&mut self) {
        self.in_reason = self.handoff && !self.in_reason;
    }

    pub(crate) fn other_agent(&mut self) {
        self.to = self.to.peer();
    }

    /// Puts it away to be opened again.
    pub(crate) fn keep(&self, drafts: &mut Drafts) {
        let draft = Draft {
            text: self.text.text(),
            reason: self.reason.text(),
        };
        drafts.keep(self.to, self.handoff, draft);
    }

    /// What is sent; `None` while nothing is written.
    pub(crate) fn send(&self) -> Option<Effect> {
        if self.text.is_blank() {
            return None;
        }
        let text = self.text.text().trim().to_owned();
        Some(if self.handoff {
            Effect::Handoff {
                to: self.to,
                ask: text,
                reason: self.reason.text().trim().to_owned(),
            }
        } else {
            Effect::SendMessage { to: self.to, text }
        })
    }

    pub(crate) fn draw(&self, deck: &Deck, screen: Rect, buf: &mut Buffer) {
        let theme = &deck.theme;
        let room = usize::from(
            COLUMNS
                .min(screen.width.saturating_sub(2))
                .saturating_sub(4),
        );
        let rows = self.text.rows(room).clamp(ROWS_MIN, ROWS_MAX);
        let extra = if self.handoff { 3 } else { 0 };
        let area = overlay_area(screen, COLUMNS, rows + extra + 4);
        let title = Line::from(vec![
            Span::styled(
                if self.handoff {
                    "Hand off "
                } else {
                    "Message "
                },
                theme.style(ThemeRole::TitleFocus),
            ),
            Span::styled(
                format!("{} ", deck.glyphs.to()),
                theme.style(ThemeRole::TextFaint),
            ),
            Span::styled(
                format!("{} {}", deck.glyphs.agent(self.to), self.to.title()),
                theme.agent(self.to),
            ),
        ]);
        let inner = draw_box(deck, area, buf, title, self.arrival(deck));
        if inner.height == 0 {
            return;
        }
        let keys_row = u16::from(inner.height > 1);
        let gap = u16::from(inner.height > 3);
        let reason_rows = if self.handoff && inner.height > 6 {
            3
        } else {
            0
        };
        let text = Rect {
            height: inner.height - keys_row - gap - reason_rows,
            ..inner
        };
        self.text.draw(text, buf, theme, !self.in_reason);
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
        if keys_row > 0 {
            let mut keys = vec![(Action::Send, "send"), (Action::Newline, "new line")];
            if self.handoff {
                keys.push((Action::NextField, "why"));
            }
            keys.extend([
                (Action::OtherAgent, "other agent"),
                (Action::Back, "keep as draft"),
            ]);
            let line = fit_line(key_footer(deck, &keys), usize::from(inner.width));
            buf.set_line(inner.x, inner.bottom() - 1, &line, inner.width);
        }
    }

    /// How it will get there, in a few words.
    fn arrival(&self, deck: &Deck) -> Line<'static> {
        let Some(card) = deck.view.agent(self.to) else {
            return Line::default();
        };
        let words = if !card.state.is_attached() {
            "offline: waits in the queue".to_owned()
        } else if card.rung.is_empty() {
            card.state.as_str().to_owned()
        } else {
            format!(
                "{} {} by {}",
                card.state.as_str(),
                deck.glyphs.dot(),
                crate::sanitize::line(&card.rung)
            )
        };
        Line::styled(words, deck.theme.style(ThemeRole::TextMuted))
    }
}
