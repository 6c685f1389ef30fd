//! [`Reloads`]: packets that are being made, and packets that may not have reached their agent.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::time::Duration;

use crate::core::agent::Agent;
use crate::core::continuity::PACKET_CHARS_MAX;
use crate::core::entry::{CompactionTrigger, Reload, ReloadCause, ReloadWay};
use crate::core::id::{EntryId, RuntimeSession};
use crate::core::instructions::SHARED_CHARS_MAX;

/// How many packets are made at once. Each waits for git, for at most [`ReloadOrder::read_wait`].
const MAKING_MAX: usize = 16;

/// For whom a packet is made, and why.
#[derive(Debug, Clone)]
pub(in crate::daemon) struct ReloadOrder {
    pub(in crate::daemon) agent: Agent,
    pub(in crate::daemon) pair: RuntimeSession,
    pub(in crate::daemon) cause: ReloadCause,
    pub(in crate::daemon) way: ReloadWay,
    /// The most of it, in characters.
    pub(in crate::daemon) chars_max: usize,
    /// Codex's only: a turn that has begun meanwhile would be prolonged by it, so after that one.
    pub(in crate::daemon) between_turns: bool,
}

impl ReloadOrder {
    /// Whether it is for another conversation than before, and not for one that goes on.
    pub(in crate::daemon) fn begins(&self) -> bool {
        self.cause != ReloadCause::Compacted
    }

    /// How long it waits for git and files; without them it says less. Our hook in Claude waits 4 s
    /// where a conversation starts or was compacted; nobody waits for what is put into Codex's
    /// thread.
    pub(in crate::daemon) fn read_wait(&self) -> Duration {
        match self.way {
            ReloadWay::Hook | ReloadWay::CodexHook => Duration::from_secs(2),
            ReloadWay::Inject => Duration::from_secs(10),
            ReloadWay::Pull | ReloadWay::Other(_) => Duration::from_millis(500),
        }
    }

    /// The most of the packet and of the rules behind it, in characters: what Claude takes of one
    /// hook, and what Codex is given at once.
    pub(in crate::daemon) fn all_chars_max(&self) -> usize {
        match self.agent {
            Agent::Claude => PACKET_CHARS_MAX,
            Agent::Codex => SHARED_CHARS_MAX,
        }
    }
}

/// A packet that is recorded, and may be given now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::daemon) struct RecordedPacket {
    /// Names it in all of its entries.
    pub(in crate::daemon) id: EntryId,
    /// What the agent is given.
    pub(in crate::daemon) text: String,
}

/// A compaction of Claude's, for the record: it may be told of when nobody counts on its end any more.
#[derive(Debug)]
pub(in crate::daemon) struct BegunCompaction {
    pub(in crate::daemon) trigger: CompactionTrigger,
    /// When, ms since the epoch.
    pub(in crate::daemon) began_ms: i64,
    /// Claude went on after it: one that the person stops, or that fails, never gets there.
    is_done: bool,
}

/// Packets on their way.
pub(in crate::daemon) struct Reloads<T> {
    /// With how the loop goes on.
    making: BTreeMap<u64, (ReloadOrder, T)>,
    next: u64,
    /// Offered, and nothing is known yet.
    offered: BTreeMap<(Agent, RuntimeSession), Reload>,
    /// Claude's compactions that began, and of which the end is not recorded.
    compacting: BTreeMap<RuntimeSession, BegunCompaction>,
    /// A packet that was lost was made once more.
    has_tried_again: bool,
}

impl<T> Default for Reloads<T> {
    fn default() -> Self {
        Self {
            making: BTreeMap::new(),
            next: 0,
            offered: BTreeMap::new(),
            compacting: BTreeMap::new(),
            has_tried_again: false,
        }
    }
}

impl<T> fmt::Debug for Reloads<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reloads")
            .field("making", &self.making.len())
            .field("offered", &self.offered)
            .field("compacting", &self.compacting)
            .finish_non_exhaustive()
    }
}

impl<T> Reloads<T> {
    /// A packet is to be made. The number under which it waits for what is read beside the loop;
    /// when too many are being made, `then` back.
    pub(in crate::daemon) fn begin(&mut self, order: ReloadOrder, then: T) -> Result<u64, T> {
        if self.making.len() >= MAKING_MAX {
            return Err(then);
        }
        self.next += 1;
        self.making.insert(self.next, (order, then));
        Ok(self.next)
    }

    /// Whether the packet of a compaction of the agent's is being made.
    pub(in crate::daemon) fn is_mending(&self, agent: Agent) -> bool {
        let mut orders = self.making.values().map(|(order, _)| order);
        orders.any(|order| order.agent == agent && !order.begins())
    }

    /// What it waited for is read.
    pub(in crate::daemon) fn take(&mut self, number: u64) -> Option<(ReloadOrder, T)> {
        self.making.remove(&number)
    }

    /// A packet is recorded and about to be given. One before it of which nothing is known.
    pub(in crate::daemon) fn offer(
        &mut self,
        agent: Agent,
        pair: RuntimeSession,
        to: Reload,
    ) -> Option<Reload> {
        self.offered.insert((agent, pair), to)
    }

    /// It is known now what became of the packet of this agent.
    pub(in crate::daemon) fn settle(
        &mut self,
        agent: Agent,
        pair: &RuntimeSession,
    ) -> Option<Reload> {
        self.offered.remove(&(agent, pair.clone()))
    }

    /// As [`Self::settle`], where it is that packet and not one after it.
    pub(in crate::daemon) fn settle_that(
        &mut self,
        agent: Agent,
        pair: &RuntimeSession,
        packet: &EntryId,
    ) {
        let offered = self.offered.entry((agent, pair.clone()));
        if let Entry::Occupied(offered) = offered
            && offered.get().packet_id == *packet
        {
            offered.remove();
        }
    }

    /// Claude begins to compact.
    pub(in crate::daemon) fn compacts(
        &mut self,
        pair: RuntimeSession,
        trigger: CompactionTrigger,
        now_ms: i64,
    ) {
        let begun = BegunCompaction {
            trigger,
            began_ms: now_ms,
            is_done: false,
        };
        self.compacting.insert(pair, begun);
    }

    /// Claude goes on after a compaction.
    pub(in crate::daemon) fn goes_on_compacted(&mut self, pair: &RuntimeSession) {
        if let Some(begun) = self.compacting.get_mut(pair) {
            begun.is_done = true;
        }
    }

    /// Claude does something else: the compaction that is over, of which it said no more.
    /// `is_new_turn`: one that was not done will not be.
    pub(in crate::daemon) fn left_compaction(
        &mut self,
        pair: &RuntimeSession,
        is_new_turn: bool,
    ) -> Option<BegunCompaction> {
        let is_done = self.compacting.get(pair)?.is_done;
        if !is_done && !is_new_turn {
            return None;
        }
        self.compacted(pair).filter(|begun| begun.is_done)
    }

    /// Whether the packet of a compaction that its agent has not is made once more: once in the life
    /// of a daemon, so that one that never gets there is not made again and again.
    pub(in crate::daemon) fn tries_again(&mut self) -> bool {
        !std::mem::replace(&mut self.has_tried_again, true)
    }

    /// Claude has compacted.
    pub(in crate::daemon) fn compacted(
        &mut self,
        pair: &RuntimeSession,
    ) -> Option<BegunCompaction> {
        self.compacting.remove(pair)
    }
}
