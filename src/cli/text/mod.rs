//! Words, names and numbers, as verbs print them.

pub(in crate::cli) mod agent_word;
pub(in crate::cli) mod by_id;
pub(in crate::cli) mod gauge;
pub(in crate::cli) mod later;
pub(in crate::cli) mod masking;
pub(in crate::cli) mod shell;
pub(in crate::cli) mod words;
