//! Two real Claudes in one project, each of a pair of its own.

use serde_json::{Value, json};

use crate::pair::{status, verify};
use crate::support::child::run;
use crate::support::claude_home;
use crate::support::mcp::McpClient;
use crate::support::model_request::{hears, says, tool_said};
use crate::support::pair::Pair;
use crate::support::pty::Pty;
use crate::support::script::Reply;
use crate::support::wait::{timeout, wait_until};

/// Runs until the test says so.
const WAITS: &str = "while [ ! -e go.txt ]; do sleep 0.05; done; echo went on";

/// Waits until the Claudes of both pairs are at this, and returns what is shown of both as one.
#[track_caller]
fn wait_states(pair: &Pair, first: &str, second: &str) -> Value {
    wait_until(&format!("{first} and {second}"), timeout(), || {
        let claude = status(pair)["agents"]["claude"].clone();
        let pairs = claude["pairs"].as_array()?.clone();
        let state = |name: &str| {
            let of = pairs.iter().find(|pair| pair["pair"] == name);
            of.map(|pair| pair["state"].clone())
        };
        let is_so = state("default")? == first && state("second")? == second;
        is_so.then_some(claude)
    })
}

/// What Claude keeps of a conversation.
fn transcript(pair: &Pair, id: &str) -> Option<String> {
    let settings = pair.claude_home.settings();
    let projects = settings.parent()?.join("projects").read_dir().ok()?;
    let mut files = projects.map(|folder| folder.unwrap().path().join(format!("{id}.jsonl")));
    files.find_map(|file| std::fs::read_to_string(file).ok())
}

#[test]
fn a_second_claude_works_and_gets_its_own_messages_while_the_first_ones_turn_goes_on() {
    let Some(pair) = Pair::new() else { return };
    let settings = json!({"permissions": {"allow": ["Bash"]}});
    std::fs::write(pair.claude_home.settings(), settings.to_string()).unwrap();
    let daemon = pair.daemon();
    pair.messages
        .when(tool_said("went on"))
        .once()
        .reply(Reply::text("It went on."));
    pair.messages
        .when(says("wait for the file"))
        .once()
        .reply(Reply::shell(WAITS));
    pair.messages
        .when(hears("the plum is ripe"))
        .once()
        .reply(Reply::text("I have the plum."));
    pair.messages
        .when(says("good morning"))
        .once()
        .reply(Reply::text("Good morning to you."));

    let launch = pair.ctxrelay(["claude", "--permission-mode", "default"]);
    let mut first = Pty::spawn(&launch).labelled("first");
    first.wait_for_text(claude_home::COMPOSER);
    first.submit("wait for the file");
    let of_second = pair.ctxrelay(["claude"]);
    let of_second = of_second.env("CONTEXTRELAY_RUNTIME_SESSION", "second");
    let mut second = Pty::spawn(&of_second).labelled("second");
    second.wait_for_text(claude_home::COMPOSER);
    second.submit("good morning");
    second.wait_for_text("Good morning to you.");
    let shown = wait_states(&pair, "busy", "idle");
    assert_eq!(shown["state"], "busy");

    let mut codex = McpClient::start(&pair.ctxrelay(["codex-mcp", "server"]));
    let told = json!({"text": "the plum is ripe", "runtimeSessionId": "second"});
    let sent = codex.tool("send_to_claude", told);
    second.wait_for_text("I have the plum.");
    let id = sent["message_id"].as_str().unwrap().to_owned();
    wait_until("its last word on it", timeout(), || {
        let ledger = pair.project.ledger();
        let mut results = ledger.iter().map(|line| &line["runtimeEvent"]);
        results
            .any(|it| it["messageId"] == id.as_str() && it["status"] == "acknowledged")
            .then_some(())
    });
    assert_eq!(wait_states(&pair, "busy", "idle")["state"], "busy");

    std::fs::write(pair.project.root().join("go.txt"), "").unwrap();
    first.wait_for_text("It went on.");
    let shown = wait_states(&pair, "idle", "idle");
    assert_eq!(shown["cutOff"], 0);
    let mut of_first = pair.messages.steps().into_iter();
    let ended = of_first.find(|step| format!("{:?}", step.fresh).contains("went on"));
    let ended = format!("{:?}", ended.unwrap().fresh);
    assert!(!ended.contains("plum"), "{ended}");
    // Each pair is told its own conversation, by the name under which Claude itself keeps it.
    for (name, said) in [("default", "wait for the file"), ("second", "good morning")] {
        let recover = pair.ctxrelay(["recover", "--json"]);
        let recover = recover.env("CONTEXTRELAY_RUNTIME_SESSION", name);
        wait_until(&format!("the conversation of {name}"), timeout(), || {
            let told = run(&recover).expect_success().json();
            let command = told["commands"]["claude"].as_str()?.to_owned();
            let id = command.strip_prefix("ctxrelay claude --resume ")?;
            transcript(&pair, id)?.contains(said).then_some(())
        });
    }
    verify(&pair);
    drop(daemon);
}

#[test]
fn a_claude_that_a_program_asks_leaves_the_mail_to_the_one_of_the_person() {
    let Some(pair) = Pair::live() else { return };
    pair.messages
        .when(says("what day is it"))
        .once()
        .reply(Reply::text("It is Sunday."));
    pair.messages
        .when(hears("the plum is ripe"))
        .once()
        .reply(Reply::text("I have the plum."));
    let mut codex = McpClient::start(&pair.ctxrelay(["codex-mcp", "server"]));
    let sent = codex.tool("send_to_claude", json!({"text": "the plum is ripe"}));
    let id = sent["message_id"].as_str().unwrap().to_owned();

    let asked = run(&pair.ctxrelay(["claude", "-p", "what day is it"])).expect_success();
    assert_eq!(asked.stdout.trim(), "It is Sunday.");
    let steps = pair.messages.steps();
    assert_eq!(steps.len(), 1, "{}", pair.messages.log());
    let told = format!("{:?}", steps[0].fresh);
    assert!(!told.contains("plum"), "{told}");
    let results = |of: &str| {
        let ledger = pair.project.ledger();
        let events = ledger.iter().map(|line| &line["runtimeEvent"]);
        let results = events.filter(|it| it["messageId"] == of && it["status"].is_string());
        results.map(|it| it["status"].clone()).collect::<Vec<_>>()
    };
    assert!(!results(&id).contains(&json!("confirmed")));

    let launch = pair.ctxrelay(["claude", "--permission-mode", "default"]);
    let mut claude = Pty::spawn(&launch);
    claude.wait_for_text("I have the plum.");
    wait_until("the proof of it", timeout(), || {
        results(&id).contains(&json!("confirmed")).then_some(())
    });
    verify(&pair);
}
