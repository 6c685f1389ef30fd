//! The operator's socket: a Unix socket outside the project, open only to processes of the same
//! user that do not descend from an agent.
//!
//! ENFORCED against what agents run; ADVISORY against any other process of the same user.

use std::io;
use std::path::Path;

use tokio::net::{UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;

use super::control::connection::{self, Admission};
use super::handle::DaemonHandle;
use crate::core::agent::is_agents_variable;
use crate::store::dirs::make_private_dir;

/// How many parents are looked at; a chain longer than this is refused.
const ANCESTORS_MAX: usize = 64;

/// Binds the socket, taking the place of one that a dead daemon left.
///
/// Only for the holder of the project's lock: nobody else may be listening there.
pub(super) fn bind(path: &Path) -> io::Result<UnixListener> {
    if let Some(dir) = path.parent() {
        make_private_dir(dir)?;
    }
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    Ok(listener)
}

/// Serves until the daemon has ended.
pub(super) async fn serve(listener: UnixListener, daemon: DaemonHandle, stop: CancellationToken) {
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let daemon = daemon.clone();
                tokio::spawn(async move {
                    let admission = admit(&stream, &daemon).await;
                    // A refused process may still read: it gets the reason with its command.
                    connection_of(stream, daemon, admission).await;
                });
            }
            Err(error) => {
                tracing::warn!(%error, "the operator's socket could not accept");
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
        }
    }
}

async fn connection_of(stream: UnixStream, daemon: DaemonHandle, admission: Admission) {
    match tokio_tungstenite::accept_async(stream).await {
        Ok(socket) => connection::serve_socket(socket, daemon, admission).await,
        Err(error) => tracing::debug!(%error, "no WebSocket on the operator's socket"),
    }
}

async fn admit(stream: &UnixStream, daemon: &DaemonHandle) -> Admission {
    let Ok(peer) = stream.peer_cred() else {
        return Admission::Agent;
    };
    if peer.uid() != rustix::process::geteuid().as_raw() {
        return Admission::Agent;
    }
    let (Some(pid), Some(agents)) = (peer.pid(), daemon.agent_pids().await) else {
        return Admission::Agent;
    };
    match u32::try_from(pid) {
        Ok(pid) if !descends_from_any(pid, &agents) && !is_marked(pid) => Admission::Operator,
        _ => {
            tracing::warn!(
                pid,
                "a process below an agent came to the operator's socket"
            );
            Admission::Agent
        }
    }
}

/// Whether a process is one of these or has one of them among its parents. Unreadable means yes:
/// what cannot be checked is not let in.
fn descends_from_any(pid: u32, agents: &[u32]) -> bool {
    let mut pid = pid;
    for _ in 0..ANCESTORS_MAX {
        if agents.contains(&pid) {
            return true;
        }
        if pid <= 1 {
            return false;
        }
        // A command of a sandbox may have its own group; the parents tell in any case.
        match parent_of(pid) {
            Some(parent) => pid = parent,
            None => return true,
        }
    }
    true
}

/// Whether a process was started with the environment of an agent's shell: one whose parents have
/// ended has no agent above it any more. Unreadable means yes.
#[cfg(target_os = "linux")]
fn is_marked(pid: u32) -> bool {
    std::fs::read(format!("/proc/{pid}/environ")).map_or(true, |environ| marks_agent(&environ))
}

/// Whether a process was started with the environment of an agent's shell. Not to be seen here.
#[cfg(not(target_os = "linux"))]
fn is_marked(_pid: u32) -> bool {
    false
}

/// Whether an environment, as `NAME=value` with a zero byte after each, is that of an agent's
/// shell. What is empty counts as not there.
#[cfg(any(test, target_os = "linux"))]
fn marks_agent(environ: &[u8]) -> bool {
    environ.split(|byte| *byte == 0).any(|variable| {
        let end = variable.iter().position(|byte| *byte == b'=');
        end.is_some_and(|end| is_agents_variable(&variable[..end]) && end + 1 < variable.len())
    })
}

/// The parent of a process.
#[cfg(target_os = "linux")]
fn parent_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may contain anything, so the fields are counted from its end.
    let rest = stat.rsplit_once(") ")?.1;
    rest.split(' ').nth(1)?.parse().ok()
}

/// The parent of a process.
#[cfg(not(target_os = "linux"))]
fn parent_of(pid: u32) -> Option<u32> {
    let output = std::process::Command::new("ps")
        .args(["-o", "ppid=", "-p", &pid.to_string()])
        .output()
        .ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_command_below_an_agent_is_found_through_its_shells() {
        // The agent is this test; its command runs below two shells.
        let mut child = std::process::Command::new("sh")
            .args(["-c", "sh -c 'read line' & wait"])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        assert!(descends_from_any(child.id(), &[std::process::id()]));
        assert!(!descends_from_any(std::process::id(), &[child.id()]));
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    #[test]
    fn what_cannot_be_checked_is_not_let_in() {
        assert!(descends_from_any(u32::MAX - 1, &[]));
        assert!(is_marked(u32::MAX - 1));
    }

    #[test]
    fn an_orphan_of_an_agents_shell_is_known_by_its_environment() {
        assert!(marks_agent(b"HOME=/root\0CLAUDECODE=1\0"));
        assert!(marks_agent(b"CODEX_SANDBOX_NETWORK_DISABLED=1\0"));
        assert!(!marks_agent(
            b"CLAUDECODE=\0CLAUDECODE_X=1\0X=CLAUDECODE=1\0"
        ));
        let mut orphan = std::process::Command::new("sleep")
            .arg("60")
            .env_clear()
            .env("CONTEXTRELAY_WORKER", "1")
            .spawn()
            .unwrap();
        assert!(is_marked(orphan.id()));
        orphan.kill().unwrap();
        orphan.wait().unwrap();
    }
}
