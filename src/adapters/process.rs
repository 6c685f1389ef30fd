//! [`ProcessStat`], [`StartedProcess`], [`age()`] and [`loopback`]: the kernel's data about other
//! processes.

mod age;
pub mod loopback;
#[cfg(target_os = "linux")]
mod socket_diag;

use std::fs;
use std::process::{Command, Stdio};

pub use age::age;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// What the kernel says about one process at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessStat {
    /// Its parent. Of an orphan: the subreaper, or the first process, that took it.
    pub parent: u32,
    /// Its session; zero where the operating system does not tell (macOS).
    pub session: u32,
    /// It has a controlling terminal.
    pub has_terminal: bool,
}

impl ProcessStat {
    /// Looks a process up; `None` when there is none, or when it cannot be read.
    #[cfg(target_os = "linux")]
    pub fn of(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let fields = fields(&stat)?;
        Some(Self {
            parent: fields.get(1)?.parse().ok()?,
            session: fields.get(3)?.parse().ok()?,
            has_terminal: *fields.get(4)? != "0",
        })
    }

    /// Looks a process up; `None` when there is none, or when it cannot be read.
    #[cfg(not(target_os = "linux"))]
    pub fn of(pid: u32) -> Option<Self> {
        let said = ps("ppid=,tty=", pid)?;
        let (parent, terminal) = said.trim().split_once(char::is_whitespace)?;
        Some(Self {
            parent: parent.parse().ok()?,
            session: 0,
            has_terminal: !terminal.trim().starts_with('?'),
        })
    }
}

/// One process for good: an id alone may be somebody else's once it has ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StartedProcess {
    /// Its id.
    pub pid: u32,
    /// See [`started`].
    pub started: Option<String>,
}

impl StartedProcess {
    /// The process that has this id now.
    pub fn of(pid: u32) -> Self {
        Self {
            pid,
            started: started(pid),
        }
    }

    /// Whether it has not ended.
    pub fn lives(&self) -> bool {
        self.started.is_some() && started(self.pid) == self.started
    }

    /// Whether it is known to have ended. Of one that cannot be looked at that is not known.
    pub fn has_ended(&self) -> bool {
        let id = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        if id.is_some_and(|id| test_kill_process(id) == Err(Errno::SRCH)) {
            return true;
        }
        let is_another = |now| self.started.as_ref().is_some_and(|then| *then != now);
        // One whose status nobody has taken yet has a start, and no age.
        started(self.pid).is_some_and(|now| is_another(now) || age(self.pid).is_none())
    }
}

/// When a process started, as the operating system puts it; `None` when there is no such process.
/// Together with the id it names one process for good. It stays the same over an `exec`.
pub fn started(pid: u32) -> Option<String> {
    if cfg!(target_os = "linux") {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        return Some((*fields(&stat)?.get(19)?).to_owned());
    }
    let said = ps("lstart=", pid)?.trim().to_owned();
    (!said.is_empty()).then_some(said)
}

/// The fields of `/proc/<pid>/stat` from the state on. The name before them stands in parentheses
/// and may contain anything, parentheses too.
pub(super) fn fields(stat: &str) -> Option<Vec<&str>> {
    let (_, rest) = stat.rsplit_once(") ")?;
    Some(rest.split_ascii_whitespace().collect())
}

/// The environment that a process was started with, as `NAME=value` with a zero byte after each;
/// `None` where it cannot be read, and everywhere but on Linux.
pub fn environment(pid: u32) -> Option<Vec<u8>> {
    fs::read(format!("/proc/{pid}/environ")).ok()
}

fn ps(columns: &str, pid: u32) -> Option<String> {
    let output = Command::new("ps")
        .args(["-o", columns, "-p", &pid.to_string()])
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    String::from_utf8(output.stdout).ok()
}

#[cfg(test)]
mod tests {
    use rustix::process::{WaitId, WaitIdOptions, waitid};

    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let stat = "12 (a) R 1 (b)) S 7 12 12 34816 0";
        let fields = fields(stat).unwrap();
        assert_eq!(&fields[..5], ["S", "7", "12", "12", "34816"]);
        assert!(super::fields("nothing").is_none());
    }

    #[test]
    fn a_child_names_this_process_as_its_parent_and_keeps_its_start() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let info = ProcessStat::of(child.id()).unwrap();
        assert_eq!(info.parent, std::process::id());
        let own = ProcessStat::of(std::process::id()).unwrap();
        assert_eq!(
            (info.session, info.has_terminal),
            (own.session, own.has_terminal)
        );
        assert_eq!(started(child.id()), started(child.id()));
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(ProcessStat::of(child.id()), None);
        assert_eq!(started(child.id()), None);
    }

    #[test]
    fn a_process_has_ended_when_it_has_also_before_its_status_is_taken() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let process = StartedProcess::of(child.id());
        assert!(!process.has_ended());
        drop(child.stdin.take());
        let id = WaitId::Pid(Pid::from_child(&child));
        waitid(id, WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
        if cfg!(target_os = "linux") {
            assert!(process.has_ended());
        }
        child.wait().unwrap();
        assert!(process.has_ended());
        // Its id may be this one's since. Without a start that cannot be told.
        for (then, has_ended) in [(Some("another start"), true), (None, false)] {
            let process = StartedProcess {
                pid: std::process::id(),
                started: then.map(str::to_owned),
            };
            assert_eq!(process.has_ended(), has_ended);
        }
    }
}
