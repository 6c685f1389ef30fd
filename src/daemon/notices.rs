//! [`Notices`]: what the operator should know now.

use std::collections::BTreeMap;

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

    /// Whether it holds now.
    pub fn has(&self, key: &'static str) -> bool {
        self.0.contains_key(key)
    }

    /// All of them.
    pub fn lines(&self) -> Vec<String> {
        self.0.values().cloned().collect()
    }
}
