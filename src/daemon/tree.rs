//! Reads the work tree's state off the loop: `git` may take its time.

use super::event::{Event, TreePurpose};
use super::owners::Daemon;
use crate::adapters::git;

impl Daemon {
    pub(super) fn read_tree(&self, purpose: TreePurpose) {
        let Some(events) = self.events.upgrade() else {
            return;
        };
        let root = self.dirs.root.clone();
        tokio::spawn(async move {
            let tree = tokio::task::spawn_blocking(move || git::work_tree(&root))
                .await
                .ok()
                .flatten();
            let _ = events.send(Event::TreeRead { purpose, tree }).await;
        });
    }
}
