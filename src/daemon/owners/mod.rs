//! [`Daemon`]: the owners of the loop, without their behaviour.
//!
//! They form four groups, so that the compiler enforces who may change what: a method of [`Base`]
//! reaches only the record, the clients and work beside the loop; a method of another group reaches
//! its own owners and the parts of the base that it borrows. Only what needs several groups is a
//! method of [`Daemon`].

mod agents;
mod base;
pub(in crate::daemon) mod continuation;
mod decisions;
mod deliveries;

use tokio::sync::mpsc;

pub(in crate::daemon) use self::agents::Agents;
pub(in crate::daemon) use self::base::Base;
use self::continuation::Then;
pub(in crate::daemon) use self::decisions::Decisions;
pub(in crate::daemon) use self::deliveries::{Deliveries, HeldByRows};
use super::event::Event;
use super::tamper::FileWatch;
use crate::daemon::agents::codex_lane::CodexLane;
use crate::daemon::agents::reminders::Reminders;
use crate::daemon::base::identity::Identity;
use crate::daemon::base::recorder::Recorder;
use crate::daemon::base::tree_commit::TreeCommit;
use crate::daemon::deliveries::handoff_dedup::HandoffDedup;
use crate::daemon::deliveries::outbox::Outbox;
use crate::store::dirs::ProjectDirs;

/// The only owner of mutable world state.
pub struct Daemon {
    pub(super) base: Base,
    pub(super) deliveries: Deliveries,
    pub(super) agents: Agents,
    pub(super) decisions: Decisions,
    pub(super) files: FileWatch,
}

impl std::fmt::Debug for Daemon {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Daemon").finish_non_exhaustive()
    }
}

impl Daemon {
    pub(super) fn new(
        dirs: ProjectDirs,
        identity: Identity,
        recorder: Recorder<Then>,
        outbox: Outbox,
        codex: CodexLane,
        commit: TreeCommit,
        events: mpsc::WeakSender<Event>,
    ) -> Self {
        let base = Base::new(dirs, identity, recorder, commit, events);
        let now_ms = base.clock.now_ms();
        let handoff_dedup = HandoffDedup::of(base.recorder.world(), now_ms);
        let reminders = Reminders::since(now_ms, base.recorder.world());
        Self {
            deliveries: Deliveries::new(outbox, handoff_dedup),
            agents: Agents::new(codex, reminders),
            decisions: Decisions::since(now_ms),
            files: FileWatch::default(),
            base,
        }
    }
}
