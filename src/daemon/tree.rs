//! Reads the work tree's state off the loop: `git` may take its time.

use super::event::{Event, TreePurpose};
use super::owners::Base;
use crate::adapters::git_found::tree_found_since;

impl Base {
    /// Has the loop go on with `purpose` once the tree was read.
    pub(super) fn read_tree(&self, purpose: TreePurpose) {
        let Some(events) = self.events.upgrade() else {
            return;
        };
        let approved = self.recorder.world().approved_tree.clone();
        let commit = self.commit.clone();
        tokio::spawn(async move {
            // For the messages that may come of it.
            commit.read().await;
            let read = move || tree_found_since(commit.root(), approved.as_ref());
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
