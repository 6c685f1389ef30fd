//! Tasks that can travel, in the deck: what a key there writes is on the disk, and in the record.

use std::fs;

use serde_json::{Value, json};

use crate::capsule::from_base64;
use crate::support::operator::Operator;
use crate::support::project::Project;
use crate::support::pty::{Key, Pty};
use crate::support::wait::{timeout, wait_until};

/// A deck that hosts, with a task that Claude has said something for, and an editor of this script.
fn deck(project: &Project, script: &str) -> Pty {
    let editor = project.write("editor.sh", script);
    let launch = project
        .ctxrelay([])
        .env_remove("VISUAL")
        .env("EDITOR", format!("sh {}", editor.display()));
    let mut deck = Pty::spawn_sized(&launch, 120, 40).labelled("deck");
    deck.wait_for_text("● daemon");
    let new = [
        "capsule",
        "new",
        "Fix the login",
        "--goal",
        "nobody is logged out",
    ];
    let mut opened = Pty::spawn(&project.ctxrelay(new));
    assert_eq!(opened.wait_exit(), 0, "{}", opened.screen());
    let mut claude = project.agent("claude");
    let said = json!({"agent": "claude", "kind": "decision", "text": "tokens live for one hour"});
    claude.expect("note/append", said);
    deck.wait_for_text("tokens live for one hour");
    deck.type_text("T");
    // Its title stands in the timeline as well.
    deck.wait_for_text("hand to an agent");
    deck.press(Key::Enter);
    deck.wait_for_text("[claude] tokens live for one hour");
    deck
}

fn capsule(project: &Project) -> Value {
    let list = project.run(["capsule", "list", "--json"]);
    let id = list.expect_success().json()["capsules"][0]["id"].clone();
    let show = ["capsule", "show", id.as_str().unwrap(), "--json"];
    project.run(show).expect_success().json()
}

#[test]
fn a_task_is_exported_handed_over_and_closed_from_the_deck() {
    let project = Project::new();
    let mut deck = deck(&project, "");
    deck.type_text("w");
    deck.wait_for_text("../fix-the-login.ctxcapsule.json");
    deck.press(Key::Enter);
    deck.wait_for_text("exported to");
    let file = project.root().join("../fix-the-login.ctxcapsule.json");
    let exported: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(exported["decisions"][0]["text"], "tokens live for one hour");
    // None is written over.
    deck.type_text("w");
    deck.wait_for_text("into which file?");
    deck.press(Key::Enter);
    deck.wait_for_text("exists already");
    // To Codex: behind the question, and behind the answer that leaves it.
    deck.type_text("hjj");
    deck.press(Key::Enter);
    deck.wait_for_text("handed to Codex as entry");
    let entries = project.ledger();
    let handed = entries.iter().find(|entry| entry["type"] == "handoff");
    let handed = handed.expect("a handoff");
    assert_eq!(handed["target"], "codex");
    let refs = handed["handoff"]["context_refs"].clone();
    assert_eq!(refs, json!([exported["id"]]), "{handed:#}");
    // For somebody who is no agent of the pair, on the clipboard.
    deck.type_text("hjjjjjjj");
    deck.wait_for_text("Markdown");
    deck.press(Key::Enter);
    deck.wait_for_text("copied");
    let copied = wait_until("the copy", timeout(), || {
        let written = String::from_utf8_lossy(&deck.transcript()).into_owned();
        let (_, copied) = written.split_once("\u{1b}]52;c;")?;
        let end = copied.find(['\u{7}', '\u{1b}'])?;
        Some(from_base64(&copied[..end]))
    });
    assert!(copied.starts_with("# Fix the login\n"), "{copied}");
    assert!(
        copied.contains("[claude] tokens live for one hour"),
        "{copied}"
    );
    deck.type_text("c");
    deck.wait_for_text("what came of it?");
    deck.type_text("fixed in 1.4");
    deck.press(Key::Enter);
    deck.wait_for_text("is closed by entry");
    // The sheet is read again, and has no key for it any more.
    deck.wait_for_text("[human] fixed in 1.4");
    let capsule = capsule(&project);
    assert_eq!(capsule["status"], "closed");
    assert_eq!(capsule["outcome"]["text"], "fixed in 1.4");
    // The work tree goes on without it: handed over, it is still as it was closed.
    let kept = format!(
        ".contextrelay/capsules/{}.json",
        capsule["id"].as_str().unwrap()
    );
    let closed = project.read(&kept);
    project.write("later.txt", "later");
    project.git(&["add", "later.txt"]);
    project.git(&["commit", "-qm", "later"]);
    deck.type_text("hjj");
    deck.press(Key::Enter);
    let handoffs = || {
        let entries = project.ledger().into_iter();
        let handed = entries.filter(|entry| entry["type"] == "handoff");
        (handed.count() == 2).then_some(())
    };
    wait_until("the second handoff", timeout(), handoffs);
    // One thing after the other: once the list was read again, the task was kept.
    deck.press(Key::Escape);
    deck.wait_until_gone("esc back");
    deck.press(Key::Escape);
    deck.wait_until_gone("Capsules");
    deck.type_text("T");
    deck.wait_for_text("closed");
    assert_eq!(project.read(&kept), closed);
}

