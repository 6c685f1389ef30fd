//! `reply` and `send_to_claude`: a message to the peer.

use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::ToolResult;
use super::call::ToolCall;
use super::definition::Definition;
use super::message::not_receiver;
use super::{argument, schema};
use crate::core::agent::Agent;
use crate::core::delivery::{OnBusy, Outcome};
use crate::core::id::RuntimeSession;
use crate::core::trace;
use crate::wire::control::{Command, Refusal, SendParams, Sent};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    text: String,
    #[serde(default)]
    on_busy: OnBusy,
    #[serde(default)]
    require_reply: bool,
    in_reply_to: Option<String>,
    handles_handoff_id: Option<String>,
    #[serde(rename = "runtimeSessionId")]
    runtime_session_id: Option<String>,
}

pub(super) fn definition(side: Agent) -> Definition {
    let peer = side.peer().title();
    Definition {
        description: format!(
            "Send a message to {peer}, or answer one with in_reply_to. Returns the delivery \
             outcome at once, no answer."
        ),
        schema: schema::object(
            &["text"],
            [
                ("text", schema::string()),
                ("on_busy", on_busy()),
                ("require_reply", schema::boolean_about("ask for an answer")),
                (
                    "in_reply_to",
                    schema::string_about("id of the message this answers"),
                ),
                (
                    "handles_handoff_id",
                    schema::string_about("the handoff this completes; closes it"),
                ),
                ("runtimeSessionId", schema::string()),
            ],
        ),
        read_only: false,
    }
}

/// The schema of `on_busy`.
pub(super) fn on_busy() -> Value {
    json!({
        "type": "string",
        "enum": ["queue", "steer", "reject"],
        "description": "when the peer is working: queue for its next turn (default), steer the running turn, or reject",
    })
}

pub(super) async fn call(call: &ToolCall) -> Result<ToolResult, Refusal> {
    let arguments: Arguments = argument::parse(&call.arguments)?;
    argument::text("text", &arguments.text)?;
    let params = SendParams {
        from: Some(call.side),
        to: Some(call.side.peer()),
        text: arguments.text,
        on_busy: arguments.on_busy,
        require_reply: arguments.require_reply,
        handles: argument::ids("handles_handoff_id", arguments.handles_handoff_id)?,
        in_reply_to: argument::ids("in_reply_to", arguments.in_reply_to)?.pop(),
        runtime_session_id: runtime_session(arguments.runtime_session_id)?,
        turn_id: call.turn_id.clone(),
        thread_id: call.thread_id.clone(),
    };
    let sent: Sent = call.ask_for(Command::Send(params)).await?;
    follow(&sent);
    let mut structured = json!({
        "message_id": sent.message_id,
        "delivery_attempt_id": sent.delivery_attempt_id,
        "outcome": sent.outcome,
        "seq": sent.seq,
    });
    let peer = call.side.peer();
    let mut text = format!(
        "message {} (seq {}): {}",
        sent.message_id,
        sent.seq,
        in_words(&sent, peer)
    );
    let mut notes: Vec<String> = missing(&sent, peer).into_iter().collect();
    if !sent.unanswered.is_empty() {
        structured["unanswered"] = json!(sent.unanswered);
        let ids: Vec<&str> = sent.unanswered.iter().map(|id| id.as_str()).collect();
        notes.push(format!(
            "{} still waits for an answer to {}: if this was meant as one, say it again \
             with in_reply_to",
            peer.title(),
            ids.join(", ")
        ));
    }
    notes.extend(not_receiver(call).map(str::to_owned));
    note(&mut structured, &mut text, &notes);
    Ok(ToolResult::new(structured, text))
}

/// Has the log say what an agent heard of its message.
pub(super) fn follow(sent: &Sent) {
    trace::attempt(&sent.message_id, sent.delivery_attempt_id.as_ref())
        .in_scope(|| tracing::debug!(seq = sent.seq.0, outcome = ?sent.outcome, "sent"));
}

/// What a sender should know whose receiver is not there, or waits for its human.
pub(super) fn missing(sent: &Sent, peer: Agent) -> Option<String> {
    if sent.receiver_missing {
        let peer = peer.title();
        let comes_to = match sent.outcome {
            Outcome::Rejected => "was rejected, as you asked",
            _ => "waits until it is",
        };
        return Some(format!(
            "{peer} is not installed here: this {comes_to}, tell your operator"
        ));
    }
    sent.waits_for_human.clone()
}

/// Puts sentences into a result.
pub(super) fn note(structured: &mut Value, text: &mut String, notes: &[String]) {
    if notes.is_empty() {
        return;
    }
    let notes = notes.join(". ");
    text.push_str(". ");
    text.push_str(&notes);
    structured["note"] = json!(notes);
}

/// The pair that a call names.
pub(super) fn runtime_session(name: Option<String>) -> Result<Option<RuntimeSession>, Refusal> {
    name.map(|name| {
        argument::word("runtimeSessionId", &name)?;
        Ok(RuntimeSession::new(name))
    })
    .transpose()
}

/// An outcome as the sender should take it.
pub(super) fn in_words(sent: &Sent, peer: Agent) -> String {
    let word = sent.outcome.as_str();
    let peer = peer.title();
    match sent.outcome {
        Outcome::JoinedActiveWork => format!("{word}: it is in {peer}'s running turn"),
        Outcome::StartedNewTurn => format!("{word}: {peer} began a turn with it"),
        Outcome::DeliveredLive => format!("{word}: {peer} has it"),
        Outcome::QueuedForNextTurn => {
            format!("{word}: recorded; {peer} gets it without another call from you")
        }
        Outcome::Rejected => format!("{word}: {peer} does not get it"),
        Outcome::Ambiguous => {
            format!("{word}: it may or may not have arrived; the operator decides, do not resend")
        }
    }
}
