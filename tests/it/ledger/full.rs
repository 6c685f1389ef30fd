//! Disks that are full for a while: every writer hears so, the daemon says so, and it goes on by
//! itself.

use std::path::PathBuf;

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::{Value, json};

use crate::support::account::{Account, connect, connect_with};
use crate::support::child::run;
use crate::support::daemon::Daemon;
use crate::support::launch::Launch;
use crate::support::operator::Operator;
use crate::support::privileged;
use crate::support::project::Project;
use crate::support::small_disk::SmallDisk;
use crate::support::wait::{timeout, wait_until};
use crate::support::ws::RpcSocket;

/// Room for a beginning, and no more.
const DISK_KIB: u32 = 600;

fn ledger_path(project: &Project) -> PathBuf {
    let status = project.run(["status", "--json"]).expect_success().json();
    PathBuf::from(status["ledger"]["path"].as_str().unwrap())
}

fn status(project: &Project) -> Value {
    project.run(["status", "--json"]).expect_success().json()
}

/// The sentences about the record that `status` shows, when it says that it is read-only.
fn banner(status: &Value) -> Option<Vec<String>> {
    let notices: Vec<String> = serde_json::from_value(status["notices"].clone()).unwrap();
    let about: Vec<String> = notices
        .into_iter()
        .filter(|notice| notice.contains("the record could not be written"))
        .collect();
    let read_only = status["policy"]["readOnly"] == true;
    assert_eq!(read_only, !about.is_empty(), "{status:#}");
    read_only.then_some(about)
}

/// What a disk that ran full must have meant to everybody, once there is room again.
fn outages(ledger: &[Value]) -> usize {
    ledger
        .iter()
        .filter(|entry| entry["error"]["code"] == "ledger_unwritable")
        .count()
}

/// Notes until one is refused; the refusal.
#[track_caller]
fn fill(account: &Account, socket: &mut RpcSocket) -> String {
    for _ in 0..10_000 {
        if let Err(refusal) = account.note("filler", socket).expect("the daemon lives") {
            return refusal;
        }
    }
    panic!("the disk never ran full");
}

/// A limit on the length of files stands for the disk: like a full one it lets a part of a write
/// through, and it can be lifted from outside without any right.
#[test]
#[cfg(target_os = "linux")]
fn a_file_that_may_not_grow_makes_the_record_read_only_until_it_may() {
    let project = Project::without_git();
    let daemon = Daemon::start(&deaf_to_limits(&project));
    let account = Account::default();
    let mut socket = connect(&project).unwrap();
    account.note("first", &mut socket).unwrap().unwrap();
    assert_eq!(banner(&status(&project)), None);
    socket.expect("entries/subscribe", json!({}));

    let path = ledger_path(&project);
    for into_the_line in [0, 1, 100] {
        let before = std::fs::read(&path).unwrap();
        limit(&daemon, Some(before.len() as u64 + into_the_line));
        let refusal = fill(&account, &mut socket);
        assert!(refusal.contains("ledger_unwritable"), "{refusal}");
        assert!(refusal.contains("File too large"), "{refusal}");
        socket.next_notification("status/changed");
        let shown = banner(&status(&project)).expect("a banner");
        assert_eq!(shown.len(), 1, "{shown:?}");
        // Nothing of what was refused is left, and reading goes on.
        // The daemon tries again each second, and takes back what it wrote.
        wait_until("the file as it was", timeout(), || {
            (std::fs::read(&path).unwrap() == before).then_some(())
        });
        let verified = project.run(["ledger", "verify", "--json"]);
        account.compare(&project.ledger(), &verified);
        let context = socket.expect("context/read", json!({"agent": "codex"}));
        assert!(context.to_string().contains("first writes"), "{context}");

        limit(&daemon, None);
        // Nobody writes: the daemon itself finds out.
        wait_until("the end of the banner", timeout(), || {
            banner(&status(&project)).is_none().then_some(())
        });
        account.note("after", &mut socket).unwrap().unwrap();
    }
    assert_eq!(outages(&project.ledger()), 3);
    account.settle(&project);
    daemon.stop().expect_success();
    account.settle(&project);
}

