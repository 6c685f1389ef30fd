//! [`ConnId`]: one connection of a client, and [`Outlet`]: where its notifications go.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc::error::TryRecvError;
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

/// Where a client's task takes its notifications from.
#[derive(Debug)]
pub struct OutletReceiver {
    receiver: mpsc::Receiver<Notification>,
    missed: Arc<AtomicU64>,
}

impl OutletReceiver {
    /// The next one; behind those that wait, that others were missed. `None`: there will be none.
    /// Nothing is lost when it is dropped while it waits.
    pub async fn recv(&mut self) -> Option<Notification> {
        // Only a full outlet misses any, so that nothing is missed between this look and the wait.
        if let Ok(notification) = self.try_recv() {
            return Some(notification);
        }
        self.receiver.recv().await
    }

    /// The next one, where there is one already.
    ///
    /// # Errors
    ///
    /// Nothing waits.
    pub fn try_recv(&mut self) -> Result<Notification, TryRecvError> {
        self.receiver
            .try_recv()
            .or_else(|empty| match self.missed.swap(0, Ordering::Relaxed) {
                0 => Err(empty),
                missed => Ok(Notification::Lagged { missed }),
            })
    }
}

impl Outlet {
    /// An outlet, and where the client's task takes from.
    pub fn new(closed: CancellationToken) -> (Self, OutletReceiver) {
        let (sender, receiver) = mpsc::channel(OUTLET_MAX);
        let missed = Arc::new(AtomicU64::new(0));
        let outlet = Self {
            sender,
            missed: Arc::clone(&missed),
            closed,
            probe: Arc::new(Notify::new()),
        };
        (outlet, OutletReceiver { receiver, missed })
    }

    /// Sends, or counts what could not be sent. Returns whether it was sent.
    pub fn send(&self, notification: Notification) -> bool {
        let missed = self.missed.load(Ordering::Relaxed);
        if missed > 0
            && self
                .sender
                .try_send(Notification::Lagged { missed })
                .is_ok()
        {
            self.are_told(missed);
        }
        // Counted before it is missed: a reader that empties the outlet right then finds the count.
        self.missed.fetch_add(1, Ordering::Relaxed);
        let sent = self.sender.try_send(notification).is_ok();
        if sent {
            self.are_told(1);
        }
        sent
    }

    /// So many are missed no more. A reader that emptied the outlet meanwhile may have reported
    /// them.
    fn are_told(&self, count: u64) {
        let less = |missed: u64| Some(missed.saturating_sub(count));
        let (set, read) = (Ordering::Relaxed, Ordering::Relaxed);
        let _ = self.missed.fetch_update(set, read, less);
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

#[cfg(test)]
mod tests {
    use tokio_util::sync::CancellationToken;

    use super::{OUTLET_MAX, Outlet};
    use crate::wire::control::Notification;

    #[tokio::test]
    async fn that_some_were_missed_is_told_behind_those_that_were_not() {
        let (outlet, mut receiver) = Outlet::new(CancellationToken::new());
        for _ in 0..300 {
            outlet.send(Notification::StatusChanged {});
        }
        for _ in 0..OUTLET_MAX {
            let told = receiver.recv().await.unwrap();
            assert!(matches!(told, Notification::StatusChanged {}), "{told:?}");
        }
        // Nothing else is sent: it is told all the same, once.
        let told = receiver.recv().await.unwrap();
        assert!(
            matches!(told, Notification::Lagged { missed } if missed == 300 - OUTLET_MAX as u64),
            "{told:?}"
        );
        assert!(receiver.try_recv().is_err());
        assert!(outlet.send(Notification::StatusChanged {}));
        let told = receiver.recv().await.unwrap();
        assert!(matches!(told, Notification::StatusChanged {}), "{told:?}");
        drop(outlet);
        assert!(receiver.recv().await.is_none());
    }
}
