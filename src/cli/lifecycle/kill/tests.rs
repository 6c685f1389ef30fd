//! Which process has the lock, and how it is ended; with processes that the tests start.
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command as Process, Stdio};

use tokio::time::sleep;

use super::*;
use crate::store::dirs::open_private;
use crate::store::owner::{OwnerLock, is_free};
use crate::store::testing::Place;
use crate::wire::control::ProgramCode;

/// Nobody goes by itself here.
const GOES: Duration = Duration::from_millis(50);

/// A process that lives until it is ended, at the latest by the test's end.
struct Sleeper(Child);

impl Sleeper {
    /// Does `first`, and then sleeps; has `stdin` open all the time.
    fn start(first: &str, stdin: Stdio) -> Self {
        let mut child = Process::new("/bin/sh")
            .args(["-c", &format!("{first}\necho asleep\nexec sleep 60")])
            .stdin(stdin)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        assert_eq!(line, "asleep\n");
        Self(child)
    }

    /// One that has the lock of a project, and nobody else.
    fn with_lock(place: &Place, first: &str) -> Self {
        let lock = OwnerLock::try_acquire(&place.dirs).unwrap().unwrap();
        let copy = lock.descriptors()[0].try_clone_to_owned().unwrap();
        let sleeper = Self::start(first, Stdio::from(copy));
        lock.leave();
        sign(place, sleeper.pid());
        sleeper
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.0)
    }

    fn lives(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Writes into the lock file who has it.
fn sign(place: &Place, pid: Pid) {
    let path = place.dirs.state_file("daemon.lock");
    fs::write(path, format!("{}\n", pid.as_raw_pid())).unwrap();
}

#[tokio::test]
async fn without_an_owner_there_is_nothing_to_end() {
    let place = Place::new();
    assert_eq!(end_owner(&place.dirs, GOES, GOES).await, Ok(Was::Stopped));
    assert!(!exists(&place.dirs.state_file("daemon.lock")));
    assert!(!is_free(&place.dirs), "a lock that is not there");
    drop(OwnerLock::try_acquire(&place.dirs).unwrap().unwrap());
    assert!(is_free(&place.dirs));
    assert_eq!(end_owner(&place.dirs, GOES, GOES).await, Ok(Was::Stopped));
}

#[tokio::test]
async fn an_owner_that_goes_by_itself_gets_no_signal() {
    let place = Place::new();
    let lock = OwnerLock::try_acquire(&place.dirs).unwrap().unwrap();
    let mut innocent = Sleeper::start("", Stdio::null());
    sign(&place, innocent.pid());
    let going = async {
        sleep(GOES).await;
        drop(lock);
    };
    let (ended, ()) = tokio::join!(end_owner(&place.dirs, END_WAIT, GOES), going);
    assert_eq!(ended, Ok(Was::Running));
    assert!(innocent.lives());
}

#[tokio::test]
async fn one_that_agreed_to_end_and_hangs_is_ended() {
    let place = Place::new();
    let mut stuck = Sleeper::with_lock(&place, "");
    let ended = end_asked(&place.dirs, GOES, END_WAIT).await;
    assert_eq!(ended, Ok(Was::Stuck(stuck.pid())));
    // The lock is free a moment before its process can be waited for.
    let status = stuck.0.wait().unwrap();
    assert_eq!(status.signal(), Some(Signal::TERM.as_raw()));

    let lock = OwnerLock::try_acquire(&place.dirs).unwrap().unwrap();
    let going = async {
        sleep(GOES).await;
        drop(lock);
    };
    let (ended, ()) = tokio::join!(end_asked(&place.dirs, END_WAIT, GOES), going);
    assert_eq!(ended, Ok(Was::Running));
    assert!(is_free(&place.dirs), "it was waited for");
}

#[tokio::test]
async fn a_process_that_only_the_file_names_gets_no_signal() {
    let place = Place::new();
    let _lock = OwnerLock::try_acquire(&place.dirs).unwrap().unwrap();
    // It has the file open, too, and no lock of it.
    let file = open_private(&place.dirs.state_file("daemon.lock")).unwrap();
    let mut innocent = Sleeper::start("", Stdio::from(file));
    sign(&place, innocent.pid());
    assert_eq!(owner(&place.dirs), None);
    let failure = end_owner(&place.dirs, GOES, GOES).await.unwrap_err();
    assert_eq!(failure.kind, ExitKind::Unavailable);
    assert_eq!(failure.code, ProgramCode::OwnerUnknown.into());
    let named = innocent.pid().as_raw_pid().to_string();
    assert!(failure.hint.contains(&named), "{failure:?}");
    assert!(innocent.lives());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_process_that_has_the_lock_is_ended_also_when_it_was_stopped() {
    for is_stopped in [false, true] {
        let place = Place::new();
        let mut stuck = Sleeper::with_lock(&place, "");
        let pid = stuck.pid();
        if is_stopped {
            kill_process(pid, Signal::STOP).unwrap();
        }
        assert_eq!(owner(&place.dirs), Some(pid));
        let ended = end_owner(&place.dirs, GOES, END_WAIT).await;
        assert_eq!(ended, Ok(Was::Stuck(pid)));
        stuck.0.wait().unwrap();
        assert_eq!(end_owner(&place.dirs, GOES, GOES).await, Ok(Was::Stopped));
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_process_that_does_not_end_is_named() {
    let place = Place::new();
    let mut stuck = Sleeper::with_lock(&place, "trap '' TERM");
    let failure = end_owner(&place.dirs, GOES, GOES).await.unwrap_err();
    assert_eq!(failure.kind.code(), 4);
    assert_eq!(failure.code, ProgramCode::StillRunning.into());
    let named = format!("process {} ", stuck.pid().as_raw_pid());
    assert!(failure.message.contains(&named), "{failure}");
    assert!(stuck.lives() && is_owned(&place.dirs));
}
