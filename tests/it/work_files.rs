//! What the record holds of the agents' work as files: written by themselves, made anew, and gone
//! with the record.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::project::Project;
use crate::support::pty::Pty;
use crate::support::wait::{timeout, wait_until};

/// Words that stand in what an agent is told.
const GOAL: &str = "Sort the plums by weight";

fn note(project: &Project, kind: &str, text: &str) {
    let mut socket = project.agent("claude");
    let params = json!({"agent": "claude", "kind": kind, "text": text});
    socket.expect("note/append", params);
}

fn base(project: &Project) -> PathBuf {
    project.root().join(".contextrelay/state/continuity")
}

/// All files below a folder, by their paths in it.
fn files(folder: &Path) -> BTreeMap<String, String> {
    fn add(base: &Path, folder: &Path, files: &mut BTreeMap<String, String>) {
        for found in std::fs::read_dir(folder).into_iter().flatten() {
            let path = found.unwrap().path();
            if path.is_dir() {
                add(base, &path, files);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                let name = path.strip_prefix(base).unwrap().to_str().unwrap();
                files.insert(name.to_owned(), text);
            }
        }
    }
    let mut all = BTreeMap::new();
    add(folder, folder, &mut all);
    all
}

/// The files once all of them are of a record that has these words: they are written one by one.
#[track_caller]
fn written(project: &Project, words: &str) -> BTreeMap<String, String> {
    const NAMES: [&str; 5] = [
        "STATE.json",
        "EXEC_PACKET.md",
        "INDEX.md",
        "TASKLOG.md",
        "errors.log",
    ];
    wait_until("the files", timeout(), || {
        let folder = base(project).join("default/claude");
        let read = files(&folder);
        let of_now = ["STATE.json", "TASKLOG.md"];
        let is_of_now = of_now.map(|name| read.get(name).is_some_and(|it| it.contains(words)));
        let is_under_way = read.keys().any(|name| name.starts_with(".new-"));
        let is_there = NAMES.iter().all(|name| read.contains_key(*name));
        // None was read just before it was written.
        let is_whole = || files(&folder) == read;
        (is_of_now == [true; 2] && is_there && !is_under_way && is_whole()).then_some(read)
    })
}

/// Has the operator delete the session for good.
#[track_caller]
fn discard(project: &Project) {
    let session = project.read(".contextrelay/current").trim().to_owned();
    let words = ["ledger", "clear", "--discard", "--apply"];
    let mut pty = Pty::spawn(&project.ctxrelay(words));
    pty.wait_for_text("to go on, anything else");
    pty.type_text(&format!("{}\r", &session[session.len() - 4..]));
    assert_eq!(pty.wait_exit(), 0, "{}", pty.screen());
}

#[test]
fn they_follow_the_record_and_are_made_anew_from_it_alone() {
    let project = Project::new();
    let daemon = project.daemon();
    note(&project, "goal", GOAL);
    note(&project, "next_step", "Weigh the first crate");
    let seen = written(&project, "Weigh the first crate");
    for name in [
        "STATE.json",
        "EXEC_PACKET.md",
        "INDEX.md",
        "TASKLOG.md",
        "errors.log",
    ] {
        assert!(seen.contains_key(name), "{name}: {seen:#?}");
    }
    let state: Value = serde_json::from_str(&seen["STATE.json"]).unwrap();
    assert_eq!(state["fields"]["objective"][0]["text"], GOAL);
    assert!(seen["EXEC_PACKET.md"].contains(GOAL));
    assert!(seen["TASKLOG.md"].contains("goal [note]: Sort the plums by weight"));

    // Nobody believes what stands in them.
    let place = base(&project).join("default/claude");
    std::fs::write(place.join("STATE.json"), "{\"fields\":{}}").unwrap();
    std::fs::write(place.join("notes.md"), "somebody else's").unwrap();
    let told = project.run(["continuity", "show", "claude", "--json"]);
    let told = told.expect_success().json();
    assert_eq!(told["fields"]["objective"][0]["text"], GOAL);

    let rebuilt = project.run(["ledger", "rebuild", "--json"]);
    assert_eq!(rebuilt.expect_success().json()["workFolders"], 1);
    assert_eq!(files(&place), seen);
    daemon.stop();
    std::fs::remove_dir_all(base(&project)).unwrap();
    let packed = project.run(["continuity", "pack", "--json"]);
    let packed = packed.expect_success().json();
    assert_eq!(packed["folders"][0]["agent"], "claude");
    assert_eq!(packed["folders"][0]["path"], place.to_str().unwrap());
    assert_eq!(files(&place), seen);

    let log = project.run(["continuity", "show", "claude", "--as", "log"]);
    let log = log.expect_success().stdout;
    assert!(
        log.contains("next_step [note]: Weigh the first crate"),
        "{log}"
    );
    let index = project.run(["continuity", "show", "claude", "--as", "index", "--json"]);
    let index = index.expect_success().json()["index"].to_string();
    assert!(index.contains("| file | how | entry |"), "{index}");
}

