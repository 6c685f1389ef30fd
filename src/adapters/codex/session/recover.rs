//! Finding out what became of messages without proof.

use std::collections::HashSet;

use tokio::time::Instant;

use crate::core::delivery::recovery::{RecoveryVerdict, Sight, Unconfirmed, judge};
use crate::core::entry::TurnStatus;
use crate::core::id::{EntryId, ThreadId};
use crate::wire::codex::call::{QueueDelete, QueueList, QueuedSubmission, ThreadTurnsList};
use crate::wire::codex::item::{Item, UserInput};
use crate::wire::codex::turn::Turn;

use super::super::fact::CodexFact;
use super::super::inflight::Unproven;
use super::super::rpc::Lost;
use super::super::thread_state::ThreadState;
use super::super::turns::TurnBook;
use super::rollout::hidden_message;
use super::{CallError, LOOK_AGAIN, Session};

/// Turns of a page of history. Small, because a turn holds the output of its commands.
const TURNS_PAGE: u32 = 5;

/// Pages that are read in search of a message, newest first. It was handed over before the
/// connection was lost, so it is not far back.
const HISTORY_PAGES_MAX: usize = 20;

const QUEUE_PAGES_MAX: usize = 20;

/// A turn with a message that was looked for.
struct Found {
    turn: Turn,
    /// No turn came after it, so it may be running.
    newest: bool,
}

/// What a search of the history brought.
#[derive(Default)]
struct History {
    /// Turns with messages that were looked for, oldest first.
    found: Vec<Found>,
    /// Ended turns without a user message, newest first.
    empty: Vec<String>,
}

fn is_user_message(item: &Item) -> bool {
    matches!(item, Item::UserMessage { .. })
}

