//! [`ProxyLobby`]: connections that have not shown their token yet. They take no terminal's place.

use std::collections::VecDeque;
use std::future::Future;

use tokio_util::sync::{CancellationToken, DropGuard};

/// How many there are at one time. When all places are taken the oldest makes room: a terminal shows
/// its token within milliseconds and is hardly ever the oldest.
pub(super) const LOBBY_MAX: usize = 64;

/// The places.
#[derive(Debug, Default)]
pub(super) struct ProxyLobby {
    /// The oldest first. What ends one is kept: `left` is cancelled once it is out.
    waiting: VecDeque<Place>,
}

#[derive(Debug)]
struct Place {
    expelled: CancellationToken,
    left: CancellationToken,
}

/// One connection's place, which it gives up with this.
#[derive(Debug)]
pub(super) struct LobbyTicket {
    expelled: CancellationToken,
    _left: DropGuard,
}

impl ProxyLobby {
    /// Takes a place, and the oldest one's when there is none.
    pub(super) fn enter(&mut self) -> LobbyTicket {
        self.waiting.retain(|place| !place.left.is_cancelled());
        if self.waiting.len() >= LOBBY_MAX {
            self.expel_oldest();
        }
        let (expelled, left) = (CancellationToken::new(), CancellationToken::new());
        let ticket = LobbyTicket {
            expelled: expelled.clone(),
            _left: left.clone().drop_guard(),
        };
        self.waiting.push_back(Place { expelled, left });
        ticket
    }

    /// Ends the one that has been here the longest.
    pub(super) fn expel_oldest(&mut self) {
        if let Some(oldest) = self.waiting.pop_front() {
            oldest.expelled.cancel();
        }
    }
}

impl LobbyTicket {
    /// What a connection shows; `None` when it had to make room before.
    pub(super) async fn admitted<T>(self, showing: impl Future<Output = T>) -> Option<T> {
        self.expelled.run_until_cancelled(showing).await
    }
}