/// What Claude is given after a compaction. From here on the daemon takes this process for Claude.
#[track_caller]
fn packet(project: &Project) -> String {
    let mut hook = project
        .ctxrelay(["hook", "SessionStart"])
        .command()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = hook.stdin.take().unwrap();
    input.write_all(br#"{"source":"compact"}"#).unwrap();
    drop(input);
    let printed = hook.wait_with_output().unwrap().stdout;
    let printed: Value = serde_json::from_slice(&printed).unwrap();
    let text = &printed["hookSpecificOutput"]["additionalContext"];
    text.as_str().unwrap().to_owned()
}

#[test]
fn the_last_packet_lies_there_as_it_was_given_and_what_it_cost_is_told() {
    let project = Project::new();
    let mut daemon = project.daemon();
    note(&project, "goal", GOAL);
    let given = packet(&project);
    assert!(given.contains(GOAL), "{given}");
    let cost = |name: &str| {
        let status = project.run(["status", "--json"]).expect_success().json();
        let cost = &status["agents"]["claude"]["continuity"]["costToday"];
        cost[name].as_u64().unwrap()
    };
    assert_eq!(cost("packets"), given.chars().count() as u64);
    assert!(
        (1_000..9_000).contains(&cost("tools")),
        "the tools of one conversation"
    );
    assert_eq!(cost("tokensEstimate"), cost("chars").div_ceil(4));
    let said = project
        .run(["continuity", "status"])
        .expect_success()
        .stdout;
    assert!(said.contains("of ours today: "), "{said}");
    let reload = base(&project).join("default/claude/derived/RELOAD.md");
    wait_until("the packet's file", timeout(), || {
        (std::fs::read_to_string(&reload).ok()? == given).then_some(())
    });
    let (packets, kept) = (
        cost("packets"),
        project.state().join("state/cost-today.json"),
    );
    wait_until("the sums", timeout(), || {
        let kept = std::fs::read_to_string(&kept).ok()?;
        kept.contains(&packets.to_string()).then_some(())
    });
    daemon.crash();
    let _daemon = project.daemon();
    assert_eq!(cost("packets"), packets, "the next daemon counts on");
}

#[test]
fn of_a_record_that_is_discarded_nothing_of_them_is_left() {
    let project = Project::live();
    note(&project, "goal", GOAL);
    written(&project, GOAL);
    discard(&project);
    // Renderings of the session that goes on may follow; none of them has a word of the old one.
    note(&project, "goal", "Peel the pears");
    let seen = written(&project, "Peel the pears");
    assert!(!format!("{seen:?}").contains(GOAL), "{seen:#?}");
    let all = files(&project.root().join(".contextrelay"));
    let told = all.iter().find(|(_, text)| text.contains(GOAL));
    assert_eq!(told, None);
}
