//! Codex's requests for approval: recorded when asked, and when they end.

use crate::core::agent::Agent;
use crate::core::entry::ApprovalRequest;
use crate::daemon::agents::recent_writes::RecentWrites;
use crate::daemon::decisions::approvals::{AnswerWay, AskedAs, OverAtCodex};
use crate::daemon::decisions::how_over::HowOver;
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
            self.approvals
                .waits(id.clone(), AnswerWay::Codex(request_id));
            return self.asked_again(base, &id);
        }
        if !self.approvals.has_room(base.recorder.world()) {
            return;
        }
        let text = self.approval_text(base, agent, request, details);
        let entry = base.asked_entry(recent_writes, agent, text);
        let id = entry.id.clone();
        let recorded = self.then_asked(agent, asked, id.clone(), None);
        self.approvals.waits(id, AnswerWay::Codex(request_id));
        // Codex asks once on a connection, and waits: while the disk refuses, the request is kept, and it
        // can be answered here once it is written.
        base.recorder.keep_then(vec![entry], recorded);
    }

    pub(super) fn approval_resolved(&mut self, base: &mut Base, request_id: &str) {
        if let Some(id) = self.approvals.codex_resolved(request_id) {
            self.end_approval(base, id, Agent::Codex, HowOver::Answered);
        }
    }

    /// This of what Codex asked waits no more.
    pub(super) fn end_codex_approvals(
        &mut self,
        base: &mut Base,
        over: OverAtCodex<'_>,
        how: HowOver,
    ) {
        for id in self.approvals.over_at_codex(base.recorder.world(), over) {
            self.end_approval(base, id, Agent::Codex, how);
        }
    }
}
