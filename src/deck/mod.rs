//! The deck: glue between the screen (`ctxrelay-ui`) and the daemon (through `client`).
//!
//! - [`followed`]: what the daemon told, folded on this side with the daemon's own fold, and its rows.
//!   [`present`]: from that to a view, pure.
//! - [`calls`]: the screen's wishes to calls; tasks and what has ended, searched and read.
//! - [`event_loop`]: the deck before there is a daemon, and with one.
//! - [`terminal`]: draws and reads, in threads of its own; nothing else has the terminal, but for the
//!   person's editor, to which it is lent.
//! - [`signing`]: what is decided on the screen, signed in this process.
//! - [`deck_options`]: what a deck is given.

mod attention;
pub mod calls;
pub mod clock;
mod comparison;
pub mod deck_about;
pub mod deck_options;
pub mod event_loop;
pub mod followed;
pub mod key_slot;
mod party;
mod present;
pub mod signing;
pub mod terminal;
pub mod tree_looks;
mod trust_looks;
mod unsent;
