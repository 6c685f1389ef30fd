//! [`Proxy`]: the port of the Codex terminal.
//!
//! Checks the terminal's token, rebuilds the upgrade request with the app-server's, and passes
//! bytes from then on. It never reads a frame and never puts one in, so a parser of ours cannot
//! cut the human off.

mod head;
mod peer;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, Semaphore, mpsc, watch};
use tokio::time::{Instant, sleep, timeout};

use super::fact::CodexFact;
use super::server::Upstream;
use head::{Refusal, check, read_head};

/// Connecting, and the app-server's answer to the upgrade.
const UPGRADE_WAIT: Duration = Duration::from_secs(5);

/// Connections at one time, also those that have not shown their token yet. More are closed.
const CONNECTIONS_MAX: usize = 32;

/// Between two facts about wrong tokens.
const REFUSED_EVERY: Duration = Duration::from_secs(1);

/// For the last words of one side after the end of the other.
const LINGER: Duration = Duration::from_secs(1);

/// Of the operating system, for a moment without free descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How long the two sides may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waits {
    /// From the connection to the end of the request's head. A terminal sends it at once.
    pub(super) head: Duration,
    /// For an app-server that is being started.
    pub(super) app_server: Duration,
}

impl Default for Waits {
    fn default() -> Self {
        Self {
            head: Duration::from_secs(5),
            app_server: Duration::from_secs(12),
        }
    }
}

/// The port of the Codex terminal.
#[derive(Debug)]
pub(super) struct Proxy {
    /// What a terminal must show.
    pub(super) token: String,
    /// Where the app-server is, once a session has taken up the thread.
    pub(super) upstream: watch::Receiver<Option<Upstream>>,
    /// The wish for one.
    pub(super) wanted: mpsc::Sender<()>,
    /// Where facts go.
    pub(super) facts: mpsc::Sender<CodexFact>,
    /// How long the two sides may take.
    pub(super) waits: Waits,
}

/// What the connections share.
#[derive(Debug, Default)]
struct Shared {
    /// Terminals that are connected.
    attached: Mutex<u32>,
    refused: Mutex<Refused>,
}

#[derive(Debug, Default)]
struct Refused {
    /// Since the last fact.
    count: u64,
    told: Option<Instant>,
}

