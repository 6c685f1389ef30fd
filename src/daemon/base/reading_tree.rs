//! Reads the state of the work tree off the loop, because `git` may take long.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::adapters::git::deadline::GitDeadline;
use crate::adapters::git::found::tree_found_until;
use crate::daemon::event::{Event, TreePurpose};
use crate::daemon::owners::Base;

/// How long a tree may take from when it is asked for: who waits for what it is for does so for 30 s.
/// After that it is one that git cannot read.
const WAIT: Duration = Duration::from_secs(25);

impl Base {
    /// Has the loop go on with `purpose` once the tree was read.
    pub(in crate::daemon) fn read_tree(&self, purpose: TreePurpose) {
        let Some(events) = self.events.upgrade() else {
            return;
        };
        let approved = self.recorder.world().approved_tree.clone();
        let commit = self.commit.clone();
        let place = self.tree_reads.place();
        let until = Instant::now() + WAIT;
        tokio::spawn(async move {
            // For the messages that may come of it.
            commit.read().await;
            // Without a place in time git is not asked: the deadline is over.
            let place = timeout_at(until, place).await;
            let read = move || {
                let _place = place;
                let deadline = GitDeadline::at(until.into_std());
                tree_found_until(deadline, commit.root(), approved.as_ref())
            };
            let Ok((tree, changed)) = tokio::task::spawn_blocking(read).await else {
                // Nobody knows what the tree is: nothing is proposed or decided on it.
                let _ = events.send(Event::ServiceFailed).await;
                return;
            };
            let event = Event::TreeRead {
                purpose,
                tree,
                changed,
            };
            let _ = events.send(event).await;
        });
    }
}
