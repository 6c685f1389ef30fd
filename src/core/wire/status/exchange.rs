//! [`ExchangeStatus`]: two agents that have answered each other for too long without their person.

use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::id::{EntryId, RuntimeSession};

/// What the agents of a pair say to each other waits for their person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExchangeStatus {
    /// The pair, where that is not the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pair: Option<RuntimeSession>,
    /// How often they answered each other before.
    pub answers: u32,
    /// How many messages wait.
    pub held: u64,
    /// The oldest of these.
    pub message: EntryId,
    /// Who is to get that.
    pub to: Agent,
    /// When it was sent, ms since the epoch.
    pub at: i64,
}

impl ExchangeStatus {
    /// A sentence for people, without how to let it go on.
    pub fn told(&self) -> String {
        let who = match &self.pair {
            Some(pair) => format!("Claude and Codex ({pair})"),
            None => "Claude and Codex".to_owned(),
        };
        let waits = match self.held {
            1 => "1 message waits".to_owned(),
            held => format!("{held} messages wait"),
        };
        let times = self.answers;
        format!("{who} answered each other {times} times without you: {waits}")
    }
}
