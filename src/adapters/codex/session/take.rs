//! Frames that arrive unasked: notifications, and the server's requests.

use crate::core::between_words::cut_between_words;
use crate::core::entry::TurnStatus;
use crate::core::live_turn::{LiveAct, PlanStep, StepState};
use crate::wire::codex::frame::{Incoming, ServerRequest};
use crate::wire::codex::item::{FileUpdate, Item};
use crate::wire::codex::notification::{
    CodexNotification, ItemOfTurn, ThreadStatusChanged, TurnChanged, TurnPlanStep,
};
use crate::wire::codex::thread::Thread;

use super::super::command::ran;
use super::super::fact::{COMMAND_CHARS_MAX, CodexFact};
use super::super::packet::ThreadSign;
use super::{Session, Todo};

impl Session<'_> {
    /// Takes in a frame that is no answer to a request that somebody waits for.
    pub(in super::super) async fn take_frame(&mut self, incoming: Incoming) {
        match incoming {
            Incoming::Answer { .. } => {}
            Incoming::Request(request) => self.take_request(request).await,
            Incoming::Notification(notification) => self.take_notification(notification).await,
        }
    }

    async fn take_request(&mut self, request: ServerRequest) {
        if !request.waits_for_human() || self.thread_state.has_room_for_approval() {
            self.take_approval(request).await;
        }
    }

    async fn take_notification(&mut self, notification: CodexNotification) {
        let mut facts = Vec::new();
        match notification {
            CodexNotification::ThreadStarted(thread) => self.thread_started(thread),
            CodexNotification::ThreadStatusChanged(changed) => self.status_changed(changed).await,
            CodexNotification::ThreadClosed(closed) => {
                if self.thread_state.is_visible(&closed.thread_id) {
                    self.todo.push_back(Todo::Resubscribe);
                } else {
                    self.thread_state.others.closed(&closed.thread_id);
                    self.tell_approvals().await;
                }
            }
            CodexNotification::ThreadNamed(named) => {
                if self.thread_state.is_visible(&named.thread_id) {
                    let name = named.thread_name.as_ref();
                    self.has_our_name = name == Some(&self.context.thread_name);
                }
            }
            CodexNotification::TurnStarted(started) => {
                if let Some(book) = self.thread_state.book(&started.thread_id) {
                    book.started(&started.turn.id, &mut facts);
                }
                if !self.is_hook_trusted {
                    self.todo.push_back(Todo::Hook);
                }
            }
            CodexNotification::FileChangeStarted(started) => {
                self.heartbeat(&started.thread_id).await;
                if self.thread_state.is_visible(&started.thread_id) {
                    facts.extend(did(&started.item));
                }
                self.thread_state.file_change(started.item);
            }
            CodexNotification::ToolStarted(started) => {
                self.works(&started.thread_id).await;
                if self.thread_state.is_visible(&started.thread_id) {
                    facts.extend(did(&started.item));
                }
            }
            CodexNotification::PlanUpdated(updated) => {
                self.works(&updated.thread_id).await;
                if self.thread_state.is_visible(&updated.thread_id) {
                    let steps = updated.plan.into_iter().map(planned).collect();
                    facts.push(CodexFact::TurnPlanned { steps });
                }
            }
            CodexNotification::CommandStarted(started) => {
                self.works(&started.thread_id).await;
                if let Some(book) = self.thread_state.book(&started.thread_id) {
                    book.began(&started.turn_id, &started.item);
                }
                if self.thread_state.is_visible(&started.thread_id) {
                    facts.extend(did(&started.item));
                }
            }
            CodexNotification::CompactionStarted(started) => {
                self.works(&started.thread_id).await;
                if self.thread_state.is_visible(&started.thread_id) {
                    facts.push(CodexFact::CompactionBegan);
                    self.todo.push_back(Todo::Hook);
                }
            }
            CodexNotification::ItemCompleted(completed) => {
                self.item_completed(completed, &mut facts).await
            }
            CodexNotification::TurnCompleted(completed) => {
                self.turn_completed(&completed, &mut facts)
            }
            CodexNotification::HookCompleted(completed) => self.hook_ran(&completed).await,
            CodexNotification::Heartbeat(beat) => {
                self.works(&beat.thread_id).await;
            }
            CodexNotification::RateLimitsUpdated(limits) => self.rate_limits(limits).await,
            CodexNotification::AccountUpdated => self.todo.push_back(Todo::Account),
            CodexNotification::Error(reported) => {
                if !reported.will_retry {
                    if let Some(book) = self.thread_state.book(&reported.thread_id) {
                        book.error(&reported.turn_id, reported.error);
                    }
                } else if self.thread_state.is_visible(&reported.thread_id) {
                    // The next sign of life is told at once: with it this is over.
                    self.thread_state.sign_told = None;
                    let why = cut(&reported.error.message);
                    facts.push(CodexFact::Retrying { why });
                }
            }
            CodexNotification::TokenUsageUpdated(updated) => {
                self.watch_packet(&updated.thread_id, ThreadSign::Tokens)
                    .await;
                let used = updated.token_usage.last.total_tokens;
                let window = updated.token_usage.model_context_window;
                if self.thread_state.is_visible(&updated.thread_id)
                    && self.thread_state.context_told != Some((used, window))
                {
                    self.thread_state.context_told = Some((used, window));
                    facts.push(CodexFact::ContextUsed { used, window });
                }
            }
            CodexNotification::ServerRequestResolved(resolved) => {
                self.resolved(resolved.request_id.to_string()).await;
            }
        }
        let facts = self.only_of_interest(facts);
        self.tell_all(facts).await;
    }

    async fn status_changed(&mut self, changed: ThreadStatusChanged) {
        if let Some((id, newer)) = &mut self.opening
            && *id == changed.thread_id
        {
            *newer = Some(changed.status.clone());
        }
        if self.thread_state.is_visible(&changed.thread_id) {
            self.set_status(&changed.status).await;
        } else if changed.status.is_active()
            && let Some(candidate) = self
                .candidate
                .take_if(|thread| thread.id == changed.thread_id)
        {
            self.todo.push_back(Todo::Follow(candidate));
        } else {
            self.other_changed(changed);
            self.tell_approvals().await;
        }
    }

    async fn item_completed(&mut self, completed: ItemOfTurn, facts: &mut Vec<CodexFact>) {
        if !completed.item.is_user_message() {
            self.heartbeat(&completed.thread_id).await;
        }
        let sign = match completed.item {
            Item::UserMessage { .. } | Item::ContextCompaction { .. } => ThreadSign::Work,
            _ => ThreadSign::Answer,
        };
        self.watch_packet(&completed.thread_id, sign).await;
        if self.thread_state.is_visible(&completed.thread_id) {
            match completed.item {
                Item::ContextCompaction { .. } => self.is_hook_due = true,
                // Codex runs the hook before it asks the model.
                _ if sign == ThreadSign::Answer => self.hook_gave_nothing().await,
                _ => {}
            }
        }
        if completed.item.is_user_message() {
            let sent_as = completed.item.sent_as();
            self.said_elsewhere(&completed.thread_id, sent_as.as_deref());
        }
        if let Some(book) = self.thread_state.book(&completed.thread_id) {
            book.item(&completed.turn_id, &completed.item, facts);
        }
        if self.thread_state.is_visible(&completed.thread_id) {
            facts.extend(ran(&completed.item));
            match completed.item {
                Item::CommandExecution { id, .. } | Item::McpToolCall { id, .. } => {
                    facts.push(CodexFact::ToolEnded { item_id: id });
                }
                said @ Item::AgentMessage { .. } => facts.extend(did(&said)),
                Item::FileChange {
                    id,
                    changes,
                    status,
                } => {
                    facts.push(CodexFact::ToolEnded { item_id: id });
                    if status == "completed" {
                        let paths = changes
                            .into_iter()
                            .map(|change| change.kind.move_path.unwrap_or(change.path));
                        let paths = paths.collect();
                        facts.push(CodexFact::FilesWritten { paths });
                    }
                }
                _ => {}
            }
        }
    }

    fn turn_completed(&mut self, completed: &TurnChanged, facts: &mut Vec<CodexFact>) {
        if self.needs_sign_in {
            match completed.turn.known_status() {
                // Its provider has a key of its own and needs no sign-in.
                Some(TurnStatus::Completed) => {
                    (self.needs_sign_in, self.next_account) = (false, None);
                    facts.push(CodexFact::SignIn { needed: false });
                }
                _ => self.todo.push_back(Todo::Account),
            }
        }
        let unconfirmed = self
            .thread_state
            .inflight
            .mark_steered_unconfirmed(&completed.turn.id);
        if let Some(book) = self.thread_state.book(&completed.thread_id) {
            book.completed(&completed.turn, facts);
            let thread_id = book.thread_id().clone();
            if !self.thread_state.is_visible(&completed.thread_id) {
                self.todo.push_back(Todo::Leave(thread_id));
                return;
            }
            if unconfirmed || !self.thread_state.waiting.is_empty() {
                self.todo.push_back(Todo::Idle);
            }
            self.expect_queued(&thread_id);
        }
    }

    /// Of a thread that was left behind, only what concerns a message of ours.
    fn only_of_interest(&self, facts: Vec<CodexFact>) -> Vec<CodexFact> {
        let visible = self.thread_state.thread_id();
        let left: Vec<_> = self.thread_state.left.iter().collect();
        facts
            .into_iter()
            .filter(|fact| match fact {
                CodexFact::TurnStarted { thread_id, .. } => Some(thread_id) == visible,
                CodexFact::Compacted { turn_id, .. } => {
                    !left.iter().any(|book| book.open_turn() == Some(turn_id))
                }
                CodexFact::UserMessage {
                    turn_id, client_id, ..
                } => {
                    !left.iter().any(|book| book.open_turn() == Some(turn_id))
                        || client_id
                            .as_ref()
                            .is_some_and(|id| self.thread_state.inflight.contains(id))
                }
                _ => true,
            })
            .collect()
    }

    fn thread_started(&mut self, thread: Thread) {
        if !thread.is_conversation() {
            self.thread_state.others.pass_over(&thread.id);
        } else if self.thread_state.book(&thread.id).is_none() {
            self.todo.push_back(Todo::Follow(thread));
        }
    }
}

