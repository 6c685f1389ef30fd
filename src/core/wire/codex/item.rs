//! [`Item`]: the parts of a turn, as far as we read them.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use serde_json::Value;

use crate::entry::{FileAct, FileChange};
use crate::envelope::id_in_head;
use crate::plain_value::{PlainValue, member, optional_list};

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
    /// Anything else, as it is written: of another type, or with a member that is not as we know it.
    #[serde(untagged, deserialize_with = "object")]
    Other(PlainValue),
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
        let change = match self.kind.name.as_str() {
            "add" => FileChange::of(FileAct::Add, &self.path),
            "delete" => FileChange::of(FileAct::Delete, &self.path),
            _ => FileChange::One {
                act: FileAct::Change,
                path: self.path.clone(),
                moved_to: self.kind.move_path.clone(),
            },
        };
        change.to_string()
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
    pub fn is_user_message(&self) -> bool {
        matches!(self, Self::UserMessage { .. })
    }

    /// The id that a user message was sent with. One that is shown without it names it in its
    /// envelope.
    pub fn sent_as(&self) -> Option<String> {
        let Self::UserMessage { client_id, content } = self else {
            return None;
        };
        client_id.clone().or_else(|| {
            let head = texts(content).next()?.lines().next()?;
            id_in_head(head).map(|id| id.to_string())
        })
    }

    /// Whether it cannot be told from the message that was sent with this id.
    pub fn may_be(&self, id: &str) -> bool {
        match self {
            Self::UserMessage { content, .. } => {
                self.sent_as().is_none() && texts(content).next().is_none()
            }
            Self::Other(PlainValue(written)) => {
                written["type"] == "userMessage" || written.to_string().contains(id)
            }
            _ => false,
        }
    }

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

/// The texts of a user message.
fn texts(content: &[UserInput]) -> impl Iterator<Item = &str> {
    content.iter().filter_map(|part| match part {
        UserInput::Text { text } => Some(text.as_str()),
        UserInput::Other => None,
    })
}

/// What is no object is no item.
fn object<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PlainValue, D::Error> {
    let written = member(deserializer)?;
    match written.is_object() {
        true => Ok(PlainValue(written)),
        false => Err(D::Error::custom("not an object")),
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

/// What a page of a list shows.
#[derive(Debug, Clone)]
pub struct PageList<T> {
    /// As far as they can be read.
    pub members: Vec<T>,
    /// All of them could be.
    pub is_whole: bool,
}

impl<T> Default for PageList<T> {
    /// Of a page without a list.
    fn default() -> Self {
        Self {
            members: Vec::new(),
            is_whole: false,
        }
    }
}

impl<'de, T: serde::de::DeserializeOwned> Deserialize<'de> for PageList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Value::Array(shown) = member(deserializer)? else {
            return Ok(Self::default());
        };
        let count = shown.len();
        let members: Vec<T> = shown
            .into_iter()
            .filter_map(|member| serde_json::from_value(member).ok())
            .collect();
        Ok(Self {
            is_whole: members.len() == count,
            members,
        })
    }
}
