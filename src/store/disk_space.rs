//! [`DiskSpace`]: how much room the record has, and what is refused while there is little.
//!
//! It alone owns two figures: the free space on the disk of the record, and the total size of the
//! long texts. Large things are refused first (long texts, checkpoints, growth of the search
//! index), then new messages. The rest is reserved for decisions, for what has already happened and
//! for an orderly end.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::dirs::ProjectDirs;
use super::text_sweep::TextSweep;
use ctxrelay_core::lock::lock;
use ctxrelay_core::whole::LINE_UNITS_MAX;
use ctxrelay_core::wire::config::StorageKeys;
use ctxrelay_core::wire::control::RefusalCode;

const MEGABYTE: u64 = 1_000_000;

/// Below the low-water mark divided by this, new messages are refused as well.
const RESERVE_PART: u64 = 4;

/// From this share of their quota on, in percent, long texts are worth a warning.
const NEARLY_PERCENT: u64 = 80;

/// How long between two counts of the long texts at least: each looks at every file.
const COUNT_GAP: Duration = Duration::from_secs(5);

/// Why something is not taken although the disk would have taken it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SpaceRefusal {
    /// The long texts may not take more.
    #[error("long texts have used up their {} MB: this one of {bytes} bytes does not fit", mb(*quota))]
    Quota {
        /// What they may take, in bytes.
        quota: u64,
        /// How long the refused text is.
        bytes: u64,
    },
    /// Too little is free for a long text.
    #[error("less than {} MB are free on the disk of the record: texts above {LINE_UNITS_MAX} characters are not taken", mb(*mark))]
    LowForTexts {
        /// The low-water mark, in bytes.
        mark: u64,
    },
    /// Too little is free for a new message.
    #[error("less than {} MB are free on the disk of the record: new messages are not taken", mb(*mark))]
    LowForMessages {
        /// The part of the low-water mark that is kept in reserve, in bytes.
        mark: u64,
    },
}

impl SpaceRefusal {
    /// The stable word.
    pub fn code(&self) -> RefusalCode {
        match self {
            Self::Quota { .. } => RefusalCode::LongTextsFull,
            Self::LowForTexts { .. } | Self::LowForMessages { .. } => RefusalCode::DiskLow,
        }
    }

    /// The next step, for an agent and for the person at the deck.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Quota { .. } => {
                "nothing was recorded; say it in at most 20000 characters; for longer ones the \
                 operator makes room: `ctxrelay ledger clear --discard`, or a larger \
                 storage.blobsMegabytes in config.json"
            }
            Self::LowForTexts { .. } => {
                "nothing was recorded; say it in at most 20000 characters; longer ones are taken \
                 again by themselves once the operator has made more space free"
            }
            Self::LowForMessages { .. } => {
                "nothing was recorded; it goes on by itself once the operator has made more space \
                 free, and what the operator decides counts meanwhile"
            }
        }
    }
}

/// What may be taken, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Limits {
    blobs: u64,
    low_water: u64,
}

