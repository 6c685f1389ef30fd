//! [`Proxy`]: the port of the Codex terminal.
//!
//! It checks the terminal's token, rebuilds the upgrade request with the app-server's token, and
//! passes bytes from then on. It never reads a frame and never inserts one, so a parser error of
//! ours cannot cut the human off, and another process can take over between any two bytes.

mod head;
mod lobby;
mod pass;

pub(super) use pass::{PassedTerminal, Unwritten};

use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::fact::CodexFact;
use super::server::Upstream;
use crate::adapters::process::loopback;
use head::{ProxyRefusal, RequestHead, Upgrade, check, read_head};
use lobby::{LobbyTicket, ProxyLobby};
use pass::Passage;

/// Connecting, and the app-server's answer to the upgrade.
const UPGRADE_WAIT: Duration = Duration::from_secs(5);

/// Terminals at one time. More are refused.
const TERMINALS_MAX: usize = 32;

/// Between two facts about wrong tokens.
const REFUSED_EVERY: Duration = Duration::from_secs(1);

/// For the connections to come to a halt when another process is to go on with them: they only
/// have to be asked.
const RELEASE_WAIT: Duration = Duration::from_secs(2);

/// Of the operating system, for a moment without free descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How long the two sides may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waits {
    /// From the connection to the end of the request's head. A terminal sends it at once.
    pub(super) head: Duration,
    /// For an app-server that is being started.
    pub(super) app_server: Duration,
    /// Without a connection too many, before there is said to be room again.
    pub(super) room: Duration,
}

impl Default for Waits {
    fn default() -> Self {
        Self {
            head: Duration::from_secs(5),
            app_server: Duration::from_secs(12),
            room: Duration::from_secs(10),
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
    /// Another process is to go on.
    pub(super) release: CancellationToken,
}

/// What the connections share.
#[derive(Debug)]
struct Shared {
    /// Terminals that are connected.
    attached: AtomicU32,
    /// Whether it was told last that there is one. Held until the fact is on its way, so that facts
    /// come in the order of what happened.
    is_told: Mutex<bool>,
    /// For a wrong token.
    refused: Mutex<Refused>,
    /// For being one too many.
    full: Mutex<Refused>,
    /// For those that have shown their token.
    places: Arc<Semaphore>,
}

/// One terminal that is connected, until this is dropped: also by a panic of its connection.
#[derive(Debug)]
struct Attached<'a>(&'a AtomicU32);

impl<'a> Attached<'a> {
    fn of(attached: &'a AtomicU32) -> Self {
        attached.fetch_add(1, Ordering::SeqCst);
        Self(attached)
    }

    /// It does not leave: another process goes on with it.
    fn goes_on(self) {
        std::mem::forget(self);
    }
}

impl Drop for Attached<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[derive(Debug, Default)]
struct Refused {
    /// Since the last fact.
    count: u64,
    told: Option<Instant>,
    /// The last one, until it is said that there is room again.
    last: Option<Instant>,
}

impl Proxy {
    /// Serves until it is released, and returns the terminals that are connected then. Begins with
    /// those that an earlier owner left.
    pub(super) async fn serve(
        self: Arc<Self>,
        listener: TcpListener,
        inherited: Vec<PassedTerminal>,
    ) -> Vec<PassedTerminal> {
        let shared = Arc::new(Shared {
            attached: AtomicU32::default(),
            is_told: Mutex::default(),
            refused: Mutex::default(),
            full: Mutex::default(),
            places: Arc::new(Semaphore::new(TERMINALS_MAX)),
        });
        let mut lobby = ProxyLobby::default();
        let mut connections = JoinSet::new();
        let mut left = Vec::new();
        for passed in inherited {
            let (proxy, shared) = (Arc::clone(&self), Arc::clone(&shared));
            let place = Arc::clone(&shared.places).try_acquire_owned();
            connections.spawn(async move {
                let _place = place;
                let passage = Passage::take_over(passed).ok()?;
                proxy.terminal(passage, &shared).await
            });
        }
        loop {
            tokio::select! {
                biased;
                () = self.release.cancelled() => break,
                accepted = listener.accept() => {
                    let Ok((stream, _)) = accepted else {
                        // Without free descriptors those that have shown nothing make room.
                        lobby.expel_oldest();
                        sleep(ACCEPT_PAUSE).await;
                        continue;
                    };
                    let ticket = lobby.enter();
                    let (proxy, shared) = (Arc::clone(&self), Arc::clone(&shared));
                    connections.spawn(async move {
                        // One that is not through yet comes back to the next owner.
                        let upgraded = proxy.upgraded(stream, ticket, &shared);
                        let upgrading = proxy.release.run_until_cancelled(upgraded);
                        let (passage, _place) = upgrading.await?.ok()??;
                        proxy.terminal(passage, &shared).await
                    });
                }
                () = self.tell_room(&shared) => {}
                // One that was released a moment before we look is none the less left.
                Some(ended) = connections.join_next() => {
                    left.extend(self.left_of(ended, &shared).await);
                }
            }
        }
        // Who comes from now on waits in the listener's queue for the next owner.
        drop(listener);
        let deadline = Instant::now() + RELEASE_WAIT;
        while let Ok(Some(ended)) = timeout_at(deadline, connections.join_next()).await {
            left.extend(self.left_of(ended, &shared).await);
        }
        left
    }

    /// What a connection that came to its end left for the next owner. One that panicked leaves
    /// nothing, and is told.
    async fn left_of(
        &self,
        ended: Result<Option<PassedTerminal>, JoinError>,
        shared: &Shared,
    ) -> Option<PassedTerminal> {
        match ended {
            Ok(left) => return left,
            Err(error) if error.is_panic() => {
                let _ = self.facts.send(CodexFact::TerminalFailed).await;
                self.tell_left(shared).await;
            }
            Err(_) => {}
        }
        None
    }

