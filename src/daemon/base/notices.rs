//! [`Notices`]: what the operator should know at the moment.

use std::collections::BTreeMap;

use crate::wire::status::NoticeKey;

/// Sentences for the operator that hold now, in the order of their keys: the deck has one line for
/// them. Each has its own key, so a repeated fault is one sentence and not a flood.
#[derive(Debug, Clone, Default)]
pub struct Notices(BTreeMap<NoticeKey, String>);

impl Notices {
    /// Says it. Returns whether it is new.
    pub fn set(&mut self, key: NoticeKey, text: impl Into<String>) -> bool {
        let text = text.into();
        self.0.insert(key, text.clone()).as_ref() != Some(&text)
    }

    /// It is over. Returns whether it was there.
    pub fn clear(&mut self, key: &NoticeKey) -> bool {
        self.0.remove(key).is_some()
    }

    pub fn has(&self, key: &NoticeKey) -> bool {
        self.0.contains_key(key)
    }

    /// All of them.
    pub fn lines(&self) -> Vec<String> {
        self.0.values().cloned().collect()
    }

    /// Their keys, in the same order.
    pub fn keys(&self) -> Vec<NoticeKey> {
        self.0.keys().cloned().collect()
    }
}
