//! [`QueueNames`]: the deck's name for a message on its way, and its first words.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::cli::connection::connect::Live;
use crate::cli::context::CliContext;
use crate::cli::offline::disk;
use crate::cli::text::words::short;
use crate::core::entry::{Entry, EntryKind, handoff_words};
use crate::core::id::{EntryId, Seq};
use crate::wire::control::{Command, EntryLine, QueueRow};

/// Of how many messages they are read, one by one: more are read on no screen.
pub(in crate::cli) const NAMED_MAX: usize = 500;

/// How many letters tell one message from another.
const WORDS_CHARS: usize = 60;

/// The number in a name as the deck shows it: `h8`, `#8`, or `8`.
pub fn numbered(name: &str) -> Option<Seq> {
    let digits = name.strip_prefix(['h', '#']).unwrap_or(name);
    digits.parse().ok().map(Seq)
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueName {
    /// `h8` for a handoff, else its number.
    pub name: String,
    /// Where its text begins; of one that hands a task over, its title.
    pub words: String,
}

impl QueueName {
    fn of(entry: &Entry) -> Self {
        let (mark, text) = match entry.kind {
            EntryKind::Handoff(_) => ("h", handoff_words(&entry.source, &entry.content)),
            _ => ("", &*entry.content),
        };
        // A line of a table: of a longer text no more is looked at than fits.
        let begins: String = text.chars().take(4 * WORDS_CHARS).collect();
        let begins: Vec<&str> = begins.split_whitespace().collect();
        Self {
            name: format!("{mark}{}", entry.seq),
            words: short(&begins.join(" "), WORDS_CHARS),
        }
    }
}

/// The names of messages, by their ids; of one whose entry cannot be read there is none.
#[derive(Debug, Clone, Default)]
pub struct QueueNames(HashMap<EntryId, QueueName>);

impl QueueNames {
    /// As the daemon reads them.
    pub async fn of_live(live: &Live, rows: &[QueueRow]) -> Self {
        let mut names = HashMap::new();
        for row in rows.iter().take(NAMED_MAX) {
            let entry = entry(live, row.id.to_string()).await;
            names.extend(entry.map(|entry| (row.id.clone(), QueueName::of(&entry))));
        }
        Self(names)
    }

    /// As they stand in the record, where no daemon runs.
    pub fn from_disk(context: &CliContext, rows: &[QueueRow]) -> Self {
        let Ok(Some(reading)) = disk::current_reading(&context.project) else {
            return Self::default();
        };
        let named = rows.iter().take(NAMED_MAX).filter_map(|row| {
            let seq = reading.seq_of(&row.id).ok()??;
            let stored = reading.read(seq).ok()??;
            Some((row.id.clone(), QueueName::of(&stored.entry)))
        });
        Self(named.collect())
    }

    /// Of this message.
    pub fn get(&self, id: &EntryId) -> Option<&QueueName> {
        self.0.get(id)
    }

    /// Rows as JSON, each with its name and words.
    pub fn values(&self, rows: &[QueueRow]) -> Vec<Value> {
        let value = |row: &QueueRow| {
            let mut value = json!(row);
            if let Some(QueueName { name, words }) = self.get(&row.id) {
                value["name"] = json!(name);
                value["begins"] = json!(words);
            }
            value
        };
        rows.iter().map(value).collect()
    }
}

/// The id of the entry that the deck calls so.
pub async fn id_of(live: &Live, name: &str) -> Option<EntryId> {
    let Seq(number) = numbered(name)?;
    Some(entry(live, number.to_string()).await?.id)
}

async fn entry(live: &Live, entry: String) -> Option<Entry> {
    let show = Command::LedgerShow {
        entry,
        full: false,
        placed: false,
    };
    let line: EntryLine = live.ask_for(show).await.ok()?;
    line.entry()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_the_deck_is_a_number_with_or_without_its_letter() {
        assert_eq!(numbered("h8"), Some(Seq(8)));
        assert_eq!(numbered("#8"), Some(Seq(8)));
        assert_eq!(numbered("1204"), Some(Seq(1204)));
        for name in ["h", "", "hh8", "01997b2e-8", "-8"] {
            assert_eq!(numbered(name), None, "{name}");
        }
    }
}
