//! What `status` says of the chain while somebody else is at the record of a running daemon: never
//! "ok" once the watch has raised its alarm, and "ok" again only of a file that is whole again.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::daemon::Daemon;
use crate::support::hand_over::{Tidy, another_daemon, end_daemon};
use crate::support::operator::Operator;
use crate::support::project::Project;
use crate::support::pty::Pty;
use crate::support::wait::{timeout, wait_until};

struct Scene {
    project: Project,
    daemon: Daemon,
    path: PathBuf,
}

impl Scene {
    fn new() -> Self {
        let project = Project::without_git();
        let daemon = project.daemon();
        let mut socket = project.agent("codex");
        let note = json!({"agent": "codex", "text": "as it was written"});
        socket.expect("note/append", note);
        let scene = Self {
            path: PathBuf::new(),
            daemon,
            project,
        };
        let status = scene.status();
        assert_eq!(status["ledger"]["chain"], "ok");
        let path = PathBuf::from(status["ledger"]["path"].as_str().unwrap());
        Self { path, ..scene }
    }

    fn status(&self) -> Value {
        let status = self.project.run(["status", "--json"]);
        status.expect_success().json()
    }

    /// Does something to the file; what `status` says of the chain once the alarm is raised.
    fn chain_after(&self, touch: impl FnOnce(&Path)) -> String {
        touch(&self.path);
        wait_until("the alarm", timeout(), || {
            let status = self.status();
            let notices = status["notices"].to_string();
            let chain = status["ledger"]["chain"].as_str()?.to_owned();
            notices.contains("somebody else touched").then_some(chain)
        })
    }

    /// `status` says so, with the command that says where.
    #[track_caller]
    fn is_broken(&self) {
        let status = self.status();
        assert_eq!(status["ledger"]["chain"], "broken", "{status}");
        let notices = status["notices"].to_string();
        assert!(notices.contains("`ctxrelay ledger verify`"), "{notices}");
    }

    /// And nothing is left to be said.
    fn becomes_ok(&self) {
        wait_until("a chain that is ok", timeout(), || {
            let status = self.status();
            let is_calm = status["notices"] == json!([]);
            (is_calm && status["ledger"]["chain"] == "ok").then_some(())
        });
    }
}

/// Writes over the file, which stays the same.
fn write_in_place(path: &Path, text: &str) {
    let mut file = OpenOptions::new().write(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

#[test]
fn an_edited_record_is_broken_until_it_reads_as_before() {
    let scene = Scene::new();
    let before = fs::read_to_string(&scene.path).unwrap();
    let edited = before.replace("as it was written", "as it was wanted ");
    let chain = scene.chain_after(|path| write_in_place(path, &edited));
    assert_eq!(chain, "broken");
    write_in_place(&scene.path, &before);
    scene.becomes_ok();
}

#[test]
fn an_edited_record_stays_broken_over_a_takeover_a_stop_and_a_start() {
    let scene = Scene::new();
    let _tidy = Tidy(&scene.project);
    let before = fs::read_to_string(&scene.path).unwrap();
    let edited = before.replace("as it was written", "as it was wanted ");
    scene.chain_after(|path| write_in_place(path, &edited));
    let _replace = Pty::spawn(&scene.project.ctxrelay(["daemon", "--replace"]));
    another_daemon(&scene.project, scene.daemon.pid());
    scene.is_broken();
    for _ in 0..2 {
        end_daemon(&scene.project);
        scene.is_broken();
        scene.project.run(["daemon", "--detach"]).expect_success();
        scene.is_broken();
    }
    end_daemon(&scene.project);
    write_in_place(&scene.path, &before);
    assert_eq!(scene.status()["ledger"]["chain"], "ok");
    scene.project.run(["daemon", "--detach"]).expect_success();
    assert_eq!(scene.status()["ledger"]["chain"], "ok");
}

#[test]
fn a_record_that_was_moved_away_is_broken_until_it_is_back() {
    let scene = Scene::new();
    let away = scene.path.with_extension("away");
    let chain = scene.chain_after(|path| fs::rename(path, &away).unwrap());
    assert_eq!(chain, "broken");
    fs::rename(&away, &scene.path).unwrap();
    scene.becomes_ok();
}

#[test]
fn a_record_whose_copy_has_its_place_goes_on_in_it() {
    let scene = Scene::new();
    let backup = scene.path.with_extension("jsonl~");
    // As an editor leaves it that keeps what was there.
    let chain = scene.chain_after(|path| {
        fs::rename(path, &backup).unwrap();
        fs::copy(&backup, path).unwrap();
    });
    assert_eq!(chain, "broken");
    let mut socket = scene.project.agent("codex");
    let note = json!({"agent": "codex", "text": "behind it"});
    socket.expect("note/append", note);
    let is_in = |path: &Path| fs::read_to_string(path).unwrap().contains("behind it");
    assert!(is_in(&scene.path) && !is_in(&backup));
    scene.becomes_ok();
}

#[test]
fn a_record_that_was_removed_replaced_or_cut_is_broken() {
    let touches: [fn(&Path); 3] = [
        |path| fs::remove_file(path).unwrap(),
        |path| {
            // Every line of it would pass, and it is not what the daemon writes.
            let copy = path.with_extension("copy");
            fs::copy(path, &copy).unwrap();
            fs::rename(&copy, path).unwrap();
        },
        |path| {
            let file = OpenOptions::new().write(true).open(path).unwrap();
            file.set_len(file.metadata().unwrap().len() / 2).unwrap();
        },
    ];
    for touch in touches {
        assert_eq!(Scene::new().chain_after(touch), "broken");
    }
}

#[test]
fn a_record_with_foreign_lines_is_not_ok_before_the_operator_has_seen_it() {
    let scene = Scene::new();
    let mut operator = Operator::connect(&scene.project);
    let chain = scene.chain_after(|path| {
        let mut file = OpenOptions::new().append(true).open(path).unwrap();
        file.write_all(b"{\"not\":\"ours\"}\n").unwrap();
    });
    assert_ne!(chain, "ok");
    // The writer sets the line aside, and every line in the file is ours again.
    let alarm = wait_until("the entry about the line", timeout(), || {
        let ledger = scene.project.ledger();
        let mut alarms = ledger
            .iter()
            .filter(|entry| entry["meta"]["alarm"].is_object());
        alarms.next()?["id"].as_str().map(str::to_owned)
    });
    wait_until("a chain that is whole", timeout(), || {
        match scene.status()["ledger"]["chain"].as_str() {
            Some("touched") => Some(()),
            Some("ok") => panic!("ok, and nobody has acknowledged the alarm"),
            _ => None,
        }
    });
    let acknowledge = json!({"alarmId": alarm});
    // It is in the file before it is on the disk, and can be acknowledged from then on.
    wait_until("an alarm that is on record", timeout(), || {
        operator.call("alarm/acknowledge", acknowledge.clone()).ok()
    });
    scene.becomes_ok();
}
