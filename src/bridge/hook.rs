//! [`run`]: what a Claude hook runs. Reports the event, and adds waiting message bodies to the
//! running turn.
//!
//! Every hook blocks Claude while it runs, and anything it prints on a fault would reach the model:
//! so it is quick, silent on any failure, and never fails.

mod before_tool;
mod claude_question;
mod command;
mod daemon_away;
mod permission;
mod status_line;

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::{Instant, sleep, timeout};

use super::json::parse;
use crate::client::{Client, ClientError, Connection};
use crate::core::agent::Agent;
use crate::core::between_words::cut_between_words;
use crate::core::delivery::DeliveryWay;
use crate::core::instructions::SHARED_CHARS_MAX;
use crate::core::trace;
use crate::wire::control::{
    ApprovalAnswer, AskApprovalParams, Command, HookEvent, HookParams, HookReply, IdsParams,
    MONITOR, MONITOR_BEFORE, Reply,
};
use command::ran;
use daemon_away::DaemonAway;
use permission::{PermissionAsk, tool_use, with_newer_plan};

pub use before_tool::before_tool;
pub use status_line::status_line;

/// How long a hook may hold Claude up, all in all.
const HOOK_WAIT: Duration = Duration::from_millis(1_500);

/// As [`HOOK_WAIT`], where Claude starts or restarts a conversation: what it is given then is read
/// from disk and git, and nothing else brings it in time. Claude itself gives a hook 5 s.
const SESSION_START_WAIT: Duration = Duration::from_secs(4);

/// How often a hook that waits for the person looks for the daemon, or for a deck, where the daemon
/// has changed its process.
const DECK_LOOK: Duration = Duration::from_millis(200);

/// The most input that is read, in bytes. It may hold a whole prompt or tool result.
const INPUT_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// The most context that is printed, in characters: Claude Code 2.1.330 took 9,500 whole and made
/// a file with a preview of 10,500 (observed).
const CONTEXT_CHARS_MAX: usize = 9_000;

/// As [`CONTEXT_CHARS_MAX`], for Codex, which takes all of it (0.169.0, observed).
const CODEX_CHARS_MAX: usize = SHARED_CHARS_MAX;

/// How a prompt begins that a monitor made and no human wrote.
const MONITOR_PROMPT: &str = "<task-notification>";

/// How a pushed message of ours begins where it is a prompt.
const CHANNEL_PROMPT: &str = "<channel ";

/// The longest detail that is reported, in characters.
const DETAIL_CHARS_MAX: usize = 200;

/// The longest beginning of a prompt or a command that is reported, in characters: more than is
/// shown.
const BEGINNING_CHARS_MAX: usize = 2_000;

/// The longest path that is reported, in bytes; what a system takes.
const PATH_BYTES_MAX: usize = 4_096;

/// The events whose answer reaches the model, each as `additionalContext`; the others report a
/// state. A `Stop` that answers prolongs its turn; `decision: "block"` would too, and is shown to
/// the human as a problem (Claude Code 2.1.330, observed).
const CARRIERS: [HookEvent; 5] = [
    HookEvent::SessionStart,
    HookEvent::UserPromptSubmit,
    HookEvent::PostToolUse,
    HookEvent::Stop,
    HookEvent::CodexCompacted,
];

/// The longest text of Claude's that is reported, in bytes: what is behind it is cut.
const TEXT_BYTES_MAX: usize = 256 * 1024;

/// The Claude whose hook runs.
#[derive(Debug, Clone, Copy)]
pub struct HookCaller {
    /// Its process.
    pub pid: Option<u32>,
    /// It runs monitors: in its terminal, and not with `-p` (Claude Code 2.1.330, observed).
    pub has_monitors: bool,
    /// Its plugin has each call of a tool judged before: one that was started with the plugin of an
    /// earlier build has not.
    pub is_judged: bool,
}

