//! [`TreeCommit`]: the commit that the work tree is on, read beside the loop for texts that name
//! it.
//!
//! A caller that is about to have a message recorded or given reads it before the loop gets the
//! message; the loop itself uses the last known commit. However many callers ask, one read runs,
//! and the next read answers all that have asked in the meantime. So a project on a disk that hangs
//! holds up one thread, each caller for half a second, and the loop not at all.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinError;
use tokio::time::timeout;

use crate::adapters::git::head;
use crate::core::lock::lock;
use crate::daemon::base::reads_beside::ReadsBeside;
use crate::daemon::base::under_way::{FailedReads, WorkBeside};
use crate::daemon::event::Event;

/// How long a read may take before the commit is one that cannot be told.
const READ_WAIT: Duration = Duration::from_millis(500);

/// The commit that the work tree is on, as last read.
#[derive(Debug, Clone)]
pub(in crate::daemon) struct TreeCommit {
    root: Arc<PathBuf>,
    reading: Arc<Mutex<Reading>>,
    reads: ReadsBeside,
}

#[derive(Debug, Default)]
struct Reading {
    known: Option<String>,
    /// A read is under way.
    reads: bool,
    /// Callers that wait for a read that begins after their request.
    waiting: Vec<oneshot::Sender<()>>,
}

impl TreeCommit {
    /// Of a project, as it is now. Blocking.
    pub(in crate::daemon) fn start(root: PathBuf, events: mpsc::WeakSender<Event>) -> Self {
        let known = head::head(&root);
        Self {
            root: Arc::new(root),
            reading: Arc::new(Mutex::new(Reading {
                known,
                ..Reading::default()
            })),
            reads: ReadsBeside::of(events, FailedReads::default()),
        }
    }

    /// The work tree: the project's folder.
    pub(in crate::daemon) fn root(&self) -> &Path {
        &self.root
    }

    /// As it was read last; `None` where it cannot be told.
    pub(in crate::daemon) fn known(&self) -> Option<String> {
        self.lock().known.clone()
    }

    /// Has it read: what is known when this returns is not older than the call.
    pub(in crate::daemon) async fn read(&self) {
        let (done, is_done) = oneshot::channel();
        let begins = {
            let mut reading = self.lock();
            // Of those that waited for a disk in vain nobody is left.
            reading.waiting.retain(|waiting| !waiting.is_closed());
            reading.waiting.push(done);
            !std::mem::replace(&mut reading.reads, true)
        };
        if begins {
            tokio::spawn(self.clone().read_for_all());
        }
        if timeout(READ_WAIT, is_done).await.is_err() {
            self.lock().known = None;
        }
    }

    async fn read_for_all(self) {
        loop {
            let waiting = {
                let mut reading = self.lock();
                reading.reads = !reading.waiting.is_empty();
                std::mem::take(&mut reading.waiting)
            };
            if waiting.is_empty() {
                return;
            }
            let root = Arc::clone(&self.root);
            let read = WorkBeside::Commit.begin(move || head::head(&root)).await;
            let has_failed = read.as_ref().is_err_and(JoinError::is_panic);
            self.lock().known = read.ok().flatten();
            for done in waiting {
                let _ = done.send(());
            }
            // Who waits for the commit does not wait for a loop that is busy.
            self.reads.tell(WorkBeside::Commit, has_failed).await;
        }
    }

    /// Each change is one step, so that a lock whose holder panicked guards a whole state.
    fn lock(&self) -> MutexGuard<'_, Reading> {
        lock(&self.reading)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::daemon::base::under_way::ordered::order_panic;

    #[tokio::test]
    async fn a_read_that_panics_is_told_and_who_waits_for_it_goes_on_without_a_commit() {
        let folder = tempfile::tempdir().unwrap();
        let git = folder.path().join(".git");
        fs::create_dir(&git).unwrap();
        fs::write(git.join("HEAD"), "a".repeat(40)).unwrap();
        let (events, mut told) = mpsc::channel(8);
        let commit = TreeCommit::start(folder.path().to_owned(), events.downgrade());
        assert!(commit.known().is_some());
        order_panic(WorkBeside::Commit);
        for (known, kind) in [(false, "work_failed"), (true, "work_done")] {
            commit.read().await;
            assert_eq!(told.recv().await.unwrap().kind(), kind);
            // A busy machine may not have read it in time.
            assert!(known || commit.known().is_none());
        }
    }

    #[tokio::test]
    async fn what_is_known_is_never_older_than_the_last_that_asked() {
        let folder = tempfile::tempdir().unwrap();
        let git = folder.path().join(".git");
        fs::create_dir(&git).unwrap();
        let (events, _told) = mpsc::channel(1);
        let commit = TreeCommit::start(folder.path().to_owned(), events.downgrade());
        assert_eq!(commit.known(), None);
        for digit in ['a', 'b', 'c'] {
            let hash: String = std::iter::repeat_n(digit, 40).collect();
            fs::write(git.join("HEAD"), &hash).unwrap();
            let askers: Vec<_> = (0..20)
                .map(|_| {
                    let commit = commit.clone();
                    tokio::spawn(async move {
                        loop {
                            commit.read().await;
                            // A busy machine may not read it in time.
                            if let Some(known) = commit.known() {
                                break known;
                            }
                        }
                    })
                })
                .collect();
            for asker in askers {
                let known = timeout(Duration::from_secs(60), asker).await.unwrap();
                assert_eq!(known.unwrap(), hash);
            }
        }
        let idle = async {
            while commit.lock().reads {
                tokio::task::yield_now().await;
            }
        };
        timeout(Duration::from_secs(60), idle).await.unwrap();
    }
}
