//! What a start costs: the first tool reply without a daemon, and the command line.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::figure::{Series, Table};
use crate::support::launch::Launch;
use crate::support::project::Project;
use crate::support::wait::wait_until;

const COLD_STARTS: usize = 10;
const RUNS: usize = 40;

/// How long a daemon may take to end.
const END_WAIT: Duration = Duration::from_secs(15);

/// Measures all of it.
pub fn measure(table: &mut Table) {
    cold(table);
    let project = Project::new();
    let nothing = runs(&project.program("true"));
    table.baseline("`true`", &nothing.words());
    let beside = |series: &Series| format!("{:.2} ms over `true`", series.p50() - nothing.p50());
    let version = runs(&project.ctxrelay(["--version"]));
    table.row(
        "--version",
        &version.words(),
        &beside(&version),
        "<= 2 ms",
        version.p50() <= 2.0,
    );
    let status = project.ctxrelay(["status", "--json"]);
    let daemon = project.daemon();
    let live = runs(&status);
    table.row(
        "status --json, a daemon runs",
        &live.words(),
        &beside(&live),
        "<= 5 ms",
        live.p50() <= 5.0,
    );
    daemon.stop().expect_success();
    let alone = runs(&status);
    table.row(
        "status --json, none runs",
        &alone.words(),
        &beside(&alone),
        "<= 5 ms",
        alone.p50() <= 5.0,
    );
}

fn runs(launch: &Launch) -> Series {
    let mut times = Series::default();
    for _ in 0..RUNS {
        let mut command: Command = launch.command();
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let status = times.time(|| command.status().unwrap());
        assert!(status.success(), "{launch:?}");
    }
    times
}

/// From the spawn of a bridge in a project where nothing runs to the answer of its first tool.
fn cold(table: &mut Table) {
    let (mut greeted, mut replied) = (Series::default(), Series::default());
    for _ in 0..COLD_STARTS {
        let project = Project::new();
        project.begin();
        let start = Instant::now();
        let mut agent = Agent::spawn(&project.ctxrelay(["bridge"]));
        agent.initialize();
        greeted.push(start.elapsed());
        agent.tool("session_info", json!({}));
        replied.push(start.elapsed());
        drop(agent);
        end_daemon(&project);
    }
    table.row(
        "spawn to first tool reply, no daemon",
        &replied.words(),
        &format!("`initialize` after {:.2} ms", greeted.p50()),
        "<= 40 ms",
        replied.p50() <= 40.0,
    );
}

/// Ends the daemon that the bridge started.
fn end_daemon(project: &Project) {
    let ports = std::fs::read(project.state().join("state/ports.json")).unwrap();
    let ports: Value = serde_json::from_slice(&ports).unwrap();
    let pid = ports["pid"]
        .as_i64()
        .and_then(|pid| i32::try_from(pid).ok());
    let pid = pid.and_then(Pid::from_raw).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    wait_until("the daemon's end", END_WAIT, || {
        test_kill_process(pid).is_err().then_some(())
    });
}
