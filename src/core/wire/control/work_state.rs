//! The arguments of the operator's commands about what the agents are working on.

use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::entry::NoteKind;
use crate::id::RuntimeSession;

/// How many values one call may state.
pub const STATED_MAX: usize = 100;

/// Arguments of [`Command::StateWork`](super::Command::StateWork).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct StateWorkParams {
    /// Of whose work; `None`: of both.
    pub agent: Option<Agent>,
    /// What is so, [`STATED_MAX`] values at most; recorded together or not at all.
    pub values: Vec<StatedValue>,
    /// No agent's word takes the place of these.
    pub pinned: bool,
    /// The pair; the connection's own when absent.
    pub runtime_session_id: Option<RuntimeSession>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatedValue {
    pub kind: NoteKind,
    /// The value.
    pub text: String,
}

/// Arguments of [`Command::ForgetWork`](super::Command::ForgetWork).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ForgetWorkParams {
    /// A file's path as the state has it, or the id of the entry that said a value.
    pub what: String,
    /// All of it instead. Said on its own, so that nothing that is left out comes to mean it.
    pub all: bool,
    /// Of whose work; `None`: of both.
    pub agent: Option<Agent>,
    /// The pair; the connection's own when absent.
    pub runtime_session_id: Option<RuntimeSession>,
}
