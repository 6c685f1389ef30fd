//! Room on the disk, with the real program: a quota for long texts, and a low-water mark of the
//! disk. What is refused, what is said of it, and what goes on all the same.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::account::connect_with;
use crate::support::child::run;
use crate::support::daemon::Daemon;
use crate::support::mcp::McpClient;
use crate::support::operator::Operator;
use crate::support::privileged;
use crate::support::project::Project;
use crate::support::pty::Pty;
use crate::support::small_disk::SmallDisk;
use crate::support::wait::{timeout, wait_until};

fn limits(project: &Project, storage: &Value) {
    let config = json!({ "storage": storage });
    project.write(".contextrelay/config.json", &config.to_string());
}

fn notices(project: &Project) -> String {
    let status = project.run(["status", "--json"]).expect_success();
    status.json()["notices"].to_string()
}

#[track_caller]
fn wait_for_notice(project: &Project, words: &str) {
    wait_until(words, timeout(), || {
        notices(project).contains(words).then_some(())
    });
}

#[track_caller]
fn wait_for_no_notice(project: &Project, words: &str) {
    wait_until(&format!("the end of {words:?}"), timeout(), || {
        (!notices(project).contains(words)).then_some(())
    });
}

/// What `doctor` says of the disk.
fn doctor(project: &Project) -> Value {
    let report = project.run(["doctor", "--json"]).json();
    let checks = report["checks"].as_array().unwrap();
    let disk = checks.iter().find(|check| check["id"] == "disk");
    disk.unwrap().clone()
}

/// A text of so many characters that no other call gives.
fn text(number: usize, length: usize) -> String {
    let mut text = format!("{number} ");
    text.push_str(&"word ".repeat(length / 5));
    text
}

fn bytes_in(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder).unwrap();
    files
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum()
}

fn claude(project: &Project) -> McpClient {
    McpClient::start(&project.ctxrelay(["bridge"]))
}

fn codex(project: &Project) -> McpClient {
    McpClient::start(&project.ctxrelay(["codex-mcp", "server"]))
}

#[test]
fn a_flood_of_long_texts_ends_at_the_quota_and_nothing_else_does() {
    let project = Project::new();
    limits(&project, &json!({"blobsMegabytes": 1}));
    let daemon = project.daemon();
    let mut operator = Operator::connect(&project);
    let (mut claude, mut codex) = (claude(&project), codex(&project));
    assert_eq!(doctor(&project)["ok"], true);

    // Notes, because a message on its way would hold the clearing up.
    let mut send = |number: usize| {
        let params = json!({"text": text(number, 300_000)});
        if number.is_multiple_of(2) {
            claude.call_tool("append_note", params)
        } else {
            codex.call_tool("append_note", params)
        }
    };
    let (mut taken, mut refused) = (0, Vec::new());
    for number in 0..12 {
        let result = send(number);
        if result.is_error {
            refused.push(result.structured);
        } else {
            taken += 1;
        }
    }
    assert_eq!((taken, refused.len()), (3, 9), "{refused:#?}");
    for refusal in &refused {
        assert_eq!(refusal["code"], "long_texts_full", "{refusal}");
        let hint = refusal["hint"].as_str().unwrap();
        assert!(hint.contains("ctxrelay ledger clear --discard"), "{hint}");
    }
    let blobs = project.state().join("blobs");
    assert!(bytes_in(&blobs) <= 1_000_000);

    // Warned of everywhere.
    wait_for_notice(&project, "long texts take 80 %");
    let disk = doctor(&project);
    assert_eq!(disk["ok"], true, "a warning: {disk}");
    let message = disk["message"].as_str().unwrap();
    let tenths = bytes_in(&blobs) / 100_000;
    let taken = format!("long texts take 0.{tenths} of their 1 MB");
    assert!(message.ends_with(&taken), "{message}");
    assert!(
        disk["hint"]
            .as_str()
            .unwrap()
            .contains("long texts take 80 %")
    );

    // What needs no new file is taken: a text that is there, and all that fits on a line.
    assert!(!send(0).is_error);
    claude.tool("reply", json!({"text": text(50, 19_000)}));
    codex.tool("append_note", json!({"text": "a note"}));

    // Raising the quota counts at once.
    limits(&project, &json!({"blobsMegabytes": 2}));
    wait_for_no_notice(&project, "long texts");
    claude.tool("reply", json!({"text": text(60, 300_000)}));

    // And so does the step that the refusal names.
    limits(&project, &json!({"blobsMegabytes": 1}));
    wait_for_notice(&project, "long texts have used up their 1 MB");
    assert_eq!(doctor(&project)["ok"], false);
    operator
        .when_quiet("ledger/clear", json!({"discard": true}))
        .unwrap();
    assert_eq!(bytes_in(&blobs), 0);
    wait_for_no_notice(&project, "long texts");
    claude.tool("reply", json!({"text": text(70, 300_000)}));
    drop((operator, claude, codex));
    daemon.stop().expect_success();
    let verified = project.run(["ledger", "verify", "--json"]);
    assert_eq!(verified.expect_success().json()["ok"], true);
}

