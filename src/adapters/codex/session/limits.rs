//! Heartbeats, the account's usage windows, and the operator's request to stop a turn.

use std::time::Duration;

use tokio::time::Instant;

use crate::core::delivery::Checked;
use crate::core::id::TurnId;
use crate::wire::codex::call::{AccountRead, RateLimitsAnswer, RateLimitsRead, TurnInterrupt};
use crate::wire::codex::limits::RateLimits;

use super::super::fact::CodexFact;
use super::super::rpc::Lost;
use super::{CallError, Session};

/// Between two signs of life that are told: a turn may stream a hundred words a second.
const SIGN_EVERY: Duration = Duration::from_secs(1);

impl Session<'_> {
    /// The turn of a thread does something.
    pub(super) async fn heartbeat(&mut self, thread_id: &str) {
        let now = Instant::now();
        let is_fresh = self
            .thread_state
            .sign_told
            .is_none_or(|told| now.duration_since(told) >= SIGN_EVERY);
        if is_fresh && self.thread_state.is_visible(thread_id) {
            self.thread_state.sign_told = Some(now);
            self.tell(CodexFact::Heartbeat).await;
        }
    }

    /// Takes in what the windows of a bucket are, and tells when a limit would end.
    pub(super) async fn rate_limits(&mut self, newer: RateLimits) {
        self.thread_state.rate_limits.take_in(newer);
        self.tell_limit_ends().await;
    }

    async fn tell_limit_ends(&mut self) {
        let ends = self.thread_state.rate_limits.resets_at();
        if let Some(ends_s) = ends
            && ends != self.thread_state.limit_ends_told
        {
            self.thread_state.limit_ends_told = ends;
            let at_ms = ends_s.saturating_mul(1_000);
            self.tell(CodexFact::LimitEnds { at_ms }).await;
        }
    }

    /// Asks the vendor whether the usage limit still holds.
    pub(in super::super) async fn ask_limit(&mut self) -> Result<Checked, Lost> {
        let read = RateLimitsRead {
            exclude_reset_credit_details: true,
        };
        match self.call(read).await {
            Ok(answer) => Ok(self.read_limit(answer).await),
            Err(CallError::Refused(error)) => {
                // Without an account of the vendor's there is nobody to ask.
                tracing::debug!(error.message, "the usage limit could not be asked for");
                Ok(Checked::Unknown)
            }
            // The vendor is asked behind it, which may take its time, and may answer in another
            // shape: neither says anything about this connection.
            Err(CallError::Lost(lost @ (Lost::Encode(_) | Lost::Silent(_)))) => {
                tracing::warn!(%lost, "there is no answer about the usage limit");
                Ok(Checked::Unknown)
            }
            Err(CallError::Lost(lost)) => Err(lost),
        }
    }

    /// Tells whether Codex waits for somebody to sign in. An app-server that does not know the
    /// question waits for nobody.
    pub(in super::super) async fn ask_account(&mut self) -> Result<(), Lost> {
        let read = AccountRead {
            refresh_token: false,
        };
        let needed = match self.call(read).await {
            Ok(answer) => answer.requires_openai_auth && answer.account.is_none(),
            Err(CallError::Lost(Lost::Encode(_))) => false,
            // It may be busy, or about to end: what is known stays so, and is asked again. Of one that
            // does not know the question nothing is known.
            Err(CallError::Refused(_) | CallError::Lost(Lost::Silent(_))) => self.needs_sign_in,
            Err(CallError::Lost(lost)) => return Err(lost),
        };
        self.signs_in(needed).await;
        Ok(())
    }

    /// Whether Codex waits for somebody to sign in is known.
    pub(in super::super) async fn signs_in(&mut self, needed: bool) {
        self.needs_sign_in = needed;
        // Of who signs in elsewhere, with `codex login`, the app-server knows and does not tell
        // (Codex 0.169.0, observed).
        self.next_account = needed.then(|| Instant::now() + self.context.account_every);
        self.tell(CodexFact::SignIn { needed }).await;
    }

    async fn read_limit(&mut self, answer: RateLimitsAnswer) -> Checked {
        let by_id = answer.rate_limits_by_limit_id.unwrap_or_default();
        self.thread_state
            .rate_limits
            .take_all(answer.rate_limits, by_id);
        self.tell_limit_ends().await;
        let ends_s = self.thread_state.rate_limits.resets_at();
        match answer.ordinary_usage_allowed {
            Some(true) => Checked::Over,
            Some(false) => Checked::Holds {
                until_ms: ends_s.map(|ends_s| ends_s.saturating_mul(1_000)),
            },
            None => Checked::Unknown,
        }
    }

    /// Stops a turn. `Ok(Err(_))` is the app-server's refusal.
    pub(in super::super) async fn interrupt(
        &mut self,
        turn_id: &TurnId,
    ) -> Result<Result<(), String>, Lost> {
        let Some(thread_id) = self.thread_state.thread_id().cloned() else {
            return Ok(Err("codex has no thread".to_owned()));
        };
        let interrupt = TurnInterrupt {
            thread_id: thread_id.to_string(),
            turn_id: turn_id.to_string(),
        };
        match self.call(interrupt).await {
            Ok(_) => Ok(Ok(())),
            Err(CallError::Refused(error)) => Ok(Err(error.message)),
            Err(CallError::Lost(lost)) => Err(lost),
        }
    }
}
