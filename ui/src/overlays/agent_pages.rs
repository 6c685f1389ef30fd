//! [`AgentPages`]: what an agent is working on, its packet, its files and results, the history of
//! its work, and the rules that it receives.

use ratatui::text::{Line, Span};

use super::document::Document;
use crate::action::Action;
use crate::deck::Deck;
use crate::model::{OutcomeState, PacketFate, PacketView, RuleFate, RulesView, WorkLog, WorkView};
use crate::sanitize;
use crate::text;
use crate::theme::ThemeRole;

/// Columns of what became of a file or a result, with those behind it.
const HOW: usize = 13;

/// A page of an agent's sheet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AgentPage {
    /// The agent itself.
    Card,
    /// What it is at.
    State,
    /// The packet that it was given last.
    Packet,
    /// Its files and results.
    Index,
    /// What happened in its work.
    Log,
    /// What it is told by the project's files.
    Rules,
}

impl AgentPage {
    /// Behind the agent's name.
    pub(super) fn title(self, deck: &Deck) -> Option<Span<'static>> {
        let words = match self {
            Self::Card => return None,
            Self::State => "  what it is at",
            Self::Packet => "  its last packet",
            Self::Index => "  its files and results",
            Self::Log => "  what happened",
            Self::Rules => "  what it is told",
        };
        Some(Span::styled(words, deck.theme.style(ThemeRole::Title)))
    }

    /// The keys that lead from it.
    pub(super) fn keys(self) -> [(Action, &'static str); 3] {
        let work = match self {
            Self::State => "its packet",
            Self::Packet => "its files",
            Self::Index => "what happened",
            Self::Card | Self::Log | Self::Rules => "what it is at",
        };
        let rules = match self {
            Self::Rules => "read them again",
            _ => "what it is told",
        };
        [
            (Action::WorkState, work),
            (Action::Instructions, rules),
            (Action::Back, "close"),
        ]
    }
}

/// Of which record an agent's work was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AskedWork {
    pub(crate) session: String,
    pub(crate) entries: u64,
    pub(crate) with_log: bool,
}

/// What was read of an agent.
#[derive(Debug, Clone, Default)]
pub(crate) struct AgentPages {
    work: Option<WorkView>,
    /// The record of which the work was asked last.
    asked_work: Option<AskedWork>,
    /// The answer has not come.
    is_asking: bool,
    pub(crate) rules: Option<RulesView>,
    pub(crate) asked_rules: bool,
}

impl AgentPages {
    /// Whether the work is to be asked of this record: it has grown, or its log was not asked for,
    /// and no answer is awaited.
    pub(crate) fn asks_work(&mut self, wanted: AskedWork) -> bool {
        let has = |asked: &AskedWork| {
            let is_same = (&asked.session, asked.entries) == (&wanted.session, wanted.entries);
            is_same && asked.with_log >= wanted.with_log
        };
        if self.is_asking || self.asked_work.as_ref().is_some_and(has) {
            return false;
        }
        self.asked_work = Some(wanted);
        self.is_asking = true;
        true
    }

    /// The answer.
    pub(crate) fn take_work(&mut self, work: WorkView) {
        self.is_asking = false;
        self.work = Some(work);
    }

    /// Nobody answers what was asked.
    pub(crate) fn forget_questions(&mut self) {
        self.is_asking = false;
        self.asked_work = None;
        self.asked_rules = self.rules.is_some();
    }

    pub(super) fn write(&self, document: &mut Document<'_>, page: AgentPage) {
        match (page, &self.work, &self.rules) {
            (AgentPage::State, Some(work), _) => state(document, work),
            (AgentPage::Packet, Some(work), _) => packet(document, work.packet.as_ref()),
            (AgentPage::Index, Some(work), _) => index(document, work),
            (AgentPage::Log, Some(work), _) => log(document, &work.log),
            (AgentPage::Rules, _, Some(rules)) => told(document, rules),
            _ => document.text("reading …", ThemeRole::TextMuted),
        }
    }
}

fn state(document: &mut Document<'_>, work: &WorkView) {
    for sentence in &work.about {
        document.text(sentence, ThemeRole::TextMuted);
    }
    let dot = document.deck.glyphs.dot();
    let faint = document.style(ThemeRole::TextMuted);
    for section in &work.sections {
        document.heading(&section.title, "");
        for value in &section.values {
            let entry = text::grouped(value.line);
            let note = format!("[{}]  entry {entry}", value.tag);
            document.bullet_with(dot, faint, &value.text, &note);
        }
    }
    if work.sections.is_empty() {
        let words = "Nothing was said of its work, and no file of it is known.";
        document.text(words, ThemeRole::Text);
    }
}

