//! Signing in the deck: the passphrase is typed there, and the daemon gets no more than signatures.

use std::path::PathBuf;

use serde_json::json;

use super::{PASSPHRASE, at_a_terminal, holding, make_key, state, switch, verify};
use crate::support::gate_scene::Scene;
use crate::support::project::Project;
use crate::support::pty::{Key, Pty};
use crate::support::script_file::write_program;
use crate::support::wait::{poll_until, timeout, wait_until};

/// Opens the card of this proposal, the only one that waits. The row of the one before it is still
/// there for a moment.
#[track_caller]
pub fn open_card(deck: &mut Pty, id: &str) {
    // The end of it stands on the card.
    let (_, its) = id.rsplit_once('-').unwrap();
    let is_open =
        |screen: &str| screen.contains("esc later") || screen.contains("This card is gone");
    wait_until(&format!("the card of {id}"), timeout(), || {
        deck.wait_for_screen("one card that waits, and no other", |screen| {
            screen.contains("1 waits for you") && screen.matches("◈ finality ◇").count() == 1
        });
        if !is_open(&deck.screen()) {
            deck.press(Key::Char('3'));
            deck.press(Key::Enter);
        }
        let found = poll_until(timeout() / 20, || {
            let is_it = deck.shows(its) && deck.shows("reject with a reason");
            is_it.then_some(())
        });
        if found.is_none() && is_open(&deck.screen()) {
            deck.press(Key::Escape);
            deck.wait_for_screen("no card", |screen| !is_open(screen));
        }
        found
    });
}

/// Opens the card of this proposal and says yes, or no with a reason; both ask once more.
#[track_caller]
fn decide(deck: &mut Pty, id: &str, rejection: Option<&str>) {
    open_card(deck, id);
    match rejection {
        None => deck.press(Key::Char('a')),
        Some(reason) => {
            deck.press(Key::Char('x'));
            deck.type_text(reason);
        }
    }
    deck.press(Key::Enter);
}

#[track_caller]
fn wait_for_state(project: &Project, id: &str, wanted: &str) {
    wait_until(wanted, timeout(), || {
        (state(project, id) == wanted).then_some(())
    });
}

#[test]
fn a_gate_that_has_not_run_is_told_before_the_passphrase_is_asked_for() {
    let project = Project::live();
    make_key(&project);
    let text = json!({
        "operator": {"signing": "passphrase"},
        "gates": [{"name": "tests", "cmd": "true"}],
    });
    project.write(".contextrelay/config.json", &text.to_string());
    let answers = [("Type `trust`", "trust"), ("Passphrase of", PASSPHRASE)];
    let (code, screen) = at_a_terminal(&project, &["trust"], &answers);
    assert_eq!(code, 0, "{screen}");
    let id = Scene::new(&project).proposal;
    let approve = ["finality", "approve", &id];
    let (code, screen) = at_a_terminal(&project, &approve, &[]);
    assert_eq!(code, 6, "{screen}");
    assert!(!screen.contains("Passphrase of"), "{screen}");
    assert!(
        screen.contains("required gate tests has not run"),
        "{screen}"
    );

    let mut deck = Pty::spawn_sized(&project.ctxrelay([]), 120, 40);
    deck.wait_for_text("✓ chain");
    open_card(&mut deck, &id);
    deck.wait_for_text("still the same");
    deck.press(Key::Char('a'));
    deck.press(Key::Enter);
    deck.wait_for_text("g runs the gates");
    assert!(!deck.shows("Type the passphrase"), "{}", deck.screen());
    assert_eq!(state(&project, &id), "pending");
}

