//! [`judge`]: decides what became of a message whose delivery nobody saw.
//!
//! A message in the thread's history is delivered, even when its turn was interrupted: Codex has it
//! in its context. This is about the others.
//!
//! Pure. An answer to `thread/queue/add` proves nothing: the app-server deletes the queue's row
//! before the user message is durable, and a kill in between (10-30 ms) loses the message. After
//! `item/completed` of the user message nothing was ever lost (Codex 0.169.0, observed: 0 of 24,
//! against 28 of 29 in the gap). It does not recognise an id that it has seen, so sending again
//! needs certainty.

use serde::{Deserialize, Serialize};

/// Looks at an idle thread that must agree before a message counts as not taken. Between the
/// queue's row and the durable message there is a moment in which neither can be seen.
const LOOKS_MIN: u8 = 2;

/// The same for a message that was in the queue before the thread was resumed: its delivery has
/// begun, or will.
pub const LOOKS_MIN_QUEUED: u8 = 6;

/// Looks at an idle thread, in a row, that Codex did not let see everything: after so many somebody
/// is told that it is not known.
pub const LOOKS_BLIND: u8 = 6;

/// What reading the thread showed about a message that is not in its history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sight {
    /// It waits in the queue.
    pub in_queue: bool,
    /// No turn runs.
    pub idle: bool,
    /// Both queue and history were seen: a message that is in neither is not there.
    pub whole: bool,
}

/// What is remembered between reads of the thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unconfirmed {
    /// It was seen in the queue since the connection was lost.
    pub was_queued: bool,
    /// Reads in a row that found it nowhere while the thread was idle.
    pub looks: u8,
    /// Reads in a row, of an idle thread, in which Codex did not show its queue or its history.
    #[serde(default)]
    pub blind: u8,
}

impl Unconfirmed {
    /// Whether it was told that nobody knows what became of it.
    pub fn is_given_up(&self) -> bool {
        self.blind >= LOOKS_BLIND
    }
}

/// The fate of a message that is not in the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryVerdict {
    /// It is in the queue, and will be delivered without us.
    StillQueued,
    /// It is certainly not there.
    NotTaken,
    /// Wait for the running turn, or for a moment.
    LookAgain,
    /// Codex does not say.
    Unknown,
}

/// Judges one message and updates what is remembered.
pub fn judge(unconfirmed: &mut Unconfirmed, sight: Sight) -> RecoveryVerdict {
    if sight.in_queue {
        *unconfirmed = Unconfirmed {
            was_queued: true,
            ..Unconfirmed::default()
        };
        return RecoveryVerdict::StillQueued;
    }
    if !sight.idle {
        // It may be on its way into the turn that runs.
        unconfirmed.looks = 0;
        return RecoveryVerdict::LookAgain;
    }
    if !sight.whole {
        // Sent again without certainty it would come twice.
        unconfirmed.looks = 0;
        unconfirmed.blind = unconfirmed.blind.saturating_add(1);
        return if unconfirmed.is_given_up() {
            RecoveryVerdict::Unknown
        } else {
            RecoveryVerdict::LookAgain
        };
    }
    unconfirmed.blind = 0;
    unconfirmed.looks = unconfirmed.looks.saturating_add(1);
    let needed = if unconfirmed.was_queued {
        LOOKS_MIN_QUEUED
    } else {
        LOOKS_MIN
    };
    if unconfirmed.looks >= needed {
        RecoveryVerdict::NotTaken
    } else {
        RecoveryVerdict::LookAgain
    }
}
