//! The end of a session and the change of processes, with the head outside: SIGKILL between any two
//! steps that the disk can show, and forged lines in between.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::belief::forge;
use crate::support::account::{connect, mail};
use crate::support::child::Child;
use crate::support::daemon::Daemon;
use crate::support::operator::Operator;
use crate::support::privileged;
use crate::support::project::Project;
use crate::support::wait::{timeout, wait_until};

/// How long each of these system calls is held up, in µs: far longer than a look at the files takes,
/// so that no step is missed.
const HELD_UP_US: u32 = 20_000;
const HELD_UP: &str = "fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat";

/// Fewer steps than this were looked at from too far away.
const STEPS_MIN: usize = 6;

const SAID: &str = "go on with the tests";

/// A project with a message of the operator's that waits, and what else a record may have.
struct Scene {
    project: Project,
    daemon: Daemon,
    /// Connected before the test stands for an agent.
    operator: Operator,
    proposal: String,
}

impl Scene {
    fn new() -> Self {
        let project = Project::without_git();
        let daemon = project.daemon();
        let mut operator = Operator::connect(&project);
        let message = json!({"to": "claude", "text": SAID});
        operator.call("message/send", message).unwrap();
        let mut socket = connect(&project).unwrap();
        socket.expect("note/append", json!({"agent": "codex", "text": "one"}));
        let proposed = socket.expect(
            "finality/propose",
            json!({"agent": "codex", "summary": "all done", "evidence": ["tests"]}),
        );
        let proposal = proposed["value"]["proposalId"].as_str().unwrap().to_owned();
        Self {
            project,
            daemon,
            operator,
            proposal,
        }
    }

    /// Has the daemon end its session, and kills it as soon as the disk has changed so often.
    /// Whether it came so far.
    fn kill_at(&mut self, step: usize, method: &str, params: &Value) -> bool {
        let pid = Pid::from_raw(self.daemon.pid().cast_signed()).unwrap();
        let mut strace = held_up(&self.project, pid);
        let mut before = seen(&self.project);
        let mut steps = 0;
        let (project, operator) = (&self.project, &mut self.operator);
        let is_killed = std::thread::scope(|scope| {
            let asked = scope.spawn(|| {
                loop {
                    match operator.try_call(method, params.clone()) {
                        Some(Err(refused)) if refused.data["code"] == "in_flight" => {}
                        Some(ended) => return drop(ended.unwrap()),
                        None => return,
                    }
                }
            });
            while steps < step && !asked.is_finished() {
                let now = seen(project);
                steps += usize::from(now != before);
                before = now;
            }
            let is_met = steps == step;
            if is_met {
                kill_process(pid, Signal::KILL).unwrap();
            }
            asked.join().unwrap();
            is_met
        });
        self.daemon.crash();
        wait_until("the tracer's end", timeout(), || strace.try_exit());
        is_killed
    }

    fn status(&self) -> Value {
        self.project
            .run(["status", "--json"])
            .expect_success()
            .json()
    }

    fn asides(&self) -> Vec<String> {
        let found = fs::read_dir(self.project.state().join("sessions")).unwrap();
        let names = found.map(|file| file.unwrap().path());
        let asides = names.filter(|path| path.to_string_lossy().contains(".foreign-"));
        asides
            .map(|aside| fs::read_to_string(aside).unwrap())
            .collect()
    }
}

/// Everything that a step of an end changes.
fn seen(project: &Project) -> Vec<(PathBuf, Vec<u8>)> {
    let relay = project.state();
    let mut files = vec![relay.join("current")];
    for folder in [
        relay.join("sessions"),
        relay.join("archives"),
        project.registry().join("heads"),
    ] {
        let found = fs::read_dir(&folder).into_iter().flatten().flatten();
        files.extend(found.map(|file| file.path()));
    }
    files.retain(|file| !file.to_string_lossy().contains("checkpoint"));
    files.sort();
    // One may be gone by now.
    let seen = files.into_iter();
    seen.filter_map(|file| fs::read(&file).ok().map(|bytes| (file, bytes)))
        .collect()
}