/// Runs the hook of one event. Never fails, and takes at most 1.5 s, at a `SessionStart` 4.
///
/// `client` should be freshly made: when its first attempt to connect fails, nothing is done.
pub async fn run<R, W>(event: &HookEvent, caller: HookCaller, input: R, output: W, client: Client)
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let wait = match event {
        HookEvent::SessionStart | HookEvent::CodexCompacted => SESSION_START_WAIT,
        _ => HOOK_WAIT,
    };
    run_within(wait, event, caller, input, output, client).await;
}

/// As [`run`], which holds Claude up for no longer than this.
async fn run_within<R, W>(
    wait: Duration,
    event: &HookEvent,
    caller: HookCaller,
    input: R,
    output: W,
    client: Client,
) where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let work = hook(event, caller, input, output, client.clone());
    match timeout(wait, work).await {
        Err(_) => tracing::debug!(%event, "the hook took too long"),
        Ok(Some(waiting)) => {
            let printed = permission(waiting, caller, &client).await;
            tracing::debug!(
                printed = printed.is_some(),
                "a question of claude's is over"
            );
        }
        Ok(None) => {}
    }
}

fn ago_ms(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// A question of Claude's that waits for the person, who may take their time.
struct WaitingPermission<W> {
    ask: PermissionAsk,
    input: Value,
    output: W,
    since: Instant,
}

/// Waits for the operator's answer and prints it. What was said of a plan that is another one by now is
/// no answer: that one is asked about, under the same name.
async fn permission<W>(
    waiting: WaitingPermission<W>,
    caller: HookCaller,
    client: &Client,
) -> Option<()>
where
    W: AsyncWrite + Unpin,
{
    let WaitingPermission {
        mut ask,
        mut input,
        mut output,
        since,
    } = waiting;
    loop {
        let params = AskApprovalParams {
            request: ask.request.clone(),
            details: ask.details.clone(),
            claude_pid: caller.pid,
            tool_use: tool_use(&input),
            asked_ago_ms: None,
        };
        let answer = answered(params, since, client).await?;
        let newer = with_newer_plan(&input).filter(|_| ask.allows(&answer.choice));
        let Some(newer) = newer else {
            let line = ask.output(&answer.choice, answer.note.as_deref())?;
            output.write_all(line.as_bytes()).await.ok()?;
            return output.flush().await.ok();
        };
        ask = PermissionAsk::read(&newer, ask.request.key)?;
        input = newer;
    }
}

/// Waits for the operator's answer, also over a daemon that moves to another process.
async fn answered(
    params: AskApprovalParams,
    since: Instant,
    client: &Client,
) -> Option<ApprovalAnswer> {
    let mut away = DaemonAway::default();
    loop {
        let ask = AskApprovalParams {
            asked_ago_ms: Some(ago_ms(since)),
            ..params.clone()
        };
        match client.call(Command::AskApproval(ask)).await {
            Ok(Reply::Approval(Some(answer))) => return Some(answer),
            Ok(Reply::Approval(None)) if away.may_be_looked_at(Instant::now()) => {
                sleep(DECK_LOOK).await;
            }
            // Under the same key it is the same question.
            Err(ClientError::Unanswered) => away.is_lost(Instant::now()),
            Err(ClientError::Unreachable(_) | ClientError::NotAdmitted(_))
                if away.may_return(Instant::now()) && is_redialled(client) =>
            {
                sleep(DECK_LOOK).await;
            }
            _ => return None,
        }
    }
}

async fn hook<R, W>(
    event: &HookEvent,
    caller: HookCaller,
    input: R,
    mut output: W,
    client: Client,
) -> Option<WaitingPermission<W>>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let since = Instant::now();
    let (input, connected) = tokio::join!(read(input), connected(&client));
    connected?;
    let input = match input {
        Some(input) => input,
        // It may be a helper's, and what Claude is to get would be lost there: it comes with the next.
        None if *event == HookEvent::PostToolUse => return None,
        None => Value::Null,
    };
    // Claude goes on beside these, so that what follows them may be heard before.
    let comes_late = matches!(
        event,
        HookEvent::PermissionRequest | HookEvent::Notification | HookEvent::StopFailure
    );
    let params = HookParams {
        asked_ago_ms: comes_late.then(|| ago_ms(since)),
        ..params(event, caller, &input)
    };
    if input.get("agent_id").is_some() && *event != HookEvent::SubagentStop {
        // A helper of Claude's own: its context is not that of whom the messages are for, so that
        // nothing is asked for it and nothing is printed. Its files and its dialogs are told, and its
        // end is counted below: what is printed then makes it go on (Claude Code 2.1.330, observed).
        let told = match event {
            HookEvent::PostToolUse | HookEvent::PostToolUseFailure => HookEvent::HelperToolUse,
            HookEvent::PermissionRequest => HookEvent::HelperAsks,
            _ => return None,
        };
        client.call(of_helper(told, params, &input)).await.ok()?;
        return None;
    }
    let reply: HookReply = match client.ask_for(Command::Hook(params)).await {
        Ok(reply) => reply,
        Err(error) => {
            tracing::debug!(%error, %event, "the hook was not reported");
            return None;
        }
    };
    if *event == HookEvent::PermissionRequest {
        let key = uuid::Uuid::now_v7().to_string();
        let ask = PermissionAsk::read(&input, key)?;
        return Some(WaitingPermission {
            ask,
            input,
            output,
            since,
        });
    }
    if *event == HookEvent::PreCompact {
        // It joins the instructions of the compaction, as plain text, and is shown to the person too
        // (Claude Code 2.1.330, observed).
        let line = reply.additional_context?;
        output.write_all(line.as_bytes()).await.ok()?;
        output.flush().await.ok()?;
        return None;
    }
    if !CARRIERS.contains(event) {
        return None;
    }
    let HookReply {
        additional_context,
        ids,
    } = reply;
    let context = additional_context.filter(|context| !context.is_empty())?;
    let (name, chars_max) = match event {
        HookEvent::CodexCompacted => (&HookEvent::SessionStart, CODEX_CHARS_MAX),
        _ => (event, CONTEXT_CHARS_MAX),
    };
    if context.chars().count() > chars_max {
        tracing::warn!("the daemon gave more context than the agent takes whole");
        return None;
    }
    let mut line = json!({
        "hookSpecificOutput": {
            "hookEventName": name,
            "additionalContext": context,
        }
    })
    .to_string();
    line.push('\n');
    output.write_all(line.as_bytes()).await.ok()?;
    output.flush().await.ok()?;
    for id in &ids {
        trace::message(id).in_scope(|| tracing::debug!(%event, "printed for claude"));
    }
    if !ids.is_empty() {
        let handed = Command::HookHanded(IdsParams {
            agent: Agent::Claude,
            ids,
            rung: Some(DeliveryWay::Hook),
        });
        client.call(handed).await.ok()?;
    }
    None
}

