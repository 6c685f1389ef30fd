//! [`QueueRow`]: a message on its way, or one that lost its turn.

use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::delivery::DeliveryState;
use crate::entry::OnBusy;
use crate::id::{EntryId, RuntimeSession};
use crate::snapshot::Snapshot;
use crate::word::OpenWord;

/// See [`QueueRow::cut_off`].
const CUT_OFF: &str = "cut_off";

/// One row of the outbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueRow {
    /// The message.
    pub id: EntryId,
    /// Its receiver.
    pub to: Agent,
    /// Where it stands.
    pub state: OpenWord<DeliveryState>,
    /// How often it was tried.
    pub attempts: u32,
    /// How long ago it was sent, in ms; negative where the clock was ahead then.
    pub age_ms: i64,
    /// What to do when the receiver works.
    #[serde(rename = "onBusy")]
    pub on_busy: OnBusy,
    /// The pair whose Claude gets it, where that is not the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pair: Option<RuntimeSession>,
    /// The agents answered each other for too long without their person, who lets it go on.
    #[serde(
        default,
        rename = "waitsForYou",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub waits_for_you: bool,
    /// Nobody waits any more for what it asks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closed: bool,
}

impl QueueRow {
    /// The pair of a receiver as a row names it.
    pub fn named_pair(to: Agent, pair: &RuntimeSession) -> Option<RuntimeSession> {
        let is_named = to == Agent::Claude && *pair != RuntimeSession::default();
        is_named.then(|| pair.clone())
    }

    /// The state of a message that its receiver has, and whose turn ended early: the queue has no
    /// word for it.
    pub fn cut_off() -> OpenWord<DeliveryState> {
        OpenWord::Other(CUT_OFF.to_owned())
    }

    /// Whether its receiver has it, and its turn ended early.
    pub fn is_cut_off(&self) -> bool {
        matches!(&self.state, OpenWord::Other(word) if word == CUT_OFF)
    }

    /// The rows of those that Codex has, oldest first.
    pub fn of_cut_off(world: &Snapshot, now_ms: i64) -> Vec<Self> {
        let mut cut_off: Vec<_> = world.cut_off.iter().collect();
        cut_off.sort_by_key(|(_, message)| message.seq);
        let rows = cut_off.into_iter().map(|(id, message)| Self {
            id: id.clone(),
            to: message.to,
            state: Self::cut_off(),
            attempts: 0,
            age_ms: now_ms - message.at_ms,
            on_busy: message.on_busy,
            pair: None,
            waits_for_you: false,
            closed: message.closed,
        });
        rows.collect()
    }

    /// Whether the operator can take it back now. What was handed to Claude and not acknowledged
    /// is unread; what is on its way to Codex cannot be called back.
    pub fn can_be_removed(to: Agent, state: DeliveryState) -> bool {
        match state {
            DeliveryState::Queued | DeliveryState::Ambiguous | DeliveryState::Confirmed => true,
            DeliveryState::Attempted => to == Agent::Claude,
            _ => false,
        }
    }

    /// Whether a rebuilt queue knows nothing of it any more, so that only the operator may have it
    /// sent again.
    pub fn becomes_ambiguous(state: DeliveryState) -> bool {
        !matches!(state, DeliveryState::Ambiguous | DeliveryState::Confirmed)
    }
}
