//! [`TouchedFiles`]: the files that Claude's running turn has read and written, so that the record
//! gets one line of a turn and none of a file.

use std::collections::BTreeMap;

use crate::core::entry::TurnFiles;
use crate::core::id::RuntimeSession;

/// How many files of each sort one turn is told of: the latest ones.
const FILES_MAX: usize = 50;

/// How many runtime sessions are followed.
const SESSIONS_MAX: usize = 64;

/// What the running turns have touched.
#[derive(Debug, Default)]
pub(super) struct TouchedFiles {
    turns: BTreeMap<RuntimeSession, TurnFiles>,
}

impl TouchedFiles {
    /// A file was read, or written.
    pub(super) fn file(&mut self, pair: &RuntimeSession, path: String, is_written: bool) {
        if self.turns.len() >= SESSIONS_MAX && !self.turns.contains_key(pair) {
            return;
        }
        let files = self.turns.entry(pair.clone()).or_default();
        let kept = if is_written {
            &mut files.written
        } else {
            &mut files.read
        };
        kept.retain(|known| *known != path);
        if kept.len() == FILES_MAX {
            kept.remove(0);
        }
        kept.push(path);
    }

    /// The turn is over: what it touched, if anything.
    pub(super) fn take(&mut self, pair: &RuntimeSession) -> Option<TurnFiles> {
        self.turns.remove(pair).filter(|files| !files.is_empty())
    }
}
