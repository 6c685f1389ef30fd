//! `get_messages`, `wait_for_messages`, `wait_for_claude`, `ack_messages`: an agent's waiting
//! messages. A body that is returned here is delivered; an acknowledged one is read.

use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::ToolResult;
use super::call::{ToolCall, unexpected};
use super::definition::Definition;
use super::message_view::MessageView;
use super::tool::Tool;
use super::{argument, schema};
use crate::client::Connection;
use crate::core::agent::Agent;
use crate::core::cut_text::cut_text;
use crate::core::delivery::MessageCursor;
use crate::core::id::EntryId;
use crate::wire::control::{
    Command, GetMessagesParams, IdsParams, MessagePage, Refusal, Reply, WaitMessagesParams,
};

/// How many messages a call asks the daemon for when the caller does not say.
const LIMIT_DEFAULT: u32 = 20;

/// The most messages that a call may ask for.
const LIMIT_MAX: u32 = 100;

/// How long to wait when the caller does not say, in s.
const WAIT_S_DEFAULT: u64 = 25;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GetArguments {
    after: Option<MessageCursor>,
    limit: Option<u32>,
    #[serde(default)]
    ack: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WaitArguments {
    timeout_s: Option<u64>,
    handoff_id: Option<String>,
    after: Option<MessageCursor>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AckArguments {
    ids: Vec<String>,
}

/// The name of the tool that waits.
pub(super) fn wait_tool(side: Agent) -> &'static str {
    Tool::WaitForMessages.name(side).unwrap_or_default()
}

fn after() -> Value {
    schema::string_about("cursor of an earlier result")
}

pub(super) fn get_definition(side: Agent) -> Definition {
    Definition {
        description: format!(
            "Fetch the messages from {} that wait for you, whole: new ones first. While more is \
             true, call again with after: cursor. Unacknowledged ones come again with repeat:true.",
            side.peer().title()
        ),
        schema: schema::object(
            &[],
            [
                ("after", after()),
                ("limit", schema::integer(1, LIMIT_MAX.into())),
                (
                    "ack",
                    schema::strings_about("message ids you have read, as ack_messages"),
                ),
            ],
        ),
        read_only: false,
    }
}

pub(super) fn wait_definition(side: Agent) -> Definition {
    let peer = side.peer().title();
    Definition {
        description: format!(
            "Wait for a message from {peer}, or the answer to one message or handoff \
             (handoff_id). Only when you cannot go on without it: messages reach you by \
             themselves."
        ),
        schema: schema::object(
            &[],
            [
                ("timeout_s", schema::integer(0, argument::WAIT_S_MAX)),
                ("handoff_id", schema::string()),
                ("after", after()),
            ],
        ),
        read_only: true,
    }
}

pub(super) fn ack_definition() -> Definition {
    Definition {
        description: "Say you have read these messages, so they do not come again. Also \
                      for bodies that reached you without get_messages."
            .to_owned(),
        schema: schema::object(&["ids"], [("ids", schema::strings())]),
        read_only: false,
    }
}

pub(super) async fn get(call: &ToolCall) -> Result<ToolResult, Refusal> {
    let arguments: GetArguments = argument::parse(&call.arguments)?;
    let limit = arguments.limit.unwrap_or(LIMIT_DEFAULT);
    if !(1..=LIMIT_MAX).contains(&limit) {
        return Err(argument::invalid(format!(
            "`limit` is {limit}, it must be 1 to {LIMIT_MAX}"
        )));
    }
    let command = Command::GetMessages(GetMessagesParams {
        agent: call.side,
        after: arguments.after,
        limit: Some(limit),
        ack: argument::id_list("ack", arguments.ack)?,
        runtime_session_id: None,
    });
    Ok(answer(call, &call.ask_for(command).await?))
}

pub(super) async fn wait(call: &ToolCall) -> Result<ToolResult, Refusal> {
    let arguments: WaitArguments = argument::parse(&call.arguments)?;
    let reply_to = argument::ids("handoff_id", arguments.handoff_id)?.pop();
    let command = Command::WaitMessages(WaitMessagesParams {
        agent: call.side,
        after: arguments.after,
        reply_to,
        timeout_ms: argument::wait_ms(arguments.timeout_s.unwrap_or(WAIT_S_DEFAULT))?,
        runtime_session_id: None,
    });
    Ok(answer(call, &call.ask_for(command).await?))
}

pub(super) async fn ack(call: &ToolCall) -> Result<ToolResult, Refusal> {
    let arguments: AckArguments = argument::parse(&call.arguments)?;
    if arguments.ids.is_empty() {
        return Err(argument::invalid("`ids` is empty"));
    }
    let ids = argument::id_list("ids", arguments.ids)?;
    let command = Command::Ack(IdsParams {
        agent: call.side,
        ids: ids.clone(),
        rung: None,
    });
    match call.ask(command).await? {
        Reply::Acked(acked) => Ok(acked_answer(ids, acked, &[])),
        Reply::AckedPartly(some) => Ok(acked_answer(ids, some.acked, &some.unfinished)),
        other => Err(unexpected(&other)),
    }
}

fn acked_answer(ids: Vec<EntryId>, acked: Vec<EntryId>, unfinished: &[EntryId]) -> ToolResult {
    let is_ignored = |id: &EntryId| !acked.contains(id) && !unfinished.contains(id);
    let made_up = |id: EntryId| EntryId::new(cut_text(id.as_str(), argument::NAME_CHARS));
    let ignored: Vec<_> = ids.into_iter().filter(is_ignored).map(made_up).collect();
    let mut answer = json!({"acked": acked});
    let mut lines = vec![format!("acknowledged: {}", list(&acked))];
    if !ignored.is_empty() {
        lines.push(format!(
            "not a message that waits for you: {}",
            list(&ignored)
        ));
        answer["ignored"] = json!(ignored);
    }
    say_unfinished(unfinished, &mut answer, &mut lines);
    ToolResult::new(answer, lines.join("; "))
}

/// An agent that acknowledges what it saw the beginning of would never see the rest.
fn say_unfinished(ids: &[EntryId], structured: &mut Value, lines: &mut Vec<String>) {
    if ids.is_empty() {
        return;
    }
    let next = format!(
        "not acknowledged, because only the beginning was shown: {}; get_messages has all of it",
        list(ids)
    );
    structured["unfinished"] = json!(ids);
    structured["next"] = json!(next);
    lines.push(next);
}

fn answer(call: &ToolCall, page: &MessagePage) -> ToolResult {
    let view = MessageView::of(&page.messages);
    let mut lines = Vec::new();
    if view.messages.is_empty() {
        lines.push(if let Some(ended) = &page.ended {
            ended.clone()
        } else if page.cut {
            CUT.to_owned()
        } else if page.timed_out {
            "No message came in that time.".to_owned()
        } else {
            "No messages wait for you.".to_owned()
        });
    } else {
        lines.push(view.text());
    }
    if let (true, Some(cursor)) = (page.more, &page.cursor) {
        lines.push(format!("There is more: call again with after {cursor}."));
    }
    if !page.acked.is_empty() {
        lines.push(format!("{} acknowledged.", page.acked.len()));
    }
    if call.side == Agent::Claude && !view.handed.is_empty() {
        lines.push(ACKNOWLEDGE.to_owned());
    }
    let mut structured = json!({
        "messages": view.messages,
        "unread": page.unread,
        "cursor": page.cursor,
        "more": page.more,
        "timed_out": page.timed_out,
        "acked": page.acked,
    });
    if let Some(ended) = &page.ended {
        structured["ended"] = json!(ended);
    }
    if page.cut {
        structured["cut"] = json!(CUT);
    }
    say_unfinished(&page.unfinished, &mut structured, &mut lines);
    if let Some(notice) = not_receiver(call) {
        structured["notice"] = json!(notice);
        lines.push(notice.to_owned());
    }
    let mut answer = ToolResult::new(structured, lines.join("\n\n"));
    answer.handed = view.handed;
    answer
}

/// Said of a wait that the end of its daemon cut.
const CUT: &str = "The wait was cut before its time was over: ctxrelay's daemon is being replaced. Nothing is lost; call again to wait on.";

/// Said to Claude of what it fetched: unlike what a hook handed it, no end of a turn makes that read.
pub(super) const ACKNOWLEDGE: &str = "When read, acknowledge by id with ack_messages.";

/// Said to a second bridge of the same pair, and to that of a Claude that answers one prompt.
pub(super) const NOT_RECEIVER: &str = "Messages go to the first session of this agent in a terminal, or wait for it; here nothing arrives by itself.";

/// What a bridge is to know that gets no messages; `None` for every other.
pub(super) fn not_receiver(call: &ToolCall) -> Option<&'static str> {
    match &*call.client.connection().borrow() {
        Connection::Connected(welcome) if !welcome.receiver => Some(NOT_RECEIVER),
        _ => None,
    }
}

fn list(ids: &[EntryId]) -> String {
    let ids: Vec<&str> = ids.iter().map(EntryId::as_str).collect();
    ids.join(", ")
}
