//! [`Names`]: small numbers for the words that recur in entries, so that the index can tell an
//! entry's kind without reading it.

use serde::{Deserialize, Serialize};

/// The code of an entry that has no such word.
pub(super) const NONE: u8 = 0;

/// The code of a word that got none of its own: the entry itself has to be read.
pub(super) const OTHER: u8 = u8::MAX;

/// Longer words get no code: a ledger from elsewhere must not fill the memory with them.
const NAME_BYTES_MAX: usize = 64;

/// Words and their codes, in the order of their first appearance.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Names(Vec<String>);

impl Names {
    /// The code of a word, a new one if it has to be.
    pub(super) fn code(&mut self, name: Option<&str>) -> u8 {
        let Some(name) = name else { return NONE };
        let known = self.find(name);
        if known != OTHER || name.len() > NAME_BYTES_MAX {
            return known;
        }
        match u8::try_from(self.0.len() + 1) {
            Ok(code) if code != OTHER => {
                self.0.push(name.to_owned());
                code
            }
            _ => OTHER,
        }
    }

    /// The code of a word; [`OTHER`] when it has none.
    pub(super) fn find(&self, name: &str) -> u8 {
        let at = self.0.iter().position(|known| known == name);
        at.and_then(|at| u8::try_from(at + 1).ok()).unwrap_or(OTHER)
    }

    /// All words that have a code, with it.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u8, &str)> {
        (1..OTHER).zip(self.0.iter().map(String::as_str))
    }

    /// Whether every code in use stands for a word; a file may say otherwise.
    pub(super) fn is_sound(&self) -> bool {
        self.0.len() < usize::from(OTHER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_keeps_its_code_and_what_has_none_is_other() {
        let mut names = Names::default();
        assert_eq!(names.code(None), NONE);
        let note = names.code(Some("note"));
        assert_eq!(names.code(Some("note")), note);
        assert_ne!(names.code(Some("handoff")), note);
        assert_eq!(names.find("note"), note);
        assert_eq!(names.find("error"), OTHER);
        assert_eq!(names.code(Some(&"x".repeat(65))), OTHER);
    }

    #[test]
    fn words_without_end_take_bounded_memory() {
        let mut names = Names::default();
        for n in 0..1000 {
            names.code(Some(&n.to_string()));
        }
        assert!(names.is_sound());
        assert_eq!(names.find("253"), 254);
        assert_eq!(names.find("254"), OTHER);
    }
}
