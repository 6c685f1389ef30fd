//! Puts a packet into the visible thread, and finds out whether the model has it.

use sha2::{Digest as _, Sha256};

use super::super::fact::CodexFact;
use super::super::packet::{PacketInThread, ThreadSign};
use super::super::rpc::Lost;
use super::rollout::{DeveloperText, developer_text_in};
use super::{CallError, Session};
use crate::core::hex::hex;
use crate::core::id::EntryId;
use crate::wire::codex::call::{DeveloperMessage, InjectItems};

impl Session<'_> {
    /// Puts a packet into the visible thread, or waits for our hook to give it.
    pub(in super::super) async fn inject(
        &mut self,
        packet_id: EntryId,
        text: String,
        by_hook: bool,
    ) -> Result<(), Lost> {
        let Some(thread) = self.thread_state.thread_id().cloned() else {
            let why = "codex has no thread".to_owned();
            self.tell(CodexFact::PacketNotGiven { packet_id, why })
                .await;
            return Ok(());
        };
        let sha256 = hex(&Sha256::digest(text.as_bytes()));
        let packet = PacketInThread::new(packet_id, thread, sha256, Some(text));
        self.thread_state.packet = Some(packet);
        if by_hook {
            // The hook may have been quicker.
            self.look_for_packet().await;
            return Ok(());
        }
        self.put_in().await
    }

    /// A previous daemon was about to give this packet.
    pub(in super::super) async fn find_packet(&mut self, packet_id: EntryId, sha256: String) {
        let Some(thread) = self.thread_state.thread_id().cloned() else {
            return;
        };
        let known = self.thread_state.packet.as_ref();
        if known.is_some_and(|known| known.id == packet_id) {
            return;
        }
        self.thread_state.packet = Some(PacketInThread::new(packet_id, thread, sha256, None));
        match self.read_packet().await {
            DeveloperText::Missing => {
                self.not_given("the daemon ended before the packet was in Codex's thread")
                    .await;
            }
            DeveloperText::Held => {}
            DeveloperText::Answered => self.given(true).await,
        }
    }

    /// After a connection was lost, or the thread changed: what has become of the packet.
    pub(super) async fn follow_packet(&mut self) -> Result<(), Lost> {
        let Some(packet) = &self.thread_state.packet else {
            return Ok(());
        };
        if self.thread_state.thread_id() != Some(&packet.thread) {
            self.not_given("Codex left its thread before the packet was seen to be there")
                .await;
            return Ok(());
        }
        if self.look_for_packet().await {
            return Ok(());
        }
        self.put_in().await
    }

    async fn put_in(&mut self) -> Result<(), Lost> {
        let Some(packet) = &mut self.thread_state.packet else {
            return Ok(());
        };
        let Some(text) = packet.text.clone() else {
            return Ok(());
        };
        packet.is_put_in = true;
        let thread_id = packet.thread.to_string();
        if let Some(book) = self.thread_state.book(&thread_id) {
            book.injected();
        }
        let items = vec![DeveloperMessage::new(text)];
        match self.call(InjectItems { thread_id, items }).await {
            Ok(_) => {
                self.look_for_packet().await;
                Ok(())
            }
            Err(CallError::Refused(error)) => {
                self.not_given(&error.message).await;
                Ok(())
            }
            Err(CallError::Lost(lost)) => Err(lost),
        }
    }

    /// Something begins in a thread, or goes on.
    pub(super) async fn works(&mut self, thread_id: &str) {
        self.heartbeat(thread_id).await;
        self.watch_packet(thread_id, ThreadSign::Work).await;
    }

    /// The visible thread does something, which may prove that the model has the packet.
    pub(super) async fn watch_packet(&mut self, thread_id: &str, sign: ThreadSign) {
        let Some(packet) = &mut self.thread_state.packet else {
            return;
        };
        if packet.thread.as_str() != thread_id {
            return;
        }
        if packet.takes(sign) {
            self.given(false).await;
        } else {
            self.look_for_packet().await;
        }
    }

    /// Whether the rollout holds the packet. Looks only where it has grown since.
    async fn look_for_packet(&mut self) -> bool {
        let known = self.thread_state.packet.as_ref();
        known.is_some_and(PacketInThread::is_seen)
            || self.read_packet().await != DeveloperText::Missing
    }

    async fn read_packet(&mut self) -> DeveloperText {
        let (Some(packet), Some(path)) = (&mut self.thread_state.packet, &self.rollout) else {
            return DeveloperText::Missing;
        };
        let found = developer_text_in(path, &packet.sha256, &mut packet.looked_at).await;
        if found != DeveloperText::Missing {
            packet.seen();
        }
        found
    }

    /// The model has the packet. `is_earlier`: since a turn under an earlier daemon.
    async fn given(&mut self, is_earlier: bool) {
        if let Some(packet) = self.thread_state.packet.take() {
            let given = CodexFact::PacketGiven {
                packet_id: packet.id,
                is_put_in: packet.is_put_in,
                is_earlier,
            };
            self.tell(given).await;
        }
    }

    async fn not_given(&mut self, why: &str) {
        if let Some(packet) = self.thread_state.packet.take() {
            let (packet_id, why) = (packet.id, why.to_owned());
            self.tell(CodexFact::PacketNotGiven { packet_id, why })
                .await;
        }
    }
}
