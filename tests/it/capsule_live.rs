//! What a task is made of while it is worked on, and what of one from elsewhere counts as done here.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::capsule::{clone_of, done, in_terminal, json_of, listed, login, note};
use crate::capsule_readme::wrote;
use crate::support::child::run;
use crate::support::fake_gh::comment;
use crate::support::gate_scene::Scene;
use crate::support::operator::Operator;
use crate::support::project::Project;
use crate::support::pty::Pty;
use crate::support::wait::{timeout, wait_until};

/// What an entry is, in a word: the kind of a runtime event, else its type.
fn word(entry: &Value) -> &str {
    let event = entry["runtimeEvent"]["kind"].as_str();
    event.or(entry["type"].as_str()).unwrap()
}

#[test]
fn notes_handoffs_artifacts_and_what_turns_touch_carry_the_task_that_is_current() {
    let project = Project::live();
    done(&project, &["new", "Fix the login"]);
    let id = listed(&project)[0]["id"].as_str().unwrap().to_owned();
    let mut claude = project.agent("claude");
    let artifact = |title: &str| {
        json!({"agent": "claude", "kind": "test_report", "title": title,
            "summary": "all is well", "status": "passed", "evidence": []})
    };
    let ask = json!({"from": "claude", "ask": "look at it", "reason": "you know the cache"});
    note(
        &mut claude,
        "claude",
        "decision",
        "tokens live for one hour",
    );
    claude.expect("artifact/record", artifact("unit tests"));
    claude.expect("handoff/create", ask);
    wrote(&project, "src/login.rs");
    let of_task = || -> Vec<Value> {
        let entries = project.ledger().into_iter();
        entries
            .filter(|entry| entry["meta"]["task"] == json!(id))
            .collect()
    };
    // What the turn touched is recorded behind its end.
    let carrying = wait_until("the files of the turn", timeout(), || {
        let entries = of_task();
        let files = entries.iter().any(|entry| word(entry) == "turn_files");
        files.then_some(entries)
    });
    let words: Vec<&str> = carrying.iter().map(word).collect();
    for kind in ["note", "artifact", "handoff", "turn_files"] {
        assert!(words.contains(&kind), "{kind}: {words:?}");
    }
    // They are what is shown of it.
    let shown = wait_until("what is shown", timeout(), || {
        let shown = project.run(["capsule", "show", &id, "--json"]);
        let shown = shown.expect_success().json();
        (shown["touched"][0]["path"] == "src/login.rs").then_some(shown)
    });
    assert_eq!(shown["verification"][0]["name"], "unit tests");
    assert_eq!(shown["handoffs"][0]["ask"], "look at it");
    // What comes after its end is not its own.
    done(&project, &["close", &id]);
    let before = of_task().len();
    claude.expect("artifact/record", artifact("later tests"));
    let is_there = |entry: &Value| entry["artifact"]["title"] == "later tests";
    wait_until("the later artifact", timeout(), || {
        project.ledger().iter().any(is_there).then_some(())
    });
    assert_eq!(of_task().len(), before);
}

#[test]
fn a_task_is_handed_to_the_claude_that_is_here_or_to_the_pair_that_is_named() {
    let project = Project::live();
    let id = login(&project);
    // The daemon hears a moment later that who said something for it has gone.
    wait_until("the end of that Claude", timeout(), || {
        let status = project.status_of_daemon()?;
        (status["agents"]["claude"]["state"] == "offline").then_some(())
    });
    let claude_of = |pair: &str| {
        let mut socket = project.control_of("claude").unwrap();
        let hello = json!({"protocol": 1, "role": "claude", "pid": 4_000_000,
            "runtimeSessionId": pair});
        socket.expect("hello", hello);
        socket
    };
    let _left = claude_of("left");
    let handed = |more: &[&str]| -> Value {
        let args = [&["handoff", &id, "--to", "claude", "--send"], more].concat();
        done(&project, &args);
        let entries = project.ledger().into_iter();
        let mut handoffs = entries.filter(|entry| entry["type"] == "handoff");
        handoffs.next_back().unwrap()["meta"]["runtimeSessionId"].clone()
    };
    // Nobody of this shell's own pair is here.
    assert_eq!(handed(&[]), "left");
    let _right = claude_of("right");
    assert_eq!(handed(&["--pair", "right"]), "right");
    assert_eq!(handed(&["--pair", "left"]), "left");
    let args = [
        "handoff", &id, "--to", "claude", "--send", "--pair", "nobody",
    ];
    let (code, screen) = in_terminal(&project, &args);
    assert_eq!(code, 2, "{screen}");
    assert!(screen.contains("there is no pair `nobody`"), "{screen}");
}

