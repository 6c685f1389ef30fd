//! The operator's socket: a Unix socket outside the project, open only to processes of the same
//! user that have a terminal and do not descend from an agent.
//!
//! ENFORCED against processes that agents start below themselves; ADVISORY against any other
//! process of the same user, such as one that types into the operator's own terminal, or a service
//! that starts a command for an agent: that command then runs below the service. A gate's processes
//! run below its keeper, and below this process once the keeper was killed.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::net::{UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;

use super::control::admission::HelloAdmission;
use super::control::connection;
use super::control::lobby::{InLobby, Lobby};
use super::control::refusals::Refusals;
use super::handle::DaemonHandle;
use super::peer::Peer;
use crate::adapters::hold::adopts_orphans;
use crate::adapters::operator_check;
use crate::store::dirs::remove_if_there;
use crate::store::operator_socket;

/// Binds the socket, taking the place of one that a dead daemon left.
///
/// Only for the holder of the project's lock: nobody else may be listening there.
pub(super) fn bind(path: &Path) -> io::Result<UnixListener> {
    operator_socket::make_folder(path)?;
    remove_if_there(path)?;
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    Ok(listener)
}

/// Serves until the daemon has ended. `registry`: where the projects of this user are registered.
pub(super) async fn serve(
    listener: UnixListener,
    daemon: DaemonHandle,
    registry: PathBuf,
    refusals: Refusals,
    stop: CancellationToken,
) {
    let lobby = Lobby::new(refusals);
    let registry: Arc<Path> = registry.into();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                tracing::debug!("a client of the operator's socket comes");
                let (daemon, registry) = (daemon.clone(), Arc::clone(&registry));
                let stream = lobby.enter(stream);
                tokio::spawn(async move {
                    let (peer, admission) = admit(stream.get_ref(), &daemon, registry).await;
                    // A refused process may still read: it gets the reason with its command.
                    connection_of(stream, daemon, admission, peer).await;
                });
            }
            Err(error) => {
                tracing::debug!(%error, "the operator's socket could not accept");
                lobby.expel_oldest();
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
        }
    }
}

async fn connection_of(
    stream: InLobby<UnixStream>,
    daemon: DaemonHandle,
    admission: HelloAdmission,
    peer: Peer,
) {
    let place = stream.place().clone();
    let bounds = Some(connection::bounds());
    match tokio_tungstenite::accept_async_with_config(stream, bounds).await {
        Ok(socket) => {
            place.stay();
            // Nothing else tells the many readers without a token apart from silent ones.
            let place = (admission == HelloAdmission::Operator).then_some(place);
            connection::serve_socket(socket, daemon, admission, peer, place).await;
        }
        Err(error) => tracing::debug!(%error, "no WebSocket on the operator's socket"),
    }
}

async fn admit(
    stream: &UnixStream,
    daemon: &DaemonHandle,
    registry: Arc<Path>,
) -> (Peer, HelloAdmission) {
    let refused = (Peer::Unknown, HelloAdmission::Reader);
    let Ok(cred) = stream.peer_cred() else {
        return refused;
    };
    if cred.uid() != rustix::process::geteuid().as_raw() {
        return refused;
    }
    let (Some(pid), Some(mut agents)) = (
        cred.pid().and_then(|pid| u32::try_from(pid).ok()),
        daemon.agent_pids().await,
    ) else {
        return refused;
    };
    // What a gate left behind that has killed its keeper is below this process, as an agent's command is
    // below the agent.
    let own = std::process::id();
    agents.extend((adopts_orphans() && pid != own).then_some(own));
    let checked =
        tokio::task::spawn_blocking(move || operator_check::check(pid, &agents, &registry)).await;
    let admission = match checked {
        Ok(Ok(())) => HelloAdmission::Operator,
        Ok(Err(why)) => {
            tracing::debug!(pid, %why, "a process that is not the operator's came to the socket");
            HelloAdmission::Reader
        }
        Err(_) => HelloAdmission::Reader,
    };
    (Peer::Process(pid), admission)
}