/// What an item that was said or begins tells of the turn to who looks at it.
fn did(item: &Item) -> Option<CodexFact> {
    let (id, act, text) = match item {
        Item::AgentMessage { text, .. } => {
            let (act, text) = (LiveAct::Said, cut(text));
            return Some(CodexFact::TurnDid { act, text });
        }
        Item::CommandExecution { id, command, .. } => (id, LiveAct::Ran, cut(command)),
        Item::McpToolCall { id, server, tool } => {
            (id, LiveAct::Called, cut(&format!("{server}.{tool}")))
        }
        Item::FileChange { id, changes, .. } => {
            let words: Vec<String> = changes.iter().map(FileUpdate::in_words).collect();
            (id, LiveAct::Changed, cut(&words.join(", ")))
        }
        _ => return None,
    };
    Some(CodexFact::ToolBegan {
        item_id: id.clone(),
        act,
        text,
    })
}

fn cut(text: &str) -> String {
    cut_between_words(text, COMMAND_CHARS_MAX).to_owned()
}

fn planned(step: TurnPlanStep) -> PlanStep {
    PlanStep {
        state: match step.status.as_str() {
            "completed" => StepState::Done,
            "inProgress" => StepState::Active,
            _ => StepState::Open,
        },
        text: cut(&step.step),
    }
}
