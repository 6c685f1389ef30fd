//! [`Signs`]: the changes noticed on watched files, as a set of bits, so that any number of them
//! takes the same room.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};

use notify::EventKind;
use notify::event::{AccessKind, AccessMode, MetadataKind, ModifyKind};

/// `config.json` may have changed.
pub(super) const CONFIG: u8 = 1;
/// `current` may have changed.
pub(super) const CURRENT: u8 = 2;
/// Something was written to a ledger; mostly by us.
pub(super) const WRITTEN: u8 = 4;
/// A ledger's name, place or permissions changed.
pub(super) const NAMED: u8 = 8;
/// Somebody who had a ledger open for writing closed it. Ours stays open, so this is not us (but
/// for the one time after a failed write).
pub(super) const CLOSED: u8 = 16;
/// Another ledger is to be watched.
pub(super) const FOLLOW: u8 = 32;
/// Nobody wants to know any more.
pub(super) const END: u8 = 64;
/// The operator trusted `config.json`: what was said of it before may have been said by what was
/// trusted then.
pub(super) const TRUSTED: u8 = 128;
/// Anything may have happened: the system lost count, or nobody tells us.
pub(super) const ALL: u8 = CONFIG | CURRENT | WRITTEN | NAMED;

/// What happened since the last look.
#[derive(Debug, Default)]
pub(super) struct Signs(AtomicU8);

impl Signs {
    /// Adds; returns whether that is news.
    pub(super) fn add(&self, signs: u8) -> bool {
        signs != 0 && self.0.fetch_or(signs, Ordering::AcqRel) & signs != signs
    }

    /// Takes all.
    pub(super) fn take(&self) -> u8 {
        self.0.swap(0, Ordering::AcqRel)
    }

    pub(super) fn any(&self) -> bool {
        self.0.load(Ordering::Acquire) != 0
    }

    pub(super) fn has(&self, signs: u8) -> bool {
        self.0.load(Ordering::Acquire) & signs != 0
    }
}

/// What an event of the system says. `relay` is the watched `.contextrelay`.
pub(super) fn of_event(event: &notify::Event, relay: &Path) -> u8 {
    if event.need_rescan() {
        return ALL;
    }
    let (file, ledger) = match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => (true, CLOSED | WRITTEN),
        EventKind::Access(_) => return 0,
        EventKind::Modify(ModifyKind::Name(_)) => (true, NAMED),
        EventKind::Modify(ModifyKind::Metadata(MetadataKind::AccessTime)) => return 0,
        EventKind::Modify(ModifyKind::Metadata(_)) => (true, NAMED),
        // A file is complete when its writer closes it or gives it its name.
        EventKind::Modify(_) => (false, WRITTEN),
        EventKind::Create(_) | EventKind::Remove(_) => (true, NAMED),
        EventKind::Any | EventKind::Other => (true, WRITTEN | NAMED),
    };
    // Where the system does not tell that a file was closed, its writing must do.
    let file = file || !cfg!(target_os = "linux");
    event.paths.iter().fold(0, |signs, path| {
        signs
            | match path.file_name().and_then(OsStr::to_str) {
                Some("config.json") if file => CONFIG,
                Some("current") if file => CURRENT,
                Some(name) if name.ends_with(".jsonl") => ledger,
                // One of the folders itself.
                _ if file && (path == relay || path.parent() == Some(relay)) => ledger & NAMED,
                _ => 0,
            }
    })
}
