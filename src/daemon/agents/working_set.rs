//! [`WorkingSet`]: the beginnings of the files that an agent changed last, for its packet.

use std::path::PathBuf;
use std::sync::Arc;

use crate::adapters::file_heads::FileHeads;
use crate::adapters::git::deadline::GitDeadline;
use crate::adapters::git::facts::tracked;
use crate::core::redact::Redactor;
use crate::daemon::agents::reloads::ReloadOrder;
use crate::daemon::owners::Base;

/// Of each file, in lines and characters: enough to know it again.
const LINES: usize = 12;
const CHARS: usize = 500;

/// Which they are, to be read beside the loop.
pub(in crate::daemon) struct WorkingSet {
    root: PathBuf,
    redactor: Arc<Redactor>,
    /// The latest one first.
    files: Vec<String>,
}

impl WorkingSet {
    /// Each with its path. What git does not track may be anything, and is left out; all of them where
    /// it does not tell by the deadline.
    pub(in crate::daemon) fn read(&self, deadline: GitDeadline) -> Vec<(String, String)> {
        if self.files.is_empty() {
            return Vec::new();
        }
        let heads = FileHeads::below(&self.root, &self.redactor, LINES, CHARS);
        let tracked = tracked(&self.root, &self.files, deadline);
        let (Some(heads), Some(tracked)) = (heads, tracked) else {
            return Vec::new();
        };
        let files = self.files.iter().filter(|file| tracked.contains(*file));
        let read = files.filter_map(|file| Some((file.clone(), heads.read(file)?)));
        read.filter(|(_, head)| !head.trim().is_empty()).collect()
    }
}

impl Base {
    /// The files for a packet: of a short one none.
    pub(in crate::daemon) fn working_set(&self, order: &ReloadOrder) -> WorkingSet {
        let state = self.recorder.world().state_of(order.agent, &order.pair);
        let state = state.filter(|_| !order.begins());
        let files = state.into_iter().flat_map(|state| state.files.iter().rev());
        WorkingSet {
            root: self.dirs.root.clone(),
            redactor: Arc::clone(self.recorder.redactor()),
            files: files.map(|file| file.path.clone()).collect(),
        }
    }
}
