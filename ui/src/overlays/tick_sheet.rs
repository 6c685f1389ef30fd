//! [`TickSheet`]: earlier statements about the same subject as a task, which the person ticks
//! before the task takes them along or begins with them.

use ratatui::text::{Line, Span};

use super::document::Document;
use super::key_footer::KeyFooter;
use super::sheet::SheetText;
use crate::action::Action;
use crate::deck::Deck;
use crate::drafts::Drafts;
use crate::effect::Effect;
use crate::model::{Agent, AlikeTo, FoundSnippet};
use crate::sanitize;
use crate::theme::ThemeRole;
use crate::widgets::{ListState, blank, fit_line};

/// Where what is ticked goes.
#[derive(Debug, Clone)]
enum TicksGo {
    /// With a task to an agent.
    Along { id: String, to: Agent },
    /// Into a task of this title.
    Into { title: String },
}

/// The list.
#[derive(Debug, Clone)]
pub(crate) struct TickSheet {
    /// By what it is looked for.
    pub(crate) alike_to: AlikeTo,
    goes: TicksGo,
    /// What can go along, and whether it does.
    rows: Vec<(FoundSnippet, bool)>,
    /// That it was looked for, or why it could not be; nothing while it is looked for.
    looked: Option<Result<(), String>>,
    pub(crate) list: ListState,
}

impl TickSheet {
    /// Before a task is handed to an agent.
    pub(crate) fn for_handing(id: String, to: Agent) -> Self {
        Self::new(AlikeTo::Task(id.clone()), TicksGo::Along { id, to })
    }

    /// Before a task begins. `words`: by which it is looked for.
    pub(crate) fn for_beginning(title: String, words: String) -> Self {
        Self::new(AlikeTo::Words(words), TicksGo::Into { title })
    }

    fn new(alike_to: AlikeTo, goes: TicksGo) -> Self {
        Self {
            alike_to,
            goes,
            rows: Vec::new(),
            looked: None,
            list: ListState::default(),
        }
    }

    /// It was looked for. Nothing goes along unless it is ticked; what was ticked before a task of the
    /// same title could not begin stands there ticked, also where nothing could be looked for. The list
    /// may have been opened twice for one task: a second answer would take the ticks off again.
    pub(crate) fn take(&mut self, found: Result<Vec<FoundSnippet>, String>, drafts: &Drafts) {
        if self.looked.is_some() {
            return;
        }
        let ticked = match &self.goes {
            TicksGo::Into { title } => drafts.ticks(title),
            TicksGo::Along { .. } => &[],
        };
        self.rows = ticked.iter().map(|it| (it.clone(), true)).collect();
        self.looked = Some(found.map(|found| {
            // By other words it may not be found again.
            let others = found.into_iter().filter(|it| !ticked.contains(it));
            self.rows.extend(others.map(|it| (it, false)));
        }));
    }

    /// Moves by rows.
    pub(crate) fn step(&mut self, by: isize) {
        self.list.step(by, self.rows.len());
    }

    /// The one under the cursor goes along, or not.
    pub(crate) fn tick(&mut self) {
        if let Some((_, goes)) = self.rows.get_mut(self.list.selected) {
            *goes = !*goes;
        }
    }

    /// What is done with what is ticked; nothing before it was looked for. Where that could not be
    /// done it goes on without it.
    pub(crate) fn done(&self) -> Option<Effect> {
        self.looked.as_ref()?;
        let ticked = self.rows.iter().filter(|(_, goes)| *goes);
        let found = ticked.map(|(found, _)| found.clone()).collect();
        Some(match &self.goes {
            TicksGo::Along { id, to } => Effect::HandCapsule {
                id: id.clone(),
                to: *to,
                found,
            },
            TicksGo::Into { title } => Effect::BeginTask {
                title: title.clone(),
                found,
            },
        })
    }

    /// What begins where nothing alike was found: an empty list asks nothing.
    pub(crate) fn begins_at_once(&self) -> Option<Effect> {
        let is_empty = self.rows.is_empty() && matches!(self.looked, Some(Ok(())));
        let begins = matches!(self.goes, TicksGo::Into { .. });
        self.done().filter(|_| is_empty && begins)
    }

