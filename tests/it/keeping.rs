//! Long texts, clearing, deleting and compacting, with the real program.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::daemon::Daemon;
use crate::support::launch::Launch;
use crate::support::operator::Operator;
use crate::support::privileged;
use crate::support::project::Project;
use crate::support::pty::Pty;
use crate::support::small_disk::SmallDisk;
use crate::support::wait::{timeout, wait_until};

/// Looks like nothing that the redaction knows, as a leaked secret may.
const MARKER: &str = "xq7-velvet-anchor";

/// Types `word` at the prompt of an operator command and waits for its end.
#[track_caller]
pub fn confirm(launch: &Launch, word: &str) -> (u32, String) {
    let mut pty = Pty::spawn(launch);
    pty.wait_for_text("to go on, anything else");
    pty.type_text(&format!("{word}\r"));
    let code = pty.wait_exit();
    (code, pty.screen())
}

/// Sends as Codex to Claude, who is away; returns the message's id.
fn send(project: &Project, text: &str) -> String {
    let mut socket = project.agent("codex");
    let reply = socket.expect("message/send", json!({"from": "codex", "text": text}));
    reply["value"]["messageId"].as_str().unwrap().to_owned()
}

fn long() -> String {
    format!("{} the very end of {MARKER}", "word ".repeat(5_000))
}

fn session(project: &Project) -> String {
    project.read(".contextrelay/current").trim().to_owned()
}

/// Every file below a folder that holds a text.
fn holding(dir: &Path, text: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for file in fs::read_dir(dir).unwrap() {
        let file = file.unwrap();
        let path = file.path();
        if file.file_type().unwrap().is_dir() {
            found.extend(holding(&path, text));
        } else if fs::read(&path)
            .unwrap_or_default()
            .windows(text.len())
            .any(|bytes| bytes == text.as_bytes())
        {
            found.push(path);
        }
    }
    found
}

fn verify(project: &Project, args: &[&str]) -> (i32, Value) {
    let args = ["ledger", "verify", "--json"].iter().chain(args);
    let finished = project.run(args.copied());
    (finished.code(), finished.json())
}

#[test]
fn a_long_text_is_shown_whole_on_demand_with_and_without_a_daemon() {
    let project = Project::new();
    let daemon = project.daemon();
    let id = send(&project, &long());
    let show = |full: bool| {
        let mut args = vec!["ledger", "show", id.as_str(), "--json"];
        args.extend(full.then_some("--full"));
        project.run(args)
    };
    let shown = |full| show(full).expect_success().json();
    let live = [shown(false), shown(true)];
    let queued = project.run(["queue", "show", &id, "--json"]);
    assert_eq!(queued.expect_success().json()["entry"], live[1]);
    let sha256 = live[0]["whole"]["sha256"].as_str().unwrap();
    let path = project.state().join("blobs").join(sha256);
    fs::rename(&path, path.with_extension("away")).unwrap();
    let queued = project
        .run(["queue", "show", &id, "--json"])
        .expect_success();
    assert_eq!(queued.json()["entry"], live[0]);
    let why = "only the beginning of its text is left";
    assert!(queued.stderr.contains(why), "{}", queued.stderr);
    fs::rename(path.with_extension("away"), &path).unwrap();
    daemon.stop();
    assert_eq!([shown(false), shown(true)], live);
    let cut = live[0]["content"].as_str().unwrap();
    assert!(
        cut.ends_with(" chars]") && cut.contains("\n[TRUNCATED "),
        "{cut}"
    );
    assert_eq!(live[1]["content"], json!(long()));

    let (code, report) = verify(&project, &[]);
    assert_eq!(
        (code, &report["blobs"]["texts"]),
        (0, &json!(1)),
        "{report}"
    );
    fs::write(&path, "somebody else's words").unwrap();
    let (code, report) = verify(&project, &[]);
    assert_eq!(
        (code, &report["firstBad"]["reason"]),
        (6, &json!("blob-altered"))
    );
    assert_eq!(show(true).code(), 3);
    assert_eq!(show(true).json()["error"]["code"], "blob_altered");
    fs::remove_file(&path).unwrap();
    let (code, report) = verify(&project, &[]);
    assert_eq!(
        (code, &report["firstBad"]["reason"]),
        (6, &json!("blob-missing"))
    );
    assert_eq!(report["firstBad"]["seq"], live[0]["seq"]);
    assert_eq!(show(true).json()["error"]["code"], "blob_missing");
    assert_eq!(shown(false), live[0], "its beginning is there all the same");
}

