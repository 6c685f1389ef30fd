//! A finished compaction of Claude's context: its figures appear in the transcript a moment later.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::adapters::claude::transcript::read_boundary;
use crate::core::agent::{Agent, Party};
use crate::core::delivery::{ClaudeInput, LaterInput};
use crate::core::entry::{Compaction, CompactionTrigger, ContinuityFact};
use crate::core::id::RuntimeSession;
use crate::daemon::agents::reloads::BegunCompaction;
use crate::daemon::base::reads_beside::ReadsBeside;
use crate::daemon::base::under_way::WorkBeside;
use crate::daemon::event::{ClaudeCompacted, Event};
use crate::daemon::owners::{Agents, Base};
use crate::wire::claude::transcript::CompactBoundary;
use crate::wire::control::HookParams;

/// When the transcript is looked at. What it does not say after the last of these it does not say.
const LOOKS: [Duration; 6] = [
    Duration::ZERO,
    Duration::from_millis(100),
    Duration::from_millis(300),
    Duration::from_millis(600),
    Duration::from_secs(1),
    Duration::from_secs(1),
];

impl Agents {
    /// When nobody counts any more on the end of a compaction that began.
    pub(in crate::daemon) fn next_lapse(&self, base: &Base) -> Option<Instant> {
        let at_ms = self.claude.next_lapse_ms();
        at_ms.map(|at_ms| base.clock.instant(at_ms))
    }

    /// A compaction is one as long as its end is counted on, and nothing else tells of one that Claude
    /// gave up.
    pub(in crate::daemon) fn lapse_deadline(&self, base: &mut Base) {
        for pair in self.claude.lapsed(base.clock.now_ms()) {
            let over = ClaudeInput::CompactionOver;
            base.later.push(LaterInput::Claude(pair, over));
        }
    }
}

impl Base {
    /// Claude's context was compacted. `begun`: what was seen of the beginning.
    pub(super) fn claude_compacted(
        &mut self,
        pair: &RuntimeSession,
        begun: Option<BegunCompaction>,
        params: &HookParams,
        summary: String,
    ) {
        self.clients.status_changed();
        let path = params.transcript_path().map(Path::to_owned);
        let began_ms = begun.as_ref().map(|begun| begun.began_ms);
        let mut compacted = ClaudeCompacted {
            session: self.recorder.session_id().clone(),
            pair: pair.clone(),
            trigger: begun.map_or(CompactionTrigger::Unknown, |begun| begun.trigger),
            summary,
            boundary: None,
            under_way: self.operations.begin_beside(),
        };
        let (Some(path), Some(began_ms)) = (path, began_ms) else {
            return self.on_claude_compacted(compacted);
        };
        let reads = self.reads();
        tokio::spawn(async move {
            compacted.boundary = boundary(&reads, path, began_ms).await;
            if let Some(events) = reads.events().upgrade() {
                let _ = events.send(Event::ClaudeCompacted(compacted)).await;
            }
        });
    }

    /// Its figures were looked for.
    pub(in crate::daemon) fn on_claude_compacted(&mut self, compacted: ClaudeCompacted) {
        let ClaudeCompacted {
            session,
            pair,
            trigger,
            mut summary,
            boundary,
            under_way: _heard,
        } = compacted;
        if session != *self.recorder.session_id() {
            // It tells of a session that may have been deleted for good meanwhile.
            summary.clear();
        }
        let (tokens_before, tokens_after) = match boundary {
            Some(boundary) => (boundary.before, boundary.after),
            None => (None, None),
        };
        let compaction = Compaction {
            trigger,
            tokens_before,
            tokens_after,
        };
        let fact = ContinuityFact::Compacted(compaction).of(Agent::Claude);
        let claude = Party::Agent(Agent::Claude);
        let entry = self.recorder.entry(claude, None, fact, summary, Some(pair));
        self.recorder.keep_entry(entry);
    }
}

async fn boundary(reads: &ReadsBeside, path: PathBuf, began_ms: i64) -> Option<CompactBoundary> {
    for wait in LOOKS {
        sleep(wait).await;
        let path = path.clone();
        let look = move || read_boundary(&path, began_ms);
        let found = reads.read(WorkBeside::CompactionLook, look).await;
        if let Some(boundary) = found.flatten() {
            return Some(boundary);
        }
    }
    None
}
