//! [`BadLine`]: why a line is no entry.

/// Why a line is no entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadLine {
    /// Neither JSON nor, perhaps, text.
    #[error("not JSON: {0}")]
    NotJson(String),
    /// JSON, but a list, a number, `null`.
    #[error("not an object")]
    NotObject,
    /// An object that lacks what makes it an entry, or has it in another type.
    #[error("no {0}")]
    Missing(&'static str),
    /// Longer than a reader takes.
    #[error("longer than {0} bytes")]
    TooLong(usize),
}