/// With the key unlocked, the deck reads the work tree at once, to sign it.
#[test]
fn a_deck_that_waits_for_git_to_sign_says_so_and_can_be_left() {
    let project = Project::live();
    make_key(&project);
    let (code, screen) = switch(&project, "passphrase", PASSPHRASE);
    assert_eq!(code, 0, "{screen}");
    // A git that hangs for the deck, for as long as there is a file.
    let hangs = project.base().join("hangs");
    let script = format!(
        "#!/bin/sh\n[ -z \"$HANGS\" ] || while [ -e '{}' ]; do sleep 0.05; done\n\
         PATH=\"${{PATH#*:}}\" exec git \"$@\"\n",
        hangs.display()
    );
    write_program(&project.bin().join("git"), &script);
    let first = Scene::new(&project).proposal;
    let deck = project.ctxrelay([]).env("HANGS", "1");
    let mut deck = Pty::spawn(&deck);
    deck.wait_for_text("✓ chain");
    decide(&mut deck, &first, None);
    deck.wait_for_text("Type the passphrase");
    deck.type_text(PASSPHRASE);
    deck.wait_for_text("Something is typed");
    deck.press(Key::Enter);
    wait_for_state(&project, &first, "approved");
    let second = Scene::new(&project).proposal;
    deck.wait_until_gone("Sign it");
    open_card(&mut deck, &second);
    deck.wait_for_text("It is unlocked here until");
    std::fs::write(&hangs, "").unwrap();
    deck.press(Key::Char('a'));
    deck.press(Key::Enter);
    deck.wait_for_text("no answer for");
    deck.press_until_exit(Key::Ctrl('c'));
    deck.wait_for_text(&format!("no answer came to your approval of {second}"));
    assert_eq!(state(&project, &second), "pending");
    std::fs::remove_file(&hangs).unwrap();
}

#[test]
fn a_proposal_is_approved_and_rejected_in_the_deck_after_the_passphrase_was_typed_there() {
    let project = Project::live();
    let fingerprint = make_key(&project);
    let (code, screen) = switch(&project, "passphrase", PASSPHRASE);
    assert_eq!(code, 0, "{screen}");
    let first = Scene::new(&project).proposal;

    let mut deck = Pty::spawn(&project.ctxrelay([]));
    deck.wait_for_text("✓ chain");
    decide(&mut deck, &first, None);
    deck.wait_for_screen("the question", |screen| {
        screen.contains("Type the passphrase") && screen.contains(&fingerprint)
    });
    deck.type_text("not the one");
    deck.press(Key::Enter);
    deck.wait_for_text("that is not the passphrase");
    assert_eq!(state(&project, &first), "pending");
    let (code, report) = verify(&project);
    assert_eq!((code, report["signed"].as_array().unwrap().len()), (0, 0));

    deck.type_text(PASSPHRASE);
    deck.wait_for_text("Something is typed");
    deck.press(Key::Enter);
    wait_for_state(&project, &first, "approved");

    // The key is there for a while: the next one is signed without a question, and says until when.
    let second = Scene::new(&project).proposal;
    deck.wait_until_gone("Sign it");
    decide(&mut deck, &second, Some("not yet"));
    wait_for_state(&project, &second, "rejected");

    // Locked by the command, it is asked for again; left, nothing is recorded.
    let third = Scene::new(&project).proposal;
    open_card(&mut deck, &third);
    deck.wait_for_text("It is unlocked here until");
    deck.press(Key::Escape);
    deck.wait_until_gone("as the operator");
    deck.press(Key::Char(':'));
    deck.type_text("lock the key");
    deck.press(Key::Enter);
    deck.wait_for_text("the key is locked");
    decide(&mut deck, &third, None);
    deck.wait_for_text("Type the passphrase");
    deck.press(Key::Escape);
    deck.wait_for_text("nothing was signed");
    assert_eq!(state(&project, &third), "pending");

    let (code, report) = verify(&project);
    assert_eq!(code, 0, "{report}");
    let signed = report["signed"].as_array().unwrap();
    let decided: Vec<_> = signed
        .iter()
        .map(|signed| {
            assert_eq!(signed["fingerprint"], fingerprint, "{report}");
            signed["proposalId"].as_str().unwrap()
        })
        .collect();
    assert_eq!(decided, [first.as_str(), second.as_str()], "{report}");

    // Nothing of it was ever drawn, or written anywhere.
    let drawn = String::from_utf8_lossy(&deck.transcript()).into_owned();
    assert!(!drawn.contains("horse") && !drawn.contains("battery"));
    for folder in [
        project.root().to_owned(),
        project.registry(),
        project.home(),
    ] {
        assert_eq!(holding(&folder, PASSPHRASE), Vec::<PathBuf>::new());
    }
}
