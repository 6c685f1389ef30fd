//! Gates that hang, print without end, leave children, or cannot begin.

use std::path::Path;

use serde_json::{Value, json};

use super::{evidence, run_gates, trust, trust_file};
use crate::failures::{order_panic, orderly};
use crate::support::child::{Child, is_alive};
use crate::support::gate_scene::{Scene, Try};
use crate::support::hand_over::{Tidy, end_daemon};
use crate::support::operator::Operator;
use crate::support::project::Project;
use crate::support::pty::Pty;
use crate::support::wait::{timeout, wait_until};

fn pid_in(path: &Path) -> Option<u32> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[track_caller]
fn is_gone(project: &Project, file: &str) {
    let pid = pid_in(&project.base().join(file)).expect("a process was started");
    wait_until("the end of what a gate left behind", timeout(), || {
        (!is_alive(pid)).then_some(())
    });
}

#[test]
fn a_gate_that_hangs_is_ended_with_all_that_it_started() {
    let project = Project::live();
    // One child in its group, and one that left it.
    let cmd = "sleep 1000 & echo $! > ../child; setsid sleep 1000 & echo $! > ../left; \
               echo waiting; wait";
    trust(
        &project,
        // Long enough for all of it to be started, also where many others are.
        &json!([{"name": "tests", "cmd": cmd, "timeout_s": 15}]),
    );
    let mut operator = Operator::connect(&project);
    let report = run_gates(&mut operator, json!({}));
    let gate = &report["gates"][0];
    assert_eq!(
        (&gate["status"], &gate["exit_code"]),
        (&json!("timed_out"), &Value::Null)
    );
    is_gone(&project, "child");
    is_gone(&project, "left");
    let told = evidence(&project).remove(0);
    assert!(told["content"].as_str().unwrap().ends_with("waiting\n"));
}

#[test]
fn what_a_gate_leaves_behind_ends_with_it_and_holds_nothing_up() {
    let project = Project::live();
    let cmd = "sleep 1000 & echo $! > ../child; setsid sleep 1000 & echo $! > ../left; exit 0";
    trust(&project, &json!([{"name": "tests", "cmd": cmd}]));
    let mut operator = Operator::connect(&project);
    let report = run_gates(&mut operator, json!({}));
    assert_eq!(report["gates"][0]["ok"], true);
    is_gone(&project, "child");
    is_gone(&project, "left");
}

#[test]
fn what_left_group_and_environment_behind_ends_with_the_gate_too() {
    let project = Project::live();
    let cmd = "setsid -f env -i PATH=\"$PATH\" sh -c 'echo $$ > ../left.new; mv ../left.new ../left; \
               sleep 1000'; while ! [ -e ../left ]; do sleep 0.01; done";
    trust(&project, &json!([{"name": "tests", "cmd": cmd}]));
    let mut operator = Operator::connect(&project);
    let report = run_gates(&mut operator, json!({}));
    assert_eq!(report["gates"][0]["ok"], true);
    let left = pid_in(&project.base().join("left")).unwrap();
    assert!(!is_alive(left), "it could decide as the operator");
}

#[test]
fn who_waits_for_a_run_hears_that_the_daemon_went_on_without_it() {
    let project = Project::new();
    let _tidy = Tidy(&project);
    let mut daemon = project.daemon();
    let cmd = "touch ../began; exec sleep 1000";
    trust(&project, &json!([{"name": "tests", "cmd": cmd}]));
    let mut line = Pty::spawn(&project.ctxrelay(["gates", "run"]));
    let began = project.base().join("began");
    wait_until("the gate", timeout(), || began.exists().then_some(()));
    let mut operator = Operator::connect(&project);
    operator.hand_over(env!("CARGO_BIN_EXE_ctxrelay")).unwrap();
    wait_until("the end of the process before", timeout(), || {
        daemon.child().try_exit()
    });
    assert_eq!(line.wait_exit(), 3, "{}", line.screen());
    let said = line.screen();
    assert!(said.contains("went on in another process"), "{said}");
    // Nor is the next run taken for it: the number is another one.
    let mut operator = Operator::connect(&project);
    let listed = operator.call("gates/list", json!({})).unwrap();
    assert_eq!(listed["value"]["ended"], Value::Null);
    end_daemon(&project);
}

