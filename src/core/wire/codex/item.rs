//! [`Item`]: what a turn consists of, as far as we read it.

use serde::{Deserialize, Deserializer};

use crate::wire::plain_value::{member, optional_list};

/// One item of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Item {
    /// What a client put in, human or not.
    UserMessage {
        /// The `clientUserMessageId` that it was sent with.
        client_id: Option<String>,
        /// Its parts.
        #[serde(default, deserialize_with = "readable")]
        content: Vec<UserInput>,
    },
    /// What the model said.
    AgentMessage {
        #[serde(default)]
        text: String,
        /// `commentary`, `partial_answer`, `final_answer`, or unknown.
        phase: Option<String>,
    },
    /// Files that it wants to change, or has changed.
    FileChange {
        #[serde(default)]
        id: String,
        #[serde(default, deserialize_with = "readable")]
        changes: Vec<FileUpdate>,
        /// `inProgress`, `completed`, `failed`, `declined`.
        #[serde(default)]
        status: String,
    },
    /// A command that it runs, or has run.
    CommandExecution {
        #[serde(default)]
        id: String,
        /// All of what the shell is started with, in its quotes.
        #[serde(default)]
        command: String,
        /// `inProgress`, `completed`, `failed`, `declined`.
        #[serde(default, deserialize_with = "known")]
        status: Option<String>,
        /// Who runs it: `agent`, `unifiedExecStartup`, `unifiedExecInteraction`; `userShell` is the
        /// person.
        #[serde(default, deserialize_with = "known")]
        source: Option<String>,
        /// The folder, as a whole path.
        #[serde(default, deserialize_with = "known")]
        cwd: Option<String>,
        /// None until it has ended, and where a signal ended it.
        #[serde(default, deserialize_with = "known")]
        exit_code: Option<i64>,
        /// In ms; none until it has ended.
        #[serde(default, deserialize_with = "known")]
        duration_ms: Option<u64>,
    },
    /// A tool of an MCP server that it calls, or has called.
    McpToolCall {
        #[serde(default)]
        id: String,
        #[serde(default)]
        server: String,
        #[serde(default)]
        tool: String,
    },
    /// The context was compacted.
    ContextCompaction {
        #[serde(default)]
        id: String,
    },
    /// Anything else.
    #[serde(other)]
    Other,
}

/// One file of a change.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct FileUpdate {
    pub path: String,
    /// What becomes of it.
    #[serde(default)]
    pub kind: FileUpdateKind,
    /// The change; of a new file its content.
    #[serde(default)]
    pub diff: String,
}

impl FileUpdate {
    /// `add src/lock.rs`.
    pub fn in_words(&self) -> String {
        let path = &self.path;
        match (&*self.kind.name, &self.kind.move_path) {
            ("add", _) => format!("add {path}"),
            ("delete", _) => format!("delete {path}"),
            (_, Some(to)) => format!("change {path} and move it to {to}"),
            _ => format!("change {path}"),
        }
    }
}

/// What becomes of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct FileUpdateKind {
    /// `add`, `delete`, `update`.
    #[serde(default, rename = "type")]
    pub name: String,
    /// Where it is moved to.
    pub move_path: Option<String>,
}

/// One part of a user message.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum UserInput {
    Text {
        #[serde(default)]
        text: String,
    },
    /// An image, a skill, a mention.
    #[serde(other)]
    Other,
}

impl Item {
    /// Whether the model says that this is its last word in the turn.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::AgentMessage { phase, .. } if phase.as_deref() == Some("final_answer"))
    }

    /// The text, when it is an agent message that may be the turn's answer: phase `final_answer`
    /// or none (providers are inconsistent, so none counts as unknown).
    pub fn answer(&self) -> Option<&str> {
        match self {
            Self::AgentMessage { text, phase } => match phase.as_deref() {
                None | Some("final_answer") => Some(text),
                Some(_) => None,
            },
            _ => None,
        }
    }
}

/// Nothing where it is of another type than we know.
fn known<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: serde::de::DeserializeOwned,
{
    let value = member(deserializer)?;
    Ok(serde_json::from_value(value).ok())
}

/// A list of which the unreadable members are left out.
pub(super) fn readable<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: serde::de::DeserializeOwned,
{
    let members = optional_list(deserializer)?.unwrap_or_default();
    Ok(members
        .into_iter()
        .filter_map(|member| serde_json::from_value(member).ok())
        .collect())
}
