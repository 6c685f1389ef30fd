//! The deck's loop: before there is a daemon, with one, and its end.

pub(in crate::deck) mod beside_work;
pub mod deck_exit;
pub(in crate::deck) mod following;
pub(in crate::deck) mod foreground;
pub(in crate::deck) mod on_signed;
pub mod opening;
pub(in crate::deck) mod reading;
pub mod run;