#[test]
fn the_operator_stops_what_runs_and_what_did_not_run_proves_nothing() {
    let project = Project::live();
    trust(
        &project,
        &json!([
            {"name": "tests", "cmd": "echo key AKIAIOSFODNN7ABCDEFG; echo $$ > ../first; exec sleep 1000"},
            {"name": "later", "cmd": "touch ../later"},
        ]),
    );
    let mut operator = Operator::connect(&project);
    let begun = operator.call("gates/run", json!({})).unwrap();
    wait_until("the first gate", timeout(), || {
        pid_in(&project.base().join("first"))
    });
    let status = wait_until("what it printed", timeout(), || {
        let status = project.run(["status", "--json"]).json();
        let lines = status["gates"]["running"]["lines"].as_array()?;
        (!lines.is_empty()).then_some(status)
    });
    let lines = &status["gates"]["running"]["lines"];
    assert_eq!(lines, &json!(["key [REDACTED_AWS_ACCESS_KEY]"]));
    assert_eq!(status["gates"]["running"]["name"], "tests");
    assert_eq!(status["gates"]["running"]["left"], 1);
    // One run at a time: two would disturb each other's work tree.
    let refused = operator.call("gates/run", json!({})).unwrap_err();
    assert_eq!(refused.data["code"], "in_flight");
    operator.call("gates/stop", json!({})).unwrap();
    let report = super::end_of(&mut operator, &begun);
    assert_eq!(report["ended"]["stopped"], true);
    assert_eq!(report["ended"]["names"], json!(["tests"]));
    assert_eq!(report["gates"][0]["status"], "skipped");
    is_gone(&project, "first");
    assert!(!project.base().join("later").exists());
}

#[test]
fn a_daemon_that_ends_takes_its_gate_with_it() {
    let project = Project::new();
    let mut daemon = project.daemon();
    trust(
        &project,
        &json!([{"name": "tests", "cmd": "echo $$ > ../first; exec sleep 1000"}]),
    );
    let mut operator = Operator::connect(&project);
    operator.call("gates/run", json!({})).unwrap();
    wait_until("the gate", timeout(), || {
        pid_in(&project.base().join("first"))
    });
    daemon.crash();
    is_gone(&project, "first");
    assert!(evidence(&project).is_empty());
}

#[test]
fn an_output_without_end_is_counted_and_its_beginning_and_end_are_kept() {
    let project = Project::live();
    let cmd = "echo first; head -c 300000000 /dev/zero | tr '\\0' x; echo; echo last; exit 4";
    trust(&project, &json!([{"name": "tests", "cmd": cmd}]));
    let mut operator = Operator::connect(&project);
    run_gates(&mut operator, json!({}));
    let told = evidence(&project).remove(0);
    let verified = &told["artifact"]["verified"];
    assert_eq!(verified["outputBytes"], 300_000_012);
    assert_eq!(verified["exitCode"], 4);
    let seq = told["seq"].to_string();
    let whole = project.run(["ledger", "show", &seq, "--full", "--json"]);
    let whole = whole.expect_success().json();
    let text = whole["content"].as_str().unwrap();
    assert!(text.contains("\nfirst\nxxx") && text.ends_with("\nlast\n"));
    assert!(text.contains("bytes left out"));
    assert!(text.len() < 1_000_000);
}

#[test]
fn where_there_is_no_room_for_long_texts_the_end_of_an_output_is_evidence() {
    let project = Project::live();
    let cmd = "head -c 700000 /dev/urandom | base64; echo last";
    let config = json!({
        "storage": {"blobsMegabytes": 1},
        "gates": [{"name": "one", "cmd": cmd}, {"name": "two", "cmd": cmd}],
    });
    project.write(".contextrelay/config.json", &config.to_string());
    trust_file(&project);
    let mut operator = Operator::connect(&project);
    let report = run_gates(&mut operator, json!({}));
    assert_eq!(report["ended"]["stopped"], false);
    let told = evidence(&project);
    assert_eq!(told.len(), 2);
    let text = told[1]["content"].as_str().unwrap();
    assert!(text.contains("characters could not be kept"), "{text}");
    assert!(text.ends_with("\nlast\n"));
    assert_eq!(report["gates"][1]["ok"], true);
}

