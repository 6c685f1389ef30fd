//! [`ConnId`]: one connection of a client, and [`Outlet`], where its notifications go.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

use crate::wire::control::Notification;

/// How many notifications may wait for one client. A client that is further behind is told how
/// many it missed and reads again, so that memory stays bounded and nobody else is slowed.
pub const OUTLET_MAX: usize = 256;

/// How many clients may be connected at once that are not the operator's. More than there are
/// places for connections without a token, so that those cannot keep an agent out.
pub const CLIENTS_MAX: usize = 512;

/// How many clients of the operator may be connected at once. Places of their own: whatever agents
/// and their commands open, the operator comes in.
pub const OPERATORS_MAX: usize = 64;

/// A connection, unique in the daemon's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnId(u64);

impl ConnId {
    /// A fresh one.
    pub fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// As the machines of delivery name it.
    pub fn number(self) -> u64 {
        self.0
    }

    /// The connection that they name so.
    pub fn of(number: u64) -> Self {
        Self(number)
    }
}

/// Where a client's notifications go. Never blocks the loop.
#[derive(Debug, Clone)]
pub struct Outlet {
    sender: mpsc::Sender<Notification>,
    missed: Arc<AtomicU64>,
    closed: CancellationToken,
    probe: Arc<Notify>,
}

impl Outlet {
    /// An outlet, and where the client's task takes from.
    pub fn new(closed: CancellationToken) -> (Self, NotificationInlet) {
        let (sender, receiver) = mpsc::channel(OUTLET_MAX);
        let missed = Arc::new(AtomicU64::new(0));
        let inlet = NotificationInlet {
            receiver,
            missed: Arc::clone(&missed),
        };
        let outlet = Self {
            sender,
            missed,
            closed,
            probe: Arc::new(Notify::new()),
        };
        (outlet, inlet)
    }

    /// Sends, or counts what could not be sent. Returns whether it was sent.
    pub fn send(&self, notification: Notification) -> bool {
        let missed = self.missed.swap(0, Ordering::Relaxed);
        if missed > 0
            && self
                .sender
                .try_send(Notification::Lagged { missed })
                .is_err()
        {
            self.missed.fetch_add(missed, Ordering::Relaxed);
        }
        if self.sender.try_send(notification).is_err() {
            self.missed.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        true
    }

    /// Asks the client whether it lives; the answer is an event. Beside the notifications, so
    /// that a full outlet does not hide who is alive.
    pub fn probe(&self) {
        self.probe.notify_one();
    }

    /// Where the client's task hears that it is to ask.
    pub fn probes(&self) -> Arc<Notify> {
        Arc::clone(&self.probe)
    }

    /// Ends the connection.
    pub fn close(&self) {
        self.closed.cancel();
    }
}

/// The client's end of an [`Outlet`]. Says that something was missed as soon as there is room, also
/// when nothing more comes: what is missed at the end of a burst would else be missed for good.
#[derive(Debug)]
pub struct NotificationInlet {
    receiver: mpsc::Receiver<Notification>,
    missed: Arc<AtomicU64>,
}

impl NotificationInlet {
    /// The next one; `None` when the outlet is gone. Nothing is lost where it is not waited for to
    /// the end.
    pub async fn recv(&mut self) -> Option<Notification> {
        match self.try_recv() {
            Ok(notification) => Some(notification),
            Err(_) => self.receiver.recv().await,
        }
    }

    /// The next one that is there.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn try_recv(&mut self) -> Result<Notification, mpsc::error::TryRecvError> {
        self.receiver.try_recv().or_else(|none| {
            // Nothing waits, so that nothing is being missed just now.
            match self.missed.swap(0, Ordering::Relaxed) {
                0 => Err(none),
                missed => Ok(Notification::Lagged { missed }),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[tokio::test]
    async fn what_is_missed_at_the_end_of_a_burst_is_told_without_more_to_tell() {
        let (outlet, mut inlet) = Outlet::new(CancellationToken::new());
        let ring = || Notification::StatusChanged {};
        let sent = (0..OUTLET_MAX + 44).filter(|_| outlet.send(ring())).count();
        assert_eq!(sent, OUTLET_MAX);
        let mut told = Vec::new();
        for _ in 0..=OUTLET_MAX {
            told.push(inlet.recv().await.unwrap());
        }
        assert_eq!(told.pop().unwrap(), Notification::Lagged { missed: 44 });
        assert!(inlet.try_recv().is_err(), "once");
        assert!(outlet.send(ring()));
        assert_eq!(inlet.recv().await.unwrap(), ring());
    }
}
