//! What is signed beside decisions: trust, the end of a session, a release gate.

use std::fs;
use std::path::Path;

use ctxrelay::core::agent::Party;
use ctxrelay::core::entry::{
    Artifact, ArtifactStatus, Entry, EntryKind, Fate, LifecycleEvent, Predecessor,
};
use ctxrelay::core::id::{Seq, SessionId};
use ctxrelay::core::signing::ActSignature;
use ctxrelay::wire::line::{parse, seal, serialize};
use serde_json::{Value, json};

use super::{PASSPHRASE, at_a_terminal, lines, make_key, record, state, verify, vouch};
use crate::gates::trust_card::{events, open_card};
use crate::support::gate_scene::Scene;
use crate::support::operator::Operator;
use crate::support::project::{Project, names};
use crate::support::pty::{Key, Pty};

/// A configuration in which acts are signed and one gate is required.
fn config(gates: &[&str]) -> String {
    let gates: Vec<Value> = gates
        .iter()
        .map(|name| json!({"name": name, "cmd": "true", "timeout_s": 60, "required": true}))
        .collect();
    json!({"operator": {"signing": "passphrase"}, "gates": gates}).to_string()
}

#[track_caller]
fn trust(project: &Project) {
    let answers = [("Type `trust`", "trust"), ("Passphrase of", PASSPHRASE)];
    let (code, screen) = at_a_terminal(project, &["trust"], &answers);
    assert_eq!(code, 0, "{screen}");
}

/// A project whose key signs every act.
fn signed() -> Project {
    let project = Project::new();
    make_key(&project);
    project.write(".contextrelay/config.json", &config(&["ok"]));
    project
}

#[track_caller]
fn end_session(project: &Project, verb: &str) {
    let args = ["ledger", verb, "--apply"];
    let answers = [("to go on", verb), ("Passphrase of", PASSPHRASE)];
    let (code, screen) = at_a_terminal(project, &args, &answers);
    assert_eq!(code, 0, "{screen}");
}

#[test]
fn trust_a_release_gate_and_the_end_of_a_session_are_signed_and_the_record_says_by_whom() {
    let project = signed();
    let _daemon = project.daemon();
    trust(&project);
    project.write(".contextrelay/config.json", &config(&["ok", "too"]));
    let shown = project.run(["trust", "--show", "--json"]).json();
    // Over the operator's own socket, as whoever types into his terminal could.
    let mut operator = Operator::connect(&project);
    for (method, params) in [
        ("config/trust", json!({"digest": shown["digest"]})),
        ("ledger/clear", json!({})),
        ("ledger/compact", json!({})),
    ] {
        let refused = operator.call(method, params).unwrap_err();
        assert_eq!(refused.data["code"], "not_signed", "{method}");
    }
    trust(&project);
    let answers = [("Passphrase of", PASSPHRASE)];
    let (code, screen) = at_a_terminal(&project, &["release-gate"], &answers);
    assert_eq!(code, 0, "{screen}");
    assert!(screen.contains("recorded as release gate"), "{screen}");
    end_session(&project, "compact");
    end_session(&project, "clear");

    let exported = project.run(["ledger", "export", "--format", "md"]);
    let shown = project.run(["operator", "key", "show", "--json"]).json();
    let key = shown["fingerprint"].as_str().unwrap();
    // Markdown escapes what is not a letter.
    let text = exported.expect_success().stdout.replace('\\', "");
    assert!(text.contains("signed: goes on from session_"), "{text}");
    assert!(text.contains(&format!("by the key {key}")), "{text}");

    let finished = project.run(["ledger", "verify", "--all", "--json"]);
    let report = finished.json();
    assert_eq!(finished.code(), 0, "{report}");
    let acts: Vec<Vec<String>> = report["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|session| {
            let acts = session["signedActs"].as_array().unwrap().iter();
            let text = |act: &Value| {
                let verdict = act["verdict"].as_str().unwrap_or_default();
                format!("{} {verdict}", act["act"].as_str().unwrap())
                    .trim()
                    .to_owned()
            };
            acts.map(text).collect()
        })
        .collect();
    assert_eq!(
        acts,
        [
            &[
                "signing",
                "trust trusted",
                "release passed",
                "clear compacted"
            ][..],
            &["session", "clear archived"],
            &["session"],
        ]
    );
}

