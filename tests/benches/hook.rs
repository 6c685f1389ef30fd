//! What a hook costs Claude, which waits for each: its process, its round trip to the daemon, and
//! the durable proof when it hands a message over. Beside it a bare process and a bare round trip.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::agent::Agent;
use crate::figure::{Series, Table};
use crate::support::http::get;
use crate::support::launch::Launch;
use crate::support::project::Project;

const RUNS: usize = 100;

/// Claude waits for a hook at each prompt, each tool call and each stop, in ms.
const TARGET_MS: f64 = 20.0;

/// Measures it.
pub fn measure(table: &mut Table) {
    let project = Project::live();
    let mut codex = Agent::start(&project.ctxrelay(["codex-mcp", "server"]));
    let port = project.ports.control;
    let (mut nothing, mut trip) = (Series::default(), Series::default());
    for _ in 0..RUNS {
        nothing.time(|| run(&project.program("true"), ""));
        trip.time(|| get(port, "/healthz", &[]).unwrap());
    }
    table.baseline("`true`", &nothing.words());
    table.baseline("a round trip over loopback", &trip.words());
    let bare = nothing.p50() + trip.p50();

    let input = json!({"session_id": "s", "prompt": "go on"}).to_string();
    let tool = project.ctxrelay(["hook", "PostToolUse"]);
    let mut quiet = Series::default();
    for _ in 0..RUNS {
        let printed = quiet.time(|| run(&tool, &input));
        assert_eq!(printed, "");
    }
    row(table, "hook, nothing waits", &quiet, bare);

    let prompt = project.ctxrelay(["hook", "UserPromptSubmit"]);
    let mut handing = Series::default();
    for n in 0..RUNS {
        let text = format!("number {n}: two races in refresh.rs");
        codex.tool("send_to_claude", json!({"text": text}));
        let printed = handing.time(|| run(&prompt, &input));
        let printed: Value = serde_json::from_str(&printed).unwrap();
        let context = &printed["hookSpecificOutput"]["additionalContext"];
        assert!(context.as_str().unwrap().contains(&text), "{context}");
    }
    row(table, "hook, hands a message over", &handing, bare);
}

fn row(table: &mut Table, what: &str, series: &Series, bare: f64) {
    table.row(
        what,
        &series.words(),
        &format!("{:.2} ms over process and round trip", series.p50() - bare),
        "<= 20 ms",
        series.p50() <= TARGET_MS,
    );
}

/// Runs it to its end and gives what it printed.
pub fn run(launch: &Launch, input: &str) -> String {
    let mut child = launch
        .command()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // `true` may have gone by now.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{launch:?}");
    String::from_utf8(output.stdout).unwrap()
}
