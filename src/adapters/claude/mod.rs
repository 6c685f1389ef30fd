//! Claude Code: the plugin that it loads, and the flags that it is started with.
//!
//! Claude itself is spoken to by `bridge`. Nothing here is written into a project or into the
//! user's own settings; that is left to `claude plugin`, which the operator is asked about, and for
//! [`status_line`], which Claude has no command for, to the command line.

pub mod files;
pub mod hooks_switch;
pub mod inference;
pub mod install;
pub mod plugin;
pub(in crate::adapters) mod shell;
pub mod status_line;
pub mod transcript;