#[test]
fn what_is_open_is_named_before_and_taken_back_when_the_session_is_cleared() {
    let project = Project::new();
    let daemon = project.daemon();
    let id = send(&project, "please\nlook at \u{1b}[2Jthe plums");
    let dry = project
        .run(["ledger", "clear", "--json"])
        .expect_success()
        .json();
    assert_eq!(dry["open"]["unsettled"], json!([id]));
    let told = || project.run(["ledger", "clear"]).expect_success().stdout;
    let line = format!("message   {id}  codex → claude  pending  please look at ^[[2Jthe plums");
    assert!(told().contains(&line), "{}", told());
    daemon.stop();
    assert!(told().contains(&line), "from the record alone: {}", told());
    let _daemon = project.daemon();
    let old = session(&project);
    let (code, screen) = confirm(&project.ctxrelay(["ledger", "clear", "--apply"]), "clear");
    assert_eq!(code, 0, "{screen}");
    // Wherever the terminal breaks the line.
    let bare = |text: &str| text.split_whitespace().collect::<String>();
    assert!(bare(&screen).contains(&bare(&line)), "{screen}");
    let archive = project.state().join(format!("archives/{old}.jsonl"));
    let archived = fs::read_to_string(archive).unwrap();
    let last: Vec<&str> = archived.lines().rev().take(2).collect();
    assert!(
        last[1].contains("cancelled") && last[1].contains(&id),
        "{last:?}"
    );
    assert!(last[0].contains("session_cleared") && last[0].contains("\"source\":\"human\""));
    assert_eq!(verify(&project, &["--all"]).0, 0);
}

#[test]
fn what_stands_in_the_way_of_a_proposal_is_named_before_the_session_ends() {
    let project = Project::new();
    let daemon = project.daemon();
    let mut codex = project.agent("codex");
    let mut recorded = |method: &str, params: Value| {
        let recorded = codex.expect(method, params);
        recorded["value"]["entryId"].as_str().unwrap().to_owned()
    };
    let text = "there is\nno database";
    let blocker = recorded(
        "note/append",
        json!({"agent": "codex", "kind": "blocker", "text": text}),
    );
    let failed = json!({
        "agent": "codex", "kind": "test", "title": "unit tests", "summary": "2 of 9",
        "status": "failed",
    });
    let failure = recorded("artifact/record", failed);
    let lines = [
        format!("blocker   {blocker}  codex  there is no database"),
        format!("result    {failure}  codex  failed: unit tests"),
    ];
    let check = || {
        for verb in ["clear", "compact"] {
            let told = project.run(["ledger", verb]).expect_success().stdout;
            assert!(lines.iter().all(|line| told.contains(line)), "{told}");
            let dry = project.run(["ledger", verb, "--json"]).expect_success();
            let open = dry.json()["open"].clone();
            assert_eq!(open["blockers"], json!([blocker]));
            assert_eq!(open["failures"], json!([failure]));
        }
    };
    check();
    daemon.stop();
    check();
}