/// All lines of all sessions, what was begun and not taken over left out.
fn lines(project: &Project) -> Vec<Value> {
    let relay = project.state();
    let folders = [relay.join("sessions"), relay.join("archives")];
    let files = folders
        .iter()
        .filter_map(|folder| fs::read_dir(folder).ok());
    let mut paths: Vec<PathBuf> = files.flatten().map(|file| file.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
    let texts = paths.iter().map(|path| fs::read_to_string(path).unwrap());
    let lines = texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>());
    // One may be in the middle of being written.
    lines
        .filter_map(|line| serde_json::from_str(&line).ok())
        .collect()
}

/// Has the daemon take so long for each step that it can be seen.
fn held_up(project: &Project, daemon: Pid) -> Child {
    let trace = format!("trace={HELD_UP}");
    let inject = format!("inject={HELD_UP}:delay_enter={HELD_UP_US}");
    attach(project, daemon, &["-e", &trace, "-e", &inject])
}

/// `strace` on a daemon that runs, all of its threads; it ends without it when it is told to.
pub fn attach(project: &Project, daemon: Pid, options: &[&str]) -> Child {
    let pid = daemon.as_raw_nonzero().to_string();
    let launch = project
        .program("strace")
        .args(["-f", "-qq", "-o", "/dev/null"])
        .args(options)
        .args(["-p", &pid]);
    let strace = Child::spawn(&launch);
    let tasks = Path::new("/proc").join(&pid).join("task");
    wait_until("all threads under strace", timeout(), || {
        let mut tasks = fs::read_dir(&tasks).unwrap().flatten();
        tasks
            .all(|task| {
                let status = fs::read_to_string(task.path().join("status"));
                status.is_ok_and(|status| !status.contains("TracerPid:\t0\n"))
            })
            .then_some(())
    });
    strace
}

/// The session that is known outside, and its file.
fn current(scene: &Scene) -> PathBuf {
    PathBuf::from(scene.status()["ledger"]["path"].as_str().unwrap())
}

/// Ends a session in every way at every step; with forged lines behind it, or without.
fn end_at_every_step(method: &str, params: &Value, forges: bool) {
    let mut step = 1;
    loop {
        let mut scene = Scene::new();
        let before = lines(&scene.project);
        let is_killed = scene.kill_at(step, method, params);
        let told = format!("{method} killed at step {step}, forged: {forges}");
        if forges {
            forge(&current(&scene), &scene.proposal);
        }
        let code = |scene: &Scene| scene.project.run(["ledger", "verify"]).code();
        assert_eq!(code(&scene), if forges { 6 } else { 0 }, "{told}");

        scene.daemon = scene.project.daemon();
        // It stands behind what the start had to say.
        connect(&scene.project)
            .unwrap()
            .expect("note/append", json!({"agent": "codex", "text": "two"}));
        let status = scene.status();
        let notices = status["notices"].to_string();
        let lines = lines(&scene.project);
        let page = mail(&scene.project);
        assert_eq!(code(&scene), if forges { 6 } else { 0 }, "{told}");
        assert_eq!(
            notices.contains("stood behind"),
            forges,
            "{told}: {notices}"
        );
        assert!(!notices.contains("was cut"), "{told}: {notices}");
        let asides = scene.asides();
        assert_eq!(asides.len(), usize::from(forges), "{told}: {asides:?}");
        for forged in ["forged-1", "forged-2"] {
            assert_eq!(asides.concat().contains(forged), forges, "{told}");
            assert!(!lines.iter().any(|line| line["id"] == forged), "{told}");
        }
        assert!(!page.to_string().contains("push to main"), "{told}: {page}");
        // Nothing is lost, and nothing is decided.
        for line in &before {
            let is_there = lines.iter().any(|now| now["hash"] == line["hash"]);
            assert!(is_there, "{told}: {line}");
        }
        let is_waiting = page.to_string().matches(SAID).count();
        let is_taken_back = lines
            .iter()
            .any(|line| line["content"] == "the operator took it back");
        assert_eq!(is_waiting > 0, !is_taken_back, "{told}: {page}");
        // A session whose last word was that it ends says behind it that it goes on.
        let own = fs::read_to_string(current(&scene)).unwrap();
        // One may be in the middle of being written.
        let own = own
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        let own: Vec<Value> = own.collect();
        let is_end = |line: &&Value| {
            let event = &line["runtimeEvent"]["event"];
            *event == "session_cleared" || *event == "session_compacted"
        };
        let ends = own.iter().filter(is_end).count();
        let mut goes_on = own.clone();
        goes_on.retain(|line| line["error"]["code"] == "clear_cut_short");
        assert_eq!(goes_on.len(), ends, "{told}: {goes_on:?}");
        for line in goes_on {
            let said = line["content"].as_str().unwrap();
            let takes_back = said.contains("without the message that waited");
            assert_eq!(takes_back, method == "ledger/clear", "{told}: {said}");
        }
        let sessions = fs::read_dir(scene.project.state().join("sessions")).unwrap();
        for file in sessions.map(|file| file.unwrap()) {
            assert!(file.metadata().unwrap().len() > 0, "{told}: {file:?}");
        }
        if method == "ledger/compact" {
            assert_eq!(status["finality"]["pending"][0], *scene.proposal, "{told}");
        }
        if !is_killed {
            break;
        }
        step += 1;
    }
    assert!(step > STEPS_MIN, "{method} has only {step} steps");
}

