//! [`ToolCall`]: one call of a tool: the caller, the arguments, and the way to the daemon.

use std::future::Future;

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::client::{Client, ClientError};
use crate::core::agent::Agent;
use crate::core::id::{RuntimeSession, ThreadId};
use crate::wire::control::{Command, Refusal, RefusalCode, Reply};

#[derive(Debug)]
pub(in crate::bridge) struct ToolCall {
    /// The agent that calls.
    pub(in crate::bridge) side: Agent,
    /// The pair that it reads for; Codex reads for all.
    pub(in crate::bridge) pair: Option<RuntimeSession>,
    /// The way to the daemon.
    pub(in crate::bridge) client: Client,
    /// As they came.
    pub(in crate::bridge) arguments: Map<String, Value>,
    /// Codex: the thread that calls.
    pub(in crate::bridge) thread_id: Option<ThreadId>,
    /// Codex: the turn that calls.
    pub(in crate::bridge) turn_id: Option<String>,
    /// The caller took the call back.
    pub(in crate::bridge) cancelled: CancellationToken,
    /// The agent's process has closed its side.
    pub(in crate::bridge) gone: CancellationToken,
}

impl ToolCall {
    /// Asks the daemon.
    pub(super) async fn ask(&self, command: Command) -> Result<Reply, Refusal> {
        self.client
            .call(command)
            .await
            .map_err(|error| error.to_refusal())
    }

    /// Asks the daemon for what its reply carries.
    pub(super) async fn ask_for<T: TryFrom<Reply, Error = Reply>>(
        &self,
        command: Command,
    ) -> Result<T, Refusal> {
        self.client
            .ask_for(command)
            .await
            .map_err(|error| error.to_refusal())
    }

    /// Nobody waits for the answer.
    pub(in crate::bridge) fn is_cancelled(&self) -> bool {
        self.cancelled.is_cancelled() || self.gone.is_cancelled()
    }

    /// A cancelled call gets no answer from us; the refusal is for the log.
    pub(super) async fn unless_cancelled<F: Future>(&self, work: F) -> Result<F::Output, Refusal> {
        tokio::select! {
            biased;
            () = self.cancelled.cancelled() => Err(cancelled()),
            () = self.gone.cancelled() => Err(cancelled()),
            output = work => Ok(output),
        }
    }
}

fn cancelled() -> Refusal {
    Refusal::new(
        RefusalCode::Cancelled,
        "the call was taken back",
        "read the record before you repeat a call that sends something",
    )
}

/// The refusal of a reply that does not fit its command.
pub(super) fn unexpected(reply: &Reply) -> Refusal {
    ClientError::of_reply(reply).to_refusal()
}