/// The end of a session needs room for its last line and for a new file. What stands in the record as
/// the operator's word is taken back there once anything can be written again.
#[test]
#[cfg(target_os = "linux")]
fn a_session_that_could_not_be_ended_on_a_full_disk_is_said_to_go_on_once_there_is_room() {
    let project = Project::without_git();
    let daemon = Daemon::start(&deaf_to_limits(&project));
    let path = ledger_path(&project);
    let mut operator = Operator::connect(&project);
    let length = || std::fs::metadata(&path).unwrap().len();
    let is_said_behind = |cleared: usize| {
        let ledger = project.ledger();
        let mut ends = ledger
            .iter()
            .enumerate()
            .filter(|(_, line)| line["runtimeEvent"]["event"] == "session_cleared");
        let (at, _) = ends.nth(cleared)?;
        let behind = ledger[at..].iter();
        let mut codes = behind.map(|line| &line["error"]["code"]);
        codes.any(|code| code == "not_sealed").then_some(())
    };
    // No new session can begin: a folder has the name of the file that would name it.
    let current = project.state().join("current");
    std::fs::remove_file(&current).unwrap();
    std::fs::create_dir(&current).unwrap();
    let before = wait_until("what the daemon begins with", timeout(), || {
        let before = length();
        operator
            .call("ledger/clear", json!({}))
            .is_err_and(|refusal| format!("{refusal:?}").contains("clear_failed"))
            .then_some(before)
    });
    wait_until("the first to be taken back", timeout(), || {
        is_said_behind(0)
    });
    let text = std::fs::read(&path).unwrap();
    let mut lines = text[usize::try_from(before).unwrap()..].split_inclusive(|byte| *byte == b'\n');
    let closing = lines
        .find(|line| String::from_utf8_lossy(line).contains("session_cleared"))
        .unwrap();

    // Room for the same once more, with a longer number in it, and not for the line behind it.
    limit(&daemon, Some(length() + closing.len() as u64 + 16));
    operator.call("ledger/clear", json!({})).unwrap_err();
    limit(&daemon, None);
    wait_until("the second to be taken back", timeout(), || {
        is_said_behind(1)
    });
}

/// The signal that comes with the limit would end the daemon; a full disk sends none.
fn deaf_to_limits(project: &Project) -> Launch {
    let plain = project.ctxrelay(["daemon"]);
    let mut launch = project
        .program("sh")
        .args(["-c", r#"trap "" XFSZ; exec "$0" "$@""#])
        .arg(&plain.program)
        .args(&plain.args);
    launch.env = plain.env;
    launch
}

#[cfg(target_os = "linux")]
fn limit(daemon: &Daemon, bytes: Option<u64>) {
    let pid = Pid::from_raw(daemon.pid().cast_signed());
    let limit = Rlimit {
        current: bytes,
        maximum: None,
    };
    prlimit(pid, Resource::Fsize, limit).unwrap();
}

#[test]
fn a_full_disk_refuses_every_note_keeps_all_before_it_and_goes_on_when_there_is_room() {
    if !privileged::granted() {
        return;
    }
    let project = Project::without_git();
    std::fs::create_dir(project.state()).unwrap();
    // It is to run full, and not only low.
    let config = json!({"storage": {"lowWaterMegabytes": 0}});
    project.write(".contextrelay/config.json", &config.to_string());
    let disk = SmallDisk::over(&project, &project.state(), DISK_KIB);
    let on_disk = |args: &[&str]| run(&disk.launch(&project.ctxrelay(args.iter().copied())));
    let status = || on_disk(&["status", "--json"]).expect_success().json();
    let daemon = Daemon::start(&disk.launch(&project.ctxrelay(["daemon"])));
    let outside = |path: PathBuf| disk.outside(&path);
    let token =
        std::fs::read_to_string(outside(project.state().join("state/codex-token"))).unwrap();
    let account = Account::default();
    let mut socket = connect_with(&project, token.trim_end()).unwrap();
    account.note("first", &mut socket).unwrap().unwrap();
    let ballast = outside(project.state().join("ballast"));

    for _ in 0..3 {
        // Takes what there is and then fails: nothing is free any more.
        std::fs::write(&ballast, vec![0; DISK_KIB as usize * 1024]).unwrap_err();
        let refusal = fill(&account, &mut socket);
        assert!(refusal.contains("ledger_unwritable"), "{refusal}");
        assert!(refusal.contains("No space left"), "{refusal}");
        assert!(banner(&status()).is_some());
        let shown = on_disk(&["ledger", "list", "--json"]).expect_success();
        assert!(!shown.json()["entries"].as_array().unwrap().is_empty());
        std::fs::remove_file(&ballast).unwrap();
        wait_until("the end of the banner", timeout(), || {
            banner(&status()).is_none().then_some(())
        });
        account.note("after", &mut socket).unwrap().unwrap();
    }
    // A daemon that meets a full disk when it starts says so, and starts when there is room.
    drop(socket);
    daemon.stop().expect_success();
    std::fs::write(&ballast, vec![0; DISK_KIB as usize * 1024]).unwrap_err();
    let refused = on_disk(&["daemon", "--json"]);
    assert_eq!(refused.code(), 3, "{refused:#?}");
    let error = &refused.json()["error"];
    let words = format!("{} {}", error["message"], error["hint"]);
    assert!(words.contains("space") || words.contains("room"), "{words}");
    std::fs::remove_file(&ballast).unwrap();
    let _daemon = Daemon::start(&disk.launch(&project.ctxrelay(["daemon"])));
    let mut socket = connect_with(&project, token.trim_end()).unwrap();
    account.note("last", &mut socket).unwrap().unwrap();

    let path = status()["ledger"]["path"].as_str().unwrap().to_owned();
    let text = std::fs::read_to_string(outside(PathBuf::from(path))).unwrap();
    let ledger: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    account.compare(&ledger, &on_disk(&["ledger", "verify", "--json"]));
    assert!(outages(&ledger) >= 3);
}
