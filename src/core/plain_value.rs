//! [`PlainValue`]: a JSON value exactly as it is written.
//!
//! `serde_json`'s own `Value` takes an object whose first key is the private name of its raw text
//! for the JSON in that text. Such a value is read as something other than what is written, and
//! each text in it gets a nesting limit of its own: a file within every bound overflows the stack.
//! Input from elsewhere is therefore read as this type.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// A value in which every key is a key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlainValue(pub Value);

impl PlainValue {
    /// Reads all of a text.
    ///
    /// # Errors
    ///
    /// When it is not one JSON value.
    pub fn of(text: &str) -> serde_json::Result<Value> {
        serde_json::from_str(text).map(|Self(value)| value)
    }
}

impl<'de> Deserialize<'de> for PlainValue {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(PlainVisitor).map(Self)
    }
}

/// Whether somewhere in a value a key has the private name of the library's raw text: another reader
/// would take what it has for JSON of its own.
pub fn names_raw_text(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(names_raw_text),
        Value::Object(members) => {
            let mut members = members.iter();
            members.any(|(key, value)| key == RAW_TEXT || names_raw_text(value))
        }
        _ => false,
    }
}

/// For a member of a type that is read: its value; null where it has none.
///
/// # Errors
///
/// The reader's.
pub fn member<'de, D: Deserializer<'de>>(from: D) -> Result<Value, D::Error> {
    PlainValue::deserialize(from).map(|PlainValue(value)| value)
}

/// For a member of a type that is read: its value, if it has one.
///
/// # Errors
///
/// The reader's.
pub fn optional<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    let value = Option::<PlainValue>::deserialize(from)?;
    Ok(value.map(|PlainValue(value)| value))
}

/// As [`optional`], of a list.
///
/// # Errors
///
/// The reader's.
pub fn list<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Value>, D::Error> {
    let values = Vec::<PlainValue>::deserialize(from)?;
    Ok(values.into_iter().map(|PlainValue(value)| value).collect())
}

/// As [`list`], if there is one.
///
/// # Errors
///
/// The reader's.
pub fn optional_list<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<Value>>, D::Error> {
    let values = Option::<Vec<PlainValue>>::deserialize(from)?;
    Ok(values.map(|values| values.into_iter().map(|PlainValue(value)| value).collect()))
}

struct PlainVisitor;

impl<'de> Visitor<'de> for PlainVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(PlainValue(item)) = from.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some((key, PlainValue(value))) = from.next_entry()? {
            members.insert(key, value);
        }
        Ok(Value::Object(members))
    }
}

/// Text in text, so many times, which the library's own value reads without an end to the nesting.
#[cfg(any(test, feature = "testing"))]
pub fn nested_texts(times: usize) -> String {
    (0..times).fold("1".to_owned(), |inner, _| {
        let text = inner.replace('\\', "\\u005c").replace('"', "\\u0022");
        let object = format!("{{\"{RAW_TEXT}\":\"{text}\"}}");
        format!("{}{object}{}", "[".repeat(100), "]".repeat(100))
    })
}

/// The name that `serde_json` gives to the raw text of a value.
pub(crate) const RAW_TEXT: &str = "$serde_json::private::RawValue";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_read_as_the_library_does() {
        for text in [
            "null",
            "[true,false,-1,18446744073709551615,1.5,1e300]",
            r#"{"b":{"a":"\u0000\ud83d\ude00"},"a":[{},[]],"b":2}"#,
            " 7 ",
        ] {
            let value: Value = serde_json::from_str(text).unwrap();
            assert_eq!(PlainValue::of(text).unwrap(), value);
            assert_eq!(
                serde_json::from_value::<PlainValue>(value.clone())
                    .unwrap()
                    .0,
                value
            );
        }
        for text in ["", "[", "7 7", "{\"a\"}", "1e999", "\"\\ud800\""] {
            assert!(PlainValue::of(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_librarys_name_for_raw_text_is_a_key_like_any_other() {
        let written = format!(r#"{{"a":{{"{RAW_TEXT}":"[1]"}}}}"#);
        let value = PlainValue::of(&written).unwrap();
        assert_eq!(value["a"], json!({RAW_TEXT: "[1]"}));
        assert_eq!(value.to_string(), written);
        assert!(names_raw_text(&value));
        // The library itself would not come back from this.
        let nested = PlainValue::of(&nested_texts(200)).unwrap();
        assert!(nested.is_array() && names_raw_text(&nested));
        assert!(!names_raw_text(&json!({"a": [RAW_TEXT, {"b": RAW_TEXT}]})));
    }
}
