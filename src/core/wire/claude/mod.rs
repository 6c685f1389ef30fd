//! What of Claude Code's own files we read.

pub mod own_words;
pub mod transcript;
