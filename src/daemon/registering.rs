//! Which process becomes an agent's, and by what.

use super::attach::ConnId;
use super::owners::Daemon;
use crate::adapters::process::ProcessStat;
use crate::wire::control::{Refusal, RefusalCode, Reply, Role};

impl Daemon {
    /// A client said hello from this process. The parent of a bridge or hook is an agent.
    pub(super) fn know_agent_of(&mut self, role: Role, process: Option<u32>) {
        if matches!(role, Role::Claude | Role::Hook | Role::Codex)
            && let Some(parent) = process.and_then(parent_that_started)
        {
            self.agent_processes.know(parent);
        }
    }

    /// The process at the other end is about to become an agent. It names nobody but itself, so
    /// that whoever may connect may say it.
    pub(super) fn register_agent(&mut self, conn: ConnId) -> Result<Reply, Refusal> {
        let process = self.clients.get(conn).and_then(|it| it.process);
        match process {
            Some(pid) => {
                self.agent_processes.know(pid);
                Ok(Reply::Done)
            }
            None => Err(Refusal::new(
                RefusalCode::NoProcess,
                "the system does not say which process this is",
                "register over the operator's socket",
            )),
        }
    }
}

/// The parent, if it is the process that started this one. An orphan's parent is the one that took
/// it, such as the manager of the person's whole session: it has another session, and no terminal.
fn parent_that_started(pid: u32) -> Option<u32> {
    let child = ProcessStat::of(pid)?;
    let parent = ProcessStat::of(child.parent)?;
    (parent.session == child.session || parent.has_terminal).then_some(child.parent)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::process::{Child, Command, Stdio};

    use super::*;
    use crate::daemon::agent_processes::AgentProcesses;

    fn cat() -> Child {
        Command::new("cat").stdin(Stdio::piped()).spawn().unwrap()
    }

    fn end(mut child: Child) {
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    #[test]
    fn a_process_is_known_until_it_has_ended_and_the_first_one_never_is() {
        let child = cat();
        let pid = child.id();
        let mut agents = AgentProcesses::default();
        agents.know(1);
        agents.know(0);
        agents.know(pid);
        assert_eq!(agents.living(), [pid]);
        // Its number may be anybody's from now on.
        end(child);
        assert_eq!(agents.living(), Vec::<u32>::new());
    }

    #[test]
    fn what_was_handed_over_counts_only_for_the_same_process() {
        let child = cat();
        let mut before = AgentProcesses::default();
        before.know(child.id());
        let carried = before.drain();
        let mut after = AgentProcesses::default();
        after.inherit(vec![(std::process::id(), Some("another start".to_owned()))]);
        after.inherit(carried);
        assert_eq!(after.living(), [child.id()]);
        end(child);
    }

    #[test]
    fn the_parent_of_a_child_is_the_one_that_started_it() {
        let child = cat();
        assert_eq!(parent_that_started(child.id()), Some(std::process::id()));
        end(child);
        assert_eq!(parent_that_started(u32::MAX - 1), None);
    }
}
