//! Ids as types of their own, so that a thread id cannot be passed for a turn id.

use std::fmt;
use std::sync::{Arc, LazyLock};

use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(#[serde(deserialize_with = "shared")] Arc<str>);

        impl $name {
            /// Takes the text as it is; ids from outside are opaque.
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The last eight characters: enough to tell entries of one session apart on a screen.
            ///
            /// The tail, because the head of a time-ordered id is the time and hardly differs.
            pub fn short(&self) -> &str {
                let start = self.0.char_indices().rev().nth(7).map_or(0, |(at, _)| at);
                &self.0[start..]
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::new(text)
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }
    };
}

id!(
    /// A ledger entry. The id of a message or handoff entry is also the id of that message, end
    /// to end: in the queue, as Codex's `clientUserMessageId`, in what Claude acknowledges.
    EntryId
);
id!(
    /// One attempt to hand a message to its receiver.
    AttemptId
);
id!(
    /// A session: one ledger file, `session_<epoch-millis>_<8-hex>`.
    SessionId
);
id!(
    /// A pair of agents that share deliveries; `default` is a value like any other.
    RuntimeSession
);
id!(
    /// A Codex thread.
    ThreadId
);
id!(
    /// A Codex turn.
    TurnId
);

impl ThreadId {
    /// What the record says where nobody knows in which thread a turn was.
    pub fn unknown() -> Self {
        Self::new("")
    }
}

id!(
    /// A task that can travel, `cap_<12 hex>`: the same id wherever it goes.
    CapsuleId
);
id!(
    /// A finding of a review, by its name at its origin: `gh:rc:ID` for a comment on a line,
    /// `gh:rv:ID` for the words of a review.
    FindingId
);

/// The text of the pair that most messages belong to, once for all of them.
static DEFAULT_SESSION: LazyLock<Arc<str>> = LazyLock::new(|| "default".into());

impl Default for RuntimeSession {
    fn default() -> Self {
        Self(Arc::clone(&DEFAULT_SESSION))
    }
}

impl RuntimeSession {
    /// The longest name of a pair, in characters.
    pub const CHARS_MAX: usize = 100;

    /// Whether a reader is shown something: it is of the reader's pair or of none. A reader without a
    /// pair is shown all.
    pub fn is_shown(reader: Option<&Self>, of: Option<&Self>) -> bool {
        reader.is_none() || of.is_none() || of == reader
    }
}

impl CapsuleId {
    /// How every one begins.
    pub const PREFIX: &'static str = "cap_";

    /// Whether the text has the shape of a capsule's id and so may name a file.
    pub fn is_well_formed(text: &str) -> bool {
        let hex = text.strip_prefix(Self::PREFIX);
        hex.is_some_and(|hex| hex.len() == 12 && hex.bytes().all(is_hex))
    }
}

impl FindingId {
    /// The longest, in bytes.
    pub const BYTES_MAX: usize = 120;

    /// Whether the text is one word without control characters, as a finding's name is.
    pub fn is_well_formed(text: &str) -> bool {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b":._-/#".contains(&byte);
        !text.is_empty() && text.len() <= Self::BYTES_MAX && text.bytes().all(is_word)
    }
}

impl SessionId {
    /// Whether the text has the shape of a session id and so may name a file.
    ///
    /// Anything else must not reach a path: `current` lies where an agent can write it.
    pub fn is_well_formed(text: &str) -> bool {
        let Some((millis, hex)) = text
            .strip_prefix("session_")
            .and_then(|rest| rest.split_once('_'))
        else {
            return false;
        };
        (10..=13).contains(&millis.len())
            && millis.bytes().all(|byte| byte.is_ascii_digit())
            && hex.len() == 8
            && hex.bytes().all(is_hex)
    }
}

/// A text that many hold: an id stands in a dozen places of a state with fifty thousand messages,
/// and that state is held twice, by the daemon and by the deck beside it.
fn shared<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<str>, D::Error> {
    struct Text;

    impl Visitor<'_> for Text {
        type Value = Arc<str>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Arc<str>, E> {
            let is_default = text == &**DEFAULT_SESSION;
            Ok(if is_default {
                Arc::clone(&DEFAULT_SESSION)
            } else {
                text.into()
            })
        }
    }

    deserializer.deserialize_str(Text)
}

fn is_hex(byte: u8) -> bool {
    byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)
}

/// A position in the ledger, counted in physical lines from 1.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Default,
)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_id_that_could_leave_its_folder_is_refused() {
        assert!(SessionId::is_well_formed("session_1795000000000_a1b2c3d4"));
        for text in [
            "",
            "session_1795000000000_a1b2c3d4/../x",
            "../session_1795000000000_a1b2c3d4",
            "session_1795000000000_A1B2C3D4",
            "session_17_a1b2c3d4",
            "session_1795000000000_a1b2c3d",
        ] {
            assert!(!SessionId::is_well_formed(text), "{text}");
        }
    }

    #[test]
    fn short_keeps_the_tail_and_survives_short_and_wide_text() {
        assert_eq!(EntryId::new("0123456789abcdef").short(), "89abcdef");
        assert_eq!(EntryId::new("abc").short(), "abc");
        assert_eq!(EntryId::new("ééééééééééé").short(), "éééééééé");
    }
}
