//! Delivery as pure state machines: how a recorded message reaches its receiver.
//!
//! ```text
//! recorded ─► queued ─► attempted ─► offered ─► confirmed
//!                ▲          │            │
//!                └──────────┴────────────┘  the receiver is known not to have it
//!                           └─► ambiguous   nobody can know; only the operator sends it again
//! ```
//!
//! - [`Delivery`]: one message, and [`DeliveryFact`], what can happen to it; [`Shown`]: what of
//!   its text the model was given.
//! - [`Backlog`]: all that are not settled, in the order of the record.
//! - [`MessageCursor`]: a place in what an agent fetches.
//! - [`CodexFlow`]: the lane to Codex, one message in flight; [`CodexState`]: what Codex does.
//! - [`Ladder`]: the ways to Claude, chosen by proof; [`Load`]: how much one hook hands over.
//! - [`ClaudeState`]: what Claude does.
//! - [`Watchdog`]: a turn that has fallen silent.
//! - [`Limit`]: an agent at its usage limit, and when it is tried again.
//! - [`Admissions`]: the same handoff asked for twice.
//! - [`DeliveryEffect`]: what a machine wants done, in this order; [`HeldEffects`]: what of it waits
//!   for rows to be on the disk; [`RowsAhead`]: rows that are written beside their messages;
//!   [`leaves`], [`stays`]: what becomes of it then; [`LaterInputs`]: what the machines hear of that.
//!
//! Knows no clock, no disk and no agent: time and fresh ids come in as a [`Moment`]. Facts may
//! arrive late, twice, out of order, or from an app-server or bridge that is gone.

mod admission;
mod backlog;
mod claude;
mod codex;
mod delivery_way;
mod effect;
mod held;
mod held_effects;
mod ladder;
mod later_inputs;
mod leaving;
mod limit;
mod load;
mod page;
pub mod recovery;
mod row;
mod rows_ahead;
mod shown;
mod watchdog;
mod way;

#[cfg(test)]
mod tests;

pub use admission::{Admission, Admissions};
pub use backlog::{Backlog, LANE_MAX, Moved, Restored};
pub use claude::{ClaudeChange, ClaudeInput, ClaudeSetting, ClaudeState, ClaudeStep};
pub use codex::{
    Activity, AdapterAnswer, CarriedFlow, CodexFlow, CodexInput, CodexState, CodexTerms,
};
pub use delivery_way::DeliveryWay;
pub use effect::{DeliveryEffect, Moment};
pub use held::Held;
pub use held_effects::{HeldEffect, HeldEffects, HeldTooMuch};
pub use ladder::{HookPoint, Ladder, LadderInput, LadderMode, LadderTerms, Rung};
pub use later_inputs::{LaterInput, LaterInputs};
pub use leaving::{leaves, stays};
pub use limit::{Checked, Limit, LimitInput, LimitMode, LimitStep, LimitTerms, Spoken};
pub use load::{BEGINNING_CHARS, Fit, Load};
pub use page::{CutMessage, MessageCursor, page_order};
pub use row::{Delivery, DeliveryFact};
pub use rows_ahead::{RowsAhead, RowsDue};
pub use shown::Shown;
pub use watchdog::{Watchdog, Watched};
pub use way::{Way, way};

use serde::{Deserialize, Serialize};

/// What the sender wants when the receiver is working.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum OnBusy {
    /// Wait for the receiver's next turn.
    #[default]
    Queue,
    /// Join the turn that runs.
    Steer,
    /// Do not send.
    Reject,
}

impl OnBusy {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Steer => "steer",
            Self::Reject => "reject",
        }
    }
}

/// What a sender is told about its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It is in the turn that runs.
    JoinedActiveWork,
    /// A turn began with it.
    StartedNewTurn,
    /// The receiver fetched it before the sender was answered.
    DeliveredLive,
    /// It is recorded and will be delivered.
    QueuedForNextTurn,
    /// It was refused and will not be delivered.
    Rejected,
    /// It may or may not have arrived.
    Ambiguous,
}

impl Outcome {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::JoinedActiveWork => "joined_active_work",
            Self::StartedNewTurn => "started_new_turn",
            Self::DeliveredLive => "delivered_live",
            Self::QueuedForNextTurn => "queued_for_next_turn",
            Self::Rejected => "rejected",
            Self::Ambiguous => "ambiguous",
        }
    }
}

/// Where a message stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    /// Waits for its receiver.
    Queued,
    /// An attempt began; whether it reached the receiver is not known yet.
    Attempted,
    /// The receiver's side took it, without proof that the model has it.
    Offered,
    /// Proven.
    Confirmed,
    /// Refused.
    Rejected,
    /// Waited too long.
    Expired,
    /// Unknown for good.
    Ambiguous,
    /// Taken back by the operator.
    Cancelled,
}

impl std::fmt::Display for DeliveryState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

impl DeliveryState {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Attempted => "attempted",
            Self::Offered => "offered",
            Self::Confirmed => "confirmed",
            Self::Rejected => "rejected",
            Self::Expired => "expired",
            Self::Ambiguous => "ambiguous",
            Self::Cancelled => "cancelled",
        }
    }

    /// The state with this word.
    pub fn parse(word: &str) -> Option<Self> {
        [
            Self::Queued,
            Self::Attempted,
            Self::Offered,
            Self::Confirmed,
            Self::Rejected,
            Self::Expired,
            Self::Ambiguous,
            Self::Cancelled,
        ]
        .into_iter()
        .find(|state| state.as_str() == word)
    }

    /// Whether nothing more happens by itself.
    pub fn is_final(self) -> bool {
        matches!(
            self,
            Self::Confirmed | Self::Rejected | Self::Expired | Self::Cancelled
        )
    }
}
