//! The daemon as a process: started, detached, replaced, ended and listed.

pub(in crate::cli) mod daemon;
pub(in crate::cli) mod detach;
pub(in crate::cli) mod end_signals;
pub(in crate::cli) mod instances;
pub(in crate::cli) mod kill;
pub(in crate::cli) mod replace;
