//! `propose_final`: the work is done, says an agent. The operator decides, or the gates in mode
//! `auto`.

use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::ToolResult;
use super::call::ToolCall;
use super::tool::Definition;
use super::{argument, schema};
use crate::core::snapshot::Blocker;
use crate::wire::control::{Command, GateReport, ProposeParams, Proposed, Refusal};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    summary: String,
    evidence: Vec<String>,
    remaining_risk: Option<String>,
    handles_handoff_id: Option<String>,
}

/// How many blockers of a proposal are shown.
const BLOCKERS_MAX: usize = 20;

pub(super) fn definition() -> Definition {
    Definition {
        description: "Propose that the work is done. The operator decides, or the gates where he \
                      set them to; returns what stands in the way."
            .to_owned(),
        schema: schema::object(
            &["summary", "evidence"],
            [
                ("summary", schema::string()),
                (
                    "evidence",
                    schema::strings_about("what was run and what came out"),
                ),
                ("remaining_risk", schema::string()),
                ("handles_handoff_id", schema::string()),
            ],
        ),
        read_only: false,
    }
}

pub(super) async fn call(call: &ToolCall) -> Result<ToolResult, Refusal> {
    let arguments: Arguments = argument::parse(&call.arguments)?;
    argument::text("summary", &arguments.summary)?;
    argument::texts("evidence", &arguments.evidence)?;
    if arguments.evidence.iter().all(|item| item.trim().is_empty()) {
        return Err(argument::invalid("`evidence` is empty"));
    }
    argument::optional_text("remaining_risk", arguments.remaining_risk.as_deref())?;
    let command = Command::ProposeFinal(ProposeParams {
        agent: call.side,
        summary: arguments.summary,
        evidence: arguments.evidence,
        remaining_risk: arguments.remaining_risk,
        handles: argument::ids("handles_handoff_id", arguments.handles_handoff_id)?,
        runtime_session_id: None,
    });
    let proposed: Proposed = call.ask_for(command).await?;
    let mut text = format!(
        "proposal {} (seq {}) waits for a decision, which reaches you by itself.",
        proposed.proposal_id, proposed.seq
    );
    for earlier in &proposed.replaces {
        text.push_str(&format!(
            "\nIt replaces proposal {earlier}, which waits no more (superseded)."
        ));
    }
    let blockers = at_most(proposed.blockers);
    for blocker in &blockers {
        text.push_str("\nblocker: ");
        text.push_str(blocker);
    }
    Ok(ToolResult::new(
        json!({
            "proposal_id": proposed.proposal_id,
            "seq": proposed.seq,
            "replaces": proposed.replaces,
            "blockers": blockers,
            "gates": proposed.gates.iter().map(gate_json).collect::<Vec<_>>(),
        }),
        text,
    ))
}

/// What an agent is told of a gate: not its command, which may be long.
pub(super) fn gate_json(gate: &GateReport) -> Value {
    json!({
        "name": gate.name,
        "required": gate.required,
        "ok": gate.ok,
        "exit_code": gate.exit_code,
        "stale": gate.stale,
        "flaky": gate.flaky,
        "tree": gate.tree.as_ref().map(|tree| &tree.tree),
        "seq": gate.seq,
    })
}

/// As many blockers as are shown, and how many more there are.
pub(super) fn at_most(mut blockers: Vec<String>) -> Vec<String> {
    let hidden = blockers.iter().skip(BLOCKERS_MAX);
    let hidden: usize = hidden.map(|told| Blocker::count_of(told)).sum();
    blockers.truncate(BLOCKERS_MAX);
    if hidden > 0 {
        blockers.push(format!("and {hidden} more"));
    }
    blockers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_is_hidden_counts_as_what_it_stands_for() {
        let more = Blocker::MoreFindings(175).to_string();
        let named = |count: usize| vec!["a blocker".to_owned(); count];
        let told = |blockers: Vec<String>| at_most(blockers).pop();
        assert_eq!(
            told([named(19), vec![more.clone()]].concat()),
            Some(more.clone())
        );
        let hidden = [named(BLOCKERS_MAX + 2), vec![more]].concat();
        assert_eq!(told(hidden), Some("and 177 more".to_owned()));
    }
}
