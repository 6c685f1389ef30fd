//! What an agent runs itself of the gates' commands is a claim in the record, with its exit code, and
//! stands in the task that goes to the other agent.

use serde_json::{Value, json};

use crate::pair::{attached_claude, attached_codex, of_type, verify, wait_status};
use crate::support::child::run;
use crate::support::claude_home;
use crate::support::model_request::{hears, says, tool_said};
use crate::support::pair::Pair;
use crate::support::pty::{Key, Pty};
use crate::support::script::Reply;
use crate::support::wait::{timeout, wait_until};

/// The command of the gate `pears`.
const PEARS: &str = "cat pears.txt";

/// The command of the gate `plums`.
const PLUMS: &str = "grep -c plums pears.txt";

/// A pair with both gates, which are trusted, and a task; its id.
#[track_caller]
fn with_gates(pair: &Pair) -> String {
    let gates = json!({"gates": [
        {"name": "pears", "cmd": PEARS},
        {"name": "plums", "cmd": PLUMS, "required": false},
    ]});
    pair.project
        .write(".contextrelay/config.json", &gates.to_string());
    let mut trust = Pty::spawn(&pair.ctxrelay(["trust"]));
    trust.wait_for_text("Type `trust`");
    trust.type_text("trust\r");
    assert_eq!(trust.wait_exit(), 0, "{}", trust.screen());
    let new = ["capsule", "new", "Ripen the pears", "--json"];
    let mut new = Pty::spawn(&pair.ctxrelay(new));
    assert_eq!(new.wait_exit(), 0, "{}", new.screen());
    let list = run(&pair.ctxrelay(["capsule", "list", "--json"]));
    let list = list.expect_success().json();
    list["capsules"][0]["id"].as_str().unwrap().to_owned()
}

/// Waits until so many runs stand in the record; what each says.
#[track_caller]
fn wait_runs(pair: &Pair, many: usize) -> Vec<Value> {
    wait_until("the runs in the record", timeout(), || {
        let runs: Vec<Value> = of_type(pair, "artifact")
            .into_iter()
            .map(|line| {
                let artifact = &line["artifact"];
                json!([
                    line["source"],
                    artifact["title"],
                    artifact["status"],
                    artifact["ran"]["cmd"],
                    artifact["ran"]["exitCode"],
                ])
            })
            .collect();
        (runs.len() >= many).then_some(runs)
    })
}

#[test]
fn what_codex_ran_of_a_gate_reaches_claude_as_a_claim_with_its_exit_code() {
    let Some(pair) = Pair::live() else { return };
    let id = with_gates(&pair);
    let mut codex = attached_codex(&pair);
    for (said, command, printed, answer) in [
        ("try it", PEARS, "No such file", "It is red."),
        // The exit code is that of the last one.
        (
            "try it piped",
            "cat pears.txt | cat",
            "No such file",
            "It is piped.",
        ),
        ("try it again", PEARS, "ripe pears", "It is green."),
    ] {
        if answer == "It is green." {
            pair.project.write("pears.txt", "ripe pears\n");
        }
        let run = pair.responses.when(says(said)).once();
        run.reply(Reply::shell(command));
        let ran = pair.responses.when(tool_said(printed)).once();
        ran.reply(Reply::text(answer));
        codex.submit(said);
        codex.wait_for_text(answer);
    }
    // What the person runs there themself is none of Codex's.
    codex.type_text("!");
    codex.wait_for_text("Shell mode");
    codex.type_text(PEARS);
    codex.wait_for_text(&format!("! {PEARS}"));
    codex.press(Key::Enter);
    codex.wait_for_text("You ran");
    let runs = wait_runs(&pair, 2);
    let expected = json!([
        ["codex", "pears", "failed", PEARS, 1],
        ["codex", "pears", "passed", PEARS, 0],
    ]);
    assert_eq!(json!(runs), expected);

    let show = run(&pair.ctxrelay(["capsule", "show", &id, "--json"]));
    let capsule = show.expect_success().json();
    assert_eq!(capsule["notRun"], json!(["pears", "plums"]), "{capsule:#}");
    let run = &capsule["verification"][0];
    assert_eq!(run["verified"], false);
    assert_eq!(run["exitCode"], 0);
    assert!(run["durationMs"].is_u64(), "{run}");
    assert_eq!(capsule["verification"].as_array().unwrap().len(), 1);

    let mut claude = attached_claude(&pair);
    let has_it = pair.messages.when(hears(": Ripen the pears")).once();
    has_it.reply(Reply::text("I have the task."));
    let send = ["capsule", "handoff", &id, "--to", "claude", "--send"];
    let mut send = Pty::spawn(&pair.ctxrelay(send));
    assert_eq!(send.wait_exit(), 0, "{}", send.screen());
    let request = pair
        .messages
        .wait_for_request("the task at Claude's model", |request| {
            request.mentions(": Ripen the pears")
        });
    let claim = "pears passed (claimed, exit code 0, tree not told): cat pears.txt";
    assert!(request.mentions(claim), "{}", request.summary());
    claude.wait_for_text("I have the task.");
    verify(&pair);
}

#[test]
fn what_claude_ran_of_a_gate_is_recorded_and_not_what_it_takes_for_no_failure() {
    let Some(pair) = Pair::new() else { return };
    let settings = json!({"permissions": {"allow": ["Bash"]}});
    std::fs::write(pair.claude_home.settings(), settings.to_string()).unwrap();
    let _daemon = pair.daemon();
    with_gates(&pair);
    let launch = pair.ctxrelay(["claude", "--permission-mode", "default"]);
    let mut claude = Pty::spawn(&launch).labelled("claude");
    claude.wait_for_text(claude_home::COMPOSER);
    for (said, command, printed, answer) in [
        ("try it", PEARS, "No such file", "It is red."),
        // Nothing is found: exit code 1, which Claude tells as no failure.
        ("look for plums", PLUMS, "0", "There are none."),
        ("try it again", PEARS, "ripe pears", "It is green."),
    ] {
        if answer == "There are none." {
            pair.project.write("pears.txt", "ripe pears\n");
        }
        let run = pair.messages.when(says(said)).once();
        run.reply(Reply::shell(command));
        let ran = pair.messages.when(tool_said(printed)).once();
        ran.reply(Reply::text(answer));
        claude.submit(said);
        claude.wait_for_text(answer);
        wait_status(&pair, "an idle Claude", |status| {
            status["agents"]["claude"]["state"] == "idle"
        });
    }
    let runs = wait_runs(&pair, 2);
    let expected = json!([
        ["claude", "pears", "failed", PEARS, 1],
        ["claude", "pears", "passed", PEARS, 0],
    ]);
    assert_eq!(json!(runs), expected);
    verify(&pair);
}
