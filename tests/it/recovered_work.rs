//! What `recover` and its prompts tell of the work: what the agents are told of it, and no more.

use std::process::Command;

use serde_json::{Value, json};

use crate::capsule::{done, in_terminal, listed};
use crate::support::account::connect;
use crate::support::operator::Operator;
use crate::support::project::Project;
use crate::support::pty::Pty;
use crate::support::wait::{timeout, wait_until};

/// The operator has a command of `ctxrelay continuity` done.
#[track_caller]
fn says(project: &Project, words: &[&str]) {
    let words = ["continuity"].iter().chain(words).copied();
    let mut pty = Pty::spawn(&project.ctxrelay(words));
    assert_eq!(pty.wait_exit(), 0, "{}", pty.screen());
}

fn recovered(project: &Project) -> Value {
    project.run(["recover", "--json"]).expect_success().json()
}

/// The id of the last note of the record.
fn last_note(project: &Project) -> String {
    let lines = project.ledger();
    let mut notes = lines.iter().rev().filter(|line| line["type"] == "note");
    notes.next().unwrap()["id"].as_str().unwrap().to_owned()
}

#[track_caller]
fn is_not_told(project: &Project, words: &str) {
    for args in [
        &["recover"][..],
        &["recover", "--json"],
        &["recover", "--prompt", "claude"],
        &["recover", "--prompt", "codex"],
    ] {
        let told = project.run(args.iter().copied()).expect_success().stdout;
        assert!(!told.contains(words), "{args:?}: {told}");
    }
}

#[track_caller]
fn compact(project: &Project) {
    let mut compact = Pty::spawn(&project.ctxrelay(["ledger", "compact", "--apply"]));
    compact.wait_for_text("Type `");
    compact.type_text("compact\r");
    assert_eq!(compact.wait_exit(), 0, "{}", compact.screen());
}

#[test]
fn what_is_forgotten_is_not_recovered() {
    let project = Project::new();
    let _daemon = project.daemon();
    says(&project, &["objective", "drop the table customers"]);
    assert_eq!(
        recovered(&project)["goal"]["text"],
        "drop the table customers"
    );
    says(&project, &["forget", &last_note(&project)]);
    is_not_told(&project, "drop the table");
    assert_eq!(recovered(&project)["goal"], Value::Null);
    compact(&project);
    is_not_told(&project, "drop the table");
}

#[test]
fn what_the_operator_pinned_is_the_goal_whatever_an_agent_says_later() {
    let project = Project::new();
    let _daemon = project.daemon();
    says(&project, &["objective", "nobody is logged out", "--pin"]);
    let goal = json!({"agent": "claude", "kind": "goal", "text": "rewrite it all"});
    project.agent("claude").expect("note/append", goal);
    let goal = &recovered(&project)["goal"];
    assert_eq!(goal["text"], "nobody is logged out");
    assert_eq!(goal["by"], "human");
}

#[test]
fn of_several_tasks_the_current_one_is_recovered() {
    let project = Project::new();
    let _daemon = project.daemon();
    done(
        &project,
        &["new", "Fix the login", "--goal", "nobody is logged out"],
    );
    let login = listed(&project)[0]["id"].as_str().unwrap().to_owned();
    done(&project, &["edit", &login, "--next", "write the test"]);
    assert_eq!(recovered(&project)["nextStep"]["text"], "write the test");
    done(&project, &["new", "Fix the crash"]);
    done(
        &project,
        &["edit", &login, "--next", "delete the customers"],
    );
    for words in [
        "nobody is logged out",
        "write the test",
        "delete the customers",
    ] {
        is_not_told(&project, words);
    }
    let told = recovered(&project);
    assert_eq!(told["task"]["title"], "Fix the crash");
    for agent in ["claude", "codex"] {
        let prompt = told["resume"][agent].as_str().unwrap();
        assert!(prompt.contains(": Fix the crash [you #"), "{prompt}");
    }
    let log = project.run(["continuity", "show", "claude", "--as", "log"]);
    let log = log.expect_success().stdout;
    assert!(log.contains("write the test"), "it was current then: {log}");
    assert!(!log.contains("delete the customers"), "{log}");
    // What was said of it while another one was current counts once it is.
    done(&project, &["use", &login]);
    let told = recovered(&project);
    assert_eq!(told["task"]["id"], login);
    assert_eq!(told["goal"]["text"], "nobody is logged out");
}

