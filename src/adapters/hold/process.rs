//! Signals to process groups, and what the operating system says about a process.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

/// From SIGTERM to SIGKILL. An app-server with a turn running drains on SIGTERM and does not exit
/// (Codex 0.169.0, observed), so this is not worth more.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// How often a group that is ending is looked at. There is no event for the end of a process that
/// is not our child.
pub(super) const LOOK: Duration = Duration::from_millis(20);

/// A process id from outside; zero and one are never ours.
pub(super) fn pid(raw: u32) -> Option<Pid> {
    i32::try_from(raw)
        .ok()
        .filter(|raw| *raw > 1)
        .and_then(Pid::from_raw)
}

/// Sends a signal to a group; whether anybody was there.
pub(super) fn signal_group(group: Pid, signal: Signal) -> bool {
    kill_process_group(group, signal).is_ok()
}

/// Whether the group still has a member.
pub(super) fn group_exists(group: Pid) -> bool {
    // Not permitted means that it exists.
    !matches!(test_kill_process_group(group), Err(rustix::io::Errno::SRCH))
}

/// When a process started, as the operating system puts it; `None` when there is no such process.
/// Together with the id it names one process for good.
pub fn started(pid: u32) -> Option<String> {
    if cfg!(target_os = "linux") {
        return stat(pid).map(|stat| stat.started);
    }
    let output = Command::new("ps")
        .args(["-o", "lstart=", "-p", &pid.to_string()])
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// Fields of `/proc/<pid>/stat`.
#[derive(Debug)]
pub(super) struct Stat {
    pub(super) state: char,
    pub(super) group: u32,
    pub(super) started: String,
}

/// Reads `/proc/<pid>/stat`.
pub(super) fn stat(pid: u32) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in brackets and may hold anything, brackets too.
    let (_, rest) = text.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    Some(Stat {
        state: fields.first()?.chars().next()?,
        group: fields.get(2)?.parse().ok()?,
        started: (*fields.get(19)?).to_owned(),
    })
}

/// Whether the process was started with this mark in its environment; `None` where the operating
/// system does not tell.
pub(super) fn carries(pid: u32, mark: &str) -> Option<bool> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let wanted = format!("{}={mark}", super::MARK_VARIABLE);
    Some(
        environment
            .split(|byte| *byte == 0)
            .any(|entry| entry == wanted.as_bytes()),
    )
}

/// The living members of a group, as `/proc` lists them.
pub(super) fn members(group: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| stat(*pid).is_some_and(|stat| stat.group == group && stat.state != 'Z'))
        .collect()
}
