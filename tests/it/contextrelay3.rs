//! A project of ContextRelay 3 opens as it is: nothing of it is lost, nothing is sent by itself.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::contextrelay3::{HANDLED, OPEN, SENT_MS, SESSION, config, fill, ledger};
use crate::support::operator::Operator;
use crate::support::project::Project;
use crate::support::wait::{timeout, wait_until};

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

fn session_file(project: &Project) -> String {
    project.read(&format!(".contextrelay/sessions/{SESSION}.jsonl"))
}

fn ids(entries: &Value) -> BTreeSet<String> {
    entries
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["id"].as_str().unwrap().to_owned())
        .collect()
}

/// The first line of the record like this, once it is durable: a daemon is ready before its first
/// entries are.
fn find(project: &Project, name: &str, what: impl Fn(&Value) -> bool) -> Value {
    wait_until(name, timeout(), || {
        project.ledger().into_iter().find(|line| what(line))
    })
}

#[test]
fn its_record_goes_on_as_an_unchained_prefix_and_its_handoffs_come_out_right() {
    let project = Project::new();
    fill(&project, true);
    let before = session_file(&project);
    let count = ledger().len();

    let daemon = project.daemon();
    let first = find(&project, "the first entry of ours", |line| {
        line["runtimeEvent"]["event"] == "contextrelay_3_adopted"
    });
    assert_eq!(first["seq"], count + 1);
    let mut cli = project.control().unwrap();
    cli.expect(
        "hello",
        json!({"protocol": 1, "role": "cli", "pid": std::process::id()}),
    );
    let world = cli.expect("snapshot/read", json!({}))["value"].clone();
    let open: BTreeSet<&String> = world["open_handoffs"].as_object().unwrap().keys().collect();
    assert_eq!(open, OPEN.map(str::to_owned).iter().collect());
    let closed = ids(&world["closed_handoffs"]);
    assert_eq!(closed, HANDLED.map(str::to_owned).into());
    assert_eq!(world["counts"]["summary"], 2);
    assert_eq!(world["counts"]["somebody_elses_type"], 1);

    let text = session_file(&project);
    assert!(text.starts_with(&before), "the old lines are as they were");
    let verified = project
        .run(["ledger", "verify", "--json"])
        .expect_success()
        .json();
    assert_eq!(verified["ok"], true);
    assert_eq!(verified["prefix"], count);

    // Everything can be listed, whatever its type or time.
    let mut page = project
        .run([
            "ledger", "list", "--order", "asc", "--limit", "1000", "--json",
        ])
        .expect_success()
        .json();
    assert_eq!(page["entries"][0]["id"], "compact_0b6f5a10");
    // Lines without a chain nobody vouches for; otherwise they are shown as they lie there.
    for entry in page["entries"].as_array_mut().unwrap() {
        entry.as_object_mut().unwrap().remove("unvouched");
    }
    assert_eq!(page["entries"].as_array().unwrap()[..count], ledger());
    daemon.stop();

    // It is taken over once.
    let adopted = |text: &str| text.matches("contextrelay_3_adopted").count();
    let daemon = project.daemon();
    assert_eq!(adopted(&session_file(&project)), adopted(&text));
    daemon.stop();
}

#[test]
fn its_unread_messages_wait_for_the_operator_and_its_queue_is_kept() {
    let project = Project::new();
    fill(&project, true);
    let _daemon = project.daemon();
    let carried = |id: &str| {
        find(&project, "a message that was carried over", |line| {
            line["meta"]["bridgeMessageId"] == id
                && line["meta"]["importedFrom"] == "contextrelay-3"
        })
    };
    assert_eq!(carried("bridge-3")["content"], "and the tests are read");
    // Its texts were never redacted; here they are before they lie anywhere.
    assert_eq!(
        carried("turn-9")["content"],
        "by the way, the key is [REDACTED_GITHUB_TOKEN]"
    );
    let moved = find(&project, "where the queue is", |line| {
        line["error"]["code"] == "foreign_queue"
    });
    assert!(
        moved["content"]
            .as_str()
            .unwrap()
            .contains("queue.db.contextrelay-3")
    );
    assert!(
        project
            .state()
            .join("state/queue.db.contextrelay-3")
            .is_file()
    );

    // A line is in the file before the disk has it, and counts from then on.
    let age_ms = jiff::Timestamp::now().as_millisecond() - SENT_MS;
    let queue = wait_until("both in the queue", timeout(), || {
        let queue = project.run(["queue", "list", "--json"]);
        let queue = queue.expect_success().json();
        (queue["messages"].as_array()?.len() >= 2).then_some(queue)
    });
    let rows = queue["messages"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "{queue}");
    assert!(
        rows.iter()
            .all(|row| row["state"] == "ambiguous" && row["to"] == "claude")
    );
    let is_as_old = |row: &Value| row["age_ms"].as_i64().unwrap() >= age_ms;
    assert!(rows.iter().all(is_as_old), "{queue}");

    // Who asks gets them, and is told that they may have been there before.
    let mut claude = project.agent("claude");
    let age_s = (jiff::Timestamp::now().as_millisecond() - SENT_MS) / 1000;
    let page = claude.expect("messages/get", json!({"agent": "claude"}));
    let messages = page["value"]["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 2);
    assert!(messages.iter().all(|message| message["repeat"] == true));
    // As old as they are, and not as old as this record.
    assert!(messages.iter().all(|message| message["sentAt"] == SENT_MS));
    let is_as_old = |message: &Value| message["ageS"].as_i64().unwrap() >= age_s;
    assert!(messages.iter().all(is_as_old), "{page}");
}

#[test]
fn a_record_that_is_deleted_for_good_takes_its_queue_and_the_texts_in_it_along() {
    let project = Project::new();
    fill(&project, true);
    let _daemon = project.daemon();
    find(&project, "where the queue is", |line| {
        line["error"]["code"] == "foreign_queue"
    });
    let lies_there = || files_with(&project.state(), b"by the way, the key is ghp_");
    assert!(!lies_there().is_empty());
    // What it begins with is being written for a moment.
    let mut operator = Operator::connect(&project);
    let discard = json!({"discard": true});
    let cleared = operator.when_quiet("ledger/clear", discard).unwrap();
    assert!(cleared["value"]["left"].is_null(), "{cleared}");
    assert_eq!(lies_there(), Vec::<PathBuf>::new());
}

/// The files below a folder that have these bytes.
fn files_with(folder: &Path, bytes: &[u8]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_with(&path, bytes));
        } else if fs::read(&path).is_ok_and(|text| text.windows(bytes.len()).any(|it| it == bytes))
        {
            found.push(path);
        }
    }
    found
}

