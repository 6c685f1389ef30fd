//! Watches the files in the project: [`TamperWatch`] starts a thread that the system notifies of
//! changes in `.contextrelay/`. It inspects them and reports each finding as a
//! [`WatchFact`](fact::WatchFact).
//!
//! ```text
//! system ─► Signs (a set of bits) ─► watcher thread: wait, look, verify ─► Event::Watch ─► loop
//! ```
//!
//! Our own appends are changes too, a thousand a second; they cost one bit each, and an inspection
//! is a `stat` compared with what the ledger's writer says.

mod alert;
mod events;
pub mod fact;
mod file_watch;
mod inspect;
mod owner_watch;
mod watcher;

#[cfg(test)]
mod tests;

pub(super) use file_watch::FileWatch;

pub(super) use owner_watch::OwnerWatch;
pub(super) use watcher::{TamperWatch, WatchedFiles};
