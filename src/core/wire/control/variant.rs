//! The variants of commands, replies and notifications in the protocol's form: the variant's word
//! and its content are two members of an object.
//!
//! serde has a form for that (`tag` with `content`), but generates code for each order of the two
//! members: that was an eighth of the whole program. So these types use serde's plain form
//! (`{word: content}`, or the word alone), and this converts between the two.

use serde::de::value::Error as NothingRead;
use serde::de::{DeserializeOwned, Deserializer, Error as _, Visitor};
use serde::{Serialize, forward_to_deserialize_any};
use serde_json::{Error, Map, Value};

/// The word of a variant; empty for what is no enum.
pub(super) fn word(variant: &impl Serialize) -> &'static str {
    serde_variant::to_variant_name(variant).unwrap_or_default()
}

/// A variant's word and what it carries, if it carries anything.
pub(super) fn apart(variant: &impl Serialize) -> Result<(String, Option<Value>), Error> {
    let pair = match serde_json::to_value(variant)? {
        Value::String(word) => Some((word, None)),
        Value::Object(one) => one
            .into_iter()
            .next()
            .map(|(word, carried)| (word, Some(carried))),
        _ => None,
    };
    pair.ok_or_else(|| Error::custom("no variant of an enum"))
}

/// The variant of a word with what it carries.
pub(super) fn together<T: DeserializeOwned>(
    word: &str,
    carried: Option<Value>,
) -> Result<T, Error> {
    serde_json::from_value(match carried {
        None => Value::from(word),
        Some(carried) => Value::Object(Map::from_iter([(word.to_owned(), carried)])),
    })
}

/// Whether a type has a variant of this word.
pub(super) fn has<T: DeserializeOwned>(word: &str) -> bool {
    let mut words = [].as_slice();
    // It always fails: what an enum says of itself before is all that is wanted.
    drop(T::deserialize(Words(&mut words)));
    words.contains(&word)
}

/// Takes the words of an enum's variants, and gives it nothing to read.
struct Words<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Words<'_> {
    type Error = NothingRead;

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, NothingRead> {
        *self.0 = variants;
        self.deserialize_any(visitor)
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, NothingRead> {
        Err(NothingRead::custom("nothing is read"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
