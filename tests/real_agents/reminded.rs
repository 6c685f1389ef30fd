//! An agent that says nothing of its state for long is asked to, with a prompt that comes anyway.

use serde_json::json;

use crate::pair::{attached_claude, wait_status};
use crate::support::model_request::{ModelRequest, says};
use crate::support::pair::Pair;
use crate::support::pty::Pty;
use crate::support::script::Reply;

const REMINDER: &str = "turns since you noted what you are at";

/// How often the model reads the reminder in the request of a turn of its own, all that came before
/// included.
#[track_caller]
fn reminders_by(pair: &Pair, claude: &mut Pty, turn: usize) -> usize {
    let (prompt, done) = (
        format!("step number {turn} please"),
        format!("step-{turn}-is-done"),
    );
    let answer = pair.messages.when(says(&prompt));
    answer.once().reply(Reply::text(&done));
    claude.submit(&prompt);
    claude.wait_for_text(&done);
    let asked = |request: &ModelRequest| request.is_step() && request.user_text().contains(&prompt);
    let request = pair.messages.wait_for_request("the turn's request", asked);
    // What is typed while Claude runs its `Stop` hook can be told to us before that hook tells of
    // the end, and belongs to the same turn then.
    wait_status(pair, "the end of the turn", |status| {
        status["agents"]["claude"]["state"] == "idle"
    });
    request.count_of(REMINDER)
}

#[test]
fn claude_is_reminded_once_after_eight_turns_without_a_word() {
    let Some(pair) = Pair::new() else { return };
    let _daemon = pair.daemon();
    let mut claude = attached_claude(&pair);
    let read: Vec<usize> = (1..=10)
        .map(|turn| reminders_by(&pair, &mut claude, turn))
        .collect();
    assert_eq!(read, [0, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
}

#[test]
fn an_operator_who_wants_no_reminders_gets_none() {
    let Some(pair) = Pair::new() else { return };
    pair.project.write(
        ".contextrelay/config.json",
        &json!({"continuity": {"remind": false}}).to_string(),
    );
    let _daemon = pair.daemon();
    let mut claude = attached_claude(&pair);
    let read: Vec<usize> = (1..=10)
        .map(|turn| reminders_by(&pair, &mut claude, turn))
        .collect();
    assert_eq!(read, [0; 10]);
}
