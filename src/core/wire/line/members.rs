//! [`Members`]: a line split into the members of the envelope and the rest.
//!
//! A tree of the whole line is most of the cost of reading a record: a map, its keys and their
//! hashes for every one of a million lines. Here the envelope's values go straight to their fields.

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::RUNTIME_SESSION;
use super::bad_line::BadLine;
use crate::plain_value::PlainValue;

/// The values on a line, of whatever type they are; of a key that comes twice the last one.
#[derive(Debug, Default)]
pub(super) struct Members {
    pub schema: Option<Value>,
    pub id: Option<Value>,
    pub timestamp: Option<Value>,
    pub session_id: Option<Value>,
    pub entry_type: Option<Value>,
    pub source: Option<Value>,
    pub target: Option<Value>,
    pub content: Option<Value>,
    pub meta: Meta,
    pub seq: Option<Value>,
    pub prev: Option<Value>,
    pub hash: Option<Value>,
    /// All others, in their order.
    pub rest: Map<String, Value>,
}

/// What `meta` holds; nothing when it is no object.
#[derive(Debug, Default)]
pub(super) struct Meta {
    /// The text of [`RUNTIME_SESSION`].
    pub runtime_session: Option<String>,
    /// All others, in their order.
    pub rest: Map<String, Value>,
}

/// Takes a line apart.
///
/// # Errors
///
/// When it is not JSON, or no object.
pub(super) fn members(line: &[u8]) -> Result<Members, BadLine> {
    // Looked at once for all its texts, and not for each of them.
    let members = match std::str::from_utf8(line) {
        Ok(text) => serde_json::from_str(text),
        Err(_) => serde_json::from_slice(line),
    };
    members.map_err(|error| {
        if line.trim_ascii_start().first() == Some(&b'{') {
            return BadLine::NotJson(error.to_string());
        }
        // What is whole, and something else, is told from what is broken.
        match serde_json::from_slice::<PlainValue>(line) {
            Ok(_) => BadLine::NotObject,
            Err(error) => BadLine::NotJson(error.to_string()),
        }
    })
}

/// Where a value of the envelope belongs.
enum Place<'a> {
    Value(&'a mut Option<Value>),
    Meta(&'a mut Meta),
}

impl Members {
    fn place(&mut self, key: &str) -> Option<Place<'_>> {
        Some(Place::Value(match key {
            "schema" => &mut self.schema,
            "id" => &mut self.id,
            "timestamp" => &mut self.timestamp,
            "sessionId" => &mut self.session_id,
            "type" => &mut self.entry_type,
            "source" => &mut self.source,
            "target" => &mut self.target,
            "content" => &mut self.content,
            "meta" => return Some(Place::Meta(&mut self.meta)),
            "seq" => &mut self.seq,
            "prev" => &mut self.prev,
            "hash" => &mut self.hash,
            _ => return None,
        }))
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut line: A) -> Result<Members, A::Error> {
        let mut members = Members::default();
        let mut rest = Map::new();
        while let Some(key) = line.next_key_seed(Key::of(|key| members.place(key)))? {
            match key {
                Ok(Place::Value(value)) => *value = Some(line.next_value::<PlainValue>()?.0),
                Ok(Place::Meta(meta)) => *meta = line.next_value()?,
                Err(key) => {
                    rest.insert(key, line.next_value::<PlainValue>()?.0);
                }
            }
        }
        members.rest = rest;
        Ok(members)
    }
}

impl<'de> Deserialize<'de> for Meta {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(MetaVisitor)
    }
}

struct MetaVisitor;

