//! An agent that says nothing of its state for long is asked to, with a prompt that comes anyway.

use std::ops::RangeInclusive;

use serde_json::json;

use crate::pair::{attached_claude, of_type, wait_status};
use crate::support::model_request::{ModelRequest, says};
use crate::support::pair::Pair;
use crate::support::pty::Pty;
use crate::support::script::Reply;
use crate::support::wait::{timeout, wait_until};

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

/// What the model reads in each of these turns.
#[track_caller]
fn reminders_in(pair: &Pair, claude: &mut Pty, turns: RangeInclusive<usize>) -> Vec<usize> {
    turns.map(|turn| reminders_by(pair, claude, turn)).collect()
}

/// Has the operator want reminders, or none, from now on.
#[track_caller]
fn want_reminders(pair: &Pair, wanted: bool) {
    let times_read = || {
        let entries = of_type(pair, "runtime_event").into_iter();
        entries
            .filter(|entry| entry["runtimeEvent"]["event"] == "config_reloaded")
            .count()
    };
    let before = times_read();
    let config = json!({"continuity": {"remind": wanted}});
    pair.project
        .write(".contextrelay/config.json", &config.to_string());
    wait_until("the new configuration", timeout(), || {
        (times_read() > before).then_some(())
    });
}

/// With every eighth turn without a word another one is due.
#[test]
fn claude_is_reminded_after_eight_turns_without_a_word_unless_the_operator_wants_none() {
    let Some(pair) = Pair::live() else { return };
    let mut claude = attached_claude(&pair);
    let once = reminders_in(&pair, &mut claude, 1..=10);
    assert_eq!(once, [0, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
    want_reminders(&pair, false);
    let no_more = reminders_in(&pair, &mut claude, 11..=18);
    assert_eq!(no_more, [1; 8], "the next one was due with the seventeenth");
    want_reminders(&pair, true);
    assert_eq!(reminders_by(&pair, &mut claude, 19), 2);
}
