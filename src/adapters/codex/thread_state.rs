//! [`ThreadState`]: what outlives a connection and an app-server, and passes to the next owner.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::core::delivery::recovery::Unconfirmed;
use crate::core::id::{ThreadId, TurnId};
use crate::core::snapshot::APPROVALS_OPEN_MAX;
use crate::wire::codex::approval::CodexApproval;
use crate::wire::codex::item::{FileUpdate, Item};
use crate::wire::codex::limits::RateBuckets;

use super::attempted_message::AttemptedMessage;
use super::inflight::{Inflight, Outgoing, Unproven};
use super::other_threads::OtherThreads;
use super::packet::PacketInThread;
use super::turns::TurnBook;

/// Changes of files that are remembered. An approval follows its item at once.
const CHANGES_MAX: usize = 16;

/// What the adapter knows about its conversation.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct ThreadState {
    /// The visible thread.
    pub(super) visible: Option<TurnBook>,
    /// The visible one of when this process began: what an earlier one handed over went there.
    #[serde(skip)]
    began_with: Option<ThreadId>,
    /// Threads that were visible before and still run a message of ours.
    pub(super) left: Vec<TurnBook>,
    /// Messages without proof.
    pub(super) inflight: Inflight,
    /// Messages that wait for an idle thread, where the app-server has no queue.
    pub(super) waiting: VecDeque<Outgoing>,
    /// The operator lets the visible thread's queue go on, and nothing of ours was in it yet. It is
    /// held for what is added to it, too (Codex 0.169.0, observed).
    #[serde(default)]
    pub(super) released: bool,
    /// How often in a row Codex could not read the thread.
    #[serde(skip)]
    pub(super) unreadable_tries: u32,
    /// The packet of which it is not known yet whether the model has it.
    pub(super) packet: Option<PacketInThread>,
    /// Questions to the human, by request id. They end with the connection.
    #[serde(skip)]
    pub(super) approvals: BTreeMap<String, CodexApproval>,
    /// There was no room for a question when it was last looked for.
    #[serde(skip)]
    is_full_of_approvals: bool,
    /// Methods of requests that we do not know, each logged once.
    #[serde(skip)]
    pub(super) unknown_requests: BTreeSet<String>,
    /// The latest changes of files by their item, for an approval that is asked for them.
    #[serde(skip)]
    pub(super) changes: VecDeque<(String, Vec<FileUpdate>)>,
    /// The loaded threads besides the visible one.
    #[serde(default)]
    pub(super) others: OtherThreads,
    /// How many questions, and how many helpers that wait, were told last.
    #[serde(skip)]
    pub(super) approvals_told: (u64, u64),
    /// The account's usage windows. The app-server tells them again.
    #[serde(skip)]
    pub(super) rate_limits: RateBuckets,
    /// When a limit would end, s since the epoch, as told last.
    #[serde(skip)]
    pub(super) limit_ends_told: Option<i64>,
    /// When the running turn last showed a sign of life that was told.
    #[serde(skip)]
    pub(super) sign_told: Option<Instant>,
    /// Tokens in the context, and the window, as told last.
    #[serde(skip)]
    pub(super) context_told: Option<(u64, Option<u64>)>,
}

impl ThreadState {
    pub(super) fn new(thread_id: Option<ThreadId>) -> Self {
        let visible = thread_id.map(TurnBook::new);
        let state = Self {
            visible,
            ..Self::default()
        };
        state.of_new_process()
    }

    /// The record has no end of this turn, and the app-server that ran it has ended.
    pub(super) fn lacks_end_of(&mut self, thread_id: &ThreadId, turn_id: TurnId) {
        let book = self.visible.as_mut();
        if let Some(book) = book.filter(|book| book.thread_id() == thread_id) {
            book.lacks_end_of(turn_id);
        }
    }

    /// As another process has it from here on.
    pub(super) fn of_new_process(mut self) -> Self {
        self.began_with = self.thread_id().cloned();
        self
    }

    /// Where an earlier process's messages went; the first thread that there is, where it had none.
    pub(super) fn thread_of_before(&self) -> Option<&ThreadId> {
        self.began_with.as_ref().or(self.thread_id())
    }

