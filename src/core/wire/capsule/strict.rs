//! [`parse`]: JSON as a value, without anything that two readers could interpret differently.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::BadCapsule;
use crate::hidden::letters;
use crate::plain_value::RAW_TEXT;
use crate::wire::beginning::beginning;

/// How deep values may lie in each other.
const DEPTH_MAX: usize = 16;

/// The longest key that a place names in full, in characters.
const KEY_CHARS_MAX: usize = 40;

/// Ledger lines are checked by their hashes, and must stay as they are.
const LINES: [&str; 2] = ["origin", "lines"];

/// The value of a text.
///
/// # Errors
///
/// Not JSON, a key twice, a number that is no integer, a character that no reader sees, or values
/// too deep in each other, with the place.
pub(super) fn parse(bytes: &[u8]) -> Result<Value, BadCapsule> {
    let text = std::str::from_utf8(bytes)
        .map_err(|bad| BadCapsule::new("", format!("no UTF-8 at byte {}", bad.valid_up_to())))?;
    // What a parser says of another file tells nobody what was expected.
    if !text.trim_start().starts_with(['{', '[']) {
        let why = format!(
            "no capsule: wanted is the JSON object that `ctxrelay capsule export` writes, and {}",
            beginning(text)
        );
        return Err(BadCapsule::new("", why));
    }
    let path = RefCell::default();
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Strict(&path).deserialize(&mut reader);
    let value = value.and_then(|value| reader.end().map(|()| value));
    value.map_err(|bad| BadCapsule::new(place(&path.borrow()), why(&bad)))
}

/// What is wrong, without the words of a parser that nobody here knows.
fn why(bad: &serde_json::Error) -> String {
    match bad.classify() {
        serde_json::error::Category::Eof => "it is cut off".to_owned(),
        _ => bad.to_string(),
    }
}

/// A step on the way to a value.
#[derive(Debug, Clone)]
enum Step {
    Key(String),
    Item(usize),
}

fn place(path: &[Step]) -> String {
    let mut place = String::new();
    for step in path {
        match step {
            Step::Key(key) => {
                if !place.is_empty() {
                    place.push('.');
                }
                let seen = letters(key).filter(|letter| !is_bad(letter));
                place.extend(seen.map(|(letter, _)| letter).take(KEY_CHARS_MAX));
            }
            Step::Item(at) => place.push_str(&format!("[{at}]")),
        }
    }
    place
}

/// The way to a value; it is not left when something is wrong there, so that it tells the place.
#[derive(Clone, Copy)]
struct Strict<'a>(&'a RefCell<Vec<Step>>);

impl Strict<'_> {
    fn is_line(self) -> bool {
        let path = self.0.borrow();
        let is =
            |at: usize, key: &str| matches!(path.get(at), Some(Step::Key(name)) if name == key);
        path.len() == 3 && is(0, LINES[0]) && is(1, LINES[1])
    }

    fn check_text<E: Error>(self, text: &str) -> Result<(), E> {
        match letters(text).find(is_bad) {
            Some((letter, _)) if !self.is_line() => Err(E::custom(format!(
                "a character that no reader sees, U+{:04X}",
                u32::from(letter)
            ))),
            _ => Ok(()),
        }
    }

    fn check_depth<E: Error>(self) -> Result<(), E> {
        match self.0.borrow().len() {
            0..DEPTH_MAX => Ok(()),
            _ => Err(E::custom(format!("deeper than {DEPTH_MAX} levels"))),
        }
    }
}

fn is_bad((letter, is_hidden): &(char, bool)) -> bool {
    (letter.is_control() && !matches!(letter, '\n' | '\t')) || *is_hidden
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of JSON")
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

    fn visit_f64<E: Error>(self, _: f64) -> Result<Value, E> {
        Err(E::custom("a number that is no integer"))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        self.check_text(text)?;
        Ok(Value::String(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        self.check_depth()?;
        let mut items = Vec::new();
        loop {
            self.0.borrow_mut().push(Step::Item(items.len()));
            let Some(item) = from.next_element_seed(self)? else {
                break;
            };
            self.0.borrow_mut().pop();
            items.push(item);
        }
        self.0.borrow_mut().pop();
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        self.check_depth()?;
        let mut members = Map::new();
        while let Some(key) = from.next_key::<String>()? {
            self.0.borrow_mut().push(Step::Key(key.clone()));
            self.check_text(&key)?;
            // What is read of this value later would read another one.
            if key == RAW_TEXT {
                return Err(A::Error::custom(
                    "a name that its readers keep for themselves",
                ));
            }
            if members.contains_key(&key) {
                return Err(A::Error::custom("it is there twice"));
            }
            let value = from.next_value_seed(self)?;
            self.0.borrow_mut().pop();
            members.insert(key, value);
        }
        Ok(Value::Object(members))
    }
}
