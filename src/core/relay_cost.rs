//! [`RelayCost`]: how much text of ours an agent's model was given, apart from what others said to
//! it.

use serde::{Deserialize, Serialize};

/// Characters of a token, about: texts and JSON of ours in the vendors' own counts.
const CHARS_PER_TOKEN: u64 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CostSort {
    /// The descriptions of our tools.
    Tools,
    /// What is said of them, and rules of ours.
    Instructions,
    /// What stands around messages, and reminders.
    Envelopes,
    /// What the record holds of its work, and the rules of other files.
    Packets,
}

/// Characters of each sort, once for each time that a conversation took them in: a model reads them
/// again with every request, mostly from its vendor's cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct RelayCost {
    /// See [`CostSort::Tools`].
    pub tools: u64,
    /// See [`CostSort::Instructions`].
    pub instructions: u64,
    /// See [`CostSort::Envelopes`].
    pub envelopes: u64,
    /// See [`CostSort::Packets`].
    pub packets: u64,
}

impl RelayCost {
    /// So many characters more.
    pub fn add(&mut self, sort: CostSort, chars: u64) {
        let of = match sort {
            CostSort::Tools => &mut self.tools,
            CostSort::Instructions => &mut self.instructions,
            CostSort::Envelopes => &mut self.envelopes,
            CostSort::Packets => &mut self.packets,
        };
        *of = of.saturating_add(chars);
    }

    /// All of them.
    pub fn chars(&self) -> u64 {
        let parts = [self.tools, self.instructions, self.envelopes, self.packets];
        parts.into_iter().fold(0, u64::saturating_add)
    }

    /// Tokens, about.
    pub fn tokens_estimate(&self) -> u64 {
        self.chars().div_ceil(CHARS_PER_TOKEN)
    }
}

/// How long the texts are that an agent's model gets of our server when a conversation begins, in
/// characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ShownChars {
    /// Descriptions of tools.
    pub tools: u64,
    pub instructions: u64,
}
