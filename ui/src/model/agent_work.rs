//! [`WorkView`] and [`RulesView`]: what an agent is working on and was given of it, and its rules.

use super::agent::Agent;
use super::timeline::Verdict;

/// One thing that was said of an agent's work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkValue {
    /// In its words; hostile.
    pub text: String,
    /// Who said it and how, for example `marker by codex`.
    pub tag: String,
    /// The entry that holds it.
    pub line: u64,
}

/// Values, or files, of one sort.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkSection {
    /// Its name.
    pub title: String,
    /// What there is of it, in the order in which it is shown.
    pub values: Vec<WorkValue>,
}

/// How far a packet came, as far as anybody knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PacketFate {
    /// It was sent; nothing is known yet.
    Offered,
    /// The agent has it.
    Given,
    /// The agent does not have it.
    NotGiven,
    /// Nobody can know.
    Unknown,
}

/// A packet that an agent was given, or was to be given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacketView {
    /// Its entry.
    pub line: u64,
    /// When it was offered, ms since the epoch.
    pub at_ms: i64,
    /// Why.
    pub cause: String,
    /// The way that it went.
    pub way: String,
    /// How far it came.
    pub fate: PacketFate,
    /// Why it did not come, or why nobody can know; may be empty.
    pub why: String,
    /// Its text, whole; `None` when it cannot be read now.
    pub text: Option<String>,
}

/// A file that an agent wrote or read last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkFile {
    /// Hostile.
    pub path: String,
    /// `written`, `read`.
    pub how: String,
    /// The entry that says so.
    pub line: u64,
    /// The agent that wrote it since.
    pub changed_by: Option<String>,
}

/// A result of an agent's work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkResult {
    /// Hostile.
    pub title: String,
    /// Of which sort, for example `test`; hostile.
    pub sort: String,
    pub verdict: Verdict,
    /// Its entry.
    pub line: u64,
}

/// Something that happened in an agent's work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkEvent {
    /// When, ms since the epoch.
    pub at_ms: i64,
    /// Its entry.
    pub line: u64,
    /// Hostile.
    pub what: String,
}

/// What happened in an agent's work.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum WorkLog {
    /// Nobody asked for it.
    #[default]
    NotRead,
    /// Oldest first.
    Read(Vec<WorkEvent>),
    /// The record cannot be read now.
    Unreadable,
}

/// What an agent is at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkView {
    pub agent: Agent,
    /// How it keeps the thread, a sentence each.
    pub about: Vec<String>,
    /// What was said of its work; nothing that is empty.
    pub sections: Vec<WorkSection>,
    /// The last packet, if there was one.
    pub packet: Option<PacketView>,
    /// Its files, in the order in which they are shown.
    pub files: Vec<WorkFile>,
    /// What came of it.
    pub results: Vec<WorkResult>,
    /// What happened in it.
    pub log: WorkLog,
}

/// What became of a paragraph of an instruction file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RuleFate {
    /// The agent reads its file by itself.
    Read,
    /// We give it.
    Given,
    /// The agent does not get it.
    NotGiven,
}

/// A paragraph of an instruction file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToldRule {
    /// The file that holds it; hostile.
    pub file: String,
    /// Its first line; hostile.
    pub words: String,
    /// What became of it.
    pub fate: RuleFate,
    pub why: String,
}

/// What the project's instruction files tell an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RulesView {
    /// Whom.
    pub agent: Agent,
    /// Each paragraph, those of a file together.
    pub rules: Vec<ToldRule>,
    /// Files that are there and were not read, and why.
    pub unread: Vec<(String, String)>,
    /// What is not known, and why there is nothing, a sentence each.
    pub doubts: Vec<String>,
}
