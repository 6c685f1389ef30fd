//! [`TrustCard`]: the configuration that has power and waits for the operator.

/// The part of a card that shows it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrustCard {
    /// Names what is shown, and comes back in the effect: nothing else is trusted.
    pub digest: String,
    /// The keys that wait.
    pub keys: Vec<WaitingKey>,
    /// Why the deck cannot trust it, and what can; `None`: it can.
    pub elsewhere: Option<String>,
}

/// A key that is not as it was trusted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WaitingKey {
    /// Its name, dotted.
    pub name: String,
    /// A remark on it; often empty.
    pub note: String,
    /// What differs, line by line; `true`: it is new.
    pub lines: Vec<(bool, String)>,
    /// What of it would not count as it stands there, a sentence each.
    pub warnings: Vec<String>,
}
