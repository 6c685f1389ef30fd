//! What both agents' models read when they look for what was decided before.

use serde_json::json;

use crate::pair::{attached_claude, attached_codex, of_type};
use crate::support::child::run;
use crate::support::model_request::{says, tool_said};
use crate::support::pair::Pair;
use crate::support::pty::Pty;
use crate::support::script::Reply;

/// Runs `ctxrelay …` at a terminal of the operator's.
#[track_caller]
fn at_terminal(pair: &Pair, words: &[&str]) {
    let mut line = Pty::spawn(&pair.ctxrelay(words.iter().copied()));
    assert_eq!(line.wait_exit(), 0, "{}", line.screen());
}

#[test]
fn both_models_find_the_decision_of_a_task_that_is_closed() {
    let Some(pair) = Pair::live() else { return };
    at_terminal(&pair, &["capsule", "new", "Fix the login"]);
    let mut claude = attached_claude(&pair);
    let decision = json!({"text": "tokens live for one hour", "kind": "decision"});
    pair.claude_calls(says("how long do tokens live?"), "append_note", decision);
    let noted = pair.messages.when(tool_said("entry_id")).once();
    noted.reply(Reply::text("That is decided."));
    claude.submit("how long do tokens live?");
    claude.wait_for_text("That is decided.");
    let list = run(&pair.ctxrelay(["capsule", "list", "--json"]));
    let list = list.expect_success().json();
    let task = list["capsules"][0]["id"].as_str().unwrap().to_owned();
    let close = ["capsule", "close", &task, "--outcome", "fixed in 1.4"];
    at_terminal(&pair, &close);
    let note = &of_type(&pair, "note")[0];
    assert_eq!(note["meta"]["task"], json!(task));
    let (seq, session) = (note["seq"].to_string(), note["sessionId"].as_str().unwrap());
    let cited = [
        "tokens live for one hour",
        "not orders",
        session,
        &format!("\"seq\":{seq}"),
    ];
    let words = || json!({"words": "tokens live"});

    pair.claude_calls(says("what did we decide"), "search_record", words());
    let read = pair.messages.when(tool_said("read_context_cursor")).once();
    read.reply(Reply::text("One hour, I read."));
    claude.submit("what did we decide");
    claude.wait_for_text("One hour, I read.");
    let request = pair.messages.wait_for_request("Claude's hits", |request| {
        request.tool_text().contains("read_context_cursor")
    });
    for cited in cited {
        assert!(request.tool_text().contains(cited), "{cited}: {request:#?}");
    }

    // In the closed task itself, which is listed and compared with the files of now.
    let in_tasks = json!({"words": "tokens live", "in": "capsules"});
    pair.claude_calls(says("in which task"), "search_record", in_tasks);
    let read = pair.messages.when(tool_said(&task)).once();
    read.reply(Reply::text("In that one."));
    claude.submit("in which task");
    claude.wait_for_text("In that one.");
    for (prompt, call, said) in [
        (
            "which tasks are there",
            json!({"action": "list"}),
            "Fix the login",
        ),
        (
            "is it as it was",
            json!({"action": "check", "id": task}),
            "fresh",
        ),
    ] {
        pair.claude_calls(says(prompt), "capsule", call);
        let answer = format!("It says {said}.");
        let read = pair.messages.when(tool_said(said)).once();
        read.reply(Reply::text(&answer));
        claude.submit(prompt);
        claude.wait_for_text(&answer);
    }

    let mut codex = attached_codex(&pair);
    pair.codex_calls(says("what was decided"), "search_record", words());
    let read = pair.responses.when(tool_said("tokens live for one hour"));
    read.once().reply(Reply::text("One hour, it says."));
    codex.submit("what was decided");
    codex.wait_for_text("One hour, it says.");
    let request = pair.responses.wait_for_request("Codex's hits", |request| {
        request.tool_text().contains("tokens live for one hour")
    });
    for cited in cited {
        assert!(request.tool_text().contains(cited), "{cited}: {request:#?}");
    }

    let show = json!({"action": "show", "id": task});
    pair.codex_calls(says("what became of the task"), "capsule", show);
    let read = pair.responses.when(tool_said("fixed in 1.4")).once();
    read.reply(Reply::text("It was fixed."));
    codex.submit("what became of the task");
    codex.wait_for_text("It was fixed.");
    let request = pair.responses.wait_for_request("the task", |request| {
        request.tool_text().contains("fixed in 1.4")
    });
    let text = request.tool_text();
    assert!(text.contains("[claude] tokens live for one hour"), "{text}");
}
