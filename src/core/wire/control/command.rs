//! [`Command`]: what can be asked of the daemon, by its method.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    AcknowledgeParams, AgentActionParams, AnswerApprovalParams, ArtifactParams, AskApprovalParams,
    AskUserParams, ClearParams, CompactParams, DecideParams, ForgetWorkParams, GetMessagesParams,
    HandOverParams, HandoffParams, HookParams, IdsParams, LedgerListParams, NoteParams,
    ProposeParams, QueueChangeParams, QueueDrainParams, ReadCapsulesParams, ReadContextParams,
    ReadFindingParams, ReadFindingPlacesParams, ReportKeyParams, ReviewParams, RunGatesParams,
    SendParams, SignReleaseParams, StateWorkParams, StopParams, TaskParams, ToolBeginsParams,
    TrustParams, WaitMessagesParams,
};
use super::{Role, variant};
use crate::agent::Agent;
use crate::policy::PolicyChange;
use crate::wire::jsonrpc::{ErrorObject, Frame, code};
use crate::wire::search::{RebuildParams, SearchParams};
use crate::wire::window::WindowParams;

/// Everything a client may ask. On the wire it is a request, see [`Command::read`]; serde's form is
/// another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Command {
    /// An agent's message to its peer, or (operator) a person's to an agent.
    #[serde(rename = "message/send")]
    Send(SendParams),
    /// Work handed over.
    #[serde(rename = "handoff/create")]
    Handoff(HandoffParams),
    /// What waits for an agent. Reading proves nothing: see [`Command::Fetched`].
    #[serde(rename = "messages/get")]
    GetMessages(GetMessagesParams),
    /// As [`Command::GetMessages`], answered when there is something or the time is up.
    #[serde(rename = "messages/wait")]
    WaitMessages(WaitMessagesParams),
    /// The bridge handed these bodies to its agent: proof of delivery.
    #[serde(rename = "messages/fetched")]
    Fetched(IdsParams),
    /// The agent says that it has read these.
    #[serde(rename = "messages/ack")]
    Ack(IdsParams),
    /// Something to remember.
    #[serde(rename = "note/append")]
    AppendNote(NoteParams),
    /// A claim with evidence.
    #[serde(rename = "artifact/record")]
    RecordArtifact(ArtifactParams),
    /// The work is done, says an agent.
    #[serde(rename = "finality/propose")]
    ProposeFinal(ProposeParams),
    /// A page of the record and all open handoffs.
    #[serde(rename = "context/read")]
    ReadContext(ReadContextParams),
    /// The folded world.
    #[serde(rename = "snapshot/read")]
    ReadSnapshot,
    /// `status --json`.
    #[serde(rename = "status/read")]
    ReadStatus,
    /// What Codex's turn has done so far. For a person's clients: no agent looks into the other.
    #[serde(rename = "turn/read")]
    ReadTurn,
    /// A page of entries as on disk.
    #[serde(rename = "ledger/list")]
    LedgerList(LedgerListParams),
    /// One entry as on disk.
    #[serde(rename = "ledger/show")]
    LedgerShow {
        /// An entry id, or a seq in digits.
        entry: String,
        /// With all of a text that the line holds only the beginning of, in its place.
        #[serde(default)]
        full: bool,
        /// As a page of this one entry, which says where it stands: an entry of ContextRelay 3 does
        /// not say so itself. A daemon of an earlier build gives the entry alone.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        placed: bool,
    },
    /// The rows of a timeline around a place of the record.
    #[serde(rename = "ledger/window")]
    LedgerWindow(WindowParams),
    /// Words in the record.
    #[serde(rename = "ledger/search")]
    LedgerSearch(SearchParams),
    /// Words in tasks that can travel: open, closed, from elsewhere.
    #[serde(rename = "capsules/search")]
    SearchCapsules(SearchParams),
    /// Words in the sessions that are sealed.
    #[serde(rename = "sealed/search")]
    SearchSealed(SearchParams),
    /// Tasks that can travel: which there are, what one says, whether that is still so.
    #[serde(rename = "capsules/read")]
    ReadCapsules(ReadCapsulesParams),
    /// What a finding of a review says, beside the file as it is now.
    #[serde(rename = "finding/read")]
    ReadFinding(ReadFindingParams),
    /// Where findings of reviews stand in the work tree of now.
    #[serde(rename = "finding/places")]
    ReadFindingPlaces(ReadFindingPlacesParams),
    /// How far the search index is; or rebuild it and all else that is derived. The record does not
    /// change by it, so that nobody has to decide on it.
    #[serde(rename = "ledger/rebuild")]
    LedgerRebuild(RebuildParams),
    /// The outbox.
    #[serde(rename = "queue/list")]
    QueueList,
    /// The gates that are trusted, and what they came to.
    #[serde(rename = "gates/list")]
    ListGates,
    /// Entries from now on as [`Notification::Entry`](super::Notification::Entry).
    #[serde(rename = "entries/subscribe")]
    Subscribe,
    /// The process at the other end of this connection is about to become an agent: from now on
    /// nothing below it is the operator's. It names nobody but itself.
    #[serde(rename = "agent/register")]
    RegisterAgent,
    /// A Claude hook ran.
    #[serde(rename = "hook/report")]
    Hook(HookParams),
    /// Claude is about to run a tool, for who looks: none of it is recorded.
    #[serde(rename = "hook/tool")]
    ToolBegins(ToolBeginsParams),
    /// The hook's output, with these bodies in it, was taken by Claude.
    #[serde(rename = "hook/handed")]
    HookHanded(IdsParams),
    /// Claude asks the person before a tool. Answered when the operator has answered, or somebody
    /// else has; at once when no operator looks.
    #[serde(rename = "approval/ask")]
    AskApproval(AskApprovalParams),
    /// An agent's own question to the person. Answered once it is recorded; the answer comes as a
    /// message in reply to it.
    #[serde(rename = "user/ask")]
    AskUser(AskUserParams),
    /// This connection is the doorbell of a Claude process; rings as [`Notification::Ring`](super::Notification::Ring).
    #[serde(rename = "doorbell/attach")]
    DoorbellAttach,
    /// Start what the Codex terminal needs, and say where it is.
    #[serde(rename = "codex/ensure")]
    EnsureCodex,

    /// Operator: decide a proposal.
    #[serde(rename = "finality/decide")]
    Decide(DecideParams),
    /// Operator: answer what an agent asks before it goes on.
    #[serde(rename = "approval/answer")]
    AnswerApproval(AnswerApprovalParams),
    /// Operator: so it is with an agent's work.
    #[serde(rename = "work/state")]
    StateWork(StateWorkParams),
    /// Operator: this is not of the agents' work any more.
    #[serde(rename = "work/forget")]
    ForgetWork(ForgetWorkParams),
    /// Operator: open a task that can travel, make it the current one, or close it.
    #[serde(rename = "task/change")]
    ChangeTask(TaskParams),
    /// Operator: record what a review says, or what becomes of it.
    #[serde(rename = "review/change")]
    ChangeReview(ReviewParams),
    /// Operator: run gates. Answered once they are begun; [`Command::ListGates`] tells their end.
    #[serde(rename = "gates/run")]
    RunGates(RunGatesParams),
    /// Operator: stop the gates that run.
    #[serde(rename = "gates/stop")]
    StopGates,
    /// Operator: record what the last release gate came to, signed.
    #[serde(rename = "gates/sign")]
    SignRelease(SignReleaseParams),
    /// Operator: seal the session and start a new one.
    #[serde(rename = "ledger/clear")]
    Clear(ClearParams),
    /// Operator: seal the session, and go on in a new one with what is open in it.
    #[serde(rename = "ledger/compact")]
    Compact(CompactParams),
    /// Operator: end the daemon.
    #[serde(rename = "daemon/stop")]
    Stop(StopParams),
    /// Operator: have another program go on in place of the daemon's process.
    #[serde(rename = "daemon/handOver")]
    HandOver(HandOverParams),
    /// Operator: what to do with a message.
    #[serde(rename = "queue/change")]
    QueueChange(QueueChangeParams),
    /// Operator: take back all that can be taken back.
    #[serde(rename = "queue/drain")]
    QueueDrain(QueueDrainParams),
    /// Operator: rebuild the queue from the record.
    #[serde(rename = "queue/rebuild")]
    QueueRebuild,
    /// Operator: trust what `config.json` says now.
    #[serde(rename = "config/trust")]
    Trust(TrustParams),
    /// Operator: one change of the rules for the agents. It counts at once.
    #[serde(rename = "policy/set")]
    SetPolicy(PolicyChange),
    /// Operator: what to do about an agent that is silent, or at its usage limit.
    #[serde(rename = "agent/attend")]
    AgentAction(AgentActionParams),
    /// Operator: another key was found in the place of the one that signs. An alarm.
    #[serde(rename = "operator/keyReplaced")]
    ReportKey(ReportKeyParams),
    /// Operator: an alarm about the record was seen. Nothing becomes true by it.
    #[serde(rename = "alarm/acknowledge")]
    AcknowledgeAlarm(AcknowledgeParams),
}

