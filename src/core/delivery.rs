//! Delivery as pure state machines: how a recorded message reaches its receiver.
//!
//! ```text
//! recorded ─► queued ─► attempted ─► offered ─► confirmed
//!                ▲          │            │
//!                └──────────┴────────────┘  the receiver is known not to have it
//!                           └─► ambiguous   nobody can know; only the operator sends it again
//! ```
//!
//! - [`Delivery`]: one message, and [`DeliveryFact`]: what can happen to it; [`Shown`]: what of its
//!   text the model was given.
//! - [`Backlog`]: all that are not settled, in the order of the record.
//! - [`MessageCursor`]: a position in the messages that an agent fetches.
//! - [`CodexFlow`]: the lane to Codex, one message in flight; [`CodexState`]: what Codex does.
//! - [`Ladder`]: the ways to Claude, chosen by proof; [`Load`]: how much one hook delivers.
//! - [`ClaudeState`]: what Claude does; [`EndedTurns`]: its turns whose words are still being read.
//! - [`Watchdog`]: detects a turn that has fallen silent.
//! - [`Limit`]: an agent at its usage limit, and when it is tried again.
//! - [`Admissions`]: detects that the same handoff is requested twice.
//! - [`DeliveryEffect`]: what a machine wants done, in this order; [`HeldEffects`]: effects that
//!   wait for rows to be on the disk; [`RowsAhead`]: rows that are written beside their messages;
//!   [`leaves`], [`stays`] and [`ClaimedTexts`]: what becomes of the effects then; [`LaterInputs`]:
//!   what the machines are told of that.
//!
//! Knows no clock, no disk and no agent: time and fresh ids come in as a [`Moment`]. Facts may
//! arrive late, twice, out of order, or from an app-server or bridge that is gone.

mod admission;
mod backlog;
mod claimed_texts;
mod claude;
mod codex;
mod effect;
mod ended_turns;
mod held;
mod held_effects;
mod ladder;
mod later_inputs;
mod leaving;
mod limit;
mod load;
mod offer;
mod page;
pub mod recovery;
mod row;
mod rows_ahead;
mod rung;
mod shown;
mod watchdog;
mod way;

#[cfg(test)]
mod tests;

pub use admission::{Admission, Admissions};
pub use backlog::{Backlog, LANE_MAX, LaneCounts, Moved, Restored};
pub use claimed_texts::ClaimedTexts;
pub use claude::{
    CarriedClaude, ClaudeChange, ClaudeInput, ClaudeSetting, ClaudeState, ClaudeStep,
    ClaudeTurnEnd, TurnEndSetting,
};
pub use codex::{
    Activity, AdapterAnswer, CarriedFlow, CodexFlow, CodexInput, CodexState, CodexTimeouts,
};
pub use effect::{DeliveryEffect, Moment};
pub use ended_turns::EndedTurns;
pub use held::Held;
pub use held_effects::{HeldEffect, HeldEffects, HeldTooMuch};
pub use ladder::{DeliveryMode, HookPoint, Ladder, LadderInput, LadderTimeouts, RungMessage};
pub use later_inputs::{LaterInput, LaterInputs};
pub use leaving::{leaves, stays};
pub use limit::{Checked, Limit, LimitInput, LimitMode, LimitPolicy, LimitStep, Spoken};
pub use load::{BEGINNING_CHARS, Fit, Load};
pub use page::{CutMessage, MessageCursor, page_order};
pub use row::{Delivery, DeliveryFact};
pub use rows_ahead::{RowsAhead, RowsDue};
pub use rung::Rung;
pub use shown::Shown;
pub use watchdog::{Watchdog, Watched};
pub use way::{Way, way};

pub use crate::entry::{DeliveryWay, OnBusy, Outcome};
use crate::word::words;

words! {
    /// Where a message stands.
    pub closed enum DeliveryState {
        /// Waits for its receiver.
        Queued = "queued",
        /// An attempt began; whether it reached the receiver is not known yet.
        Attempted = "attempted",
        /// The receiver's side took it, without proof that the model has it.
        Offered = "offered",
        /// Proven.
        Confirmed = "confirmed",
        /// Refused.
        Rejected = "rejected",
        /// Waited too long.
        Expired = "expired",
        /// Unknown for good.
        Ambiguous = "ambiguous",
        /// Taken back by the operator.
        Cancelled = "cancelled",
    }
}