#[test]
fn a_clear_killed_at_any_step_loses_nothing_and_alarms_nobody() {
    if privileged::granted() {
        end_at_every_step("ledger/clear", &json!({}), false);
    }
}

#[test]
fn a_compaction_killed_at_any_step_loses_nothing_and_alarms_nobody() {
    if privileged::granted() {
        end_at_every_step("ledger/compact", &json!({}), false);
    }
}

#[test]
fn lines_forged_behind_a_killed_clear_are_nobodys_word() {
    if privileged::granted() {
        end_at_every_step("ledger/clear", &json!({}), true);
    }
}

#[test]
fn lines_forged_behind_a_killed_compaction_are_nobodys_word() {
    if privileged::granted() {
        end_at_every_step("ledger/compact", &json!({}), true);
    }
}

#[test]
fn lines_forged_while_the_daemon_changes_its_process_are_nobodys_word() {
    for forges in [false, true] {
        let mut scene = Scene::new();
        let path = current(&scene);
        let program = env!("CARGO_BIN_EXE_ctxrelay");
        let is_over = |line: &Value| line["runtimeEvent"]["event"] == "daemon_handed_over";
        let (project, operator) = (&scene.project, &mut scene.operator);
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| operator.begin_hand_over(program));
            // What this process wrote last.
            wait_until("the old process's last word", timeout(), || {
                lines(project).iter().any(is_over).then_some(())
            });
            if forges {
                forge(&path, &scene.proposal);
            }
            let over = asked.join().unwrap();
            assert!(over.is_none_or(|over| over.is_ok()));
        });
        let before = scene.daemon.pid();
        let after = wait_until("the new process", timeout(), || {
            let now = scene.project.run(["status", "--json"]).json();
            (now["answers"] != false && now["running"] == true && now["pid"] != before)
                .then_some(now)
        });
        let _tidy = Tidy(after["pid"].as_u64().unwrap());
        connect(&scene.project)
            .unwrap()
            .expect("note/append", json!({"agent": "codex", "text": "two"}));
        let page = mail(&scene.project);
        assert!(page.to_string().contains(SAID), "{page}");
        assert!(!page.to_string().contains("push to main"), "{page}");
        assert_eq!(scene.status()["finality"]["pending"][0], *scene.proposal);
        wait_until("the alarm, or none", timeout(), || {
            (scene.asides().len() == usize::from(forges)).then_some(())
        });
        wait_until("what verify says of it", timeout(), || {
            let code = scene.project.run(["ledger", "verify"]).code();
            (code == if forges { 6 } else { 0 }).then_some(())
        });
    }
}

/// Ends a daemon that is no child of the test.
struct Tidy(u64);

impl Drop for Tidy {
    fn drop(&mut self) {
        let pid = i32::try_from(self.0).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            let _ = kill_process(pid, Signal::TERM);
        }
    }
}