#[test]
fn what_is_deleted_for_good_is_in_no_file_any_more() {
    let project = Project::new();
    let daemon = project.daemon();
    send(&project, &format!("short {MARKER}"));
    send(&project, &long());
    let old = session(&project);
    let (code, screen) = confirm(
        &project.ctxrelay(["ledger", "compact", "--apply"]),
        "compact",
    );
    assert_eq!(code, 0, "{screen}");
    send(&project, &format!("again {MARKER}"));
    fs::write(
        project.state().join(format!("archives/{old}.torn-1")),
        MARKER,
    )
    .unwrap();
    assert!(holding(&project.state(), MARKER).len() >= 4);

    let current = session(&project);
    let discard = project.ctxrelay(["ledger", "clear", "--discard", "--apply"]);
    assert_eq!(
        project
            .run(["ledger", "clear", "--discard", "--apply"])
            .code(),
        5
    );
    let (code, screen) = confirm(&discard, "clear");
    assert_eq!(
        code, 5,
        "the word of the other one does not do it: {screen}"
    );
    assert_eq!(session(&project), current);
    let word = &current[current.len() - 4..];
    let (code, screen) = confirm(&discard, word);
    assert_eq!(code, 0, "{screen}");
    assert_eq!(holding(&project.state(), MARKER), Vec::<PathBuf>::new());
    let first = &project.ledger()[0];
    assert_eq!(first["predecessor"]["fate"], "discarded");
    assert_eq!(first["predecessor"]["sessionId"], json!(current));
    assert_eq!(first["source"], "human");
    assert_eq!(verify(&project, &["--all"]).0, 0);
    daemon.stop();
    let _daemon = project.daemon();
    assert_eq!(holding(&project.state(), MARKER), Vec::<PathBuf>::new());
    send(&project, "everything goes on");
}

#[test]
fn a_compaction_carries_what_is_open_and_keeps_the_old_file_as_it_is() {
    let project = Project::live();
    let id = send(&project, "please look");
    let old = session(&project);
    let dry = project
        .run(["ledger", "compact", "--json"])
        .expect_success()
        .json();
    assert_eq!(
        (&dry["dryRun"], &dry["open"]["unsettled"]),
        (&json!(true), &json!([id]))
    );
    assert_eq!(session(&project), old);
    assert_eq!(project.run(["ledger", "compact", "--apply"]).code(), 5);
    let before = project.ledger();
    let (code, screen) = confirm(
        &project.ctxrelay(["ledger", "compact", "--apply"]),
        "compact",
    );
    assert_eq!(code, 0, "{screen}");
    let archive = project.state().join(format!("archives/{old}.jsonl"));
    let archived: Vec<Value> = fs::read_to_string(archive)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(archived[..before.len()], before, "nothing was rewritten");
    let carried = project.ledger();
    let message = carried
        .iter()
        .find(|entry| entry["id"] == json!(id))
        .unwrap();
    assert_eq!(message["meta"]["carriedFrom"]["sessionId"], json!(old));
    assert!(carried.iter().any(|entry| entry["type"] == "summary"));
    let queue = project
        .run(["queue", "list", "--json"])
        .expect_success()
        .json();
    assert!(queue.to_string().contains(&id), "{queue}");
    assert_eq!(verify(&project, &["--all"]).0, 0);
}

#[test]
fn a_folder_of_the_agents_work_that_cannot_be_deleted_is_named_once_and_goes_with_a_later_start() {
    if !privileged::granted() {
        return;
    }
    let project = Project::new();
    project.daemon().stop().expect_success();
    let work = project.state().join("state/continuity");
    let held = work.join("held");
    fs::create_dir_all(&held).unwrap();
    fs::write(held.join("STATE.json"), MARKER).unwrap();
    // Nobody can remove a folder that is a disk.
    let disk = SmallDisk::over(&project, &held, 64);
    let daemon = Daemon::start(&disk.launch(&project.ctxrelay(["daemon"])));
    let mut operator = Operator::connect(&project);
    let discard = json!({"discard": true});
    let cleared = operator.when_quiet("ledger/clear", discard).unwrap();
    let left = cleared["value"]["left"].as_array().unwrap();
    let work = work.to_str().unwrap();
    assert_eq!(left.len(), 1, "{cleared}");
    assert!(left[0].as_str().unwrap().contains(work), "{cleared}");
    drop(operator);
    daemon.stop().expect_success();
    drop(disk);
    assert!(held.join("STATE.json").exists());
    let _daemon = project.daemon();
    wait_until("the end of what was left", timeout(), || {
        (!held.exists()).then_some(())
    });
}
