//! [`HeadKeeper`]: has the head outside written from time to time, and reports when that fails.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::{Head, Heads};
use crate::latest::Latest;
use crate::latest_thread::LatestThread;

/// How long between two writes at least: each costs two syncs on the disk that the ledger needs.
const WRITE_INTERVAL: Duration = Duration::from_secs(1);

/// Keeps the head of one project up to date on a thread of its own.
#[derive(Debug)]
pub struct HeadKeeper {
    heads: Heads,
    writer: LatestThread<Head>,
}

impl HeadKeeper {
    /// Begins to keep the head of a project. `told`: that it cannot be written any more, or can again.
    ///
    /// # Errors
    ///
    /// When the system gives no thread.
    pub fn start(heads: Heads, told: impl Fn(io::Result<()>) + Send + 'static) -> io::Result<Self> {
        let writing = heads.clone();
        let writer =
            LatestThread::start("head-writer", move |latest| keep(&latest, &writing, told))?;
        Ok(Self { heads, writer })
    }

    /// What writes it.
    pub fn heads(&self) -> &Heads {
        &self.heads
    }

    /// Takes a new head, to be written within a second. Never blocks on the disk.
    pub fn set(&self, head: Head) {
        self.writer.latest().put(head);
    }

    /// Writes what is not written yet, and ends. `last`: the last entry of a ledger that is closed
    /// and that nobody goes on with, which marks the end as an orderly one.
    ///
    /// # Errors
    ///
    /// When that end cannot be marked: the next start takes it for a crash.
    pub fn close(self, last: Option<Head>) -> io::Result<()> {
        drop(self.writer);
        last.map_or(Ok(()), |last| self.heads.end(last))
    }

    /// Ends without what is not written yet: another owner's head may lie there by now.
    pub fn abandon(mut self) {
        self.writer.abandon();
    }
}

fn keep(latest: &Latest<Head>, heads: &Heads, told: impl Fn(io::Result<()>)) {
    let mut is_failing = false;
    while let Some(head) = latest.take() {
        // A panic is in the log; the next head is tried again all the same.
        let written = catch_unwind(AssertUnwindSafe(|| heads.come_to(head.clone())));
        let was_failing = is_failing;
        match written {
            Ok(Err(error)) => {
                is_failing = true;
                // Told once: it is tried again every second, perhaps for days.
                if !was_failing {
                    let path = heads.path();
                    tracing::warn!(%error, path = %path.display(), "the outside head was not written");
                    told(Err(error));
                }
                latest.put_back(head);
            }
            Ok(Ok(())) => {
                is_failing = false;
                if was_failing {
                    told(Ok(()));
                }
            }
            Err(_) => {}
        }
        latest.rest(WRITE_INTERVAL);
    }
}
