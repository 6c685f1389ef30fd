//! [`Notices`]: what the operator should know now.

use std::collections::BTreeMap;

/// The keys of what others must not hide: the record is not as it should be, or takes less.
const URGENT: [&str; 5] = [
    "alarm",
    "disk",
    "ledger_unwritable",
    "long_texts",
    "touched",
];

/// Sentences for the operator that hold now; each under its own key, so that a repeated fault is
/// one line and not a flood.
#[derive(Debug, Default)]
pub struct Notices(BTreeMap<&'static str, String>);

impl Notices {
    /// Says it. Returns whether it is new.
    pub fn set(&mut self, key: &'static str, text: impl Into<String>) -> bool {
        let text = text.into();
        self.0.insert(key, text.clone()).as_ref() != Some(&text)
    }

    /// It is over. Returns whether it was there.
    pub fn clear(&mut self, key: &'static str) -> bool {
        self.0.remove(key).is_some()
    }

    /// All of them, the urgent ones first: the deck has one line for them.
    pub fn lines(&self) -> Vec<String> {
        self.in_order().map(|(_, text)| text.clone()).collect()
    }

    /// Their keys, in the same order.
    pub fn keys(&self) -> Vec<String> {
        self.in_order().map(|(key, _)| (*key).to_owned()).collect()
    }

    fn in_order(&self) -> impl Iterator<Item = (&&'static str, &String)> {
        let is_urgent = |key: &&'static str| URGENT.contains(key);
        let (urgent, others): (Vec<_>, Vec<_>) = self.0.iter().partition(|(key, _)| is_urgent(key));
        urgent.into_iter().chain(others)
    }
}
