//! [`WaitingEnding`]: the operator has ended a session, which waits until everything that happened
//! in it is on the disk. That takes a moment, and the operator should not have to repeat the
//! command.

use crate::daemon::event::DeletionAsked;
use crate::daemon::reply::ReplySender;
use crate::daemon::sessions::carrying::{EndingWish, SessionEnding};

/// How far its ending has come.
#[derive(Debug)]
pub(in crate::daemon) enum WaitingEnding {
    /// It was asked for.
    Asked(EndingWish, ReplySender),
    /// What it leaves was read.
    Read(Box<SessionEnding>),
    /// It is deleted for good; which texts stay was read.
    Texts(DeletionAsked),
}

impl WaitingEnding {
    /// Nobody waits for it any more: who asked has gone, and may think that nothing came of it.
    pub(in crate::daemon) fn is_abandoned(&self) -> bool {
        match self {
            Self::Asked(_, reply) => reply.is_closed(),
            Self::Read(ending) => ending.reply.is_closed(),
            Self::Texts(asked) => asked.reply.is_closed(),
        }
    }

    /// Who waits for it.
    pub(in crate::daemon) fn into_reply(self) -> ReplySender {
        match self {
            Self::Asked(_, reply) => reply,
            Self::Read(ending) => ending.reply,
            Self::Texts(asked) => asked.reply,
        }
    }
}
