//! The project's own evidence: commands that the operator trusts, run by the daemon.

mod auto;
mod bad;
mod changed_checks;
mod isolated;
mod on_the_card;
mod piped;
mod repositories;
mod sign_off;
pub mod trust_card;
mod unreadable;
mod when;

use serde_json::{Value, json};

use crate::support::operator::Operator;
use crate::support::project::Project;
use crate::support::pty::Pty;
use crate::support::wait::{timeout, wait_until};

/// Writes `gates` into config.json and has the operator trust it, at a terminal.
#[track_caller]
fn trust(project: &Project, gates: &Value) {
    configure(project, gates);
    trust_file(project);
}

/// Has the operator trust config.json as it lies there.
#[track_caller]
fn trust_file(project: &Project) {
    let mut operator = Pty::spawn(&project.ctxrelay(["trust"]));
    operator.wait_for_text("Type `trust`");
    operator.type_text("trust\r");
    assert_eq!(operator.wait_exit(), 0, "{}", operator.screen());
}

#[track_caller]
fn configure(project: &Project, gates: &Value) {
    let text = json!({ "gates": gates }).to_string();
    project.write(".contextrelay/config.json", &text);
}

/// Runs gates as the operator, and returns what the daemon tells of them once that run is over.
#[track_caller]
fn run_gates(operator: &mut Operator, params: Value) -> Value {
    let begun = operator.call("gates/run", params).unwrap();
    end_of(operator, &begun)
}

#[track_caller]
fn end_of(operator: &mut Operator, begun: &Value) -> Value {
    let number = begun["value"]["running"].as_u64().unwrap();
    wait_until("the end of the gates", timeout(), || {
        let report = operator.call("gates/list", json!({})).unwrap();
        let is_over = report["value"]["ended"]["run"].as_u64() >= Some(number);
        is_over.then(|| report["value"].clone())
    })
}

/// What was recorded of the gates, in order.
fn evidence(project: &Project) -> Vec<Value> {
    let mut entries = project.ledger();
    entries.retain(|entry| entry["artifact"]["verified"].is_object());
    entries
}
