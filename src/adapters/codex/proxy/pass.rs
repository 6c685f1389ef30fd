//! [`Passage`]: a terminal and the app-server, with bytes passing between them; and the state that
//! another process needs to continue it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// For the last words of one side after the end of the other.
const LINGER: Duration = Duration::from_secs(1);

/// What is read of one side before it is written to the other.
const CHUNK_BYTES: usize = 8 * 1024;

/// A connected terminal.
#[derive(Debug)]
pub(super) struct Passage {
    terminal: TcpStream,
    server: TcpStream,
    unwritten: Unwritten,
}

/// What was read of one side and not yet written to the other.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(in super::super) struct Unwritten {
    to_server: Vec<u8>,
    to_terminal: Vec<u8>,
}

/// A connected terminal on its way to another process.
#[derive(Debug)]
pub(in super::super) struct PassedTerminal {
    /// Its connection to us.
    pub(in super::super) terminal: OwnedFd,
    /// Ours to the app-server.
    pub(in super::super) server: OwnedFd,
    /// What was on its way.
    pub(in super::super) unwritten: Unwritten,
}

impl PassedTerminal {
    /// The descriptors: the terminal's, the app-server's.
    pub(in super::super) fn descriptors(&self) -> [BorrowedFd<'_>; 2] {
        [self.terminal.as_fd(), self.server.as_fd()]
    }
}

impl Passage {
    /// Two connections whose upgrade is done.
    pub(super) fn new(terminal: TcpStream, server: TcpStream) -> Self {
        Self {
            terminal,
            server,
            unwritten: Unwritten::default(),
        }
    }

    /// Takes on a terminal that an earlier owner left.
    pub(super) fn take_over(passed: PassedTerminal) -> io::Result<Self> {
        let stream = |descriptor: OwnedFd| {
            let stream = std::net::TcpStream::from(descriptor);
            stream.set_nonblocking(true)?;
            TcpStream::from_std(stream)
        };
        Ok(Self {
            terminal: stream(passed.terminal)?,
            server: stream(passed.server)?,
            unwritten: passed.unwritten,
        })
    }

    /// Leaves it to another process.
    pub(super) fn leave(self) -> io::Result<PassedTerminal> {
        Ok(PassedTerminal {
            terminal: self.terminal.into_std()?.into(),
            server: self.server.into_std()?.into(),
            unwritten: self.unwritten,
        })
    }

    /// The terminal's end, and our port.
    pub(super) fn ends(&self) -> (SocketAddr, u16) {
        let port = self.terminal.local_addr().map_or(0, |ours| ours.port());
        let nobody = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        (self.terminal.peer_addr().unwrap_or(nobody), port)
    }

    /// Passes bytes both ways until one side ends, or until it is released; says whether it may go
    /// on elsewhere. What the other side still has to say gets a moment: a WebSocket is of no use
    /// half open, and a side that is stuck must not keep the terminal attached.
    pub(super) async fn pass(&mut self, release: &CancellationToken) -> bool {
        let (mut from_terminal, mut to_terminal) = self.terminal.split();
        let (mut from_server, mut to_server) = self.server.split();
        let Unwritten {
            to_server: up_left,
            to_terminal: down_left,
        } = &mut self.unwritten;
        let up = one_way(&mut from_terminal, &mut to_server, up_left, release);
        let down = one_way(&mut from_server, &mut to_terminal, down_left, release);
        tokio::pin!(up, down);
        let (released, other) = tokio::select! {
            released = &mut up => (released, timeout(LINGER, down).await),
            released = &mut down => (released, timeout(LINGER, up).await),
        };
        released && other == Ok(true)
    }
}

/// Passes bytes one way until the end of their source, which is passed on, or until it is
/// released. `left`: what was read and is not written yet.
async fn one_way(
    from: &mut ReadHalf<'_>,
    to: &mut WriteHalf<'_>,
    left: &mut Vec<u8>,
    release: &CancellationToken,
) -> bool {
    let copied = async {
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            while !left.is_empty() {
                let written = to.write(left).await?;
                if written == 0 {
                    return Err(io::ErrorKind::WriteZero.into());
                }
                left.drain(..written);
            }
            let read = from.read(&mut chunk).await?;
            if read == 0 {
                return Ok::<(), io::Error>(());
            }
            left.extend_from_slice(&chunk[..read]);
        }
    };
    // Reading and writing lose nothing when they are cancelled: what was read is in `left`.
    if release.run_until_cancelled(copied).await.is_none() {
        return true;
    }
    let _ = to.shutdown().await;
    false
}