#[test]
fn what_has_to_be_known_of_a_text_is_said_when_it_is_copied() {
    let project = Project::new();
    let mut deck = deck(&project, "");
    deck.type_text("c");
    deck.wait_for_text("what came of it?");
    deck.press(Key::Enter);
    deck.wait_for_text("is closed by entry");
    let id = capsule(&project)["id"].as_str().unwrap().to_owned();
    fs::remove_file(project.state().join(format!("capsules/{id}.json"))).unwrap();
    deck.type_text("hjjjjjjj");
    deck.wait_for_text("Markdown");
    deck.press(Key::Enter);
    deck.wait_for_text("copied; it was not kept when it was closed");
}

#[test]
fn what_was_said_before_goes_along_as_far_as_it_is_ticked() {
    let project = Project::new();
    let mut deck = deck(&project, "");
    // Said for another task, which is over.
    let id = capsule(&project)["id"].as_str().unwrap().to_owned();
    let run = |args: &[&str]| {
        let words = ["capsule"].iter().chain(args).copied();
        let mut pty = Pty::spawn(&project.ctxrelay(words));
        assert_eq!(pty.wait_exit(), 0, "{}", pty.screen());
    };
    run(&["new", "Bake a cake", "--goal", "a cake"]);
    let mut claude = project.agent("claude");
    for text in ["the login needs a cake", "no login without candles"] {
        let said = json!({"agent": "claude", "kind": "decision", "text": text});
        claude.expect("note/append", said);
    }
    run(&["use", &id]);
    deck.type_text("hjjjj");
    deck.press(Key::Enter);
    deck.wait_for_text("what goes along to Codex?");
    deck.wait_for_text("[ ] ");
    // Whichever stands first.
    deck.type_text(" ");
    deck.wait_for_text("[x] ");
    let shown = deck.screen();
    let row = |mark: &str| {
        let line = shown.lines().find(|line| line.contains(mark)).unwrap();
        ["the login needs a cake", "no login without candles"]
            .into_iter()
            .find(|text| line.contains(text))
    };
    let (ticked, left) = (row("[x] ").expect(&shown), row("[ ] ").expect(&shown));
    assert_ne!(ticked, left);
    deck.press(Key::Enter);
    deck.wait_for_text("handed to Codex as entry");
    let entries = project.ledger();
    let handed = entries.iter().find(|entry| entry["type"] == "handoff");
    let said = handed.expect("a handoff")["content"].as_str().unwrap();
    assert!(said.contains("Said before, elsewhere"), "{said}");
    assert!(said.contains(&format!("claude] {ticked}")), "{said}");
    assert!(!said.contains(left), "{said}");
}

