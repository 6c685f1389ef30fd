//! [`ContextFill`]: how full an agent's context is, and how long it lasts.

use serde::{Deserialize, Serialize};

use crate::word::words;

words! {
    /// Where a figure comes from.
    pub enum ContextSource {
        /// The vendor tells it while the agent works.
        Vendor = "vendor",
        /// The vendor's own transcript of the conversation.
        Transcript = "transcript",
        /// What the vendor gives to the person's status line.
        StatusLine = "statusline",
        /// A table of ours, by the model's name.
        Table = "table",
    }
}

/// How full a context is. What is not known is `None`; figures are tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ContextFill {
    /// In the context now.
    pub used: Option<u64>,
    /// What fits into it.
    pub window: Option<u64>,
    /// `used` of `window`, rounded down. More than 100 where the vendor says so.
    pub percent: Option<u64>,
    /// Where `used` comes from.
    pub source: Option<ContextSource>,
    /// Where `window` comes from.
    pub window_source: Option<ContextSource>,
    /// When `used` was read, ms since the epoch.
    pub at: Option<i64>,
    /// For how many more turns there is room, if they grow as the last ones did.
    pub turns_left: Option<u64>,
    /// How many tokens the vendor compacts at: reckoned from the window.
    pub compacts_at: Option<u64>,
    /// Compactions that were seen since the daemon started.
    pub compactions: u64,
    /// Since when it is as full as the operator wants to be told of (`continuity.warnPercent`), ms
    /// since the epoch.
    pub nearly_full_since: Option<i64>,
}
