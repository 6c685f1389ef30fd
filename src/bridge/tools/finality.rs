//! `propose_final`: an agent says that the work is done. The operator decides, or the gates in mode
//! `auto`.

use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::ToolResult;
use super::call::ToolCall;
use super::definition::Definition;
use super::finding_places::{places_now, put_place};
use super::{argument, schema};
use crate::core::snapshot::FINDINGS_NAMED_MAX;
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
pub(super) const BLOCKERS_MAX: usize = 20;

pub(super) fn definition() -> Definition {
    Definition {
        description: "Propose that the work is done. The operator decides, or the gates where he \
                      set them to; returns what blocks it."
            .to_owned(),
        schema: schema::object(
            &["summary", "evidence"],
            [
                ("summary", schema::string()),
                (
                    "evidence",
                    schema::strings_about("what was run, what came out"),
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
    let blockers = shown_blockers(&proposed);
    for blocker in &blockers {
        text.push_str("\nblocker: ");
        text.push_str(blocker);
    }
    let placed = match blockers.is_empty() {
        true => Vec::new(),
        false => places_now(call, Vec::new()).await,
    };
    for placed in &placed {
        if let Some(now) = placed.place.told_elsewhere() {
            text.push_str(&format!("\n{}: {now}", placed.finding));
        }
    }
    let places = placed.iter().map(|placed| {
        let mut told = json!({"finding_id": placed.finding});
        put_place(&mut told, &placed.place);
        told
    });
    let places: Vec<_> = places.collect();
    Ok(ToolResult::new(
        json!({
            "finding_places": places,
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

/// As many blockers as are shown, and how many more things stand in the way. A row that only counts
/// some of them is none of those shown: as many rows stand before it at least.
fn shown_blockers(proposed: &Proposed) -> Vec<String> {
    const { assert!(BLOCKERS_MAX <= FINDINGS_NAMED_MAX) };
    let rows = proposed.blockers.len();
    let hidden = match rows.saturating_sub(BLOCKERS_MAX) {
        0 => 0,
        hidden => {
            let total = proposed.blockers_total.unwrap_or(rows);
            hidden.max(total.saturating_sub(BLOCKERS_MAX))
        }
    };
    let shown = proposed.blockers.iter().take(BLOCKERS_MAX).cloned();
    let more = (hidden > 0).then(|| format!("and {hidden} more"));
    shown.chain(more).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::id::Seq;

    #[test]
    fn a_row_that_is_hidden_counts_as_what_it_stands_for() {
        let told = |rows: usize, total: Option<usize>| {
            let proposed = Proposed {
                proposal_id: "p1".into(),
                seq: Seq(1),
                replaces: Vec::new(),
                blockers: vec!["a blocker".to_owned(); rows],
                blockers_total: total,
                gates: Vec::new(),
            };
            shown_blockers(&proposed)
        };
        assert_eq!(told(BLOCKERS_MAX, Some(BLOCKERS_MAX)).len(), BLOCKERS_MAX);
        let last = |rows, total| told(rows, total).pop();
        assert_eq!(
            last(BLOCKERS_MAX + 3, Some(BLOCKERS_MAX + 177)),
            Some("and 177 more".to_owned())
        );
        assert_eq!(
            last(BLOCKERS_MAX + 3, None),
            Some("and 3 more".to_owned()),
            "of an earlier daemon"
        );
    }
}