fn packet(document: &mut Document<'_>, packet: Option<&PacketView>) {
    let deck = document.deck;
    let Some(packet) = packet else {
        let words = "It was given none yet. It gets one after its context was compacted.";
        return document.text(words, ThemeRole::Text);
    };
    let (state, words) = match packet.fate {
        PacketFate::Offered => (
            OutcomeState::Unconfirmed,
            "offered, and not yet seen to have come",
        ),
        PacketFate::Given => (OutcomeState::Done, "given"),
        PacketFate::NotGiven => (OutcomeState::Failed, "not given"),
        PacketFate::Unknown => (OutcomeState::Attention, "nobody knows whether it came"),
    };
    document.line(Line::from(Span::styled(
        format!("{} {words}", deck.glyphs.outcome(state)),
        deck.theme.outcome(state),
    )));
    if !packet.why.is_empty() {
        document.text(&packet.why, ThemeRole::Wait);
    }
    let offset = deck.view.utc_offset_s(packet.at_ms);
    let (day, time) = (
        text::day(deck.view.now_ms, packet.at_ms, offset),
        text::clock_seconds(packet.at_ms, offset),
    );
    let entry = text::grouped(packet.line);
    let about = format!(
        "{}, by {}, {day} {time}, entry {entry}",
        packet.cause, packet.way
    );
    document.text(&about, ThemeRole::TextMuted);
    document.heading("Exactly as it was given", "");
    match &packet.text {
        Some(text) => document.text(text, ThemeRole::Text),
        None => document.text("Its text cannot be read now.", ThemeRole::Wait),
    }
}

fn log(document: &mut Document<'_>, log: &WorkLog) {
    match log {
        WorkLog::NotRead => document.text("reading …", ThemeRole::TextMuted),
        WorkLog::Unreadable => document.text("The record cannot be read now.", ThemeRole::Wait),
        WorkLog::Read(lines) => {
            let count = text::grouped(lines.len() as u64);
            let lines_word = if lines.len() == 1 { "line" } else { "lines" };
            let about = format!("{count} {lines_word} of the record, the latest last");
            document.text(&about, ThemeRole::TextMuted);
            document.gap();
            let view = &document.deck.view;
            let faint = document.style(ThemeRole::TextMuted);
            let number = entry_columns(lines.iter().map(|event| event.line));
            let mut day = None;
            for event in lines {
                let offset = view.utc_offset_s(event.at_ms);
                let number_of_day = text::day_number(event.at_ms, offset);
                if day.replace(number_of_day) != Some(number_of_day) {
                    let style = document.style(ThemeRole::Heading);
                    document.line(Line::styled(
                        text::day(view.now_ms, event.at_ms, offset),
                        style,
                    ));
                }
                let time = text::clock(event.at_ms, offset);
                let entry = text::grouped(event.line);
                let head = format!("{time}  {entry:>number$}  ");
                document.row(vec![Span::styled(head, faint)], &event.what, "");
            }
        }
    }
}

/// The files, and what came of the work: how, which entry says so, and what it is.
fn index(document: &mut Document<'_>, work: &WorkView) {
    let deck = document.deck;
    let faint = document.style(ThemeRole::TextMuted);
    let lines = work.files.iter().map(|file| file.line);
    let number = entry_columns(lines.chain(work.results.iter().map(|result| result.line)));
    let entry = |line| Span::styled(format!("{:>number$}  ", text::grouped(line)), faint);
    if work.files.is_empty() && work.results.is_empty() {
        let words = "No file and no result of its work is known.";
        document.text(words, ThemeRole::Text);
    }
    if !work.files.is_empty() {
        document.heading("Files", "the latest first");
    }
    for file in &work.files {
        let how = text::pad(&sanitize::line(&file.how), HOW);
        let note = match &file.changed_by {
            Some(by) => format!("{by} changed it since"),
            None => String::new(),
        };
        let head = vec![Span::styled(how, faint), entry(file.line)];
        document.row(head, &file.path, &note);
    }
    if !work.results.is_empty() {
        document.heading("Results", "");
    }
    for result in &work.results {
        let (glyph, word) = (deck.glyphs.verdict(result.verdict), result.verdict.as_str());
        let verdict = text::pad(&format!("{glyph} {word}"), HOW);
        let style = deck.theme.verdict(result.verdict);
        let head = vec![Span::styled(verdict, style), entry(result.line)];
        document.row(head, &result.title, &result.sort);
    }
}

/// Columns of the widest of these numbers.
fn entry_columns(lines: impl Iterator<Item = u64>) -> usize {
    lines
        .map(|line| text::grouped(line).len())
        .max()
        .unwrap_or(0)
}

fn told(document: &mut Document<'_>, rules: &RulesView) {
    let deck = document.deck;
    for doubt in &rules.doubts {
        document.text(doubt, ThemeRole::Wait);
    }
    let mut file = None;
    for rule in &rules.rules {
        if file != Some(&rule.file) {
            document.heading(&rule.file, "");
            file = Some(&rule.file);
        }
        let (state, word) = match rule.fate {
            RuleFate::Read => (OutcomeState::Done, "read by itself"),
            RuleFate::Given => (OutcomeState::Done, "given by us"),
            RuleFate::NotGiven => (OutcomeState::Attention, "not given"),
        };
        let note = match rule.fate {
            RuleFate::NotGiven => format!("{word}: {}", rule.why),
            RuleFate::Read | RuleFate::Given => word.to_owned(),
        };
        let glyph = deck.glyphs.outcome(state);
        document.bullet_with(glyph, deck.theme.outcome(state), &rule.words, &note);
    }
    for (file, why) in &rules.unread {
        document.heading(file, "not read");
        document.body(why, ThemeRole::Wait);
    }
    if rules.rules.is_empty() && rules.unread.is_empty() {
        let words = "No instruction file of this project says more than our own block.";
        document.text(words, ThemeRole::Text);
    }
}
