//! [`TouchedFiles`]: the files that Claude's running turn has read and written, and the helpers it
//! used, so that the record gets one line per turn instead of one per file.

use std::collections::BTreeMap;

use crate::core::entry::TurnFiles;
use crate::core::id::RuntimeSession;

/// How many files of each sort one turn is told of: the latest ones.
const FILES_MAX: usize = 50;

/// How many runtime sessions are followed.
const SESSIONS_MAX: usize = 64;

/// What the running turns have touched.
#[derive(Debug, Default)]
pub(in crate::daemon) struct TouchedFiles {
    turns: BTreeMap<RuntimeSession, TurnFiles>,
}

impl TouchedFiles {
    /// A file was read, or written.
    pub(in crate::daemon) fn file(
        &mut self,
        pair: &RuntimeSession,
        path: String,
        is_written: bool,
    ) {
        let Some(files) = self.of(pair) else {
            return;
        };
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

    /// A helper came to its end.
    pub(in crate::daemon) fn helper(&mut self, pair: &RuntimeSession) {
        if let Some(files) = self.of(pair) {
            files.helpers = files.helpers.saturating_add(1);
        }
    }

    /// The turn is over: what it touched, if anything.
    pub(in crate::daemon) fn take(&mut self, pair: &RuntimeSession) -> Option<TurnFiles> {
        self.turns.remove(pair).filter(|files| !files.is_empty())
    }

    /// What each turn that runs has touched so far.
    pub(in crate::daemon) fn take_all(
        &mut self,
    ) -> impl Iterator<Item = (RuntimeSession, TurnFiles)> {
        let turns = std::mem::take(&mut self.turns).into_iter();
        turns.filter(|(_, files)| !files.is_empty())
    }

    fn of(&mut self, pair: &RuntimeSession) -> Option<&mut TurnFiles> {
        if self.turns.len() >= SESSIONS_MAX && !self.turns.contains_key(pair) {
            return None;
        }
        Some(self.turns.entry(pair.clone()).or_default())
    }
}
