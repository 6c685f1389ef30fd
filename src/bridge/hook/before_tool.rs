//! [`before_tool`]: the hook that judges a call before Claude runs it (`facts/claude-code.md`
//! §10.6).
//!
//! It judges by what the operator trusts, which is read from the disk: a rule holds while no daemon
//! runs, and then Claude waits for nobody. A running daemon is told what begins, for viewers, and
//! is waited for no longer than a person would notice.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::time::timeout;

use super::{HOOK_WAIT, HookCaller, begins, connected, file_of, read, word};
use crate::client::Client;
use crate::core::agent::Agent;
use crate::core::policy::{PolicyRules, PolicyVerdict, ToolUse, own_tool};
use crate::wire::control::{Command, HookEvent, HookParams, ToolBeginsParams};

/// How long a call may be held up by telling of it. A few milliseconds are usual; a machine on which two
/// agents build takes long to start a process, and what is not told is never shown.
const TELL_WAIT: Duration = Duration::from_millis(500);

/// Why it is asked for.
const NOWHERE: &str = ", because the project's folder is gone or your rules cannot be found: put the folder back, \
                       or start Claude anew";

/// The tools that take messages.
const TAKING: [&str; 3] = ["get_messages", "wait_for_messages", "ack_messages"];

/// Why a helper of Claude's is kept from them.
const NOT_ITS_MAIL: &str = "ctxrelay: messages are for the conversation that started you, which gets \
                            them by itself: hand back what you have";

/// Judges a call by the rules, and prints what they make of it; prints nothing when they let it
/// through. Never fails, and takes at most 1.5 s. A call that cannot be read is asked for.
///
/// `client` makes the connection over which the daemon is told: of a refusal for the record, else of
/// what begins. `None` where it is not known whose daemon that would be.
pub async fn before_tool<R, W>(
    rules: &PolicyRules,
    caller: HookCaller,
    input: R,
    output: W,
    client: Option<impl FnOnce() -> Client>,
) where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    const { assert!(TELL_WAIT.as_millis() < HOOK_WAIT.as_millis()) }
    let waits = (HOOK_WAIT, TELL_WAIT);
    before_tool_within(waits, rules, caller, input, output, client).await;
}

/// As [`before_tool`], which holds Claude up for no longer than this: in all, and by telling of
/// what begins.
pub(super) async fn before_tool_within<R, W>(
    (wait, tell_wait): (Duration, Duration),
    rules: &PolicyRules,
    caller: HookCaller,
    input: R,
    mut output: W,
    client: Option<impl FnOnce() -> Client>,
) where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let work = async {
        let input = timeout(wait / 2, read(input))
            .await
            .ok()
            .flatten()
            .unwrap_or_default();
        let verdict = if takes_mail_of_another(&input) {
            PolicyVerdict::Denied(NOT_ITS_MAIL.to_owned())
        } else if rules.restricts(Agent::Claude) {
            judge(rules, &input)
        } else {
            PolicyVerdict::Allowed
        };
        let (decision, why) = match verdict {
            PolicyVerdict::Allowed => return tell(tell_wait, caller, &input, client).await,
            // Nobody set a rule for all of it.
            PolicyVerdict::Ask(why) if client.is_none() => ("ask", format!("{why}{NOWHERE}")),
            PolicyVerdict::Ask(why) => ("ask", why),
            PolicyVerdict::Denied(why) => ("deny", why),
        };
        let line = json!({
            "hookSpecificOutput": {
                "hookEventName": HookEvent::PreToolUse,
                "permissionDecision": decision,
                "permissionDecisionReason": why,
            }
        });
        let printed = output.write_all(format!("{line}\n").as_bytes()).await;
        if printed.is_err() || output.flush().await.is_err() {
            return;
        }
        if decision != "deny" {
            return tell(tell_wait, caller, &input, client).await;
        }
        let Some(client) = client.map(|client| client()) else {
            return;
        };
        if connected(&client).await.is_some() {
            let told = client.call(Command::Hook(refused(caller, &input, why)));
            if let Err(error) = told.await {
                tracing::debug!(%error, "a refused call was not reported");
            }
        }
    };
    if timeout(wait, work).await.is_err() {
        tracing::debug!("the hook took too long");
    }
}

/// Tells the daemon what begins. A helper of Claude's own does its work beside Claude's turn.
async fn tell(
    wait: Duration,
    caller: HookCaller,
    input: &Value,
    client: Option<impl FnOnce() -> Client>,
) {
    let begun = begun(caller, input).filter(|_| input.get("agent_id").is_none());
    let (Some(params), Some(client)) = (begun, client) else {
        return;
    };
    let client = client();
    let told = async {
        connected(&client).await?;
        client.call(Command::ToolBegins(params)).await.ok()
    };
    if !matches!(timeout(wait, told).await, Ok(Some(_))) {
        tracing::debug!("a tool that begins was not reported");
    }
}

fn begun(caller: HookCaller, input: &Value) -> Option<ToolBeginsParams> {
    let about = input.get("tool_input").unwrap_or(&Value::Null);
    Some(ToolBeginsParams {
        claude_pid: caller.pid,
        is_judged: caller.is_judged,
        tool_use_id: word(input, "tool_use_id")?,
        tool: word(input, "tool_name")?,
        command: begins(about, "command"),
        path: file_of(about).map(str::to_owned),
    })
}

/// Whether a helper of Claude's would take the messages of the conversation that started it: whose call
/// fetches them counts as the one who has them. The answer to what it names itself it may wait for.
fn takes_mail_of_another(input: &Value) -> bool {
    let tool = input.get("tool_name").and_then(Value::as_str);
    let tool = tool.and_then(own_tool).unwrap_or_default();
    let waits_for = input.pointer("/tool_input/handoff_id");
    input.get("agent_id").is_some()
        && TAKING.contains(&tool)
        && (tool != "wait_for_messages" || !waits_for.is_some_and(Value::is_string))
}

fn judge(rules: &PolicyRules, input: &Value) -> PolicyVerdict {
    let tool = input.get("tool_name").and_then(Value::as_str);
    let (Some(tool), Some(input)) = (tool, input.get("tool_input")) else {
        let why = "ctxrelay: the call could not be read, and rules of yours are in force";
        return PolicyVerdict::Ask(why.to_owned());
    };
    rules.judge(Agent::Claude, &ToolUse { tool, input })
}

fn refused(caller: HookCaller, input: &Value, why: String) -> HookParams {
    HookParams {
        event: HookEvent::PreToolUse,
        claude_pid: caller.pid,
        is_judged: true,
        claude_session_id: word(input, "session_id"),
        tool: word(input, "tool_name"),
        text: Some(why),
        ..HookParams::default()
    }
}
