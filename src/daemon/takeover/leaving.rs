//! [`Leaving`]: once the loop has ended, passes what it held to the next process.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_util::sync::DropGuard;
use tokio_util::task::TaskTracker;

use super::{Endpoints, LoopState, Takeover};
use crate::store::owner::OwnerLock;
use crate::store::publisher::Publisher;

/// For calls over HTTP that are still being answered when another process is to go on.
const LAST_CALLS: Duration = Duration::from_millis(500);

/// The way to who waits for what a daemon leaves.
#[derive(Debug)]
pub(in crate::daemon) struct Leaving {
    leave: oneshot::Sender<Takeover>,
    /// What serves clients, and is waited for.
    serving: TaskTracker,
    detached: bool,
}

impl Leaving {
    /// With the other end of it.
    pub(in crate::daemon) fn new(
        serving: TaskTracker,
        detached: bool,
    ) -> (Self, oneshot::Receiver<Takeover>) {
        let (leave, takeover) = oneshot::channel();
        let leaving = Self {
            leave,
            serving,
            detached,
        };
        (leaving, takeover)
    }

    /// Leaves everything, behind the last answers.
    pub(in crate::daemon) async fn leave(
        self,
        stop_serving: DropGuard,
        publisher: Publisher,
        lock: OwnerLock,
        endpoints: Endpoints,
        loop_state: LoopState,
    ) {
        // Nothing is accepted here any more; who comes waits for the next owner to do it.
        drop(stop_serving);
        self.serving.close();
        let _ = timeout(LAST_CALLS, self.serving.wait()).await;
        // Nobody waits for it: then this is the end.
        let _ = self.leave.send(Takeover {
            detached: self.detached,
            publisher: Some(publisher),
            lock,
            endpoints,
            loop_state,
        });
    }
}
