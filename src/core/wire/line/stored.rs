//! [`Stored`]: an entry with its line.

use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{hash_line, parse, parse_link};
use crate::entry::Entry;
use crate::plain_value::PlainValue;

/// An entry as it lies in the ledger. In process it is passed on as it is; only where it leaves
/// the process it is written, as its line.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    /// The entry, redacted, with its `seq`.
    pub entry: Entry,
    /// The line without newline: JSON.
    pub line: String,
    /// The hash on the line; empty for an entry of an unchained ledger.
    pub hash: String,
}

impl Stored {
    /// Whether the line is the one that this hash was made of.
    pub fn is_of(&self, hash: &str) -> bool {
        let line = self.line.as_bytes();
        let link = parse_link(line).ok().flatten();
        link.and_then(|link| hash_line(line, &link.prev))
            .is_some_and(|made| made == hash)
    }

    /// The line as JSON; null for a line that is none, which the writer never writes.
    pub fn to_value(&self) -> Value {
        PlainValue::of(&self.line).unwrap_or_default()
    }
}

impl Serialize for Stored {
    /// As the JSON of its line.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let line: &RawValue = serde_json::from_str(&self.line).map_err(S::Error::custom)?;
        line.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Stored {
    /// From the JSON of a line, which another process sent.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let line = PlainValue::deserialize(deserializer)?.0.to_string();
        let parsed = parse(line.as_bytes()).map_err(D::Error::custom)?;
        Ok(Self {
            entry: parsed.entry,
            hash: parsed.link.map(|link| link.hash).unwrap_or_default(),
            line,
        })
    }
}
