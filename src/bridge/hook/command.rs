//! [`ran`]: how a shell command that Claude ran ended.

use serde_json::Value;

use crate::core::entry::CommandRun;
use crate::wire::control::HookEvent;

/// The tool, as Claude names it.
const SHELL: &str = "Bash";

/// What Claude's answer of the shell has where the command has no exit code of 0 (2.1.330; the last one
/// observed).
const NOT_ENDED: [&str; 3] = [
    "interrupted",
    "backgroundTaskId",
    "returnCodeInterpretation",
];

/// How Claude begins what it says of a command that failed (2.1.330, observed).
const FAILED: &str = "Exit code ";

/// What the hook behind a tool was told of a command that came to its end. One that runs on in the
/// background or was cut off has none, and of one whose code Claude takes for no failure it tells none.
pub(super) fn ran(event: &HookEvent, input: &Value) -> Option<CommandRun> {
    if input.get("tool_name")? != SHELL {
        return None;
    }
    let cmd = input.get("tool_input")?.get("command")?.as_str()?;
    let exit_code = match event {
        HookEvent::PostToolUse => {
            let response = input.get("tool_response")?.as_object()?;
            let says = |name: &&str| {
                let value = response.get(*name);
                value.is_some_and(|value| !value.is_null() && *value != false)
            };
            if NOT_ENDED.iter().any(says) {
                return None;
            }
            0
        }
        HookEvent::PostToolUseFailure if input.get("is_interrupt") != Some(&Value::Bool(true)) => {
            let said = input.get("error")?.as_str()?.strip_prefix(FAILED)?;
            said.lines().next()?.trim().parse().ok()?
        }
        _ => return None,
    };
    let duration_ms = input.get("duration_ms").and_then(Value::as_u64);
    CommandRun::ended(cmd, exit_code, duration_ms)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(event: HookEvent, more: Value) -> Option<CommandRun> {
        let mut input = json!({
            "hook_event_name": event.to_string(), "cwd": "/proj", "tool_name": "Bash",
            "tool_use_id": "toolu_1", "duration_ms": 117,
            "tool_input": {"command": "cargo test", "description": "Run the tests"},
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            input[key] = value.clone();
        }
        ran(&event, &input)
    }

    fn ended(exit_code: i64) -> Option<CommandRun> {
        Some(CommandRun {
            cmd: "cargo test".to_owned(),
            exit_code: Some(exit_code),
            duration_ms: Some(117),
        })
    }

    #[test]
    fn a_command_that_ended_well_has_exit_code_0() {
        let response =
            json!({"stdout": "ok", "stderr": "", "interrupted": false, "isImage": false});
        let found = of(HookEvent::PostToolUse, json!({"tool_response": response}));
        assert_eq!(found, ended(0));
    }

    #[test]
    fn the_exit_code_of_one_that_failed_is_read_from_its_first_line() {
        for error in ["Exit code 101", "Exit code 101\ntest result: FAILED"] {
            let more = json!({"error": error, "is_interrupt": false});
            assert_eq!(
                of(HookEvent::PostToolUseFailure, more),
                ended(101),
                "{error}"
            );
        }
    }

    #[test]
    fn nothing_is_told_of_what_did_not_come_to_its_end() {
        for response in [
            json!({"stdout": "", "stderr": "", "interrupted": true}),
            json!({"stdout": "", "stderr": "", "backgroundTaskId": "b1"}),
            json!({"stdout": "", "returnCodeInterpretation": "No matches found"}),
            json!("text"),
            json!(null),
        ] {
            let more = json!({"tool_response": response});
            assert_eq!(of(HookEvent::PostToolUse, more), None, "{response}");
        }
        for error in [
            "Command timed out after 2m 0s",
            "Exit code",
            "Exit code many",
            "",
        ] {
            let more = json!({"error": error});
            assert_eq!(of(HookEvent::PostToolUseFailure, more), None, "{error}");
        }
        let interrupted = json!({"error": "Exit code 130", "is_interrupt": true});
        assert_eq!(of(HookEvent::PostToolUseFailure, interrupted), None);
    }

    #[test]
    fn nothing_is_told_of_another_tool_or_of_a_command_that_is_no_gates() {
        let response = json!({"stdout": "", "interrupted": false});
        let read = json!({"tool_name": "Read", "tool_response": response});
        assert_eq!(of(HookEvent::PostToolUse, read), None);
        let long = "a".repeat(10_000);
        let long = json!({"tool_input": {"command": long}, "tool_response": response});
        assert_eq!(of(HookEvent::PostToolUse, long), None);
        let none = json!({"tool_input": {}, "tool_response": response});
        assert_eq!(of(HookEvent::PostToolUse, none), None);
        assert_eq!(
            of(HookEvent::Stop, json!({"tool_response": response})),
            None
        );
    }
}