/// Says on the open card that it shall count, with the word; the passphrase is asked for then.
fn trust_on_the_card(deck: &mut Pty) {
    deck.press(Key::Char('a'));
    deck.wait_for_text("Type trust to do it");
    deck.type_text("trust\r");
    deck.wait_for_screen("the question", |screen| {
        screen.contains("Type the passphrase") && screen.contains("Trust in config.json: gates")
    });
    deck.type_text(PASSPHRASE);
    deck.wait_for_text("Something is typed");
}

#[test]
fn what_the_trust_card_shows_is_signed_in_the_deck_and_nothing_that_came_after() {
    let project = signed();
    let _daemon = project.daemon();
    trust(&project);
    let trusted = || events(&project, "config_trusted").len();
    let before = trusted();
    let mut deck = Pty::spawn_sized(&project.ctxrelay([]), 120, 40);
    deck.wait_for_text("✓ chain");
    project.write(".contextrelay/config.json", &config(&["ok", "too"]));
    open_card(&mut deck, "\"too\"");
    trust_on_the_card(&mut deck);
    // Behind the operator's back.
    project.write(".contextrelay/config.json", &config(&["evil"]));
    deck.press(Key::Enter);
    deck.wait_for_text("no longer what was shown");
    assert_eq!(trusted(), before);

    // The key is there for a while.
    open_card(&mut deck, "\"evil\"");
    deck.press(Key::Char('a'));
    deck.wait_for_text("Type trust to do it");
    deck.type_text("trust\r");
    deck.wait_for_text("trusted, on record");
    assert_eq!(trusted(), before + 1);
    let (code, report) = verify(&project);
    assert_eq!(code, 0, "{report}");
    let acts: Vec<&Value> = report["signedActs"].as_array().unwrap().iter().collect();
    let shown = project.run(["trust", "--show", "--json"]).json();
    assert_eq!(acts.last().unwrap()["act"], "trust", "{report}");
    assert_eq!(acts.len(), 2, "{report}");
    assert_eq!(acts.last().unwrap()["subject"], shown["digest"], "{report}");

    // Who signs from now on is no matter of a card.
    let off = json!({"operator": {"signing": "off"}}).to_string();
    project.write(".contextrelay/config.json", &off);
    open_card(&mut deck, "who signs here");
}

#[test]
fn who_can_write_record_and_head_can_neither_trust_nor_release_nor_begin_a_session() {
    let project = signed();
    let daemon = project.daemon();
    trust(&project);
    project.write(".contextrelay/config.json", &config(&["ok", "too"]));
    trust(&project);
    daemon.stop().expect_success();

    // Unsigned, and the genuine trust once more.
    let path = record(&project);
    let before = lines(&path);
    let genuine = last_signed(&path);
    let release = EntryKind::Artifact(Artifact {
        kind: "release_gate".into(),
        title: "release gate".to_owned(),
        summary: "all green".to_owned(),
        status: ArtifactStatus::Passed,
        ..Artifact::default()
    });
    let trusted: EntryKind = LifecycleEvent::ConfigTrusted.into();
    append(&path, "forged-1", Party::Human, trusted.clone(), None);
    append(&path, "forged-2", Party::Human, trusted, Some(&genuine));
    append(&path, "forged-3", Party::System, release.clone(), None);
    append(&path, "forged-4", Party::System, release, Some(&genuine));
    vouch(&project, &path, before);
    let (code, report) = verify(&project);
    assert_eq!(code, 6, "{report}");
    assert_eq!(report["unsigned"].as_array().unwrap().len(), 4, "{report}");
    let daemon = project.daemon();
    let mut operator = Operator::connect(&project);
    for forged in 1..=4 {
        let params = json!({"alarmId": format!("forged-{forged}")});
        operator.call("alarm/acknowledge", params).unwrap();
    }
    let world = operator.call("snapshot/read", json!(null)).unwrap();
    assert_eq!(world["value"]["artifacts"], json!([]), "{world}");
    // The genuine ones still count, and the next one does.
    project.write(".contextrelay/config.json", &config(&["ok"]));
    trust(&project);
    assert_eq!(verify(&project).0, 0);
    daemon.stop().expect_success();

    // A session of somebody else's, which says that the same key goes on signing.
    let next = begin_session(&project, &path);
    vouch(&project, &next, 0);
    let (code, report) = verify(&project);
    assert_eq!(code, 6, "{report}");
    let why = report["unsigned"][0]["why"].as_str().unwrap();
    assert!(why.contains("clear"), "{report}");
    let _daemon = project.daemon();
    let (code, report) = verify(&project);
    assert_eq!(code, 6, "{report}");
}

