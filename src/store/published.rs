//! [`Published`]: where a daemon is reachable, as it says itself in the state folder.
//!
//! It counts only while somebody owns the project: [`super::owner`]. The
//! [`Publisher`](super::publisher::Publisher) writes and removes it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::dirs::{ProjectDirs, read_private, remove_if_there};
use super::owner;

/// Where the daemon is.
pub(super) const PORTS_FILE: &str = "ports.json";

/// Its process.
const PID_FILE: &str = "daemon.pid";

/// Its addresses, in the shape of ContextRelay 3.
const STATUS_FILE: &str = "status.json";

/// The pairs of agents, in the shape of ContextRelay 3.
const SESSIONS_FILE: &str = "sessions.json";

/// What a running daemon publishes about itself: `state/ports.json`, 0600, no secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Published {
    /// The daemon's process.
    pub pid: u32,
    pub version: String,
    /// Its control protocol.
    pub protocol: u32,
    pub control_port: u16,
    pub proxy_port: u16,
    /// When it started, ms since the epoch.
    pub started_at: i64,
    /// It ends by itself when nothing is attached.
    pub detached: bool,
}

impl Published {
    /// What the owner of a project published; `None` when there is nothing readable, or the one
    /// that published it has died without taking it back: who listens there now is a stranger, and
    /// must not get a token. Whether the owner answers is told by connecting.
    pub fn read(dirs: &ProjectDirs) -> Option<Self> {
        let text = read_private(&dirs.state_file(PORTS_FILE), 64 * 1024).ok()?;
        let published: Self = serde_json::from_slice(&text).ok()?;
        owner::is_owned(dirs).then_some(published)
    }

    /// Whether who goes by this comes to that one.
    pub(super) fn leads_to(&self, other: &Self) -> bool {
        let place = |it: &Self| (it.pid, it.control_port, it.proxy_port);
        place(self) == place(other)
    }
}

/// Where everything lies that a daemon shows of itself.
#[derive(Debug)]
pub(super) struct Places {
    pub ports: PathBuf,
    pub pid: PathBuf,
    pub status: PathBuf,
    /// Where ContextRelay 3 says that it is, and where it is.
    pub sessions: [PathBuf; 2],
}

impl Places {
    pub(super) fn of(dirs: &ProjectDirs) -> Self {
        Self {
            ports: dirs.state_file(PORTS_FILE),
            pid: dirs.state_file(PID_FILE),
            status: dirs.state_file(STATUS_FILE),
            sessions: [
                dirs.relay.join(SESSIONS_FILE),
                dirs.state_file(SESSIONS_FILE),
            ],
        }
    }

    /// Takes it all away. What cannot be removed stays, and counts for nothing.
    pub(super) fn clear(&self) {
        let Self {
            ports,
            pid,
            status,
            sessions: [documented, used],
        } = self;
        for path in [ports, pid, status, documented, used] {
            if let Err(error) = remove_if_there(path) {
                tracing::warn!(%error, path = %path.display(), "what a daemon published stays");
            }
        }
    }
}

/// Removes what an owner published that did not live to do it itself: somebody else may listen on
/// its ports by now, or have its number.
pub(super) fn void(dirs: &ProjectDirs) {
    Places::of(dirs).clear();
}
