//! Claude Code: the plugin that it loads, and the flags that it is started with.
//!
//! `bridge` speaks to Claude itself. Nothing here writes into a project or into the user's own
//! settings: `claude plugin` does that, after the operator was asked, and for [`status_line`], for
//! which Claude has no command, the command line does.

pub mod files;
pub mod hooks_switch;
pub mod inference;
pub mod install;
pub mod plugin;
pub(in crate::adapters) mod shell;
pub mod status_line;
pub mod transcript;
