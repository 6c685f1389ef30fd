//! [`Takeover`]: what a daemon leaves to the process that takes its place.
//!
//! The lock, the listeners, the app-server and its terminals are open descriptors: both processes
//! hold them for a moment, so that none is free in between. Everything else is in files.
//!
//! - [`Takeover`], [`LoopState`], [`CarriedState`]: what is left, and how it is sent and received
//! - `progress`: how far a takeover is; `begin`: what the loop does from the request to its last
//!   answer; `leaving`: what its receivers get once the loop has ended
//! - [`give_takeover`], [`next_daemon`]: the two processes, from the start of the next one to the
//!   last word of the previous one; [`NextDaemonError`](next_daemon_error::NextDaemonError): why
//!   none follows
//!
//! Related code outside this folder, held by a tidy test:
//!
//! | where | what | why there |
//! |---|---|---|
//! | `codex_lane::carried`, `claude_lane::carried`, `claude_processes`, `core::delivery`'s `carried`, `adapters::codex::passed` | what each of them leaves, and takes on | only an owner sees its own fields; none knows that a process is what comes next |
//! | `adapters::fd_channel` | bytes and descriptors through a socket | it does not know which |
//! | `event`, `run` | the request for a takeover wakes the loop | an event has one variant, and the loop one line, for each occasion |
//! | `running` | what a daemon's host gets | a host waits for it as for the daemon's end |
//! | `start` | a takeover is claimed, bound and taken on, and left when the loop has ended | a stage owns the lock, the listeners and the loop; there is one way to start |
//! | `host` | how the other program is called, how a daemon is started again here | it alone builds a daemon |
//! | `cli::{daemon, deck, replace}` | who wants it and when, what is printed, exit codes | for people |

mod begin;
pub mod give_takeover;
mod leaving;
pub mod next_daemon;
pub mod next_daemon_error;
mod progress;

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;

use serde::{Deserialize, Deserializer, Serialize};
use tokio::net::{TcpListener, UnixListener};

use crate::adapters::codex::passed::{Passed, PassedText};
use crate::adapters::fd_channel;
use crate::daemon::agents::claude_lane::CarriedPair;
use crate::daemon::agents::claude_processes::ClaudeProcess;
use crate::daemon::agents::codex_lane::LaneState;
use crate::daemon::agents::recent_writes::RecentWrites;
use crate::daemon::start_error::StartError;
use crate::store::dirs::ProjectDirs;
use crate::store::owner::OwnerLock;
use crate::store::publisher::Publisher;
use crate::store::registry::Ports;

pub(in crate::daemon) use leaving::Leaving;
pub use progress::Replacement;
pub(in crate::daemon) use progress::TakeoverProgress;

/// Which form of a takeover this program leaves and takes. Raised whenever the meaning of a field or
/// the order of the descriptors changes: another version must not guess.
pub const FORMAT: u32 = 2;

/// What a daemon leaves. Dropping it is the end: the lock is free, and the app-server ends.
#[derive(Debug)]
pub struct Takeover {
    /// Whether the next owner ends by itself when nobody needs it.
    pub detached: bool,
    /// What the owner before shows of itself, in that owner's own process. Taken back before the
    /// lock is free.
    pub(in crate::daemon) publisher: Option<Publisher>,
    pub(in crate::daemon) lock: OwnerLock,
    pub(in crate::daemon) endpoints: Endpoints,
    pub(in crate::daemon) loop_state: LoopState,
}

/// Where a daemon can be reached.
pub(in crate::daemon) struct Endpoints {
    pub(in crate::daemon) ports: Ports,
    pub(in crate::daemon) control: OwnedFd,
    pub(in crate::daemon) proxy: OwnedFd,
    pub(in crate::daemon) operator: OwnedFd,
    /// The secret of `/mcp`, which a running app-server has.
    pub(in crate::daemon) mcp_token: String,
}

impl std::fmt::Debug for Endpoints {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoints")
            .field("ports", &self.ports)
            .finish_non_exhaustive()
    }
}

/// What the loop leaves.
#[derive(Debug)]
pub(in crate::daemon) struct LoopState {
    pub(in crate::daemon) codex: Passed,
    pub(in crate::daemon) known: CarriedState,
}

/// What the loop knows and neither ledger nor queue say.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::daemon) struct CarriedState {
    pub(in crate::daemon) lane: LaneState,
    /// Processes whose descendants may not decide, with their start.
    pub(in crate::daemon) agents: Vec<(u32, Option<String>)>,
    #[serde(default)]
    pub(in crate::daemon) recent_writes: RecentWrites,
    /// An older process does not tell.
    #[serde(default)]
    pub(in crate::daemon) claudes: CarriedClaudes,
}

/// What is known of Claude: its hooks tell what comes, and nobody tells again what was.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::daemon) struct CarriedClaudes {
    /// One that cannot be read, because a newer process wrote it, is as if nothing was known of it.
    #[serde(deserialize_with = "readable")]
    pub(in crate::daemon) pairs: Vec<CarriedPair>,
    pub(in crate::daemon) processes: Vec<(u32, ClaudeProcess)>,
}

fn readable<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<CarriedPair>, D::Error> {
    let pairs = Vec::<serde_json::Value>::deserialize(from)?;
    let pairs = pairs.into_iter();
    Ok(pairs
        .filter_map(|pair| serde_json::from_value(pair).ok())
        .collect())
}

