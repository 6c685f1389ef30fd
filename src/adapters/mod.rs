//! The outside agents, behind facts and requests of our own.
//!
//! An adapter speaks a vendor's protocol on one side and [`codex::fact::CodexFact`] /
//! [`codex::request::CodexRequest`] on the other. It records nothing and decides nothing.

pub mod capsules_now;
pub mod claude;
pub mod codex;
mod commit_index;
pub mod fd_channel;
pub mod file_digest;
pub mod file_heads;
mod files_now;
pub mod finding_place;
pub mod gate;
pub mod gh;
pub mod git;
pub mod hold;
pub mod left_files;
pub mod operator_check;
pub mod plain_file;
pub mod port_holder;
mod private_folder;
pub mod process;
pub mod program_search;
pub mod program_start;
pub mod project_rules;
#[cfg(test)]
pub(crate) mod test_log;
mod tree_now;
pub mod work_files_now;
