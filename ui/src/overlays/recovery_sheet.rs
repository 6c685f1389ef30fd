//! [`RecoverySheet`]: where the work stands after a break, and on a separate page how each agent
//! goes on.

use ratatui::text::{Line, Span};

use super::document::Document;
use super::key_footer::KeyFooter;
use super::sheet::SheetText;
use crate::action::Action;
use crate::deck::Deck;
use crate::model::{Agent, AgentRecovery, RecoveryPart, RecoveryRow, RecoveryView};
use crate::text;
use crate::theme::ThemeRole;

/// What one recovers from, and the pages of the agents behind it.
#[derive(Debug, Clone, Default)]
pub(crate) struct RecoverySheet {
    /// What was read, or why it was not; nothing while it is being read.
    read: Option<Result<Box<RecoveryView>, String>>,
    /// The page, from 0.
    page: usize,
    pub(crate) scroll: usize,
}

impl RecoverySheet {
    /// It was read.
    pub(crate) fn take(&mut self, read: Result<Box<RecoveryView>, String>) {
        self.read = Some(read);
    }

    /// The page before or behind; behind the last one comes the first.
    pub(crate) fn turn(&mut self, forward: bool) {
        let agents = self
            .view()
            .map_or(Agent::ALL.len(), |view| view.agents.len());
        let pages = agents + 1;
        let step = if forward { 1 } else { pages - 1 };
        self.page = (self.page + step) % pages;
        self.scroll = 0;
    }

    /// The agent whose page is in front.
    pub(crate) fn agent(&self) -> Option<&AgentRecovery> {
        self.view()?.agents.get(self.page.checked_sub(1)?)
    }

    fn view(&self) -> Option<&RecoveryView> {
        self.read.as_ref()?.as_deref().ok()
    }

    pub(crate) fn text(&self, deck: &Deck, columns: usize) -> SheetText {
        let mut document = Document::new(deck, columns);
        let mut title = vec![Span::styled(
            "Recover",
            deck.theme.style(ThemeRole::TitleFocus),
        )];
        let agent = self.agent();
        match (&self.read, agent) {
            (None, _) => document.text("reading the record …", ThemeRole::TextMuted),
            (Some(Err(why)), _) => document.text(why, ThemeRole::Wait),
            (Some(Ok(_)), Some(of)) => {
                let name = format!("  {} {}", deck.glyphs.agent(of.agent), of.agent.title());
                title.push(Span::styled(name, deck.theme.agent(of.agent)));
                going_on(&mut document, of);
            }
            (Some(Ok(view)), None) => state(&mut document, view),
        }
        let mut keys = vec![(Action::NextEntry, "next page")];
        if agent.is_some() {
            keys.extend([
                (Action::Copy, "copy the prompt"),
                (Action::CopyId, "copy the command"),
                (Action::Message, "send the prompt"),
            ]);
        }
        keys.push((Action::Back, "close"));
        SheetText {
            title: Line::from(title),
            lines: document.into_lines(),
            keys: KeyFooter::new(deck, &keys),
            ..SheetText::default()
        }
    }
}

fn going_on(document: &mut Document<'_>, of: &AgentRecovery) {
    document.heading("Its conversation goes on with", "");
    document.body(&of.command, ThemeRole::Key);
    document.heading("Then tell it", "");
    document.text(&of.prompt, ThemeRole::Text);
}

/// What there is nothing of is not named.
fn state(document: &mut Document<'_>, view: &RecoveryView) {
    for of in &view.agents {
        let words = format!("{} goes on with: {}", of.agent.title(), of.command);
        document.text(&words, ThemeRole::Text);
    }
    for part in view.parts.iter().filter(|part| !part.rows.is_empty()) {
        part_of(document, part);
    }
}

fn part_of(document: &mut Document<'_>, part: &RecoveryPart) {
    let now = document.deck.view.now_ms;
    let mut note = part.note.clone();
    if let Some(at) = part.at_ms {
        note = format!("{note}, {}", text::ago(now, at));
    }
    document.heading(&part.title, &note);
    let (dot, faint) = (
        document.deck.glyphs.dot(),
        document.style(ThemeRole::TextMuted),
    );
    for RecoveryRow {
        at_ms,
        id,
        code,
        text,
    } in &part.rows
    {
        let words: Vec<&str> = [code.as_str(), text]
            .into_iter()
            .filter(|words| !words.is_empty())
            .collect();
        let age = at_ms.map(|at| text::ago(now, at));
        let note: Vec<&str> = age
            .as_deref()
            .into_iter()
            .chain((!id.is_empty()).then_some(id.as_str()))
            .collect();
        document.bullet_with(dot, faint, &words.join("  "), &note.join("  "));
    }
}
