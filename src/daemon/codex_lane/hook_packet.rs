//! [`HookPacket`]: whether our hook in Codex is to give the packet of a compaction.

use crate::daemon::reply::ReplySender;

/// Where the packet of the latest compaction stands. Codex runs the hook while the adapter may still
/// wait for an answer from it, so that what the hook asks and what the adapter tells come in either
/// order.
#[derive(Debug, Default)]
pub(in crate::daemon) enum HookPacket {
    /// It was given, in whatever way, or there is none.
    #[default]
    Settled,
    /// A compaction has begun, and its end was not told yet.
    Begun,
    /// As before, and the hook waits for what is told.
    Asked(ReplySender),
    /// The hook, or who finds that it did not run, gives it.
    Owed,
}

impl HookPacket {
    /// A compaction begins.
    pub(in crate::daemon) fn begin(&mut self) {
        if let Self::Settled = self {
            *self = Self::Begun;
        }
    }

    /// The hook asks. The one that is to be answered now, and whether with a packet; else it waits
    /// until the end of the compaction is told. Of two that wait the older one gets nothing.
    pub(in crate::daemon) fn ask(&mut self, reply: ReplySender) -> Option<(ReplySender, bool)> {
        match std::mem::replace(self, Self::Settled) {
            Self::Begun => {
                *self = Self::Asked(reply);
                None
            }
            Self::Asked(older) => {
                *self = Self::Asked(reply);
                Some((older, false))
            }
            Self::Owed => Some((reply, true)),
            Self::Settled => Some((reply, false)),
        }
    }

    /// The hook is to give a packet. The one that waits for it, if it still does.
    pub(in crate::daemon) fn owe(&mut self) -> Option<ReplySender> {
        let waiting = self.waiting();
        *self = match waiting {
            Some(_) => Self::Settled,
            None => Self::Owed,
        };
        waiting
    }

    /// Nothing is to be given by it any more. Whether it was to, and the one that waits.
    pub(in crate::daemon) fn settle(&mut self) -> (bool, Option<ReplySender>) {
        let waiting = self.waiting();
        let was_owed = matches!(std::mem::replace(self, Self::Settled), Self::Owed);
        (was_owed, waiting)
    }

    /// Whether the hook has asked and still waits.
    pub(in crate::daemon) fn is_awaited(&self) -> bool {
        matches!(self, Self::Asked(reply) if !reply.is_closed())
    }

    fn waiting(&mut self) -> Option<ReplySender> {
        match std::mem::take(self) {
            Self::Asked(reply) => Some(reply).filter(|reply| !reply.is_closed()),
            other => {
                *self = other;
                None
            }
        }
    }
}
