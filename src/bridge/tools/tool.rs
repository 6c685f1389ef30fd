//! [`Tool`]: the closed list of tools, and their names on each side.

use crate::core::agent::Agent;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::bridge) enum Tool {
    /// A message to the peer.
    Send,
    /// Work for the peer.
    Handoff,
    /// A question to the peer, with the wait for its answer.
    Deliberate,
    /// What waits for Claude. Codex gets its messages as turns.
    GetMessages,
    /// As the last, waiting for it.
    WaitForMessages,
    /// Claude has read it.
    AckMessages,
    /// Something to remember.
    AppendNote,
    /// The record.
    ReadContext,
    /// Words in the record.
    SearchRecord,
    /// The tasks that the work belongs to.
    ReadCapsules,
    /// A claim with evidence.
    RecordArtifact,
    /// The task board.
    TaskState,
    /// Counts and states.
    SessionInfo,
    /// A question to the person, with the wait for the answer.
    AskUser,
    /// The work is done, says the agent.
    ProposeFinal,
}

impl Tool {
    /// All of them, in the order in which they are listed.
    pub(in crate::bridge) const ALL: [Self; 15] = [
        Self::Send,
        Self::Handoff,
        Self::Deliberate,
        Self::GetMessages,
        Self::WaitForMessages,
        Self::AckMessages,
        Self::AppendNote,
        Self::ReadContext,
        Self::SearchRecord,
        Self::ReadCapsules,
        Self::RecordArtifact,
        Self::TaskState,
        Self::SessionInfo,
        Self::AskUser,
        Self::ProposeFinal,
    ];

    /// Its name for an agent; `None` when that agent does not have it.
    pub(in crate::bridge) fn name(self, side: Agent) -> Option<&'static str> {
        let (claude, codex) = match self {
            Self::Send => ("reply", Some("send_to_claude")),
            Self::Handoff => ("handoff", Some("handoff_to_claude")),
            Self::Deliberate => ("deliberate_with_codex", Some("deliberate_with_claude")),
            Self::GetMessages => ("get_messages", None),
            Self::WaitForMessages => ("wait_for_messages", Some("wait_for_claude")),
            Self::AckMessages => ("ack_messages", None),
            Self::AppendNote => ("append_note", Some("append_note")),
            Self::ReadContext => ("read_context", Some("read_context")),
            Self::SearchRecord => ("search_record", Some("search_record")),
            Self::ReadCapsules => ("capsule", Some("capsule")),
            Self::RecordArtifact => ("record_artifact", Some("record_artifact")),
            Self::TaskState => ("task_state", Some("task_state")),
            Self::SessionInfo => ("session_info", Some("session_info")),
            Self::AskUser => ("ask_user", Some("ask_user")),
            Self::ProposeFinal => ("propose_final", Some("propose_final")),
        };
        match side {
            Agent::Claude => Some(claude),
            Agent::Codex => codex,
        }
    }

    /// The tool that an agent means.
    pub(in crate::bridge) fn find(side: Agent, name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|tool| tool.name(side) == Some(name))
    }
}
