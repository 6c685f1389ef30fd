//! [`Peer`]: the process at the other end of a connection, by the kernel's word.

use crate::adapters::process::loopback;

/// How the kernel can be asked for the process at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// A Unix socket: it named the process when that connected.
    Process(u32),
    /// A loopback connection between these two ports.
    Loopback {
        /// The client's.
        theirs: u16,
        /// The daemon's.
        ours: u16,
    },
    /// It cannot be asked.
    Unknown,
}

impl Peer {
    /// The process, where the kernel agrees with what the client says of itself. A client that
    /// names another process is nobody: it only keeps its own parent from becoming an agent.
    pub async fn process(self, said: u32) -> Option<u32> {
        match self {
            Self::Process(pid) => Some(pid),
            Self::Loopback { theirs, ours } => {
                let look = move || loopback::is_held_by(said, theirs, ours).then_some(said);
                tokio::task::spawn_blocking(look).await.ok().flatten()
            }
            Self::Unknown => None,
        }
    }
}
