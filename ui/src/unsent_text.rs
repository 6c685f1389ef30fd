//! [`UnsentText`]: what the person wrote and did not send, shown when they leave the deck.

/// A text that was kept as a draft, or was being written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsentText {
    /// What it is, and to whom: `your message to Codex`.
    pub what: String,
    /// The person's own words.
    pub text: String,
}
