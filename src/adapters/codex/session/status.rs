//! The status of the visible thread.

use crate::wire::codex::thread::ThreadStatus;

use super::super::fact::{CodexFact, ReportedStatus};
use super::{Session, Todo};

impl Session<'_> {
    /// Notes what the visible thread does, and tells it when it changed.
    pub(super) async fn set_status(&mut self, status: &ThreadStatus) {
        let status = match status.kind.as_str() {
            "idle" => ReportedStatus::Idle,
            "active" => ReportedStatus::Active {
                waiting: !status.active_flags.is_empty(),
            },
            "systemError" => ReportedStatus::SystemError,
            "notLoaded" => ReportedStatus::NotLoaded,
            // A word of a newer Codex.
            _ => return,
        };
        if status != self.status {
            self.status = status;
            self.tell(CodexFact::ThreadStatus { status }).await;
        }
        if self.is_idle() {
            self.todo.push_back(Todo::Idle);
        }
    }

    /// Whether a message would begin a turn at once. After a failed turn it does.
    pub(super) fn is_idle(&self) -> bool {
        matches!(
            self.status,
            ReportedStatus::Idle | ReportedStatus::SystemError
        )
    }
}
