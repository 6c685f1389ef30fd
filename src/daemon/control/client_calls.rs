//! [`ClientCalls`]: the calls of one client that are in progress, who waits for each, and their
//! limit.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::core::lock::lock;

/// Calls of one client that may be in work at once; more wait in the socket.
const CALLS_MAX: usize = 64;

/// How long calls in work may take when the connection is closed from our side.
const LAST_ANSWERS: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(super) struct ClientCalls {
    places: Arc<Semaphore>,
    in_work: TaskTracker,
    /// By the id of the request, as JSON: cancelled when nobody waits for the answer any more.
    awaited: Mutex<HashMap<String, CancellationToken>>,
    /// A place is free again, and nothing is answered.
    freed: Notify,
    /// An answer was not taken.
    lost: AtomicBool,
}

impl Default for ClientCalls {
    fn default() -> Self {
        Self {
            places: Arc::new(Semaphore::new(CALLS_MAX)),
            in_work: TaskTracker::new(),
            awaited: Mutex::default(),
            freed: Notify::new(),
            lost: AtomicBool::new(false),
        }
    }
}

impl ClientCalls {
    pub(super) fn has_place(&self) -> bool {
        self.places.available_permits() > 0
    }

    /// A place among the calls in work.
    pub(super) fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    /// Gives a place back of a call that is not answered.
    pub(super) fn give_back(&self, place: OwnedSemaphorePermit) {
        drop(place);
        self.freed.notify_one();
    }

    /// Waits until a place was given back.
    pub(super) async fn freed(&self) {
        self.freed.notified().await;
    }

    /// A call begins that is awaited until `gone`, or until it is taken back.
    pub(super) fn begin(&self, id: &Value, gone: &CancellationToken) -> CancellationToken {
        let awaited = gone.child_token();
        self.awaited().insert(id.to_string(), awaited.clone());
        awaited
    }

    pub(super) fn end(&self, id: &Value) {
        self.awaited().remove(&id.to_string());
    }

    /// The client waits for this answer no more.
    pub(super) fn cancel(&self, id: &Value) {
        if let Some(awaited) = self.awaited().get(&id.to_string()) {
            awaited.cancel();
        }
    }

    fn awaited(&self) -> MutexGuard<'_, HashMap<String, CancellationToken>> {
        lock(&self.awaited)
    }

    /// Works on a call.
    pub(super) fn spawn(&self, call: impl Future<Output = ()> + Send + 'static) {
        self.in_work.spawn(call);
    }

    /// An answer was not taken.
    pub(super) fn lose_one(&self) {
        self.lost.store(true, Ordering::Relaxed);
    }

    /// Waits for the answers to what was read. Whether there is one to each.
    pub(super) async fn finish(&self) -> bool {
        self.in_work.close();
        timeout(LAST_ANSWERS, self.in_work.wait()).await.is_ok()
            && !self.lost.load(Ordering::Relaxed)
    }
}