impl Proxy {
    /// Serves for ever.
    pub(super) async fn serve(self: Arc<Self>, listener: TcpListener) {
        let shared = Arc::new(Shared::default());
        let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        let mut connections = tokio::task::JoinSet::new();
        loop {
            tokio::select! {
                accepted = listener.accept() => {
                    let Ok((stream, peer)) = accepted else {
                        sleep(ACCEPT_PAUSE).await;
                        continue;
                    };
                    let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
                        continue;
                    };
                    let (proxy, shared) = (Arc::clone(&self), Arc::clone(&shared));
                    connections.spawn(async move {
                        let _ = proxy.connection(stream, peer, &shared).await;
                        drop(place);
                    });
                }
                Some(_) = connections.join_next() => {}
            }
        }
    }

    async fn connection(
        &self,
        mut stream: TcpStream,
        peer: SocketAddr,
        shared: &Shared,
    ) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let port = stream.local_addr()?.port();
        let head = match timeout(self.waits.head, read_head(&mut stream)).await {
            Ok(Ok(head)) => head,
            Ok(Err(refusal)) => return refuse(stream, &refusal).await,
            Err(_) => return refuse(stream, &Refusal::Slow).await,
        };
        let request = match check(&head.bytes, port, &self.token) {
            Ok(request) => request,
            Err(refusal) => {
                if refusal == Refusal::Token {
                    self.count_refused(shared).await;
                }
                return refuse(stream, &refusal).await;
            }
        };
        let Some(upstream) = self.upstream().await else {
            return refuse(stream, &Refusal::NoAppServer).await;
        };
        let upgrade = async {
            let mut server = TcpStream::connect(("127.0.0.1", upstream.port)).await?;
            server.set_nodelay(true)?;
            server.write_all(&request.rebuilt(&upstream)).await?;
            server.write_all(&head.rest).await?;
            // Passed on as it comes; the first line tells whether this is a terminal now.
            let mut answer = vec![0; 1024];
            let read = server.read(&mut answer).await?;
            answer.truncate(read);
            Ok::<_, io::Error>((server, answer))
        };
        let (mut server, answer) = match timeout(UPGRADE_WAIT, upgrade).await {
            Ok(Ok(upgraded)) => upgraded,
            _ => return refuse(stream, &Refusal::NoAppServer).await,
        };
        stream.write_all(&answer).await?;
        let is_terminal = answer.starts_with(b"HTTP/1.1 101");
        if is_terminal {
            self.attach(peer, port, shared).await;
        }
        pass(&mut stream, &mut server).await;
        if is_terminal {
            self.detach(shared).await;
        }
        Ok(())
    }

    /// The app-server, asked for and waited for if there is none.
    async fn upstream(&self) -> Option<Upstream> {
        let mut upstream = self.upstream.clone();
        if upstream.borrow().is_none() {
            // Full: somebody has asked already.
            let _ = self.wanted.try_send(());
        }
        match timeout(self.waits.app_server, upstream.wait_for(Option::is_some)).await {
            Ok(Ok(found)) => found.clone(),
            _ => None,
        }
    }

    async fn attach(&self, peer: SocketAddr, port: u16, shared: &Shared) {
        let found = tokio::task::spawn_blocking(move || peer::process_of(peer.port(), port)).await;
        let mut attached = shared.attached.lock().await;
        *attached += 1;
        let pid = found.ok().flatten();
        let _ = self
            .facts
            .send(CodexFact::Tui {
                attached: true,
                pid,
            })
            .await;
    }

    async fn detach(&self, shared: &Shared) {
        let mut attached = shared.attached.lock().await;
        *attached -= 1;
        if *attached == 0 {
            let left = CodexFact::Tui {
                attached: false,
                pid: None,
            };
            let _ = self.facts.send(left).await;
        }
    }

    /// Tells about a wrong token, at most once a second; the terminal itself never says why it
    /// cannot connect (Codex 0.169.0, observed).
    async fn count_refused(&self, shared: &Shared) {
        let mut refused = shared.refused.lock().await;
        refused.count += 1;
        let now = Instant::now();
        if refused.told.is_some_and(|told| now < told + REFUSED_EVERY) {
            return;
        }
        // A daemon that is busy hears of it with the next one.
        let fact = CodexFact::ProxyRefused {
            count: refused.count,
        };
        if self.facts.try_send(fact).is_ok() {
            *refused = Refused {
                count: 0,
                told: Some(now),
            };
        }
    }
}

/// Passes bytes both ways until one side ends. What the other still has to say gets a moment: a
/// WebSocket is of no use half open, and a side that is stuck must not keep the terminal attached.
async fn pass(terminal: &mut TcpStream, server: &mut TcpStream) {
    let (mut from_terminal, mut to_terminal) = terminal.split();
    let (mut from_server, mut to_server) = server.split();
    let up = async {
        let _ = copy(&mut from_terminal, &mut to_server).await;
        let _ = to_server.shutdown().await;
    };
    let down = async {
        let _ = copy(&mut from_server, &mut to_terminal).await;
        let _ = to_terminal.shutdown().await;
    };
    tokio::pin!(up, down);
    let _ = tokio::select! {
        () = &mut up => timeout(LINGER, down).await,
        () = &mut down => timeout(LINGER, up).await,
    };
}

async fn refuse(mut stream: TcpStream, refusal: &Refusal) -> io::Result<()> {
    stream.write_all(refusal.response().as_bytes()).await?;
    stream.shutdown().await
}

#[cfg(test)]
#[path = "tests/proxy.rs"]
mod tests;
