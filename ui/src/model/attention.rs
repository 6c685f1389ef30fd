//! States of an agent that may need the operator: [`Silence`], [`UsageLimit`].

/// What is made of a turn's silence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SilenceLevel {
    /// Nothing for a while.
    Quiet,
    /// Nothing for as long as is usual at most.
    Suspect,
    /// Nothing for twice that.
    Stuck,
}

impl SilenceLevel {
    /// The word beside the glyph.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Quiet => "quiet",
            Self::Suspect => "suspect",
            Self::Stuck => "stuck",
        }
    }
}

/// A turn that gives no sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Silence {
    /// What is made of it.
    pub level: SilenceLevel,
    /// Since when, ms since the epoch; time that it spent waiting for the human is left out.
    pub since_ms: i64,
    /// The operator has snoozed the alert until then, ms since the epoch.
    pub snoozed_until_ms: Option<i64>,
}

/// A usage limit that holds, as far as the operator wants to be told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageLimit {
    /// When it ends, ms since the epoch; `None` when the vendor has not said.
    pub resets_ms: Option<i64>,
    /// When it is tried by itself, ms since the epoch.
    pub try_ms: Option<i64>,
    /// Tries since a turn last worked.
    pub tries: u32,
    /// How many there are at most in a row.
    pub tries_max: u32,
    /// How many messages are then sent again.
    pub again: u32,
    /// The operator has taken the tries over.
    pub is_cancelled: bool,
}
