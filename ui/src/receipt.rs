//! [`Receipt`]: the state of the operator's last message, followed until its delivery is proven.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget as _};

use crate::counted_seconds::of_outcome;
use crate::deck::{Deck, NOTICE_MS};
use crate::model::{Agent, OutcomeState, RowOutcome};
use crate::sanitize;
use crate::text;
use crate::theme::ThemeRole;
use crate::widgets::{fit_line, spread};

/// A message of the operator's on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Receipt {
    to: Agent,
    /// Its line in the record, and of which session.
    line: u64,
    session: String,
    /// Once nothing more is to come of it.
    until_ms: Option<i64>,
}

impl Receipt {
    pub(crate) fn new(deck: &Deck, to: Agent, line: u64) -> Self {
        Self {
            to,
            line,
            session: deck.view.session_id.clone(),
            until_ms: None,
        }
    }

    /// The clock was put back.
    pub(crate) fn put_back(&mut self, by_ms: i64) {
        self.until_ms = self.until_ms.map(|until| until.saturating_sub(by_ms));
    }

    /// When it goes by itself.
    pub(crate) fn until_ms(&self) -> Option<i64> {
        self.until_ms
    }

    /// Where the message stands now; `None` as long as nothing tells.
    pub(crate) fn outcome<'d>(&self, deck: &'d Deck) -> Option<&'d RowOutcome> {
        let mut sent = deck.view.sent.iter();
        if let Some(sent) = sent.find(|sent| sent.line == self.line) {
            return Some(&sent.outcome);
        }
        let rows = &deck.view.timeline;
        let place = rows.binary_search_by_key(&self.line, |row| row.seq).ok()?;
        rows[place].outcome.as_ref()
    }

    /// As it is after this view; `None` when it was seen for long enough, or its record is gone.
    pub(crate) fn followed(mut self, deck: &Deck) -> Option<Self> {
        let now = deck.view.now_ms;
        let is_final = self
            .outcome(deck)
            .is_some_and(|outcome| outcome.state != OutcomeState::Unconfirmed);
        if is_final && self.until_ms.is_none() {
            self.until_ms = Some(now.saturating_add(NOTICE_MS));
        }
        let is_seen = self.until_ms.is_some_and(|until| until <= now);
        (!is_seen && self.session == deck.view.session_id).then_some(self)
    }

    /// Draws it where a notice stands.
    pub(crate) fn draw(&self, deck: &Deck, area: Rect, buf: &mut Buffer) {
        if area.is_empty() {
            return;
        }
        Clear.render(area, buf);
        let theme = &deck.theme;
        buf.set_style(area, theme.style(ThemeRole::Screen));
        buf.set_style(area, theme.style(ThemeRole::BannerInfo));
        let outcome = self.outcome(deck);
        let state = outcome.map_or(OutcomeState::Unconfirmed, |outcome| outcome.state);
        let words = outcome.map_or_else(
            || "recorded".to_owned(),
            |outcome| sanitize::line(&outcome.text),
        );
        let waited = outcome.and_then(of_outcome);
        let age = waited.map(|since| text::running(deck.view.now_ms, since));
        let left = Line::from(vec![
            Span::styled(
                format!("{} ", deck.glyphs.outcome(state)),
                theme.outcome(state),
            ),
            Span::styled("to ", theme.style(ThemeRole::TextMuted)),
            Span::styled(
                format!("{} {}", deck.glyphs.agent(self.to), self.to.title()),
                theme.agent(self.to),
            ),
            Span::styled(
                format!(
                    ", entry {} {} {words}",
                    text::grouped(self.line),
                    deck.glyphs.dot()
                ),
                theme.style(ThemeRole::Text),
            ),
        ]);
        let right = Line::styled(age.unwrap_or_default(), theme.style(ThemeRole::TextMuted));
        let room = usize::from(area.width.saturating_sub(2));
        let line = fit_line(spread(left, right, room), room);
        buf.set_line(area.x + 1, area.y, &line, area.width.saturating_sub(1));
    }
}
