//! Signed decisions: from the terminal of the operator to the record, and against who can write it.

mod acts;
mod deck;
mod ssh;

use std::fs;
use std::path::{Path, PathBuf};

use ctxrelay::core::entry::EntryKind;
use ctxrelay::wire::line::{parse, seal, serialize};
use serde_json::{Value, json};

use crate::ledger::belief::forge;
use crate::support::gate_scene::Scene;
use crate::support::operator::Operator;
use crate::support::project::{Project, names};
use crate::support::pty::Pty;

const PASSPHRASE: &str = "correct horse battery";

/// Answers each question in turn; the exit code and the screen.
#[track_caller]
fn at_a_terminal(project: &Project, args: &[&str], answers: &[(&str, &str)]) -> (u32, String) {
    let mut line = Pty::spawn(&project.ctxrelay(args.iter().copied()));
    for (question, answer) in answers {
        line.wait_for_text(question);
        line.type_text(&format!("{answer}\r"));
    }
    (line.wait_exit(), line.screen())
}

#[track_caller]
fn make_key(project: &Project) -> String {
    let answers = [
        ("New passphrase:", PASSPHRASE),
        ("The same again:", PASSPHRASE),
    ];
    let (code, screen) = at_a_terminal(project, &["operator", "key", "new"], &answers);
    assert_eq!(code, 0, "{screen}");
    assert!(!screen.contains("horse"), "{screen}");
    let shown = project.run(["operator", "key", "show", "--json"]);
    let shown = shown.expect_success().json();
    shown["fingerprint"].as_str().unwrap().to_owned()
}

/// Says in config.json how decisions are signed, and trusts that.
#[track_caller]
fn switch(project: &Project, mode: &str, passphrase: &str) -> (u32, String) {
    let text = json!({"operator": {"signing": mode}}).to_string();
    project.write(".contextrelay/config.json", &text);
    let answers = [("Type `trust`", "trust"), ("Passphrase of", passphrase)];
    at_a_terminal(project, &["trust"], &answers)
}

#[track_caller]
fn approve(project: &Project, id: &str, passphrase: &str) -> (u32, String) {
    let answers = [("to go on", "approve"), ("Passphrase of", passphrase)];
    at_a_terminal(project, &["finality", "approve", id], &answers)
}

#[track_caller]
fn verify(project: &Project) -> (i32, Value) {
    let finished = project.run(["ledger", "verify", "--json"]);
    (finished.code(), finished.json())
}

#[track_caller]
fn state(project: &Project, id: &str) -> String {
    let list = project.run(["finality", "list", "--json"]).expect_success();
    let list = list.json();
    let mut proposals = list["proposals"].as_array().unwrap().iter();
    let found = proposals.find(|proposal| proposal["id"] == id).unwrap();
    found["status"].as_str().unwrap().to_owned()
}

#[test]
fn only_who_knows_the_passphrase_decides_and_the_record_says_whose_key_it_was() {
    let project = Project::live();
    let fingerprint = make_key(&project);
    let (code, screen) = at_a_terminal(&project, &["operator", "key", "new", "--json"], &[]);
    assert_eq!(code, 3, "{screen}");
    assert!(screen.contains("\"key_exists\""), "{screen}");
    // A wrong passphrase switches nothing on.
    let (code, screen) = switch(&project, "passphrase", "not the one");
    assert_eq!(code, 5, "{screen}");
    let (code, screen) = switch(&project, "passphrase", PASSPHRASE);
    assert_eq!(code, 0, "{screen}");

    let scene = Scene::new(&project);
    let id = &scene.proposal;
    // Over the operator's own socket, as whoever types into his terminal could.
    let mut operator = Operator::connect(&project);
    let params = json!({"proposalId": id, "approve": true});
    let refused = operator.call("finality/decide", params).unwrap_err();
    assert_eq!(refused.data["code"], "not_signed");
    let auto = json!({"change": "signOff", "mode": "auto"});
    assert!(operator.call("policy/set", auto).is_err());
    let (code, screen) = at_a_terminal(&project, &["finality", "mode", "auto"], &[]);
    assert_eq!(code, 3, "{screen}");
    assert!(screen.contains("signing off first"), "{screen}");
    let (code, screen) = approve(&project, id, "not the one");
    assert_eq!(code, 5, "{screen}");
    assert_eq!(state(&project, id), "pending");

    let (code, screen) = approve(&project, id, PASSPHRASE);
    assert_eq!(code, 0, "{screen}");
    assert!(screen.contains(&fingerprint), "{screen}");
    assert_eq!(state(&project, id), "approved");
    let (code, report) = verify(&project);
    assert_eq!(code, 0, "{report}");
    let signed = &report["signed"];
    assert_eq!(signed.as_array().unwrap().len(), 1, "{report}");
    assert_eq!(signed[0]["proposalId"], *id);
    assert_eq!(signed[0]["fingerprint"], fingerprint);

    // The passphrase is nowhere, neither in the project nor beside it.
    for folder in [
        project.root().to_owned(),
        project.registry(),
        project.home(),
    ] {
        assert_eq!(holding(&folder, PASSPHRASE), Vec::<PathBuf>::new());
    }
}

