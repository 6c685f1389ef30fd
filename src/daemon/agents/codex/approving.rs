//! Codex's requests for approval: recorded when asked, and when they end.

use crate::core::agent::Agent;
use crate::core::entry::{ApprovalEnd, ApprovalRequest};
use crate::daemon::agents::recent_writes::RecentWrites;
use crate::daemon::decisions::approvals::{AskedAs, OverAtCodex};
use crate::daemon::owners::{Base, Decisions};

impl Decisions {
    pub(super) fn approval_asked(
        &mut self,
        base: &mut Base,
        recent_writes: &RecentWrites,
        request_id: String,
        request: ApprovalRequest,
        details: &str,
    ) {
        let agent = Agent::Codex;
        let asked = AskedAs::of(agent, &request, details);
        if let Some(id) = self.waiting_already(base, agent, &asked) {
            // Asked again on a new connection.
            self.approvals.codex_waits(request_id, id.clone());
            return self.asked_again(base, &id);
        }
        if !self.approvals.has_room(base.recorder.world()) {
            return;
        }
        let text = self.approval_text(base, agent, request, details);
        let entry = base.asked_entry(recent_writes, agent, text);
        let id = entry.id.clone();
        let recorded = self.then_asked(agent, asked, id.clone(), None);
        self.approvals.codex_waits(request_id, id);
        base.recorder.keep_then(vec![entry], recorded);
    }

    pub(super) fn approval_resolved(&mut self, base: &mut Base, request_id: &str) {
        if let Some(id) = self.approvals.codex_resolved(request_id) {
            self.end_approval(base, id, Agent::Codex, ApprovalEnd::Answered);
        }
    }

    /// This of what Codex asked waits no more.
    pub(super) fn end_codex_approvals(
        &mut self,
        base: &mut Base,
        over: OverAtCodex<'_>,
        end: ApprovalEnd,
    ) {
        for id in self.approvals.forget_codex(base.recorder.world(), over) {
            self.end_approval(base, id, Agent::Codex, end);
        }
    }
}
