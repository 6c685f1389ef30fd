//! [`EntryLine`]: an entry as on disk, as a reply carries it.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::entry::Entry;
use crate::plain_value::PlainValue;
use crate::wire::line::{Stored, parse};

/// An entry as on disk. In the process that read it it is passed on as it is; JSON is made of it
/// where it leaves the process.
#[derive(Debug, Clone, PartialEq)]
pub enum EntryLine {
    /// Read in this process.
    Read {
        stored: Arc<Stored>,
        /// All of its text, where the line has a beginning only and all of it was asked for.
        whole: Option<String>,
    },
    /// What another process sent. One of another build may have sent what is no entry here.
    Sent(Value),
}

impl EntryLine {
    /// The entry, with all of its text where that is at hand; `None` for JSON that is none.
    pub fn entry(&self) -> Option<Entry> {
        match self {
            Self::Read { stored, whole } => {
                let mut entry = stored.entry.clone();
                if let Some(whole) = whole {
                    entry.content.clone_from(whole);
                }
                Some(entry)
            }
            Self::Sent(value) => {
                let text = serde_json::to_vec(value).ok()?;
                Some(parse(&text).ok()?.entry)
            }
        }
    }

    /// The line as JSON, with all of the text where that is at hand.
    pub fn into_value(self) -> Value {
        match self {
            Self::Read { stored, whole } => {
                let mut value = stored.to_value();
                if let Some(whole) = whole {
                    value["content"] = whole.into();
                }
                value
            }
            Self::Sent(value) => value,
        }
    }
}

impl From<Stored> for EntryLine {
    fn from(stored: Stored) -> Self {
        Self::Read {
            stored: Arc::new(stored),
            whole: None,
        }
    }
}

impl From<Value> for EntryLine {
    fn from(value: Value) -> Self {
        Self::Sent(value)
    }
}

impl Serialize for EntryLine {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Read {
                stored,
                whole: None,
            } => stored.serialize(serializer),
            Self::Read { .. } => self.clone().into_value().serialize(serializer),
            Self::Sent(value) => value.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for EntryLine {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        PlainValue::deserialize(deserializer).map(|PlainValue(value)| Self::Sent(value))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::wire::control::{EntryPage, Reply};

    /// As ContextRelay 3 may have written it: with spaces, and a letter as an escape.
    const LINE: &str = r#"{"schema":"v1", "id":"e1","timestamp":2,"sessionId":"s","type":"note",
        "source":"claude","content":"a \u0062eginning","noteKind":"note","x":1.50}"#;

    fn line(whole: Option<&str>) -> EntryLine {
        let entry = parse(LINE.as_bytes()).unwrap().entry;
        let stored = Stored {
            entry,
            line: LINE.to_owned(),
            hash: String::new(),
        };
        EntryLine::Read {
            stored: Arc::new(stored),
            whole: whole.map(str::to_owned),
        }
    }

    #[test]
    fn a_reply_leaves_the_process_as_the_json_of_its_lines() {
        let value: Value = serde_json::from_str(LINE).unwrap();
        let sent = Reply::Entry(line(None)).to_json().unwrap();
        let of = |value: &Value| json!({"kind": "entry", "value": value}).to_string();
        assert_eq!(sent.to_string(), of(&value));
        let mut long = value.clone();
        long["content"] = "a beginning and its end".into();
        let whole = line(Some("a beginning and its end"));
        assert_eq!(
            Reply::Entry(whole.clone()).to_json().unwrap().to_string(),
            of(&long)
        );
        assert_eq!(whole.clone().into_value(), long);
        let page = Reply::Entries(EntryPage {
            entries: vec![line(None), whole],
            places: vec![1, 2],
            ..EntryPage::default()
        });
        let sent = page.to_json().unwrap();
        let page = json!({"entries": [value, long], "places": [1, 2], "cursor": null});
        let page = json!({"kind": "entries", "value": page});
        assert_eq!(sent.to_string(), page.to_string());
    }

    #[test]
    fn an_entry_is_the_same_whether_it_was_read_here_or_sent() {
        for whole in [None, Some("a beginning and its end")] {
            let read = line(whole);
            let sent = Reply::Entry(read.clone()).to_json().unwrap();
            let Reply::Entry(got) = Reply::from_json(sent).unwrap() else {
                panic!("another reply");
            };
            assert!(matches!(got, EntryLine::Sent(_)), "{got:?}");
            assert_eq!(got.entry(), read.entry());
            assert_eq!(got.into_value(), read.into_value());
        }
        assert_eq!(EntryLine::from(json!({"content": "x"})).entry(), None);
    }
}