/// The handoffs that `capsule log` tells of a task, and those that its capsule has.
fn handed_over(project: &Project, id: &str) -> (usize, usize) {
    let log = json_of(project, "log", id);
    let entries = log["entries"].as_array().unwrap().iter();
    let handoffs = entries.filter(|entry| entry["type"] == "handoff").count();
    let shown = json_of(project, "show", id);
    (handoffs, shown["handoffs"].as_array().unwrap().len())
}

#[test]
fn a_task_that_is_handed_over_is_so_in_its_own_log_whichever_one_is_current() {
    let project = Project::live();
    let open = login(&project);
    done(&project, &["new", "Fix the logout"]);
    let of_title = |title: &str| {
        let all = listed(&project);
        let row = all.iter().find(|row| row["title"] == title).unwrap();
        row["id"].as_str().unwrap().to_owned()
    };
    let closed = of_title("Fix the logout");
    done(&project, &["close", &closed]);
    // One from elsewhere.
    let other = Project::new();
    let other_daemon = other.daemon();
    let foreign = login(&other);
    let out = other.base().join("login.ctxcapsule.json");
    let file = out.to_str().unwrap();
    done(&other, &["export", &foreign, "-o", file]);
    drop(other_daemon);
    done(&project, &["import", file, "--apply"]);
    done(&project, &["new", "Fix the crash"]);
    let current = of_title("Fix the crash");
    let before = json_of(&project, "show", &current);
    for (id, to) in [(&open, "codex"), (&closed, "claude"), (&foreign, "codex")] {
        done(&project, &["handoff", id, "--to", to, "--send"]);
    }
    assert_eq!(handed_over(&project, &open), (1, 1));
    // It was over, or is somebody else's: only that it was handed over is told.
    assert_eq!(handed_over(&project, &closed), (1, 0));
    let of_foreign = json_of(&project, "log", &foreign);
    assert_eq!(
        of_foreign["entries"].as_array().unwrap().last().unwrap()["type"],
        "handoff"
    );
    // Nothing of it is the current one's, which goes out as it was.
    assert_eq!(handed_over(&project, &current), (0, 0));
    assert_eq!(json_of(&project, "show", &current), before);
    // That one is told in its own.
    done(&project, &["handoff", &current, "--to", "codex", "--send"]);
    assert_eq!(handed_over(&project, &current), (1, 1));
}

/// A gate that the operator trusts.
fn with_gate(project: &Project) {
    with_gates(project, &["tests"]);
}

fn with_gates(project: &Project, names: &[&str]) {
    with_gates_of(project, names, "true");
}

fn with_gates_of(project: &Project, names: &[&str], cmd: &str) {
    let gates = names.iter().map(|name| json!({"name": name, "cmd": cmd}));
    let gates = json!({ "gates": gates.collect::<Vec<_>>() });
    project.write(".contextrelay/config.json", &gates.to_string());
    let mut pty = Pty::spawn(&project.ctxrelay(["trust"]));
    pty.wait_for_text("Type `trust`");
    pty.type_text("trust\r");
    assert_eq!(pty.wait_exit(), 0, "{}", pty.screen());
}

#[test]
fn what_a_gate_came_to_elsewhere_is_no_evidence_here() {
    let project = Project::new();
    let daemon = project.daemon();
    with_gate(&project);
    done(&project, &["new", "Fix the login"]);
    let id = listed(&project)[0]["id"].as_str().unwrap().to_owned();
    let mut operator = Operator::connect(&project);
    operator.call("gates/run", json!({})).unwrap();
    wait_until("the end of the gate", timeout(), || {
        let told = operator.call("gates/list", json!({})).unwrap();
        (!told["value"]["ended"].is_null()).then_some(())
    });
    let out = project.base().join("login.ctxcapsule.json");
    let file = out.to_str().unwrap();
    done(&project, &["export", &id, "-o", file]);
    drop(operator);
    daemon.stop();
    let capsule: Value = serde_json::from_slice(&fs::read(&out).unwrap()).unwrap();
    let run = &capsule["verification"][0];
    assert_eq!(
        (&run["name"], &run["status"], &run["verified"]),
        (&json!("tests"), &json!("passed"), &json!(true))
    );

    let clone = clone_of(&project);
    let _daemon = clone.daemon();
    with_gate(&clone);
    done(&clone, &["import", file, "--apply"]);
    let scene = Scene::new(&clone);
    let approve = ["finality", "approve", &scene.proposal];
    let mut line = Pty::spawn(&clone.ctxrelay(approve));
    assert_eq!(line.wait_exit(), 6, "{}", line.screen());
    let screen = line.screen();
    assert!(
        screen.contains("required gate tests has not run"),
        "{screen}"
    );
}

