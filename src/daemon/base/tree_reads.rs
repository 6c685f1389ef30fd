//! [`TreeReads`]: the slots in which the work tree is read for proposals and decisions.

use std::sync::Arc;

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

/// How many are read at once. Who else asks waits.
const AT_ONCE: usize = 2;

/// The slots in which git reads the work tree.
#[derive(Debug)]
pub(in crate::daemon) struct TreeReads(Arc<Semaphore>);

impl Default for TreeReads {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

impl TreeReads {
    /// Waits for a place.
    pub(in crate::daemon) fn place(
        &self,
    ) -> impl Future<Output = Result<OwnedSemaphorePermit, AcquireError>> + use<> {
        Arc::clone(&self.0).acquire_owned()
    }
}
