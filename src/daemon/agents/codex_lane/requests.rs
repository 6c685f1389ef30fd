//! The requests to the Codex adapter.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

use super::CodexLane;
use crate::adapters::codex::attempted_message::AttemptedMessage;
use crate::adapters::codex::passed::Passed;
use crate::adapters::codex::request::CodexRequest;
use crate::core::delivery::{Checked, OnBusy};
use crate::core::id::{AttemptId, EntryId, ThreadId, TurnId};
use crate::core::trace;

/// The adapter's stop has a deadline of its own (interrupt, SIGTERM, 2 s, SIGKILL); this is above.
const STOP_WAIT: Duration = Duration::from_secs(6);

/// The adapter takes no requests: it has ended, or its queue is full.
#[derive(Debug)]
pub(in crate::daemon) struct NotAsked;

impl CodexLane {
    /// Hands a message over, as this attempt.
    pub(in crate::daemon) fn deliver(
        &mut self,
        message: AttemptedMessage,
        attempt: AttemptId,
        text: String,
        on_busy: OnBusy,
    ) -> Result<(), NotAsked> {
        let AttemptedMessage {
            message_id,
            cut_off_in,
            thread,
            ..
        } = message;
        let following = trace::attempt(&message_id, Some(&attempt));
        following.in_scope(|| tracing::debug!(?on_busy, "handed to the Codex adapter"));
        self.attempts.insert(message_id.clone(), attempt.clone());
        self.request(CodexRequest::Deliver {
            message_id,
            text,
            on_busy,
            cut_off_in,
            thread,
            attempt,
        })
    }

    /// Has the app-server run, with a thread.
    pub(in crate::daemon) fn ensure(
        &self,
    ) -> Result<oneshot::Receiver<Result<ThreadId, String>>, NotAsked> {
        let (reply, thread) = oneshot::channel();
        self.request(CodexRequest::Ensure { reply })?;
        Ok(thread)
    }

    /// Asks what became of messages of an earlier process, or an earlier app-server.
    pub(in crate::daemon) fn recover(
        &self,
        messages: Vec<AttemptedMessage>,
    ) -> Result<(), NotAsked> {
        for message in &messages {
            trace::attempt(&message.message_id, message.attempt.as_ref())
                .in_scope(|| tracing::debug!("asked about at the Codex adapter"));
        }
        self.request(CodexRequest::Recover { messages })
    }

    /// Asks for a message back that lies in the app-server's queue.
    pub(in crate::daemon) fn take_back(&self, message_id: EntryId) -> Result<(), NotAsked> {
        trace::attempt(&message_id, self.attempts.get(&message_id))
            .in_scope(|| tracing::debug!("asked back"));
        self.request(CodexRequest::TakeBack { message_id })
    }

    /// Has go on what the app-server holds since the human stopped a turn.
    pub(in crate::daemon) fn release_queue(&self) -> Result<(), NotAsked> {
        self.request(CodexRequest::ReleaseQueue)
    }

    /// Asks the adapter to let go of what runs.
    pub(in crate::daemon) fn release(
        &self,
        reply: oneshot::Sender<Passed>,
    ) -> Result<(), NotAsked> {
        self.request(CodexRequest::Release { reply })
    }

    /// Has the app-server stop a turn; `None` when nobody can be asked.
    pub(in crate::daemon) fn interrupt(
        &self,
        turn_id: TurnId,
    ) -> Option<oneshot::Receiver<Result<(), String>>> {
        let (reply, stopped) = oneshot::channel();
        self.ask(CodexRequest::Interrupt { turn_id, reply })?;
        Some(stopped)
    }

    /// Has the thread's context compacted; `None` when nobody can be asked.
    pub(in crate::daemon) fn compact(&self) -> Option<oneshot::Receiver<Result<(), String>>> {
        let (reply, begun) = oneshot::channel();
        self.ask(CodexRequest::Compact { reply })?;
        Some(begun)
    }

    /// Sends the operator's answer to what Codex asks; `None` when nobody can be asked.
    pub(in crate::daemon) fn answer_approval(
        &self,
        request_id: String,
        choice: String,
    ) -> Option<oneshot::Receiver<Result<(), String>>> {
        let (reply, sent) = oneshot::channel();
        self.ask(CodexRequest::AnswerApproval {
            request_id,
            choice,
            reply,
        })?;
        Some(sent)
    }

    /// Gives Codex a packet, or looks whether our hook does; `None` when nobody can be asked.
    pub(in crate::daemon) fn inject(
        &self,
        packet_id: EntryId,
        text: String,
        by_hook: bool,
    ) -> Option<()> {
        self.ask(CodexRequest::Inject {
            packet_id,
            text,
            by_hook,
        })
    }

    /// Asks whether Codex's thread holds a packet of a daemon before; `None` when nobody can be
    /// asked.
    pub(in crate::daemon) fn find_packet(&self, packet_id: EntryId, sha256: String) -> Option<()> {
        self.ask(CodexRequest::FindPacket { packet_id, sha256 })
    }

    /// Asks whether the usage limit still holds; `None` when nobody can be asked.
    pub(in crate::daemon) fn ask_limit(&self) -> Option<oneshot::Receiver<Checked>> {
        let (reply, checked) = oneshot::channel();
        self.ask(CodexRequest::AskLimit { reply })?;
        Some(checked)
    }

    pub(in crate::daemon) async fn shutdown(&self) {
        let (reply, stopped) = oneshot::channel();
        if self.request(CodexRequest::Stop { reply }).is_ok()
            && timeout(STOP_WAIT, stopped).await.is_err()
        {
            tracing::error!("the codex app-server did not end in time");
        }
    }

    /// Asks the adapter for what is worth no start of an app-server.
    fn ask(&self, request: CodexRequest) -> Option<()> {
        self.server()?;
        self.request(request).ok()
    }

    fn request(&self, request: CodexRequest) -> Result<(), NotAsked> {
        self.adapter
            .requests
            .try_send(request)
            .map_err(|_| NotAsked)
    }
}