impl Command {
    /// The method by which it is asked.
    pub fn method(&self) -> &'static str {
        variant::word(self)
    }

    /// It as a request without an id.
    ///
    /// # Errors
    ///
    /// Its arguments are no JSON.
    pub fn to_frame(&self) -> serde_json::Result<Frame> {
        let (method, params) = variant::apart(self)?;
        Ok(Frame {
            method: Some(method),
            params,
            ..Frame::default()
        })
    }

    /// What a request asks.
    ///
    /// # Errors
    ///
    /// -32601 for a method that there is none of, -32602 for arguments of the wrong shape.
    pub fn read(method: &str, params: Option<Value>) -> Result<Self, ErrorObject> {
        if !variant::has::<Self>(method) {
            let why = format!("no such method: {method}");
            return Err(ErrorObject::new(code::METHOD_NOT_FOUND, why));
        }
        // A command without arguments may come with none or with an empty object.
        let params = params.filter(|params| !params.is_null());
        let is_bare = |params: &Value| params.as_object().is_some_and(Map::is_empty);
        if params.as_ref().is_none_or(is_bare)
            && let Ok(command) = variant::together(method, None)
        {
            return Ok(command);
        }
        let invalid = |why: String| ErrorObject::new(code::INVALID_PARAMS, why);
        let params = params.ok_or_else(|| invalid("missing field `params`".to_owned()))?;
        variant::together(method, Some(params)).map_err(|error| invalid(error.to_string()))
    }

    /// Whether it says that an agent has what it was given.
    pub fn is_proof(&self) -> bool {
        matches!(self, Self::Fetched(_) | Self::Ack(_) | Self::HookHanded(_))
    }

    /// Whether a client of this role may ask this at all; what only the operator may ask is told
    /// by [`Self::is_operator_only`].
    pub fn may_come_from(&self, role: Role) -> bool {
        match self.askers() {
            Askers::Everybody | Askers::Operator => true,
            Askers::Persons => matches!(role, Role::Deck | Role::Cli),
            Askers::Agent(agent) => role == Role::of(agent),
            Askers::Hooks => role == Role::Hook,
            Askers::Nobody => false,
        }
    }

    /// Whether only the operator may ask this.
    pub fn is_operator_only(&self) -> bool {
        matches!(self.askers(), Askers::Operator)
    }

    /// An agent's mail is fetched, proven and acknowledged, and its word recorded, by its own
    /// bridge and nobody else.
    fn askers(&self) -> Askers {
        // Without a sender they are the operator's.
        let speaker = |agent: Option<Agent>| agent.map_or(Askers::Operator, Askers::Agent);
        match self {
            Self::Send(params) => speaker(params.from),
            Self::Handoff(params) => speaker(params.from),
            Self::AppendNote(params) => speaker(params.agent),
            Self::GetMessages(params) => Askers::Agent(params.agent),
            Self::WaitMessages(params) => Askers::Agent(params.agent),
            Self::Fetched(params) | Self::Ack(params) => Askers::Agent(params.agent),
            Self::RecordArtifact(params) => Askers::Agent(params.agent),
            Self::ProposeFinal(params) => Askers::Agent(params.agent),
            Self::AskUser(params) => Askers::Agent(params.agent),
            // Only Claude has hooks.
            Self::HookHanded(params) if params.agent != Agent::Claude => Askers::Nobody,
            Self::HookHanded(_)
            | Self::Hook(_)
            | Self::ToolBegins(_)
            | Self::AskApproval(_)
            | Self::DoorbellAttach => Askers::Hooks,
            // It begins a process: for a person's clients, not for what an agent runs.
            Self::EnsureCodex | Self::ReadTurn => Askers::Persons,
            Self::ReadContext(_)
            | Self::ReadSnapshot
            | Self::ReadStatus
            | Self::LedgerList(_)
            | Self::LedgerShow { .. }
            | Self::LedgerWindow(_)
            | Self::LedgerSearch(_)
            | Self::SearchCapsules(_)
            | Self::SearchSealed(_)
            | Self::ReadCapsules(_)
            | Self::ReadFinding(_)
            | Self::ReadFindingPlaces(_)
            | Self::LedgerRebuild(_)
            | Self::QueueList
            | Self::ListGates
            | Self::Subscribe
            // It restricts nobody but the process that asks.
            | Self::RegisterAgent => Askers::Everybody,
            Self::Decide(_)
            | Self::AnswerApproval(_)
            | Self::StateWork(_)
            | Self::ForgetWork(_)
            | Self::ChangeTask(_)
            | Self::ChangeReview(_)
            | Self::RunGates(_)
            | Self::StopGates
            | Self::SignRelease(_)
            | Self::Clear(_)
            | Self::Compact(_)
            | Self::Stop(_)
            | Self::HandOver(_)
            | Self::QueueChange(_)
            | Self::QueueDrain(_)
            | Self::QueueRebuild
            | Self::Trust(_)
            | Self::SetPolicy(_)
            | Self::AgentAction(_)
            | Self::ReportKey(_)
            | Self::AcknowledgeAlarm(_) => Askers::Operator,
        }
    }
}

