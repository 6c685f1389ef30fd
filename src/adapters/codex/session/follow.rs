//! The visible thread: creates it, resumes it, follows the terminal to a new one, and looks after
//! the threads that were left behind.

use crate::core::id::{ThreadId, TurnId};
use crate::wire::codex::call::{
    ThreadNameSet, ThreadResume, ThreadStart, ThreadTurnsList, ThreadUnsubscribe, WithThread,
};
use crate::wire::codex::frame::RpcError;
use crate::wire::codex::thread::Thread;
use crate::wire::codex::turn::Turn;

use super::super::fact::{CodexFact, ReportedStatus};
use super::super::other_threads::OtherThreads;
use super::super::rpc::Lost;
use super::super::thread_state::ThreadState;
use super::super::turns::TurnBook;
use super::refused_thread::RefusedThread;
use super::seen::Seen;
use super::{CallError, Session, Todo};

/// Turns that a lost connection can have hidden from us, and are worth telling.
const CATCH_UP_TURNS: u32 = 3;

/// Instruction files of one thread; more are not believable.
const INSTRUCTIONS_MAX: usize = 100;

/// Threads that were left behind with a message of ours in them; more are not waited for.
const LEFT_MAX: usize = 8;

impl Session<'_> {
    /// Takes up the previous thread, or makes one where there is none, or where [`RefusedThread`]
    /// has another one take its place. `fresh`: the app-server was just started, so no earlier turn
    /// can still be running.
    pub(in super::super) async fn take_up(&mut self, fresh: bool) -> Result<(), CallError> {
        self.fresh |= fresh;
        if fresh {
            // It has loaded none yet.
            self.thread_state.others = OtherThreads::default();
        }
        let mut replaced = None;
        if let Some(thread_id) = self.thread_state.thread_id().cloned() {
            let open = self
                .thread_state
                .visible
                .as_ref()
                .and_then(TurnBook::open_turn);
            let cut_off = open.filter(|_| fresh).cloned();
            self.note_queued(&thread_id).await?;
            match self.resume(&thread_id).await {
                Ok(resumed) => {
                    self.thread_state.unreadable_tries = 0;
                    self.adopt(resumed, false).await;
                    self.catch_up(cut_off).await?;
                    self.is_open().await;
                    self.settle_elsewhere(fresh).await?;
                    return Ok(self.look().await?);
                }
                Err(CallError::Refused(error)) => replaced = self.opens_not(&thread_id, error)?,
                Err(lost) => return Err(lost),
            }
        }
        let started = self
            .call(ThreadStart {
                cwd: self.context.project_root.clone(),
            })
            .await?;
        let is_named = self.name(&started.thread).await?;
        let before = self
            .thread_state
            .visible
            .replace(TurnBook::new(ThreadId::new(started.thread.id.as_str())));
        self.thread_state.unreadable_tries = 0;
        // Not before there is another: until then the previous one may open again.
        if let Some(why) = replaced {
            self.tell(CodexFact::ThreadReplaced { why }).await;
        }
        if let Some(mut before) = before {
            let mut facts = Vec::new();
            before.close_as_interrupted(&mut facts);
            self.tell_all(facts).await;
        }
        self.adopt(started, is_named).await;
        Ok(self.settle_elsewhere(fresh).await?)
    }

    /// Codex does not open the thread: an error while it is waited for; where another one is to take
    /// its place what is then said of it, if anything is.
    fn opens_not(
        &mut self,
        thread_id: &ThreadId,
        error: RpcError,
    ) -> Result<Option<String>, CallError> {
        let refused = RefusedThread::of(&error);
        // In a row: one that was open elsewhere meanwhile can be read.
        self.thread_state.unreadable_tries = match refused {
            RefusedThread::Unreadable => self.thread_state.unreadable_tries.saturating_add(1),
            _ => 0,
        };
        if refused.is_replaced(self.thread_state.unreadable_tries) {
            return Ok(refused.replaced(thread_id, &error));
        }
        let message = refused.awaited(thread_id, &error);
        Err(CallError::Refused(RpcError { message, ..error }))
    }

    /// Makes a new thread of the terminal's the visible one.
    pub(super) async fn follow(&mut self, thread: Thread) -> Result<(), Lost> {
        if self.thread_state.book(&thread.id).is_some() {
            return Ok(());
        }
        let is_named = self.name(&thread).await?;
        if !self.make_visible(&thread.id, is_named).await? {
            self.candidate = Some(thread);
        }
        Ok(())
    }

    /// Makes another thread the visible one, unless it cannot be resumed yet. `is_named`: as for
    /// [`Self::name`].
    pub(super) async fn make_visible(
        &mut self,
        thread_id: &str,
        is_named: bool,
    ) -> Result<bool, Lost> {
        let thread_id = ThreadId::new(thread_id);
        match self.resume(&thread_id).await {
            Ok(resumed) => {
                // Of what it did while it was left behind little was told: all of it is told now.
                let left = &mut self.thread_state.left;
                left.retain(|book| *book.thread_id() != thread_id);
                if let Some(before) = self.thread_state.visible.replace(TurnBook::new(thread_id)) {
                    self.move_away_from(before).await?;
                }
                self.status = ReportedStatus::NotLoaded;
                self.adopt(resumed, is_named).await;
                self.catch_up(None).await?;
                self.is_open().await;
                Ok(true)
            }
            Err(CallError::Refused(error)) => {
                tracing::debug!(why = error.message, "a thread cannot be resumed");
                Ok(false)
            }
            Err(CallError::Lost(lost)) => Err(lost),
        }
    }

    /// Subscribes to the visible thread again; a new one is made when it is gone for good.
    pub(super) async fn resubscribe(&mut self) -> Result<(), Lost> {
        match self.take_up(false).await {
            Ok(()) => Ok(()),
            Err(CallError::Lost(lost)) => Err(lost),
            Err(CallError::Refused(error)) => Err(Lost::Ended(error.message)),
        }
    }

    /// Stops following a thread that was left behind, once nothing of ours is in it.
    pub(super) async fn leave(&mut self, thread_id: &ThreadId) -> Result<(), Lost> {
        if !self.thread_state.is_left_at_rest(thread_id) {
            return Ok(());
        }
        self.give_up_unconfirmed(thread_id).await?;
        let is_ours = !self.thread_state.inflight.on(thread_id, false).is_empty();
        if is_ours || !self.thread_state.is_left_at_rest(thread_id) {
            // Its turn is about to begin, or one has begun meanwhile.
            return Ok(());
        }
        let left = &mut self.thread_state.left;
        left.retain(|book| book.thread_id() != thread_id);
        self.unsubscribe(thread_id).await
    }

    /// After a reconnect: settles the messages in threads that are no longer the visible one, and
    /// sees to the turns that ran there.
    async fn settle_elsewhere(&mut self, fresh: bool) -> Result<(), Lost> {
        // Before any of them is resumed: that starts the delivery of what is queued.
        let mut queues = Vec::new();
        for thread_id in self.threads_elsewhere() {
            let seen = self.take_back_queued(&thread_id).await?;
            queues.push((thread_id, seen));
        }
        self.take_up_left(fresh).await?;
        for thread_id in self.threads_elsewhere() {
            let ids = self.thread_state.inflight.on(&thread_id, false);
            let queue = queues.iter().find(|(thread, _)| *thread == thread_id);
            let queue_seen = queue.map_or(Seen::Part, |(_, seen)| *seen);
            self.settle_on(&thread_id, &ids, queue_seen, fresh).await?;
        }
        Ok(())
    }

    /// The threads besides the visible one with messages of ours.
    fn threads_elsewhere(&self) -> Vec<ThreadId> {
        let inflight = &self.thread_state.inflight;
        inflight.threads_besides(self.thread_state.thread_id())
    }

    /// After a reconnect: a turn that ran in a thread that was left behind is seen to its end, which
    /// has come when that thread does nothing. `fresh`: as for [`Self::take_up`].
    async fn take_up_left(&mut self, fresh: bool) -> Result<(), Lost> {
        self.thread_state
            .left
            .retain(|book| book.open_turn().is_some());
        let left = self.thread_state.left.iter().map(TurnBook::thread_id);
        let left: Vec<ThreadId> = left.cloned().collect();
        for thread_id in left {
            let resumed = if fresh {
                // Nothing runs there, and nothing should begin.
                None
            } else {
                match self.resume(&thread_id).await {
                    Ok(resumed) => Some(resumed.thread),
                    Err(CallError::Refused(_)) => None,
                    Err(CallError::Lost(lost)) => return Err(lost),
                }
            };
            let runs = resumed.is_some_and(|thread| thread.status.is_active());
            self.thread_state.others.left(thread_id.as_str(), runs);
            let turns = self.newest_turns(&thread_id).await?;
            let mut facts = Vec::new();
            let ThreadState { left, inflight, .. } = &mut *self.thread_state;
            if let Some(book) = left.iter_mut().find(|book| *book.thread_id() == thread_id) {
                // Oldest first; only the newest can be running.
                for (age, turn) in turns.iter().enumerate().rev() {
                    let dead = !runs || age > 0;
                    book.recall(turn, dead, fresh, |_| false, &mut facts);
                }
                if !runs {
                    book.close_as_interrupted(&mut facts);
                }
            }
            // As while it is left behind: what others say and begin there is nobody's concern.
            facts.retain(|fact| match fact {
                CodexFact::TurnStarted { .. } => false,
                CodexFact::UserMessage { client_id, .. } => {
                    client_id.as_ref().is_some_and(|id| inflight.contains(id))
                }
                _ => true,
            });
            self.tell_all(facts).await;
            if !fresh {
                // Unless something runs there.
                self.todo.push_back(Todo::Leave(thread_id));
            }
        }
        if fresh {
            self.thread_state.left.clear();
        }
        Ok(())
    }

    /// The human went on elsewhere: what still waits in the old thread's queue is taken back, so
    /// that it reaches the conversation that they look at; what runs there is seen to its end.
    async fn move_away_from(&mut self, before: TurnBook) -> Result<(), Lost> {
        let thread_id = before.thread_id().clone();
        let works = matches!(self.status, ReportedStatus::Active { .. });
        // Before anything is asked: the end of its turn may be told while Codex answers.
        self.thread_state.left.push(before);
        self.thread_state.others.left(thread_id.as_str(), works);
        self.take_back_queued(&thread_id).await?;
        if self.thread_state.is_left_at_rest(&thread_id) {
            self.give_up_unconfirmed(&thread_id).await?;
        }
        let is_ours = !self.thread_state.inflight.on(&thread_id, false).is_empty();
        let is_followed = is_ours || !self.thread_state.is_left_at_rest(&thread_id);
        let left = &mut self.thread_state.left;
        if is_followed && left.len() <= LEFT_MAX {
            return Ok(());
        }
        left.retain(|book| *book.thread_id() != thread_id);
        self.unsubscribe(&thread_id).await
    }

    async fn unsubscribe(&mut self, thread_id: &ThreadId) -> Result<(), Lost> {
        let thread_id = thread_id.to_string();
        forgive(self.call(ThreadUnsubscribe { thread_id }).await)
    }

    async fn resume(&mut self, thread_id: &ThreadId) -> Result<WithThread, CallError> {
        let resume = ThreadResume {
            thread_id: thread_id.to_string(),
            exclude_turns: true,
        };
        self.opening = Some((resume.thread_id.clone(), None));
        self.call(resume).await
    }

    /// The thread that was asked for is the visible one. What was told of its status on the way is
    /// newer than what its answer said: a turn may have ended meanwhile, and nothing more comes of it.
    async fn is_open(&mut self) {
        if let Some((id, Some(newer))) = self.opening.take()
            && self.thread_state.is_visible(&id)
        {
            self.set_status(&newer).await;
        }
    }

    /// Gives a thread a name, unless it has one. That also writes its rollout, without which it
    /// cannot be resumed, and keeps the terminal's title helper away. Whether it was given.
    async fn name(&mut self, thread: &Thread) -> Result<bool, Lost> {
        if thread.name.is_some() {
            return Ok(false);
        }
        let name = ThreadNameSet {
            thread_id: thread.id.clone(),
            name: self.context.thread_name.clone(),
        };
        match self.call(name).await {
            Ok(_) => Ok(true),
            Err(CallError::Refused(_)) => Ok(false),
            Err(CallError::Lost(lost)) => Err(lost),
        }
    }

    /// `is_named`: as for [`Self::name`].
    async fn adopt(&mut self, adopted: WithThread, is_named: bool) {
        let WithThread {
            thread,
            instruction_sources,
        } = adopted;
        if let Some(mut paths) = instruction_sources {
            paths.truncate(INSTRUCTIONS_MAX);
            self.tell(CodexFact::InstructionsRead { paths }).await;
        }
        self.rollout.clone_from(&thread.path);
        self.has_our_name = is_named || thread.name.as_ref() == Some(&self.context.thread_name);
        self.thread_state.others.closed(&thread.id);
        let thread_id = ThreadId::new(thread.id.as_str());
        self.tell(CodexFact::ThreadAdopted { thread_id }).await;
        self.set_status(&thread.status).await;
        self.tell_approvals().await;
        self.todo.push_back(Todo::Packet);
    }

    /// Learns from the history what was missed: the turn that runs, or how the one ended that ran
    /// when the connection was lost. `cut_off`: the turn that an earlier app-server ran.
    async fn catch_up(&mut self, cut_off: Option<TurnId>) -> Result<(), Lost> {
        let Some(book) = &self.thread_state.visible else {
            return Ok(());
        };
        let was_open = book.open_turn().cloned();
        if was_open.is_none() && self.is_idle() {
            return Ok(());
        }
        let thread_id = book.thread_id().clone();
        let turns = self.newest_turns(&thread_id).await?;
        let mut facts = Vec::new();
        let ended = cut_off.is_some() || self.is_idle();
        let fresh = self.fresh;
        let ThreadState {
            visible, inflight, ..
        } = &mut *self.thread_state;
        if let Some(book) = visible {
            // Oldest first; only the newest can be running.
            for (age, turn) in turns.iter().enumerate().rev() {
                let is_cut_off = cut_off.as_ref().is_some_and(|id| id.as_str() == turn.id);
                let dead = age > 0 || is_cut_off;
                let wanted = |id: &str| inflight.is_proven_by(id, &turn.id);
                book.recall(turn, dead, fresh, wanted, &mut facts);
            }
            // Further back than we looked, or not in the history at all.
            if ended && was_open.is_some() && book.open_turn() == was_open.as_ref() {
                book.close_as_interrupted(&mut facts);
            }
        }
        // What the hook gave while nobody listened, the packet's own traces tell.
        let compacted = |fact: &CodexFact| matches!(fact, CodexFact::Compacted { .. });
        self.is_hook_due |= facts.iter().any(compacted);
        self.tell_all(facts).await;
        Ok(())
    }

    /// A thread's last turns, newest first; none where the history cannot be read.
    async fn newest_turns(&mut self, thread_id: &ThreadId) -> Result<Vec<Turn>, Lost> {
        let page = self
            .call(ThreadTurnsList {
                thread_id: thread_id.to_string(),
                cursor: None,
                limit: CATCH_UP_TURNS,
                sort_direction: "desc",
                items_view: "full",
            })
            .await;
        match page {
            Ok(page) => Ok(page.data.members),
            Err(CallError::Refused(_)) => Ok(Vec::new()),
            Err(CallError::Lost(lost)) => Err(lost),
        }
    }
}

/// A refusal does not matter here.
pub(super) fn forgive<T>(answer: Result<T, CallError>) -> Result<(), Lost> {
    match answer {
        Ok(_) | Err(CallError::Refused(_)) => Ok(()),
        Err(CallError::Lost(lost)) => Err(lost),
    }
}
