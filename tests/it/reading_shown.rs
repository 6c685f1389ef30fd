//! A daemon that reads a long record before it is ready: how far it is stands on the terminal that
//! waits for it, also where that is not its own.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use ctxrelay::store::dirs::ProjectDirs;
use rustix::process::{Pid, Signal, kill_process};

use crate::support::child::descendants;
use crate::support::hand_over::{Tidy, another_daemon, end_daemon};
use crate::support::project::Project;
use crate::support::pty::Pty;
use crate::support::record::Record;

/// Long enough that a process that is slowed has something to read after the second that a start may
/// take in silence.
const ENTRIES: usize = 50_000;

/// How long a process that is slowed runs, and how long it stands.
const RUNS: Duration = Duration::from_millis(2);
const STANDS: Duration = Duration::from_millis(48);

const READS: &str = "reading the record:";

/// What is said of a daemon that is ready.
const READY: &str = "ready: control port";

/// A process that runs now and then only: however fast the machine is, it needs seconds.
struct Slowed {
    stop: Arc<AtomicBool>,
    slowing: Option<JoinHandle<()>>,
}

impl Slowed {
    /// The child of a process that has this argument, as soon as there is one.
    fn child_of(parent: u32, argument: &'static str) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let slowing = std::thread::spawn(move || {
            let mut child = None;
            while !told.load(Ordering::Relaxed) {
                child = child.or_else(|| find(parent, argument));
                if let Some(child) = child {
                    // It may have ended.
                    let _ = kill_process(child, Signal::STOP);
                    std::thread::sleep(STANDS);
                    let _ = kill_process(child, Signal::CONT);
                }
                std::thread::sleep(RUNS);
            }
        });
        Self {
            stop,
            slowing: Some(slowing),
        }
    }
}

impl Drop for Slowed {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(slowing) = self.slowing.take() {
            let _ = slowing.join();
        }
    }
}

fn find(parent: u32, argument: &str) -> Option<Pid> {
    let mut children = descendants(parent).into_iter().map(|(pid, _)| pid);
    let child = children.find(|pid| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0)
            .any(|word| word == argument.as_bytes())
    });
    Pid::from_raw(child?.cast_signed())
}

fn project() -> Project {
    let project = Project::new();
    let dirs = ProjectDirs::new(project.root().to_owned(), None);
    Record::of(ENTRIES).lay_into(&dirs);
    project
}

/// Waits until the terminal shows how far the child is, and then that it is ready.
#[track_caller]
fn expect_shown(terminal: &mut Pty, slowed: Slowed) {
    terminal.wait_for_screen("how far it is", |screen| {
        let told = screen.lines().find(|line| line.starts_with(READS));
        told.is_some_and(|line| line.contains(" %, ") && line.ends_with(" entries"))
    });
    drop(slowed);
    terminal.wait_for_text(READY);
    assert_eq!(terminal.wait_exit(), 0, "{}", terminal.screen());
    assert!(!terminal.shows(READS), "{}", terminal.screen());
}

#[test]
fn a_daemon_that_is_started_in_the_background_shows_how_far_it_reads() {
    let project = project();
    let _tidy = Tidy(&project);
    let mut terminal = Pty::spawn(&project.ctxrelay(["daemon", "--detach"]));
    let slowed = Slowed::child_of(terminal.pid(), "--detached-child");
    expect_shown(&mut terminal, slowed);
    end_daemon(&project);
}

#[test]
fn a_daemon_that_takes_over_after_an_update_shows_how_far_it_reads() {
    let project = project();
    let _tidy = Tidy(&project);
    // As after an update that writes the checkpoint in another form: there is none to be read.
    fs::create_dir_all(project.state().join("state/checkpoint")).unwrap();
    let daemon = project.daemon();
    let mut terminal = Pty::spawn(&project.ctxrelay(["daemon", "--replace"]));
    let slowed = Slowed::child_of(daemon.pid(), "--take-over");
    expect_shown(&mut terminal, slowed);
    another_daemon(&project, daemon.pid());
    end_daemon(&project);
}
