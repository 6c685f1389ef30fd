//! Codex's requests to the person: reported to the daemon, and answered with what the operator
//! chose, never by the adapter itself.

use crate::core::id::ThreadId;
use crate::wire::codex::approval::CodexApproval;
use crate::wire::codex::frame::ServerRequest;

use super::super::fact::CodexFact;
use super::super::rpc::Lost;
use super::Session;

/// So much of the name of a request that we do not know is logged.
const METHOD_BYTES_MAX: usize = 100;

/// So many of them are.
const UNKNOWN_MAX: usize = 32;

impl Session<'_> {
    /// Takes in a request of the server's, if it is one for the person.
    pub(super) async fn take_approval(&mut self, request: ServerRequest) {
        let changes = self.thread_state.changes.iter();
        let changes_of = |item: &str| {
            let mut changes = changes.clone();
            changes.find_map(|(id, changes)| (id == item).then_some(changes.as_slice()))
        };
        let Some(approval) = CodexApproval::read(&request, changes_of) else {
            self.note_unknown(request.method);
            return;
        };
        let asked = CodexFact::ApprovalAsked {
            request_id: request.id.clone(),
            request: Box::new(approval.request.clone()),
            details: approval.details.clone(),
        };
        self.thread_state.approvals.insert(request.id, approval);
        let thread = request.thread_id.unwrap_or_default();
        // A helper thread's can be answered in the terminal only, and are counted.
        if self.thread_state.book(&thread).is_some() {
            self.tell(asked).await;
        }
        self.tell_approvals().await;
    }

    /// Nobody is told of a request that is none for the person as far as we know: of one that a later
    /// Codex asks the log has a line.
    fn note_unknown(&mut self, mut method: String) {
        let known = &mut self.thread_state.unknown_requests;
        method.truncate(method.floor_char_boundary(METHOD_BYTES_MAX));
        if known.len() < UNKNOWN_MAX && !known.contains(&method) {
            // As a quoted text, in which nothing is a control character.
            tracing::warn!(?method, "the app-server asks something that is not shown");
            known.insert(method);
        }
    }

    /// A request was answered, by whomever.
    pub(super) async fn resolved(&mut self, request_id: String) {
        if self.thread_state.approvals.remove(&request_id).is_some() {
            self.tell(CodexFact::ApprovalResolved { request_id }).await;
        }
        self.tell_approvals().await;
    }

    /// Sends the operator's answer; the inner error says why it could not be.
    pub(in super::super) async fn answer_approval(
        &mut self,
        request_id: &str,
        choice: &str,
    ) -> Result<Result<(), String>, Lost> {
        let Some(approval) = self.thread_state.approvals.get(request_id) else {
            return Ok(Err("it no longer waits".to_owned()));
        };
        let Some(result) = approval.result(choice) else {
            return Ok(Err(format!("it does not take {choice}")));
        };
        self.rpc.answer(request_id, result).await?;
        Ok(Ok(()))
    }

    /// Tells how many approvals wait in the visible thread, and how many helper threads wait, when
    /// that changed.
    pub(super) async fn tell_approvals(&mut self) {
        let visible = self.thread_state.thread_id();
        let waiting = self.thread_state.approvals.values();
        let is_visible = |thread: Option<&ThreadId>| thread == visible;
        let count = waiting
            .filter(|approval| is_visible(approval.request.thread_id.as_ref()))
            .count() as u64;
        let helpers = self.thread_state.waiting_helpers();
        if (count, helpers) != self.thread_state.approvals_told {
            self.thread_state.approvals_told = (count, helpers);
            self.tell(CodexFact::ApprovalsPending { count, helpers })
                .await;
        }
    }
}