impl Session<'_> {
    /// Answers for messages that an earlier daemon handed over.
    pub(in super::super) async fn recover(&mut self, ids: Vec<EntryId>) -> Result<(), Lost> {
        let Some(thread_id) = self.memory.thread_id().cloned() else {
            return Ok(());
        };
        add_doubtful(self.memory, &thread_id, ids);
        self.note_queued(&thread_id).await?;
        self.look().await
    }

    /// Notes which messages in doubt are in the queue, before the thread is resumed: that starts
    /// their delivery.
    pub(super) async fn note_queued(&mut self, thread_id: &ThreadId) -> Result<(), Lost> {
        if self.memory.inflight.on(thread_id, true).is_empty() {
            return Ok(());
        }
        for submission in self.queue(thread_id).await? {
            if let Some(message) = self
                .memory
                .inflight
                .get_mut(&submission.client_user_message_id)
                && let Some(doubt) = &mut message.doubt
            {
                doubt.was_queued = true;
            }
        }
        Ok(())
    }

    /// Looks at the visible thread for the messages in doubt, and tells what became of them. Those
    /// that cannot be judged yet are looked at again when the thread is idle, or in a moment.
    pub(in super::super) async fn look(&mut self) -> Result<(), Lost> {
        self.next_look = None;
        let Some(thread_id) = self.memory.thread_id().cloned() else {
            return Ok(());
        };
        let ids = self.memory.inflight.on(&thread_id, true);
        if ids.is_empty() {
            return Ok(());
        }
        // The queue first: what leaves it afterwards is then found in the history or in a turn
        // that runs.
        let queue = self.queue(&thread_id).await?;
        let mut history = self.history(&thread_id, &ids).await?;
        self.tell_history(&thread_id, &history).await;
        for id in ids {
            let idle = self.is_idle();
            let Some(message) = self.memory.inflight.get_mut(id.as_str()) else {
                // Proven meanwhile.
                continue;
            };
            let Some(doubt) = &mut message.doubt else {
                continue;
            };
            let sight = Sight {
                in_queue: queue
                    .iter()
                    .any(|submission| submission.client_user_message_id == id.as_str()),
                idle,
            };
            match judge(doubt, sight) {
                RecoveryVerdict::StillQueued => {
                    message.doubt = None;
                    self.tell(CodexFact::StillQueued { message_id: id }).await;
                }
                RecoveryVerdict::NotTaken => {
                    self.give_back(id, &thread_id, &mut history.empty).await
                }
                RecoveryVerdict::LookAgain if idle => {
                    self.next_look = Some(Instant::now() + LOOK_AGAIN);
                }
                // The end of the turn brings it up again.
                RecoveryVerdict::LookAgain => {}
            }
        }
        Ok(())
    }

    /// Tells of a message that is neither in the history nor in the queue. `empty`: the ended turns
    /// without a user message, of which one may have had it.
    async fn give_back(&mut self, id: EntryId, thread_id: &ThreadId, empty: &mut Vec<String>) {
        let alone = self.memory.inflight.on(thread_id, true).len() == 1;
        let Some(message) = self.memory.inflight.remove(id.as_str()) else {
            return;
        };
        let path = self.rollout.clone().unwrap_or_default();
        for at in (0..empty.len()).rev() {
            let Some(hidden) = hidden_message(&path, &empty[at]).await else {
                continue;
            };
            match &message.text {
                Some(text) if *text != hidden => {}
                None if !alone => {
                    // One of several, and nobody can say which.
                    return self.tell(CodexFact::Unanswered { message_id: id }).await;
                }
                _ => {
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
            }
        }
        let why = "it is neither in the conversation nor in its queue".to_owned();
        self.tell(CodexFact::NotTaken {
            message_id: id,
            why,
        })
        .await;
    }

    /// After a reconnect: settles the messages in threads that are no longer the visible one, and
    /// sees to the turns that ran there.
    pub(super) async fn settle_elsewhere(&mut self, fresh: bool) -> Result<(), Lost> {
        // Before any of them is resumed: that starts the delivery of what is queued.
        for thread_id in self.threads_elsewhere() {
            self.take_back_queued(&thread_id).await?;
        }
        self.take_up_left(fresh).await?;
        for thread_id in self.threads_elsewhere() {
            let ids = self.memory.inflight.on(&thread_id, false);
            let history = self.history(&thread_id, &ids).await?;
            self.tell_history(&thread_id, &history).await;
            for message_id in self.memory.inflight.on(&thread_id, false) {
                self.memory.inflight.remove(message_id.as_str());
                let fact = if fresh {
                    let why = "it is neither in its conversation nor in the queue of it".to_owned();
                    CodexFact::NotTaken { message_id, why }
                } else {
                    // It may be on its way into a turn there, and nobody watches that thread.
                    CodexFact::Unanswered { message_id }
                };
                self.tell(fact).await;
            }
        }
        Ok(())
    }

    /// The threads besides the visible one with messages of ours.
    fn threads_elsewhere(&self) -> Vec<ThreadId> {
        let inflight = &self.memory.inflight;
        inflight.threads_besides(self.memory.thread_id())
    }

    /// Takes our messages out of a thread's queue. What was taken out is certainly not delivered.
    pub(super) async fn take_back_queued(&mut self, thread_id: &ThreadId) -> Result<(), Lost> {
        if self.memory.inflight.on(thread_id, false).is_empty() {
            return Ok(());
        }
        for submission in self.queue(thread_id).await? {
            if !self
                .memory
                .inflight
                .holds(&submission.client_user_message_id)
            {
                continue;
            }
            let delete = QueueDelete {
                thread_id: thread_id.to_string(),
                queued_submission_id: submission.id,
            };
            match self.call(delete).await {
                Ok(_) => {
                    let why = "the conversation moved on to another thread".to_owned();
                    if let Some(message) = self
                        .memory
                        .inflight
                        .remove(&submission.client_user_message_id)
                    {
                        let message_id = message.id;
                        self.tell(CodexFact::NotTaken { message_id, why }).await;
                    }
                }
                // It left the queue by itself.
                Err(CallError::Refused(_)) => {}
                Err(CallError::Lost(lost)) => return Err(lost),
            }
        }
        Ok(())
    }

    async fn tell_history(&mut self, thread_id: &ThreadId, history: &History) {
        let mut facts = Vec::new();
        let ThreadState {
            visible, inflight, ..
        } = &mut *self.memory;
        let mut elsewhere = TurnBook::new(thread_id.clone());
        let book = match visible {
            Some(book) if book.thread_id() == thread_id => book,
            _ => &mut elsewhere,
        };
        for Found { turn, newest } in &history.found {
            let wanted = |id: &str| inflight.holds(id);
            book.recall(turn, !newest, self.fresh, wanted, &mut facts);
        }
        self.tell_all(facts).await;
    }

    /// What waits in a thread's queue; nothing where there is no queue.
    pub(super) async fn queue(
        &mut self,
        thread_id: &ThreadId,
    ) -> Result<Vec<QueuedSubmission>, Lost> {
        let mut found = Vec::new();
        let mut cursor = None;
        for _ in 0..QUEUE_PAGES_MAX {
            let list = QueueList {
                thread_id: thread_id.to_string(),
                cursor: cursor.take(),
            };
            match self.call(list).await {
                Ok(page) => {
                    found.extend(page.data);
                    cursor = page.next_cursor;
                }
                Err(CallError::Refused(_)) => break,
                Err(CallError::Lost(lost)) => return Err(lost),
            }
            if cursor.is_none() {
                break;
            }
        }
        Ok(found)
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
                    for turn in page.data {
                        let before = missing.len();
                        for item in &turn.items {
                            if let Item::UserMessage {
                                client_id: Some(id),
                                ..
                            } = item
                            {
                                missing.remove(id.as_str());
                            }
                        }
                        let ended = turn.known_status() != Some(TurnStatus::InProgress);
                        if missing.len() < before {
                            history.found.push(Found { turn, newest });
                        } else if ended && !turn.items.iter().any(is_user_message) {
                            history.empty.push(turn.id);
                        }
                        newest = false;
                    }
                    cursor = page.next_cursor;
                }
                Err(CallError::Refused(_)) => break,
                Err(CallError::Lost(lost)) => return Err(lost),
            }
            if cursor.is_none() {
                break;
            }
        }
        history.found.reverse();
        Ok(history)
    }
}

/// Notes messages of an earlier daemon as being in doubt.
pub(in super::super) fn add_doubtful(
    memory: &mut ThreadState,
    thread_id: &ThreadId,
    ids: Vec<EntryId>,
) {
    for id in ids {
        memory.inflight.add(Unproven {
            id,
            thread_id: thread_id.clone(),
            text: None,
            steered_into: None,
            doubt: Some(Unconfirmed::default()),
        });
    }
}
