//! The parts of Claude Code's own files that we read.

pub mod own_words;
pub mod transcript;
