//! Words that stand on the disk and on the wire: as an enum here, as the same text there, and what
//! another version wrote is kept as it is.

/// An enum of stable words with `Other` for those of another version. It is read from and written
/// as the text beside each variant; a variant behind `;` is a number after a prefix.
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
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    $( Self::$word => f.write_str($text), )+
                    $( Self::$number(number) => write!(f, concat!($prefix, "{}"), number), )?
                    Self::Other(text) => f.write_str(text),
                }
            }
        }

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
}

pub(crate) use words;

/// Each of the words, and one of another version, is in JSON what it is as text, and comes back.
#[cfg(test)]
pub(crate) fn assert_words<T>(words: &[T])
where
    T: Clone + std::fmt::Debug + std::fmt::Display + PartialEq + From<String>,
    T: serde::Serialize + serde::de::DeserializeOwned,
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
