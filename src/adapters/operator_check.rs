//! [`check`]: whether a process is the operator's. The daemon checks each process that connects to
//! the operator's socket, and a deck checks itself before it hosts the daemon.
//!
//! An operator's process has a controlling terminal, was not started with the environment of an
//! agent's shell, and has no agent among its ancestors: none that the daemon knows, and none that
//! `ctxrelay` started for a project of the same registry. On Linux the agents that we start are
//! child subreapers: what their commands leave behind stays below them as long as they live. macOS
//! has no subreapers and does not show the environment: there an orphan with a terminal of its own
//! passes.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::process::{ProcessStat, environment};
use crate::core::agent::{AGENT_VARIABLE, is_agents_variable};

/// How many parents are looked at; a chain longer than this is refused.
const ANCESTORS_MAX: usize = 64;

/// Why a process is not the operator's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotOperator {
    /// It is an agent, or below one.
    #[error("it runs below an agent")]
    BelowAgent,
    /// It was started with the environment of an agent's shell.
    #[error("it was started with the environment of an agent's shell")]
    AgentsEnvironment,
    /// It has no controlling terminal.
    #[error("it has no controlling terminal")]
    NoTerminal,
    /// A parent of another user, of which the system tells nothing (`hidepid`): `sshd`, `su`. No
    /// agent of this user's is such a parent; whether one is above it cannot be told.
    #[error("the system hides what it runs below (/proc is mounted with hidepid)")]
    HiddenParent,
    /// What cannot be checked is not let in.
    #[error("the system does not say what it runs below")]
    Unknown,
}

/// Checks a process against the agents that are known, and those of this registry.
///
/// # Errors
///
/// When it is not the operator's, or that cannot be told.
pub fn check(pid: u32, agents: &[u32], registry: &Path) -> Result<(), NotOperator> {
    let own = ProcessStat::of(pid).ok_or(NotOperator::Unknown)?;
    match environment(pid) {
        Some(environment) if is_of_agents_shell(&environment) => {
            return Err(NotOperator::AgentsEnvironment);
        }
        None if cfg!(target_os = "linux") => return Err(NotOperator::Unknown),
        _ => {}
    }
    check_ancestors(pid, agents, registry, parent)?;
    if own.has_terminal {
        Ok(())
    } else {
        Err(NotOperator::NoTerminal)
    }
}

/// The parent of a process.
fn parent(pid: u32) -> Result<u32, NotOperator> {
    let Some(stat) = ProcessStat::of(pid) else {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let is_there = pid.map(test_kill_process);
        return Err(match is_there {
            Some(Err(Errno::PERM)) => NotOperator::HiddenParent,
            _ => NotOperator::Unknown,
        });
    };
    Ok(stat.parent)
}

fn check_ancestors(
    pid: u32,
    agents: &[u32],
    registry: &Path,
    parent: impl Fn(u32) -> Result<u32, NotOperator>,
) -> Result<(), NotOperator> {
    let mut pid = pid;
    for _ in 0..ANCESTORS_MAX {
        if agents.contains(&pid) {
            return Err(NotOperator::BelowAgent);
        }
        if pid <= 1 {
            return Ok(());
        }
        // Of a parent of another user it cannot be read; the agents are this user's.
        if environment(pid).is_some_and(|environment| is_agents_own(&environment, registry)) {
            return Err(NotOperator::BelowAgent);
        }
        // A command of a sandbox may have its own group and session; the parents tell in any case.
        pid = parent(pid)?;
    }
    Err(NotOperator::Unknown)
}

/// Whether an environment is that of an agent's shell.
fn is_of_agents_shell(environment: &[u8]) -> bool {
    variables(environment).any(|(name, value)| is_agents_variable(name, value))
}

/// Whether an environment is that of an agent that `ctxrelay` started for a project of this
/// registry, or of what inherited it.
fn is_agents_own(environment: &[u8], registry: &Path) -> bool {
    let wanted = (AGENT_VARIABLE.as_bytes(), registry.as_os_str().as_bytes());
    variables(environment).any(|variable| variable == wanted)
}

