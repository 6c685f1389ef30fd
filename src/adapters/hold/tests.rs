//! Real processes: this test binary stands in for `ctxrelay hold` and for an owner.

use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{ChildStdout, Command};

use super::process::{self, stat};
use super::*;

const AS_HOLD: &str = "TEST_AS_HOLD";
const AS_OWNER: &str = "TEST_AS_OWNER";

/// A shell that starts a child of its own, as npm's shim does, prints its id and waits.
const WRAPPER: &str = "sleep 1000 & echo pid $!; wait";

/// Is this binary, started by another test, when the variable is there.
#[test]
fn stands_in_for_the_hold() {
    if let Ok(args) = std::env::var(AS_HOLD) {
        let args: Vec<String> = serde_json::from_str(&args).unwrap();
        std::process::exit(hold(args.into_iter().map(Into::into).collect()));
    }
}

/// An owner that holds a wrapper until it is killed.
#[test]
fn stands_in_for_an_owner() {
    if std::env::var(AS_OWNER).is_err() {
        return;
    }
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let child = spawn_held(held(&["--", "sh", "-c", WRAPPER]), "owned")
            .await
            .unwrap();
        std::fs::write(
            std::env::var(AS_OWNER).unwrap(),
            serde_json::to_vec(child.record()).unwrap(),
        )
        .unwrap();
        std::future::pending::<()>().await;
    });
}

fn this_binary(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "--exact",
            &format!("adapters::hold::tests::{test}"),
            "--nocapture",
        ])
        .env_remove(AS_OWNER)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

fn held(args: &[&str]) -> Command {
    let mut command = this_binary("stands_in_for_the_hold");
    command.env(AS_HOLD, serde_json::to_string(args).unwrap());
    command
}

async fn held_shell(script: &str, mark: &str) -> (HeldChild, Option<u32>) {
    let mut command = held(&["--", "sh", "-c", script]);
    command.stdout(Stdio::piped());
    let mut child = spawn_held(command, mark).await.unwrap();
    let stdout = child.take_stdout().unwrap();
    let printed = if script.contains("echo pid") {
        Some(printed_pid(stdout).await)
    } else {
        None
    };
    (child, printed)
}

/// The id that the shell prints, among the lines of the test harness.
async fn printed_pid(stdout: ChildStdout) -> u32 {
    let mut lines = BufReader::new(stdout).lines();
    loop {
        let line = lines
            .next_line()
            .await
            .unwrap()
            .expect("the shell printed its child");
        // The harness leaves its own line unfinished.
        if let Some((_, pid)) = line.split_once("pid ") {
            return pid.trim().parse().unwrap();
        }
    }
}

/// Waits until a condition holds; there is no event for the end of a stranger.
fn eventually(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < deadline, "{what}");
        thread::sleep(Duration::from_millis(10));
    }
}

fn lives(pid: u32) -> bool {
    if cfg!(target_os = "linux") {
        stat(pid).is_some_and(|stat| stat.state != 'Z')
    } else {
        rustix::process::test_kill_process(process::pid(pid).unwrap()).is_ok()
    }
}

fn kill(pid: u32, signal: Signal) {
    kill_process(process::pid(pid).unwrap(), signal).unwrap();
}

#[tokio::test]
async fn the_exit_code_is_passed_on() {
    let (mut child, _) = held_shell("exit 7", "m").await;
    assert_eq!(child.gone().await.unwrap(), Some(7));
    let (mut child, _) = held_shell("kill -KILL $$", "m").await;
    assert_eq!(child.gone().await.unwrap(), Some(128 + 9));
}

#[tokio::test]
async fn the_child_has_an_empty_input_the_mark_a_group_of_its_own_and_the_holds_session() {
    let script = "read -r line && exit 1; test \"$CONTEXTRELAY_HOLD_MARK\" = m:1 || exit 2; \
                  test \"$(ps -o pgid= -p $$ | tr -d ' ')\" = $$ || exit 3; \
                  test \"$(ps -o sid= -p $$ | tr -d ' ')\" = $PPID || exit 4; \
                  (: </dev/tty) 2>/dev/null && exit 5; exit 0";
    let (mut child, _) = held_shell(script, "m:1").await;
    assert_eq!(child.gone().await.unwrap(), Some(0));
}