#[test]
fn what_ran_on_another_tree_is_stale_in_the_capsule_itself_and_what_did_not_run_is_listed() {
    let project = Project::live();
    with_gates(&project, &["tests", "lint"]);
    done(&project, &["new", "Fix the login"]);
    let id = listed(&project)[0]["id"].as_str().unwrap().to_owned();
    let mut pty = Pty::spawn(&project.ctxrelay(["gates", "run", "tests"]));
    assert_eq!(pty.wait_exit(), 0, "{}", pty.screen());
    let out = project.base().join("login.ctxcapsule.json");
    let stands = |is_current: bool, shown: &str, told: &str| {
        let file = out.to_str().unwrap();
        done(&project, &["export", &id, "--force", "-o", file]);
        let capsule: Value = serde_json::from_slice(&fs::read(&out).unwrap()).unwrap();
        let runs = capsule["verification"].as_array().unwrap();
        assert_eq!(runs.len(), 1, "{capsule}");
        assert_eq!(
            (&runs[0]["name"], &runs[0]["verified"], &runs[0]["current"]),
            (&json!("tests"), &json!(true), &json!(is_current))
        );
        assert_eq!(
            runs[0]["tree"] == capsule["git"]["tree"],
            is_current,
            "{capsule}"
        );
        assert_eq!(capsule["notRun"], json!(["lint"]));
        let show = project.run(["capsule", "show", &id]).expect_success();
        assert!(show.stdout.contains(shown), "{}", show.stdout);
        let args = ["capsule", "handoff", &id, "--to", "codex"];
        let handoff = project.run(args).expect_success().stdout;
        assert!(handoff.contains(told), "{handoff}");
        assert!(handoff.contains("- lint\n"), "{handoff}");
    };
    let told = "tests passed (verified on the tree that this was made on, exit code 0)";
    stands(true, "tests: passed (verified)", told);
    project.write("README.md", "# Later\n");
    let told = "tests passed (verified on another tree, exit code 0)";
    stands(false, "tests: passed (verified, on another tree)", told);
}

#[test]
fn work_that_was_handed_over_for_a_task_and_that_nobody_is_asked_for_any_more_can_be_ended() {
    let project = Project::live();
    done(&project, &["new", "Fix the login"]);
    let id = listed(&project)[0]["id"].as_str().unwrap().to_owned();
    let mut operator = Operator::connect(&project);
    let mut claude = project.agent("claude");
    let mut hand_over = |ask: &str| -> String {
        let handoff = json!({"from": "claude", "ask": ask, "reason": "you know the cache"});
        let handed = claude.expect("handoff/create", handoff);
        handed["value"]["messageId"].as_str().unwrap().to_owned()
    };
    // Its session was put away, or it was taken back before anybody had it.
    let put_away = hand_over("look at it");
    operator.when_quiet("ledger/clear", json!({})).unwrap();
    let taken_back = hand_over("test it");
    let remove = json!({"id": taken_back, "change": "remove"});
    operator.when_quiet("queue/change", remove).unwrap();
    operator.when_quiet("ledger/compact", json!({})).unwrap();
    let states = || -> Vec<Value> {
        let capsule = json_of(&project, "show", &id);
        let handoffs = capsule["handoffs"].as_array().unwrap().iter();
        handoffs.map(|handoff| handoff["state"].clone()).collect()
    };
    assert_eq!(states(), ["open", "closed"]);
    let recovered = project.run(["recover", "--json"]).expect_success().json();
    assert_eq!(recovered["openHandoffs"], json!([]));
    let close = |handoff: &str| {
        let args = ["handoff", "close", handoff];
        let mut pty = Pty::spawn(&project.ctxrelay(args));
        pty.wait_for_text("Type `close`");
        pty.type_text("close\r");
        assert_eq!(pty.wait_exit(), 0, "{}", pty.screen());
        assert_eq!(project.run(args).code(), 3, "it is over");
        pty.screen()
    };
    let screen = close(&put_away);
    assert!(screen.contains("look at it"), "{screen}");
    let args = ["handoff", "close", taken_back.as_str()];
    assert_eq!(project.run(args).code(), 3, "it is over");
    assert_eq!(states(), ["closed", "closed"]);
    // One that is taken back and closed before the session ends.
    let both = hand_over("weigh it");
    let remove = json!({"id": both, "change": "remove"});
    operator.when_quiet("queue/change", remove).unwrap();
    close(&both);
    for _ in 0..2 {
        assert_eq!(states(), ["closed", "closed", "closed"]);
        let show = project.run(["capsule", "show", &id]).expect_success();
        let told = "claude → codex, closed: weigh it";
        assert!(show.stdout.contains(told), "{}", show.stdout);
        let args = ["capsule", "handoff", &id, "--to", "markdown"];
        let text = project.run(args).expect_success().stdout;
        assert!(!text.contains("is answered"), "{text}");
        assert!(text.contains("is closed: weigh it"), "{text}");
        operator.when_quiet("ledger/compact", json!({})).unwrap();
    }
}

