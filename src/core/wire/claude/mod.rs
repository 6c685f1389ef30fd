//! What of Claude Code's own files we read.

pub mod transcript;
