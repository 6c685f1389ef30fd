//! [`ApprovalRecord`]: what an agent asks the person before it goes on, and its outcome.
//! [`RuleName`]: the subject of the operator's rule about it.

use serde::{Deserialize, Serialize};

use super::{EntryKind, Wish};
use crate::agent::Agent;
use crate::id::{EntryId, ThreadId, TurnId};
use crate::word::words;

/// The most that a request keeps of what a vendor asks about, in characters: beyond it nobody
/// decides by reading.
pub const SUBJECT_CHARS_MAX: usize = 4_000;

words! {
    /// What is asked about.
    pub enum ApprovalKind {
        /// A command of the shell.
        Command = "command",
        FileChange = "file_change",
        /// More than the sandbox allows, for a while.
        Permissions = "permissions",
        /// A tool of an MCP server, or one of Claude's own.
        Tool = "tool",
        /// A question with answers to choose from.
        Question = "question",
        /// A question of the agent's own to the person, by the tool `ask_user`.
        UserQuestion = "user_question",
    }
}

impl ApprovalKind {
    /// Whether the subject is a command of the shell.
    pub fn is_shell(&self) -> bool {
        match self {
            Self::Command => true,
            Self::FileChange
            | Self::Permissions
            | Self::Tool
            | Self::Question
            | Self::UserQuestion
            | Self::Other(_) => false,
        }
    }

    /// Whether the subject may name paths.
    pub fn has_paths(&self) -> bool {
        match self {
            Self::Command | Self::FileChange | Self::Permissions => true,
            Self::Tool | Self::Question | Self::UserQuestion | Self::Other(_) => false,
        }
    }

    /// What an agent that asks asks for, behind `asks`.
    pub fn sought(&self) -> &'static str {
        match self {
            Self::Command => "to run a command",
            Self::FileChange => "to change files",
            Self::Permissions => "for more than its sandbox allows",
            Self::Tool => "to use a tool",
            Self::Question => "a question",
            Self::UserQuestion => "you a question",
            Self::Other(_) => "something that this version does not know",
        }
    }
}

/// A step in the life of a request for approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalRecord {
    /// What names the request in all of its entries: the id of the first one.
    pub approval_id: EntryId,
    /// Who asks.
    pub agent: Agent,
    pub step: ApprovalStep,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ApprovalStep {
    /// The agent waits. The content tells all of what it asks.
    Asked(Box<ApprovalRequest>),
    /// The operator's answer, on its way to the agent's program. Whether it counted tells the end:
    /// the person can have answered in the agent's own terminal at the same time.
    Given {
        /// The choice's id.
        choice: String,
        /// What the operator said with it.
        note: Option<String>,
    },
    /// The operator's answer reached nobody: it waits for one again.
    Undelivered,
    /// It no longer waits.
    Ended(ApprovalEnd),
}

impl ApprovalStep {
    /// The step as an entry's kind. `id`: the request's.
    pub fn of(self, id: EntryId, agent: Agent) -> EntryKind {
        EntryKind::Approval(ApprovalRecord {
            approval_id: id,
            agent,
            step: self,
        })
    }

    /// The word on the wire.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Asked(_) => "asked",
            Self::Given { .. } => "given",
            Self::Undelivered => "undelivered",
            Self::Ended(end) => end.as_str(),
        }
    }
}

words! {
    /// Why a request no longer waits.
    pub closed enum ApprovalEnd {
        /// The agent's program took an answer: the one that was given here, or one from its
        /// terminal.
        Answered = "answered",
        /// What asked is gone, and nobody was answered.
        Lost = "lost",
    }
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRequest {
    /// About what.
    pub kind: ApprovalKind,
    /// What names the request at its vendor, the same when it is asked again after a lost
    /// connection.
    pub key: String,
    /// The command, the files, the tool or the question: what the person decides on. A line of a
    /// [`ApprovalKind::FileChange`] is a [`FileChange`](super::FileChange), one of an
    /// [`ApprovalKind::Permissions`] a [`Wish`]; an [`ApprovalKind::Tool`] has one
    /// [`AskedTool`](super::AskedTool).
    pub subject: String,
    /// The folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Why, as the agent says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What may be answered: the vendor's own choices. None where it can be answered in the
    /// agent's terminal only.
    #[serde(default)]
    pub choices: Vec<ApprovalChoice>,
    /// Codex: the thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// Codex: the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// Until when the call that asks waits at most, ms since the epoch; only of a
    /// [`ApprovalKind::UserQuestion`], which waits on without its call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_waits_until_ms: Option<i64>,
    /// Files that it names and that the other agent had written in the minutes before, as far as
    /// that was known when it was asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peer_files: Vec<String>,
    /// What a yes grants beside the subject, as far as there is room; the content tells all of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_wants: Vec<Wish>,
    /// The subject was cut before the record masked it, which can make it short, or the details were
    /// cut where they come from; see [`Self::is_cut`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// What its text says of itself, read before the record masked parts of it; none where nothing
    /// is masked, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmasked: Option<TextHints>,
}

words! {
    /// What a rule is about: who writes to git, or a [`Permission`](crate::policy::Permission).
    pub enum RuleName {
        Coordinator = "coordinator",
        Read = "read",
        Write = "write",
        Shell = "shell",
        Network = "network",
        Git = "git",
        Secrets = "secrets",
        Browser = "browser",
        ExternalApi = "external_api",
    }
}

/// What the text of a request says of itself that is easily overlooked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TextHints {
    /// What it does with git, where that is more than reading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<String>,
    /// Secrets, ways beyond this machine, paths outside of the project.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more: Vec<String>,
    /// The permissions that it needs, surely or perhaps; none in older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<RuleName>,
}

