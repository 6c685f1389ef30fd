//! [`SpokenReader`]: reads on in what Claude says in a runtime session. [`SpokenReading`]: its
//! result.

use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::adapters::claude::transcript::{BlockedPrompt, SpokenWords};
use crate::core::id::EntryId;
use crate::core::lock::lock;

/// Reads what Claude says in one runtime session, from where it was read last. A reading blocks and
/// is done beside the loop; another one waits until it is over.
#[derive(Debug, Clone, Default)]
pub(in crate::daemon) struct SpokenReader {
    /// Only figures are behind the lock, which are good whenever it is free.
    words: Arc<Mutex<SpokenWords>>,
}

/// What one reading found.
#[derive(Debug, Default)]
pub(in crate::daemon) struct SpokenReading {
    pub(in crate::daemon) texts: Vec<String>,
    /// Commands of a turn that is over, of which no end was seen.
    pub(in crate::daemon) unfinished: Vec<String>,
    pub(in crate::daemon) blocked: Vec<BlockedPrompt>,
    /// The messages that the model got from hooks; only where a prompt was blocked.
    pub(in crate::daemon) given: Vec<EntryId>,
}

impl SpokenReader {
    /// As [`SpokenWords::turn_begins`].
    pub(in crate::daemon) fn turn_begins(&self, path: &Path) -> SpokenReading {
        let mut words = lock(&self.words);
        let unfinished = words.turn_begins(path);
        SpokenReading {
            unfinished,
            ..SpokenReading::of(Vec::new(), words.blocked(false))
        }
    }

    /// As [`SpokenWords::so_far`].
    pub(in crate::daemon) fn so_far(&self, path: &Path) -> SpokenReading {
        let mut words = lock(&self.words);
        SpokenReading::of(words.so_far(path), words.blocked(false))
    }

    /// As [`SpokenWords::at_stop`].
    pub(in crate::daemon) fn at_stop(&self, path: &Path, last: Option<&str>) -> SpokenReading {
        let mut words = lock(&self.words);
        SpokenReading::of(words.at_stop(path, last), words.blocked(true))
    }

    /// As [`SpokenWords::left`]. Prompts that were blocked are left for a later reading.
    pub(in crate::daemon) fn left(&self) -> SpokenReading {
        let (texts, unfinished) = lock(&self.words).left();
        SpokenReading {
            texts,
            unfinished,
            ..SpokenReading::default()
        }
    }
}

impl SpokenReading {
    fn of(texts: Vec<String>, (blocked, given): (Vec<BlockedPrompt>, Vec<EntryId>)) -> Self {
        Self {
            texts,
            blocked,
            given,
            ..Self::default()
        }
    }
}