/// What is free on the disk of a folder, in megabytes.
fn free_megabytes(folder: &Path) -> u64 {
    let found = rustix::fs::statvfs(folder).unwrap();
    found.f_bavail * found.f_frsize / 1_000_000
}

#[test]
fn a_disk_that_runs_low_takes_no_long_texts_then_no_messages_and_always_decisions() {
    let project = Project::new();
    // The mark moves and not the disk: nobody else has to share a full one.
    let free = free_megabytes(project.root());
    limits(&project, &json!({"lowWaterMegabytes": free * 2}));
    let daemon = project.daemon();
    wait_for_notice(&project, "MB are free on the disk");
    let mut deck = Pty::spawn_sized(&project.ctxrelay([]), 200, 50).labelled("deck");
    deck.wait_for_text("MB are free on the disk");
    drop(deck);
    let mut operator = Operator::connect(&project);
    let (mut claude, mut codex) = (claude(&project), codex(&project));
    let proposed = codex.tool(
        "propose_final",
        json!({"summary": "done", "evidence": ["tests"]}),
    );
    let refused = claude.tool_refused("reply", json!({"text": text(1, 30_000)}));
    assert_eq!(refused["code"], "disk_low", "{refused}");
    claude.tool("reply", json!({"text": "a short one"}));
    assert_eq!(doctor(&project)["ok"], false);

    limits(&project, &json!({"lowWaterMegabytes": free * 10}));
    wait_for_notice(&project, "new messages are refused");
    // The banner is there before the entry of the changed file.
    wait_until("the file's entry", timeout(), || {
        let told = project.ledger().pop()?.to_string();
        told.contains("config_reloaded").then_some(())
    });
    let before = project.ledger().len();
    for (name, arguments) in [
        ("reply", json!({"text": "a short one"})),
        ("append_note", json!({"text": "a short one"})),
        ("handoff", json!({"ask": "a short one", "reason": "why"})),
    ] {
        let refused = claude.tool_refused(name, arguments);
        assert_eq!(refused["code"], "disk_low", "{name}: {refused}");
    }
    let said = operator.call("message/send", json!({"to": "claude", "text": "hm"}));
    assert_eq!(said.unwrap_err().data["code"], "disk_low");
    assert_eq!(project.ledger().len(), before);
    let decision = json!({"proposalId": proposed["proposal_id"], "approve": true});
    operator.call("finality/decide", decision).unwrap();
    let ledger = project.ledger();
    let decided = ledger
        .iter()
        .any(|line| line["type"] == "finality_decision");
    assert!(decided, "{ledger:#?}");

    limits(&project, &json!({}));
    wait_for_no_notice(&project, "MB are free on the disk");
    claude.tool("reply", json!({"text": text(2, 30_000)}));
    limits(&project, &json!({"lowWaterMegabytes": free * 10}));
    wait_for_notice(&project, "new messages are refused");
    drop((operator, claude, codex));
    daemon.stop().expect_success();
    // Without a daemon it is said as well.
    assert!(notices(&project).contains("new messages are refused"));
    let verified = project.run(["ledger", "verify", "--json"]);
    assert_eq!(verified.expect_success().json()["ok"], true);
}

