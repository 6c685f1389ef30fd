#![allow(clippy::unwrap_used, reason = "tests")]

use serde_json::{Value, json};

use super::*;
use crate::deck::model::{self, DaemonLink};
use crate::deck::run::DeckAbout;

const ID: &str = "019c2f3a-5b6c-7d8e-9f01-23456789abcd";

fn entry(seq: u64, id: &str, kind: &str, more: &Value) -> Entry {
    let mut line = json!({"schema": "v1", "id": id, "timestamp": 1_000 * seq, "sessionId": "s",
        "type": kind, "seq": seq});
    let more = more.as_object().unwrap().clone();
    line.as_object_mut().unwrap().extend(more);
    model::entry(line, None).unwrap()
}

/// What the deck says of a message to which this happened: its outcome, and its details.
fn told(to: &str, steps: &[(&str, Option<&str>)]) -> String {
    let mut model = Model::new(DaemonLink::Hosting, DeckAbout::default());
    let from = if to == "claude" { "codex" } else { "claude" };
    let message = json!({"source": from, "target": to, "content": "look at plum.rs",
        "message": {"onBusy": "queue", "requireReply": false}});
    assert!(model.append(&entry(1, ID, "message", &message)));
    for ((status, rung), seq) in steps.iter().zip(2..) {
        let event = json!({"kind": "message_delivery", "status": status, "messageId": ID,
            "to": to, "rung": rung});
        let event = json!({"source": "system", "target": to, "content": "", "runtimeEvent": event});
        assert!(model.append(&entry(seq, &format!("d{seq}"), "runtime_event", &event)));
    }
    let row = row(&model, &model.entries[0]);
    let outcome = row.outcome.unwrap();
    let details = detail(&model, &model.entries[0]);
    let details = details.iter().filter(|field| field.name == "delivery");
    let details: Vec<&str> = details.map(|field| field.text.as_str()).collect();
    format!(
        "{:?}: {} [{}]",
        outcome.state,
        outcome.text,
        details.join("; ")
    )
}

#[test]
fn what_the_end_of_a_turn_settled_is_not_called_acknowledged() {
    let claude = |steps: &[(&str, Option<&str>)]| told("claude", steps);
    let by_hook = ("confirmed", Some("hook"));
    let all = [
        claude(&[]),
        claude(&[by_hook]),
        claude(&[by_hook, ("acknowledged", Some("hook"))]),
        claude(&[by_hook, ("acknowledged", None)]),
        claude(&[("confirmed", Some("pull")), ("acknowledged", None)]),
        claude(&[("acknowledged", None)]),
        told("codex", &[("confirmed", Some("queue"))]),
    ];
    insta::assert_snapshot!(all.join("\n"), @"
    Unconfirmed: no proof yet that Claude has it []
    Done: Claude has it by hook, not acknowledged [confirmed by hook]
    Done: shown to Claude, whose turn ended [confirmed by hook; settled by the end of the turn that had it]
    Done: acknowledged by Claude [confirmed by hook; acknowledged]
    Done: acknowledged by Claude [confirmed by pull; acknowledged]
    Done: acknowledged by Claude [acknowledged]
    Done: started a turn [confirmed by queue]
    ");
}

/// Which of these changes of Claude's have a row.
fn rows_of_claude(changes: &[Value]) -> Vec<u64> {
    let mut model = Model::new(DaemonLink::Hosting, DeckAbout::default());
    for (event, seq) in changes.iter().zip(1..) {
        // The text is for people: whatever it says, the row does not depend on it.
        let more = json!({"source": "system", "content": "Claude is idle", "runtimeEvent": event});
        assert!(model.append(&entry(seq, &format!("c{seq}"), "runtime_event", &more)));
    }
    let mut rows = RowFilter::default();
    let shown = model.entries.iter().filter(|entry| rows.takes(entry));
    shown.map(|entry| entry.seq.0).collect()
}

#[test]
fn claude_that_comes_has_a_row_and_the_end_of_its_turns_has_none() {
    let claude = |state: &str, pid: u32| json!({"kind": "agent_state", "agent": "claude", "status": state, "pid": pid});
    let daemon = |event: &str| json!({"kind": "lifecycle", "status": event, "event": event});
    let why = json!({"kind": "agent_state", "agent": "claude", "status": "idle", "pid": 7,
        "why": "its bridge died"});
    let changes = [
        claude("idle", 7),
        claude("busy", 7),
        claude("idle", 7),
        claude("waiting", 7),
        claude("idle", 7),
        // Another Claude in its place, at work or not.
        claude("busy", 7),
        claude("idle", 8),
        claude("offline", 8),
        claude("idle", 8),
        // With a reason it is news.
        claude("busy", 7),
        why,
        claude("busy", 7),
        daemon("daemon_taken_over"),
        claude("idle", 7),
        claude("busy", 7),
        daemon("daemon_started"),
        claude("idle", 7),
    ];
    let rows = [1, 4, 7, 8, 9, 11, 13, 14, 16, 17];
    assert_eq!(rows_of_claude(&changes), rows);
}
