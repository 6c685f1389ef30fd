//! Reads the work tree's state off the loop: `git` may take its time.

use super::event::{Event, TreePurpose};
use super::owners::Daemon;
use crate::adapters::git::TreeReading;

impl Daemon {
    pub(super) fn read_tree(&self, purpose: TreePurpose) {
        let Some(events) = self.events.upgrade() else {
            return;
        };
        let root = self.dirs.root.clone();
        let approved = self.recorder.world().approved_tree.clone();
        let commit = self.commit.clone();
        tokio::spawn(async move {
            // For the messages that may come of it.
            commit.read().await;
            let read = move || TreeReading::since(&root, approved.as_ref());
            let read = tokio::task::spawn_blocking(read).await.ok().flatten();
            let (tree, changed) = match read {
                Some(read) => (Some(read.tree), read.changed),
                None => (None, None),
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
