//! A person's own SSH key in the place of a passphrase.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use super::deck::open_card;
use super::{at_a_terminal, lines, record, replay, state, verify, vouch};
use crate::support::gate_scene::Scene;
use crate::support::project::Project;
use crate::support::pty::{Key, Pty};
use crate::support::wait::{timeout, wait_until};

/// Makes a key without a passphrase; its public half.
#[track_caller]
fn ssh_key(project: &Project, name: &str) -> PathBuf {
    let path = project.home().join(name);
    let made = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f"])
        .arg(&path)
        .status()
        .expect("ssh-keygen, from openssh-client");
    assert!(made.success());
    path.with_extension("pub")
}

/// What the person would compare.
fn fingerprint(public: &Path) -> String {
    let shown = Command::new("ssh-keygen").arg("-lf").arg(public).output();
    let shown = String::from_utf8(shown.unwrap().stdout).unwrap();
    shown.split_whitespace().nth(1).unwrap().to_owned()
}

/// Approves on the card of the deck.
fn press_approve(deck: &mut Pty, id: &str) {
    open_card(deck, id);
    deck.press(Key::Char('a'));
    deck.wait_for_text("Record your approval");
    deck.press(Key::Enter);
}

#[test]
fn decisions_and_trust_are_signed_with_the_persons_own_key_in_terminal_and_deck() {
    let project = Project::new();
    let daemon = project.daemon();
    let public = ssh_key(&project, "id_mine");
    let mine = fingerprint(&public);
    let path = public.to_str().unwrap();
    let (code, screen) = at_a_terminal(&project, &["operator", "key", "new", "--ssh", path], &[]);
    assert_eq!(code, 0, "{screen}");
    assert!(screen.contains(&mine), "{screen}");
    // Whatever runs as the person can use it. The terminal breaks lines anywhere.
    let said: String = screen.split_whitespace().collect();
    assert!(said.contains("Thisisnosecuritykey"), "{screen}");
    assert!(said.contains("`ssh-add-c`"), "{screen}");
    // A key of the other sort is not what the configuration says.
    let switch = |mode: &str| {
        let text = json!({"operator": {"signing": mode}}).to_string();
        project.write(".contextrelay/config.json", &text);
        at_a_terminal(&project, &["trust"], &[("Type `trust`", "trust")])
    };
    let (code, screen) = switch("passphrase");
    assert_eq!(code, 3, "{screen}");
    let (code, screen) = switch("ssh");
    assert_eq!(code, 0, "{screen}");

    let first = Scene::new(&project).proposal;
    let args = ["finality", "approve", &first];
    let (code, screen) = at_a_terminal(&project, &args, &[("to go on", "approve")]);
    assert_eq!(code, 0, "{screen}");
    let second = Scene::new(&project).proposal;
    let mut deck = Pty::spawn(&project.ctxrelay([]));
    deck.wait_for_text("✓ chain");
    press_approve(&mut deck, &second);
    wait_until("approved", timeout(), || {
        (state(&project, &second) == "approved").then_some(())
    });
    let (code, report) = verify(&project);
    assert_eq!(code, 0, "{report}");
    let signed = report["signed"].as_array().unwrap();
    assert_eq!(signed.len(), 2, "{report}");
    assert!(
        signed.iter().all(|it| it["fingerprint"] == mine),
        "{report}"
    );

    // Another key in the place of this one signs nothing that counts.
    let third = Scene::new(&project).proposal;
    let other = ssh_key(&project, "id_other");
    for half in ["", ".pub"] {
        let from = format!("{}{half}", other.with_extension("").display());
        std::fs::copy(
            from,
            format!("{}{half}", public.with_extension("").display()),
        )
        .unwrap();
    }
    press_approve(&mut deck, &third);
    deck.wait_for_text("was replaced");
    deck.press(Key::Escape);
    let args = ["finality", "approve", &third];
    let (code, screen) = at_a_terminal(&project, &args, &[("to go on", "approve")]);
    assert_eq!(code, 5, "{screen}");
    assert_eq!(state(&project, &third), "pending");
    drop(deck);
    daemon.stop().expect_success();

    // Nor does a decision that was signed for another proposal.
    let path = record(&project);
    let before = lines(&path);
    replay(&path, &third);
    vouch(&project, &path, before);
    let (code, report) = verify(&project);
    assert_eq!(code, 6, "{report}");
    assert_eq!(report["unsigned"].as_array().unwrap().len(), 1, "{report}");
    let _daemon = project.daemon();
    assert_eq!(state(&project, &third), "pending");
}

#[test]
fn a_file_that_is_no_key_and_a_key_that_cannot_sign_are_not_taken() {
    let project = Project::new();
    let public = ssh_key(&project, "id_alone");
    let new = |path: &Path| {
        let args = ["operator", "key", "new", "--ssh", path.to_str().unwrap()];
        at_a_terminal(&project, &args, &[])
    };
    let (code, screen) = new(&public.with_extension(""));
    assert_eq!(code, 3, "{screen}");
    std::fs::remove_file(public.with_extension("")).unwrap();
    let (code, screen) = new(&public);
    assert_eq!(code, 5, "{screen}");
    let shown = project.run(["operator", "key", "show", "--json"]);
    assert_eq!(shown.code(), 3);
}

#[test]
fn a_key_whose_passphrase_is_not_typed_is_not_taken() {
    let project = Project::new();
    let path = project.home().join("id_asks");
    let made = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "asked for", "-f"])
        .arg(&path)
        .status();
    assert!(made.expect("ssh-keygen, from openssh-client").success());
    let public = path.with_extension("pub");
    let args = ["operator", "key", "new", "--ssh"];
    let mut new = Pty::spawn(&project.ctxrelay(args.into_iter().chain(public.to_str())));
    new.wait_for_text("passphrase");
    new.send(b"\x03");
    assert_ne!(new.wait_exit(), 0, "{}", new.screen());
    assert!(!project.registry().join("operator.key").exists());
}

#[test]
fn a_key_file_that_is_damaged_can_be_removed_and_another_key_made() {
    let project = Project::new();
    let public = ssh_key(&project, "id_mine");
    let path = project.registry().join("operator.key");
    std::fs::write(&path, "{\"version\": 1, \"sig").unwrap();
    let args = ["operator", "key", "new", "--ssh", public.to_str().unwrap()];
    let new = || at_a_terminal(&project, &args, &[]);
    let (code, screen) = new();
    assert_eq!(code, 3, "{screen}");
    let screen = screen.replace('\n', " ");
    assert!(screen.contains("operator key remove"), "{screen}");
    let remove = ["operator", "key", "remove"];
    let (code, screen) = at_a_terminal(&project, &remove, &[("Type `remove`", "no")]);
    assert_eq!(code, 5, "{screen}");
    assert!(path.exists());
    let (code, screen) = at_a_terminal(&project, &remove, &[("Type `remove`", "remove")]);
    assert_eq!(code, 0, "{screen}");
    assert!(!path.exists());
    let (code, screen) = new();
    assert_eq!(code, 0, "{screen}");
}