impl ApprovalRequest {
    /// One that so far says only what it is about. `key`: as [`Self::key`].
    pub fn new(kind: ApprovalKind, key: String, subject: String) -> Self {
        Self {
            kind,
            key,
            subject,
            cwd: None,
            reason: None,
            choices: Vec::new(),
            thread_id: None,
            turn_id: None,
            call_waits_until_ms: None,
            peer_files: Vec::new(),
            also_wants: Vec::new(),
            cut: false,
            unmasked: None,
        }
    }

    /// Without its words, of which the record has none any more: `subject` stands for all of them, and
    /// what nobody can read can only be refused.
    #[must_use]
    pub fn without_words(self, subject: String) -> Self {
        let mut choices = self.choices;
        choices.retain(|it| matches!(it.effect, ChoiceEffect::Deny | ChoiceEffect::Stop));
        Self {
            choices,
            thread_id: self.thread_id,
            turn_id: self.turn_id,
            cut: true,
            ..Self::new(self.kind, self.key, subject)
        }
    }

    /// Whether what the record has is only the beginning of what the vendor asks about.
    pub fn is_cut(&self) -> bool {
        let is_long = || self.subject.chars().nth(SUBJECT_CHARS_MAX).is_some();
        !self.is_user_question() && (self.cut || is_long())
    }

    /// Whether it hangs on no process and no connection: it waits until the operator answers, and
    /// the answer is a message.
    pub fn is_user_question(&self) -> bool {
        self.kind == ApprovalKind::UserQuestion
    }

    pub fn choice(&self, id: &str) -> Option<&ApprovalChoice> {
        self.choices.iter().find(|choice| choice.id == id)
    }
}

/// One answer that the vendor takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalChoice {
    /// Its id, the vendor's own word where it has one.
    pub id: String,
    /// What it means, for the person.
    pub label: String,
    pub effect: ChoiceEffect,
    /// The label in two parts; none where it is the vendor's or the agent's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<LabelParts>,
}

/// A label of ours: the answer, and what it comes to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LabelParts {
    pub short: String,
    pub comes_to: String,
}

impl ApprovalChoice {
    /// One whose label is the vendor's or the agent's own, or has one part.
    pub fn new(id: impl Into<String>, label: impl Into<String>, effect: ChoiceEffect) -> Self {
        Self {
            id: id.into(),
            label: label.into(),
            effect,
            parts: None,
        }
    }

    /// This, and more: `comes_to`.
    pub fn allow_and(id: &str, comes_to: &str) -> Self {
        Self::in_parts(id, ["allow", ", ", comes_to], ChoiceEffect::AllowMore)
    }

    /// Not; the agent goes on.
    pub fn deny(id: &str, agent: Agent) -> Self {
        let comes_to = format!("{} goes on without it", agent.title());
        Self::in_parts(id, ["do not", "; ", &comes_to], ChoiceEffect::Deny)
    }

    /// Not, and the turn ends.
    pub fn stop(id: &str) -> Self {
        let label = ["do not", ", ", "and stop the turn"];
        Self::in_parts(id, label, ChoiceEffect::Stop)
    }

    /// Leaves a question without an answer.
    pub fn no_answer(id: &str) -> Self {
        let label = ["no answer", ": ", "go on without one"];
        Self::in_parts(id, label, ChoiceEffect::Answer)
    }

    fn in_parts(id: &str, label: [&str; 3], effect: ChoiceEffect) -> Self {
        let [short, _, comes_to] = label.map(str::to_owned);
        Self {
            parts: Some(LabelParts { short, comes_to }),
            ..Self::new(id, label.concat(), effect)
        }
    }
}

/// What a choice does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChoiceEffect {
    AllowOnce,
    /// This, and more like it without asking.
    AllowMore,
    /// Not; the agent goes on without it.
    Deny,
    /// Not, nor anything like it from now on.
    DenyMore,
    /// Not, and the turn ends.
    Stop,
    /// The answer to a question.
    Answer,
    /// The answer to a question, in words of the operator's own.
    OwnWords,
}

impl ChoiceEffect {
    /// Whether it says no.
    pub fn denies(self) -> bool {
        matches!(self, Self::Deny | Self::DenyMore | Self::Stop)
    }
}
