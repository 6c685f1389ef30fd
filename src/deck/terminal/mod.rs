//! The terminal: the threads that draw and read it, and the person's editor that borrows it.

pub(in crate::deck) mod clipboard;
pub mod display;
pub mod display_host;
pub(in crate::deck) mod drawing;
pub(crate) mod editor;
pub(in crate::deck) mod input;
pub(in crate::deck) mod late_reply;
pub(in crate::deck) mod lend;
pub(in crate::deck) mod private_copy;
pub mod term;
pub(in crate::deck) mod terminal_input;
