//! [`ScreenWatch`]: reads the user's keys and themes again when their files change.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use ctxrelay_ui::{Msg, OwnFiles};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::cli::screen::screen_files::ScreenFiles;
use crate::deck::terminal::display::DisplayTeller;
use crate::store::user_config::UserConfig;

/// How long to wait after a sign: an editor writes, renames and sets permissions in one go.
const SETTLE: Duration = Duration::from_millis(150);

enum WatchSignal {
    Changed,
    End,
}

/// Watches until it is dropped. Without signs from the system nothing is read again.
#[derive(Debug)]
pub(in crate::cli) struct ScreenWatch {
    signs: SyncSender<WatchSignal>,
}

impl ScreenWatch {
    /// `known` is what the screen began with.
    pub(in crate::cli) fn start(
        files: ScreenFiles,
        known: OwnFiles,
        teller: DisplayTeller,
    ) -> Self {
        let (signs, heard) = sync_channel(1);
        let tell = signs.clone();
        let source = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // Reading them is a sign as well, and would have no end.
            if !event.is_ok_and(|event| matches!(event.kind, EventKind::Access(_))) {
                // One that waits stands for all.
                let _ = tell.try_send(WatchSignal::Changed);
            }
        });
        let started = source.map(|source| {
            thread::Builder::new()
                .name("screen-files".to_owned())
                .spawn(move || follow(source, &heard, &files, known, &teller))
        });
        match started {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::warn!(%error, "keys and themes are not watched"),
            Err(error) => tracing::warn!(%error, "keys and themes are not watched"),
        }
        Self { signs }
    }
}

impl Drop for ScreenWatch {
    fn drop(&mut self) {
        // Not joined: it may be reading, and has nothing to leave in order. Where a sign waits it
        // ends with the screen that it would tell.
        let _ = self.signs.try_send(WatchSignal::End);
    }
}

fn follow(
    mut source: RecommendedWatcher,
    heard: &Receiver<WatchSignal>,
    files: &ScreenFiles,
    mut known: OwnFiles,
    teller: &DisplayTeller,
) {
    let Some(config) = files.config() else { return };
    let (dir, themes) = (config.dir().to_owned(), config.themes());
    loop {
        // Again each time: a folder may have been made, or replaced by another one.
        watch(&mut source, dir.parent());
        watch(&mut source, Some(&dir));
        watch(&mut source, Some(&themes));
        let own = UserConfig::toml_files(&themes)
            .into_iter()
            .map(|(_, file)| file);
        for file in own.chain([config.config(), config.keymap()]) {
            // What a link leads to changes in a folder of its own.
            if file.is_symlink()
                && let Ok(target) = file.canonicalize()
            {
                watch(&mut source, target.parent());
            }
        }
        // Behind the watching: what changed before it gave no sign.
        if let Ok(own) = files.read()
            && own != known
        {
            known = own.clone();
            if !teller.tell(Msg::OwnFiles(Box::new(own))) {
                return;
            }
        }
        match heard.recv() {
            Ok(WatchSignal::Changed) => {}
            Ok(WatchSignal::End) | Err(_) => return,
        }
        while let Ok(sign) = heard.recv_timeout(SETTLE) {
            if matches!(sign, WatchSignal::End) {
                return;
            }
        }
    }
}

/// A folder that is not there is watched for by its parent.
fn watch(source: &mut RecommendedWatcher, dir: Option<&Path>) {
    if let Some(dir) = dir.filter(|dir| dir.is_dir()) {
        let _ = source.watch(dir, RecursiveMode::NonRecursive);
    }
}
