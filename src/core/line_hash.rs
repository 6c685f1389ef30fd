//! [`LineHash`]: the hash on a line of the chain, in a third of the space of its text.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::hex::{hex, unhex};

/// The sha256 on a line; 64 lower-case hex digits wherever it is written down.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LineHash([u8; 32]);

/// A text that is no hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a hash has 64 lower-case hex digits")]
pub struct NoHash;

impl LineHash {
    /// The hash of these digits; `None` of a line without a chain, which gives none.
    pub fn of(digits: &str) -> Option<Self> {
        Some(Self(unhex(digits)?.try_into().ok()?))
    }
}

impl TryFrom<String> for LineHash {
    type Error = NoHash;

    fn try_from(digits: String) -> Result<Self, NoHash> {
        Self::of(&digits).ok_or(NoHash)
    }
}

impl From<LineHash> for String {
    fn from(hash: LineHash) -> Self {
        hash.to_string()
    }
}

impl fmt::Display for LineHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for LineHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_written_as_it_was_read_and_nothing_else_is_one() {
        let digits = "0123456789abcdef".repeat(4);
        let hash = LineHash::of(&digits).unwrap();
        let json = serde_json::to_string(&hash).unwrap();
        assert_eq!(json, format!("\"{digits}\""));
        assert_eq!(serde_json::from_str::<LineHash>(&json).unwrap(), hash);
        for none in [
            "",
            "00",
            &digits[1..],
            &digits.to_uppercase(),
            &"é".repeat(32),
        ] {
            assert_eq!(LineHash::of(none), None, "{none}");
        }
    }
}
