//! [`HookPacket`]: whether our hook in Codex is to give the packet after a compaction.

use super::CodexLane;
use crate::daemon::reply::ReplySender;

/// Where the packet of the latest compaction stands. Codex runs the hook while the adapter may still
/// wait for an answer from it, and the compaction is to be on record before its packet is made: what
/// the hook asks and what is told come in either order. Only the calls below change it.
#[derive(Debug)]
pub(super) struct HookPacket {
    stage: PacketStage,
}

#[derive(Debug, Default)]
enum PacketStage {
    /// It was given, in whatever way, or there is none.
    #[default]
    Settled,
    /// A compaction has begun, and is not on record yet.
    Begun,
    /// As before, and the hook waits for that.
    Asked(ReplySender),
    /// As before, and the model went on without the hook.
    Missed,
    /// The hook, or who finds that it did not run, gives it.
    Owed,
}

/// What is due once a compaction is on record.
#[derive(Debug)]
pub(in crate::daemon) enum PacketDue {
    /// The hook waits for the packet.
    Now(ReplySender),
    /// The hook asks for it later.
    Later,
    /// The hook does not ask for it.
    PutIn,
}

impl HookPacket {
    /// Of an agent of which no compaction is known.
    pub(super) fn none() -> Self {
        let stage = PacketStage::Settled;
        Self { stage }
    }
}

impl CodexLane {
    /// A compaction begins. One that is owed a packet still is.
    pub(in crate::daemon) fn compaction_began(&mut self) {
        if let PacketStage::Settled | PacketStage::Missed = self.hook_packet.stage {
            self.hook_packet.stage = PacketStage::Begun;
        }
    }

    /// The hook asks. The one that is to be answered now, and whether with a packet; else it waits
    /// until the compaction is on record. Of two that wait the older one gets nothing.
    pub(in crate::daemon) fn hook_asks(
        &mut self,
        reply: ReplySender,
    ) -> Option<(ReplySender, bool)> {
        match std::mem::take(&mut self.hook_packet.stage) {
            PacketStage::Begun => {
                self.hook_packet.stage = PacketStage::Asked(reply);
                None
            }
            PacketStage::Asked(older) => {
                self.hook_packet.stage = PacketStage::Asked(reply);
                Some((older, false))
            }
            PacketStage::Owed => Some((reply, true)),
            late @ (PacketStage::Settled | PacketStage::Missed) => {
                self.hook_packet.stage = late;
                Some((reply, false))
            }
        }
    }

    /// The compaction is on record. `is_trusted`: the hook runs, or has run.
    pub(in crate::daemon) fn compaction_recorded(&mut self, is_trusted: bool) -> PacketDue {
        match std::mem::take(&mut self.hook_packet.stage) {
            PacketStage::Asked(reply) if !reply.is_closed() => PacketDue::Now(reply),
            // It gave up before it was answered, and what was not given is told.
            PacketStage::Asked(_)
            | PacketStage::Settled
            | PacketStage::Begun
            | PacketStage::Owed
                if is_trusted =>
            {
                self.hook_packet.stage = PacketStage::Owed;
                PacketDue::Later
            }
            _ => PacketDue::PutIn,
        }
    }

    /// The model goes on, and the hook gave it nothing. Whether the packet is to be put in now.
    pub(in crate::daemon) fn hook_missed(&mut self) -> bool {
        match &self.hook_packet.stage {
            PacketStage::Owed => {
                self.hook_packet.stage = PacketStage::Settled;
                true
            }
            PacketStage::Asked(reply) if !reply.is_closed() => false,
            PacketStage::Begun | PacketStage::Asked(_) => {
                self.hook_packet.stage = PacketStage::Missed;
                false
            }
            PacketStage::Settled | PacketStage::Missed => false,
        }
    }

    /// There was no compaction. One before it that is owed a packet still is. The hook that waits.
    pub(in crate::daemon) fn was_not_compacted(&mut self) -> Option<ReplySender> {
        match &self.hook_packet.stage {
            PacketStage::Owed => None,
            _ => self.settle_hook_packet(),
        }
    }

    /// The record owes no packet. What goes on is not on record yet.
    pub(in crate::daemon) fn owes_no_packet(&mut self) {
        if let PacketStage::Owed = self.hook_packet.stage {
            self.hook_packet.stage = PacketStage::Settled;
        }
    }

    /// Nothing is to be given any more. The hook that waits.
    pub(in crate::daemon) fn settle_hook_packet(&mut self) -> Option<ReplySender> {
        match std::mem::take(&mut self.hook_packet.stage) {
            PacketStage::Asked(reply) => Some(reply),
            _ => None,
        }
    }
}
