//! [`hold`], [`spawn_held`] and [`reap()`]: children that die with their owner.
//!
//! A child runs under `ctxrelay hold -- CMD`, in its own process group and in the hold's session,
//! which has no terminal. The hold's standard input is a socket whose other end only the owner has:
//! when the owner is gone, for any reason, the hold reads the end of the stream and ends the whole
//! group. So a wrapper (npm's node shim) cannot leave the real program behind. If the hold itself
//! is killed, the [`ChildRecord`] that the owner keeps is enough to find the group again. An owner
//! that ends may pass its end of the socket to the next one as a [`PassedChild`]; the child does
//! not notice.
//!
//! Knows nothing of the programs that it runs.

mod keeper;
mod orphans;
mod owner;
mod process;
mod reap;

pub use keeper::hold;
pub use orphans::{adopt_orphans, adopts_orphans, release_orphans};
pub use owner::{HeldChild, HoldError, PassedChild, command, command_with_all, spawn_held};
pub use reap::{ChildRecord, Reaped, end_marked, reap};

/// Names the child as ours: in its environment, and so in that of its descendants.
pub const MARK_VARIABLE: &str = "CONTEXTRELAY_HOLD_MARK";

/// The hold's own argument, before the program: it ends only after all that the program started.
const WITH_ALL: &str = "--with-all";

/// What the hold tells its owner, one line of JSON over the socket that is its standard input.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
enum Report {
    /// The child runs; its process leads its group.
    Pid(u32),
    /// It could not be started.
    Failed(String),
    /// It and its group have ended, with this exit code. For an owner that inherited the hold: it
    /// is no child of that one, so that the operating system does not tell it.
    Ended(i32),
}

#[cfg(test)]
mod tests;
