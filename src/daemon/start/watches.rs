//! The watches that a daemon starts.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::Builder;
use crate::daemon::agents::claude_folders::ClaudeFolders;
use crate::daemon::event::Event;
use crate::daemon::owners::Daemon;
use crate::daemon::tamper::{OwnerWatch, TamperWatch, WatchedFiles};
use crate::store::config::Loaded;
use crate::store::disk_space::DiskSpace;
use crate::store::owner::OwnerLock;

impl Builder {
    /// Watches the project's files; a daemon that cannot works without.
    pub(super) fn watch(
        &self,
        daemon: &Daemon,
        lock: &OwnerLock,
        loaded: &Loaded,
        suspect: bool,
        events: &mpsc::WeakSender<Event>,
    ) -> Option<TamperWatch> {
        let watched = WatchedFiles {
            dirs: self.dirs.clone(),
            user: self.user_dirs.clone(),
            session: daemon.base.recorder.session_id().clone(),
            ledger: daemon.base.recorder.ledger().clone(),
            place: lock.place().ok(),
            suspect,
            config: loaded.file.clone(),
            is_trust_lost: loaded.trust_lost.is_some(),
        };
        TamperWatch::start(watched, events.clone())
            .inspect_err(|error| tracing::warn!(%error, "nobody watches the project's files"))
            .ok()
    }

    /// Watches the lock and the disk; a daemon that cannot works without.
    pub(super) fn watch_owner(
        &self,
        lock: &OwnerLock,
        space: Arc<DiskSpace>,
        folders: Arc<ClaudeFolders>,
        events: &mpsc::WeakSender<Event>,
    ) -> Option<OwnerWatch> {
        let dirs = self.dirs.clone();
        lock.place()
            .and_then(|place| OwnerWatch::start(place, dirs, space, folders, events.clone()))
            .inspect_err(|error| tracing::warn!(%error, "nobody watches the owner's lock"))
            .ok()
    }
}