/// A daemon is still looked for: no person has ended it for good.
fn is_redialled(client: &Client) -> bool {
    !matches!(*client.connection().borrow(), Connection::Dormant(_))
}

/// Waits for the first attempt to connect, and for no other.
async fn connected(client: &Client) -> Option<()> {
    let mut connection = client.connection();
    connection.changed().await.ok()?;
    let state = connection.borrow();
    matches!(*state, Connection::Connected(_)).then_some(())
}

/// The event's input; nothing where it is no JSON object, or too long to be one.
async fn read<R: AsyncRead + Unpin>(input: R) -> Option<Value> {
    let mut bytes = Vec::new();
    let read = input.take(INPUT_BYTES_MAX).read_to_end(&mut bytes).await;
    read.ok()?;
    let input = parse(&bytes).ok();
    input.filter(Value::is_object)
}

fn params(event: &HookEvent, caller: HookCaller, input: &Value) -> HookParams {
    let word = |name: &str| word(input, name);
    let from_monitor = input
        .get("prompt")
        .and_then(Value::as_str)
        .map(str::trim_start)
        .is_some_and(|it| it.starts_with(MONITOR_PROMPT) || it.starts_with(CHANNEL_PROMPT));
    let of_file = match event {
        HookEvent::PostToolUse => input.get("tool_input"),
        HookEvent::InstructionsLoaded => Some(input),
        _ => None,
    };
    let file = of_file.and_then(file_of);
    let text = match event {
        HookEvent::Stop => input.get("last_assistant_message"),
        HookEvent::PostCompact => input.get("compact_summary"),
        _ => None,
    };
    let text = text.and_then(Value::as_str);
    let is_of_tool = matches!(
        event,
        HookEvent::PostToolUse | HookEvent::PostToolUseFailure | HookEvent::PermissionRequest
    );
    let ran = ran(event, input);
    let path_of = |name: &str| {
        let path = input.get(name).and_then(Value::as_str);
        let path = path.filter(|path| path.len() <= PATH_BYTES_MAX);
        path.map(str::to_owned)
    };
    HookParams {
        event: event.clone(),
        claude_pid: caller.pid,
        is_judged: caller.is_judged,
        claude_session_id: word("session_id"),
        from_monitor,
        detail: ["source", "reason", "error", "notification_type", "trigger"]
            .into_iter()
            .find_map(word),
        helper: word("agent_id"),
        stop_hook_active: input.get("stop_hook_active") == Some(&Value::Bool(true)),
        monitor_runs: monitor_runs(input).filter(|_| caller.has_monitors),
        tool_use: is_of_tool.then(|| tool_use(input)).flatten(),
        tool_use_id: is_of_tool.then(|| word("tool_use_id")).flatten(),
        transcript: path_of("transcript_path"),
        tool: file.and(word("tool_name")),
        path: file.map(str::to_owned),
        cwd: ran.as_ref().and_then(|_| path_of("cwd")),
        ran,
        asked_ago_ms: None,
        text: text.map(|text| beginning(text, TEXT_BYTES_MAX).to_owned()),
        prompt: (*event == HookEvent::UserPromptSubmit && !from_monitor)
            .then(|| begins(input, "prompt"))
            .flatten(),
        context: None,
        columns: None,
    }
}

