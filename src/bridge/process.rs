//! [`Process`]: a process of somebody else, distinguished from a later one with the same id.

use rustix::process::{Pid, test_kill_process};

/// A process that was seen alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    pid: Pid,
    started: Option<u64>,
}

impl Process {
    /// The process with this id, when it lives.
    pub(super) fn find(pid: u32) -> Option<Self> {
        let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
        let process = Self {
            pid,
            started: started(pid),
        };
        process.lives().then_some(process)
    }

    /// Whether it still lives. Where the start time cannot be read (not Linux), a later process
    /// with the same id counts as the same one.
    pub(super) fn lives(self) -> bool {
        // "Not permitted" is an answer too: somebody is there.
        let there = !matches!(test_kill_process(self.pid), Err(rustix::io::Errno::SRCH));
        there && !is_zombie(self.pid) && started(self.pid) == self.started
    }
}

/// When it started, in clock ticks since boot: field 22 of `/proc/PID/stat`.
fn started(pid: Pid) -> Option<u64> {
    stat(pid)?.split_whitespace().nth(19)?.parse().ok()
}

/// It has ended and nobody has taken its status.
fn is_zombie(pid: Pid) -> bool {
    stat(pid).is_some_and(|stat| stat.starts_with('Z'))
}

/// `/proc/PID/stat` from its third field on. The second is a name that may hold spaces.
fn stat(pid: Pid) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid())).ok()?;
    Some(stat.rsplit_once(')')?.1.trim_start().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_gone_as_soon_as_it_has_ended_even_before_it_is_reaped() {
        let mut child = std::process::Command::new("cat")
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let process = Process::find(child.id()).unwrap();
        assert!(process.lives());
        assert!(
            !Process {
                started: Some(1),
                ..process
            }
            .lives()
        );

        drop(child.stdin.take());
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while process.lives() {
            assert!(std::time::Instant::now() < deadline);
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(!process.lives());
    }
}
