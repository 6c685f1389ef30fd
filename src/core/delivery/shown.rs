//! [`Shown`]: what of a message's text has left for its receiver's model.

use serde::{Deserialize, Serialize};

/// What of a message's text has left for its receiver's model. It only grows.
///
/// A text that left [`Self::Whole`] is marked as a repeat when it is shown once more, and agents
/// are told to act on each message once: a mark on a first copy would lose it. So a push that
/// nothing has proven counts for nothing: where channels are off, Claude drops it without a word
/// (Claude Code 2.1.330, observed).
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Shown {
    /// Nothing, as far as anybody can tell.
    #[default]
    Nothing,
    /// Its beginning. An acknowledgement is about that alone and does not settle the message.
    Head,
    /// Its last character.
    Whole,
}

impl Shown {
    /// The word on disk.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Head => "head",
            Self::Whole => "whole",
        }
    }
}