/// Names and values out of `NAME=value` with a zero byte after each.
fn variables(environment: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    environment.split(|byte| *byte == 0).filter_map(|variable| {
        let end = variable.iter().position(|byte| *byte == b'=')?;
        Some((&variable[..end], &variable[end + 1..]))
    })
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Child, Command, Stdio};

    use super::*;

    const REGISTRY: &str = "/home/me/.local/state/contextrelay";

    fn ancestors(pid: u32, agents: &[u32]) -> Result<(), NotOperator> {
        check_ancestors(pid, agents, Path::new(REGISTRY), parent)
    }

    #[test]
    fn a_parent_that_the_system_hides_is_told_from_one_that_is_gone_and_from_an_agent() {
        let own = std::process::id();
        let above = |hidden: NotOperator, agents: &[u32]| {
            let parent = |pid| {
                if pid == own {
                    Ok(u32::MAX)
                } else {
                    Err(hidden)
                }
            };
            check_ancestors(own, agents, Path::new(REGISTRY), parent)
        };
        let hidden = NotOperator::HiddenParent;
        assert_eq!(above(hidden, &[]), Err(hidden));
        assert_eq!(above(NotOperator::Unknown, &[]), Err(NotOperator::Unknown));
        // Who is known counts before.
        assert_eq!(above(hidden, &[own]), Err(NotOperator::BelowAgent));
        let mut child = Command::new("true").spawn().unwrap();
        let gone = child.id();
        child.wait().unwrap();
        assert_eq!(parent(gone), Err(NotOperator::Unknown));
        assert_eq!(parent(own), Ok(std::os::unix::process::parent_id()));
    }

    /// A shell that runs below another one, whose environment is this alone; the shell has none.
    fn below_marked(name: &str, value: &str) -> (Child, u32) {
        let mut marked = Command::new("sh")
            .args(["-c", "env -i sh -c 'echo $$; read line; :'; :"])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env(name, value)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(marked.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        (marked, line.trim().parse().unwrap())
    }

    fn end(mut child: Child) {
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    #[test]
    fn a_command_below_an_agent_is_found_through_its_shells() {
        // The agent is this test; its command runs below two shells.
        let child = Command::new("sh")
            .args(["-c", "sh -c 'read line' & wait"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let agent = std::process::id();
        let below = Err(NotOperator::BelowAgent);
        assert_eq!(ancestors(child.id(), &[agent]), below);
        assert_eq!(ancestors(agent, &[agent]), below);
        assert_eq!(ancestors(agent, &[child.id()]), Ok(()));
        end(child);
    }

    #[test]
    fn what_cannot_be_checked_is_not_let_in() {
        let nobody = u32::MAX - 1;
        let unknown = Err(NotOperator::Unknown);
        assert_eq!(check(nobody, &[], Path::new(REGISTRY)), unknown);
        assert_eq!(ancestors(nobody, &[]), unknown);
    }

    #[test]
    fn an_agents_shell_is_known_by_its_environment() {
        assert!(is_of_agents_shell(b"HOME=/root\0CLAUDECODE=1\0"));
        assert!(is_of_agents_shell(b"CODEX_SANDBOX_NETWORK_DISABLED=1\0"));
        assert!(is_of_agents_shell(b"CONTEXTRELAY_AGENT=/x\0"));
        assert!(!is_of_agents_shell(
            b"CLAUDECODE=\0CLAUDECODE_X=1\0X=CLAUDECODE=1\0"
        ));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_agent_of_the_same_registry_is_known_above_a_shell_that_took_its_mark_away() {
        let (agent, shell) = below_marked(AGENT_VARIABLE, REGISTRY);
        assert!(!is_of_agents_shell(&environment(shell).unwrap()));
        for pid in [agent.id(), shell] {
            assert_eq!(ancestors(pid, &[]), Err(NotOperator::BelowAgent));
        }
        end(agent);
        let (stranger, shell) = below_marked(AGENT_VARIABLE, "/another/registry");
        assert_eq!(ancestors(shell, &[]), Ok(()));
        end(stranger);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_without_a_terminal_does_not_decide() {
        // A session of its own, and so no terminal.
        let mut child = Command::new("setsid")
            .args(["sh", "-c", "echo; read line"])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut String::new()).unwrap();
        let refused = Err(NotOperator::NoTerminal);
        assert_eq!(check(child.id(), &[], Path::new(REGISTRY)), refused);
        end(child);
    }
}
