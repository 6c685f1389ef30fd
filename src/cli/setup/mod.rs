//! Prepares a project and undoes that; its settings, their trust, and what is missing.

pub(in crate::cli) mod claude_plugin;
pub(in crate::cli) mod codex_mcp;
pub(in crate::cli) mod config;
pub(in crate::cli) mod doctor;
pub(in crate::cli) mod init;
pub(in crate::cli) mod instruction_files;
pub(in crate::cli) mod policy;
pub(in crate::cli) mod trust;
pub(in crate::cli) mod unbuilt;
pub(in crate::cli) mod uninit;
pub(in crate::cli) mod vendor_command;
