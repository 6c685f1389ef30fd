//! [`SignOffMode`]: who says that work is done.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Who approves a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum SignOffMode {
    /// The operator alone.
    #[default]
    Manual,
    /// The required gates, where all of them are green on the very tree that was proposed and
    /// nothing else stands in the way; else the operator.
    Auto,
}

impl SignOffMode {
    /// In a word, for JSON and people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Manual => "manual",
            Self::Auto => "auto",
        }
    }
}

impl fmt::Display for SignOffMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