#[test]
fn its_configuration_is_taken_over_key_by_key_and_kept_beside() {
    let project = Project::new();
    fill(&project, true);
    let before = project.read(".contextrelay/config.json");
    let daemon = project.daemon();
    let relay = project.state();
    assert_eq!(project.read(".contextrelay/config.json.3.13"), before);
    assert_eq!(mode(&relay.join("config.json.3.13")), 0o600);
    assert_eq!(mode(&relay.join("config.json")), 0o600);
    for folder in ["", "sessions", "archives", "state"] {
        assert_eq!(mode(&relay.join(folder)), 0o700, "{folder}");
    }

    let after: Value = serde_json::from_str(&project.read(".contextrelay/config.json")).unwrap();
    let mut wanted = config();
    for gone in ["instanceId", "stateDir", "controlPort", "codex"] {
        wanted.as_object_mut().unwrap().remove(gone);
    }
    wanted["version"] = json!(1);
    assert_eq!(after, wanted);
    let told = find(&project, "what became of the keys", |line| {
        line["runtimeEvent"]["event"] == "config_migrated"
    });
    assert!(
        told["content"].as_str().unwrap().contains("codex.appPort"),
        "{told}"
    );

    let shown = project
        .run(["config", "show", "--json"])
        .expect_success()
        .json();
    assert_eq!(shown["config"]["idleShutdownSeconds"], 45);
    assert_eq!(shown["problems"], json!([]));
    daemon.stop();
}

#[test]
fn a_clone_of_such_a_project_gets_none_of_its_messages() {
    let project = Project::new();
    fill(&project, false);
    let _daemon = project.daemon();
    let queue = project
        .run(["queue", "list", "--json"])
        .expect_success()
        .json();
    assert_eq!(queue["messages"], json!([]));
    assert_ne!(project.token(), "ab".repeat(32), "a clone gets new tokens");
    find(&project, "that it was not made here", |line| {
        line["error"]["code"] == "foreign_history"
    });
    assert!(
        project
            .state()
            .join("state/queue.db.contextrelay-3")
            .is_file()
    );
}

#[test]
fn a_ledger_that_a_living_daemon_of_contextrelay_3_holds_is_refused_with_the_way_out() {
    let project = Project::new();
    fill(&project, true);
    let lock = project
        .state()
        .join(format!("sessions/{SESSION}.jsonl.lock"));
    fs::create_dir(&lock).unwrap();
    fs::write(lock.join("pid"), format!("{}\n", std::process::id())).unwrap();
    let before = session_file(&project);
    let refused = project.run(["--json", "daemon"]);
    assert_eq!(refused.code(), 3);
    let error = &refused.json()["error"];
    assert_eq!(error["code"], "ledger");
    assert!(
        error["hint"]
            .as_str()
            .unwrap()
            .contains("contextrelay kill"),
        "{error}"
    );
    assert_eq!(session_file(&project), before);

    // Of a process that is gone it keeps nobody out.
    fs::write(lock.join("pid"), "4194000\n").unwrap();
    project.daemon().stop();
}

#[test]
fn a_record_of_a_newer_version_is_read_and_not_written() {
    let project = Project::new();
    project.daemon().stop();
    let session = project.read(".contextrelay/current").trim().to_owned();
    let path = format!(".contextrelay/sessions/{session}.jsonl");
    let mut text = project.read(&path);
    text.push_str(
        &json!({"schema": "v2", "id": "new", "type": "note", "source": "claude",
        "content": "from the future"})
        .to_string(),
    );
    text.push('\n');
    project.write(&path, &text);
    // Its head was kept by that version, or nobody's word would be in the line.
    fs::remove_dir_all(project.registry().join("heads")).unwrap();

    let refused = project.run(["--json", "daemon"]);
    assert_eq!(refused.code(), 3);
    let error = &refused.json()["error"];
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("newer ctxrelay"),
        "{error}"
    );
    assert!(
        error["hint"].as_str().unwrap().contains("newer ctxrelay"),
        "{error}"
    );
    assert_eq!(project.read(&path), text);
    let listed = project
        .run(["ledger", "list", "--json"])
        .expect_success()
        .json();
    assert!(!listed["entries"].as_array().unwrap().is_empty());
    project.run(["status", "--json"]).expect_success();
}
