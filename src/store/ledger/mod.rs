//! The ledger: [`open()`], then [`Ledger::append`] and the reading calls; [`verify()`] and
//! [`seal()`] work on files that nobody has open.
//!
//! ```text
//! append ─► queue ─► writer thread: serialise, redact, chain ─► one write ─► one sync ─► Durable
//! ```
//!
//! Knows lines, hashes and files. Does not know who appends, and does not fold after opening: the
//! receiver of [`WriterEvent::Durable`] folds those very entries.

mod aside;
mod belief;
mod check;
mod checkpoint;
mod coming_head;
mod entry_filter;
mod error;
mod file;
mod handle;
mod index;
mod keep;
mod left_file;
mod lines;
mod names;
mod open;
mod page;
mod progress;
mod read;
mod reading;
mod scan;
mod seal;
mod settle;
mod shared;
mod slots;
mod stamp;
mod unread_lines;
mod verify;
mod verify_blobs;
mod verify_signing;
mod walk;
mod window;
mod window_steps;
mod window_walk;
mod writer;

#[cfg(test)]
mod tests;

pub use belief::Border;
pub use check::{ChainFault, Reason};
pub use checkpoint::{Checkpoint, CheckpointKeeper, CheckpointPause, read as read_checkpoint};
pub use entry_filter::EntryFilter;
pub use error::LedgerError;
pub use handle::{Ledger, NotTaken};
pub use open::{OpenOptions, OpenReport, OpenedLedger, Origin, Outside, open, open_watched};
pub use page::Page;
pub use progress::{ReadProgress, ReadSoFar};
pub(crate) use read::{line_at, read_placed};
pub use read::{read, read_to};
pub use reading::Reading;
pub use scan::RECENT_MAX;
pub use seal::seal;
pub use shared::{SharedLedger, Stats};
pub(crate) use unread_lines::UnreadLines;
pub use verify::{AlarmReport, OutsideHead, VerifyReport, verify, verify_chain, verify_with};
pub use verify_blobs::{BlobReport, whole_texts};
pub use verify_signing::{SignedEntry, SignedWhat, SigningCheck};
pub use writer::WriterEvent;

pub use ctxrelay_core::wire::line::Stored;
