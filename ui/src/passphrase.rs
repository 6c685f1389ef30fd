//! [`Passphrase`]: what the operator types, never shown, kept or logged.

use std::fmt;

use zeroize::Zeroizing;

/// The longest that is taken, in bytes. The room is there from the beginning: growing would leave
/// copies in memory.
const BYTES_MAX: usize = 1024;

/// A passphrase; overwritten in memory when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Passphrase(Zeroizing<String>);

impl Passphrase {
    /// Nothing typed yet.
    pub fn new() -> Self {
        Self(Zeroizing::new(String::with_capacity(BYTES_MAX)))
    }

    /// What was typed.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether nothing was typed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Types a text; control characters are left out, and what is beyond the longest that is taken.
    pub(crate) fn push(&mut self, text: &str) {
        for letter in text.chars().filter(|letter| !letter.is_control()) {
            if self.0.len() + letter.len_utf8() <= BYTES_MAX {
                self.0.push(letter);
            }
        }
    }

    /// Takes the last character back.
    pub(crate) fn pop(&mut self) {
        self.0.pop();
    }

    /// Takes all of it out.
    pub(crate) fn take(&mut self) -> Self {
        std::mem::take(self)
    }
}

impl Default for Passphrase {
    fn default() -> Self {
        Self::new()
    }
}

/// Tells nothing of it, not even how long it is.
impl fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passphrase")
    }
}
