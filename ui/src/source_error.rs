//! [`SourceError`]: what is wrong in a theme or keymap text, and in which line.

use std::fmt;
use std::ops::Range;

/// A mistake in a theme or keymap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceError {
    /// Line, counted from 1.
    pub line: usize,
    /// What is wrong, as a lowercase fragment.
    pub message: String,
}

impl SourceError {
    /// An error at a byte range of the text.
    pub fn at(text: &str, span: &Range<usize>, message: impl Into<String>) -> Self {
        let before = text.get(..span.start.min(text.len())).unwrap_or(text);
        Self {
            line: before.matches('\n').count() + 1,
            message: message.into(),
        }
    }

    /// An error of the TOML reader.
    pub fn from_toml(text: &str, error: &toml::de::Error) -> Self {
        Self::at(text, &error.span().unwrap_or(0..0), error.message().trim())
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for SourceError {}