#[test]
fn uninit_says_that_the_key_which_signed_is_not_forgotten() {
    let project = Project::new();
    let daemon = project.daemon();
    make_key(&project);
    let (code, screen) = switch(&project, "passphrase", PASSPHRASE);
    assert_eq!(code, 0, "{screen}");
    daemon.stop();
    let answers = [("Type `delete`", "delete")];
    let (code, screen) = at_a_terminal(&project, &["uninit"], &answers);
    assert_eq!(code, 0, "{screen}");
    assert!(!project.state().exists());
    let shown = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        shown.contains("which knows the key that signed here"),
        "{screen}"
    );
    let known = names(&project.registry().join("signing"));
    assert_eq!(known.len(), 1, "{known:?}");
    // As it says: the new record has the alarm, and none has it once the file is gone.
    let alarmed = || {
        let init = ["init", "--instructions", "skip"];
        project.run(init).expect_success();
        let alarm = |line: &Value| line.to_string().contains("is known outside the project");
        project.ledger().into_iter().filter(alarm).count()
    };
    assert_ne!(alarmed(), 0);
    at_a_terminal(&project, &["uninit"], &answers);
    for name in known {
        fs::remove_file(project.registry().join("signing").join(name)).unwrap();
    }
    assert_eq!(alarmed(), 0);
}

#[test]
fn switching_off_wants_the_key_and_a_new_session_is_signed_as_the_one_before() {
    let project = Project::live();
    make_key(&project);
    let (code, screen) = switch(&project, "passphrase", PASSPHRASE);
    assert_eq!(code, 0, "{screen}");
    let (code, screen) = at_a_terminal(
        &project,
        &["ledger", "clear", "--apply"],
        &[("to go on", "clear"), ("Passphrase of", PASSPHRASE)],
    );
    assert_eq!(code, 0, "{screen}");

    let scene = Scene::new(&project);
    let mut operator = Operator::connect(&project);
    let params = json!({"proposalId": scene.proposal, "approve": true});
    let refused = operator.call("finality/decide", params.clone());
    assert_eq!(refused.unwrap_err().data["code"], "not_signed");
    let (code, screen) = switch(&project, "off", "not the one");
    assert_eq!(code, 5, "{screen}");
    assert!(operator.call("finality/decide", params.clone()).is_err());
    let (code, screen) = switch(&project, "off", PASSPHRASE);
    assert_eq!(code, 0, "{screen}");
    operator.call("finality/decide", params).unwrap();
    assert_eq!(verify(&project).0, 0);
}

#[test]
fn who_can_write_the_project_its_record_and_the_head_outside_cannot_decide() {
    let project = Project::new();
    let daemon = project.daemon();
    make_key(&project);
    let (code, screen) = switch(&project, "passphrase", PASSPHRASE);
    assert_eq!(code, 0, "{screen}");
    let scene = Scene::new(&project);
    let (code, screen) = approve(&project, &scene.proposal, PASSPHRASE);
    assert_eq!(code, 0, "{screen}");
    let second = Scene::new(&project).proposal;
    daemon.stop().expect_success();

    // Unsigned, and the signature of the first decision put on the second proposal.
    let path = record(&project);
    let before = lines(&path);
    forge(&path, &second);
    replay(&path, &second);
    vouch(&project, &path, before);
    let check = || {
        let (code, report) = verify(&project);
        assert_eq!(code, 6, "{report}");
        assert_eq!(report["foreign"], json!([]), "{report}");
        let unsigned = report["unsigned"].as_array().unwrap();
        assert_eq!(unsigned.len(), 2, "{report}");
        assert_eq!(report["signed"].as_array().unwrap().len(), 1, "{report}");
    };
    check();
    let _daemon = project.daemon();
    let mut operator = Operator::connect(&project);
    assert_eq!(state(&project, &second), "pending");
    assert_eq!(state(&project, &scene.proposal), "approved");
    check();
    // Seen and acknowledged they still decide nothing.
    for id in ["forged-1", "forged-3"] {
        let params = json!({"alarmId": id});
        operator.call("alarm/acknowledge", params).unwrap();
    }
    assert_eq!(verify(&project).0, 0);
    assert_eq!(state(&project, &second), "pending");
}