    /// Notes messages of an earlier process, each in the thread that it went to, as being unconfirmed.
    /// Those threads, and the messages of which nobody knows one.
    pub(super) fn add_unconfirmed(
        &mut self,
        messages: Vec<AttemptedMessage>,
    ) -> (Vec<ThreadId>, Vec<AttemptedMessage>) {
        let (mut threads, mut nowhere) = (Vec::new(), Vec::new());
        let before = self.thread_of_before().cloned();
        for message in messages {
            let Some(thread_id) = message.thread.clone().or_else(|| before.clone()) else {
                nowhere.push(message);
                continue;
            };
            let AttemptedMessage {
                message_id: id,
                attempt,
                cut_off_in,
                is_unwanted: asked_back,
                ..
            } = message;
            if !threads.contains(&thread_id) {
                threads.push(thread_id.clone());
            }
            if let Some(known) = self.inflight.get_mut(id.as_str()) {
                // The record knows best, also where the previous process knew nothing of it.
                known.cut_off_in = cut_off_in;
                known.attempt = attempt;
                known.asked_back |= asked_back;
                continue;
            }
            self.inflight.add(Unproven {
                id,
                attempt,
                thread_id,
                text: None,
                steered_into: None,
                unconfirmed: Some(Unconfirmed::default()),
                cut_off_in,
                asked_back,
            });
        }
        (threads, nowhere)
    }

    /// The visible thread's id.
    pub(super) fn thread_id(&self) -> Option<&ThreadId> {
        self.visible.as_ref().map(TurnBook::thread_id)
    }

    /// Whether a thread was left behind and runs no turn.
    pub(super) fn is_left_at_rest(&self, thread_id: &ThreadId) -> bool {
        let mut left = self.left.iter();
        left.any(|book| book.thread_id() == thread_id && book.open_turn().is_none())
    }

    /// The book of a thread that we follow.
    pub(super) fn book(&mut self, thread_id: &str) -> Option<&mut TurnBook> {
        self.visible
            .iter_mut()
            .chain(&mut self.left)
            .find(|book| book.thread_id().as_str() == thread_id)
    }

    /// How many threads that we do not follow wait for the human: by their status, or by a request
    /// of theirs that we happen to see.
    pub(super) fn waiting_helpers(&self) -> u64 {
        let followed: BTreeSet<&str> = (self.visible.iter().chain(&self.left))
            .map(|book| book.thread_id().as_str())
            .collect();
        let asking = self.approvals.values();
        let asking = asking.filter_map(|asked| asked.request.thread_id.as_ref());
        let waiting = self.others.waiting();
        let all: BTreeSet<&str> = waiting.chain(asking.map(ThreadId::as_str)).collect();
        all.difference(&followed).count() as u64
    }

    /// Whether one more question is counted and told; more at one time are not believable. If not it is
    /// answered in Codex's terminal, which the log says once.
    pub(super) fn has_room_for_approval(&mut self) -> bool {
        let is_full = self.approvals.len() >= APPROVALS_OPEN_MAX;
        if is_full && !self.is_full_of_approvals {
            tracing::warn!(
                APPROVALS_OPEN_MAX,
                "codex asks more at one time than is counted: the rest is answered in its terminal"
            );
        }
        self.is_full_of_approvals = is_full;
        !is_full
    }

    /// Remembers what a change of files consists of.
    pub(super) fn file_change(&mut self, item: Item) {
        if let Item::FileChange { id, changes, .. } = item {
            self.changes.truncate(CHANGES_MAX - 1);
            self.changes.push_front((id, changes));
        }
    }

    /// Whether what is begun there may be a message of ours: only who began it tells.
    pub(super) fn may_go_on_with_ours(&self, thread_id: &str) -> bool {
        let mut left = self.left.iter();
        left.any(|book| book.thread_id().as_str() == thread_id)
            || !(self.inflight.on(&ThreadId::new(thread_id), false)).is_empty()
    }

    /// Whether it is the visible thread.
    pub(super) fn is_visible(&self, thread_id: &str) -> bool {
        self.thread_id()
            .is_some_and(|visible| visible.as_str() == thread_id)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{File, read_to_string};
    use std::sync::Arc;

    use super::*;
    use crate::adapters::test_log::TestLog;
    use crate::wire::codex::frame::Incoming;

    #[test]
    fn questions_beyond_the_bound_are_one_line_of_the_log_until_there_is_room_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let _logged = TestLog::to(Arc::new(File::create(&path).unwrap()));
        let frame = r#"{"method":"item/fileChange/requestApproval","id":3,"params":{}}"#;
        let Some(Incoming::Request(request)) = Incoming::parse(frame) else {
            panic!("no request");
        };
        let asked = CodexApproval::read(&request, |_| None).unwrap();
        let mut state = ThreadState::default();
        let warned = || {
            read_to_string(&path)
                .unwrap()
                .matches("codex asks more")
                .count()
        };
        for times in 1..=2 {
            for id in 0..APPROVALS_OPEN_MAX {
                assert!(state.has_room_for_approval());
                state.approvals.insert(id.to_string(), asked.clone());
            }
            assert_eq!(warned(), times - 1);
            for _ in 0..3 {
                assert!(!state.has_room_for_approval());
            }
            assert_eq!(warned(), times);
            state.approvals.clear();
        }
    }
}
