//! [`AgentSheet`]: one agent in full: how messages reach it and why in this way, what waits for it,
//! and the pages of its work.

use ratatui::text::{Line, Span};

use super::agent_pages::{AgentPage, AgentPages};
use super::document::Document;
use super::key_footer::KeyFooter;
use super::sheet::SheetText;
use crate::action::Action;
use crate::applies::applies;
use crate::deck::Deck;
use crate::keymap::KeyContext;
use crate::model::{
    Agent, AgentCard, AgentState, ContextUse, InboxKind, OutcomeState, Party, RunningTool, Silence,
    StepProgress, TurnView, UsageLimit,
};
use crate::panes::{
    activity, last_note, limit_words, silence_role, silence_words, since, tool_age, tries,
};
use crate::text;
use crate::theme::ThemeRole;
use crate::widgets::blank;

/// An opened agent.
#[derive(Debug, Clone)]
pub(crate) struct AgentSheet {
    pub(crate) agent: Agent,
    pub(crate) page: AgentPage,
    pub(crate) pages: AgentPages,
    pub(crate) scroll: usize,
}

/// Whether the operator is told that its context is nearly full.
fn is_full(deck: &Deck, agent: Agent) -> bool {
    let mut cards = deck.view.inbox.iter();
    cards.any(|card| card.kind == InboxKind::Full && card.by == Party::Agent(agent))
}

impl AgentSheet {
    pub(crate) fn new(agent: Agent) -> Self {
        Self::at(agent, AgentPage::Card)
    }

    pub(crate) fn at(agent: Agent, page: AgentPage) -> Self {
        Self {
            agent,
            page,
            pages: AgentPages::default(),
            scroll: 0,
        }
    }

    pub(crate) fn text(&self, deck: &Deck, columns: usize) -> SheetText {
        let Some(card) = deck.view.agent(self.agent) else {
            return SheetText::default();
        };
        let mut document = Document::new(deck, columns);
        let mut title = vec![Span::styled(
            format!("{} {}", deck.glyphs.agent(self.agent), self.agent.title()),
            deck.theme.agent(self.agent),
        )];
        title.extend(self.page.title(deck));
        let footer = match self.page {
            AgentPage::Card => {
                write(&mut document, card);
                keys(deck, card)
            }
            page => {
                self.pages.write(&mut document, page);
                page.keys().to_vec()
            }
        };
        SheetText {
            title: Line::from(title),
            lines: document.into_lines(),
            keys: KeyFooter::new(deck, &footer),
            ..SheetText::default()
        }
    }
}

/// The keys that would do something now.
fn keys(deck: &Deck, card: &AgentCard) -> Vec<(Action, &'static str)> {
    let attends = [
        (Action::Snooze, "let be"),
        (Action::Interrupt, "stop turn"),
        (Action::SendAgain, "send again"),
        (Action::TryNow, "try now"),
        (Action::CancelRetries, "no tries"),
        (Action::Compact, "compact"),
    ];
    let mut keys: Vec<_> = attends
        .into_iter()
        .filter(|(action, _)| applies(deck, *action))
        .collect();
    if card.installed && card.state == AgentState::Offline {
        keys.push((Action::Start, "start it"));
    }
    keys.extend([
        (Action::WorkState, "state"),
        (Action::Instructions, "told"),
        (Action::Message, "write to it"),
        (Action::Handoff, "hand it work"),
        (Action::Back, "close"),
    ]);
    keys
}

fn write(document: &mut Document<'_>, card: &AgentCard) {
    state(document, card);
    if let Some(tool) = &card.tool {
        right_now(document, card, tool);
    }
    turn(document, &card.turn);
    if let Some(silence) = &card.silence {
        silent_turn(document, card.agent, silence);
    }
    if let Some(limit) = &card.limit {
        usage_limit(document, card, limit);
    }
    ways(document, card);
    waiting(document, card);
    if let Some(context) = &card.context {
        context_window(document, card.agent, context);
    }
    last_minutes(document, card);
    how_to_start(document, card);
}

fn state(document: &mut Document<'_>, card: &AgentCard) {
    let deck = document.deck;
    let (shown, word) = card.shown_state();
    let mut state = vec![Span::styled(
        format!("{} {word}", deck.glyphs.state(shown)),
        deck.theme.state(shown),
    )];
    if let Some(since) = since(deck, card) {
        state.push(Span::styled(
            format!("  for {since}"),
            document.style(ThemeRole::TextMuted),
        ));
    }
    document.line(Line::from(state));
    if let Some(hint) = &card.hint {
        document.text(hint, ThemeRole::Wait);
    }
    for detail in card.detail.iter().cloned().chain(last_note(deck, card)) {
        document.text(&detail, ThemeRole::Text);
    }
}

fn right_now(document: &mut Document<'_>, card: &AgentCard, tool: &RunningTool) {
    let age = tool_age(document.deck, card, tool).map(|age| format!("for {age}"));
    document.heading("Right now", &age.unwrap_or_default());
    document.body(&tool.act.in_words(&tool.text), ThemeRole::Text);
}

