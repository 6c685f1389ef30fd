//! [`LatestThread`]: a thread that is given the newest value of something while it has an owner.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use super::latest::Latest;

/// Dropped, it ends behind what was put.
#[derive(Debug)]
pub(super) struct LatestThread<T> {
    name: &'static str,
    latest: Arc<Latest<T>>,
    thread: Option<JoinHandle<()>>,
}

impl<T: Send + 'static> LatestThread<T> {
    /// Begins `work`, which is to end once nothing more can be taken.
    ///
    /// # Errors
    ///
    /// When the system gives no thread.
    pub(super) fn start(
        name: &'static str,
        work: impl FnOnce(Arc<Latest<T>>) + Send + 'static,
    ) -> io::Result<Self> {
        let latest = Arc::new(Latest::default());
        let taken = Arc::clone(&latest);
        let thread = thread::Builder::new().name(name.to_owned());
        Ok(Self {
            name,
            latest,
            thread: Some(thread.spawn(move || work(taken))?),
        })
    }
}

impl<T> LatestThread<T> {
    /// Where it takes from.
    pub(super) fn latest(&self) -> &Arc<Latest<T>> {
        &self.latest
    }

    /// Ends without what was not taken yet; what was is done once what this returns is dropped.
    pub(super) fn abandon(&mut self) -> Self {
        self.latest.abandon();
        Self {
            name: self.name,
            latest: Arc::clone(&self.latest),
            thread: self.thread.take(),
        }
    }

    fn join(&mut self) {
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!(thread = self.name, "a thread panicked");
        }
    }
}

impl<T> Drop for LatestThread<T> {
    fn drop(&mut self) {
        self.latest.close();
        self.join();
    }
}