    /// Reads the request, and brings it to the app-server. `None` when that is no terminal; then
    /// the connection is over.
    async fn upgraded(
        &self,
        mut stream: TcpStream,
        ticket: LobbyTicket,
        shared: &Shared,
    ) -> io::Result<Option<(Passage, OwnedSemaphorePermit)>> {
        stream.set_nodelay(true)?;
        let port = stream.local_addr()?.port();
        let shown = ticket.admitted(self.shown(&mut stream, port)).await;
        let admitted = shown.unwrap_or(Err(ProxyRefusal::Full)).and_then(|shown| {
            let place = Arc::clone(&shared.places).try_acquire_owned();
            place.map_or(Err(ProxyRefusal::Full), |place| Ok((shown, place)))
        });
        let ((request, head), place) = match admitted {
            Ok(admitted) => admitted,
            Err(refusal) => {
                if matches!(refusal, ProxyRefusal::Token | ProxyRefusal::Full) {
                    self.count_refused(refusal, shared).await;
                }
                return refuse(stream, &refusal).await;
            }
        };
        let Some(upstream) = self.upstream().await else {
            return refuse(stream, &ProxyRefusal::NoAppServer).await;
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
        let (server, answer) = match timeout(UPGRADE_WAIT, upgrade).await {
            Ok(Ok(upgraded)) => upgraded,
            _ => return refuse(stream, &ProxyRefusal::NoAppServer).await,
        };
        stream.write_all(&answer).await?;
        let mut passage = Passage::new(stream, server);
        if answer.starts_with(b"HTTP/1.1 101") {
            return Ok(Some((passage, place)));
        }
        // The rest of a refusal.
        passage.pass(&CancellationToken::new()).await;
        Ok(None)
    }

    /// The request of a connection that shows the token.
    async fn shown(
        &self,
        stream: &mut TcpStream,
        port: u16,
    ) -> Result<(Upgrade, RequestHead), ProxyRefusal> {
        let head = timeout(self.waits.head, read_head(stream)).await;
        let head = head.unwrap_or(Err(ProxyRefusal::Slow))?;
        Ok((check(&head.bytes, port, &self.token)?, head))
    }

    /// Passes a terminal's bytes until one side ends, or until it can go on elsewhere.
    async fn terminal(&self, mut passage: Passage, shared: &Shared) -> Option<PassedTerminal> {
        let (peer, port) = passage.ends();
        let attached = self.attach(peer, port, shared).await;
        tracing::debug!("a terminal is connected");
        if passage.pass(&self.release).await {
            attached.goes_on();
            return passage.leave().ok();
        }
        drop(attached);
        self.tell_left(shared).await;
        None
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

    async fn attach<'a>(&self, peer: SocketAddr, port: u16, shared: &'a Shared) -> Attached<'a> {
        let found = tokio::task::spawn_blocking(move || loopback::holder(peer.port(), port)).await;
        let mut is_told = shared.is_told.lock().await;
        let attached = Attached::of(&shared.attached);
        *is_told = true;
        let pid = found.ok().flatten();
        let _ = self
            .facts
            .send(CodexFact::Tui {
                attached: true,
                pid,
            })
            .await;
        attached
    }

    /// Tells that the last terminal left, if that is so.
    async fn tell_left(&self, shared: &Shared) {
        let mut is_told = shared.is_told.lock().await;
        if shared.attached.load(Ordering::SeqCst) == 0 && std::mem::take(&mut *is_told) {
            let left = CodexFact::Tui {
                attached: false,
                pid: None,
            };
            let _ = self.facts.send(left).await;
        }
    }

    /// Tells about a wrong token or too many connections, each at most once a second; the terminal itself
    /// never says why it cannot connect (Codex 0.169.0, observed).
    async fn count_refused(&self, why: ProxyRefusal, shared: &Shared) {
        let is_full = why == ProxyRefusal::Full;
        let counted = if is_full {
            &shared.full
        } else {
            &shared.refused
        };
        let mut refused = counted.lock().await;
        refused.count += 1;
        let now = Instant::now();
        refused.last = Some(now);
        if refused.told.is_some_and(|told| now < told + REFUSED_EVERY) {
            return;
        }
        // A daemon that is busy hears of it with the next one.
        let fact = CodexFact::ProxyRefused {
            count: refused.count,
            is_full,
        };
        if self.facts.try_send(fact).is_ok() {
            refused.count = 0;
            refused.told = Some(now);
        }
    }

    /// Tells that there is room again. Waits for ever where nobody was one too many.
    async fn tell_room(&self, shared: &Shared) {
        loop {
            let wait = {
                let mut full = shared.full.lock().await;
                let Some(last) = full.last else {
                    break;
                };
                let rest = (last + self.waits.room).saturating_duration_since(Instant::now());
                let has_room = rest.is_zero() && shared.places.available_permits() > 0;
                if has_room && self.facts.try_send(CodexFact::ProxyHasRoom).is_ok() {
                    full.last = None;
                    return;
                }
                match rest.is_zero() {
                    true => self.waits.room,
                    false => rest,
                }
            };
            sleep(wait).await;
        }
        pending().await
    }
}

async fn refuse<T>(mut stream: TcpStream, refusal: &ProxyRefusal) -> io::Result<Option<T>> {
    stream.write_all(refusal.response().as_bytes()).await?;
    stream.shutdown().await?;
    Ok(None)
}

#[cfg(test)]
#[path = "tests/proxy.rs"]
mod tests;
