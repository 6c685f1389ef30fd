//! The deck: glue between the screen (`ctxrelay-ui`) and the daemon (through `client`).
//!
//! - [`followed`]: what the daemon reported, folded here with the daemon's own fold, and its rows.
//!   [`present`]: from that to a view, pure.
//! - [`calls`]: from the screen's wishes to calls; searches and reads tasks and ended sessions.
//! - [`event_loop`]: the deck before there is a daemon, and with one.
//! - [`terminal`]: draws and reads, in its own threads; nothing else uses the terminal, except the
//!   person's editor, to which it is lent.
//! - [`signing`]: signs, in this process, what is decided on the screen.
//! - [`deck_options`]: what a deck receives.

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