/// Who may ask a command.
enum Askers {
    Everybody,
    Operator,
    /// The clients of a person.
    Persons,
    /// This agent's bridge.
    Agent(Agent),
    Hooks,
    Nobody,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_command_goes_out_as_a_request_and_is_read_from_one() {
        let params = json!({"agent": "claude", "text": "look"});
        let command = Command::read("note/append", Some(params)).unwrap();
        assert_eq!(command.method(), "note/append");
        let frame = command.to_frame().unwrap();
        assert_eq!(frame.method.as_deref(), Some("note/append"));
        assert_eq!(frame.params.unwrap()["text"], "look");
        for params in [None, Some(Value::Null), Some(json!({}))] {
            let command = Command::read("status/read", params).unwrap();
            assert_eq!(command, Command::ReadStatus);
        }
        let frame = Command::ReadStatus.to_frame().unwrap();
        assert_eq!(
            serde_json::to_value(frame).unwrap(),
            json!({"method": "status/read"})
        );
    }

    #[test]
    fn a_wrong_method_and_wrong_arguments_are_told_apart() {
        let refused = |method: &str, params: Option<Value>| {
            let error = Command::read(method, params).unwrap_err();
            (error.code, error.message)
        };
        let unknown = "no such method: note/burn".to_owned();
        assert_eq!(
            refused("note/burn", None),
            (code::METHOD_NOT_FOUND, unknown)
        );
        for (params, missing) in [
            (None, "params"),
            (Some(Value::Null), "params"),
            (Some(json!({})), "text"),
        ] {
            let why = format!("missing field `{missing}`");
            assert_eq!(refused("note/append", params), (code::INVALID_PARAMS, why));
        }
        // A word that is none among the arguments is no wrong method.
        let params = json!({"agent": "clod", "text": "look"});
        assert_eq!(refused("note/append", Some(params)).0, code::INVALID_PARAMS);
        assert_eq!(
            refused("status/read", Some(json!({"a": 1}))).0,
            code::INVALID_PARAMS
        );
    }
}
