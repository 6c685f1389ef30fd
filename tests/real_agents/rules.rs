//! The rules of one vendor's files, in the requests of the other one's model.

use serde_json::{Value, json};

use crate::pair::{attached_claude, note_the_goal, of_type, wait_status};
use crate::support::child::run;
use crate::support::model_request::says;
use crate::support::pair::Pair;
use crate::support::pty::Pty;
use crate::support::script::Reply;
use crate::support::wait::{timeout, wait_until};

const MINE: &str = "Plums are sorted by weight.";
const BOTH: &str = "Nothing is thrown away.";
const THEIRS: &str = "Crates are numbered from one.";

#[test]
fn the_rules_of_the_other_files_reach_claude_once_and_again_when_they_change() {
    let Some(pair) = Pair::new() else { return };
    pair.project
        .write("CLAUDE.md", &format!("{MINE}\n\n{BOTH}\n"));
    pair.project
        .write("AGENTS.md", &format!("# Crates\n\n{BOTH}\n\n{THEIRS}\n"));
    let _daemon = pair.daemon();
    let mut claude = attached_claude(&pair);
    pair.messages
        .when(says("begin with the plums"))
        .once()
        .reply(Reply::text("Begun."));
    claude.submit("begin with the plums");
    claude.wait_for_text("Begun.");
    claude_is_given_the_rules_of_the_other_files_once_and_keeps_its_own(&pair);
    assert_eq!(changed(&pair), None);
    // What is typed before the turn has ended may come in another order.
    wait_status(&pair, "an idle Claude", |status| {
        status["agents"]["claude"]["state"] == "idle"
    });
    rules_that_change_while_claude_runs_are_told_apart_and_given_after_a_compaction(
        &pair,
        &mut claude,
    );
}

fn claude_is_given_the_rules_of_the_other_files_once_and_keeps_its_own(pair: &Pair) {
    let request = pair
        .messages
        .wait_for_request("the first request", |request| {
            request.is_step() && request.user_text().contains("begin with the plums")
        });
    for rule in [MINE, BOTH, THEIRS] {
        assert_eq!(request.count_of(rule), 1, "{rule}");
    }
    let given: Vec<Value> = of_type(pair, "runtime_event")
        .into_iter()
        .filter(|line| line["runtimeEvent"]["kind"] == "context_reloaded")
        .collect();
    let text = given[0]["content"].as_str().unwrap();
    assert!(request.mentions(text), "the record holds what was given");

    let said = run(&pair.ctxrelay(["instructions", "--json"]))
        .expect_success()
        .json();
    let rows: Vec<String> = ["claude", "codex"]
        .into_iter()
        .flat_map(|agent| said["agents"][agent].as_array().unwrap().iter())
        .map(|row| {
            let [file, rule, state] =
                ["file", "paragraph", "state"].map(|key| row[key].as_str().unwrap());
            format!("{file} {state}: {rule}")
        })
        .collect();
    assert_eq!(
        rows,
        [
            &format!("CLAUDE.md native: {MINE}"),
            &format!("CLAUDE.md native: {BOTH}"),
            "AGENTS.md withheld: # Crates",
            &format!("AGENTS.md given: {THEIRS}"),
            &format!("CLAUDE.md given: {MINE}"),
            &format!("CLAUDE.md withheld: {BOTH}"),
            "AGENTS.md native: # Crates",
            &format!("AGENTS.md native: {THEIRS}"),
        ]
    );
}

fn rules_that_change_while_claude_runs_are_told_apart_and_given_after_a_compaction(
    pair: &Pair,
    claude: &mut Pty,
) {
    const NEW: &str = "Crates are numbered from zero.";
    pair.project
        .write("AGENTS.md", &format!("# Crates\n\n{BOTH}\n\n{NEW}\n"));
    pair.messages
        .when(says("and then the pears"))
        .once()
        .reply(Reply::text("Pears, too."));
    claude.submit("and then the pears");
    claude.wait_for_text("Pears, too.");
    let files = wait_until("the change's entry", timeout(), || changed(pair));
    assert_eq!(files[0]["file"], "AGENTS.md");
    assert_eq!(files[0]["lines"], format!("- {THEIRS}\n+ {NEW}"));
    assert_eq!(files[0]["by"], Value::Array(Vec::new()));

    claude.submit("/compact");
    wait_until("the new rules' entry", timeout(), || {
        changed(pair)?.is_empty().then_some(())
    });
    claude.wait_for_text("Compacted");
    pair.messages
        .when(says("go on with both"))
        .once()
        .reply(Reply::text("On it."));
    claude.submit("go on with both");
    let request = pair
        .messages
        .wait_for_request("the next request", |request| {
            request.is_step() && request.user_text().contains("go on with both")
        });
    assert_eq!((request.count_of(NEW), request.count_of(THEIRS)), (1, 0));
    assert_eq!(request.count_of(MINE), 1);
}