impl From<StorageKeys> for Limits {
    fn from(keys: StorageKeys) -> Self {
        Self {
            blobs: keys.blobs_megabytes.get().saturating_mul(MEGABYTE),
            low_water: keys.low_water_megabytes.get().saturating_mul(MEGABYTE),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Free {
    Enough,
    Low,
    /// What is left is for more important things than messages.
    Reserve,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Share {
    Enough,
    Nearly,
    Full,
}

#[derive(Debug)]
struct State {
    limits: Limits,
    /// At the last measure; `None` when the system does not say.
    free: Option<u64>,
    /// What the long texts take, as last counted.
    blobs: u64,
    /// The levels that were last said.
    said: (Free, Share),
}

impl State {
    fn free(&self) -> Free {
        match self.free {
            Some(free) if free < self.reserve() => Free::Reserve,
            Some(free) if free < self.limits.low_water => Free::Low,
            _ => Free::Enough,
        }
    }

    fn share(&self) -> Share {
        // A text that needs a file of its own is longer than a line may be.
        if self.blobs.saturating_add(LINE_UNITS_MAX as u64) > self.limits.blobs {
            Share::Full
        } else if self.blobs >= self.limits.blobs / 100 * NEARLY_PERCENT {
            Share::Nearly
        } else {
            Share::Enough
        }
    }

    fn reserve(&self) -> u64 {
        self.limits.low_water / RESERVE_PART
    }
}

/// The long texts' files, counted.
#[derive(Debug, Clone, Copy)]
struct Count {
    bytes: u64,
    at: Instant,
    /// When a name in their folder last came or went.
    changed: Option<(i64, i64)>,
}

/// What somebody may want to know in figures, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpaceFigures {
    /// Free on the disk of the record; `None` when the system does not say.
    pub free: Option<u64>,
    /// What the long texts take.
    pub blobs: u64,
    /// What they may take.
    pub quota: u64,
}

/// The room of one project. Shared by all who write.
#[derive(Debug)]
pub struct DiskSpace {
    relay: PathBuf,
    blobs: PathBuf,
    /// Held while files are counted, which the daemon's loop must not wait for. Locked before the
    /// state.
    count: Mutex<Option<Count>>,
    /// Some were removed since they were counted, or while they were.
    is_stale: AtomicBool,
    state: Mutex<State>,
    /// Here because all who keep long texts have this.
    sweep: TextSweep,
}

impl DiskSpace {
    /// Of a project. Nothing is measured yet, and nothing refused before it is.
    pub fn new(dirs: &ProjectDirs, keys: StorageKeys) -> Self {
        Self {
            relay: dirs.relay.clone(),
            blobs: dirs.relay.join("blobs"),
            count: Mutex::new(None),
            is_stale: AtomicBool::new(false),
            sweep: TextSweep::default(),
            state: Mutex::new(State {
                limits: keys.into(),
                free: None,
                blobs: 0,
                said: (Free::Enough, Share::Enough),
            }),
        }
    }

    /// Which long texts go while a session is deleted.
    pub fn sweep(&self) -> &TextSweep {
        &self.sweep
    }

    /// Takes other limits.
    pub fn set_limits(&self, keys: StorageKeys) {
        self.state().limits = keys.into();
    }

    /// Looks at the disk. Whether there is something else to be said than was said last.
    /// Blocks for as long as the disk takes.
    pub fn measure(&self) -> bool {
        let free = free_bytes(&self.relay);
        let is_full = self.state().share() > Share::Enough;
        self.counted(|count| {
            is_full && count.at.elapsed() >= COUNT_GAP && count.changed != changed(&self.blobs)
        });
        let mut state = self.state();
        state.free = free;
        let now = (state.free(), state.share());
        std::mem::replace(&mut state.said, now) != now
    }

    /// Takes note that the sentences of this moment are being said, without a measure.
    pub fn say_now(&self) {
        let mut state = self.state();
        state.said = (state.free(), state.share());
    }

    /// Whether a new long text of so many bytes may be kept. Looks at the disk.
    ///
    /// # Errors
    ///
    /// Why not.
    pub fn admit_blob(&self, bytes: u64) -> Result<(), SpaceRefusal> {
        let free = free_bytes(&self.relay);
        let limits = {
            let mut state = self.state();
            state.free = free;
            state.limits
        };
        if free.is_some_and(|free| free.saturating_sub(bytes) < limits.low_water) {
            return Err(SpaceRefusal::LowForTexts {
                mark: limits.low_water,
            });
        }
        let is_over = |count: &Count| count.bytes.saturating_add(bytes) > limits.blobs;
        let count = self.counted(|count| is_over(count) && count.at.elapsed() >= COUNT_GAP);
        if is_over(&count) {
            let quota = limits.blobs;
            return Err(SpaceRefusal::Quota { quota, bytes });
        }
        Ok(())
    }

    /// A new long text of so many bytes is kept.
    pub fn blob_kept(&self, bytes: u64) {
        let mut count = lock(&self.count);
        if let Some(count) = count.as_mut() {
            count.bytes = count.bytes.saturating_add(bytes);
            self.state().blobs = count.bytes;
        }
    }

    /// Long texts were removed: they are counted again when somebody wants to know. Never blocks on
    /// the disk, also while they are being counted.
    pub fn blobs_removed(&self) {
        self.is_stale.store(true, Ordering::Release);
    }

    /// Whether a new message is taken, as far as the last measure tells. Never blocks on the disk.
    ///
    /// # Errors
    ///
    /// Why not.
    pub fn admit_message(&self) -> Result<(), SpaceRefusal> {
        let state = self.state();
        match state.free() {
            Free::Reserve => Err(SpaceRefusal::LowForMessages {
                mark: state.reserve(),
            }),
            Free::Enough | Free::Low => Ok(()),
        }
    }

    /// Whether what can be made again may grow: checkpoints and the search index.
    pub fn has_room_to_grow(&self) -> bool {
        self.state().free() == Free::Enough
    }

    /// The sentence about the disk, if there is something to say about it.
    pub fn disk_notice(&self) -> Option<String> {
        let state = self.state();
        let (mark, refused) = match state.free() {
            Free::Enough => return None,
            Free::Low => (
                state.limits.low_water,
                "texts above 20,000 characters are refused, and checkpoints and the search index \
                 wait",
            ),
            Free::Reserve => (
                state.reserve(),
                "new messages are refused, and your decisions still count",
            ),
        };
        let mark = mb(mark);
        Some(format!(
            "less than {mark} MB are free on the disk of the record: {refused}; free some space, \
             it goes on by itself (storage.lowWaterMegabytes)"
        ))
    }

    /// The sentence about the long texts, if there is something to say about them.
    pub fn blobs_notice(&self) -> Option<String> {
        let state = self.state();
        let quota = mb(state.limits.blobs);
        let said = match state.share() {
            Share::Enough => return None,
            Share::Nearly => format!(
                "long texts take {NEARLY_PERCENT} % or more of their {quota} MB, and what does \
                 not fit is refused"
            ),
            Share::Full => format!(
                "long texts have used up their {quota} MB: texts above 20,000 characters are \
                 refused"
            ),
        };
        Some(format!(
            "{said}; raise storage.blobsMegabytes in config.json, or delete this session with \
             those that no other session speaks of (`ctxrelay ledger clear --discard`)"
        ))
    }

    /// Whether something is refused now, and not only warned of.
    pub fn refuses(&self) -> bool {
        let state = self.state();
        state.free() > Free::Enough || state.share() == Share::Full
    }

    /// The figures of the last measure.
    pub fn figures(&self) -> SpaceFigures {
        let state = self.state();
        SpaceFigures {
            free: state.free,
            blobs: state.blobs,
            quota: state.limits.blobs,
        }
    }

    /// The count of the long texts; a new one when there is none, or that is due.
    fn counted(&self, is_due: impl Fn(&Count) -> bool) -> Count {
        let mut kept = lock(&self.count);
        let is_stale = self.is_stale.swap(false, Ordering::AcqRel);
        let count = match *kept {
            Some(count) if !is_stale && !is_due(&count) => count,
            _ => Count {
                // Before they are counted: what comes meanwhile is seen at the next look.
                changed: changed(&self.blobs),
                bytes: total(&self.blobs).unwrap_or_else(|error| {
                    tracing::warn!(%error, "the long texts could not be counted");
                    0
                }),
                at: Instant::now(),
            },
        };
        *kept = Some(count);
        self.state().blobs = count.bytes;
        count
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// What a user without rights may still write; `None` where the system does not say.
fn free_bytes(path: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(path).ok()?;
    (found.f_blocks > 0).then(|| found.f_bavail.saturating_mul(found.f_frsize))
}

fn changed(folder: &Path) -> Option<(i64, i64)> {
    let found = folder.symlink_metadata().ok()?;
    Some((found.mtime(), found.mtime_nsec()))
}

/// The lengths of all files of a folder, without those below it. No folder has none.
fn total(folder: &Path) -> io::Result<u64> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = match rustix::fs::open(folder, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(0),
        opened => opened?,
    };
    let mut bytes = 0_u64;
    for file in Dir::read_from(&folder)? {
        let file = file?;
        // One that has just gone takes nothing.
        let Ok(found) = rustix::fs::statat(&folder, file.file_name(), AtFlags::SYMLINK_NOFOLLOW)
        else {
            continue;
        };
        if FileType::from_raw_mode(found.st_mode) == FileType::RegularFile {
            bytes = bytes.saturating_add(u64::try_from(found.st_size).unwrap_or(0));
        }
    }
    Ok(bytes)
}

/// As megabytes, with a fraction only where there is one.
fn mb(bytes: u64) -> String {
    if bytes.is_multiple_of(MEGABYTE) {
        return (bytes / MEGABYTE).to_string();
    }
    let tenths = bytes / (MEGABYTE / 10);
    format!("{}.{}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests;
