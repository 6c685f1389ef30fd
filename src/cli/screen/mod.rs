//! `ctxrelay` itself: the deck, what hosts it, what it shows besides the record, and the demo.

pub mod deck;
pub(in crate::cli) mod deck_screen;
pub(in crate::cli) mod demo;
pub(in crate::cli) mod hosted;
pub(in crate::cli) mod notification_keys;
pub(in crate::cli) mod notify;
pub(in crate::cli) mod notify_command;
pub(in crate::cli) mod pair;
pub(in crate::cli) mod screen_files;
pub(in crate::cli) mod screen_watch;
