//! Feeds inputs to the lane to Codex and carries out its effects; its deadlines.

use tokio::time::Instant;

use crate::core::agent::Agent;
use crate::core::delivery::{CodexInput, LaterInput};
use crate::daemon::agents::codex_lane::CodexLane;
use crate::daemon::owners::{Base, Daemon, Deliveries};
use crate::daemon::reply::{ReplySender, answer, no_adapter};
use crate::wire::control::{CodexJoin, Refusal, RefusalCode, Reply};

impl Daemon {
    /// Hands something to the lane to Codex, and does what it says.
    pub(in crate::daemon) fn codex_input(&mut self, input: CodexInput) {
        // A refusal has been said to the operator.
        let _ = self.codex_does(input);
    }

    /// As [`Self::codex_input`], for who waits for the rows of it.
    ///
    /// # Errors
    ///
    /// As [`Self::perform`].
    pub(in crate::daemon) fn codex_does(&mut self, input: CodexInput) -> Result<(), Refusal> {
        let at = self.base.clock.moment();
        let comes_back = input.comes_back();
        if let CodexInput::Proof { id, .. } = &input {
            self.agents.heard_of_coordinator(&mut self.base, id);
        }
        let codex = &mut self.agents.codex;
        let before = codex.running_turn();
        let effects = self
            .deliveries
            .outbox
            .decide(|backlog| codex.apply(input, backlog, &at));
        self.agents.watch_codex(&mut self.base, before);
        let stored = self.perform(Agent::Codex, effects);
        if comes_back {
            // A call that began to wait meanwhile found it on its way.
            self.base.later.push(LaterInput::News);
        }
        stored
    }

    pub(in crate::daemon) fn codex_deadline(&mut self) {
        let next = self.agents.codex.next_ms(self.deliveries.outbox.backlog());
        if next.is_some_and(|at_ms| at_ms <= self.base.clock.now_ms()) {
            self.codex_input(CodexInput::Tick);
        }
    }

    /// After a start: what was attempted before and has no proof is for the adapter to find out.
    pub(in crate::daemon) fn recover_codex(&mut self) {
        self.codex_input(CodexInput::Began);
    }

    /// Holds the lane to Codex where the record says that the human stopped a turn and nothing has
    /// begun since.
    pub(in crate::daemon) fn recall_stop(&mut self) {
        let codex = self.base.recorder.world().agent(Agent::Codex);
        if codex.stopped_turn.is_some() {
            let thread = codex.thread_id.clone();
            self.codex_input(CodexInput::Stopped { thread });
        }
    }

    pub(in crate::daemon) fn ensure_codex(&mut self, reply: ReplySender) {
        let Ok(thread) = self.agents.codex.ensure() else {
            return answer(reply, Err(no_adapter()));
        };
        // A person who wants Codex now does not wait for the lane's rest.
        self.codex_input(CodexInput::Wanted);
        let proxy_port = self.base.identity.proxy_port();
        tokio::spawn(async move {
            let result = match thread.await {
                Ok(Ok(thread_id)) => Ok(Reply::Codex(CodexJoin {
                    thread_id,
                    proxy_port,
                })),
                Ok(Err(why)) => Err(Refusal::new(
                    RefusalCode::CodexUnavailable,
                    why,
                    "run `ctxrelay doctor` to see what is missing",
                )),
                Err(_) => Err(crate::daemon::reply::stopping()),
            };
            answer(reply, result);
        });
    }
}

impl Deliveries {
    /// When something about Codex happens by itself.
    pub(in crate::daemon) fn codex_next(&self, base: &Base, codex: &CodexLane) -> Option<Instant> {
        let next_ms = codex.next_ms(self.outbox.backlog());
        next_ms.map(|at_ms| base.clock.instant(at_ms))
    }

    /// When what was handed out is nobody's any more.
    pub(in crate::daemon) fn next_claim(&self, base: &Base) -> Option<Instant> {
        let next_ms = self.outbox.backlog().next_claim_ms();
        next_ms.map(|at_ms| base.clock.instant(at_ms))
    }
}
