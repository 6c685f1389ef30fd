//! [`ChildRecord`] and [`reap`]: end what a killed owner or a killed hold left behind.

use std::thread;
use std::time::Instant;

use rustix::process::{Signal, kill_process};
use serde::{Deserialize, Serialize};

use super::process::{GRACE, LOOK, carries, everybody, group_exists, members, pid, signal_group};
use crate::adapters::process::started;

/// What is needed to find a held child again. Kept on disk by its owner while the child runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChildRecord {
    /// The process that wanted the child.
    pub owner: u32,
    pub hold: u32,
    /// The child, which leads the process group of the same number.
    pub pid: u32,
    /// When the child started, in the operating system's words (Linux: clock ticks since boot).
    pub started: String,
    /// The value of [`super::MARK_VARIABLE`] in its environment; random, so it names one start.
    pub mark: String,
}

/// What [`reap`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaped {
    /// Nothing of ours runs any more.
    Nothing,
    /// The group was ended.
    Ended,
    /// The group is ours and would not end.
    Stubborn,
}

/// Ends the group of a recorded child if it is provably ours: SIGTERM, two seconds, SIGKILL.
/// Blocks for at most three seconds.
///
/// Ours is: the leader has the recorded start time, and (on Linux, where it can be read) our mark
/// in its environment. When the leader is gone, a member of its group with the mark proves the
/// same: that is how the native program looks whose wrapper was killed.
pub fn reap(record: &ChildRecord) -> Reaped {
    let Some(group) = pid(record.pid) else {
        return Reaped::Nothing;
    };
    if !is_ours(record) {
        return Reaped::Nothing;
    }
    for signal in [Signal::TERM, Signal::KILL] {
        signal_group(group, signal);
        let deadline = Instant::now()
            + if signal == Signal::TERM {
                GRACE
            } else {
                GRACE / 2
            };
        while Instant::now() < deadline {
            if !lives(record.pid) {
                return Reaped::Ended;
            }
            thread::sleep(LOOK);
        }
    }
    Reaped::Stubborn
}

/// Ends every process that still carries a mark: what left its group before that was ended. Blocks
/// for a look at each process of the machine; does nothing where `/proc` is missing.
pub fn end_marked(mark: &str) {
    for stray in everybody() {
        if carries(stray, mark) == Some(true)
            && let Some(stray) = pid(stray)
        {
            let _ = kill_process(stray, Signal::KILL);
        }
    }
}

fn is_ours(record: &ChildRecord) -> bool {
    match started(record.pid) {
        Some(when) if when != record.started => false,
        Some(_) if !cfg!(target_os = "linux") => true,
        // A leader that died unreaped has no environment left; its members still have theirs.
        Some(_) | None => members(record.pid)
            .into_iter()
            .any(|member| carries(member, &record.mark) == Some(true)),
    }
}

/// Whether a member of the group is alive; a zombie is not.
fn lives(group: u32) -> bool {
    if cfg!(target_os = "linux") {
        return !members(group).is_empty();
    }
    pid(group).is_some_and(group_exists)
}