#[tokio::test]
async fn a_command_that_does_not_exist_is_an_error_with_a_reason() {
    let error = spawn_held(held(&["--", "/no/such/program"]), "m")
        .await
        .unwrap_err();
    assert!(
        matches!(&error, HoldError::Command(why) if why.contains("No such file")),
        "{error}"
    );
    let error = spawn_held(held(&[]), "m").await.unwrap_err();
    assert!(matches!(error, HoldError::Command(_)));
}

#[tokio::test]
async fn ending_it_ends_the_childs_children_too() {
    let (child, grandchild) = held_shell(WRAPPER, "m").await;
    let leader = child.record().pid;
    child.end().await;
    assert!(!lives(leader));
    eventually("the grandchild ends", || !lives(grandchild.unwrap()));
}

#[tokio::test]
async fn dropping_it_ends_it() {
    let (child, grandchild) = held_shell(WRAPPER, "m").await;
    let leader = child.record().pid;
    drop(child);
    eventually("the group ends", || {
        !lives(leader) && !lives(grandchild.unwrap())
    });
}

#[tokio::test]
async fn a_group_that_ignores_sigterm_is_killed() {
    let script = "trap '' TERM; sh -c 'trap \"\" TERM; while :; do sleep 0.1; done' & echo pid $!; \
                  while :; do sleep 0.1; done";
    let (child, grandchild) = held_shell(script, "m").await;
    let leader = child.record().pid;
    let began = Instant::now();
    child.end().await;
    assert!(!lives(leader));
    eventually("the grandchild ends", || !lives(grandchild.unwrap()));
    assert!(began.elapsed() >= process::GRACE, "it was given no time");
}

#[tokio::test]
async fn what_a_killed_wrapper_leaves_behind_is_ended() {
    let (mut child, grandchild) = held_shell(WRAPPER, "m").await;
    kill(child.record().pid, Signal::KILL);
    assert_eq!(child.gone().await.unwrap(), Some(128 + 9));
    eventually("the grandchild ends", || !lives(grandchild.unwrap()));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_the_child_leaves_behind_is_reaped_while_the_child_lives() {
    // An orphan in a session of its own: it is not in the child's group.
    let script = "(setsid sleep 0 & echo pid $!); exec sleep 1000";
    let (child, orphan) = held_shell(script, "reaps").await;
    let orphan = orphan.unwrap();
    eventually("the orphan stays in the table of processes", || {
        stat(orphan).is_none()
    });
    assert!(lives(child.record().pid));
    child.end().await;
}

#[tokio::test]
async fn signals_to_the_hold_end_the_group() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let (mut child, grandchild) = held_shell(WRAPPER, "m").await;
        kill(child.record().hold, signal);
        assert_eq!(child.gone().await.unwrap(), Some(128 + 15));
        eventually("the grandchild ends", || !lives(grandchild.unwrap()));
    }
}

#[tokio::test]
async fn the_group_of_a_killed_hold_is_reaped_by_its_owner() {
    let (mut child, grandchild) = held_shell(WRAPPER, &mark("killed-hold")).await;
    let leader = child.record().pid;
    kill(child.record().hold, Signal::KILL);
    assert_eq!(child.gone().await.unwrap(), None);
    assert!(!lives(leader) && !lives(grandchild.unwrap()));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_a_hold_that_says_nothing_has_started_is_ended() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "sleep 1000 & echo $! > \"$0\""]);
    command.arg(file.path());
    let error = spawn_held(command, &mark("silent")).await.unwrap_err();
    assert!(matches!(error, HoldError::Silent), "{error}");
    let started = std::fs::read_to_string(file.path()).unwrap();
    let started = started.trim().parse().unwrap();
    eventually("what it started ends", || !lives(started));
}

#[tokio::test]
async fn the_group_dies_with_a_killed_owner() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut owner = this_binary("stands_in_for_an_owner")
        .env(AS_OWNER, file.path())
        .spawn()
        .unwrap();
    let record = || {
        let bytes = std::fs::read(file.path()).unwrap();
        serde_json::from_slice::<ChildRecord>(&bytes).ok()
    };
    eventually("the owner has its child", || record().is_some());
    let record = record().unwrap();
    assert!(lives(record.pid));
    owner.kill().await.unwrap();
    eventually("the group ends", || {
        !lives(record.pid) && !lives(record.hold) && process::members(record.pid).is_empty()
    });
    assert_eq!(reap(&record), Reaped::Nothing);
}