/// The listeners, in use.
#[derive(Debug)]
pub(in crate::daemon) struct Listeners {
    pub(in crate::daemon) control: TcpListener,
    pub(in crate::daemon) proxy: TcpListener,
    pub(in crate::daemon) operator: UnixListener,
}

/// Why nothing can be taken over.
#[derive(Debug, thiserror::Error)]
pub enum TakeoverError {
    /// There is no such daemon.
    #[error("there is no daemon on standard input: {0}")]
    Nobody(io::Error),
    /// It did not come.
    #[error("the daemon before this one did not hand over: {0}")]
    Io(#[from] io::Error),
    /// It cannot be read.
    #[error("what the daemon before this one left cannot be read: {0}")]
    Text(#[from] serde_json::Error),
    /// Our daemon could not run. The one before knows, and has stopped nothing.
    #[error(transparent)]
    CannotStart(#[from] StartError),
    /// It is of another version.
    #[error("what the daemon before this one left is of form {0}, and this program knows {FORMAT}")]
    Format(u32),
    /// Descriptors are missing, or too many.
    #[error("what the daemon before this one left is not complete")]
    Incomplete,
    /// The lock is not this project's, or somebody else's.
    #[error("the daemon before this one did not own this project")]
    NotOwned,
}

/// A takeover without its descriptors.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Text {
    detached: bool,
    ports: Ports,
    mcp_token: String,
    codex: PassedText,
    known: CarriedState,
}

/// Read before the rest, which another version may have changed.
#[derive(Serialize, Deserialize)]
struct Form<T> {
    format: u32,
    #[serde(rename = "estate")]
    takeover: T,
}

impl Takeover {
    /// Sends a copy to the process at the other end of a socket. Blocks, as long as the socket's
    /// deadlines let it.
    ///
    /// # Errors
    ///
    /// When the other process does not take it.
    pub fn send(&self, socket: &StdUnixStream) -> io::Result<()> {
        let text = Form {
            format: FORMAT,
            takeover: Text {
                detached: self.detached,
                ports: self.endpoints.ports,
                mcp_token: self.endpoints.mcp_token.clone(),
                codex: self.loop_state.codex.text(),
                known: self.loop_state.known.clone(),
            },
        };
        let mut descriptors: Vec<BorrowedFd<'_>> = self.lock.descriptors().to_vec();
        for listener in [
            &self.endpoints.control,
            &self.endpoints.proxy,
            &self.endpoints.operator,
        ] {
            descriptors.push(listener.as_fd());
        }
        descriptors.extend(self.loop_state.codex.descriptors());
        fd_channel::send(socket, &serde_json::to_vec(&text)?, &descriptors)
    }

    /// Receives what the daemon of a project leaves. Blocks, as [`Self::send`].
    ///
    /// # Errors
    ///
    /// See [`TakeoverError`]; what was received is given up then, and the sender has it still.
    pub fn receive(socket: &StdUnixStream, dirs: &ProjectDirs) -> Result<Self, TakeoverError> {
        let parcel = fd_channel::receive(socket)?;
        let form: Form<Box<serde_json::value::RawValue>> = serde_json::from_slice(&parcel.text)?;
        if form.format != FORMAT {
            return Err(TakeoverError::Format(form.format));
        }
        let text: Text = serde_json::from_str(form.takeover.get())?;
        let mut descriptors = VecDeque::from(parcel.descriptors);
        let mut next = || descriptors.pop_front().ok_or(TakeoverError::Incomplete);
        let (file, folder) = (next()?, next()?);
        let endpoints = Endpoints {
            ports: text.ports,
            control: next()?,
            proxy: next()?,
            operator: next()?,
            mcp_token: text.mcp_token,
        };
        let codex = Passed::new(text.codex, &mut descriptors).ok_or(TakeoverError::Incomplete)?;
        if !descriptors.is_empty() {
            return Err(TakeoverError::Incomplete);
        }
        let lock = OwnerLock::take_over(dirs, file, folder)?.ok_or(TakeoverError::NotOwned)?;
        Ok(Self {
            detached: text.detached,
            publisher: None,
            lock,
            endpoints,
            loop_state: LoopState {
                codex,
                known: text.known,
            },
        })
    }

    /// Forgets it, because another process has it: the lock is not given up.
    pub fn leave(self) {
        if let Some(publisher) = self.publisher {
            publisher.leave();
        }
        self.lock.leave();
    }
}

impl Endpoints {
    /// Listens; the descriptors stay here for the next owner.
    pub(in crate::daemon) fn listen(&self) -> io::Result<Listeners> {
        let tcp = |descriptor: &OwnedFd| {
            let listener = std::net::TcpListener::from(descriptor.try_clone()?);
            listener.set_nonblocking(true)?;
            TcpListener::from_std(listener)
        };
        let operator = std::os::unix::net::UnixListener::from(self.operator.try_clone()?);
        operator.set_nonblocking(true)?;
        Ok(Listeners {
            control: tcp(&self.control)?,
            proxy: tcp(&self.proxy)?,
            operator: UnixListener::from_std(operator)?,
        })
    }
}

#[cfg(test)]
#[path = "../tests/takeover.rs"]
mod tests;
