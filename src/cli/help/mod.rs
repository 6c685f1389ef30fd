//! Information about the program itself: the guide, manual pages and completions.

pub(in crate::cli) mod completions;
pub(in crate::cli) mod guide;
pub(in crate::cli) mod man;
