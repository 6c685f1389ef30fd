//! [`AgentSheet`]: one agent in full: how messages reach it and why so, what waits for it.

use ratatui::text::{Line, Span};

use super::sheet::{SheetText, key_footer, paragraphs};
use crate::action::Action;
use crate::deck::Deck;
use crate::model::{Agent, AgentState};
use crate::panes::{last_note, limit_words, silence_role, silence_words, tries};
use crate::sanitize;
use crate::text;
use crate::theme::ThemeRole;
use crate::update::applies;

/// An opened agent.
#[derive(Debug, Clone)]
pub(crate) struct AgentSheet {
    pub(crate) agent: Agent,
    pub(crate) scroll: usize,
}

impl AgentSheet {
    pub(crate) fn new(agent: Agent) -> Self {
        Self { agent, scroll: 0 }
    }

    pub(crate) fn text(&self, deck: &Deck, columns: usize) -> SheetText {
        let theme = &deck.theme;
        let heading = theme.style(ThemeRole::Heading);
        let plain = theme.style(ThemeRole::Text);
        let muted = theme.style(ThemeRole::TextMuted);
        let glyphs = deck.glyphs;
        let Some(card) = deck.view.agent(self.agent) else {
            return SheetText::default();
        };
        let mut lines = Vec::new();
        let mut state = vec![Span::styled(
            format!("{} {}", glyphs.state(card.state), card.state.as_str()),
            theme.state(card.state),
        )];
        if let Some(since) = card.since_ms {
            state.push(Span::styled(
                format!("  for {}", text::running(deck.view.now_ms, since)),
                muted,
            ));
        }
        lines.push(Line::from(state));
        if let Some(hint) = &card.hint {
            lines.extend(paragraphs(hint, columns, 0, theme.style(ThemeRole::Wait)));
        }
        for detail in card.detail.iter().cloned().chain(last_note(deck, card)) {
            lines.extend(paragraphs(&detail, columns, 0, plain));
        }
        let mut section = |title: &str, body: Vec<Line<'static>>| {
            lines.push(Line::default());
            lines.push(Line::from(Span::styled(title.to_owned(), heading)));
            lines.extend(body);
        };
        if let Some(silence) = &card.silence {
            let mut body = paragraphs(
                &format!(
                    "{} {}: {}",
                    glyphs.silence(silence.level),
                    silence.level.as_str(),
                    silence_words(deck, silence)
                ),
                columns,
                2,
                theme.style(silence_role(silence.level)),
            );
            let what = match self.agent {
                Agent::Claude => {
                    "Look into its terminal. It says nothing while it streams or runs one long \
                     command, nor that it was stopped with Esc."
                }
                Agent::Codex => {
                    "Look into its terminal. Nothing is stopped by itself: let it be, or stop the \
                     turn."
                }
            };
            body.extend(paragraphs(what, columns, 2, muted));
            section("Its turn is silent", body);
        }
        if let Some(limit) = &card.limit {
            let mut body = paragraphs(&limit_words(deck, limit), columns, 2, plain);
            body.extend(paragraphs(&tries(deck, limit), columns, 2, plain));
            body.extend(paragraphs(
                "Messages for it wait here meanwhile. A turn that works ends the limit at once.",
                columns,
                2,
                muted,
            ));
            section("Usage limit", body);
        }
        if !card.rung.is_empty() {
            let proof = if card.proven {
                "proved in this session"
            } else {
                "not proved yet in this session"
            };
            let mut body = paragraphs(
                &format!("by {}, {proof}", sanitize::line(&card.rung)),
                columns,
                2,
                plain,
            );
            if !card.why.is_empty() {
                body.extend(paragraphs(&card.why, columns, 2, muted));
            }
            section("How messages reach it", body);
        }
        let queue = card.queue;
        section(
            "Waiting for it",
            paragraphs(
                &format!(
                    "{} unread {dot} {} pending {dot} {} offered, not confirmed {dot} {} ambiguous \
                     {dot} {} lost {} turn",
                    card.unread,
                    queue.pending,
                    queue.in_flight,
                    queue.ambiguous,
                    card.cut_off,
                    if card.cut_off == 1 { "its" } else { "their" },
                    dot = glyphs.dot()
                ),
                columns,
                2,
                plain,
            ),
        );
        if let Some(context) = card.context {
            section(
                "Context window",
                paragraphs(
                    &format!(
                        "{} of {} tokens",
                        text::grouped(context.used),
                        text::grouped(context.window)
                    ),
                    columns,
                    2,
                    plain,
                ),
            );
        }
        if !card.state.is_attached() {
            let body = if card.installed {
                paragraphs(&card.start_command, columns, 2, theme.style(ThemeRole::Key))
            } else {
                paragraphs(
                    &format!(
                        "{} is not installed: no program of its name on the PATH",
                        self.agent.title()
                    ),
                    columns,
                    2,
                    plain,
                )
            };
            section("How to start it", body);
        }
        let can_start = card.installed && card.state == AgentState::Offline;
        let mut keys = vec![
            (Action::Message, "write to it"),
            (Action::Handoff, "hand it work"),
        ];
        if can_start {
            keys.insert(0, (Action::Start, "start it"));
        }
        let attends = [
            (Action::LetBe, "let be"),
            (Action::Interrupt, "stop turn"),
            (Action::SendAgain, "send again"),
            (Action::TryNow, "try now"),
            (Action::NoTries, "no tries"),
        ];
        let attends = attends
            .into_iter()
            .filter(|(action, _)| applies(deck, *action));
        keys.splice(0..0, attends);
        keys.push((Action::Back, "close"));
        SheetText {
            title: Line::styled(
                format!("{} {}", glyphs.agent(self.agent), self.agent.title()),
                theme.agent(self.agent),
            ),
            mark: Line::default(),
            lines,
            footer: vec![key_footer(deck, &keys)],
        }
    }
}
