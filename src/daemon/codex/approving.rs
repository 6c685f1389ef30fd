//! What Codex asks the person: recorded as it is asked, and as it ends.

use crate::core::agent::Agent;
use crate::core::entry::{ApprovalEnd, ApprovalRequest};
use crate::daemon::owners::Daemon;

impl Daemon {
    pub(super) fn approval_asked(
        &mut self,
        request_id: String,
        request: ApprovalRequest,
        details: &str,
    ) {
        let agent = Agent::Codex;
        let key = request.key.clone();
        let known = self
            .decisions
            .approvals
            .known(self.base.recorder.world(), agent, &key);
        if let Some(id) = known {
            // Asked again on a new connection.
            return self.decisions.approvals.codex_waits(request_id, id);
        }
        let entry = self.asked_entry(agent, request, details);
        let id = entry.id.clone();
        self.decisions
            .approvals
            .asked(agent, key.clone(), id.clone());
        self.decisions.approvals.codex_waits(request_id, id);
        self.base.recorder.record_fact(
            vec![entry],
            Box::new(move |daemon, result| {
                daemon.asked_is_recorded(agent, key, result.is_ok());
            }),
        );
    }

    pub(super) fn approval_resolved(&mut self, request_id: &str) {
        if let Some(id) = self.decisions.approvals.codex_resolved(request_id) {
            self.end_approval(id, Agent::Codex, ApprovalEnd::Answered);
        }
    }

    /// Nothing of what Codex asked waits any more.
    pub(super) fn end_codex_approvals(&mut self, end: ApprovalEnd) {
        for id in self
            .decisions
            .approvals
            .forget_codex(self.base.recorder.world())
        {
            self.end_approval(id, Agent::Codex, end);
        }
    }
}
