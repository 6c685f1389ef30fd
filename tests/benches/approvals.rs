//! What an approval costs: until the operator can see what Claude asks, until Claude's hook has the
//! answer, and what the hook before a tool costs Claude at each call. Of Claude there is only its
//! hook's process here, whose start and end are in the figures, as they are when it asks.

use std::io::Write as _;
use std::process::{Child, Stdio};
use std::time::Instant;

use serde_json::json;

use crate::figure::{Series, Table};
use crate::support::launch::Launch;
use crate::support::operator::Operator;
use crate::support::project::Project;
use crate::support::wait::{timeout, wait_until};

const RUNS: usize = 100;

/// From the vendor's question to the operator's screen, in ms.
pub const SHOWN_MS: f64 = 50.0;

/// From the operator's answer to the vendor, in ms, beside the durable append.
pub const DECIDED_MS: f64 = 20.0;

/// The hook before each call of a tool, in ms.
const BEFORE_TOOL_MS: f64 = 15.0;

/// Measures it.
pub fn measure(table: &mut Table) {
    let project = Project::live();
    // Only where a deck looks is Claude kept waiting.
    let mut deck = Operator::greet_as(&project, "deck").unwrap();
    let (mut shown, mut decided, mut appended) =
        (Series::default(), Series::default(), Series::default());
    for n in 0..RUNS {
        let input = tool_call(&format!("touch made-{n}.txt"));
        let asked = Instant::now();
        let hook = begin(&project.ctxrelay(["hook", "PermissionRequest"]), &input);
        // One look after the other: the time between two is in the figure.
        let id = std::iter::repeat_with(|| open(&mut deck).pop())
            .take_while(|_| asked.elapsed() < timeout())
            .flatten()
            .next()
            .expect("what Claude asks");
        shown.push(asked.elapsed());
        let answer = json!({"id": id, "choice": "allow"});
        let given = Instant::now();
        deck.call("approval/answer", answer).unwrap();
        let printed = end(hook);
        decided.push(given.elapsed());
        assert!(printed.contains("\"allow\""), "{printed}");
        end(begin(&project.ctxrelay(["hook", "PostToolUse"]), &input));
        wait_until("its end", timeout(), || {
            open(&mut deck).is_empty().then_some(())
        });
        let note = json!({"text": format!("note {n}"), "kind": "note"});
        appended.time(|| deck.call("note/append", note).unwrap());
    }
    table.baseline(
        "a note of the operator's: one durable append",
        &appended.words(),
    );
    table.row(
        "approval, asked by Claude's hook until the deck can show it",
        &shown.words(),
        "the hook's process and the durable append inside",
        "<= 50 ms",
        shown.p50() <= SHOWN_MS,
    );
    table.row(
        "decision, the operator's answer until Claude's hook has printed it and ended",
        &decided.words(),
        &format!("{:.2} ms over the append", decided.p50() - appended.p50()),
        "<= 20 ms over the append",
        decided.p50() - appended.p50() <= DECIDED_MS,
    );

    let change = json!({"change": "coordinator", "to": "codex"});
    deck.call("policy/set", change).unwrap();
    let hook = project.ctxrelay(["hook", "PreToolUse"]);
    for (what, command, says) in [
        ("hook before a tool, lets it through", "cargo test", ""),
        (
            "hook before a tool, refuses",
            "git commit -am x",
            "\"deny\"",
        ),
    ] {
        let input = tool_call(command);
        let mut times = Series::default();
        for _ in 0..RUNS {
            let printed = times.time(|| end(begin(&hook, &input)));
            assert!(printed.contains(says), "{printed}");
        }
        table.row(
            what,
            &times.words(),
            "the process inside",
            "<= 15 ms",
            times.p50() <= BEFORE_TOOL_MS,
        );
    }
}

fn tool_call(command: &str) -> String {
    json!({
        "session_id": "s", "tool_name": "Bash", "tool_use_id": "toolu_1", "tool_input": {"command": command}, "cwd": "/",
    })
    .to_string()
}

/// The ids of what waits.
pub fn open(deck: &mut Operator) -> Vec<String> {
    let world = deck.call("snapshot/read", json!({})).unwrap();
    let open = world["value"]["open_approvals"].as_object().cloned();
    open.unwrap_or_default().keys().cloned().collect()
}

fn begin(launch: &Launch, input: &str) -> Child {
    let mut command = launch.command();
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    child
}

fn end(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}
