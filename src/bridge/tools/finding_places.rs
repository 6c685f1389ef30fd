//! [`places_now`]: where findings of reviews are in the current work tree, as agents are told. A
//! review names the line in its own commit.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use super::call::ToolCall;
use crate::core::id::FindingId;
use crate::core::review::FindingPlace;
use crate::wire::control::{Command, PlacedFinding, ReadFindingPlacesParams};

/// How long an agent waits for git.
const WAIT: Duration = Duration::from_secs(3);

/// Where these findings stand, or those that are named as blockers where none is asked for. None that
/// cannot be told in time: what the reviews say is told without it too.
pub(super) async fn places_now(call: &ToolCall, findings: Vec<FindingId>) -> Vec<PlacedFinding> {
    let asked = Command::ReadFindingPlaces(ReadFindingPlacesParams { findings });
    let places = timeout(WAIT, call.ask_for(asked)).await;
    places.ok().and_then(Result::ok).unwrap_or_default()
}

/// Puts it into what is told of a finding.
pub(super) fn put_place(told: &mut Value, place: &FindingPlace) {
    told["line_fate"] = json!(place.fate);
    told["line_now"] = json!(place.line_now);
    if let Some(start) = place.start_now {
        told["start_now"] = json!(start);
    }
}
