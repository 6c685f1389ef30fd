//! The gates of a proposal's card.

use ctxrelay_ui::model as ui;

use crate::core::snapshot::{GateInForce, GateStatus, TreeInQuestion};
use crate::deck::followed::model::Model;

/// How many of the last lines of a gate that runs are shown.
const LINES: usize = 4;

/// What they say of the tree that an approval would be of.
pub(super) fn gates(model: &Model, on: &TreeInQuestion<'_>) -> Vec<ui::GateRow> {
    let in_force = model.status.gates.in_force.iter();
    in_force.map(|gate| shown(model, on, gate)).collect()
}

fn shown(model: &Model, on: &TreeInQuestion<'_>, gate: &GateInForce) -> ui::GateRow {
    let running = model.status.gates.running.as_ref();
    let running = running.filter(|running| running.name == gate.name);
    let status = model.world.gate_status(gate, on);
    let latest = model.world.gates.get(&gate.name);
    let (state, result) = match (running, status, latest) {
        (Some(_), ..) => (ui::GateState::Running, "runs".to_owned()),
        (None, GateStatus::Green, Some(latest)) => (ui::GateState::Passed, latest.how()),
        (None, GateStatus::Red, Some(latest)) => (ui::GateState::Failed, latest.how()),
        (None, GateStatus::NoResult, Some(latest)) => {
            (missing(gate), format!("no result: {}", latest.how()))
        }
        (None, GateStatus::Stale, _) if on.is_unreadable => {
            (missing(gate), "the work tree could not be read".to_owned())
        }
        (None, GateStatus::Stale, _) => {
            let how = match model.world.gate_gap(gate, on.tree) {
                Some((gap, _)) => format!("did not cover {gap}"),
                None => "ran on another tree".to_owned(),
            };
            (missing(gate), how)
        }
        (None, GateStatus::Unreadable, _) => {
            (missing(gate), gate.unreadable.clone().unwrap_or_default())
        }
        (None, GateStatus::NotNeeded, _) => (ui::GateState::Skipped, String::new()),
        (None, ..) => (missing(gate), "not run".to_owned()),
    };
    let is_flaky = latest.is_some_and(|latest| latest.flaky)
        && matches!(status, GateStatus::Green | GateStatus::Red);
    // First what it came to: what follows may be cut.
    let mut notes = Vec::new();
    if status != GateStatus::NotNeeded {
        notes.push(result.as_str());
    }
    if is_flaky {
        notes.push("FLAKY");
    }
    let rewritten = latest.and_then(|latest| latest.run.rewritten.as_ref());
    let rewritten = rewritten.map(|files| format!("REWRITTEN meanwhile: {}", files.in_words()));
    if let Some(rewritten) = rewritten.as_ref().filter(|_| status == GateStatus::Green) {
        notes.push(rewritten);
    }
    if !gate.required {
        notes.push("not required");
    }
    let need = model.world.gate_need(gate, on);
    if let Some(need) = &need {
        notes.push(need);
    }
    let result = notes.join(" · ");
    let lines = running.map_or(&[][..], |running| &running.lines);
    ui::GateRow {
        name: gate.name.clone(),
        command: gate.cmd.clone(),
        isolated: gate.isolated,
        state,
        result,
        output: lines[lines.len().saturating_sub(LINES)..].to_vec(),
    }
}

/// The tests and manifests that changed since the last approval.
pub(super) fn changed_checks(model: &Model) -> ui::ChangedChecksRow {
    let changed = model.world.changed_checks(model.changed.as_ref());
    ui::ChangedChecksRow {
        named: changed.named,
        more: changed.more,
        note: changed.note.unwrap_or_default().to_owned(),
    }
}

fn missing(gate: &GateInForce) -> ui::GateState {
    if gate.required {
        ui::GateState::Missing
    } else {
        ui::GateState::Skipped
    }
}