#[test]
fn changes_and_outputs_go_along_where_that_is_chosen() {
    let project = Project::new();
    project.write("src/login.rs", "one\ntwo\n");
    project.git(&["add", "."]);
    project.git(&["commit", "-qm", "before"]);
    project.write("src/login.rs", "one\nthree\n");
    let gates = json!([{"name": "test", "cmd": "echo all is red; exit 1"}]);
    let config = json!({ "gates": gates }).to_string();
    project.write(".contextrelay/config.json", &config);
    let mut deck = deck(&project, "");
    let mut trust = Pty::spawn(&project.ctxrelay(["trust"]));
    trust.wait_for_text("Type `trust`");
    trust.type_text("trust\r");
    assert_eq!(trust.wait_exit(), 0, "{}", trust.screen());
    let mut operator = Operator::connect(&project);
    operator.call("gates/run", json!({})).unwrap();
    // Not its line in the file: that is there before the run is over.
    wait_until("the end of the gate", timeout(), || {
        let told = operator.call("gates/list", json!({})).unwrap();
        (!told["value"]["ended"].is_null()).then_some(())
    });
    let mut export = |name: &str, tabs: &str| -> Value {
        deck.type_text("w");
        deck.wait_for_text("goes along");
        deck.type_text(tabs);
        // In place of the name that is offered.
        deck.send(b"\x15");
        deck.type_text(name);
        deck.press(Key::Enter);
        deck.wait_for_text(&format!("exported to {name}"));
        let file = project.root().join(name);
        serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
    };
    let plain = export("../plain.json", "");
    assert_eq!(plain["patch"], Value::Null);
    assert_eq!(plain["outputs"], Value::Null);
    let patched = export("../patch.json", "\t");
    let patch = from_base64(patched["patch"]["data"].as_str().unwrap());
    assert!(patch.contains("+three"), "{patch}");
    assert_eq!(patched["outputs"], Value::Null);
    let both = export("../both.json", "\t\t\t");
    assert_eq!(both["patch"], patched["patch"]);
    let output = from_base64(both["outputs"][0]["data"].as_str().unwrap());
    assert!(output.contains("all is red\n"), "{output}");
    deck.wait_for_text("with a patch of 1 file");
    deck.wait_for_text("with what 1 gate printed");
    // The digest of this file, by which who gets it can tell.
    deck.wait_for_text(both["digest"].as_str().unwrap());
}

#[test]
fn a_task_is_found_by_its_words_and_opened() {
    let project = Project::new();
    let mut deck = deck(&project, "");
    deck.press(Key::Escape);
    deck.wait_until_gone("esc back");
    deck.press(Key::Escape);
    deck.wait_until_gone("Capsules");
    deck.press(Key::Char('/'));
    deck.type_text("one hour");
    deck.wait_for_text("1 of 1 in the whole record");
    deck.send(b"\x14");
    deck.wait_for_text("1 of 1 in all capsules");
    deck.wait_for_text("fresh");
    deck.press(Key::Enter);
    deck.wait_for_text("Capsule  Fix the login");
    deck.wait_for_text("[claude] tokens live for one hour");
    // In all places at once: the task first, then what was said of it.
    deck.press(Key::Escape);
    deck.wait_until_gone("Capsule  Fix the login");
    deck.press(Key::Char('/'));
    deck.send(b"\x14");
    deck.wait_for_text("in all sealed sessions");
    deck.send(b"\x14");
    deck.wait_for_text("1 of 2 in record, capsules and archives");
    deck.press(Key::Down);
    deck.wait_for_text("2 of 2 in record");
    deck.press(Key::Enter);
    deck.wait_until_gone("2 of 2 in record");
    // The search stays marked.
    deck.wait_for_text("/one hour 2 of 2");
}

