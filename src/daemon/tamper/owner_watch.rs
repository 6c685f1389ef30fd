//! [`OwnerWatch`]: checks whether a daemon's lock is still where others look for it, how much room
//! is left on the disk of its record, and whether Claude's hooks are switched off.
//!
//! It is a thread of its own, and it polls: neither a long verification nor a folder without
//! notifications (a renamed parent, a network) may keep a daemon in a place that it no longer owns.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use tokio::sync::mpsc;

use super::fact::WatchFact;
use crate::adapters::claude::hooks_switch::{HooksOff, hooks_off};
use crate::daemon::agents::claude_folders::ClaudeFolders;
use crate::daemon::event::Event;
use crate::daemon::supervise::supervised_thread;
use crate::store::dirs::ProjectDirs;
use crate::store::disk_space::DiskSpace;
use crate::store::owner::{LockPlace, LockState};

/// How often it is looked: with the steps of an end, a daemon is gone within two seconds.
const LOOK: Duration = Duration::from_millis(500);

/// With every how manieth look Claude's settings are read: they are small, and few.
const HOOKS_LOOKS: u32 = 4;

/// Watches until it is dropped.
#[derive(Debug)]
pub(in crate::daemon) struct OwnerWatch {
    /// Closed by the drop, which ends the thread.
    _end: SyncSender<()>,
}

impl OwnerWatch {
    /// Starts the thread, which says once what was lost, and whenever the room on the disk or the
    /// switch of the hooks is another.
    ///
    /// # Errors
    ///
    /// When the system gives no thread.
    pub(in crate::daemon) fn start(
        place: LockPlace,
        dirs: ProjectDirs,
        space: Arc<DiskSpace>,
        folders: Arc<ClaudeFolders>,
        events: mpsc::WeakSender<Event>,
    ) -> io::Result<Self> {
        let (end, ended) = sync_channel(0);
        thread::Builder::new()
            .name("owner-watch".to_owned())
            .spawn(move || {
                // The loop reads until it ends, and then this is an error.
                let say = |fact| {
                    if let Some(events) = events.upgrade() {
                        drop(events.blocking_send(Event::Watch(fact)));
                    }
                };
                supervised_thread(&events, || {
                    let mut off = None;
                    let mut looks = 0_u32;
                    while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                        if looks.is_multiple_of(HOOKS_LOOKS) {
                            let now = hooks_off_of_all(&dirs, &folders);
                            if now != off {
                                off.clone_from(&now);
                                say(WatchFact::Hooks(now));
                            }
                        }
                        looks = looks.wrapping_add(1);
                        match place.look(&dirs) {
                            LockState::Held if space.measure() => say(WatchFact::Space),
                            LockState::Held => {}
                            LockState::LockLost => return say(WatchFact::LockLost),
                            LockState::FolderLost => return say(WatchFact::FolderLost),
                        }
                    }
                });
            })?;
        Ok(Self { _end: end })
    }
}

/// The switch in the project's own folder, or in that of a Claude that is here: rules are enforced
/// only where every Claude keeps to them.
fn hooks_off_of_all(dirs: &ProjectDirs, folders: &ClaudeFolders) -> Option<HooksOff> {
    let all = folders.all();
    hooks_off(&dirs.root, all.iter().map(PathBuf::as_path))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::daemon::attach::ConnId;
    use crate::store::owner::OwnerLock;
    use crate::store::testing::Place;
    use crate::wire::config::StorageKeys;

    /// What is said once this was done to a project with an owner.
    fn told(change: impl FnOnce(&Place)) -> WatchFact {
        let place = Place::new();
        let lock = OwnerLock::try_acquire(&place.dirs).unwrap().unwrap();
        let (events, mut facts) = mpsc::channel(1);
        let dirs = place.dirs.clone();
        let folders = Arc::new(ClaudeFolders::default());
        let web = dirs.root.join("web");
        folders.came(ConnId::next(), web.to_str().unwrap());
        let keys = StorageKeys {
            low_water_megabytes: 0.try_into().unwrap(),
            ..StorageKeys::default()
        };
        let space = Arc::new(DiskSpace::new(&dirs, keys));
        let watch = OwnerWatch::start(
            lock.place().unwrap(),
            dirs,
            space,
            folders,
            events.downgrade(),
        )
        .unwrap();
        change(&place);
        let Some(Event::Watch(fact)) = facts.blocking_recv() else {
            panic!("something else");
        };
        drop(watch);
        fact
    }

    #[test]
    fn whatever_takes_the_lock_or_the_folder_away_is_told() {
        let away = |path: &std::path::Path| fs::rename(path, path.with_extension("away")).unwrap();
        let lock = |place: &Place| place.dirs.state_file("daemon.lock");
        for fact in [
            told(|place| fs::remove_file(lock(place)).unwrap()),
            told(|place| away(&lock(place))),
            told(|place| away(&place.dirs.state)),
            told(|place| {
                away(&place.dirs.state);
                place.dirs.create().unwrap();
                fs::write(lock(place), "").unwrap();
            }),
        ] {
            assert!(matches!(fact, WatchFact::LockLost), "{fact:?}");
        }
        for fact in [
            told(|place| fs::remove_dir_all(&place.dirs.relay).unwrap()),
            told(|place| away(&place.dirs.relay)),
            told(|place| away(&place.dirs.root)),
            told(|place| {
                away(&place.dirs.root);
                fs::write(&place.dirs.root, "").unwrap();
            }),
            told(|place| {
                away(&place.dirs.relay);
                place.dirs.create().unwrap();
            }),
        ] {
            assert!(matches!(fact, WatchFact::FolderLost), "{fact:?}");
        }
    }

    #[test]
    fn a_switch_of_the_hooks_where_a_claude_was_started_is_told() {
        let fact = told(|place| {
            let folder = place.dirs.root.join("web/.claude");
            fs::create_dir_all(&folder).unwrap();
            let settings = r#"{"disableAllHooks": true}"#;
            fs::write(folder.join("settings.local.json"), settings).unwrap();
        });
        let WatchFact::Hooks(Some(off)) = fact else {
            panic!("{fact:?}");
        };
        assert!(off.file.ends_with("web/.claude/settings.local.json"));
    }
}
