//! `ctxrelay continuity compact`: compacts an agent's context on the operator's request.

use serde_json::json;

use crate::cli::connection::connect::wait_for;
use crate::cli::connection::operator;
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::report::Report;
use crate::core::agent::Agent;
use crate::wire::control::{AgentActionKind, AgentActionParams, Command, RefusalCode};

const WHAT: &str = "Codex's model sums its conversation up and forgets the rest: that costs a \
    request, and cannot be taken back. Then Codex is told again what the record holds of its work.";

pub(super) fn run(context: &CliContext, agent: Agent) -> CliOutcome {
    if agent == Agent::Claude {
        return Err(Failure::refused(
            RefusalCode::NotFromHere,
            "Claude's context can only be compacted in its own terminal",
            "type /compact there",
        ));
    }
    let command = Command::AgentAction(AgentActionParams {
        agent,
        act: AgentActionKind::Compact,
        turn_id: None,
        placed: false,
    });
    wait_for(operator::ask::<()>(context, command, WHAT, "compact"))?;
    let said = "Codex compacts its context; `ctxrelay continuity status` says when it has";
    let value = json!({"agent": agent, "begun": true});
    context.out.report(Report::new(&value, said))
}