#[test]
fn what_cannot_begin_says_why_and_leads_nowhere_else() {
    let project = Project::new();
    std::fs::create_dir(project.base().join("elsewhere")).unwrap();
    std::os::unix::fs::symlink(project.base().join("elsewhere"), project.root().join("out"))
        .unwrap();
    let _daemon = project.daemon();
    trust(
        &project,
        &json!([
            {"name": "link", "cmd": "touch here", "cwd": "out"},
            {"name": "none", "cmd": "true", "cwd": "not/there"},
            {"name": "unknown", "cmd": "no-such-program-at-all"},
        ]),
    );
    let mut operator = Operator::connect(&project);
    let report = run_gates(&mut operator, json!({}));
    let status = |at: usize| report["gates"][at]["status"].clone();
    assert_eq!(
        [status(0), status(1), status(2)],
        ["blocked", "blocked", "failed"]
    );
    assert_eq!(report["gates"][2]["exit_code"], 127);
    assert!(!project.base().join("elsewhere/here").exists());
    let told = evidence(&project).remove(0);
    let text = told["content"].as_str().unwrap();
    assert!(text.contains("out is no folder of the project"), "{text}");
}

#[test]
fn of_what_did_not_run_the_command_says_why_and_where_more_is_told() {
    let project = Project::new();
    std::fs::remove_dir_all(project.root().join(".git")).unwrap();
    project.git(&["init", "--quiet"]);
    let _daemon = project.daemon();
    trust(
        &project,
        &json!([
            {"name": "web", "cmd": "npm test", "cwd": "web"},
            {"name": "unit", "cmd": "npm test", "setup": "echo no room; exit 9"},
            {"name": "apart", "cmd": "npm test", "isolation": "worktree"},
        ]),
    );
    let row = |screen: &str, name: &str| {
        let mut rows = screen.lines();
        let is_its = |row: &&str| row.split_whitespace().any(|word| word == name);
        rows.find(is_its).unwrap_or_default().to_owned()
    };
    let says = |screen: &str| {
        let web = row(screen, "web");
        assert!(
            web.starts_with("no result") && web.contains("could not begin: "),
            "{screen}"
        );
        assert!(web.contains("No such file"), "{screen}");
        let unit = row(screen, "unit");
        let wanted = "its setup ended with exit 9 after ";
        assert!(unit.starts_with("red") && unit.contains(wanted), "{screen}");
        let apart = row(screen, "apart");
        let wanted = "could not begin: a work tree of its own could not be made: ";
        assert!(apart.contains(wanted), "{screen}");
        // None was made.
        assert!(!apart.contains("in a work tree of its own"), "{screen}");
        for entry in [web, unit, apart] {
            assert!(entry.contains("`ctxrelay ledger show "), "{screen}");
        }
    };
    let mut line = Pty::spawn_sized(&project.ctxrelay(["gates", "run"]), 400, 40);
    assert_eq!(line.wait_exit(), 6, "{}", line.screen());
    says(&line.screen());
    says(&project.run(["gates", "list"]).expect_success().stdout);
    let mut line = Pty::spawn_sized(&project.ctxrelay(["release-gate"]), 400, 40);
    assert_eq!(line.wait_exit(), 6, "{}", line.screen());
    let screen = line.screen();
    let wanted = "required gate web has no result: could not begin: ";
    assert!(screen.contains(wanted), "{screen}");
}

