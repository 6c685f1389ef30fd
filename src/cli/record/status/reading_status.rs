//! Where a status comes from: the daemon, or the disk when none answers.

use crate::cli::connection::connect::{self, DaemonFound, wait_for};
use crate::cli::connection::lock_owner;
use crate::cli::connection::state_elsewhere::StateElsewhere;
use crate::cli::exit::Failure;
use crate::cli::offline::disk;
use crate::core::agent::AgentState;
use crate::host::ProjectContext;
use crate::store::owner::{Hold, NO_LOCKS_HINT, hold, no_locks};
use crate::wire::status::Status;

/// From the daemon, or from the disk when none runs.
///
/// # Errors
///
/// When neither can be read.
pub fn read(project: &ProjectContext) -> Result<Status, Failure> {
    wait_for(async { read_by(project, &connect::control(project).await).await })
}

/// As [`read`], by what was found before.
pub(in crate::cli) async fn read_by(
    project: &ProjectContext,
    found: &DaemonFound,
) -> Result<Status, Failure> {
    match found {
        DaemonFound::Live(live) => live.status().await,
        DaemonFound::Nobody => nobody(project, hold(&project.dirs)),
        DaemonFound::Unfit(why) => silent(project, why),
    }
}

/// As far as the disk tells, where no daemon is found.
fn nobody(project: &ProjectContext, hold: Hold) -> Result<Status, Failure> {
    if let Some(elsewhere) = StateElsewhere::of(project) {
        return unasked(project, elsewhere.pid(), elsewhere.notice());
    }
    if hold == Hold::Held {
        return silent(project, "it is not where it said");
    }
    let mut status = disk::status(project)?;
    if hold == Hold::NoLocks {
        let notice = format!("{}: {NO_LOCKS_HINT}", no_locks(&project.dirs));
        status.notices.insert(0, notice);
    }
    Ok(status)
}

/// As far as the disk tells, of a daemon that has the project and cannot be asked.
fn silent(project: &ProjectContext, why: &str) -> Result<Status, Failure> {
    let pid = lock_owner::owner(&project.dirs).and_then(|pid| u32::try_from(pid.as_raw_pid()).ok());
    let notice = format!(
        "a process has this project and cannot be asked: {why}. Wait a moment if it was just \
         started; else stop it with `ctxrelay kill` and start it again"
    );
    unasked(project, pid, notice)
}

fn unasked(project: &ProjectContext, pid: Option<u32>, notice: String) -> Result<Status, Failure> {
    Ok(without_answer(disk::status(project)?, pid, notice))
}

/// What the disk tells, without what only the daemon knows that does not answer: what the agents are
/// at, and whether a turn goes on.
fn without_answer(mut status: Status, pid: Option<u32>, notice: String) -> Status {
    status.running = true;
    status.answers = false;
    let (claude, codex) = (&mut status.agents.claude, &mut status.agents.codex);
    (claude.state, codex.state) = (AgentState::Unknown, AgentState::Unknown);
    (claude.cut_off, codex.cut_off) = (0, 0);
    claude.cut_off_ids.clear();
    codex.cut_off_ids.clear();
    status.pid = pid;
    status.notices.insert(0, notice);
    status
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::agent::Agent;

    #[test]
    fn of_a_daemon_that_does_not_answer_no_agent_is_said_to_be_away() {
        let mut of_disk = Status::default();
        of_disk.agents.codex.cut_off = 1;
        let status = without_answer(of_disk, Some(7), "it hangs".to_owned());
        let told = serde_json::to_value(&status).unwrap();
        assert_eq!(
            (&told["running"], &told["answers"]),
            (&true.into(), &false.into())
        );
        for agent in ["claude", "codex"] {
            assert_eq!(told["agents"][agent]["state"], "unknown");
            assert_eq!(told["agents"][agent]["cutOff"], 0);
        }
        assert_eq!(told["notices"][0], "it hangs");
        for agent in Agent::ALL {
            assert!(!status.is_attached(agent));
        }
    }
}
