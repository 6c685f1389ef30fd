//! Finds out what became of messages without proof.

use std::collections::HashSet;

use tokio::time::Instant;
use tracing::Instrument as _;

use crate::core::delivery::recovery::{RecoveryVerdict, Sight, judge};
use crate::core::entry::TurnStatus;
use crate::core::envelope::is_wrapped;
use crate::core::id::{EntryId, ThreadId};
use crate::wire::codex::call::{QueueDelete, ThreadTurnsList};
use crate::wire::codex::item::{Item, UserInput};
use crate::wire::codex::turn::Turn;

use super::super::attempted_message::AttemptedMessage;
use super::super::fact::CodexFact;
use super::super::rpc::Lost;
use super::super::thread_state::ThreadState;
use super::super::turns::TurnBook;
use super::rollout::hidden_message;
use super::seen::Seen;
use super::{CallError, LOOK_AGAIN, Session};

/// Turns of a page of history. Small, because a turn holds the output of its commands.
const TURNS_PAGE: u32 = 5;

/// Pages that are read in search of a message, newest first, at the most: it cannot be in a turn that
/// began before it was written.
const HISTORY_PAGES_MAX: usize = 100;

/// The clock of this machine may have been set back by so much since a message was written, s.
const CLOCK_SLACK_S: i64 = 3_600;

/// A turn with a message that was looked for.
struct FoundTurn {
    turn: Turn,
    /// No turn came after it, so it may be running.
    newest: bool,
}

/// What a search of the history brought.
#[derive(Default)]
struct History {
    /// Turns with messages that were looked for, oldest first.
    found: Vec<FoundTurn>,
    /// Ended turns without a user message, newest first.
    empty: Vec<String>,
    seen: Seen,
}

/// Whether all of these turns began before any of these messages was written.
fn are_older(turns: &[Turn], messages: &HashSet<&str>) -> bool {
    let written_s = messages.iter().map(|id| written_s(id));
    let Some(first_s) = written_s.min().flatten() else {
        return false;
    };
    let mut began_s = turns.iter().map(|turn| turn.started_at);
    !turns.is_empty()
        && began_s.all(|began_s| began_s.is_some_and(|began_s| began_s + CLOCK_SLACK_S < first_s))
}

/// When a message was written, s since the epoch: its id begins with that.
fn written_s(id: &str) -> Option<i64> {
    let (seconds, _) = uuid::Uuid::parse_str(id).ok()?.get_timestamp()?.to_unix();
    i64::try_from(seconds).ok()
}

