//! [`SeenClaude`]: the process of a pair's Claude, as last recorded; [`cut_off_turns`]: turns that
//! no process works on any more, if no daemon runs.

use std::sync::Arc;
use std::time::Duration;

use crate::adapters::process::age;
use crate::core::agent::Agent;
use crate::core::delivery::DeliveryWay;
use crate::core::id::EntryId;
use crate::core::snapshot::{MessageSnapshot, Snapshot};

/// How far the clock may have been set since the record was written.
const CLOCK_SLACK: Duration = Duration::from_secs(60);

/// A Claude whose process the record names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) struct SeenClaude {
    /// Its process.
    pub(in crate::cli) pid: u32,
    /// When the record named it last, ms since the epoch.
    pub(in crate::cli) at_ms: i64,
}

impl SeenClaude {
    /// Whether it is still open: a process of this id runs, and did so when the record named it. One
    /// that has begun since has the id of a Claude that is gone.
    pub(in crate::cli) fn is_open(self, now_ms: i64) -> bool {
        let since = u64::try_from(now_ms.saturating_sub(self.at_ms)).unwrap_or(0);
        age(self.pid).is_some_and(|age| age + CLOCK_SLACK >= Duration::from_millis(since))
    }
}

/// Takes in what the next daemon says at its start: the messages of turns that went with the one
/// before are cut off. What a Claude that is open lost before, the queue alone knows.
pub(in crate::cli) fn cut_off_turns(world: &mut Snapshot, now_ms: i64) {
    let in_turn = std::mem::take(&mut world.in_turn);
    let of_codex = in_turn.into_iter().map(|(id, (_, message))| (id, message));
    let of_codex = of_codex.filter(|(_, message)| !message.closed);
    let of_claude = left_unread(world, now_ms);
    world.cut_off.extend(of_codex.chain(of_claude));
}

/// What hooks handed into a turn of a Claude that is not open any more: no other turn reads it.
fn left_unread(world: &Snapshot, now_ms: i64) -> Vec<(EntryId, Arc<MessageSnapshot>)> {
    let claude = world.agent(Agent::Claude);
    let is_open = |message: &MessageSnapshot| {
        let status = claude.status(&message.pair());
        let seen = status.pid.map(|pid| SeenClaude {
            pid,
            at_ms: status.since_ms,
        });
        seen.is_some_and(|seen| seen.is_open(now_ms))
    };
    let unsettled = world.unsettled.iter();
    let handed = unsettled.filter(|(_, message)| {
        let by_hook = message.rung == Some(DeliveryWay::Hook);
        message.to == Agent::Claude && message.is_proven() && by_hook
    });
    let left = handed.filter(|(_, message)| !is_open(message));
    left.map(|(id, message)| (id.clone(), Arc::clone(message)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::text::words::now_ms;

    #[test]
    fn a_process_that_began_after_it_was_named_is_another_one() {
        let pid = std::process::id();
        let now_ms = now_ms();
        let is_open = |pid, at_ms| SeenClaude { pid, at_ms }.is_open(now_ms);
        assert!(is_open(pid, now_ms));
        assert!(!is_open(pid, 0));
        assert!(!is_open(u32::MAX, now_ms), "there is none");
    }
}
