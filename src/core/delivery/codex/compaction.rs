//! [`CompactionHold`]: why nothing goes out while Codex's context is compacted.
//!
//! A message would begin a turn before the packet is in the thread; the packet then arrives one
//! request late and prolongs that turn (Codex 0.169.0, observed).

use super::CodexFlow;

/// How long messages wait for a compaction and its packet, ms. One that takes longer, or of which
/// no end is told, keeps them no longer.
const HOLD_MS: i64 = 60_000;

/// A compaction, from its beginning until its packet is in the thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CompactionHold {
    /// ms.
    pub(super) until: i64,
    /// The operator asked for it here.
    is_asked: bool,
    /// It is done: only its packet is missing.
    is_done: bool,
}

impl CodexFlow {
    /// A compaction begins, or is about to.
    pub(super) fn compaction_began(&mut self, is_asked: bool, now_ms: i64) {
        self.compaction.get_or_insert(CompactionHold {
            until: now_ms + HOLD_MS,
            is_asked,
            is_done: false,
        });
    }

    /// The context is compacted, and its packet is being made.
    pub(super) fn compacted(&mut self, now_ms: i64) {
        // Its beginning may have been told to nobody.
        self.compaction_began(false, now_ms);
        if let Some(hold) = &mut self.compaction {
            hold.is_done = true;
        }
    }

    /// A turn ended: a compaction that did not succeed ended with it.
    pub(super) fn compaction_failed(&mut self) {
        self.compaction.take_if(|hold| !hold.is_done);
    }

    /// Whether the context is being compacted, or its packet is not in the thread yet.
    pub fn is_compacting(&self) -> bool {
        self.compaction.is_some()
    }

    /// Whether the operator asked for the compaction that goes on.
    pub fn is_compaction_asked(&self) -> bool {
        self.compaction.is_some_and(|hold| hold.is_asked)
    }
}
