//! The control protocol: [`Command`]: everything a client may ask; [`Reply`]: what it gets;
//! [`Notification`]: what it is told unasked. JSON-RPC over the control WebSocket and
//! `operator.sock`; the in-process client passes the same types without JSON.
//!
//! Additions are free: readers ignore unknown fields. [`PROTOCOL`] changes when they must not.

mod approvals;
mod capsules;
mod command;
mod entry_line;
mod failure_code;
mod gates;
mod hook_params;
mod message_cursor;
mod params;
mod queue_row;
mod refusal;
mod reply;
mod review;
mod task;
mod variant;
mod work_state;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent::Agent;
use crate::id::{EntryId, RuntimeSession, SessionId};
use crate::wire::jsonrpc::Frame;
use crate::wire::line::Stored;
use crate::word::words;

pub use crate::delivery::DeliveryMode;
pub use crate::review::ReviewChanged;
pub use approvals::{AnswerApprovalParams, ApprovalAnswer, AskApprovalParams, AskUserParams};
pub use capsules::{
    CAPSULES_LISTED_MAX, CapsuleCheck, CapsuleList, CapsuleQuestion, CapsuleRow, CapsuleText,
    ReadCapsulesParams,
};
pub use command::Command;
pub use entry_line::EntryLine;
pub use failure_code::{FailureCode, ProgramCode};
pub use gates::{
    EndedRun, GateReport, GatesReport, ReleaseOutcome, ReleaseToSign, RunGatesParams,
    SignReleaseParams,
};
pub use hook_params::{
    ContextFigures, HookEvent, HookParams, MONITOR, MONITOR_BEFORE, NotificationKind,
    SessionSource, ToolBeginsParams, TurnFailure,
};
pub use params::{
    AcknowledgeParams, AgentActionKind, AgentActionParams, ArtifactParams, ClearParams,
    CompactParams, ContextView, DecideParams, GetMessagesParams, HandOverParams, HandoffParams,
    IdsParams, LedgerListParams, NoteParams, ProposeParams, QueueChange, QueueChangeParams,
    QueueDrainParams, ReadContextParams, ReportKeyParams, SendParams, StopParams, TrustParams,
    WaitMessagesParams,
};
pub use queue_row::QueueRow;
pub use refusal::{Refusal, RefusalCode};
pub use reply::{
    AckedPartly, Cleared, CodexJoin, Compacted, ContextPage, EntryPage, HookReply, MailMessage,
    MessagePage, PAGE_CHARS_MAX, PolicySet, Proposed, Recorded, Reply, Sent, TextPart, WorkText,
};
pub use review::{
    FindingText, IMPORT_BATCH_MAX, PlacedFinding, ReadFindingParams, ReadFindingPlacesParams,
    ReadReview, ReviewChange, ReviewParams,
};
pub use task::{TITLE_CHARS_MAX, TaskChange, TaskChanged, TaskParams};
pub use work_state::{ForgetWorkParams, STATED_MAX, StateWorkParams, StatedValue};

/// The version of this protocol, said in `hello` both ways.
pub const PROTOCOL: u32 = 1;

/// The largest frame, in bytes. A message text of 1,000,000 characters may need 4 bytes each and
/// JSON escapes for some, so this is above it; more is a mistake or an attack.
pub const FRAME_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The largest answer of the daemon, in bytes: the state of a project in which everything that can
/// wait waits. It comes in frames of [`PART_BYTES`], which WebSocket puts together.
pub const ANSWER_BYTES_MAX: usize = 512 * 1024 * 1024;

/// An answer longer than this is sent in parts, in bytes.
pub const PART_BYTES: usize = 1024 * 1024;

/// The largest free text, in characters.
pub const TEXT_CHARS_MAX: usize = 1_000_000;

words! {
    /// Who a connection is.
    pub closed enum Role {
        /// Claude's bridge.
        Claude = "claude",
        /// Codex's MCP shim, or the `/mcp` endpoint.
        Codex = "codex",
        Deck = "deck",
        /// The command line.
        Cli = "cli",
        /// A hook or the doorbell of a Claude process.
        Hook = "hook",
    }
}

impl Role {
    /// The role of an agent's own bridge.
    pub fn of(agent: Agent) -> Self {
        match agent {
            Agent::Claude => Self::Claude,
            Agent::Codex => Self::Codex,
        }
    }

    /// The agent whose own bridge has this role.
    pub fn agent(self) -> Option<Agent> {
        Agent::ALL
            .into_iter()
            .find(|agent| self == Self::of(*agent))
    }
}

/// The first call on every connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hello {
    /// [`PROTOCOL`] of the client.
    pub protocol: u32,
    /// The client's version, for the log.
    #[serde(default)]
    pub version: String,
    pub role: Role,
    /// Its process.
    pub pid: u32,
    /// The agent's process that it serves: a bridge's parent, a hook's `CLAUDE_PID`.
    pub agent_pid: Option<u32>,
    /// The pair that it belongs to.
    #[serde(default)]
    pub runtime_session_id: RuntimeSession,
    /// How the bridge wants to be served (`CONTEXTRELAY_MODE`).
    #[serde(default)]
    pub mode: DeliveryMode,
    /// Its Claude answers one prompt of a program and ends (`claude -p`): no message is for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_print_mode: bool,
    /// No file of a project switches its Claude's hooks off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps_hooks: bool,
    /// Where its Claude was started: Claude reads the settings of that folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// It was started in a folder that no text names: what the settings there say is not known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub folder_unnamed: bool,
}