/// The signature of the last act in a record.
fn last_signed(path: &Path) -> ActSignature {
    let text = fs::read_to_string(path).unwrap();
    let entries = text
        .lines()
        .map(|line| parse(line.as_bytes()).unwrap().entry);
    let signatures: Vec<_> = entries
        .filter_map(|entry| ActSignature::of(&entry))
        .collect();
    signatures.last().unwrap().clone()
}

/// Appends an entry as the daemon would.
fn append(path: &Path, id: &str, source: Party, kind: EntryKind, signature: Option<&ActSignature>) {
    let text = fs::read_to_string(path).unwrap();
    let last = parse(text.lines().last().unwrap().as_bytes()).unwrap();
    let link = last.link.unwrap();
    let mut entry = Entry {
        id: id.into(),
        source,
        target: None,
        content: "as it was".to_owned(),
        kind,
        meta: Default::default(),
        seq: Seq(0),
        ..last.entry
    };
    if let Some(signature) = signature {
        signature.put_on(&mut entry);
    }
    let sealed = seal(serialize(&entry), link.seq + 1, &link.hash).unwrap();
    fs::write(path, format!("{text}{}\n", sealed.line)).unwrap();
}

/// Begins a session behind the one in this file, with its key's own announcement copied over.
fn begin_session(project: &Project, old: &Path) -> std::path::PathBuf {
    let text = fs::read_to_string(old).unwrap();
    let parsed: Vec<_> = text
        .lines()
        .map(|line| parse(line.as_bytes()).unwrap())
        .collect();
    let link = parsed.last().unwrap().link.clone().unwrap();
    let first = parsed[0].entry.clone();
    let on = parsed
        .iter()
        .find(|line| line.entry.meta.contains_key("signing"));
    let session = SessionId::new("session_9999999999000_0badf00d");
    let predecessor = Predecessor {
        session_id: first.session_id.clone(),
        entries: parsed.len() as u64,
        head: link.hash.clone(),
        fate: Fate::Archived,
        earlier: None,
    };
    let begins = Entry {
        id: "forged-5".into(),
        source: Party::Human,
        session_id: session.clone(),
        kind: EntryKind::SessionStarted {
            predecessor: Some(predecessor),
        },
        seq: Seq(0),
        ..first
    };
    let goes_on = Entry {
        id: "forged-6".into(),
        session_id: session.clone(),
        seq: Seq(0),
        ..on.unwrap().entry.clone()
    };
    let one = seal(serialize(&begins), 1, &link.hash).unwrap();
    let hash = parse(one.line.as_bytes()).unwrap().link.unwrap().hash;
    let two = seal(serialize(&goes_on), 2, &hash).unwrap();
    let relay = project.root().join(".contextrelay");
    let path = relay.join(format!("sessions/{session}.jsonl"));
    fs::write(&path, format!("{}\n{}\n", one.line, two.line)).unwrap();
    fs::write(relay.join("current"), format!("{session}\n")).unwrap();
    fs::rename(old, relay.join("archives").join(old.file_name().unwrap())).ok();
    let folder = project.registry().join("heads");
    let head = names(&folder)
        .into_iter()
        .find(|name| name.ends_with(".json"));
    let file = folder.join(head.unwrap());
    let mut head: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    head["sessionId"] = json!(session);
    fs::write(&file, head.to_string()).unwrap();
    path
}

#[test]
fn another_key_in_the_place_of_the_one_that_signs_is_an_alarm_once_it_is_asked_for() {
    let project = signed();
    let _daemon = project.daemon();
    trust(&project);
    let scene = Scene::new(&project);
    fs::remove_file(project.registry().join("operator.key")).unwrap();
    let other = make_key(&project);
    assert_eq!(verify(&project).0, 0);
    // For an approval the key is asked for only once the gates are green.
    let args = ["finality", "reject", &scene.proposal, "--reason", "no"];
    let (code, screen) = at_a_terminal(&project, &args, &[("to go on", "reject")]);
    assert_eq!(code, 5, "{screen}");
    assert_eq!(state(&project, &scene.proposal), "pending");
    let (code, report) = verify(&project);
    assert_eq!(code, 6, "{report}");
    let why = report["unsigned"][0]["why"].as_str().unwrap();
    assert!(
        why.contains("was replaced") && why.contains(&other),
        "{report}"
    );
}
