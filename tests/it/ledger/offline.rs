//! What somebody does to the record while no daemon runs, and what the next daemon says of it. It
//! writes the head that is kept outside anew, so nobody could say it later.

use std::fs;
use std::path::{Path, PathBuf};

use ctxrelay::wire::line::{parse, seal, serialize};
use serde_json::{Value, json};

use crate::support::account::connect;
use crate::support::project::Project;
use crate::support::wait::{timeout, wait_until};

fn lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn write(path: &Path, lines: &[String]) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(path, text).unwrap();
}

/// The last two entries anew, in a chain that is good in itself.
fn rewrite(path: &Path) {
    let mut lines = lines(path);
    let from = lines.len() - 2;
    let mut prev = parse(lines[from].as_bytes()).unwrap().link.unwrap().prev;
    for line in &mut lines[from..] {
        let mut entry = parse(line.as_bytes()).unwrap().entry;
        entry.content = "approved by the operator".to_owned();
        let sealed = seal(serialize(&entry), entry.seq.0, &prev).unwrap();
        (*line, prev) = (sealed.line, sealed.hash);
    }
    write(path, &lines);
}

fn cut(path: &Path) {
    let lines = lines(path);
    write(path, &lines[..lines.len() - 2]);
}

fn replace(path: &Path) {
    fs::write(path, "{\"schema\":\"v1\",\"id\":\"a\",\"type\":\"note\"}\n").unwrap();
}

/// What the daemon says of the record when it has just started.
fn notice(project: &Project) -> Option<String> {
    let status = project.run(["status", "--json"]).expect_success().json();
    let notices: Vec<String> = serde_json::from_value(status["notices"].clone()).unwrap();
    let about = |notice: &String| notice.contains("was cut or rewritten");
    notices.into_iter().find(about)
}

/// How often the record tells of it.
fn alarms(project: &Project) -> usize {
    let told = |entry: &&Value| entry["error"]["code"] == "ledger_touched";
    project.ledger().iter().filter(told).count()
}

/// A project with a record, its daemon gone, and the ledger's path.
fn left(orderly: bool) -> (Project, PathBuf) {
    let project = Project::without_git();
    let mut daemon = project.daemon();
    let mut socket = connect(&project).unwrap();
    for text in ["one", "two", "three"] {
        socket.expect("note/append", json!({"agent": "codex", "text": text}));
    }
    let status = project.run(["status", "--json"]).expect_success().json();
    let path = PathBuf::from(status["ledger"]["path"].as_str().unwrap());
    drop(socket);
    if orderly {
        daemon.stop().expect_success();
    } else {
        // The head outside is written a moment after the entry.
        let count = lines(&path).len();
        wait_until("the outside head", timeout(), || {
            let verified = project.run(["ledger", "verify", "--json"]).json();
            assert_eq!(lines(&path).len(), count);
            (verified["outsideHead"] == "match").then_some(())
        });
        daemon.crash();
    }
    (project, path)
}

#[test]
fn a_record_that_was_changed_while_no_daemon_ran_is_an_alarm_at_the_next_start() {
    type Change = (&'static str, fn(&Path));
    let changes: [Change; 5] = [
        ("cut", cut),
        ("rewritten with good hashes", rewrite),
        ("replaced by an older ledger", replace),
        ("emptied", |path| fs::write(path, "").unwrap()),
        ("removed", |path| fs::remove_file(path).unwrap()),
    ];
    for (name, change) in changes {
        let (project, path) = left(true);
        change(&path);
        let daemon = project.daemon();
        let said = notice(&project).unwrap_or_else(|| panic!("{name}: nothing is said"));
        assert!(said.contains("ledger verify"), "{name}: {said}");
        // A daemon is ready before its first entries are on the disk.
        wait_until("the alarm in the record", timeout(), || {
            (alarms(&project) > 0).then_some(())
        });
        assert_eq!(alarms(&project), 1, "{name}");
        daemon.stop().expect_success();
        // It stays in the record, and is not told again; it is shown until somebody has seen it.
        let _daemon = project.daemon();
        assert_eq!(
            (notice(&project), alarms(&project)),
            (Some(said), 1),
            "{name}"
        );
    }
}

#[test]
fn a_record_that_nobody_touched_is_no_alarm() {
    for orderly in [true, false] {
        let (project, _) = left(orderly);
        let _daemon = project.daemon();
        assert_eq!((notice(&project), alarms(&project)), (None, 0));
    }
}