impl Hello {
    /// A client of this version that serves the first pair, as [`DeliveryMode::Auto`].
    pub fn of(role: Role, pid: u32) -> Self {
        Self {
            protocol: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            role,
            pid,
            agent_pid: None,
            runtime_session_id: RuntimeSession::default(),
            mode: DeliveryMode::Auto,
            in_print_mode: false,
            keeps_hooks: false,
            folder: None,
            folder_unnamed: false,
        }
    }
}

/// The daemon's answer to [`Hello`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Welcome {
    /// [`PROTOCOL`] of the daemon.
    pub protocol: u32,
    /// The daemon's version.
    pub version: String,
    /// The project's instance.
    pub instance_id: String,
    /// The current session.
    pub session_id: SessionId,
    /// Whether this connection gets deliveries: one receiver per agent and runtime session.
    pub receiver: bool,
    /// Whether operator commands are accepted on this connection.
    pub operator: bool,
}

/// What a client is told unasked. On the wire it is a frame, see [`Notification::to_frame`]; serde's
/// form is another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Notification {
    /// A message for the bridge to push as a channel notification.
    #[serde(rename = "message/push")]
    Push(Box<MailMessage>),
    /// The doorbell's line, at most 500 characters, without a body.
    #[serde(rename = "doorbell/ring")]
    Ring {
        line: String,
        /// The messages that it is about, for the log.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ids: Vec<EntryId>,
    },
    /// This bridge gets the deliveries from now on, or no longer.
    #[serde(rename = "bridge/receiver")]
    Receiver {
        /// It gets them.
        receiver: bool,
    },
    /// An entry was appended (subscribers only); the entry as on disk.
    #[serde(rename = "entry/appended")]
    Entry(Arc<Stored>),
    /// Something in the status changed that no entry tells (subscribers only). No unit: it is sent
    /// with `params`, which a unit has none of.
    #[serde(rename = "status/changed")]
    StatusChanged {},
    /// The reader was too slow: this many notifications are missing; read again.
    #[serde(rename = "reader/lagged")]
    Lagged {
        /// How many.
        missed: u64,
    },
    /// The daemon ends.
    #[serde(rename = "daemon/stopping")]
    Stopping {
        /// By `kill`: stay away until somebody starts it again.
        killed: bool,
    },
}

impl Notification {
    /// It as a frame of JSON-RPC.
    ///
    /// # Errors
    ///
    /// What it carries is no JSON.
    pub fn to_frame(&self) -> serde_json::Result<Frame> {
        let (method, params) = variant::apart(self)?;
        Ok(Frame {
            jsonrpc: Some("2.0".to_owned()),
            method: Some(method),
            params,
            ..Frame::default()
        })
    }

    /// A notification from a frame.
    ///
    /// # Errors
    ///
    /// There is none of this method here, or its arguments have another shape.
    pub fn read(method: &str, params: Option<Value>) -> serde_json::Result<Self> {
        variant::together(method, params)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::wire::line::{GENESIS, parse, seal};

    /// Numbers, escapes and unknown fields as another version may write them.
    const LINE: &str = r#"{"schema":"v1","id":"e1","timestamp":5,"sessionId":"s","type":"note","source":"codex","content":"a \"lock\"","later":[1,{"a":null}]}"#;

    #[test]
    fn an_entry_leaves_the_process_as_its_line_and_comes_back_the_same() {
        let Value::Object(line) = serde_json::from_str(LINE).unwrap() else {
            panic!("no object");
        };
        let sealed = seal(line, 7, GENESIS).unwrap();
        let stored = Stored {
            entry: parse(sealed.line.as_bytes()).unwrap().entry,
            line: sealed.line,
            hash: sealed.hash,
        };
        assert_eq!(stored.entry.seq.0, 7);
        let told = Notification::Entry(Arc::new(stored.clone()));
        let params: Value = serde_json::from_str(&stored.line).unwrap();
        let frame = json!({"jsonrpc": "2.0", "method": "entry/appended", "params": params});
        let written = told.to_frame().unwrap();
        assert_eq!(serde_json::to_value(&written).unwrap(), frame);
        let text = serde_json::to_string(&written).unwrap();
        let read: Frame = serde_json::from_str(&text).unwrap();
        let method = read.method.unwrap();
        assert_eq!(Notification::read(&method, read.params).unwrap(), told);
        assert!(Notification::read(&method, Some("a text".into())).is_err());
    }

    #[test]
    fn what_carries_nothing_and_what_may_be_nothing_are_told_as_such() {
        let nothing = Notification::StatusChanged {}.to_frame().unwrap();
        assert_eq!(nothing.params, Some(json!({})));
        for (reply, json) in [
            (Reply::Done, json!({"kind": "done"})),
            (
                Reply::Approval(None),
                json!({"kind": "approval", "value": null}),
            ),
            (
                Reply::Acked(Vec::new()),
                json!({"kind": "acked", "value": []}),
            ),
        ] {
            assert_eq!(reply.to_json().unwrap(), json);
            assert_eq!(json["kind"], reply.kind());
            assert_eq!(Reply::from_json(json).unwrap(), reply);
        }
        for json in [
            json!({"value": 1}),
            json!({"kind": "burned"}),
            json!(["done"]),
        ] {
            assert!(Reply::from_json(json).is_err());
        }
    }
}