    pub(crate) fn text(&self, deck: &Deck, columns: usize) -> SheetText {
        let theme = &deck.theme;
        let rows = &self.rows;
        let (title, done, alone) = match &self.goes {
            TicksGo::Along { to, .. } => {
                let title = format!("Said before: what goes along to {}?", to.title());
                (title, "hand it over", "hand it over alone")
            }
            TicksGo::Into { title } => {
                let title = sanitize::line(title);
                (
                    format!("Said before: what is so for `{title}`?"),
                    "begin the task",
                    "begin it with nothing",
                )
            }
        };
        let mut lines: Vec<Line<'static>> = rows
            .iter()
            .enumerate()
            .map(|(at, row)| self.listed(deck, at, row, columns))
            .collect();
        let mut document = Document::new(deck, columns);
        match &self.looked {
            None => document.text("looking for it …", ThemeRole::TextMuted),
            Some(Err(why)) => document.text(why, ThemeRole::Wait),
            Some(Ok(())) if rows.is_empty() => {
                document.text("Nothing was found that goes along.", ThemeRole::Text);
            }
            Some(Ok(())) => {}
        }
        if let Some((found, _)) = rows.get(self.list.selected) {
            document.heading("All of it", "");
            document.body(&found.text, ThemeRole::Text);
            document.body(&found.cited, ThemeRole::TextMuted);
        }
        lines.extend(document.into_lines());
        let mut keys = Vec::new();
        if !rows.is_empty() {
            keys.push((Action::Mark, "tick"));
        }
        match &self.looked {
            Some(Err(_)) if rows.is_empty() => keys.push((Action::Open, alone)),
            Some(_) => keys.push((Action::Open, done)),
            None => {}
        }
        keys.push((Action::Back, "close"));
        SheetText {
            title: Line::styled(title, theme.style(ThemeRole::TitleFocus)),
            lines,
            keys: KeyFooter::new(deck, &keys),
            ..SheetText::default()
        }
    }

    fn listed(
        &self,
        deck: &Deck,
        at: usize,
        (found, goes): &(FoundSnippet, bool),
        columns: usize,
    ) -> Line<'static> {
        let theme = &deck.theme;
        let is_selected = at == self.list.selected;
        let tick = if *goes { "[x]" } else { "[ ]" };
        let line = Line::from(vec![
            deck.row_cursor(is_selected),
            blank(1),
            Span::styled(tick, theme.style(ThemeRole::TextStrong)),
            blank(1),
            Span::styled(sanitize::line(&found.text), theme.style(ThemeRole::Text)),
            blank(2),
            Span::styled(
                sanitize::line(&found.cited),
                theme.style(ThemeRole::TextMuted),
            ),
        ]);
        deck.sheet_row(fit_line(line, columns), is_selected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_looked_for_keeps_nobody_from_going_on_without_it() {
        let id = "cap_00000000000a".to_owned();
        let mut sheet = TickSheet::for_handing(id.clone(), Agent::Claude);
        assert_eq!(sheet.done(), None, "it is looked for");
        sheet.take(
            Err("the index is being made".to_owned()),
            &Drafts::default(),
        );
        let alone = Effect::HandCapsule {
            id,
            to: Agent::Claude,
            found: Vec::new(),
        };
        assert_eq!(sheet.done(), Some(alone));
    }

    #[test]
    fn the_answer_of_an_earlier_search_takes_no_tick_off() {
        let mut sheet = TickSheet::for_handing("cap_00000000000a".to_owned(), Agent::Claude);
        let found = FoundSnippet {
            text: "tokens live for one hour".to_owned(),
            cited: "claude, entry 4".to_owned(),
        };
        sheet.take(Ok(vec![found.clone()]), &Drafts::default());
        sheet.tick();
        sheet.take(Ok(vec![found]), &Drafts::default());
        assert!(matches!(&*sheet.rows, [(_, true)]));
    }
}