#[test]
fn what_is_edited_of_a_task_is_recorded_as_the_operators() {
    let project = Project::new();
    let script = r##"sed -i 's/^title: .*/title: Fix the logout/; s/^# Constraints$/&\n- no new dependency/; s/^- tokens live.*//' "$1""##;
    let mut deck = deck(&project, script);
    deck.type_text("e");
    deck.wait_for_text("recorded as yours");
    deck.wait_for_text("[human] no new dependency");
    let edited = capsule(&project);
    assert_eq!(edited["title"], "Fix the logout");
    assert_eq!(edited["constraints"][0]["text"], "no new dependency");
    assert_eq!(edited["constraints"][0]["by"], "human");
    // What was taken away there is still what Claude said.
    assert_eq!(edited["decisions"][0]["text"], "tokens live for one hour");
    assert_eq!(edited["goal"]["text"], "nobody is logged out");

    // The command does the same, in its own terminal, below a heading as Markdown has them too.
    let editor = project.write(
        "other.sh",
        r##"sed -i 's/^# Next steps$/#&\nrotate the key/' "$1""##,
    );
    let id = edited["id"].as_str().unwrap();
    let launch = project
        .ctxrelay(["capsule", "edit", id])
        .env_remove("VISUAL")
        .env("EDITOR", format!("sh {}", editor.display()));
    let mut command = Pty::spawn(&launch);
    assert_eq!(command.wait_exit(), 0, "{}", command.screen());
    assert_eq!(capsule(&project)["next"][0]["text"], "rotate the key");
    let piped = project.run(["capsule", "edit", id]);
    assert_eq!(piped.code(), 5, "{piped:?}");
}

#[test]
fn a_capsule_that_somebody_changed_is_named_and_not_shown() {
    let project = Project::new();
    let mut deck = deck(&project, "");
    deck.type_text("c");
    deck.wait_for_text("what came of it?");
    deck.press(Key::Enter);
    deck.wait_for_text("is closed by entry");
    let id = capsule(&project)["id"].as_str().unwrap().to_owned();
    let kept = project.root().join(".contextrelay/capsules");
    let kept = kept.join(format!("{id}.json"));
    let text = fs::read_to_string(&kept).unwrap();
    fs::write(&kept, text.replace("one hour", "ten years")).unwrap();
    deck.press(Key::Escape);
    deck.wait_until_gone("esc back");
    deck.press(Key::Escape);
    deck.wait_until_gone("Capsules");
    deck.type_text("T");
    deck.wait_for_text("tampered");
    deck.press(Key::Enter);
    deck.wait_until_gone("hand to an agent");
    deck.wait_for_text("the capsule is not what it was");
    assert!(!deck.shows("ten years"), "{}", deck.screen());
}

#[test]
fn a_task_begins_in_the_deck_with_what_was_said_before_as_far_as_it_is_ticked() {
    let project = Project::new();
    let mut deck = deck(&project, "");
    // From the sheet of the first one.
    deck.type_text("n");
    deck.wait_for_text("what is its title?");
    deck.type_text("Shorter sessions");
    deck.press(Key::Enter);
    deck.wait_for_text("which words to look for?");
    // Those of the title stand there; nothing was said about them.
    for _ in 0.."Shorter sessions".len() {
        deck.press(Key::Backspace);
    }
    deck.type_text("tokens");
    deck.press(Key::Enter);
    deck.wait_for_text("what is so for");
    deck.wait_for_text("[ ] ");
    deck.type_text(" ");
    deck.wait_for_text("[x] ");
    deck.press(Key::Enter);
    deck.wait_for_text("is open; what is recorded from now on");
    let shown = capsule(&project);
    assert_eq!(shown["title"], "Shorter sessions");
    assert_eq!(shown["status"], "open");
    let assumed = &shown["assumptions"][0];
    assert_eq!(assumed["by"], "human");
    let text = assumed["text"].as_str().unwrap();
    assert!(text.contains("tokens live for one hour"), "{text}");
    assert_eq!(shown["decisions"], json!([]));
    let list = project.run(["capsule", "list", "--json"]);
    let list = list.expect_success().json();
    let current = list["capsules"].as_array().unwrap().iter();
    let current: Vec<&Value> = current.filter(|row| row["current"] == true).collect();
    assert_eq!(current.len(), 1);
    assert_eq!(current[0]["title"], "Shorter sessions");
    // The list below has it.
    deck.press(Key::Escape);
    deck.wait_for_text("Shorter sessions");
}
