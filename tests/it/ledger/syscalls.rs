//! The daemon under `strace`: killed as it enters a chosen system call, or told by it that the disk
//! fails. Random moments rarely hit the few microseconds between a write and its sync; these do.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::account::{Account, connect};
use crate::support::child::Child;
use crate::support::daemon::Daemon;
use crate::support::privileged;
use crate::support::project::Project;
use crate::support::wait::{poll_until, timeout, wait_until};

/// Each system call is met at its first, second, … time in any thread, so often.
const PLACES: u32 = 7;

/// How many notes a daemon takes that is not met in its system call, before it is killed anyway.
const NOTES: usize = 12;

/// A project with a record of three notes and a torn end, so that a start has something to mend.
fn worn_project(account: &Account) -> (Project, PathBuf) {
    let project = Project::without_git();
    let mut daemon = project.daemon();
    let mut socket = connect(&project).unwrap();
    for _ in 0..3 {
        account.note("early", &mut socket).unwrap().unwrap();
    }
    let status = project.run(["status", "--json"]).expect_success().json();
    let path = PathBuf::from(status["ledger"]["path"].as_str().unwrap());
    drop(socket);
    // Behind the head of an orderly end a torn line is somebody else's.
    daemon.crash();
    let mut file = File::options().append(true).open(&path).unwrap();
    file.write_all(br#"{"schema":"v1","id":"torn"#).unwrap();
    (project, path)
}

/// `ctxrelay daemon` under `strace`, which does one thing to it.
fn traced(project: &Project, options: &[&str]) -> Child {
    let daemon = project.ctxrelay(["daemon"]);
    let mut launch = project
        .program("strace")
        .args(["-f", "-qq", "-o", "/dev/null"])
        .args(options)
        .arg(&daemon.program)
        .args(&daemon.args);
    launch.env = daemon.env;
    Child::spawn(&launch)
}

/// The daemon's number on its ready line; `None` when it died before.
#[track_caller]
fn ready(child: &mut Child) -> Option<Pid> {
    wait_until("the daemon's start or its end", timeout(), || {
        let line = child.stdout().into_iter().next();
        match (line, child.try_exit()) {
            (Some(line), _) => Some(Some(line)),
            (None, Some(_)) => Some(None),
            (None, None) => None,
        }
    })
    .map(|line| {
        let after = line.split("pid ").nth(1).unwrap();
        let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
        Pid::from_raw(digits.parse().unwrap()).unwrap()
    })
}

/// Kills at every place of a system call; says how often it was met there.
#[track_caller]
fn kill_at(calls: &str) {
    let mut met = 0;
    for place in 1..=PLACES {
        let account = Account::default();
        let (project, _) = worn_project(&account);
        let inject = format!("inject={calls}:signal=KILL:when={place}");
        let mut child = traced(&project, &["-e", &format!("trace={calls}"), "-e", &inject]);
        if let Some(pid) = ready(&mut child) {
            let mut alive = connect(&project);
            for _ in 0..NOTES {
                let Some(socket) = &mut alive else { break };
                match account.note("traced", socket) {
                    Some(recorded) => recorded.unwrap(),
                    None => alive = None,
                }
            }
            if alive.is_some() {
                // Never met: this one is killed between two notes.
                let _ = kill_process(pid, Signal::KILL);
            } else {
                met += 1;
            }
        } else {
            met += 1;
        }
        wait_until("the end of the killed daemon", timeout(), || {
            child.try_exit()
        });

        let daemon = project.daemon();
        let mut socket = connect(&project).unwrap();
        account.note("after", &mut socket).unwrap().unwrap();
        account.settle(&project);
        drop(socket);
        daemon.stop().expect_success();
        account.settle(&project);
    }
    assert!(met > 0, "no daemon came to {calls}");
}

/// One test for each system call, so that they run side by side.
macro_rules! killed_at {
    ($($name:ident: $calls:literal,)*) => {$(
        #[test]
        fn $name() {
            if privileged::granted() {
                kill_at($calls);
            }
        }
    )*};
}

killed_at! {
    a_daemon_killed_before_a_write_recovers: "write",
    a_daemon_killed_between_write_and_sync_recovers: "fdatasync",
    a_daemon_killed_before_a_whole_sync_recovers: "fsync",
    a_daemon_killed_while_it_sets_a_torn_end_aside_recovers: "ftruncate",
    a_daemon_killed_before_a_rename_recovers: "rename,renameat,renameat2",
    a_daemon_killed_while_it_writes_its_queue_recovers: "pwrite64",
    a_daemon_killed_between_sync_and_answer_recovers: "sendto,writev",
}

/// The calls on the ledger's own file fail from the second to the fourth time; what was refused is
/// not there, and the daemon goes on by itself.
#[track_caller]
fn fail(call: &str, error: &str, words: &str) {
    let account = Account::default();
    let (project, path) = worn_project(&account);
    // The torn end is mended before the disk begins to fail.
    project.daemon().stop().expect_success();
    let mut child = traced(
        &project,
        &[
            "-P",
            path.to_str().unwrap(),
            "-e",
            &format!("trace={call}"),
            "-e",
            &format!("inject={call}:error={error}:when=2..4"),
        ],
    );
    let daemon = ready(&mut child).expect("a daemon that starts on a sound disk");
    let mut socket = connect(&project).unwrap();
    let mut refused = Vec::new();
    poll_until(timeout(), || {
        let answer = account
            .note("traced", &mut socket)
            .expect("the daemon lives");
        match answer {
            Ok(()) if refused.is_empty() => None,
            // It works again.
            Ok(()) => Some(()),
            Err(refusal) => {
                refused.push(refusal);
                None
            }
        }
    })
    .expect("notes are taken again");
    let first = &refused[0];
    assert!(first.contains("ledger_unwritable"), "{first}");
    assert!(first.contains(words), "{first}");
    account.settle(&project);
    let status = project.run(["status", "--json"]).expect_success().json();
    assert_eq!(status["policy"]["readOnly"], false, "{status:#}");
    let before = fs::read(&path).unwrap();
    kill_process(daemon, Signal::TERM).unwrap();
    drop(socket);
    wait_until("the end of the daemon", timeout(), || child.try_exit());
    assert!(fs::read(&path).unwrap().starts_with(&before));

    let _daemon = Daemon::start(&project.ctxrelay(["daemon"]));
    let mut socket = connect(&project).unwrap();
    account.note("after", &mut socket).unwrap().unwrap();
    account.settle(&project);
}

macro_rules! failing {
    ($($name:ident: $call:literal $error:literal $words:literal,)*) => {$(
        #[test]
        fn $name() {
            if privileged::granted() {
                fail($call, $error, $words);
            }
        }
    )*};
}

failing! {
    a_write_that_fails_is_refused_and_taken_back: "write" "EIO" "append to",
    a_write_without_space_is_refused_and_taken_back: "write" "ENOSPC" "No space left",
    a_sync_that_fails_is_refused_and_taken_back: "fdatasync" "EIO" "sync",
    a_sync_without_space_is_refused_and_taken_back: "fdatasync" "ENOSPC" "No space left",
}

#[test]
fn a_look_at_the_file_that_fails_is_no_touch_of_somebody_else() {
    if !privileged::granted() {
        return;
    }
    let account = Account::default();
    let (project, path) = worn_project(&account);
    project.daemon().stop().expect_success();
    let log = project.base().join("trace");
    let calls = "statx,fstat,newfstatat";
    // Each look asks for the name and for the open file: every third call fails, so that each of the
    // two is met. Not those of the start, which goes no further.
    let mut child = traced(
        &project,
        &[
            "-o",
            log.to_str().unwrap(),
            "-y",
            "-P",
            path.to_str().unwrap(),
            "-e",
            &format!("trace={calls}"),
            "-e",
            &format!("inject={calls}:error=EIO:when=40+3"),
        ],
    );
    let daemon = ready(&mut child).expect("a daemon that starts on a sound disk");
    let mut socket = connect(&project).unwrap();
    let of_open_file = format!("<{}>, \"\"", path.display());
    poll_until(timeout(), || {
        // It may be refused: the writer looks at the file as well.
        let noted = account.note("traced", &mut socket);
        drop(noted.expect("the daemon lives"));
        let calls = fs::read_to_string(&log).unwrap();
        let mut failed = calls.lines().filter(|call| call.contains("INJECTED"));
        failed
            .any(|call| call.contains(&of_open_file))
            .then_some(())
    })
    .expect("a look at the open file that fails");
    kill_process(daemon, Signal::TERM).unwrap();
    drop(socket);
    wait_until("the end of the daemon", timeout(), || child.try_exit());
    let record = fs::read_to_string(&path).unwrap();
    assert!(!record.contains("ledger_touched"), "{record}");
}