/// Of what a helper does only the file counts, and what it asks the person.
fn of_helper(event: HookEvent, params: HookParams, input: &Value) -> Command {
    Command::Hook(HookParams {
        event,
        claude_pid: params.claude_pid,
        is_judged: params.is_judged,
        helper: params.helper,
        tool_use: tool_use(input),
        asked_ago_ms: params.asked_ago_ms,
        tool: params.tool,
        path: params.path,
        ..HookParams::default()
    })
}

/// The file that a tool is about.
fn file_of(input: &Value) -> Option<&str> {
    let path = input
        .get("file_path")
        .or_else(|| input.get("notebook_path"));
    let path = path.and_then(Value::as_str);
    path.filter(|path| path.len() <= PATH_BYTES_MAX)
}

/// How a text of the input begins.
fn begins(input: &Value, name: &str) -> Option<String> {
    let text = input.get(name)?.as_str()?;
    Some(cut_between_words(text, BEGINNING_CHARS_MAX).to_owned())
}

/// A word of the input, cut to what is reported.
fn word(input: &Value, name: &str) -> Option<String> {
    let word = input.get(name)?.as_str()?;
    Some(cut_between_words(word, DETAIL_CHARS_MAX).to_owned())
}

/// As much of the beginning as there is room for.
fn beginning(text: &str, bytes_max: usize) -> &str {
    let fits = &text[..text.floor_char_boundary(bytes_max)];
    cut_between_words(text, fits.chars().count())
}

/// Whether our monitor is among the tasks that Claude lists at the end of a turn.
fn monitor_runs(input: &Value) -> Option<bool> {
    let tasks = input.get("background_tasks")?.as_array()?;
    let is_named = |task: &Value, name: &str| task.get("description") == Some(&json!(name));
    let is_ours = |task: &Value| {
        task.get("type") == Some(&json!("monitor"))
            && (is_named(task, MONITOR) || is_named(task, MONITOR_BEFORE))
            && task.get("status") == Some(&json!("running"))
    };
    Some(tasks.iter().any(is_ours))
}

#[cfg(test)]
mod tests;
