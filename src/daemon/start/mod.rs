//! How a daemon starts, stage by stage. A stage owns what it has taken; dropping it, as an error or
//! a panic in the next stage does, gives that back.
//!
//! | stage | owns | what dropping it undoes |
//! |---|---|---|
//! | [`Claimed`](claimed::Claimed) | the lock, the project's place in the registry, the secrets | the lock is free; a copy from elsewhere is unknown again, and the next start recognises it as one; ports that were named for this run are not registered; what `ctxrelay kill` ended stays ended |
//! | [`Opened`](opened::Opened) | the ledger's writer, the outbox, what follows the record | all are closed; nothing was appended |
//! | [`Bound`](bound::Bound) | the ports, the operator's socket | all are closed, the socket's name is gone |
//! | [`Ready`](ready::Ready) | the loop, with the state it inherited and its first entries | nothing any more: it is our daemon now, though no client was answered |
//! | [`Running`](super::running::Running) | the loop, what it publishes on the disk | see `ending` |
//!
//! What [`Claimed`](claimed::Claimed) moves out of the way stays there: what was trusted and the
//! queue of a copy, and the queue and `config.json` of ContextRelay 3. The next start goes on with
//! the project as it then is; where these lie is in the record only if the start that moved them
//! did not fail.
//!
//! A daemon that follows another one is claimed and bound with its
//! [`Takeover`](super::takeover::Takeover): until the previous one yields, nothing of it is touched
//! and nothing of it is undone. The test rig takes the same path up to [`Ready`](ready::Ready),
//! with an adapter of its own, and feeds in the events itself.

mod bound;
mod builder;
mod channel;
mod choice;
mod claimed;
mod descriptors;
mod first_words;
mod lifted_kill;
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