impl<'de> Visitor<'de> for MetaVisitor {
    type Value = Meta;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Meta, A::Error> {
        let mut meta = Meta::default();
        let named = |key: &str| (key == RUNTIME_SESSION).then_some(());
        while let Some(key) = object.next_key_seed(Key::of(named))? {
            match (key, object.next_value::<PlainValue>()?.0) {
                (Ok(()), Value::String(session)) => {
                    meta.runtime_session = Some(session);
                    meta.rest.shift_remove(RUNTIME_SESSION);
                }
                // It names no session, and is kept as what is unknown.
                (Ok(()), value) => {
                    meta.runtime_session = None;
                    meta.rest.insert(RUNTIME_SESSION.to_owned(), value);
                }
                (Err(key), value) => {
                    meta.rest.insert(key, value);
                }
            }
        }
        Ok(meta)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Meta, A::Error> {
        while list.next_element::<PlainValue>()?.is_some() {}
        Ok(Meta::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<Meta, E> {
        Ok(Meta::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Meta, E> {
        Ok(Meta::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Meta, E> {
        Ok(Meta::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Meta, E> {
        Ok(Meta::default())
    }

    fn visit_str<E>(self, _: &str) -> Result<Meta, E> {
        Ok(Meta::default())
    }

    fn visit_unit<E>(self) -> Result<Meta, E> {
        Ok(Meta::default())
    }
}

/// Reads a key, and keeps its text only where nobody knows it.
struct Key<F>(F);

impl<P, F: FnOnce(&str) -> Option<P>> Key<F> {
    fn of(known: F) -> Self {
        Self(known)
    }
}

impl<'de, P, F: FnOnce(&str) -> Option<P>> DeserializeSeed<'de> for Key<F> {
    type Value = Result<P, String>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_str(self)
    }
}

impl<P, F: FnOnce(&str) -> Option<P>> Visitor<'_> for Key<F> {
    type Value = Result<P, String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok((self.0)(key).ok_or_else(|| key.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::hostile;
    use super::*;

    /// The tree of a line is what its parts say, put together.
    fn check(line: &[u8]) -> Result<(), TestCaseError> {
        let tree = serde_json::from_slice::<PlainValue>(line);
        let tree = tree.map(|PlainValue(tree)| tree);
        match (members(line), tree) {
            (Ok(members), Ok(Value::Object(tree))) => {
                for (key, value) in [
                    ("schema", members.schema),
                    ("id", members.id),
                    ("timestamp", members.timestamp),
                    ("sessionId", members.session_id),
                    ("type", members.entry_type),
                    ("source", members.source),
                    ("target", members.target),
                    ("content", members.content),
                    ("seq", members.seq),
                    ("prev", members.prev),
                    ("hash", members.hash),
                ] {
                    prop_assert_eq!(value.as_ref(), tree.get(key), "{}", key);
                }
                let meta = tree.get("meta").and_then(Value::as_object);
                let session = meta.and_then(|meta| meta.get(RUNTIME_SESSION)?.as_str());
                prop_assert_eq!(members.meta.runtime_session.as_deref(), session);
                let others = meta.into_iter().flatten();
                let others = others.filter(|(key, _)| session.is_none() || *key != RUNTIME_SESSION);
                let others: Map<_, _> = others.map(|(k, v)| (k.clone(), v.clone())).collect();
                prop_assert_eq!(members.meta.rest, others);
                let rest = tree
                    .iter()
                    .filter(|(key, _)| *key != "meta" && Members::default().place(key).is_none());
                let rest: Vec<_> = rest.collect();
                prop_assert_eq!(members.rest.iter().collect::<Vec<_>>(), rest);
            }
            (Err(BadLine::NotObject), Ok(tree)) => prop_assert!(!tree.is_object()),
            (Err(BadLine::NotJson(why)), Err(error)) => prop_assert_eq!(why, error.to_string()),
            (members, tree) => prop_assert!(false, "{:?} {:?}", members, tree),
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_line_taken_apart_is_what_its_tree_is(line in hostile::bytes()) {
            check(&line)?;
        }
    }

    #[test]
    fn of_a_key_that_comes_twice_the_last_one_counts() {
        for meta in [
            r#"{"runtimeSessionId":7,"a":1,"runtimeSessionId":"pair-2"}"#,
            r#"{"runtimeSessionId":"pair-2","runtimeSessionId":{}}"#,
            r#"{"a":1,"a":2}"#,
            r#"[1,{"runtimeSessionId":"pair-2"}]"#,
            "null",
            "-3",
            "2.5",
            "true",
            "\"text\"",
        ] {
            let line =
                format!(r#"{{"meta":{{}},"id":"1","id":"2","x":1,"y":2,"x":3,"meta":{meta}}}"#);
            check(line.as_bytes()).unwrap();
        }
        let twice = members(br#"{"id":"1","id":"2","x":1,"x":3}"#).unwrap();
        assert_eq!(
            (twice.id, twice.rest.get("x")),
            (Some(json!("2")), Some(&json!(3)))
        );
    }
}