fn silent_turn(document: &mut Document<'_>, agent: Agent, silence: &Silence) {
    document.heading("Its turn is silent", "");
    let deck = document.deck;
    let glyph = deck.glyphs.silence(silence.level);
    let (level, words) = (silence.level.as_str(), silence_words(deck, silence));
    document.body(
        &format!("{glyph} {level}: {words}"),
        silence_role(silence.level),
    );
    let what = match agent {
        Agent::Claude => {
            "Look into its terminal. It says nothing while it streams or runs one long \
             command, nor that it was stopped with Esc."
        }
        Agent::Codex => {
            "Look into its terminal. Nothing is stopped by itself: let it be, or stop the turn."
        }
    };
    document.body(what, ThemeRole::TextMuted);
}

fn usage_limit(document: &mut Document<'_>, card: &AgentCard, limit: &UsageLimit) {
    let deck = document.deck;
    document.heading("Usage limit", "");
    document.body(&limit_words(deck, limit), ThemeRole::Text);
    document.body(&tries(deck, card, limit), ThemeRole::Text);
    document.body(
        "Messages for it wait here meanwhile. A turn that works ends the limit at once.",
        ThemeRole::TextMuted,
    );
}

fn ways(document: &mut Document<'_>, card: &AgentCard) {
    if card.rung.is_empty() {
        return;
    }
    document.heading("How messages reach it", "");
    let proof = if card.proven {
        "proved in this session"
    } else {
        "not proved yet in this session"
    };
    document.body(&format!("by {}, {proof}", card.rung), ThemeRole::Text);
    if !card.why.is_empty() {
        document.body(&card.why, ThemeRole::TextMuted);
    }
}

fn waiting(document: &mut Document<'_>, card: &AgentCard) {
    document.heading("Waiting for it", "");
    let (queued, unconfirmed) = card.queued_and_unconfirmed();
    document.body(
        &format!(
            "{} unread {dot} {queued} queued {dot} {unconfirmed} unconfirmed {dot} {} ambiguous \
             {dot} {} cut off",
            card.unread,
            card.queue.ambiguous,
            card.cut_off,
            dot = document.deck.glyphs.dot()
        ),
        ThemeRole::Text,
    );
}

fn context_window(document: &mut Document<'_>, agent: Agent, context: &ContextUse) {
    document.heading("Context window", "");
    let (used, window) = (text::grouped(context.used), text::grouped(context.window));
    document.body(&format!("{used} of {window} tokens"), ThemeRole::Text);
    if is_full(document.deck, agent) {
        let key = document.deck.key_in(&[KeyContext::Agent], Action::Compact);
        document.body(
            &format!(
                "Nearly full: it is compacted by itself soon, in the middle of its work. With \
                 {key} you say when, and can have it write down before what it is at."
            ),
            ThemeRole::OutcomeAttention,
        );
    }
}

fn last_minutes(document: &mut Document<'_>, card: &AgentCard) {
    let heading = match card.activity.len() {
        0 => return,
        1 => "This minute".to_owned(),
        minutes => format!("The last {minutes} minutes"),
    };
    let deck = document.deck;
    document.heading(&heading, "");
    let (worked, entries) = card.worked();
    let bars = activity(deck, card);
    document.line(Line::from_iter([blank(2)].into_iter().chain(bars)));
    document.body(
        &format!(
            "a turn ran in {worked} of them {dot} {entries} {} written",
            if entries == 1 { "entry" } else { "entries" },
            dot = deck.glyphs.dot()
        ),
        ThemeRole::Text,
    );
}

fn how_to_start(document: &mut Document<'_>, card: &AgentCard) {
    if card.state.is_attached() {
        return;
    }
    document.heading("How to start it", "");
    if card.installed {
        document.body(&card.start_command, ThemeRole::Key);
    } else {
        let title = card.agent.title();
        document.body(
            &format!("{title} is not installed: no program of its name on the PATH"),
            ThemeRole::Text,
        );
    }
}

/// What the turn has done so far, the newest first: it is read while it grows.
fn turn(document: &mut Document<'_>, turn: &TurnView) {
    if turn.is_empty() {
        return;
    }
    let deck = document.deck;
    let (title, note) = if turn.is_running {
        ("Its turn so far", "the record does not keep its steps")
    } else {
        ("Its last turn", "the record does not keep its steps")
    };
    document.heading(title, note);
    for (progress, step) in &turn.plan {
        let (state, role) = match progress {
            StepProgress::Open => (AgentState::Idle, ThemeRole::TextMuted),
            StepProgress::Active => (AgentState::Busy, ThemeRole::Wait),
            StepProgress::Done => (AgentState::Idle, ThemeRole::OutcomeDone),
        };
        let glyph = match progress {
            StepProgress::Done => deck.glyphs.outcome(OutcomeState::Done),
            _ => deck.glyphs.state(state),
        };
        document.bullet(glyph, document.style(role), step);
    }
    let faint = document.style(ThemeRole::TextMuted);
    for line in &turn.lines {
        let time = text::clock_seconds(line.at_ms, deck.view.utc_offset_s(line.at_ms));
        let words = format!("{time}  {}", line.act.in_words(&line.text));
        document.bullet(deck.glyphs.dot(), faint, &words);
    }
    if turn.left_out > 0 {
        let count = text::grouped(turn.left_out);
        document.body(
            &format!("{count} earlier lines are not kept"),
            ThemeRole::TextMuted,
        );
    }
}
