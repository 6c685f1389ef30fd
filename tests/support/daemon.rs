//! `Daemon`: `ctxrelay daemon` of a project.

use std::ops::Deref;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::child::{Child, Finished, is_alive};
use super::http;
use super::launch::Launch;
use super::project::Project;
use super::wait::{timeout, wait_until};

/// `ctxrelay daemon` of a project; ended with this value.
#[derive(Debug)]
pub struct Daemon {
    child: Child,
    ready: String,
}

impl Daemon {
    /// Starts a daemon and waits for its one ready line.
    #[track_caller]
    pub fn start(launch: &Launch) -> Self {
        let mut child = Child::spawn(launch);
        let ready = child.wait_for_line("its ready line", |line| Some(line.to_owned()));
        Self { child, ready }
    }

    /// The line it printed when it was ready.
    pub fn ready_line(&self) -> &str {
        &self.ready
    }

    pub fn pid(&self) -> u32 {
        self.child.pid()
    }

    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// SIGKILL to the daemon alone; its children learn of it by themselves, as after a crash.
    #[track_caller]
    pub fn crash(&mut self) {
        self.child.crash();
    }

    /// SIGTERM, and what it left.
    #[track_caller]
    pub fn stop(self) -> Finished {
        self.child.signal(Signal::TERM);
        self.child.wait()
    }
}

/// What has a daemon that runs for as long as it is there itself.
#[derive(Debug)]
pub struct Live<T> {
    /// Ends before the folders go.
    _daemon: Daemon,
    around: T,
}

impl<T> Live<T> {
    pub fn new(around: T, daemon: impl FnOnce(&T) -> Daemon) -> Self {
        Self {
            _daemon: daemon(&around),
            around,
        }
    }
}

impl<T> Deref for Live<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.around
    }
}

impl Project {
    /// As [`Self::new`], with a daemon that the test does nothing with.
    #[track_caller]
    pub fn live() -> Live<Self> {
        Live::new(Self::new(), Self::daemon)
    }

    /// Starts this project's daemon without the agents; see `Daemon::start` for others.
    #[track_caller]
    pub fn daemon(&self) -> Daemon {
        let daemon = Daemon::start(&self.ctxrelay(["daemon"]));
        let port = self.ports.control.to_string();
        assert!(
            daemon.ready_line().contains(&port),
            "no port {port} in {:?}",
            daemon.ready_line()
        );
        daemon
    }

    /// Ends the daemon that something else than the test has started.
    #[track_caller]
    pub fn end_daemon(&self) {
        let status = wait_until("a daemon", timeout(), || self.status_of_daemon());
        let pid = u32::try_from(status["pid"].as_u64().unwrap()).unwrap();
        kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::TERM).unwrap();
        wait_until("the daemon's end", timeout(), || {
            (!is_alive(pid)).then_some(())
        });
    }

    /// The status as `ctxrelay status --json` has it from the daemon, without a process for it.
    /// `None` when no daemon answers with it: then the command looks at the disk.
    pub fn status_of_daemon(&self) -> Option<Value> {
        let token = std::fs::read_to_string(self.state().join("state/token")).ok()?;
        let bearer = format!("Bearer {}", token.trim_end());
        let headers = [("Authorization", bearer.as_str())];
        let answer = http::get(self.ports.control, "/healthz", &headers).ok()?;
        // Whose token is not the readers' is told only that somebody is there.
        let status: Value = serde_json::from_str(&answer.body).ok()?;
        (status["running"] == true).then_some(status)
    }
}
