//! The operator's rules about what an agent may do, and what a command or a tool would do, judged
//! from its text alone.
//!
//! - [`PolicyRules`]: who may write to git, and which permissions an agent has;
//!   [`PolicyRules::judge`]: the verdict on one call of a tool.
//! - [`git_use`]: does a shell command write to git?
//! - [`named_files()`]: the files that a request is about.
//! - [`risk_hints()`]: what the person should know of a request before saying yes;
//!   [`read_unmasked`]: the part of that which only the unmasked text shows.
//!
//! Only the text counts: what a script, a Makefile or a hook does when it runs is not seen. A rule
//! based on this keeps two agents out of each other's way; it is no sandbox.

mod coordinator;
mod gh_subcommands;
mod git_write;
mod given_commands;
mod here_document;
mod hint;
mod named_files;
mod need;
mod needs;
mod other_program;
mod outside;
mod permission;
mod policy_change;
mod policy_rules;
mod policy_verdict;
mod programs;
mod request_needs;
mod risk_hints;
mod rule_in_force;
mod secret_paths;
mod shell;
mod shell_lexer;
mod shell_needs;
mod shell_network;
mod shell_text;
mod sign_off_mode;
mod subcommands;
mod unmasked;
mod why_unclear;
mod wrappers;

#[cfg(test)]
mod rules_tests;
#[cfg(test)]
mod tests;

pub use coordinator::Coordinator;
pub use git_write::{COMMAND_BYTES_MAX, GitUse, git_use};
pub use named_files::named_files;
pub use needs::{ToolUse, is_shell_tool, own_tool};
pub use permission::{Permission, PermissionRule};
pub use policy_change::PolicyChange;
pub use policy_rules::{PermissionRules, PolicyRules};
pub use policy_verdict::PolicyVerdict;
pub use risk_hints::risk_hints;
pub use rule_in_force::{ClaudeHooks, RuleInForce};
pub use secret_paths::is_secret_path;
pub use sign_off_mode::SignOffMode;
pub use unmasked::read_unmasked;
pub use why_unclear::WhyUnclear;
