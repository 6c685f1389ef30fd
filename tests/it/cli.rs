//! The command line as a user, a script and an agent meet it: shapes, exit codes, refusals.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::child::{Child, Finished, is_alive, run};
use crate::support::hand_over::Tidy;
use crate::support::launch::Launch;
use crate::support::mcp::McpClient;
use crate::support::project::Project;
use crate::support::pty::Pty;
use crate::support::script_file::write_program;
use crate::support::wait::{timeout, wait_until};

/// A program on `PATH` that is a shell script.
fn script(project: &Project, name: &str, body: &str) {
    write_program(&project.bin().join(name), &format!("#!/bin/sh\n{body}\n"));
}

/// The one JSON value of a failed `--json` call.
#[track_caller]
fn error(finished: &Finished) -> (i32, String) {
    let value = finished.json();
    let error = &value["error"];
    for field in ["code", "message", "hint"] {
        assert!(
            error[field].as_str().is_some_and(|text| !text.is_empty()),
            "{field} in {value}"
        );
    }
    (finished.code(), error["code"].as_str().unwrap().to_owned())
}

/// Has a project's record propose that the work is done; returns the proposal's id.
fn propose(project: &Project) -> String {
    let mut socket = project.agent("claude");
    let reply = socket.expect(
        "finality/propose",
        json!({"agent": "claude", "summary": "all done\r\u{1b}[2Jnot really", "evidence": ["cargo test"]}),
    );
    reply["value"]["proposalId"].as_str().unwrap().to_owned()
}

/// Types `word` at the prompt of an operator command and waits for its end.
#[track_caller]
fn confirm(launch: &Launch, prompt: &str, word: &str) -> (u32, String) {
    let mut pty = Pty::spawn(launch);
    pty.wait_for_text(prompt);
    pty.type_text(&format!("{word}\r"));
    let code = pty.wait_exit();
    (code, pty.screen())
}

