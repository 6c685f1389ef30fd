//! [`ran`]: how a command that Codex ran has ended.

use std::path::PathBuf;

use super::fact::CodexFact;
use crate::core::entry::CommandRun;
use crate::wire::codex::item::Item;

/// The exit code of what was ended because it took too long: the command itself has none.
const TIMED_OUT: i64 = 124;

/// How Codex names the person where it says who runs a command.
const PERSON: &str = "userShell";

/// How Codex has a shell run a command, between the shell and the command (0.169.0, observed).
const SHELL_FLAGS: [&str; 2] = ["-lc", "-c"];

/// What a complete item tells, where it is a command of Codex's own that came to its end: it was not
/// declined, and nobody ended it.
pub(super) fn ran(item: &Item) -> Option<CodexFact> {
    let Item::CommandExecution {
        command,
        status: Some(status),
        source,
        cwd: Some(cwd),
        exit_code: Some(exit_code),
        duration_ms,
        ..
    } = item
    else {
        return None;
    };
    let is_over = matches!(status.as_str(), "completed" | "failed");
    let has_ended = is_over && *exit_code >= 0 && *exit_code != TIMED_OUT;
    if !has_ended || source.as_deref() == Some(PERSON) {
        return None;
    }
    Some(CodexFact::CommandRan {
        run: CommandRun::ended(&of_shell(command)?, *exit_code, *duration_ms)?,
        cwd: PathBuf::from(cwd),
    })
}

/// What the shell was given.
fn of_shell(command: &str) -> Option<String> {
    let [_, flag, cmd]: [String; 3] = shlex::split(command)?.try_into().ok()?;
    SHELL_FLAGS.contains(&flag.as_str()).then_some(cmd)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use serde_json::{Value, json};

    use super::*;

    fn told(command: &str, more: Value) -> Option<CodexFact> {
        let mut item = json!({
            "type": "commandExecution", "id": "call_1", "command": command, "cwd": "/proj",
            "processId": "4242", "status": "failed", "commandActions": [],
            "aggregatedOutput": "red\n", "exitCode": 101, "durationMs": 12_345,
        });
        let more = more.as_object().unwrap().clone();
        item.as_object_mut().unwrap().extend(more);
        ran(&serde_json::from_value(item).unwrap())
    }

    fn cmd(command: &str) -> Option<String> {
        match told(command, json!({}))? {
            CodexFact::CommandRan { run, .. } => Some(run.cmd),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_command_that_ended_is_told_with_how_it_ended() {
        let run = CommandRun {
            cmd: "cargo test".to_owned(),
            exit_code: Some(101),
            duration_ms: Some(12_345),
        };
        let cwd = PathBuf::from("/proj");
        let found = told("/bin/bash -lc 'cargo test'", json!({}));
        assert_eq!(found, Some(CodexFact::CommandRan { run, cwd }));
    }

    #[test]
    fn what_the_shell_was_given_is_told_without_its_quotes() {
        assert_eq!(cmd("/bin/bash -lc true").unwrap(), "true");
        assert_eq!(cmd("/usr/bin/zsh -c 'make a'").unwrap(), "make a");
        let quoted = r#"/bin/bash -lc "grep 'x' a.txt""#;
        assert_eq!(cmd(quoted).unwrap(), "grep 'x' a.txt");
        for other in [
            "cargo test",
            "/bin/bash -lc 'a' 'b'",
            "/bin/bash -lc 'a",
            "rm -rf 'a b'",
        ] {
            assert_eq!(cmd(other), None, "{other}");
        }
    }

    #[test]
    fn of_a_command_that_did_not_come_to_its_end_nothing_is_told() {
        let command = "/bin/bash -lc 'cargo test'";
        for more in [
            json!({"status": "declined"}),
            json!({"status": "inProgress"}),
            json!({"status": 7}),
            json!({"exitCode": null}),
            json!({"exitCode": 124}),
            json!({"exitCode": -1}),
            json!({"exitCode": "101"}),
            json!({"cwd": 7}),
        ] {
            assert_eq!(told(command, more.clone()), None, "{more}");
        }
        let long = format!("/bin/bash -lc '{}'", "a".repeat(10_000));
        assert_eq!(told(&long, json!({})), None);
    }

    #[test]
    fn what_the_person_runs_in_codexs_terminal_is_no_run_of_codexs() {
        let by = |source: Value| told("/bin/bash -lc 'cargo test'", json!({"source": source}));
        assert_eq!(by(json!("userShell")), None);
        for source in ["agent", "unifiedExecStartup", "another one"] {
            assert!(by(json!(source)).is_some(), "{source}");
        }
    }
}