impl Session<'_> {
    /// Answers for messages that an earlier daemon handed over, by the threads that they went to. One may
    /// be the visible one no more, whose history says nothing of them.
    pub(in super::super) async fn recover(
        &mut self,
        messages: Vec<AttemptedMessage>,
    ) -> Result<(), Lost> {
        let (mut threads, _) = self.thread_state.add_unconfirmed(messages);
        let visible = self.thread_state.thread_id();
        let visible = visible.filter(|visible| threads.contains(visible)).cloned();
        if let Some(visible) = visible {
            self.note_queued(&visible).await?;
            threads.retain(|thread| *thread != visible);
        }
        self.look().await?;
        for thread_id in threads {
            let queue_seen = self.take_back_queued(&thread_id).await?;
            let ids = self.thread_state.inflight.on(&thread_id, true);
            // What runs there is not watched: one that is not found may be about to show up.
            self.settle_on(&thread_id, &ids, queue_seen, false).await?;
        }
        Ok(())
    }

    /// Notes which unconfirmed messages are in the queue, before the thread is resumed: that starts
    /// their delivery. What is asked back is taken out of it.
    pub(super) async fn note_queued(&mut self, thread_id: &ThreadId) -> Result<(), Lost> {
        if self.thread_state.inflight.on(thread_id, true).is_empty() {
            return Ok(());
        }
        let (queue, seen) = self.queue(thread_id).await?;
        if seen == Seen::Part {
            // Any of them may be in there, and is given the time for that.
            for id in self.thread_state.inflight.on(thread_id, true) {
                let message = self.thread_state.inflight.get_mut(id.as_str());
                if let Some(unconfirmed) = message.and_then(|message| message.unconfirmed.as_mut())
                {
                    unconfirmed.was_queued = true;
                }
            }
        }
        for submission in queue {
            let inflight = &mut self.thread_state.inflight;
            if let Some(message) = inflight.get_mut(&submission.client_user_message_id)
                && let Some(unconfirmed) = &mut message.unconfirmed
            {
                unconfirmed.was_queued = true;
                let (id, asked_back) = (message.id.clone(), message.asked_back);
                let following = message.following();
                following.in_scope(|| tracing::debug!("waits in codex's own queue"));
                if asked_back {
                    let taking = self.take_out(thread_id, &id, submission);
                    taking.instrument(following).await?;
                }
            }
        }
        Ok(())
    }

    /// Looks at the visible thread for the unconfirmed messages, and tells what became of them. Those
    /// that cannot be judged yet are looked at again when the thread is idle, or in a moment.
    pub(in super::super) async fn look(&mut self) -> Result<(), Lost> {
        self.next_look = None;
        let Some(thread_id) = self.thread_state.thread_id().cloned() else {
            return Ok(());
        };
        let ids = self.thread_state.inflight.on(&thread_id, true);
        if ids.is_empty() {
            return Ok(());
        }
        // The queue first: what leaves it afterwards is then found in the history or in a turn
        // that runs.
        let (queue, queue_seen) = self.queue(&thread_id).await?;
        let mut history = self.history(&thread_id, &ids).await?;
        let whole = Seen::is_all(queue_seen, history.seen);
        self.tell_history(&thread_id, &history).await;
        for id in ids {
            let in_queue = queue
                .iter()
                .any(|submission| submission.client_user_message_id == id.as_str());
            let following = self.thread_state.inflight.following(&id);
            self.look_for(id, in_queue, whole, &thread_id, &mut history.empty)
                .instrument(following)
                .await;
        }
        Ok(())
    }

    /// Judges one message that the history does not show.
    async fn look_for(
        &mut self,
        id: EntryId,
        in_queue: bool,
        whole: bool,
        thread_id: &ThreadId,
        empty: &mut Vec<String>,
    ) {
        let idle = self.is_idle();
        let Some(message) = self.thread_state.inflight.get_mut(id.as_str()) else {
            // Proven meanwhile.
            return;
        };
        let Some(unconfirmed) = &mut message.unconfirmed else {
            return;
        };
        let sight = Sight {
            in_queue,
            idle,
            whole,
        };
        let verdict = judge(unconfirmed, sight);
        tracing::debug!(?verdict, ?sight, "looked for at codex");
        match verdict {
            RecoveryVerdict::StillQueued => {
                message.unconfirmed = None;
                self.tell(CodexFact::StillQueued { message_id: id }).await;
            }
            RecoveryVerdict::NotTaken => self.give_back(id, thread_id, empty).await,
            RecoveryVerdict::LookAgain if idle => {
                self.next_look = Some(Instant::now() + LOOK_AGAIN);
            }
            // The end of the turn brings it up again.
            RecoveryVerdict::LookAgain => {}
            // So does the end of one behind which Codex may show it.
            RecoveryVerdict::Unknown => self.unanswered(&id).await,
        }
    }

    /// Tells of a message that is neither in the history nor in the queue. `empty`: the ended turns
    /// without a user message, of which one may have had it.
    async fn give_back(&mut self, id: EntryId, thread_id: &ThreadId, empty: &mut Vec<String>) {
        let Some(message) = self.thread_state.inflight.remove(id.as_str()) else {
            return;
        };
        let path = self.rollout.clone().unwrap_or_default();
        for at in (0..empty.len()).rev() {
            if !message.is_proven_by(&empty[at]) {
                continue;
            }
            let Some(hidden) = hidden_message(&path, &empty[at]).await else {
                continue;
            };
            let is_it = match &message.text {
                Some(text) => *text == hidden,
                // An earlier process handed it over.
                None => is_wrapped(&hidden, &id),
            };
            if !is_it {
                continue;
            }
            let turn = Turn {
                id: empty.remove(at),
                status: TurnStatus::Interrupted.as_str().to_owned(),
                items: vec![Item::UserMessage {
                    client_id: Some(id.to_string()),
                    content: vec![UserInput::Text { text: hidden }],
                }],
                ..Turn::default()
            };
            let mut facts = Vec::new();
            let mut book = TurnBook::new(thread_id.clone());
            book.recall(&turn, true, self.fresh, |_| true, &mut facts);
            return self.tell_all(facts).await;
        }
        self.not_taken(&id, "it is neither in the conversation nor in its queue")
            .await;
    }

    /// Settles the unconfirmed messages in a thread that was left behind and runs no turn: nobody looks
    /// there again, and what waits for their outcome would wait for good.
    pub(super) async fn give_up_unconfirmed(&mut self, thread_id: &ThreadId) -> Result<(), Lost> {
        if self.thread_state.inflight.on(thread_id, true).is_empty() {
            return Ok(());
        }
        let queue_seen = self.take_back_queued(thread_id).await?;
        let ids = self.thread_state.inflight.on(thread_id, true);
        self.settle_on(thread_id, &ids, queue_seen, false).await
    }

    /// Settles these messages in a thread that is not the visible one. `is_at_rest`: nothing of what
    /// is not seen there can be on its way into a turn.
    pub(super) async fn settle_on(
        &mut self,
        thread_id: &ThreadId,
        ids: &[EntryId],
        queue_seen: Seen,
        is_at_rest: bool,
    ) -> Result<(), Lost> {
        let history = self.history(thread_id, ids).await?;
        self.tell_history(thread_id, &history).await;
        let is_certain = is_at_rest && Seen::is_all(queue_seen, history.seen);
        for message_id in ids {
            let Some(message) = self.thread_state.inflight.remove(message_id.as_str()) else {
                // Proven, or taken out of the queue.
                continue;
            };
            let following = message.following();
            if is_certain {
                let why = "it is neither in its conversation nor in the queue of it";
                let told = self.not_taken(message_id, why);
                told.instrument(following).await;
            } else {
                // It may be on its way into a turn there, and nobody watches that thread; or
                // Codex does not show where it may be.
                let told = self.unanswered(message_id);
                told.instrument(following).await;
            }
        }
        Ok(())
    }

    /// Takes our messages out of a thread's queue. What was taken out is certainly not delivered.
    /// Whether that was all of them.
    pub(super) async fn take_back_queued(&mut self, thread_id: &ThreadId) -> Result<Seen, Lost> {
        if self.thread_state.inflight.on(thread_id, false).is_empty() {
            return Ok(Seen::Whole);
        }
        let (queue, mut seen) = self.queue(thread_id).await?;
        for submission in queue {
            if !self
                .thread_state
                .inflight
                .contains(&submission.client_user_message_id)
            {
                continue;
            }
            let delete = QueueDelete {
                thread_id: thread_id.to_string(),
                queued_submission_id: submission.id,
            };
            match self.call(delete).await {
                Ok(answer) if answer.deleted => {
                    let why = "the conversation moved on to another thread";
                    if let Some(message) = self
                        .thread_state
                        .inflight
                        .remove(&submission.client_user_message_id)
                    {
                        let told = self.not_taken(&message.id, why);
                        told.instrument(message.following()).await;
                    }
                }
                // It left the queue by itself, or is in it.
                Ok(_) | Err(CallError::Refused(_)) => seen = Seen::Part,
                Err(CallError::Lost(lost)) => return Err(lost),
            }
        }
        Ok(seen)
    }

    async fn tell_history(&mut self, thread_id: &ThreadId, history: &History) {
        let mut facts = Vec::new();
        let ThreadState {
            visible, inflight, ..
        } = &mut *self.thread_state;
        let mut elsewhere = TurnBook::new(thread_id.clone());
        let book = match visible {
            Some(book) if book.thread_id() == thread_id => book,
            _ => &mut elsewhere,
        };
        for FoundTurn { turn, newest } in &history.found {
            let wanted = |id: &str| inflight.is_proven_by(id, &turn.id);
            book.recall(turn, !newest, self.fresh, wanted, &mut facts);
        }
        self.tell_all(facts).await;
    }

    /// The turns that hold these messages, oldest first.
    async fn history(&mut self, thread_id: &ThreadId, ids: &[EntryId]) -> Result<History, Lost> {
        let mut missing: HashSet<&str> = ids.iter().map(EntryId::as_str).collect();
        let mut history = History::default();
        let mut newest = true;
        let mut cursor = None;
        for _ in 0..HISTORY_PAGES_MAX {
            if missing.is_empty() {
                break;
            }
            let list = ThreadTurnsList {
                thread_id: thread_id.to_string(),
                cursor: cursor.take(),
                limit: TURNS_PAGE,
                sort_direction: "desc",
                items_view: "full",
            };
            match self.call(list).await {
                Ok(page) => {
                    if !page.data.is_whole {
                        history.seen = Seen::Part;
                    }
                    let turns = page.data.members;
                    let is_older = are_older(&turns, &missing);
                    for turn in turns {
                        let mut is_found = false;
                        for id in turn.items.iter().filter_map(Item::sent_as) {
                            // What is older than an earlier attempt is no later one either.
                            let was_missing = missing.remove(id.as_str());
                            is_found |= was_missing
                                && self.thread_state.inflight.is_proven_by(&id, &turn.id);
                        }
                        let may_be = |item: &Item| missing.iter().any(|id| item.may_be(id));
                        if turn.items.iter().any(may_be) {
                            tracing::debug!(turn = turn.id, "has what cannot be read");
                            history.seen = Seen::Part;
                        }
                        let ended = turn.known_status() != Some(TurnStatus::InProgress);
                        if is_found {
                            history.found.push(FoundTurn { turn, newest });
                        } else if ended && !turn.items.iter().any(Item::is_user_message) {
                            history.empty.push(turn.id);
                        }
                        newest = false;
                    }
                    cursor = page.next_cursor.filter(|_| !is_older);
                }
                Err(CallError::Refused(error)) => {
                    history.seen = Seen::behind(&error);
                    break;
                }
                Err(CallError::Lost(lost)) => return Err(lost),
            }
            if cursor.is_none() {
                break;
            }
        }
        if cursor.is_some() && !missing.is_empty() {
            // It may be further back.
            history.seen = Seen::Part;
        }
        history.found.reverse();
        Ok(history)
    }
}