#[test]
fn a_record_that_no_longer_says_that_it_is_signed_is_an_alarm_and_is_signed_again() {
    let project = Project::new();
    let daemon = project.daemon();
    make_key(&project);
    let (code, screen) = switch(&project, "passphrase", PASSPHRASE);
    assert_eq!(code, 0, "{screen}");
    daemon.stop().expect_success();

    // Cut before the switch-on, and the head outside made to vouch for the rest.
    let path = record(&project);
    let text = fs::read_to_string(&path).unwrap();
    let kept: Vec<&str> = text
        .lines()
        .take_while(|line| !line.contains("\"config_trusted\""))
        .collect();
    assert!(kept.len() < lines(&path));
    fs::write(&path, kept.join("\n") + "\n").unwrap();
    vouch(&project, &path, 0);
    assert_eq!(verify(&project).0, 0);

    let _daemon = project.daemon();
    let scene = Scene::new(&project);
    let mut operator = Operator::connect(&project);
    let params = json!({"proposalId": scene.proposal, "approve": true});
    let refused = operator.call("finality/decide", params).unwrap_err();
    assert_eq!(refused.data["code"], "not_signed");
    let (code, report) = verify(&project);
    assert_eq!(code, 6, "{report}");
    let why = report["unsigned"][0]["why"].as_str().unwrap();
    assert!(why.contains("does not say any more"), "{report}");
    let (code, screen) = approve(&project, &scene.proposal, PASSPHRASE);
    assert_eq!(code, 0, "{screen}");
}

/// The current session's file.
fn record(project: &Project) -> PathBuf {
    let folder = project.root().join(".contextrelay/sessions");
    let name = names(&folder)
        .into_iter()
        .find(|name| name.ends_with(".jsonl"));
    folder.join(name.unwrap())
}

fn lines(path: &Path) -> usize {
    fs::read_to_string(path).unwrap().lines().count()
}

/// Appends the last signed decision once more, for another proposal.
fn replay(path: &Path, proposal: &str) {
    let text = fs::read_to_string(path).unwrap();
    let mut signed = text.lines().filter(|line| line.contains("\"signature\""));
    let mut entry = parse(signed.next_back().unwrap().as_bytes()).unwrap().entry;
    let EntryKind::FinalityDecision(decision) = &mut entry.kind else {
        panic!("no decision");
    };
    decision.proposal_id = proposal.into();
    entry.id = "forged-3".into();
    let link = parse(text.lines().last().unwrap().as_bytes())
        .unwrap()
        .link
        .unwrap();
    let sealed = seal(serialize(&entry), link.seq + 1, &link.hash).unwrap();
    fs::write(path, format!("{text}{}\n", sealed.line)).unwrap();
}

/// Makes the head outside vouch for every line behind the first `before`.
fn vouch(project: &Project, path: &Path, before: usize) {
    let folder = project.registry().join("heads");
    let head = names(&folder)
        .into_iter()
        .find(|name| name.ends_with(".json"));
    let file = folder.join(head.unwrap());
    let mut head: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let text = fs::read_to_string(path).unwrap();
    if before == 0 {
        head["anchors"] = json!([]);
    }
    for line in text.lines().skip(before) {
        let link = parse(line.as_bytes()).unwrap().link.unwrap();
        head["seq"] = json!(link.seq);
        head["hash"] = json!(link.hash);
        let anchors = head["anchors"].as_array_mut().unwrap();
        anchors.push(json!([link.seq, link.hash]));
    }
    fs::write(&file, head.to_string()).unwrap();
}

/// The files below a folder that have a text in them.
fn holding(folder: &Path, text: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for file in fs::read_dir(folder).into_iter().flatten() {
        let path = file.unwrap().path();
        let Ok(meta) = path.symlink_metadata() else {
            continue;
        };
        if meta.is_dir() {
            found.extend(holding(&path, text));
        } else if meta.is_file() {
            let bytes = fs::read(&path).unwrap_or_default();
            if bytes
                .windows(text.len())
                .any(|part| part == text.as_bytes())
            {
                found.push(path);
            }
        }
    }
    found
}
