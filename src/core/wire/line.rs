//! The ledger line: [`serialize`], [`parse`] and the hash chain ([`seal`], [`ChainLink`]).
//!
//! A line is one JSON object in the `v1` shape of ContextRelay 3.13:
//! `schema, id, timestamp, sessionId, type, source, target?, content`, then the detail fields of
//! its type, `meta`, and last our own: `seq, prev, hash`. Reading is lenient, because ledgers of
//! other versions and of ContextRelay itself stay readable for ever: unknown members are kept,
//! missing ones get a plain default. Knows no files: where a line is stored is the reader's
//! business.

mod bad_line;
mod chain;
mod members;
mod read;
mod stored;
mod write;

#[cfg(any(test, feature = "testing"))]
pub mod arbitrary;
#[cfg(any(test, feature = "testing"))]
pub mod hostile;
#[cfg(test)]
mod tests;

use serde_json::Value;

pub use bad_line::BadLine;
pub use chain::{ChainLink, GENESIS, Sealed, hash_line, is_hash, prefix_hash, seal};
pub use read::{ParsedLine, parse, parse_link};
pub use stored::Stored;
pub use write::serialize;

/// The longest line that is written or read, in bytes without newline: more than any message
/// that a control frame can carry, even when every character of it is escaped. What is longer is
/// counted as a bad line without being held in memory.
pub const LINE_MAX: usize = 32 * 1024 * 1024;

/// The value of `schema` on every line.
pub const SCHEMA: &str = "v1";

/// Whether an entry, as it stands on its line, was nobody's to vouch for where a compaction took it
/// from.
pub fn is_carried_foreign(line: &Value) -> bool {
    line["meta"][CARRIED]["foreign"] == true
}

/// Keys that the envelope owns; no detail field may take their place.
const ENVELOPE: [&str; 14] = [
    "schema",
    "id",
    "timestamp",
    "sessionId",
    "type",
    "source",
    "target",
    "content",
    "meta",
    "seq",
    "prev",
    "hash",
    HANDLES,
    WHOLE,
];

/// The handoff that an entry answers, as ContextRelay writes it.
const HANDLES_ONE: &str = "handles_handoff_id";

/// All handoffs that an entry answers.
const HANDLES: &str = "handles_handoff_ids";

/// Where all of a text is that the line holds only the beginning of. Not in `meta`, which is
/// masked like everything else that may hold what somebody wrote.
const WHOLE: &str = "whole";

/// The comment of a finding as it was written, in its `artifact` until the line is written: the
/// ledger keeps it beside the line, as [`WHOLE`].
pub const RAW: &str = "raw";

/// The key in `meta` that says where a carried entry stood.
const CARRIED: &str = "carriedFrom";

/// The key in `meta` that holds the runtime session.
const RUNTIME_SESSION: &str = "runtimeSessionId";

/// The `runtimeEvent.kind` words of our own runtime events.
mod event {
    /// What became of a message; ContextRelay's word.
    pub(super) const DELIVERY: &str = "message_delivery";
    /// An agent attached, left or changed its state.
    pub(super) const AGENT: &str = "agent_state";
    /// A Codex turn began or ended.
    pub(super) const TURN: &str = "turn";
    /// An agent asks the person for leave, and what becomes of that.
    pub(super) const APPROVAL: &str = "approval";
    /// What one turn touched.
    pub(super) const TURN_FILES: &str = "turn_files";
    /// An agent's context was compacted.
    pub(super) const COMPACTED: &str = "context_compacted";
    /// An agent is given what the record holds of its work.
    pub(super) const RELOADED: &str = "context_reloaded";
    /// The project's rules differ from those that an agent was told.
    pub(super) const RULES: &str = "rules_changed";
    /// A model took something from an agent's own words.
    pub(super) const INFERRED: &str = "context_inferred";
    /// The operator has something forgotten.
    pub(super) const FORGOTTEN: &str = "context_forgotten";
    /// A step in the life of a task that can travel.
    pub(super) const TASK: &str = "task";
    /// The life of the daemon.
    pub(super) const LIFECYCLE: &str = "lifecycle";
}
