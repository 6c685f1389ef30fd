//! Signals to process groups, and what the operating system says about a process.

use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

use crate::adapters::process::{environment, fields};

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

/// Fields of `/proc/<pid>/stat`.
#[derive(Debug)]
pub(super) struct Stat {
    pub(super) state: char,
    pub(super) parent: u32,
    pub(super) group: u32,
}

/// Reads `/proc/<pid>/stat`.
pub(super) fn stat(pid: u32) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields = fields(&text)?;
    Some(Stat {
        state: fields.first()?.chars().next()?,
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
    })
}

/// Whether the process was started with this mark in its environment; `None` where the operating
/// system does not tell.
pub(super) fn carries(pid: u32, mark: &str) -> Option<bool> {
    let environment = environment(pid)?;
    let wanted = format!("{}={mark}", super::MARK_VARIABLE);
    Some(
        environment
            .split(|byte| *byte == 0)
            .any(|entry| entry == wanted.as_bytes()),
    )
}

/// Every process, as `/proc` lists them; nobody where it is missing.
pub(super) fn everybody() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The living members of a group, as `/proc` lists them.
pub(super) fn members(group: u32) -> Vec<u32> {
    everybody()
        .filter(|pid| stat(*pid).is_some_and(|stat| stat.group == group && stat.state != 'Z'))
        .collect()
}
