//! [`Passed`]: what an adapter leaves to the adapter of the next owner: the running app-server, the
//! terminals on it, and what is known of the conversation.

use std::collections::VecDeque;
use std::os::fd::{BorrowedFd, OwnedFd};

use serde::{Deserialize, Serialize};

use super::proxy::{PassedTerminal, Unwritten};
use super::server::{PassedServer, Upstream};
use super::thread_state::ThreadState;
use crate::adapters::hold::{ChildRecord, PassedChild};

/// What an adapter leaves behind. Dropping it ends the app-server and the terminals' connections.
#[derive(Debug, Default)]
pub struct Passed {
    pub(super) thread_state: ThreadState,
    pub(super) server: Option<PassedServer>,
    pub(super) terminals: Vec<PassedTerminal>,
}

/// [`Passed`] without its descriptors. It has the app-server's token: for the next owner alone.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PassedText {
    /// A daemon of another version reads it under this name.
    #[serde(rename = "memory")]
    thread_state: ThreadState,
    server: Option<ServerText>,
    terminals: Vec<Unwritten>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ServerText {
    record: ChildRecord,
    upstream: Upstream,
}

impl Passed {
    /// With an app-server that nobody has to end.
    #[cfg(test)]
    pub fn with_server() -> Self {
        let nothing = || OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
        let record = ChildRecord {
            owner: 4_000_000,
            hold: 4_000_001,
            pid: 4_000_002,
            started: String::new(),
            mark: String::new(),
        };
        Self {
            server: Some(PassedServer {
                child: PassedChild::new(record, nothing()),
                upstream: Upstream {
                    port: 4500,
                    token: String::new(),
                },
                stderr: nothing(),
            }),
            ..Self::default()
        }
    }

    /// Whether a terminal goes on.
    pub fn has_terminal(&self) -> bool {
        !self.terminals.is_empty()
    }

    /// Whether an app-server goes on.
    pub fn has_server(&self) -> bool {
        self.server.is_some()
    }

    /// What can be written down of it.
    pub fn text(&self) -> PassedText {
        PassedText {
            thread_state: self.thread_state.clone(),
            server: self.server.as_ref().map(|server| ServerText {
                record: server.child.record().clone(),
                upstream: server.upstream.clone(),
            }),
            terminals: self
                .terminals
                .iter()
                .map(|terminal| terminal.unwritten.clone())
                .collect(),
        }
    }

    /// What cannot, in the order in which [`Self::new`] takes it.
    pub fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let server = self.server.iter().flat_map(PassedServer::descriptors);
        let terminals = self.terminals.iter().flat_map(PassedTerminal::descriptors);
        server.chain(terminals).collect()
    }

    /// Puts both together. `None` when there are too few descriptors.
    pub fn new(text: PassedText, descriptors: &mut VecDeque<OwnedFd>) -> Option<Self> {
        let mut next = || descriptors.pop_front();
        let server = match text.server {
            Some(server) => Some(PassedServer {
                child: PassedChild::new(server.record, next()?),
                upstream: server.upstream,
                stderr: next()?,
            }),
            None => None,
        };
        let mut terminals = Vec::new();
        for unwritten in text.terminals {
            terminals.push(PassedTerminal {
                terminal: next()?,
                server: next()?,
                unwritten,
            });
        }
        Some(Self {
            thread_state: text.thread_state,
            server,
            terminals,
        })
    }
}