#[test]
fn a_gate_is_nobodys_operator_and_has_nothing_of_an_agents_environment() {
    let project = Project::new();
    let launch = project.ctxrelay(["daemon"]);
    let launch = launch
        .env("CLAUDECODE", "1")
        .env("CLAUDE_CODE_MESSAGING_TOKEN", "secret-of-claude")
        .env("GIT_DIR", "/nowhere")
        .env("KEPT_FOR_TOOLS", "yes");
    let _daemon = crate::support::daemon::Daemon::start(&launch);
    trust(&project, &json!([{"name": "tests", "cmd": "env"}]));
    let mut operator = Operator::connect(&project);
    run_gates(&mut operator, json!({}));
    let told = evidence(&project).remove(0);
    let text = told["content"].as_str().unwrap();
    assert!(text.contains("KEPT_FOR_TOOLS=yes"), "{text}");
    for gone in [
        "CLAUDECODE",
        "CLAUDE_CODE_MESSAGING",
        "GIT_DIR",
        "CONTEXTRELAY_REGISTRY_DIR",
    ] {
        assert!(!text.contains(gone), "{gone}: {text}");
    }
    assert!(text.contains("CONTEXTRELAY_WORKER=1"));
    // By which a daemon that does not know the gate finds it above what it started.
    let mark = format!("CONTEXTRELAY_AGENT={}\n", project.registry().display());
    assert!(text.contains(&mark), "{text}");
}

#[test]
fn nothing_that_a_gate_runs_decides_in_the_operators_place() {
    let project = Project::live();
    let cmd = "sh ../tries.sh";
    trust(
        &project,
        &json!([{"name": "tests", "cmd": cmd, "required": false}]),
    );
    let scene = Scene::new(&project);
    let (lines, tries) = scene.tries();
    scene.write("tries.sh", &lines);
    let mut operator = Operator::connect(&project);
    run_gates(&mut operator, json!({}));
    scene.expect_refused(&tries);
    scene.approve();
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_left_of_a_gate_that_kills_its_keeper_is_nobodys_operator_and_the_run_says_so() {
    let project = Project::new();
    let _daemon = project.daemon();
    let cmd = "setsid -f env -i PATH=\"$PATH\" sh ../stray.sh $PPID <../typed >/dev/null 2>&1; \
               while ! [ -e ../began ]; do sleep 0.01; done; kill -9 $PPID; sleep 1000";
    trust(
        &project,
        &json!([{"name": "tests", "cmd": cmd, "required": false}]),
    );
    let scene = Scene::new(&project);
    let (script, outcome) = scene.program("stray-program");
    let stray = format!(
        "touch ../began\nwhile kill -0 $1 2>/dev/null; do sleep 0.01; done\n\
         exec script -qec 'sh {}' /dev/null\n",
        script.display()
    );
    scene.write("stray.sh", &stray);
    let mut operator = Operator::connect(&project);
    let report = run_gates(&mut operator, json!({}));
    let gate = &report["gates"][0];
    assert_eq!(gate["status"], "blocked", "{report}");
    let how = gate["how"].as_str().unwrap();
    assert!(how.contains("its keeper was killed"), "{how}");
    let what = "without its keeper, in a terminal of its own".to_owned();
    scene.expect_refused(&[Try { what, outcome }]);
    scene.approve();
}

#[test]
fn a_gate_that_fails_by_a_fault_of_ours_ends_its_run_and_the_next_one_can_begin() {
    let project = Project::new();
    let mut daemon = Child::spawn(&orderly(&project, &["daemon"]));
    daemon.wait_for_line("its ready line", |line| Some(line.to_owned()));
    trust(
        &project,
        &json!([{"name": "a", "cmd": "true"}, {"name": "b", "cmd": "true"}]),
    );
    let mut operator = Operator::connect(&project);
    order_panic(&project, "a gate begins");
    let report = run_gates(&mut operator, json!({}));
    let why = report["ended"]["why"].as_str().unwrap();
    assert!(why.contains("a fault of ctxrelay's own"), "{report}");
    assert_eq!(report["ended"]["names"], json!(["a"]));
    assert!(evidence(&project).is_empty());
    let status = project.run(["status", "--json"]).expect_success().json();
    assert!(
        status["notices"]
            .to_string()
            .contains("running a gate failed")
    );
    let report = run_gates(&mut operator, json!({}));
    assert_eq!(report["gates"][0]["ok"], true);
    assert_eq!(evidence(&project).len(), 2);
}
