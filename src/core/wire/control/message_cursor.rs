//! [`MessageCursor`] as text: `4-9`, and `4-9/ID:400` within a message, 400 characters before its
//! end. A bare number is one too.

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};

use crate::delivery::{CutMessage, MessageCursor};
use crate::id::{EntryId, Seq};

/// It is not a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a cursor of an earlier result")]
pub struct NotACursor;

impl fmt::Display for MessageCursor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.after)?;
        if let Some(until) = self.until {
            write!(out, "-{until}")?;
        }
        if let Some(cut) = &self.cut {
            write!(out, "/{}:{}", cut.id, cut.rest)?;
        }
        Ok(())
    }
}

impl FromStr for MessageCursor {
    type Err = NotACursor;

    fn from_str(text: &str) -> Result<Self, NotACursor> {
        let (place, cut) = match text.split_once('/') {
            Some((place, cut)) => (place, Some(cut)),
            None => (text, None),
        };
        let (after, until) = match place.split_once('-') {
            Some((after, until)) => (after, Some(until)),
            None => (place, None),
        };
        let cut = cut.map(|cut| {
            let (id, rest) = cut.rsplit_once(':').ok_or(NotACursor)?;
            Ok(CutMessage {
                id: EntryId::new(id),
                rest: rest.parse().map_err(|_| NotACursor)?,
            })
        });
        Ok(Self {
            after: seq(after)?,
            until: until.map(seq).transpose()?,
            cut: cut.transpose()?,
        })
    }
}

fn seq(text: &str) -> Result<Seq, NotACursor> {
    text.parse().map(Seq).map_err(|_| NotACursor)
}

impl Serialize for MessageCursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for MessageCursor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// Models write a bare number without its quotes.
        #[derive(serde::Deserialize)]
        #[serde(untagged, expecting = "it is not a cursor of an earlier result")]
        enum Written {
            Text(String),
            Number(u64),
        }
        match Written::deserialize(deserializer)? {
            Written::Text(text) => text.parse().map_err(D::Error::custom),
            Written::Number(after) => Ok(Self {
                after: Seq(after),
                ..Self::default()
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_are_read_back_and_anything_else_is_refused() {
        let places = [
            MessageCursor::default(),
            MessageCursor {
                after: Seq(4),
                until: Some(Seq(9)),
                cut: None,
            },
            MessageCursor {
                after: Seq(4),
                until: None,
                cut: Some(CutMessage {
                    id: EntryId::new("01-98:aa/7"),
                    rest: 400,
                }),
            },
        ];
        for place in places {
            assert_eq!(place.to_string().parse(), Ok(place.clone()));
            let json = serde_json::to_string(&place).unwrap();
            assert_eq!(serde_json::from_str::<MessageCursor>(&json).unwrap(), place);
        }
        let bare: MessageCursor = serde_json::from_str("17").unwrap();
        assert_eq!(bare, "17".parse().unwrap());
        for text in [
            "",
            "x",
            "17-",
            "-4",
            "17-4-2",
            "17/",
            "17/m1",
            "17/m1:",
            "17/m1:x",
            "-1",
            "99999999999999999999",
        ] {
            assert!(text.parse::<MessageCursor>().is_err(), "{text}");
        }
    }
}
