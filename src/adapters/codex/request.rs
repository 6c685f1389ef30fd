//! [`CodexRequest`]: what the daemon asks the Codex adapter to do.

use tokio::sync::oneshot;

use super::attempted_message::AttemptedMessage;
use super::passed::Passed;
use crate::core::delivery::{Checked, OnBusy};
use crate::core::id::{AttemptId, EntryId, ThreadId, TurnId};

/// What the daemon asks of the adapter. Answers come as facts unless a reply channel is named.
#[derive(Debug)]
pub enum CodexRequest {
    /// Have the app-server run and a thread ready.
    Ensure {
        /// The thread, or a sentence with the next step.
        reply: oneshot::Sender<Result<ThreadId, String>>,
    },
    /// Hand over one message; one at a time, the daemon waits for the outcome.
    Deliver {
        /// Becomes `clientUserMessageId`.
        message_id: EntryId,
        /// The text in its envelope.
        text: String,
        /// `Steer` joins the running turn when there is one; falls back to the queue on the
        /// precise races.
        on_busy: OnBusy,
        /// The turns that had it and ended early, before it was asked for once more: what the
        /// history shows of them is no proof of this attempt.
        cut_off_in: Vec<TurnId>,
        /// The conversation that it is meant for: none is sent into another one, where nobody would
        /// look for it after a crash.
        thread: Option<ThreadId>,
        /// For the log.
        attempt: AttemptId,
    },
    /// After a restart of the daemon: these were attempted before and have no proof. The adapter
    /// answers each with `UserMessage`, `StillQueued` or `NotTaken` by the recovery rule.
    Recover { messages: Vec<AttemptedMessage> },
    /// The turn that runs waits for this message, which lies in the app-server's queue, or nobody is to
    /// get it any more: take it out.
    /// Told by [`CodexFact::TakenBack`](super::fact::CodexFact::TakenBack); nothing is told, and
    /// nothing has changed, where it is in the queue no more.
    TakeBack { message_id: EntryId },
    /// Stop this turn, because the operator says so.
    Interrupt {
        /// The turn; another one is left alone.
        turn_id: TurnId,
        /// Done, or a sentence.
        reply: oneshot::Sender<Result<(), String>>,
    },
    /// Compact the context of the visible thread, because the operator says so. Refused while
    /// anything runs or is on its way there: it would be cut off.
    Compact {
        /// It begins, or a sentence; then [`CodexFact::NotCompacted`](super::fact::CodexFact::NotCompacted)
        /// was told before.
        reply: oneshot::Sender<Result<(), String>>,
    },
    /// Answer what Codex asks the person, because the operator says so.
    AnswerApproval {
        request_id: String,
        choice: String,
        /// It was sent, or a sentence. What came of it is told by
        /// [`CodexFact::ApprovalResolved`](super::fact::CodexFact::ApprovalResolved).
        reply: oneshot::Sender<Result<(), String>>,
    },
    /// Have the app-server's queue go on, which is held since the human stopped a turn, because the
    /// operator says so. Only a message of ours is begun with.
    ReleaseQueue,
    /// Give the visible thread what the record holds of Codex's work. What became of it is told by
    /// [`CodexFact::PacketGiven`](super::fact::CodexFact::PacketGiven) and
    /// [`CodexFact::PacketNotGiven`](super::fact::CodexFact::PacketNotGiven).
    Inject {
        packet_id: EntryId,
        text: String,
        /// Our hook is about to give it: it is put in only where the hook did not.
        by_hook: bool,
    },
    /// A previous daemon was about to give this packet: find out whether the thread holds it.
    FindPacket {
        packet_id: EntryId,
        /// Of its text, in lower-case hex.
        sha256: String,
    },
    /// Ask the vendor whether the usage limit still holds. Dropped unanswered when it cannot be
    /// asked.
    AskLimit {
        /// What it says.
        reply: oneshot::Sender<Checked>,
    },
    /// Stop the app-server (SIGTERM, 2 s, SIGKILL) and do not restart it before the next request. No
    /// `turn/interrupt`: it would hold the queue over the restart.
    Stop {
        /// It is gone.
        reply: oneshot::Sender<()>,
    },
    /// Another process goes on with what runs: leave the app-server, its thread and the terminals
    /// as they are, and end. Every fact has been told when the channel of the facts ends.
    Release {
        /// What is left.
        reply: oneshot::Sender<Passed>,
    },
}
