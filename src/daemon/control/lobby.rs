//! [`Lobby`]: connections that have not shown who they are yet. They get little time and few
//! places, so that silent ones take nothing from clients with a token.

use std::collections::BTreeMap;
use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::refusals::Refusals;
use crate::core::lock::lock;

/// How many connections may be in the lobby. When all places are taken, the oldest makes room: a
/// client with a token leaves within milliseconds and is hardly ever the oldest.
pub(super) const PLACES_MAX: usize = 256;

/// How long a connection may take for its header and handshake.
const WAIT: Duration = Duration::from_secs(10);

/// In the lobby, with a deadline.
const WAITING: u8 = 0;
/// In the lobby, with no deadline.
const STAYING: u8 = 1;
/// Out of the lobby.
const LEFT: u8 = 2;

/// The places. A cheap clone.
#[derive(Debug, Clone)]
pub(in crate::daemon) struct Lobby {
    places: Arc<Mutex<Places>>,
    refusals: Refusals,
    wait: Duration,
}

#[derive(Debug, Default)]
struct Places {
    next: u64,
    taken: BTreeMap<u64, CancellationToken>,
}

/// A connection's place. Given up with the last clone.
#[derive(Debug, Clone)]
pub(in crate::daemon) struct LobbyPlace(Arc<Taken>);

#[derive(Debug)]
struct Taken {
    lobby: Lobby,
    number: u64,
    state: AtomicU8,
    expelled: CancellationToken,
}

impl Lobby {
    pub(in crate::daemon) fn new(refusals: Refusals) -> Self {
        Self::within(refusals, WAIT)
    }

    fn within(refusals: Refusals, wait: Duration) -> Self {
        Self {
            places: Arc::default(),
            refusals,
            wait,
        }
    }

    /// Takes a place for a connection, and the oldest one's when there is none.
    pub(in crate::daemon) fn enter<S>(&self, stream: S) -> InLobby<S> {
        if self.lock().taken.len() >= PLACES_MAX {
            self.expel_oldest();
        }
        let expelled = CancellationToken::new();
        let mut places = self.lock();
        let number = places.next;
        places.next += 1;
        places.taken.insert(number, expelled.clone());
        drop(places);
        InLobby {
            stream,
            expelled: Some(Box::pin(expelled.clone().cancelled_owned())),
            deadline: Some(Box::pin(sleep(self.wait))),
            place: LobbyPlace(Arc::new(Taken {
                lobby: self.clone(),
                number,
                state: AtomicU8::new(WAITING),
                expelled,
            })),
        }
    }

    /// Ends the connection that has been here the longest.
    pub(in crate::daemon) fn expel_oldest(&self) {
        let oldest = self.lock().taken.pop_first();
        if let Some((_, expelled)) = oldest {
            expelled.cancel();
            self.refusals.count("too many connections without a token");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Places> {
        lock(&self.places)
    }
}

impl LobbyPlace {
    /// It has shown who it is.
    pub(in crate::daemon) fn leave(&self) {
        self.0.state.store(LEFT, Ordering::Relaxed);
        self.0.give_up();
    }

    /// It has done its handshake and has no token to show: it may go on while there is room.
    pub(in crate::daemon) fn stay(&self) {
        self.0.state.store(STAYING, Ordering::Relaxed);
    }
}

impl Taken {
    fn give_up(&self) {
        self.lobby.lock().taken.remove(&self.number);
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.give_up();
    }
}

/// A stream that fails once its time in the lobby is up.
#[derive(Debug)]
pub(in crate::daemon) struct InLobby<S> {
    stream: S,
    place: LobbyPlace,
    expelled: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<S> InLobby<S> {
    pub(in crate::daemon) fn get_ref(&self) -> &S {
        &self.stream
    }

    pub(in crate::daemon) fn place(&self) -> &LobbyPlace {
        &self.place
    }

    fn check(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        match self.place.0.state.load(Ordering::Relaxed) {
            WAITING => {}
            STAYING => self.deadline = None,
            _ => {
                self.deadline = None;
                self.expelled = None;
            }
        }
        if let Some(expelled) = &mut self.expelled
            && expelled.as_mut().poll(cx).is_ready()
        {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        if let Some(deadline) = &mut self.deadline
            && deadline.as_mut().poll(cx).is_ready()
        {
            self.deadline = None;
            let taken = &self.place.0;
            taken.expelled.cancel();
            taken.lobby.refusals.count("no token in time");
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for InLobby<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for InLobby<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};

    use super::*;

    /// Short, because it is waited for.
    fn short() -> Lobby {
        Lobby::within(Refusals::default(), Duration::from_millis(50))
    }

    fn enter(lobby: &Lobby) -> (InLobby<DuplexStream>, DuplexStream) {
        let (ours, theirs) = duplex(64);
        (lobby.enter(ours), theirs)
    }

    #[tokio::test]
    async fn who_shows_nothing_in_time_is_ended_and_who_does_has_all_the_time() {
        let lobby = short();
        let (mut silent, _kept) = enter(&lobby);
        let (mut good, mut client) = enter(&lobby);
        good.place().leave();
        let refused = silent.read_u8().await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::TimedOut);
        // Its time would be up as well.
        client.write_u8(7).await.unwrap();
        assert_eq!(good.read_u8().await.unwrap(), 7);
    }

    #[tokio::test]
    async fn with_every_place_taken_the_oldest_makes_room_and_who_left_counts_no_more() {
        let lobby = Lobby::new(Refusals::default());
        let (mut good, mut client) = enter(&lobby);
        good.place().leave();
        let mut waiting: Vec<_> = (0..=PLACES_MAX).map(|_| enter(&lobby)).collect();
        assert_eq!(lobby.lock().taken.len(), PLACES_MAX);
        let refused = waiting[0].0.read_u8().await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionAborted);
        for (_, client) in &mut waiting[1..] {
            client.write_u8(1).await.unwrap();
        }
        for (stream, _) in &mut waiting[1..] {
            assert_eq!(stream.read_u8().await.unwrap(), 1);
        }
        client.write_u8(7).await.unwrap();
        assert_eq!(good.read_u8().await.unwrap(), 7);
        drop(waiting);
        assert_eq!(lobby.lock().taken.len(), 0);
    }

    #[tokio::test]
    async fn who_stays_has_time_and_makes_room_all_the_same() {
        let lobby = short();
        let (mut stays, mut client) = enter(&lobby);
        stays.place().stay();
        let (mut silent, _kept) = enter(&lobby);
        assert!(silent.read_u8().await.is_err());
        drop(silent);
        client.write_u8(7).await.unwrap();
        assert_eq!(stays.read_u8().await.unwrap(), 7);
        lobby.expel_oldest();
        assert!(stays.read_u8().await.is_err());
    }
}
