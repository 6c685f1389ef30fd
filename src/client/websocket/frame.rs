//! Commands and refusals as JSON-RPC frames.

use std::borrow::Cow;
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::ClientError;
use crate::wire::control::{
    AskApprovalParams, Command, HookParams, Refusal, RefusalCode, WaitMessagesParams,
};
use crate::wire::jsonrpc::{CANCEL_REQUEST, ErrorObject, Frame};

/// A command that was asked so long ago and is sent now: of its own waiting time it has the rest, and
/// what it says to have taken so far is longer.
pub(super) fn rest_of(command: &Command, passed: Duration) -> Cow<'_, Command> {
    let passed_ms = u64::try_from(passed.as_millis()).unwrap_or(u64::MAX);
    Cow::Owned(match command {
        Command::WaitMessages(params) => Command::WaitMessages(WaitMessagesParams {
            timeout_ms: params.timeout_ms.saturating_sub(passed_ms),
            ..params.clone()
        }),
        Command::AskApproval(params) => Command::AskApproval(AskApprovalParams {
            asked_ago_ms: params.asked_ago_ms.map(|ms| ms.saturating_add(passed_ms)),
            ..params.clone()
        }),
        Command::Hook(params) if params.asked_ago_ms.is_some() => Command::Hook(HookParams {
            asked_ago_ms: params.asked_ago_ms.map(|ms| ms.saturating_add(passed_ms)),
            ..params.clone()
        }),
        _ => return Cow::Borrowed(command),
    })
}

/// A command as a request without its id.
pub(super) fn request_frame(command: &Command) -> Result<Frame, ClientError> {
    let frame = command.to_frame();
    frame.map_err(|error| ClientError::Protocol(error.to_string()))
}

/// The same with an id.
pub(super) fn with_id(frame: Frame, id: u64) -> Frame {
    Frame {
        jsonrpc: Some("2.0".to_owned()),
        id: Some(Value::from(id)),
        ..frame
    }
}

/// Nobody waits for the answer to this request any more.
pub(super) fn cancel_frame(id: u64) -> Frame {
    Frame {
        jsonrpc: Some("2.0".to_owned()),
        method: Some(CANCEL_REQUEST.to_owned()),
        params: Some(json!({"id": id})),
        ..Frame::default()
    }
}

/// The refusal in a JSON-RPC error; one without `data` still says something.
pub(super) fn refusal(error: ErrorObject) -> Refusal {
    let word = |key: &str| {
        let data = error.data.as_ref()?;
        data.get(key)?.as_str().map(str::to_owned)
    };
    Refusal {
        code: word("code").map_or(RefusalCode::Rpc(error.code), RefusalCode::from),
        hint: word("hint").unwrap_or_default(),
        message: error.message,
    }
}

/// The refusal of a call that the daemon had not read when it ended.
pub(super) fn not_read() -> Refusal {
    Refusal::new(
        RefusalCode::DaemonMoving,
        "the daemon ended before it read this",
        "the call was not carried out; repeat it once a daemon runs",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::agent::Agent;

    /// What a command says when it is sent 300 ms after it was asked.
    fn sent_late(command: Command) -> Value {
        let late = rest_of(&command, Duration::from_millis(300)).into_owned();
        request_frame(&late).unwrap().params.unwrap()
    }

    #[test]
    fn what_a_command_says_of_time_is_as_of_when_it_is_sent() {
        let hook = Command::Hook(HookParams {
            asked_ago_ms: Some(200),
            ..HookParams::default()
        });
        assert_eq!(sent_late(hook)["askedAgoMs"], 500);
        let ageless = Command::Hook(HookParams::default());
        assert_eq!(sent_late(ageless).get("askedAgoMs"), None);
        for (timeout_ms, rest) in [(1_000, 700), (100, 0)] {
            let wait = Command::WaitMessages(WaitMessagesParams {
                agent: Agent::Claude,
                after: None,
                reply_to: None,
                timeout_ms,
                runtime_session_id: None,
            });
            assert_eq!(sent_late(wait)["timeoutMs"], rest);
        }
    }
}
