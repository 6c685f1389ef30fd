//! Requests that arrived while the task was busy with something else.

use std::collections::VecDeque;

use tokio::sync::mpsc;

use super::{End, Run};
use crate::adapters::codex::attempted_message::AttemptedMessage;
use crate::adapters::codex::fact::CodexFact;
use crate::adapters::codex::request::CodexRequest;

/// Requests taken in while a start or an answer is awaited. Full: they stay in their channel.
const BACKLOG_MAX: usize = 64;

impl Run {
    /// Answers everything that waits for an app-server which cannot be had.
    pub(super) async fn refuse_backlog(&mut self, why: &str) {
        self.refuse_waiting(why).await;
        let mut kept = VecDeque::new();
        while let Some(request) = self.backlog.pop_front() {
            match self.refuse(request, why).await {
                Some(CodexRequest::Ensure { reply }) => {
                    let _ = reply.send(Err(why.to_owned()));
                }
                // The next app-server will tell.
                Some(CodexRequest::Recover { messages }) => self.mark_unconfirmed(messages).await,
                // The next app-server does not go on with it.
                Some(CodexRequest::TakeBack { message_id }) => {
                    self.thread_state.inflight.ask_back(&message_id);
                }
                Some(end) => kept.push_back(end),
                None => {}
            }
        }
        self.backlog = kept;
    }

    /// Nothing was begun of what is left in the backlog, save for what an earlier owner began. What
    /// has another answer is asked again by the next owner.
    pub(super) async fn leave_backlog(&mut self) {
        let why = "another process goes on";
        self.refuse_waiting(why).await;
        while let Some(request) = self.backlog.pop_front() {
            self.refuse(request, why).await;
        }
    }

    async fn refuse_waiting(&mut self, why: &str) {
        for message in std::mem::take(&mut self.thread_state.waiting) {
            let (message_id, why) = (message.id, why.to_owned());
            self.tell(CodexFact::NotTaken { message_id, why }).await;
        }
    }

    /// Says why nothing was begun of a request. Returns one that has another answer.
    async fn refuse(&mut self, request: CodexRequest, why: &str) -> Option<CodexRequest> {
        let why = why.to_owned();
        match request {
            CodexRequest::Deliver { message_id, .. } => {
                self.tell(CodexFact::NotTaken { message_id, why }).await;
            }
            CodexRequest::Interrupt { reply, .. }
            | CodexRequest::Compact { reply }
            | CodexRequest::AnswerApproval { reply, .. } => {
                let _ = reply.send(Err(why));
            }
            // The queue is held over a restart; the next owner has the memory of it.
            CodexRequest::ReleaseQueue => self.thread_state.released = true,
            CodexRequest::Inject { packet_id, .. } => {
                self.tell(CodexFact::PacketNotGiven { packet_id, why })
                    .await;
            }
            // Asked again when there is a thread, or by the next owner.
            CodexRequest::FindPacket { .. } | CodexRequest::AskLimit { .. } => {}
            other @ (CodexRequest::Ensure { .. }
            | CodexRequest::Recover { .. }
            | CodexRequest::TakeBack { .. }
            | CodexRequest::Stop { .. }
            | CodexRequest::Release { .. }) => return Some(other),
        }
        None
    }

    /// Before the conversation is taken up: what an earlier process handed over is looked for in its
    /// own thread, also where another takes that one's place, and in its queue before that goes on. So
    /// is what is asked back. Where there was none yet, the first one can tell.
    pub(super) fn mark_earlier_unconfirmed(&mut self) {
        for request in std::mem::take(&mut self.backlog) {
            let left = match request {
                CodexRequest::Recover { messages } => {
                    let (_, messages) = self.thread_state.add_unconfirmed(messages);
                    (!messages.is_empty()).then_some(CodexRequest::Recover { messages })
                }
                CodexRequest::TakeBack { message_id } => {
                    self.thread_state.inflight.ask_back(&message_id);
                    Some(CodexRequest::TakeBack { message_id })
                }
                other => Some(other),
            };
            self.backlog.extend(left);
        }
    }

    async fn mark_unconfirmed(&mut self, messages: Vec<AttemptedMessage>) {
        let (_, nowhere) = self.thread_state.add_unconfirmed(messages);
        for AttemptedMessage { message_id, .. } in nowhere {
            self.tell(CodexFact::Unanswered { message_id }).await;
        }
    }
}

/// Takes out the first request after which there is nothing more to do here.
pub(super) fn take_end(backlog: &mut VecDeque<CodexRequest>) -> Option<End> {
    let at = backlog.iter().position(|request| {
        matches!(
            request,
            CodexRequest::Stop { .. } | CodexRequest::Release { .. }
        )
    })?;
    match backlog.remove(at) {
        Some(CodexRequest::Stop { reply }) => Some(End::Stop(reply)),
        Some(CodexRequest::Release { reply }) => Some(End::Release(reply, None)),
        _ => None,
    }
}

/// Does some work, and lets go of it when somebody asks to stop. Other requests wait.
pub(super) async fn interruptible<T>(
    requests: &mut mpsc::Receiver<CodexRequest>,
    backlog: &mut VecDeque<CodexRequest>,
    work: impl Future<Output = T>,
) -> Result<T, End> {
    tokio::pin!(work);
    loop {
        if let Some(end) = take_end(backlog) {
            return Err(end);
        }
        let room = backlog.len() < BACKLOG_MAX;
        tokio::select! {
            done = &mut work => return Ok(done),
            request = requests.recv(), if room => match request {
                Some(request) => backlog.push_back(request),
                None => return Err(End::Dropped),
            },
        }
    }
}
