//! What has power in `config.json`, trusted from the deck's card.

use serde_json::json;

use super::{configure, trust};
use crate::support::project::Project;
use crate::support::pty::{Key, Pty};
use crate::support::wait::{poll_until, timeout, wait_until};

/// How its row begins.
const ROW: &str = "▲ trust  ";

/// The entries of this event, each with who wrote it.
pub fn events(project: &Project, event: &str) -> Vec<String> {
    let ledger = project.ledger().into_iter();
    let of_event = ledger.filter(|entry| entry["runtimeEvent"]["event"] == event);
    of_event.map(|entry| entry["source"].to_string()).collect()
}

fn cmd_in_force(project: &Project) -> String {
    let listed = project.run(["gates", "list", "--json"]).expect_success();
    let gates = &listed.json()["gates"];
    let trusted = gates.as_array().unwrap().iter();
    let mut trusted = trusted.filter(|gate| gate["trusted"] == true);
    trusted
        .next()
        .map_or_else(String::new, |gate| gate["cmd"].to_string())
}

/// Opens the card of what waits, once its row is there. The row of what waited before it is still
/// there for a moment.
#[track_caller]
pub fn open_card(deck: &mut Pty, shows: &str) {
    wait_until(&format!("the card with {shows:?}"), timeout(), || {
        deck.wait_for_text(ROW);
        deck.press(Key::Char('3'));
        // The detail beside the list has all of it but the card's own keys.
        deck.press_until(Key::Enter, "the card", |screen| {
            screen.contains("esc later")
        });
        let found = poll_until(timeout() / 20, || {
            let is_it = deck.shows(shows) && !deck.shows("This card is gone");
            is_it.then_some(())
        });
        if found.is_none() {
            deck.press(Key::Escape);
            // A key that follows at once is another one together with it.
            deck.wait_for_screen("no card", |screen| {
                !screen.contains("esc later") && !screen.contains("This card is gone")
            });
        }
        found
    });
}

#[test]
fn what_the_card_shows_is_trusted_after_a_typed_word_and_by_no_single_key() {
    let project = Project::live();
    trust(&project, &json!([{"name": "tests", "cmd": "true"}]));
    let trusted_before = events(&project, "config_trusted").len();
    let mut deck = Pty::spawn_sized(&project.ctxrelay([]), 120, 40);
    deck.wait_for_text("✓ chain");
    // An agent makes it easier.
    configure(
        &project,
        &json!([{"name": "tests", "cmd": "true || cargo test"}]),
    );
    open_card(&mut deck, "+     \"cmd\": \"true || cargo test\"");
    deck.wait_for_text("-     \"cmd\": \"true\"");
    deck.press(Key::Enter);
    deck.wait_for_text("after a typed word");
    deck.press(Key::Char('a'));
    deck.wait_for_text("Type trust to do it");
    deck.press(Key::Enter);
    deck.wait_for_text("type trust first");
    assert_eq!(events(&project, "config_trusted").len(), trusted_before);
    assert_eq!(cmd_in_force(&project), "\"true\"");

    deck.type_text("trust\r");
    deck.wait_for_text("trusted, on record");
    wait_until("the gate as it is trusted", timeout(), || {
        (cmd_in_force(&project) == "\"true || cargo test\"").then_some(())
    });
    let trusted = events(&project, "config_trusted");
    assert_eq!(trusted.len(), trusted_before + 1);
    assert_eq!(trusted.last().unwrap(), "\"human\"");
    wait_until("the card to go", timeout(), || {
        let screen = deck.screen();
        (!screen.contains(ROW)).then_some(())
    });
}

#[test]
fn a_file_that_changes_while_the_word_is_typed_is_not_trusted() {
    let project = Project::live();
    let mut deck = Pty::spawn_sized(&project.ctxrelay([]), 120, 40);
    deck.wait_for_text("✓ chain");
    configure(&project, &json!([{"name": "tests", "cmd": "cargo test"}]));
    open_card(&mut deck, "\"cmd\": \"cargo test\"");
    deck.press(Key::Char('a'));
    deck.wait_for_text("Type trust to do it");
    deck.type_text("trust");
    deck.wait_for_text("Commands among these keys");
    // Behind the operator's back.
    configure(&project, &json!([{"name": "tests", "cmd": "sh ./evil.sh"}]));
    deck.press(Key::Enter);
    deck.wait_for_text("no longer what was shown");
    assert_eq!(events(&project, "config_trusted"), [""; 0]);
    assert_eq!(cmd_in_force(&project), "");
    // The card of now shows what the file says now.
    open_card(&mut deck, "evil.sh");
}
