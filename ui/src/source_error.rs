//! [`SourceError`]: what is wrong in a theme or keymap text, and where.

use std::fmt;
use std::ops::Range;

/// A place in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourcePlace {
    /// Line, counted from 1.
    pub line: usize,
    /// Character in that line, counted from 1.
    pub column: usize,
}

impl SourcePlace {
    /// The first character.
    pub const START: Self = Self { line: 1, column: 1 };

    /// Where a byte range of the text begins.
    pub fn of(text: &str, span: &Range<usize>) -> Self {
        let before = text.get(..span.start.min(text.len())).unwrap_or(text);
        let line = before.rsplit('\n').next().unwrap_or(before);
        Self {
            line: before.matches('\n').count() + 1,
            column: line.chars().count() + 1,
        }
    }

    /// A mistake here.
    pub fn error(self, message: impl Into<String>) -> SourceError {
        SourceError {
            place: self,
            message: message.into(),
        }
    }
}

/// A mistake in a theme or keymap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceError {
    /// Where.
    pub place: SourcePlace,
    /// What is wrong, as a lowercase fragment.
    pub message: String,
}

impl SourceError {
    /// An error at a byte range of the text.
    pub fn at(text: &str, span: &Range<usize>, message: impl Into<String>) -> Self {
        SourcePlace::of(text, span).error(message)
    }

    /// An error of the TOML reader.
    pub fn from_toml(text: &str, error: &toml::de::Error) -> Self {
        Self::at(text, &error.span().unwrap_or(0..0), error.message().trim())
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SourcePlace { line, column } = self.place;
        write!(f, "line {line}, column {column}: {}", self.message)
    }
}

impl std::error::Error for SourceError {}
