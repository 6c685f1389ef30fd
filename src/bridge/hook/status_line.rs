//! [`status_line`]: our part of the person's status line in Claude (`facts/claude-code.md` §10.7).

use std::time::Duration;

use serde_json::Value;
use tokio::time::timeout;

use super::{HookCaller, PATH_BYTES_MAX, connected, word};
use crate::client::Client;
use crate::wire::control::{Command, ContextFigures, HookEvent, HookParams, HookReply};

/// How long the daemon may take. Claude shows the line when all of it is there.
const LINE_WAIT: Duration = Duration::from_millis(500);

/// Tells the daemon what Claude says of its context, and gives the line that it answers; `None`
/// without a daemon, or when it takes over 0.5 s. Never fails.
///
/// `client` should be freshly made, as for [`run`](super::run). `columns`: the terminal's width.
pub async fn status_line(
    input: &Value,
    caller: HookCaller,
    columns: u16,
    client: Client,
) -> Option<String> {
    let line = async {
        connected(&client).await?;
        let ask = Command::Hook(params(input, caller, columns));
        let reply: HookReply = client.ask_for(ask).await.ok()?;
        reply.additional_context
    };
    timeout(LINE_WAIT, line).await.ok().flatten()
}

fn params(input: &Value, caller: HookCaller, columns: u16) -> HookParams {
    let transcript = input.get("transcript_path").and_then(Value::as_str);
    HookParams {
        event: HookEvent::StatusLine,
        claude_pid: caller.pid,
        claude_session_id: word(input, "session_id"),
        transcript: transcript
            .filter(|path| path.len() <= PATH_BYTES_MAX)
            .map(str::to_owned),
        context: input.get("context_window").map(figures),
        columns: Some(columns),
        ..HookParams::default()
    }
}

/// The sum of the last request, as the transcript has it too; null before the first one.
fn figures(window: &Value) -> ContextFigures {
    const PARTS: [&str; 4] = [
        "input_tokens",
        "output_tokens",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
    ];
    let usage = window.get("current_usage").and_then(Value::as_object);
    let sum = |usage: &serde_json::Map<String, Value>| {
        let parts = PARTS.iter().filter_map(|name| usage.get(*name)?.as_u64());
        parts.fold(0, u64::saturating_add)
    };
    ContextFigures {
        used: usage.map(sum).filter(|used| *used > 0),
        window: window
            .get("context_window_size")
            .and_then(Value::as_u64)
            .filter(|window| *window > 0),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_claude_says_is_read_and_what_it_leaves_open_stays_open() {
        let after_a_turn = json!({
            "total_input_tokens": 40_000, "context_window_size": 1_000_000, "used_percentage": 4,
            "current_usage": {"input_tokens": 1_000, "output_tokens": 300,
                "cache_creation_input_tokens": 0, "cache_read_input_tokens": 39_000},
        });
        let read = figures(&after_a_turn);
        assert_eq!((read.used, read.window), (Some(40_300), Some(1_000_000)));
        let at_start = json!({"context_window_size": 200_000, "current_usage": null});
        let read = figures(&at_start);
        assert_eq!((read.used, read.window), (None, Some(200_000)));
        for odd in [
            json!(null),
            json!([]),
            json!({"context_window_size": -1, "current_usage": 7}),
        ] {
            assert_eq!(figures(&odd), ContextFigures::default());
        }
    }

    #[test]
    fn it_is_told_as_an_event_of_its_own() {
        let caller = HookCaller {
            pid: Some(7),
            has_monitors: true,
            is_judged: false,
        };
        let params = params(
            &json!({"session_id": "s", "transcript_path": "/t"}),
            caller,
            80,
        );
        assert_eq!(params.event, HookEvent::StatusLine);
        assert_eq!((params.columns, params.claude_pid), (Some(80), Some(7)));
        assert_eq!(params.transcript.as_deref(), Some("/t"));
    }
}
