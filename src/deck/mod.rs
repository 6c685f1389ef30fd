//! The deck: glue between the screen (`ctxrelay-ui`) and the daemon (through `client`).
//!
//! - [`model`]: what the daemon told, folded on this side with the daemon's own fold.
//! - [`rows`]: entries to rows, pure; the model keeps them. [`present`]: model to view, pure.
//! - [`perform`]: the screen's wishes to calls.
//! - [`term`]: draws on the terminal and reads it; `clipboard` copies through it, and `editor` sees who
//!   has it. Nothing else touches it.
//! - [`display`]: the threads that read and draw it; [`drawing`]: the latter.
//! - [`lend`]: the terminal in the hands of the person's editor; [`private_copy`]: the file that
//!   this has.
//! - [`signing`]: what is decided on the screen, signed in this process.
//! - [`opening`]: the deck before there is a daemon.
//! - [`deck_options`]: what a deck is given.
//! - [`run`]: the deck with a daemon; [`following`]: its loop; [`beside_work`]: what that does not wait for.
//! - [`elsewhere`]: tasks and what has ended, searched and read.

mod agent_work;
mod attention;
mod beside_work;
pub mod capsules;
mod clipboard;
pub mod clock;
mod comparison;
pub mod deck_about;
pub mod deck_exit;
pub mod deck_options;
pub mod display;
pub mod display_host;
mod drawing;
pub(crate) mod editor;
pub mod elsewhere;
mod findings;
mod following;
mod foreground;
mod found;
mod input;
pub mod key_slot;
mod late_reply;
mod lend;
pub mod model;
mod notice;
mod on_signed;
mod open_entry;
pub mod opening;
mod own_messages;
mod party;
mod perform;
mod present;
mod private_copy;
mod queue_changes;
mod queue_wait;
mod reading;
mod row_detail;
mod row_facts;
mod row_window;
mod row_words;
mod rows;
pub mod run;
mod search;
pub mod signing;
pub mod term;
mod terminal_input;
mod thread;
mod timeline;
pub mod tree_looks;
mod unclear;
mod unsent;
mod work;