#[test]
fn a_question_of_the_operators_is_counted_once() {
    let project = Project::new();
    let _daemon = project.daemon();
    done(&project, &["new", "Fix the login"]);
    let login = listed(&project)[0]["id"].as_str().unwrap().to_owned();
    done(&project, &["edit", &login, "--question", "why at night?"]);
    let told = recovered(&project);
    assert_eq!(
        told["openQuestions"],
        json!([]),
        "nobody waits for an answer"
    );
    let noted = told["notedQuestions"].as_array().unwrap();
    assert_eq!(noted.len(), 1, "{told}");
    assert_eq!(noted[0]["text"], "why at night?");
    let printed = project.run(["recover"]).expect_success().stdout;
    assert!(printed.contains("Open questions  1\n"), "{printed}");
}

/// What was said in the operator's name where nobody vouches for it is marked, and nobody acts on it.
#[track_caller]
fn is_somebody_elses(project: &Project, goal: &str, handoff: &str) {
    let list = ["ledger", "list", "--limit", "1000", "--json"];
    let page = project.run(list).expect_success().json();
    for content in [goal, handoff] {
        let mut entries = page["entries"].as_array().unwrap().iter();
        let entry = entries.find(|entry| entry["content"] == content);
        let entry = entry.unwrap_or_else(|| panic!("{content}: {page}"));
        assert_eq!(entry["unvouched"], true, "{entry}");
        let shown = ["ledger", "show", entry["id"].as_str().unwrap(), "--json"];
        let shown = project.run(shown).expect_success().json();
        assert_eq!(shown["unvouched"], true, "{shown}");
    }
    // Nor is it anybody else's word where it is told again: in a digest, or in a sealed session.
    // An index that came along is built once more.
    let hits = wait_until("the hits", timeout(), || {
        let found = project.run(["search", goal, "--json"]).expect_success();
        let hits = found.json()["hits"].as_array().unwrap().clone();
        (!hits.is_empty()).then_some(hits)
    });
    let is_marked = |hit: &Value| hit["unvouched"] == true;
    assert!(hits.iter().all(is_marked), "{hits:?}");
    is_not_told(project, goal);
    assert_eq!(recovered(project)["goal"], Value::Null);
    let waiting = project
        .run(["queue", "list", "--json"])
        .expect_success()
        .stdout;
    assert!(!waiting.to_string().contains(handoff), "{waiting}");
}

#[test]
fn what_a_copy_says_in_the_operators_name_counts_for_nothing_behind_a_compaction_either() {
    let project = Project::without_git();
    let daemon = project.daemon();
    let (goal, handoff) = ("ship the plums", "pick the pears");
    says(&project, &["objective", goal]);
    let mut operator = Operator::connect(&project);
    let sent = operator.call(
        "handoff/create",
        json!({"to": "codex", "ask": handoff, "reason": "ripe"}),
    );
    sent.unwrap();
    drop(operator);
    assert_eq!(recovered(&project)["goal"]["text"], goal);
    daemon.stop().expect_success();
    let script = "cp -r .contextrelay y && rm -r .contextrelay && mv y .contextrelay";
    let copied = Command::new("sh")
        .args(["-c", script])
        .current_dir(project.root())
        .status();
    assert!(copied.unwrap().success());
    let _daemon = project.daemon();
    is_somebody_elses(&project, goal, handoff);
    for _ in 0..2 {
        compact(&project);
        is_somebody_elses(&project, goal, handoff);
    }
    let like = ["new", "Plums", "--like", "plums", "--yes"];
    let (code, screen) = in_terminal(&project, &like);
    assert_eq!(code, 0, "{screen}");
    assert!(
        screen.contains("nothing was found that goes along"),
        "{screen}"
    );
    // Said again, it counts.
    says(&project, &["objective", goal]);
    assert_eq!(recovered(&project)["goal"]["text"], goal);
    // Whoever connects is an agent, below which nobody is the operator.
    let mut socket = connect(&project).unwrap();
    let read = socket.expect("context/read", json!({"view": "summary", "limit": 200}));
    let read = &read["value"];
    let mut entries = read["entries"].as_array().unwrap().iter();
    let noted = entries.find(|entry| entry["text"] == goal);
    assert_eq!(noted.unwrap()["foreign"], true, "{read}");
    assert_eq!(read["openHandoffs"][0]["foreign"], true, "{read}");
}