/// Random, as the real ones are: several test binaries may run at a time.
fn mark(name: &str) -> String {
    format!("{name}:{}", uuid::Uuid::new_v4())
}

/// A group whose hold was killed and whose owner does not look.
async fn orphan(mark: &str) -> (ChildRecord, u32) {
    let (child, grandchild) = held_shell(WRAPPER, mark).await;
    let record = child.record().clone();
    kill(record.hold, Signal::KILL);
    drop(child);
    (record, grandchild.unwrap())
}

#[tokio::test]
async fn an_orphaned_group_is_found_again_by_its_record() {
    let (record, grandchild) = orphan(&mark("orphan")).await;
    assert_eq!(reap(&record), Reaped::Ended);
    assert!(!lives(record.pid) && !lives(grandchild));
    assert_eq!(reap(&record), Reaped::Nothing);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_orphaned_group_without_its_leader_is_found_by_the_mark() {
    let (record, grandchild) = orphan(&mark("leaderless")).await;
    kill(record.pid, Signal::KILL);
    eventually("the leader ends", || !lives(record.pid));
    assert!(lives(grandchild));
    assert_eq!(reap(&record), Reaped::Ended);
    assert!(!lives(grandchild));
}

#[tokio::test]
async fn a_process_that_only_has_the_same_number_is_left_alone() {
    let (child, _) = held_shell(WRAPPER, &mark("stranger")).await;
    let record = child.record().clone();
    let other_start = ChildRecord {
        started: "1".to_owned(),
        ..record.clone()
    };
    assert_eq!(reap(&other_start), Reaped::Nothing);
    if cfg!(target_os = "linux") {
        let other_mark = ChildRecord {
            mark: "other".to_owned(),
            ..record.clone()
        };
        assert_eq!(reap(&other_mark), Reaped::Nothing);
    }
    for pid in [0, 1, u32::MAX] {
        assert_eq!(
            reap(&ChildRecord {
                pid,
                ..record.clone()
            }),
            Reaped::Nothing
        );
    }
    assert!(lives(record.pid));
    child.end().await;
}

/// What the next owner gets, through a copy of the descriptor as another process would.
fn passed_on(child: HeldChild) -> PassedChild {
    let passed = child.pass().unwrap();
    let copy = passed.lifeline().try_clone_to_owned().unwrap();
    PassedChild::new(passed.record().clone(), copy)
}

#[tokio::test]
async fn a_child_outlives_its_owner_when_another_has_its_lifeline() {
    let (child, grandchild) = held_shell(WRAPPER, "m").await;
    let mut heir = HeldChild::take_over(passed_on(child)).unwrap();
    let leader = heir.record().pid;
    assert_eq!(heir.record().owner, std::process::id());
    // It is not told gone while it lives, and a look that is given up loses nothing.
    assert!(
        tokio::time::timeout(Duration::from_millis(50), heir.gone())
            .await
            .is_err()
    );
    assert!(lives(leader) && lives(grandchild.unwrap()));
    heir.end().await;
    assert!(!lives(leader));
    eventually("the grandchild ends", || !lives(grandchild.unwrap()));
}

#[tokio::test]
async fn an_heir_hears_how_the_child_ended() {
    let (child, grandchild) = held_shell("sleep 1000 & echo pid $!; wait $!; exit 7", "m").await;
    let mut heir = HeldChild::take_over(passed_on(child)).unwrap();
    kill(grandchild.unwrap(), Signal::KILL);
    assert_eq!(heir.gone().await.unwrap(), Some(7));

    let (child, grandchild) = held_shell(WRAPPER, &mark("heir")).await;
    let mut heir = HeldChild::take_over(passed_on(child)).unwrap();
    let leader = heir.record().pid;
    kill(heir.record().hold, Signal::KILL);
    assert_eq!(heir.gone().await.unwrap(), None);
    assert!(!lives(leader) && !lives(grandchild.unwrap()));
}

#[tokio::test]
async fn a_child_that_nobody_takes_on_ends() {
    let (child, grandchild) = held_shell(WRAPPER, "m").await;
    let leader = child.record().pid;
    drop(passed_on(child));
    eventually("the group ends", || {
        !lives(leader) && !lives(grandchild.unwrap())
    });
}
