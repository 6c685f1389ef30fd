//! The terminal switches to a thread that already existed.
//!
//! Codex 0.169.0, observed by a client beside the terminal: for `/new` and a fork it sends
//! `thread/started`. For `/resume` it sends only the thread's status: `idle` if the thread had to
//! be loaded, and nothing at all if it was still loaded, until a turn begins in it with `active`.
//! The earlier conversation stays loaded while we are subscribed to it and for a minute after that.
//!
//! So the adapter follows a person to a thread that appears, and to a thread in which a turn begins
//! that no message of ours has begun. With two terminals on one app-server, the lane goes to the
//! thread that was written in last.

use std::path::Path;

use crate::wire::codex::call::ThreadRead;
use crate::wire::codex::notification::ThreadStatusChanged;
use crate::wire::codex::thread::Thread;

use super::super::rpc::Lost;
use super::{CallError, Session, Todo};

impl Session<'_> {
    /// A thread that is not the visible one does something else.
    pub(super) fn other_changed(&mut self, changed: ThreadStatusChanged) {
        let ThreadStatusChanged { thread_id, status } = changed;
        let is_somebody = self.thread_state.others.changed(&thread_id, &status);
        // Who began a turn where a message of ours may be is told by its first message.
        if is_somebody && !self.thread_state.may_go_on_with_ours(&thread_id) {
            self.todo.push_back(Todo::GoTo(thread_id));
        }
    }

    /// A user message, by this id, is in a thread. One that begins a turn in a thread that was left
    /// behind, and is none of ours, is a person's who has gone back.
    pub(super) fn said_elsewhere(&mut self, thread_id: &str, client_id: Option<&str>) {
        let is_ours = client_id.is_some_and(|id| self.thread_state.inflight.contains(id));
        if self.thread_state.others.is_first_said(thread_id) && !is_ours {
            self.todo.push_back(Todo::GoTo(thread_id.to_owned()));
        }
    }

    /// Makes this thread the visible one, if a person can be looking at it. Its name is theirs.
    pub(super) async fn go_to(&mut self, thread_id: String) -> Result<(), Lost> {
        if self.thread_state.is_visible(&thread_id) {
            return Ok(());
        }
        let read = ThreadRead {
            thread_id: thread_id.clone(),
        };
        match self.call(read).await {
            Ok(read) if read.thread.is_conversation() && self.is_of_folder(&read.thread) => {
                self.make_visible(&thread_id, false).await?;
                Ok(())
            }
            Ok(_) => {
                self.thread_state.others.pass_over(&thread_id);
                Ok(())
            }
            Err(CallError::Refused(error)) => {
                tracing::debug!(why = error.message, "codex does not say what a thread is");
                Ok(())
            }
            Err(CallError::Lost(lost)) => Err(lost),
        }
    }

    /// Whether a thread works in our folder, as far as Codex says. One of another folder is the
    /// conversation of another pair or of none, and what is said to ours would be done over there.
    fn is_of_folder(&self, thread: &Thread) -> bool {
        let whole = |path: &str| {
            let path = Path::new(path);
            path.canonicalize().unwrap_or_else(|_| path.to_owned())
        };
        let folder = thread.cwd.as_deref();
        folder.is_none_or(|folder| whole(folder) == whole(&self.context.project_root))
    }
}