#[test]
fn status_has_one_shape_with_and_without_a_daemon() {
    let project = Project::new();
    let before = project.run(["status", "--json"]).expect_success().json();
    assert_eq!(before["running"], false);
    assert!(!project.state().exists(), "looking makes nothing");

    let daemon = project.daemon();
    let live = project.run(["status", "--json"]).expect_success().json();
    assert_eq!(live["running"], true);
    assert_eq!(live["pid"], daemon.pid());
    assert_eq!(live["controlPort"], project.ports.control);
    assert_eq!(live["ledger"]["chain"], "ok");
    daemon.stop();

    let after = project.run(["status", "--json"]).expect_success().json();
    assert_eq!(after["running"], false);
    assert_eq!(after["sessionId"], live["sessionId"]);
    assert!(after["ledger"]["entries"].as_u64() > live["ledger"]["entries"].as_u64());
    let keys = |value: &Value| {
        value
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    for (a, b) in [(&before, &live), (&live, &after)] {
        assert_eq!(keys(a), keys(b));
        assert_eq!(keys(&a["agents"]["codex"]), keys(&b["agents"]["codex"]));
    }
    let text = project.token();
    assert!(!live.to_string().contains(&text), "no secret in the status");
}

#[test]
fn a_daemon_that_was_killed_hard_is_not_running() {
    let project = Project::new();
    let mut daemon = project.daemon();
    daemon.crash();
    let status = project.run(["status", "--json"]).expect_success().json();
    assert_eq!(status["running"], false);
    assert_eq!(
        status["notices"],
        json!([]),
        "what it left behind is no fault"
    );
    assert_eq!(
        project.run(["doctor", "--json"]).expect_success().json()["ok"],
        true
    );
}

#[test]
fn every_failure_is_one_json_value_with_the_next_step() {
    let project = Project::new();
    for (args, want) in [
        (&["bogus", "--json"][..], (2, "usage")),
        (&["--json", "ledger", "list", "--limit", "0"], (2, "usage")),
        (&["--json"], (2, "no_terminal")),
        (&["ledger", "verify", "--json"], (3, "no_session")),
        (&["ledger", "show", "7", "--json"], (3, "not_found")),
        (
            &["ledger", "list", "--session", "../../etc/passwd", "--json"],
            (3, "not_found"),
        ),
        (
            &["--project", "/nowhere", "status", "--json"],
            (3, "no_project"),
        ),
        (&["viewer", "--json"], (3, "not_in_this_version")),
        (
            &["ledger", "search", "--json", "--", "--"],
            (2, "invalid_arguments"),
        ),
        (
            &["ledger", "search", "x", "--after", "y", "--json"],
            (2, "invalid_arguments"),
        ),
        (&["ledger", "rebuild", "--json"], (3, "no_session")),
        (&["ledger", "export", "--json"], (3, "no_session")),
        (
            &["ledger", "export", "--session", "../x", "--json"],
            (3, "not_found"),
        ),
        (&["ledger", "compact", "--json"], (3, "no_session")),
        (
            &["finality", "mode", "auto", "--json"],
            (5, "operator_only"),
        ),
        (
            &["finality", "approve", "x", "--json"],
            (5, "operator_only"),
        ),
        (&["--json", "claude"], (4, "no_claude")),
        (&["--json", "codex"], (4, "no_codex")),
        (&["--json", "codex-mcp", "status"], (4, "no_codex")),
    ] {
        let (code, word) = error(&project.run(args.iter().copied()));
        assert_eq!((code, word.as_str()), want, "{args:?}");
    }
    assert!(!project.state().exists(), "a failure makes nothing");
}

#[test]
fn a_part_of_the_ports_is_refused_before_anything_is_made() {
    let project = Project::new();
    for verb in ["daemon", "status", "claude"] {
        let launch = project
            .ctxrelay(["--json", verb])
            .env_remove("CODEX_PROXY_PORT");
        assert_eq!(
            error(&run(&launch)),
            (3, "partial_ports".to_owned()),
            "{verb}"
        );
    }
    assert!(!project.state().exists());
}

#[test]
fn the_projects_faults_are_named() {
    let project = Project::new();
    // The port is held by a stranger.
    let _stranger = std::net::TcpListener::bind(("127.0.0.1", project.ports.control)).unwrap();
    assert_eq!(
        error(&project.run(["daemon", "--json"])),
        (3, "port_taken".to_owned())
    );
    let message = project.run(["daemon", "--json"]).json()["error"]["message"].to_string();
    let own = format!("process {} (", std::process::id());
    assert!(message.contains(&own), "{message}");
    let detached = project.run(["daemon", "--detach", "--json"]);
    assert_eq!(
        error(&detached),
        (3, "port_taken".to_owned()),
        "the child's own reason"
    );
    let checks = project.run(["doctor", "--json"]);
    assert_eq!(checks.code(), 6);
    let checks = checks.json();
    let failed: Vec<&Value> = checks["checks"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|check| check["ok"] == false)
        .collect();
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert_eq!(failed[0]["id"], "ports");
}

#[test]
fn a_link_in_the_place_of_our_folder_is_refused() {
    let project = Project::new();
    let elsewhere = project.base().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, project.state()).unwrap();
    assert_eq!(
        error(&project.run(["daemon", "--json"])),
        (3, "unwritable".to_owned())
    );
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[test]
fn a_live_daemon_of_contextrelay_3_keeps_its_record() {
    let project = Project::new();
    project.daemon().stop();
    let session = project.read(".contextrelay/current");
    let lock = project
        .state()
        .join(format!("sessions/{}.jsonl.lock", session.trim()));
    std::fs::create_dir(&lock).unwrap();
    std::fs::write(lock.join("pid"), std::process::id().to_string()).unwrap();
    let before = project.ledger().len();
    let refused = project.run(["daemon", "--json"]);
    assert_eq!(refused.code(), 3);
    let message = refused.json()["error"].to_string();
    assert!(message.contains("contextrelay kill"), "{message}");
    assert_eq!(project.ledger().len(), before);
}

#[test]
fn the_record_is_the_same_from_the_daemon_and_from_the_disk() {
    let project = Project::new();
    let daemon = project.daemon();
    propose(&project);
    let list = |order: &str| {
        let args = ["ledger", "list", "--order", order, "--limit", "2", "--json"];
        project.run(args).expect_success().json()
    };
    // A line is on disk a moment before the daemon gives it.
    wait_until("the end of who proposed", timeout(), || {
        let latest = list("desc");
        let gone = |entry: &Value| {
            entry["content"]
                .as_str()
                .is_some_and(|it| it.contains("Claude is offline"))
        };
        latest["entries"].as_array()?.iter().any(gone).then_some(())
    });
    let live = [list("asc"), list("desc")];
    let show = |seq: &str| {
        project
            .run(["ledger", "show", seq, "--json"])
            .expect_success()
            .json()
    };
    let entry = show("1");
    assert_eq!(entry["type"], "session_started");
    assert_eq!(show(entry["id"].as_str().unwrap()), entry);
    assert_eq!(live[0]["entries"].as_array().unwrap().len(), 2);
    daemon.stop();

    assert_eq!(list("asc"), live[0]);
    // The daemon's end is an entry more.
    assert_eq!(list("desc")["entries"][1], live[1]["entries"][0]);
    assert_eq!(show("1"), entry);
    // Both hands of a page meet.
    let cursor = live[0]["cursor"].as_str().unwrap();
    let rest = project.run([
        "ledger", "list", "--order", "asc", "--after", cursor, "--json",
    ]);
    let entries = live[0]["entries"].as_array().unwrap().iter();
    let rest = rest.expect_success().json();
    let seqs: Vec<u64> = entries
        .chain(rest["entries"].as_array().unwrap())
        .map(|entry| entry["seq"].as_u64().unwrap())
        .collect();
    assert_eq!(
        seqs,
        (1..=project.ledger().len() as u64).collect::<Vec<_>>()
    );
}

#[test]
fn verify_finds_a_changed_entry_and_says_which() {
    let project = Project::new();
    project.daemon().stop();
    let whole = project
        .run(["ledger", "verify", "--json"])
        .expect_success()
        .json();
    assert_eq!(whole["ok"], true);
    assert_eq!(whole["outsideHead"], "match");
    assert_eq!(whole["entries"], project.ledger().len());

    let session = project.read(".contextrelay/current");
    let path = project
        .state()
        .join(format!("sessions/{}.jsonl", session.trim()));
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(
        &path,
        text.replacen("the daemon started", "the daemon stirred", 1),
    )
    .unwrap();
    for args in [
        &["ledger", "verify", "--json"][..],
        &["ledger", "verify", "--all", "--json"],
    ] {
        let broken = project.run(args.iter().copied());
        assert_eq!(broken.code(), 6, "{args:?}");
        assert_eq!(broken.json()["ok"], false);
    }
    let broken = project.run(["ledger", "verify", "--json"]).json();
    assert_eq!(
        broken["firstBad"],
        json!({"seq": 2, "line": 2, "reason": "edited"})
    );
    assert_eq!(project.run(["doctor"]).code(), 6);
}

#[test]
fn only_a_terminal_of_the_operators_decides() {
    let project = Project::live();
    let id = propose(&project);
    let args = ["finality", "approve", &id];

    // The attempt is recorded beside the refusal, not before it.
    let refusals = |count: usize| {
        wait_until("the attempt's entry", timeout(), || {
            let ledger = project.ledger();
            let refused = |entry: &&Value| entry["error"]["code"] == "operator_only";
            (ledger.iter().filter(refused).count() == count).then_some(())
        });
    };
    // What says nothing is refused before anybody is asked.
    let empty = project.run(["finality", "reject", &id, "--reason", " "]);
    assert_eq!(empty.code(), 2, "{empty:?}");
    // A pipe, and an agent's shell even with a terminal.
    assert_eq!(project.run(args).code(), 5);
    refusals(1);
    let mut agent = Pty::spawn(&project.ctxrelay(args).env("CLAUDECODE", "1"));
    assert_eq!(agent.wait_exit(), 5);
    agent.wait_for_text("CLAUDECODE");
    // It is counted, and told with what else comes in that minute.
    refusals(1);

    // The operator changes their mind, then decides.
    let (code, screen) = confirm(&project.ctxrelay(args), "Type `approve`", "no");
    assert_eq!(code, 5, "{screen}");
    assert!(
        screen.contains("all done^M^[[2Jnot really"),
        "hostile text is shown as it is:\n{screen}"
    );
    let pending = project
        .run(["finality", "list", "--json"])
        .expect_success()
        .json();
    assert_eq!(pending["proposals"][0]["status"], "pending");
    let (code, screen) = confirm(&project.ctxrelay(args), "Type `approve`", "approve");
    assert_eq!(code, 0, "{screen}");
    let ledger = project.ledger();
    let decisions: Vec<_> = ledger
        .iter()
        .filter(|line| line["type"] == "finality_decision")
        .collect();
    assert_eq!(decisions.len(), 1);
    assert_eq!(decisions[0]["source"], "human");
    let decided = project
        .run(["finality", "list", "--json"])
        .expect_success()
        .json();
    assert_eq!(decided["proposals"][0]["status"], "approved");
    assert_eq!(decided["proposals"][0]["id"], json!(id));
    // No reason is needed for a yes: what it was said of stands there.
    let recovered = project.run(["recover"]).expect_success().stdout;
    let approved = recovered.lines().find(|line| line.contains(&id));
    let approved = approved.unwrap_or_else(|| panic!("{recovered}"));
    assert!(approved.contains("approved claude: all done"), "{approved}");
}

#[test]
fn the_operator_closes_a_handoff_and_nobody_else_does() {
    let project = Project::live();
    let mut socket = project.agent("claude");
    let handed = socket.expect(
        "handoff/create",
        json!({"from": "claude", "ask": "sort the plums", "reason": "they ripen"}),
    );
    let id = handed["value"]["messageId"].as_str().unwrap().to_owned();
    let shown = |name: &str| project.run(["ledger", "show", name, "--json"]);
    let end = &id[id.len() - 12..];
    let entry = shown(end).expect_success().json();
    assert_eq!(entry["id"], id);
    assert_eq!(error(&shown("zz")).1, "not_found");
    let args = ["handoff", "close", &id];
    assert_eq!(project.run(args).code(), 5);
    // The deck calls it by its number.
    let seq = handed["value"]["seq"].as_u64().unwrap();
    for name in [format!("h{seq}"), seq.to_string()] {
        let named = project.ctxrelay(["handoff", "close", &name]);
        let (code, screen) = confirm(&named, "Type `close`", "no");
        assert_eq!(code, 5, "{screen}");
        assert!(screen.contains(&id), "{screen}");
    }
    let (code, screen) = confirm(&project.ctxrelay(args), "Type `close`", "no");
    assert_eq!(code, 5, "{screen}");
    assert!(screen.contains("sort the plums"), "{screen}");
    let queued = || {
        let told = project.run(["queue", "list", "--json"]).expect_success();
        told.json()["messages"].as_array().unwrap().clone()
    };
    assert_eq!(queued()[0]["id"], json!(id));
    let launch = project.ctxrelay(args);
    let mut line = Pty::spawn_sized(&launch, 200, 40);
    line.wait_for_text("Type `close`");
    let screen = line.screen();
    let wanted = "taken back unless Codex begins a turn with it just then";
    assert!(screen.contains(wanted), "{screen}");
    line.type_text("close\r");
    assert_eq!(line.wait_exit(), 0, "{}", line.screen());
    // Nobody begins with what is over.
    let screen = line.screen();
    assert!(screen.contains("Codex does not get it"), "{screen}");
    assert!(queued().iter().all(|row| row["id"] != json!(id)));
    let ledger = project.ledger();
    let note = ledger.iter().find(|line| line["type"] == "note").unwrap();
    assert_eq!(note["source"], "human");
    assert_eq!(note["handles_handoff_ids"], json!([id]));
    let open = project.run(["recover", "--json"]).expect_success().json();
    assert_eq!(open["openHandoffs"], json!([]));
    assert_eq!(project.run(args).code(), 3, "it is over");
}

#[test]
fn a_question_between_the_agents_is_counted_and_the_operator_ends_it() {
    let project = Project::live();
    let mut socket = project.agent("codex");
    let asked = json!({"from": "codex", "text": "which lock?", "requireReply": true});
    let asked = socket.expect("message/send", asked);
    let id = asked["value"]["messageId"].as_str().unwrap().to_owned();
    let told = || {
        let status = project.run(["status", "--json"]).expect_success().json();
        let text = project.run(["status"]).expect_success().stdout;
        let line = text.lines().find(|line| line.starts_with("questions"));
        (
            status["handoffs"]["questions"].clone(),
            line.map(str::to_owned),
        )
    };
    let (count, line) = told();
    assert_eq!(count, json!(1));
    let line = line.unwrap();
    assert!(line.contains("1 question has no answer yet"), "{line}");
    let args = ["handoff", "close", &id];
    let (code, screen) = confirm(&project.ctxrelay(args), "Type `close`", "close");
    assert_eq!(code, 0, "{screen}");
    assert!(screen.contains("which lock?"), "{screen}");
    assert_eq!(told(), (json!(0), None));
    let ledger = project.ledger();
    let note = ledger.iter().find(|line| line["type"] == "note").unwrap();
    assert_eq!(note["source"], "human");
    assert_eq!(note["handles_handoff_ids"], json!([id]));
    assert_eq!(project.run(args).code(), 3, "it is over");
}

#[test]
fn clearing_is_a_dry_run_until_it_is_applied_and_confirmed() {
    let project = Project::live();
    let session = project.read(".contextrelay/current");
    let dry = project
        .run(["ledger", "clear", "--json"])
        .expect_success()
        .json();
    assert_eq!(
        (&dry["dryRun"], &dry["sealed"]),
        (&json!(true), &json!(session.trim()))
    );
    assert_eq!(project.read(".contextrelay/current"), session);
    assert_eq!(project.run(["ledger", "clear", "--apply"]).code(), 5);

    let launch = project.ctxrelay(["ledger", "clear", "--apply"]);
    let (code, screen) = confirm(&launch, "Type `clear`", "clear");
    assert_eq!(code, 0, "{screen}");
    assert_ne!(project.read(".contextrelay/current"), session);
    let all = project
        .run(["ledger", "verify", "--all", "--json"])
        .expect_success()
        .json();
    assert_eq!(all["sessions"].as_array().unwrap().len(), 2, "{all}");
}

#[test]
fn kill_ends_the_daemon_and_keeps_bridges_from_starting_it() {
    let project = Project::new();
    assert_eq!(project.run(["kill"]).code(), 5, "not from a pipe");
    let daemon = project.daemon();
    let pid = daemon.pid();
    let (code, screen) = confirm(&project.ctxrelay(["kill"]), "Type `kill`", "kill");
    assert_eq!(code, 0, "{screen}");
    wait_until("the daemon's end", timeout(), || {
        (!is_alive(pid)).then_some(())
    });
    assert!(project.state().join("state/killed").exists());

    // What a bridge runs stays away; what a person types brings it back.
    let by_bridge = project.run(["--json", "daemon", "--detach", "--unless-killed"]);
    assert_eq!(error(&by_bridge), (4, "killed".to_owned()));
    let status = project.run(["status", "--json"]).expect_success().json();
    assert_eq!(status["running"], false);
    assert!(status["notices"][0].as_str().unwrap().contains("operator"));
    // An agent's shell starts it as little, and its tools do not say how.
    for words in [&["--json", "daemon"][..], &["--json", "daemon", "--detach"]] {
        let by_agent = project
            .ctxrelay(words.iter().copied())
            .env("CLAUDECODE", "1");
        let (code, said) = error(&run(&by_agent));
        assert_eq!((code, &*said), (5, "operator_only"), "{words:?}");
    }
    let by_agent = project.ctxrelay(["daemon"]).env("CLAUDECODE", "1");
    let told = run(&by_agent).stderr;
    assert!(told.contains("CLAUDECODE"), "{told}");
    let mut agent = McpClient::start(&project.ctxrelay(["bridge"]));
    let refused = agent.tool_refused("task_state", json!({})).to_string();
    assert!(refused.contains("only the operator"), "{refused}");
    assert!(!refused.contains('`'), "{refused}");
    assert!(project.state().join("state/killed").exists());
    let _daemon = project.daemon();
    assert!(!project.state().join("state/killed").exists());
}

#[test]
fn an_agents_shell_starts_a_daemon_where_nobody_stopped_one_also_in_a_new_project() {
    let project = Project::new();
    let _tidy = Tidy(&project);
    let started = project
        .ctxrelay(["daemon", "--detach"])
        .env("CLAUDECODE", "1");
    run(&started).expect_success();
    let status = project.run(["status", "--json"]).expect_success().json();
    assert_eq!(status["running"], true);
}

#[test]
fn kill_where_ctxrelay_never_was_makes_no_project_of_the_folder() {
    let project = Project::new();
    let mut pty = Pty::spawn(&project.ctxrelay(["kill"]));
    assert_eq!(pty.wait_exit(), 0, "{}", pty.screen());
    let screen = pty.screen();
    assert!(screen.contains("no daemon runs here"), "{screen}");
    assert!(!screen.contains("Type `kill`"), "{screen}");
    assert!(!project.state().exists());
}

#[test]
fn kill_without_a_daemon_leaves_the_mark() {
    let project = Project::new();
    project.begin();
    let (code, screen) = confirm(&project.ctxrelay(["kill"]), "Type `kill`", "kill");
    assert_eq!(code, 0, "{screen}");
    assert!(project.state().join("state/killed").exists());
}

#[test]
fn a_kill_that_is_refused_says_nothing_of_what_comes_after_one() {
    let project = Project::new();
    project.begin();
    project.write(".contextrelay/state/killed/in_the_way", "");
    let (code, screen) = confirm(&project.ctxrelay(["kill"]), "Type `kill`", "kill");
    assert_eq!(code, 3, "{screen}");
    assert!(screen.contains("cannot write"), "{screen}");
    assert!(!screen.contains("start it again with"), "{screen}");
}

#[test]
fn kill_ends_a_daemon_that_cannot_be_asked() {
    let project = Project::new();
    let mut daemon = project.daemon();
    for run in std::fs::read_dir(project.registry().join("run")).unwrap() {
        std::fs::remove_file(run.unwrap().path().join("operator.sock")).unwrap();
    }
    let (code, screen) = confirm(&project.ctxrelay(["kill"]), "Type `kill`", "kill");
    assert_eq!(code, 0, "{screen}");
    assert!(screen.contains("told to end"), "{screen}");
    wait_until("the daemon's end", timeout(), || daemon.child().try_exit());
    assert!(project.state().join("state/killed").exists());
    let last = project.ledger().pop().unwrap();
    assert_eq!(last["runtimeEvent"]["event"], "daemon_stopped", "{last}");
    assert_eq!(project.run(["ledger", "verify"]).code(), 0);
}

#[test]
fn a_daemon_that_ends_over_handing_over_is_not_said_to_go_on() {
    let project = Project::new();
    let mut daemon = project.daemon();
    // Neither the next daemon nor the one before can publish where it is; nor can the one that is
    // started anew then, and its reason is what the operator is told.
    let published = project.state().join("state/ports.json");
    std::fs::remove_file(&published).unwrap();
    std::fs::create_dir(&published).unwrap();
    let mut replace = Pty::spawn(&project.ctxrelay(["daemon", "--replace"]));
    let code = replace.wait_exit();
    let screen = replace.screen();
    assert_eq!(code, 3, "{screen}");
    assert!(screen.contains("cannot write"), "{screen}");
    assert!(!screen.contains("goes on"), "{screen}");
    let ended = wait_until("the daemon's end", timeout(), || daemon.child().try_exit());
    assert_eq!(ended.code(), Some(3), "{:?}", daemon.child().stderr());
    std::fs::remove_dir(&published).unwrap();
    let _daemon = project.daemon();
}

#[test]
fn a_detached_daemon_answers_before_its_starter_ends_and_stops_on_sigterm() {
    let project = Project::new();
    let first = project
        .run(["daemon", "--detach", "--json"])
        .expect_success()
        .json();
    let again = project
        .run(["daemon", "--detach", "--json"])
        .expect_success()
        .json();
    assert_eq!(first, again, "a second start finds the first");
    assert_eq!(first["controlPort"], project.ports.control);
    let status = project.run(["status", "--json"]).expect_success().json();
    assert_eq!(
        (&status["running"], &status["detached"]),
        (&json!(true), &json!(true))
    );

    let pid = u32::try_from(first["pid"].as_u64().unwrap()).unwrap();
    let raw = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
    assert_eq!(
        rustix::process::getsid(Some(raw)).unwrap(),
        raw,
        "a session of its own"
    );
    project.end_daemon();
    assert!(!project.state().join("state/ports.json").exists());
    assert_eq!(project.run(["ledger", "verify"]).code(), 0);
    let last = project.ledger().pop().unwrap();
    assert_eq!(last["runtimeEvent"]["event"], "daemon_stopped", "{last}");
}

#[test]
fn claude_is_started_with_the_plugin_and_the_users_own_words() {
    let project = Project::new();
    let dry = project
        .run(["claude", "--dry-run", "-p", "it's me"])
        .expect_success();
    assert!(
        dry.stdout
            .contains("--allowedTools=mcp__plugin_contextrelay_contextrelay"),
        "{dry:?}"
    );
    assert!(
        dry.stdout.trim_end().ends_with(r"-p 'it'\''s me'"),
        "{dry:?}"
    );
    assert!(!project.state().exists(), "a dry run makes nothing");

    script(
        &project,
        "claude",
        r#"for word; do printf '%s\n' "$word"; done"#,
    );
    let real = run(&project.ctxrelay(["claude", "--model", "x", "say hi"])).expect_success();
    let words: Vec<&str> = real.stdout.lines().collect();
    assert_eq!(words[0], "--plugin-dir");
    let kept = ["--settings", r#"{"disableAllHooks":false}"#];
    assert_eq!(words[3..5], kept);
    assert_eq!(words[5..], ["--model", "x", "say hi"]);
    let manifest = Path::new(words[1]).join(".claude-plugin/plugin.json");
    let manifest = std::fs::read_to_string(manifest).unwrap();
    assert!(
        manifest.contains(env!("CARGO_BIN_EXE_ctxrelay")),
        "{manifest}"
    );
    let status = project.run(["status", "--json"]).expect_success().json();
    assert_eq!(status["running"], true, "the daemon was started");
    let checks = project.run(["doctor", "--json"]).json();
    let plugin = checks["checks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|check| check["id"] == "plugin")
        .unwrap()
        .clone();
    assert_eq!(plugin["ok"], true, "{plugin}");
    project.end_daemon();
}

#[test]
fn codex_is_shown_with_its_token_hidden() {
    let project = Project::new();
    let dry = project.run(["codex", "--dry-run"]).expect_success();
    let port = project.ports.proxy;
    assert!(
        dry.stdout.contains(&format!(
            "--remote ws://127.0.0.1:{port} --remote-auth-token-env CONTEXTRELAY_PROXY_TOKEN"
        )),
        "{dry:?}"
    );
    assert!(dry.stdout.contains("resume THREAD"), "{dry:?}");
    // It has that already, and Codex would only say that it takes no more.
    for before in [[].as_slice(), &["-m", "gpt-5.5"]] {
        let words = ["codex", "--dry-run"].iter().chain(before);
        let refused = project.run(words.chain(&["resume", "another"]).copied());
        assert_eq!(refused.code(), 2);
        assert!(refused.stderr.contains("/resume"), "{refused:?}");
    }
    let taken = project.run(["codex", "--dry-run", "--profile", "resume"]);
    assert!(taken.expect_success().stdout.contains("--profile resume"));
}

#[test]
fn the_users_codex_configuration_changes_only_when_asked() {
    let project = Project::new();
    let log = project.base().join("codex.log");
    script(
        &project,
        "codex",
        &format!(
            r#"if [ "$2" = list ]; then printf '[{{"name":"contextrelay","enabled":true,"transport":{{"command":"old","args":["x"],"env":{{"K":"secret-value"}}}}}}]'; else printf '%s\n' "$*" >> '{}'; fi"#,
            log.display()
        ),
    );
    let install = project.ctxrelay(["codex-mcp", "install"]);
    let refused = run(&install.env("CONTEXTRELAY_RUNTIME_SESSION", "left"));
    assert_eq!(refused.code(), 5);
    assert!(
        refused
            .stderr
            .contains("CONTEXTRELAY_RUNTIME_SESSION is set"),
        "{refused:?}"
    );
    assert!(
        refused.stderr.contains("replaces the entry") && refused.stderr.contains("old x"),
        "{refused:?}"
    );
    assert!(!refused.stderr.contains("secret-value"));
    assert!(!log.exists());

    let install = project.ctxrelay(["codex-mcp", "install", "--yes"]);
    run(&install.env("CONTEXTRELAY_RUNTIME_SESSION", "left")).expect_success();
    let said = std::fs::read_to_string(&log).unwrap();
    assert!(said.starts_with("mcp add contextrelay "), "{said}");
    let own = env!("CARGO_BIN_EXE_ctxrelay");
    // It serves every project: the folder says which, and no variable of this one does.
    assert!(
        said.trim_end()
            .ends_with(&format!("-- {own} codex-mcp server")),
        "{said}"
    );
    assert!(!said.contains("CONTEXTRELAY_RUNTIME_SESSION"), "{said}");
    let status = project
        .run(["codex-mcp", "status", "--json"])
        .expect_success()
        .json();
    assert_eq!(status["state"], "foreign");
}

/// Codex gives a server HOME and no other variable that says where the registry is.
#[cfg(not(target_os = "macos"))]
#[test]
fn the_entry_for_codex_names_a_registry_that_its_home_does_not_lead_to() {
    let project = Project::new();
    let log = project.base().join("codex.log");
    let body = format!(
        r#"if [ "$2" = list ]; then echo '[]'; else printf '%s\n' "$*" > '{}'; fi"#,
        log.display()
    );
    script(&project, "codex", &body);
    let added = |launch: Launch| {
        run(&launch).expect_success();
        let said = std::fs::read_to_string(&log).unwrap();
        let (options, _) = said.split_once("-- ").unwrap();
        options.to_owned()
    };
    let install = || project.ctxrelay(["codex-mcp", "install", "--yes"]);
    let begin = "mcp add contextrelay ";
    let named = |registry: &Path| {
        format!(
            "{begin}--env CONTEXTRELAY_REGISTRY_DIR={} ",
            registry.display()
        )
    };
    assert_eq!(added(install()), named(&project.registry()));
    let of_xdg = install().env_remove("CONTEXTRELAY_REGISTRY_DIR");
    let registry = project.base().join("xdg/state/contextrelay");
    assert_eq!(added(of_xdg), named(&registry));
    let of_home = install().env_remove("CONTEXTRELAY_REGISTRY_DIR");
    assert_eq!(added(of_home.env_remove("XDG_STATE_HOME")), begin);
}

#[test]
fn init_may_be_repeated_and_uninit_gives_the_users_files_back() {
    let project = Project::new();
    let mine = "# My rules\n\n- be kind\n";
    project.write("CLAUDE.md", mine);
    let dry = project
        .run(["init", "--dry-run", "--json"])
        .expect_success()
        .json();
    assert!(
        dry["steps"]
            .as_array()
            .unwrap()
            .iter()
            .all(|step| step["state"] == "would"),
        "{dry}"
    );
    assert!(!project.state().exists());

    // Nobody to ask: our own things are made, the user's files stay.
    project.run(["init"]).expect_success();
    assert_eq!(project.read("CLAUDE.md"), mine);
    assert!(!project.root().join("AGENTS.md").exists());
    assert_eq!(project.ledger()[0]["type"], "session_started");

    project.run(["init", "--yes"]).expect_success();
    let with = project.read("CLAUDE.md");
    assert!(
        with.starts_with(mine) && with.contains("ctxrelay:begin"),
        "{with}"
    );
    let entries = project.ledger().len();
    let again = project
        .run(["init", "--yes", "--json"])
        .expect_success()
        .json();
    assert!(
        again["steps"]
            .as_array()
            .unwrap()
            .iter()
            .all(|step| step["state"] == "there"),
        "{again}"
    );
    assert_eq!(project.read("CLAUDE.md"), with);
    assert_eq!(project.ledger().len(), entries);

    // As of a daemon that is just starting: it answers nobody yet.
    let starting = std::fs::File::open(project.state().join("state/daemon.lock")).unwrap();
    starting.lock().unwrap();
    let refused = project.run(["uninit", "--yes"]);
    assert_eq!(refused.code(), 3, "{refused:?}");
    assert!(refused.stderr.contains("starting or ending"), "{refused:?}");
    assert_eq!(project.read("CLAUDE.md"), with);
    starting.unlock().unwrap();

    project.run(["uninit", "--yes"]).expect_success();
    assert_eq!(project.read("CLAUDE.md"), mine);
    assert!(!project.root().join("AGENTS.md").exists());
    assert!(
        project.state().exists(),
        "the record is deleted by its operator alone"
    );
    let (code, screen) = confirm(&project.ctxrelay(["uninit"]), "Type `delete`", "delete");
    assert_eq!(code, 0, "{screen}");
    assert!(!project.state().exists());
}

#[test]
fn uninit_deletes_the_state_wherever_it_lies_and_nothing_that_is_not_the_projects() {
    let project = Project::new();
    let state = project.base().join("elsewhere");
    let with = |args: &[&'static str], state: &Path| {
        let launch = project.ctxrelay(args.iter().copied());
        launch.env("CONTEXTRELAY_STATE_DIR", state)
    };
    let begin = ["init", "--instructions", "skip"];
    run(&with(&begin, &state)).expect_success();
    assert!(state.join("token").is_file());
    // Any folder may be named, also one that holds something else.
    std::fs::write(state.join("thesis"), "mine").unwrap();
    let dry = run(&with(&["uninit", "--dry-run"], &state)).expect_success();
    assert!(dry.stdout.contains(state.to_str().unwrap()), "{dry:?}");
    let mut uninit = Pty::spawn(&with(&["uninit"], &state));
    uninit.wait_for_text("Type `delete`");
    uninit.type_text("delete\r");
    assert_eq!(uninit.wait_exit(), 0, "{}", uninit.screen());
    let said = String::from_utf8_lossy(&uninit.transcript()).into_owned();
    let asked = format!(
        "and its state in {} and what is known of the record in ",
        state.display()
    );
    assert!(said.contains(&asked), "{said}");
    assert!(!project.state().exists());
    let left = std::fs::read_dir(&state).unwrap();
    let left: Vec<_> = left.map(|file| file.unwrap().file_name()).collect();
    assert_eq!(left, ["thesis"]);

    // The variable names a folder in which the state of this project never was.
    let theirs = project.base().join("theirs");
    std::fs::create_dir(&theirs).unwrap();
    std::fs::write(theirs.join("thesis"), "mine").unwrap();
    project.run(begin).expect_success();
    let (code, screen) = confirm(&with(&["uninit"], &theirs), "Type `delete`", "delete");
    assert_eq!(code, 0, "{screen}");
    assert!(!project.state().exists());
    assert!(theirs.join("thesis").is_file());
}

#[test]
fn a_file_that_init_makes_has_the_rights_that_the_umask_leaves() {
    for (umask, rights) in [("077", 0o600), ("022", 0o644)] {
        let project = Project::new();
        let init = format!("umask {umask}; exec \"$0\" init --yes");
        let program = env!("CARGO_BIN_EXE_ctxrelay");
        let launch = project.program("sh").envs(project.env());
        run(&launch.args(["-c", init.as_str(), program])).expect_success();
        let made = project.root().join("AGENTS.md").metadata().unwrap();
        assert_eq!(made.permissions().mode() & 0o777, rights, "umask {umask}");
    }
}

#[test]
fn what_is_written_while_init_and_uninit_ask_stays() {
    let project = Project::new();
    let append = |name: &str| {
        let path = project.root().join(name);
        let mut file = std::fs::File::options().append(true).open(path).unwrap();
        file.write_all(b"written meanwhile\n").unwrap();
    };
    project.write("CLAUDE.md", "# My rules\n");
    let mut init = Pty::spawn(&project.ctxrelay(["init"]));
    init.wait_for_text("Change CLAUDE.md? [y/N]");
    append("CLAUDE.md");
    init.type_text("y\r");
    init.wait_for_text("Change AGENTS.md? [y/N]");
    init.type_text("n\r");
    assert_eq!(init.wait_exit(), 0);
    init.wait_for_text("CLAUDE.md was changed meanwhile; run it again");
    assert_eq!(project.read("CLAUDE.md"), "# My rules\nwritten meanwhile\n");

    project.run(["init", "--yes"]).expect_success();
    let names = ["CLAUDE.md", "AGENTS.md"];
    let with = names.map(|name| project.read(name));
    let mut uninit = Pty::spawn(&project.ctxrelay(["uninit"]));
    // The first one would lose the block, and the second one, which holds nothing else, be removed.
    for name in names {
        uninit.wait_for_text(&format!("Change {name}? [y/N]"));
        append(name);
        uninit.type_text("y\r");
    }
    uninit.wait_for_text("Type `delete`");
    uninit.type_text("no\r");
    assert_eq!(uninit.wait_exit(), 0);
    for (name, with) in names.into_iter().zip(with) {
        uninit.wait_for_text(&format!("{name} was changed meanwhile; run it again"));
        assert_eq!(project.read(name), format!("{with}written meanwhile\n"));
    }
}

#[test]
fn recover_tells_where_the_work_stands() {
    let project = Project::new();
    let daemon = project.daemon();
    let mut socket = project.agent("codex");
    let mut note = |kind: &str, text: &str| {
        let params = json!({"agent": "codex", "kind": kind, "text": text});
        socket.expect("note/append", params);
    };
    note("goal", "nobody is logged out");
    note("plan", "an old plan");
    note("plan", "one lock over it all");
    note("decision", "no counter is needed");
    note("next_step", "run it under load");
    note("question", "is the index made at night?");
    note("blocker", "there is no database");
    // More than a snapshot keeps.
    for number in 0..60 {
        note("note", &format!("remark {number}"));
    }
    let question = socket.expect(
        "message/send",
        json!({"from": "codex", "text": "may I drop the table?", "requireReply": true}),
    )["value"]["messageId"]
        .clone();
    let proposal = socket.expect(
        "finality/propose",
        json!({"agent": "codex", "summary": "the lock is in", "evidence": ["tests"]}),
    )["value"]
        .clone();
    let blockers = [
        "by codex stands: there is no database".to_owned(),
        format!(
            "question {} of codex to claude has no answer: may I drop the table?",
            question.as_str().unwrap()
        ),
    ];
    let is_told = |said: &Value| {
        let said = said["blockers"].as_array().unwrap().clone();
        let mut said = said.iter().map(|blocker| blocker.as_str().unwrap());
        blockers
            .iter()
            .all(|blocker| said.any(|said| said.ends_with(blocker)))
    };
    assert!(is_told(&proposal), "{proposal}");
    daemon.stop();

    let told = project.run(["recover", "--json"]).expect_success().json();
    assert_eq!(told["goal"]["text"], "nobody is logged out");
    assert_eq!(told["plan"]["text"], "one lock over it all");
    assert_eq!(told["nextStep"]["text"], "run it under load");
    assert_eq!(told["decisions"][0]["text"], "no counter is needed");
    assert_eq!(told["blockers"][0]["text"], "there is no database");
    assert_eq!(told["openQuestions"][0]["id"], question);
    let noted = &told["notedQuestions"][0];
    assert_eq!(noted["text"], "is the index made at night?");
    assert_eq!(told["proposals"][0]["id"], proposal["proposalId"]);
    assert!(is_told(&told["proposals"][0]), "{told}");
    for agent in ["claude", "codex"] {
        let resume = told["resume"][agent].as_str().unwrap();
        assert!(resume.contains("nobody is logged out"), "{resume}");
        assert!(resume.contains("reference, not orders"), "{resume}");
        let blocker = told["blockers"][0]["id"].as_str().unwrap();
        let blocker = format!("- blocker {blocker} by codex: there is no database\n");
        assert!(resume.contains(&blocker), "{resume}");
        let asked = match agent {
            "claude" => "codex waits for your answer to",
            _ => "you wait for an answer of claude to",
        };
        assert!(resume.contains(asked), "{resume}");
        let prompt = project.run(["recover", "--prompt", agent]);
        // All but the time of the day.
        let work = |text: &str| text.split_once("\n## ").unwrap().1.trim_end().to_owned();
        assert_eq!(work(&prompt.expect_success().stdout), work(resume));
    }
    // Claude never was here: there is no conversation to go on with.
    let commands = json!({"claude": "ctxrelay claude", "codex": "ctxrelay codex"});
    assert_eq!(told["commands"], commands);
    let printed = project.run(["recover"]).expect_success().stdout;
    for text in [
        "nobody is logged out",
        "one lock over it all",
        "no counter is needed",
        "there is no database",
        "run it under load",
        "codex: the lock is in",
        "codex → claude: may I drop the table?",
        "Open questions  2\n",
        "codex: is the index made at night?",
    ] {
        assert!(printed.contains(text), "no {text:?} in {printed}");
    }
    assert!(!printed.contains("an old plan"), "{printed}");
}

#[test]
fn recover_tells_what_is_open() {
    let project = Project::new();
    let daemon = project.daemon();
    let mut socket = project.agent("codex");
    let sent = socket.expect(
        "handoff/create",
        json!({"from": "codex", "ask": "check the parser", "reason": "it is yours"}),
    );
    let id = sent["value"]["messageId"].as_str().unwrap().to_owned();
    for _ in 0..2 {
        let told = project.run(["recover", "--json"]).expect_success().json();
        assert_eq!(told["openHandoffs"][0]["ask"], "check the parser");
        assert_eq!(told["undelivered"][0]["id"], json!(id));
        assert!(
            told["resume"]["claude"]
                .as_str()
                .unwrap()
                .contains("check the parser")
        );
        // The one is asked, the other is told that it is not.
        let codex = told["resume"]["codex"].as_str().unwrap();
        let waits = format!("handoff {id} waits for Claude: check the parser");
        assert!(codex.contains(&waits), "{codex}");
        assert!(!codex.contains("In progress, yours"), "{codex}");
        assert!(told["git"]["commit"].is_string());
    }
    let queue = || {
        project
            .run(["queue", "list", "--json"])
            .expect_success()
            .json()
    };
    let row = queue()["messages"][0].clone();
    assert_eq!(
        (&row["id"], &row["to"], &row["state"]),
        (&json!(id), &json!("claude"), &json!("queued"))
    );
    daemon.stop();
    assert_eq!(
        queue()["messages"][0]["id"],
        json!(id),
        "from the record alone"
    );
}

#[test]
fn recover_names_branch_and_files_and_masks_what_stands_in_their_names() {
    let project = Project::new();
    let daemon = project.daemon();
    let mut socket = project.agent("codex");
    let note = json!({"agent": "codex", "kind": "goal", "text": "sort it"});
    socket.expect("note/append", note);
    daemon.stop();
    project.git(&["switch", "--quiet", "--create", "plums"]);
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    project.write(&format!("token {secret} .txt"), "x");
    for number in 0..25 {
        project.write(&format!("zz-{number:02}\u{1b}[2J.txt"), "x");
    }

    let told = project.run(["recover", "--json"]).expect_success().json();
    let git = &told["git"];
    assert_eq!(git["branch"], "plums");
    assert!(
        git["commit"].is_string() && git["tree"].is_string(),
        "{git}"
    );
    let named = git["files"].as_array().unwrap();
    assert_eq!(named.len(), 20, "{git}");
    assert!(git["changed"].as_u64() >= Some(26), "{git}");
    for agent in ["claude", "codex"] {
        let resume = told["resume"][agent].as_str().unwrap();
        assert!(resume.contains("plums at "), "{resume}");
        assert!(!resume.contains(&secret), "{resume}");
        assert!(resume.chars().count() < 9_000, "{resume}");
    }
    let printed = project.run(["recover"]).expect_success().stdout;
    let changed = git["changed"].as_u64().unwrap();
    assert!(
        printed.contains(&format!("{changed} files changed")),
        "{printed}"
    );
    assert!(
        printed.contains(&format!("and {} more", changed - 20)),
        "{printed}"
    );
    assert!(!printed.contains('\u{1b}'), "{printed:?}");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let project = Project::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    for args in [
        &["completions", "bash"][..],
        &["--help"],
        &["status", "--json"],
    ] {
        let mut command = project.ctxrelay(args.iter().copied()).command();
        let output = command
            .stdout(writer.try_clone().unwrap())
            .stderr(std::process::Stdio::piped());
        let output = output.spawn().unwrap().wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert!(output.stderr.is_empty(), "{args:?}: {output:?}");
    }
    assert!(
        run(&project.ctxrelay(["man"]))
            .expect_success()
            .stdout
            .contains(".TH")
    );
}

#[test]
fn shells_offer_and_the_page_shows_what_can_be_used_and_nothing_else() {
    let project = Project::new();
    let printed = |args: &[&str]| {
        run(&project.ctxrelay(args.iter().copied()))
            .expect_success()
            .stdout
    };
    for shell in ["bash", "zsh", "fish"] {
        let script = printed(&["completions", shell]);
        for shown in ["capsule", "handoff", "json"] {
            assert!(script.contains(shown), "{shell}: {shown}");
        }
        for hidden in ["demo-codex", "doorbell", "keep-awake", "autonomy"] {
            assert!(!script.contains(hidden), "{shell}: {hidden}");
        }
        for help in ["-a \"help\"", "__help", "(help)"] {
            assert!(
                !script.contains(help),
                "{shell}: {help} is no command of ours"
            );
        }
    }
    // Where a word is wanted, the words are offered, and no names of files.
    let script = printed(&["completions", "bash"]);
    for words in [
        r#"compgen -W "claude codex cursor opencode markdown""#,
        r#"compgen -W "session_started message handoff note"#,
        r#"compgen -W "claude codex human system""#,
        " read write shell network ",
    ] {
        assert!(script.contains(words), "{words}");
    }
    let page = printed(&["man"]);
    let text = page.replace("\\-", "-");
    for shown in [
        ".SS \"ctxrelay capsule export\"",
        "--patch",
        ".SS \"ctxrelay operator key new\"",
        "Example: ctxrelay man",
    ] {
        assert!(text.contains(shown), "{shown}: {text}");
    }
    // No page of ours has such a name.
    for other in ["ctxrelay-init", "demo-codex", "keep-awake"] {
        assert!(!text.contains(other), "{other}");
    }
}

#[test]
fn a_hook_without_a_daemon_is_silent_and_ends_well() {
    let project = Project::new();
    for project_dir in [
        project.root().display().to_string(),
        "/nowhere".to_owned(),
        String::new(),
    ] {
        let launch = project.ctxrelay(["hook", "UserPromptSubmit", "--project", &project_dir]);
        let mut child = Child::spawn(&launch);
        child.close_stdin();
        let finished = child.wait();
        assert_eq!(
            (finished.code(), finished.stdout.as_str()),
            (0, ""),
            "{finished:?}"
        );
    }
    assert!(!project.state().exists());
}

#[test]
fn what_claude_runs_ends_also_where_its_input_stays_open() {
    let project = Project::live();
    for args in [
        &["hook", "Stop"][..],
        &["hook", "PreToolUse"],
        &["statusline"],
    ] {
        let mut child = Child::spawn(&project.ctxrelay(args.iter().copied()));
        child.write_line("{}").unwrap();
        // Not by its own `wait`, which closes the input.
        let what = format!("the end of {args:?}");
        let ended = wait_until(&what, timeout(), || child.try_exit());
        assert!(ended.success(), "{args:?}: {ended:?}");
    }
}

#[test]
fn redact_shows_what_the_record_would_hold() {
    let project = Project::new();
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    let path = project.write("notes.txt", &format!("plain\ntoken {secret}\n"));
    let checked = project.run(["redact", "--check", path.to_str().unwrap(), "--json"]);
    assert_eq!(checked.code(), 6);
    assert_eq!(checked.json()["lines"][0]["line"], 2);
    assert!(!checked.stdout.contains(&secret));
    let clean = project.write("clean.txt", "nothing here\n");
    assert_eq!(
        project
            .run(["redact", "--check", clean.to_str().unwrap()])
            .code(),
        0
    );
}
