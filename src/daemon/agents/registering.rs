//! Which process counts as an agent, and by what evidence.

use tokio::sync::mpsc;

use crate::adapters::process::StartedProcess;
use crate::daemon::agents::agent_processes::AgentProcesses;
use crate::daemon::attach::ConnId;
use crate::daemon::base::clients::Clients;
use crate::daemon::base::reads_beside::ReadsBeside;
use crate::daemon::base::under_way::WorkBeside;
use crate::daemon::event::Event;
use crate::wire::control::{Refusal, RefusalCode, Reply};

/// These processes are agents'.
pub(in crate::daemon) fn know_agents(
    agents: &mut AgentProcesses,
    reads: &ReadsBeside,
    processes: Vec<StartedProcess>,
) {
    for process in processes {
        agents.know(process);
    }
    let (Some(known), Some(events)) = (agents.crowd(), reads.events().upgrade()) else {
        return;
    };
    let reads = reads.clone();
    tokio::spawn(async move {
        let look = || {
            let ended = known.into_iter().filter(|process| !process.lives());
            ended.collect()
        };
        // Where the look panicked all of them count as living until the next one.
        let ended = reads.read(WorkBeside::AgentsLook, look).await;
        let ended = Event::AgentsEnded(ended.unwrap_or_default());
        let _ = events.send(ended).await;
    });
}

/// The process at the other end is about to become an agent. It names nobody but itself, so that
/// every client may say it.
pub(in crate::daemon) fn register_agent(
    clients: &Clients,
    agents: &mut AgentProcesses,
    reads: &ReadsBeside,
    conn: ConnId,
) -> Result<Reply, Refusal> {
    let process = clients.get(conn).and_then(|it| it.process.clone());
    let Some(process) = process else {
        return Err(Refusal::new(
            RefusalCode::NoProcess,
            "the system does not say which process this is",
            "register over the operator's socket",
        ));
    };
    know_agents(agents, reads, vec![process]);
    Ok(Reply::Done)
}

/// Has the loop know of agents' processes, before it hears of anything that they did. Which ones
/// they are for good is asked beside it.
pub(in crate::daemon) async fn tell_agents(events: &mpsc::Sender<Event>, pids: Vec<u32>) {
    if pids.is_empty() {
        return;
    }
    let look = move || pids.into_iter().map(StartedProcess::of).collect();
    match tokio::task::spawn_blocking(look).await {
        Ok(processes) => drop(events.send(Event::AgentsSeen(processes)).await),
        // Who goes on without them would take an agent for the operator.
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;

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
        agents.know(StartedProcess::of(1));
        agents.know(StartedProcess::of(0));
        agents.know(StartedProcess::of(pid));
        assert_eq!(agents.living(), [pid]);
        // Its number may be anybody's from now on.
        end(child);
        assert_eq!(agents.living(), Vec::<u32>::new());
    }

    #[test]
    fn what_was_handed_over_counts_only_for_the_same_process() {
        let child = cat();
        let mut before = AgentProcesses::default();
        before.know(StartedProcess::of(child.id()));
        let carried = before.drain();
        let mut after = AgentProcesses::default();
        after.take_over(vec![(std::process::id(), Some("another start".to_owned()))]);
        after.take_over(carried);
        assert_eq!(after.living(), [child.id()]);
        end(child);
    }

    #[test]
    fn those_that_have_ended_are_forgotten_once_there_are_many_and_nobody_else() {
        let mut agents = AgentProcesses::default();
        let mut crowd = None;
        let mut pid = 2;
        while crowd.is_none() {
            let started = Some("before".to_owned());
            agents.know(StartedProcess { pid, started });
            crowd = agents.crowd();
            pid += 1;
        }
        let ended = crowd.unwrap();
        assert_eq!(agents.crowd(), None, "it is being looked");
        // One of their numbers is another process's meanwhile.
        let newer = StartedProcess {
            pid: 2,
            started: Some("since".to_owned()),
        };
        agents.know(newer.clone());
        agents.forget(&ended);
        assert_eq!(agents.known(), [newer]);
    }
}
