//! `Daemon`: `ctxrelay daemon` of a project.

use super::child::{Child, Finished};
use super::launch::Launch;
use super::project::Project;

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
        self.child.signal(rustix::process::Signal::TERM);
        self.child.wait()
    }
}

impl Project {
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
}
