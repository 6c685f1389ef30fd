//! The rules of one vendor's files, in the requests of the other one's model.

use serde_json::Value;

use crate::pair::{attached_claude, of_type};
use crate::support::child::run;
use crate::support::model_request::says;
use crate::support::pair::Pair;
use crate::support::script::Reply;

const MINE: &str = "Plums are sorted by weight.";
const BOTH: &str = "Nothing is thrown away.";
const THEIRS: &str = "Crates are numbered from one.";

#[test]
fn claude_is_given_the_rules_of_the_other_files_once_and_keeps_its_own() {
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
    let request = pair
        .messages
        .wait_for_request("the first request", |request| {
            request.is_step() && request.user_text().contains("begin with the plums")
        });
    for rule in [MINE, BOTH, THEIRS] {
        assert_eq!(request.count_of(rule), 1, "{rule}");
    }
    let given: Vec<Value> = of_type(&pair, "runtime_event")
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