#[test]
fn a_deck_beside_the_daemon_shows_the_disk_while_it_runs_low_and_no_longer() {
    let project = Project::new();
    limits(&project, &json!({}));
    let daemon = project.daemon();
    let mut deck = Pty::spawn_sized(&project.ctxrelay([]), 200, 50).labelled("deck");
    deck.wait_for_text("Timeline");
    let free = free_megabytes(project.root());
    limits(&project, &json!({"lowWaterMegabytes": free * 2}));
    deck.wait_for_text("MB are free on the disk");
    limits(&project, &json!({}));
    deck.wait_until_gone("MB are free on the disk");
    drop(deck);
    daemon.stop().expect_success();
}

#[test]
fn a_flood_of_long_texts_leaves_a_small_disk_room_for_decisions_and_for_the_end() {
    const DISK_KIB: u32 = 32_768;
    if !privileged::granted() {
        return;
    }
    let project = Project::without_git();
    std::fs::create_dir(project.state()).unwrap();
    limits(&project, &json!({"lowWaterMegabytes": 16}));
    let disk = SmallDisk::over(&project, &project.state(), DISK_KIB);
    let on_disk = |args: &[&str]| run(&disk.launch(&project.ctxrelay(args.iter().copied())));
    let daemon = Daemon::start(&disk.launch(&project.ctxrelay(["daemon"])));
    let mut operator = Operator::connect(&project);
    let outside = |path: PathBuf| disk.outside(&path);
    let token = std::fs::read_to_string(outside(project.state().join("state/codex-token")));
    let mut socket = connect_with(&project, token.unwrap().trim_end()).unwrap();
    let proposal = socket.expect(
        "finality/propose",
        json!({"agent": "codex", "summary": "all done", "evidence": ["tests"]}),
    );
    let send = |socket: &mut crate::support::ws::RpcSocket, text: String| {
        let params = json!({"from": "codex", "text": text});
        let sent = socket.outcome("message/send", params).expect("it lives");
        sent.map_err(|error| error.data["code"].as_str().unwrap().to_owned())
    };
    let folder = outside(project.state());
    let refused = (0..200).find_map(|number| send(&mut socket, text(number, 500_000)).err());
    assert_eq!(refused.as_deref(), Some("disk_low"));
    // The record itself, the queue and the index have grown as well.
    assert!(free_megabytes(&folder) >= 12, "{}", free_megabytes(&folder));

    // Somebody else takes the rest.
    let ballast = outside(project.state().join("ballast"));
    let rest = usize::try_from(free_megabytes(&folder) - 2).unwrap();
    std::fs::write(&ballast, vec![0; rest * 1_000_000]).unwrap();
    wait_until("a refusal of a short message", timeout(), || {
        let refused = send(&mut socket, "a short one".to_owned()).err()?;
        assert_eq!(refused, "disk_low");
        Some(())
    });
    let status = on_disk(&["status", "--json"]).expect_success().json();
    assert!(
        status["notices"]
            .to_string()
            .contains("new messages are refused")
    );
    assert_eq!(status["policy"]["readOnly"], false, "{status:#}");
    let id = &proposal["value"]["proposalId"];
    let decision = json!({"proposalId": id, "approve": true});
    operator.call("finality/decide", decision).unwrap();

    // There is room again, and it goes on by itself.
    std::fs::remove_file(&ballast).unwrap();
    wait_until("a short message", timeout(), || {
        send(&mut socket, "a short one".to_owned()).ok()
    });
    let rest = usize::try_from(free_megabytes(&folder) - 2).unwrap();
    std::fs::write(&ballast, vec![0; rest * 1_000_000]).unwrap();
    drop((socket, operator));
    daemon.stop().expect_success();
    let verified = on_disk(&["ledger", "verify", "--json"]);
    assert_eq!(verified.expect_success().json()["ok"], true);
    let listed = on_disk(&["ledger", "list", "--json", "--limit", "1000"]).expect_success();
    assert!(listed.stdout.contains("finality_decision"));
}