/// A project with a task of which more was said, asked and run than a capsule has room for, more than a
/// log shows unasked; its id, and of each section the texts of which some are left out.
fn with_more_than_has_room(project: &Project) -> (String, Vec<(&'static str, Vec<String>)>) {
    let numbered = |count: usize, text: fn(usize) -> String| (0..count).map(text).collect();
    let constraints: Vec<String> = numbered(53, |number| {
        let text = format!("constraint {number:02} {}", "it must hold. ".repeat(135));
        text.trim_end().to_owned()
    });
    let claims: Vec<String> = numbered(20, |number| format!("claim {number:02} of Claude's"));
    let gates: Vec<String> = numbered(12, |number| format!("gate-{number:02}-{}", "x".repeat(30)));
    let findings: Vec<String> = numbered(5, |number| format!("finding {number:02} of a review"));
    let names: Vec<&str> = gates.iter().map(String::as_str).collect();
    with_gates_of(project, &names, "printf 'only-in-%s\n' the-output");
    done(project, &["new", "Fix the login"]);
    let id = listed(project)[0]["id"].as_str().unwrap().to_owned();
    let mut claude = project.agent("claude");
    for text in &constraints {
        note(&mut claude, "claude", "constraint", text);
    }
    for title in &claims {
        let artifact = json!({"agent": "claude", "kind": "test_report", "title": title,
            "summary": "all is well", "status": "passed", "evidence": []});
        claude.expect("artifact/record", artifact);
    }
    for number in 0..210 {
        note(&mut claude, "claude", "note", &format!("so far {number}"));
    }
    let comments = (1..).zip(&findings);
    let comments: Vec<Value> = comments
        .map(|(id, text)| comment(id, &format!("P3: {text}")))
        .collect();
    let page = project.base().join("page.json");
    fs::write(&page, json!(comments).to_string()).unwrap();
    let import = ["review", "import", "--from", "file", page.to_str().unwrap()];
    for args in [&import[..], &["gates", "run", names[0]]] {
        let mut pty = Pty::spawn(&project.ctxrelay(args.iter().copied()));
        assert_eq!(pty.wait_exit(), 0, "{}", pty.screen());
    }
    let sections = vec![
        ("constraints", constraints),
        ("verification", claims),
        ("findings", findings),
        ("notRun", gates[1..].to_vec()),
    ];
    (id, sections)
}

#[test]
fn what_has_no_room_in_a_capsule_is_shown_by_the_command_that_is_named_for_it() {
    let project = Project::new();
    project.link_program("ctxrelay", Path::new(env!("CARGO_BIN_EXE_ctxrelay")));
    let _daemon = project.daemon();
    let (id, sections) = with_more_than_has_room(&project);
    let capsule = json_of(&project, "show", &id);
    let how = |what: &str| {
        let mut left = capsule["leftOut"].as_array().unwrap().iter();
        let left = left.find(|left| left["what"] == what);
        let left = left.unwrap_or_else(|| panic!("{what}: {capsule}"));
        left["how"].as_str().unwrap().to_owned()
    };
    let shown = |command: &str| {
        let shell = project.program("sh").envs(project.env());
        run(&shell.args(["-c", command])).expect_success().stdout
    };
    for (what, texts) in sections {
        let told = capsule[what].to_string();
        let left: Vec<&String> = texts.iter().filter(|text| !told.contains(*text)).collect();
        assert!(!left.is_empty(), "{what}: {told}");
        let output = shown(&how(what));
        for text in left {
            assert!(output.contains(text), "{what}: {text}");
        }
    }
    // Of a cited line that is not in the file the reference names the entry.
    let mut runs = capsule["verification"].as_array().unwrap().iter();
    let ran = runs.find(|run| run["verified"] == true).unwrap();
    let named = how("origin.lines").replace("ID", ran["ref"]["id"].as_str().unwrap());
    assert!(shown(&named).contains("only-in-the-output"), "{named}");
}
