//! The deck: glue between the screen (`ctxrelay-ui`) and the daemon (through `client`).
//!
//! - [`model`]: what the daemon told, folded on this side with the daemon's own fold.
//! - [`present`]: model to view, pure.
//! - [`perform`]: the screen's wishes to calls.
//! - [`term`]: the only place that touches the terminal.
//! - [`run`]: the drawing thread, and the task that feeds it.

mod attention;
mod found;
pub mod model;
mod perform;
mod present;
mod reading;
pub mod run;
pub mod term;
