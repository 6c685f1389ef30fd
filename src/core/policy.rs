//! What a shell command would do, read from its text alone.
//!
//! - [`git_use`]: does it write to git?
//!
//! Only the text counts: what a script, a Makefile or a hook does when it runs is not seen. A rule on
//! top of this keeps two agents out of each other's way; it is no sandbox.

mod git_write;
mod here_document;
mod programs;
mod shell;
mod shell_lexer;
mod subcommands;
#[cfg(test)]
mod tests;

pub use git_write::{COMMAND_BYTES_MAX, GitUse, git_use};
