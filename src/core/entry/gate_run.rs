//! [`GateRun`]: what makes an artifact evidence and not a claim.

use serde::{Deserialize, Serialize};

use super::WorkTree;

/// A gate that the daemon ran itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GateRun {
    /// Its name.
    pub gate: String,
    /// The command.
    pub cmd: String,
    /// What names command and folder: [`Gate::spec`](crate::wire::config::Gate::spec).
    pub spec: String,
    /// The exit code, 128 and more for a signal; `None` when it never began, was stopped or took
    /// too long.
    pub exit_code: Option<i32>,
    /// How long it ran, in ms.
    pub duration_ms: u64,
    /// The work tree before it began.
    pub tree: Option<WorkTree>,
    /// The work tree had changed when it ended, so that it says nothing of either.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stale: bool,
    /// How much it printed, in bytes; the entry's text is the beginning and the end of it.
    pub output_bytes: u64,
    /// The SHA-256 of all that it printed, in hex.
    pub output_sha256: String,
}