#[test]
fn what_claude_says_it_read_counts_and_what_its_person_excludes_is_given_after_a_compaction() {
    let Some(pair) = Pair::new() else { return };
    pair.project.write("CLAUDE.md", &format!("{MINE}\n"));
    pair.project
        .write("CLAUDE.local.md", &format!("{BOTH}\n\n@docs/a.md\n"));
    pair.project.write("docs/a.md", &format!("{THEIRS}\n"));
    let excluded = pair.project.root().join("CLAUDE.md").display().to_string();
    let settings = json!({"claudeMdExcludes": [excluded]}).to_string();
    std::fs::write(pair.claude_home.settings(), settings).unwrap();
    let _daemon = pair.daemon();
    let mut claude = attached_claude(&pair);
    note_the_goal(&pair, &mut claude);
    let first = pair
        .messages
        .wait_for_request("the first request", |request| request.is_step());
    assert!(
        first.mentions(THEIRS) && !first.mentions(MINE),
        "{first:#?}"
    );
    wait_status(&pair, "what Claude read", |status| {
        let read = &status["agents"]["claude"]["continuity"]["instructionsRead"];
        *read == json!(["CLAUDE.local.md", "docs/a.md"])
    });
    let said = run(&pair.ctxrelay(["instructions", "claude", "--json"])).expect_success();
    let said = said.json()["agents"]["claude"].clone();
    let states = said.as_array().unwrap().iter();
    let states: Vec<String> = states
        .map(|row| format!("{} {}", row["file"], row["state"]))
        .collect();
    let wanted = [
        r#""CLAUDE.md" "given""#,
        r#""CLAUDE.local.md" "native""#,
        r#""docs/a.md" "native""#,
    ];
    assert!(
        wanted.iter().all(|row| states.contains(&(*row).to_owned())),
        "{states:?}"
    );

    claude.submit("/compact");
    claude.wait_for_text("Compacted");
    pair.messages
        .when(says("go on with the plums"))
        .once()
        .reply(Reply::text("On it."));
    claude.submit("go on with the plums");
    let request = pair
        .messages
        .wait_for_request("the next request", |request| {
            request.is_step() && request.user_text().contains("go on with the plums")
        });
    // What its file includes Claude shows its model once more, as a file that it had read.
    for rule in [MINE, BOTH] {
        assert_eq!(request.count_of(rule), 1, "{rule}: {request:#?}");
    }
}

/// The files that an agent was not told of, by the record's last word.
fn changed(pair: &Pair) -> Option<Vec<Value>> {
    let events = of_type(pair, "runtime_event").into_iter();
    let mut changes = events.filter(|line| line["runtimeEvent"]["kind"] == "rules_changed");
    let last = changes.next_back()?;
    last["runtimeEvent"]["rules"]["files"].as_array().cloned()
}

#[test]
fn nothing_is_shared_where_the_operator_says_so() {
    let Some(pair) = Pair::new() else { return };
    pair.project.write("CLAUDE.md", MINE);
    pair.project.write("AGENTS.md", THEIRS);
    pair.project.write(
        ".contextrelay/config.json",
        r#"{"version": 1, "instructions": {"share": "off"}}"#,
    );
    let _daemon = pair.daemon();
    let mut claude = attached_claude(&pair);
    pair.messages
        .when(says("begin with the plums"))
        .once()
        .reply(Reply::text("Begun."));
    claude.submit("begin with the plums");
    let request = pair
        .messages
        .wait_for_request("the first request", |request| {
            request.is_step() && request.user_text().contains("begin with the plums")
        });
    assert_eq!((request.count_of(MINE), request.count_of(THEIRS)), (1, 0));
}
