//! A prompt that another hook of the person's blocks, with messages in it.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::pair::{attached_claude, verify, wait_status};
use crate::support::mcp::McpClient;
use crate::support::model_request::{says, step};
use crate::support::pair::Pair;
use crate::support::script::{Gate, Reply, ToolCall};
use crate::support::wait::{timeout, wait_until};

const WORD: &str = "the word is plum-4713";
const READ: &str = "the word is pear-0802";

/// What the record says became of a message, in its order.
fn results(pair: &Pair, id: &Value) -> Vec<String> {
    let ledger = pair.project.ledger_naming(id.as_str().unwrap());
    let events = ledger.iter().map(|line| &line["runtimeEvent"]);
    let of_message = events.filter(|event| event["messageId"] == *id);
    of_message
        .map(|event| event["status"].as_str().unwrap().to_owned())
        .collect()
}

/// While this file is there, a hook of the person's keeps Claude after a tool.
fn held_after_tool(pair: &Pair) -> PathBuf {
    pair.project.root().join("hold.tool")
}

/// Whether a transcript of this Claude says this.
fn transcript_says(pair: &Pair, words: &str) -> bool {
    let projects = pair.claude_home.path().join("projects");
    let folders = std::fs::read_dir(projects).into_iter().flatten().flatten();
    let files = folders.flat_map(|folder| std::fs::read_dir(folder.path()).into_iter().flatten());
    let mut texts = files.filter_map(|file| std::fs::read_to_string(file.ok()?.path()).ok());
    texts.any(|text| text.contains(words))
}

/// Has a hook of the person's block prompts of this shape while the file is there that it names.
fn blocking(pair: &Pair, shape: &str) -> PathBuf {
    let flag = pair.project.root().join("no-prompts");
    let blocks = format!(
        "if [ -e '{}' ]; then case \"$(cat)\" in {shape}) \
         echo '{{\"decision\":\"block\",\"reason\":\"NOT-NOW\"}}';; esac; fi",
        flag.display()
    );
    // Beside ours, which is done long before.
    let held = held_after_tool(pair);
    let waits = format!(
        "if [ -e '{}' ]; then touch '{}'; while [ -e '{0}' ]; do sleep 0.05; done; fi",
        held.display(),
        held.with_extension("arrived").display()
    );
    let hook = |command| json!([{"hooks": [{"type": "command", "command": command}]}]);
    let settings = json!({
        "hooks": {"UserPromptSubmit": hook(blocks), "PostToolUse": hook(waits)},
        "permissions": {"allow": ["Bash"]}
    });
    std::fs::write(pair.claude_home.settings(), settings.to_string()).unwrap();
    flag
}

#[test]
fn what_came_with_a_prompt_that_a_hook_of_the_persons_blocked_comes_once_more() {
    let Some(pair) = Pair::new() else { return };
    let flag = blocking(&pair, "*");
    let _daemon = pair.daemon();
    let mut claude = attached_claude(&pair);
    claude.submit("good morning");
    let messages = &pair.messages;
    messages.wait_for_request("the first prompt", says("good morning"));
    wait_status(&pair, "an idle Claude", |status| {
        status["agents"]["claude"]["state"] == "idle"
    });

    std::fs::write(&flag, "").unwrap();
    let mut codex = McpClient::start(&pair.ctxrelay(["codex-mcp", "server"]));
    let sent = codex.tool("send_to_claude", json!({"text": WORD}));
    let id = sent["message_id"].clone();
    // The doorbell rings, our hook hands it over, and the other one has all of it dropped.
    claude.wait_for_text("NOT-NOW");
    wait_until("what the hook says", timeout(), || {
        (results(&pair, &id) == ["confirmed"]).then_some(())
    });
    assert_eq!(messages.times_heard(WORD), 0);
    std::fs::remove_file(&flag).unwrap();
    messages
        .when(says("go on now"))
        .once()
        .reply(Reply::shell("sleep 1"));
    claude.submit("go on now");
    let heard = messages.wait_for_request("the message at Claude's model", |request| {
        request.mentions(WORD)
    });
    assert!(heard.mentions("shown before"));
    wait_until("its end", timeout(), || {
        let results = results(&pair, &id);
        let expected = ["confirmed", "requeued", "confirmed", "acknowledged"];
        (results == expected).then_some(())
    });
    assert_eq!(messages.times_heard(WORD), 1);
    verify(&pair);
}

#[test]
fn what_came_in_a_turn_with_a_prompt_that_was_blocked_is_not_read_by_the_end_of_that_turn() {
    let Some(pair) = Pair::new() else { return };
    let flag = blocking(&pair, "*task-notification*");
    // Our hook behind the tool hands over what is there; the other message comes while theirs waits.
    let held = held_after_tool(&pair);
    let _daemon = pair.daemon();
    let mut claude = attached_claude(&pair);
    let messages = &pair.messages;
    let thinks = Gate::new("claude thinks");
    messages
        .when(says("good morning"))
        .once()
        .reply(Reply::held("Good", &thinks, "").then_call(ToolCall::shell("true")));
    let gate = Gate::new("claude works");
    messages
        .when(step(2))
        .once()
        .reply(Reply::held("Good ", &gate, "morning."));
    std::fs::write(&held, "").unwrap();
    claude.submit("good morning");
    thinks.wait_arrived();
    let mut codex = McpClient::start(&pair.ctxrelay(["codex-mcp", "server"]));
    let steer = json!({"text": READ, "on_busy": "steer"});
    let read = codex.tool("send_to_claude", steer)["message_id"].clone();
    thinks.open();
    wait_until("the hook behind the tool", timeout(), || {
        held.with_extension("arrived").exists().then_some(())
    });
    wait_status(&pair, "ours, which is done", |status| {
        status["agents"]["claude"]["command"].is_null()
    });

    std::fs::write(&flag, "").unwrap();
    let sent = codex.tool("send_to_claude", json!({"text": WORD}));
    let id = sent["message_id"].clone();
    wait_until("the doorbell", timeout(), || {
        transcript_says(&pair, "\"enqueue\"").then_some(())
    });
    std::fs::remove_file(&held).unwrap();
    wait_until("what the hook says", timeout(), || {
        (results(&pair, &id) == ["confirmed"]).then_some(())
    });
    gate.wait_arrived();
    wait_until("the block in the transcript", timeout(), || {
        transcript_says(&pair, "blocked_by_hook").then_some(())
    });
    std::fs::remove_file(&flag).unwrap();
    gate.open();
    let heard = messages.wait_for_request("the message at Claude's model", |request| {
        request.mentions(WORD)
    });
    assert!(heard.mentions("shown before"));
    wait_until("its end", timeout(), || {
        let results = results(&pair, &id);
        let expected = ["confirmed", "requeued", "confirmed", "acknowledged"];
        (results == expected).then_some(())
    });
    assert_eq!(messages.times_heard(WORD), 1);
    // What the tool's hook had handed over in that turn was read by it.
    assert_eq!(results(&pair, &read), ["confirmed", "acknowledged"]);
    assert_eq!(messages.times_heard(READ), 1);
    verify(&pair);
}
