//! How a daemon starts, stage by stage. A stage owns what it has taken; dropping it, which is what
//! an error or a panic in the next one does, gives that back.
//!
//! | stage | owns | what its end undoes |
//! |---|---|---|
//! | [`Claimed`](claimed::Claimed) | the lock, the project's place in the registry, the secrets | the lock is free; a copy from elsewhere is unknown again, and the next start takes it for one; ports that were named for this run are not registered |
//! | [`Opened`](opened::Opened) | the ledger's writer, the outbox, what keeps up with the record | all are closed; nothing was appended |
//! | [`Bound`](bound::Bound) | the ports, the operator's socket | all are closed, the socket's name is gone |
//! | [`Ready`](ready::Ready) | the loop, with what was left to it and its first words | nothing any more: it is our daemon now, and nobody was answered |
//! | [`Running`](super::running::Running) | the loop, what it shows on the disk | see `ending` |
//!
//! A daemon that follows another one is claimed and bound with its [`Takeover`](super::takeover::Takeover): until that one
//! yields, nothing of it is touched and nothing of it is undone. The rig of the tests goes the same
//! way up to [`Ready`](ready::Ready), with an adapter of its own, and hands the events in by itself.

mod bound;
mod builder;
mod channel;
mod choice;
mod claimed;
mod descriptors;
mod first_words;
mod opened;
mod ready;
mod sequence;
mod serving;
mod unfinished;
mod watches;

pub use self::builder::Builder;
#[cfg(test)]
pub(super) use self::claimed::Claimed;
#[cfg(test)]
pub(super) use self::first_words::record_adoption;
#[cfg(test)]
pub(super) use self::ready::{Ground, Ready};
pub use super::start_error::StartError;
