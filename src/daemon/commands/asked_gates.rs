//! What the operator asks of the gates: how they stand, which are to be run, and that they stop.

use super::checks::{not_found, shortened};
use crate::core::snapshot::{GateInForce, Snapshot};
use crate::daemon::base::configuration::Configuration;
use crate::daemon::decisions::gates::Gates;
use crate::wire::config::Gate;
use crate::wire::control::{GateReport, GatesReport, Refusal, Reply, RunGatesParams};

/// How the gates stand, and the run of them.
pub(super) fn list_gates(gates: &Gates, configuration: &Configuration, world: &Snapshot) -> Reply {
    let told = configuration.told_gates();
    let told = told.iter().map(|gate| GateReport::of(gate, world));
    Reply::Gates(GatesReport {
        gates: told.collect(),
        running: gates.number(),
        ended: gates.ended().cloned(),
    })
}

/// Stops the run that is under way.
pub(super) fn stop_gates(gates: &mut Gates) -> Result<Reply, Refusal> {
    if gates.stop() {
        return Ok(Reply::Done);
    }
    Err(Refusal::wrong_state(
        "no gate is running",
        "see `ctxrelay gates list`",
    ))
}

/// Which gates are to be run now.
pub(super) fn gates_to_run(
    running: &Gates,
    configuration: &Configuration,
    params: &RunGatesParams,
) -> Result<Vec<Gate>, Refusal> {
    if !running.is_idle() {
        return Err(Refusal::in_flight(
            "gates are running",
            "wait for their end, or stop them: `ctxrelay gates list` says how",
        ));
    }
    let gates = configuration.gates();
    let told = configuration.told_gates();
    if let Some(refusal) = cannot_run(&told, |gate| params.names.contains(&gate.name)) {
        return Err(refusal);
    }
    if let Some(name) = params.names.iter().find(|name| !has(gates, name)) {
        let known: Vec<&str> = gates.iter().map(|gate| gate.name.as_str()).collect();
        let hint = match known.as_slice() {
            [] => "no gate is in force: `ctxrelay trust --show`".to_owned(),
            known => format!("in force are: {}", known.join(", ")),
        };
        let shown = shortened(name);
        return Err(not_found(&format!("gate {shown}"), &hint));
    }
    let is_chosen = |gate: &&Gate| match params.names.as_slice() {
        [] => !params.release || gate.required,
        names => names.contains(&gate.name),
    };
    let chosen: Vec<Gate> = gates.iter().filter(is_chosen).cloned().collect();
    if chosen.is_empty() {
        if let Some(refusal) = cannot_run(&told, |_| true) {
            return Err(refusal);
        }
        return Err(Refusal::wrong_state(
            "there is no gate to run",
            "name commands in `gates` of config.json and trust them: `ctxrelay trust`",
        ));
    }
    Ok(chosen)
}

/// That one of these gates cannot be run, if there is such a one.
fn cannot_run(gates: &[GateInForce], is_meant: impl Fn(&GateInForce) -> bool) -> Option<Refusal> {
    let gate = gates
        .iter()
        .find(|gate| gate.unreadable.is_some() && is_meant(gate))?;
    let why = gate.unreadable.as_deref().unwrap_or_default();
    Some(Refusal::wrong_state(
        format!("gate {} cannot be run: {why}", gate.name),
        "mend it in config.json and trust it: `ctxrelay trust`",
    ))
}

fn has(gates: &[Gate], name: &str) -> bool {
    gates.iter().any(|gate| gate.name == name)
}
