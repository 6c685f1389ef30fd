//! Delivers a message to Codex.

use tokio::time::Instant;
use tracing::Instrument as _;

use crate::core::delivery::recovery::Unconfirmed;
use crate::core::delivery::{OnBusy, Way, way};
use crate::core::id::{EntryId, ThreadId, TurnId};
use crate::wire::codex::call::{
    INPUT_CHARS_MAX, QueueAdd, QueueStart, TextInput, TurnStart, TurnSteer,
};
use crate::wire::codex::frame::RpcError;

use super::super::fact::CodexFact;
use super::super::inflight::{Outgoing, Unproven};
use super::super::rpc::Lost;
use super::queue::has_no_queue;
use super::{CallError, PROOF_WAIT, Session};

/// Messages that wait for an idle thread, where there is no queue. The daemon hands over one at a
/// time.
const WAITING_MAX: usize = 16;

impl Session<'_> {
    /// Hands over one message, if the conversation is the one that it is meant for. What becomes of it is
    /// told by facts.
    pub(in super::super) async fn deliver(
        &mut self,
        message: Outgoing,
        on_busy: OnBusy,
        meant_for: Option<&ThreadId>,
    ) -> Result<(), Lost> {
        let Some(book) = &self.thread_state.visible else {
            self.not_taken(&message.id, "there is no thread to deliver it to")
                .await;
            return Ok(());
        };
        if meant_for.is_some_and(|thread| thread != book.thread_id()) {
            // It comes again, with the new one in its row.
            self.not_taken(&message.id, "the person goes on in another conversation")
                .await;
            return Ok(());
        }
        if is_longer(&message.text, INPUT_CHARS_MAX) {
            // Nor would the app-server stay on the line for one that is much longer.
            let why = format!("it has more than {INPUT_CHARS_MAX} characters");
            self.too_large(message.id, why).await;
            return Ok(());
        }
        if self.needs_sign_in {
            // Its turn would fail, and the message with it.
            self.not_taken(&message.id, "codex waits for somebody to sign in")
                .await;
            return Ok(());
        }
        let (thread_id, turn_id) = (book.thread_id().clone(), book.open_turn().cloned());
        match way(on_busy, self.is_idle(), turn_id.as_ref(), self.has_queue) {
            Way::Refuse => {
                self.not_taken(&message.id, "codex is working").await;
                Ok(())
            }
            Way::Steer(turn_id) => self.steer(message, thread_id, turn_id).await,
            Way::Enqueue | Way::Start | Way::Wait => self.enqueue(message, thread_id).await,
        }
    }

    async fn steer(
        &mut self,
        message: Outgoing,
        thread_id: ThreadId,
        turn_id: TurnId,
    ) -> Result<(), Lost> {
        let joins = Some(turn_id.clone());
        if !self.sent(&message, &thread_id, joins).await {
            return Ok(());
        }
        let id = message.id.clone();
        let steer = self
            .call(TurnSteer {
                thread_id: thread_id.to_string(),
                expected_turn_id: turn_id.to_string(),
                client_user_message_id: id.to_string(),
                input: TextInput::message(message.text.clone()),
            })
            .await;
        match steer {
            Err(CallError::Refused(error)) if is_too_late(&error) => {
                self.thread_state.inflight.remove(id.as_str());
                self.enqueue(message, thread_id).await
            }
            other => self.answered(id, other.map(|_| ())).await,
        }
    }

    async fn enqueue(&mut self, message: Outgoing, thread_id: ThreadId) -> Result<(), Lost> {
        if !self.has_queue {
            return self.wait_for_idle(message).await;
        }
        if !self.sent(&message, &thread_id, None).await {
            return Ok(());
        }
        let id = message.id.clone();
        let mut resubscribed = false;
        loop {
            let added = self
                .call(QueueAdd {
                    thread_id: thread_id.to_string(),
                    client_user_message_id: id.to_string(),
                    input: TextInput::message(message.text.clone()),
                })
                .await;
            match added {
                Err(CallError::Refused(error)) if has_no_queue(&error) => {
                    self.thread_state.inflight.remove(id.as_str());
                    self.has_queue = false;
                    return self.wait_for_idle(message).await;
                }
                Err(CallError::Refused(error)) if is_unloaded(&error) && !resubscribed => {
                    resubscribed = true;
                    // It was certainly not taken: nothing of it is to be found out.
                    self.thread_state.inflight.remove(id.as_str());
                    let again = self.resubscribe().await;
                    if again.is_err() || self.thread_state.thread_id() != Some(&thread_id) {
                        let why = "its conversation cannot be gone on with";
                        self.not_taken(&id, why).await;
                        return again;
                    }
                    if !self.sent(&message, &thread_id, None).await {
                        return Ok(());
                    }
                }
                other => {
                    self.answered(id, other.map(|_| ())).await?;
                    if self.thread_state.released {
                        self.release_queue().await?;
                    }
                    return Ok(());
                }
            }
        }
    }

    /// Has the visible thread's queue go on with the first of our messages in it, or with the next
    /// that is added. After the human stopped a turn the app-server holds its queue until their
    /// next one (Codex 0.169.0, observed).
    pub(in super::super) async fn release_queue(&mut self) -> Result<(), Lost> {
        // What waits follows a turn that runs.
        self.thread_state.released = self.is_idle();
        let Some(thread_id) = self.thread_state.thread_id().cloned() else {
            return Ok(());
        };
        if !self.thread_state.released
            || self.thread_state.inflight.on(&thread_id, false).is_empty()
        {
            return Ok(());
        }
        let (queue, _) = self.queue(&thread_id).await?;
        let ours = queue.into_iter().find(|submission| {
            let id = &submission.client_user_message_id;
            self.thread_state.inflight.contains(id)
        });
        let Some(ours) = ours.filter(|_| self.is_idle()) else {
            // None is in it: it is on its way into a turn, or was lost on it.
            self.expect_queued(&thread_id);
            return Ok(());
        };
        self.thread_state.released = false;
        let start = QueueStart {
            thread_id: thread_id.to_string(),
            queued_submission_id: ours.id,
        };
        match self.call(start).await {
            Ok(_) => Ok(()),
            // A turn begins just now, or the queue is not held any more: it goes on by itself.
            Err(CallError::Refused(error)) => {
                tracing::warn!(why = error.message, "codex did not let its queue go on");
                Ok(())
            }
            Err(CallError::Lost(lost)) => Err(lost),
        }
    }

    /// Without a queue: `turn/start` once the thread is idle. On a busy thread it would silently
    /// be a steer.
    async fn wait_for_idle(&mut self, message: Outgoing) -> Result<(), Lost> {
        if self.thread_state.waiting.len() >= WAITING_MAX {
            self.not_taken(&message.id, "too many messages wait for codex")
                .await;
            return Ok(());
        }
        self.thread_state.waiting.push_back(message);
        self.deliver_waiting().await
    }

    /// Starts a turn with the first of the waiting messages, if the thread is idle.
    pub(super) async fn deliver_waiting(&mut self) -> Result<(), Lost> {
        let idle = self.is_idle();
        let Some(book) = self
            .thread_state
            .visible
            .as_ref()
            .filter(|book| idle && book.open_turn().is_none())
        else {
            return Ok(());
        };
        let thread_id = book.thread_id().clone();
        if self.thread_state.inflight.is_awaited_on(&thread_id) {
            // The one before has not shown up yet; its turn is about to begin.
            return Ok(());
        }
        let Some(message) = self.thread_state.waiting.pop_front() else {
            return Ok(());
        };
        let following = message.following();
        self.start_turn(message, thread_id)
            .instrument(following)
            .await
    }

    async fn start_turn(&mut self, message: Outgoing, thread_id: ThreadId) -> Result<(), Lost> {
        if !self.sent(&message, &thread_id, None).await {
            return Ok(());
        }
        let Outgoing { id, text, .. } = message;
        let started = self
            .call(TurnStart {
                thread_id: thread_id.to_string(),
                client_user_message_id: id.to_string(),
                input: TextInput::message(text),
            })
            .await;
        self.answered(id, started.map(|_| ())).await
    }

    /// Notes a message before its first byte leaves. `false`: it must not leave.
    async fn sent(
        &mut self,
        message: &Outgoing,
        thread_id: &ThreadId,
        steered_into: Option<TurnId>,
    ) -> bool {
        let Outgoing {
            id,
            attempt,
            text,
            cut_off_in,
        } = message;
        if let Some(held) = self.thread_state.inflight.get_mut(id.as_str()) {
            let is_given_up = held
                .unconfirmed
                .as_ref()
                .is_some_and(Unconfirmed::is_given_up);
            if held.thread_id == *thread_id && !is_given_up {
                // It is asked for once more, and may be there: what became of it is told first.
                held.unconfirmed.get_or_insert_default();
                held.cut_off_in.clone_from(cut_off_in);
                held.attempt.clone_from(attempt);
                self.look_by(Instant::now());
                return false;
            }
            // Of a thread that was left behind, where nobody looks for it any more; or it cannot be
            // found out, and the sender that asks once more was told so.
            self.thread_state.inflight.remove(id.as_str());
        }
        let noted = self.thread_state.inflight.add(Unproven {
            id: id.clone(),
            attempt: attempt.clone(),
            thread_id: thread_id.clone(),
            text: Some(text.clone()),
            steered_into,
            unconfirmed: None,
            cut_off_in: cut_off_in.clone(),
            asked_back: false,
        });
        if noted {
            tracing::debug!(%thread_id, "offered to codex");
        } else {
            self.not_taken(id, "too many messages wait for their proof")
                .await;
        }
        noted
    }

    /// An idle thread has no reason to keep a message waiting, but may: after the human stopped a
    /// turn its queue is held until their next one. So it is looked at in a while.
    fn expect_proof(&mut self, id: &EntryId) {
        if self.is_idle()
            && let Some(message) = self.thread_state.inflight.get_mut(id.as_str())
        {
            message.unconfirmed = Some(Unconfirmed::default());
            self.look_by(Instant::now() + PROOF_WAIT);
        }
    }

    /// What is in the thread's queue follows the turn that ended. Where it has not come in a while it
    /// is looked for.
    pub(super) fn expect_queued(&mut self, thread_id: &ThreadId) {
        if self
            .thread_state
            .inflight
            .mark_queued_unconfirmed(thread_id)
        {
            self.look_by(Instant::now() + PROOF_WAIT);
        }
    }

    /// The unconfirmed messages are looked at then, or before.
    fn look_by(&mut self, when: Instant) {
        self.next_look = Some(self.next_look.map_or(when, |look| look.min(when)));
    }

    async fn answered(&mut self, id: EntryId, answer: Result<(), CallError>) -> Result<(), Lost> {
        // The proof may have come before the answer; then nothing is left to be said.
        let proven = !self.thread_state.inflight.contains(id.as_str());
        match answer {
            Ok(()) if !proven => {
                tracing::debug!("codex has queued it");
                self.expect_proof(&id);
                self.tell(CodexFact::Queued { message_id: id }).await;
            }
            Err(CallError::Refused(error)) if !proven && is_too_large(&error) => {
                self.thread_state.inflight.remove(id.as_str());
                self.too_large(id, error.message).await;
            }
            Err(CallError::Refused(error)) if !proven => {
                self.thread_state.inflight.remove(id.as_str());
                let why = format!("codex refused it: {}", error.message);
                self.not_taken(&id, &why).await;
            }
            Ok(()) | Err(CallError::Refused(_)) => {}
            Err(CallError::Lost(lost)) => {
                if !proven {
                    self.unanswered(&id).await;
                }
                return Err(lost);
            }
        }
        Ok(())
    }
}

/// The turn ended, another began, or it is of a kind that nobody can join.
fn is_too_late(error: &RpcError) -> bool {
    ["no active turn to steer", "expected active turn id"]
        .iter()
        .any(|start| error.message.starts_with(start))
        || error.message.contains("not steerable")
        || error.message.contains("cannot steer")
}

/// Its words say how many characters it may have; what it is stands beside them.
fn is_too_large(error: &RpcError) -> bool {
    const NAME: &str = "input_too_large";
    error.data["input_error_code"] == NAME || error.message.contains(NAME)
}

/// Whether a text has more characters than this. Bytes bound them from above.
fn is_longer(text: &str, chars_max: usize) -> bool {
    text.len() > chars_max && text.chars().nth(chars_max).is_some()
}

fn is_unloaded(error: &RpcError) -> bool {
    error.message.starts_with("thread not found")
}
