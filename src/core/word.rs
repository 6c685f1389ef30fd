//! Words that are stored on the disk and sent on the wire: an enum here, the same text there. A
//! word that another version wrote is kept as it is.

use serde::de::DeserializeOwned;
use serde::de::value::{BorrowedStrDeserializer, Error as ValueError};
use serde::{Deserialize, Deserializer, Serialize};

/// An enum of stable words with `Other` for those of another version. It is read from and written
/// as the text beside each variant; a variant behind `;` is a number after a prefix. A `closed enum`
/// has no other words, and is no bigger than their number.
#[macro_export]
macro_rules! words {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident {
            $( $(#[$doc:meta])* $word:ident = $text:literal, )+
            $( ; $(#[$number_doc:meta])* $number:ident($prefix:literal) )?
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        $vis enum $name {
            $( $(#[$doc])* $word, )+
            $( $(#[$number_doc])* $number(i64), )?
            /// A word of another version, as it was written.
            Other(String),
        }

        impl $name {
            /// Every word of this version.
            pub const ALL: &'static [Self] = &[$( Self::$word ),+];

            /// The text of a word that this version has not: anybody may have written it.
            #[allow(dead_code, reason = "most are of our own making")]
            pub fn other_mut(&mut self) -> Option<&mut String> {
                match self {
                    Self::Other(text) => Some(text),
                    _ => None,
                }
            }
        }

        $crate::word::words!(@text $name { $( $word = $text, )+ $( ; $number($prefix) )? });

        /// Nothing is known, which is said with an empty word.
        impl Default for $name {
            fn default() -> Self {
                Self::Other(String::new())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                match text.as_str() {
                    $( $text => return Self::$word, )+
                    _ => {}
                }
                $(
                    let number = text.strip_prefix($prefix).and_then(|rest| rest.parse().ok());
                    // Only as it would be written again: `rpc+1` and `rpc01` are not ours.
                    let number = number.map(Self::$number).filter(|word| word.to_string() == text);
                    if let Some(word) = number {
                        return word;
                    }
                )?
                Self::Other(text)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::from(text.to_owned())
            }
        }

        impl std::str::FromStr for $name {
            type Err = std::convert::Infallible;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Ok(Self::from(text))
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <String as serde::Deserialize>::deserialize(deserializer).map(Self::from)
            }
        }
    };
    (
        $(#[$meta:meta])*
        $vis:vis closed enum $name:ident {
            $( $(#[$doc:meta])* $word:ident = $text:literal, )+
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        $vis enum $name {
            $( $(#[$doc])* #[serde(rename = $text)] $word, )+
        }

        #[allow(dead_code, reason = "of few of them all of this is used")]
        impl $name {
            /// All of them, in the order in which they are shown.
            pub const ALL: [Self; [$( $text ),+].len()] = [$( Self::$word ),+];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $( Self::$word => $text, )+
                }
            }

            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|word| word.as_str() == text)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
    (@text $name:ident { $( $word:ident = $text:literal, )+ }) => {
        impl $name {
            pub fn as_str(&self) -> &str {
                match self {
                    $( Self::$word => $text, )+
                    Self::Other(text) => text,
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
    (@text $name:ident {
        $( $word:ident = $text:literal, )+ ; $number:ident($prefix:literal)
    }) => {
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    $( Self::$word => f.pad($text), )+
                    Self::$number(number) => write!(f, concat!($prefix, "{}"), number),
                    Self::Other(text) => f.pad(text),
                }
            }
        }
    };
}

pub use words;

/// A word of a closed enum, where another version may have written one that it has not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum OpenWord<T> {
    Known(T),
    /// A word of another version, as it was written.
    Other(String),
}

/// Nothing is known, which is said with an empty word.
impl<T> Default for OpenWord<T> {
    fn default() -> Self {
        Self::Other(String::new())
    }
}

impl<T: DeserializeOwned> OpenWord<T> {
    /// Of the word as it is written.
    pub fn of(text: impl Into<String>) -> Self {
        let text = text.into();
        let word = T::deserialize(BorrowedStrDeserializer::<ValueError>::new(&text));
        word.map_or_else(|_| Self::Other(text.clone()), Self::Known)
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for OpenWord<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::of)
    }
}

impl<T> OpenWord<T> {
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(word) => Some(word),
            Self::Other(_) => None,
        }
    }

    /// The text of a word that this version has not: anybody may have written it.
    pub fn other_mut(&mut self) -> Option<&mut String> {
        match self {
            Self::Known(_) => None,
            Self::Other(text) => Some(text),
        }
    }
}

impl<T: std::fmt::Display> std::fmt::Display for OpenWord<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Known(word) => word.fmt(f),
            Self::Other(text) => f.pad(text),
        }
    }
}

impl<T> From<T> for OpenWord<T> {
    fn from(word: T) -> Self {
        Self::Known(word)
    }
}

/// Each of the words, and one of another version, is in JSON what it is as text, and comes back.
#[cfg(test)]
pub(crate) fn assert_words<T>(words: &[T])
where
    T: Clone + std::fmt::Debug + std::fmt::Display + PartialEq + From<String>,
    T: Serialize + DeserializeOwned,
{
    let later = T::from("a word of a later version".to_owned());
    for word in words.iter().chain([&later]) {
        let text = word.to_string();
        assert_eq!(T::from(text.clone()), *word);
        assert_eq!(serde_json::to_value(word).ok(), Some(text.clone().into()));
        assert_eq!(
            serde_json::from_value(text.into()).ok().as_ref(),
            Some(word)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capsule::{CapsuleSection, HandoffState, TouchOp};
    use crate::entry::{ArtifactKind, ProposalState, RuleName};
    use crate::envelope::MessageKind;
    use crate::policy::SignOffMode;

    #[test]
    fn words_come_back_as_they_were_written() {
        assert_words(ArtifactKind::ALL);
        assert_words(CapsuleSection::ALL);
        assert_words(HandoffState::ALL);
        assert_words(MessageKind::ALL);
        assert_words(ProposalState::ALL);
        assert_words(RuleName::ALL);
        assert_words(TouchOp::ALL);
    }

    #[test]
    fn a_word_that_a_closed_enum_has_not_is_kept_as_it_was_written() {
        let later = OpenWord::Other("later".to_owned());
        for (text, word) in [("auto", SignOffMode::Auto.into()), ("later", later)] {
            assert_eq!(
                serde_json::from_value(text.into()).ok().as_ref(),
                Some(&word)
            );
            assert_eq!(OpenWord::of(text), word);
            assert_eq!(serde_json::to_value(&word).ok(), Some(text.into()));
        }
    }
}
