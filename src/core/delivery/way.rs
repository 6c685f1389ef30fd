//! [`way`]: the request by which a message goes to Codex.

use super::OnBusy;
use crate::id::TurnId;

/// The request by which a message is delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// `turn/steer` into exactly this turn.
    Steer(TurnId),
    /// `thread/queue/add`, on an idle or a busy thread.
    Enqueue,
    /// `turn/start`, if there is no queue and the thread is idle.
    Start,
    /// Nothing yet: there is no queue, and on a busy thread `turn/start` would silently be a
    /// steer (Codex 0.169.0, observed).
    Wait,
    /// No request at all: the sender does not want to wait.
    Refuse,
}

/// Chooses the request. `open_turn` is the turn that is known to run; a thread may be busy before
/// its turn is known.
pub fn way(on_busy: OnBusy, is_idle: bool, open_turn: Option<&TurnId>, has_queue: bool) -> Way {
    match (on_busy, open_turn) {
        (OnBusy::Reject, _) if !is_idle => Way::Refuse,
        (OnBusy::Steer, Some(turn)) => Way::Steer(turn.clone()),
        _ if has_queue => Way::Enqueue,
        (_, None) if is_idle => Way::Start,
        _ => Way::Wait,
    }
}
