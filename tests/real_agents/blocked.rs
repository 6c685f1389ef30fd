//! A prompt that another hook of the person's blocks, with messages in it.

use serde_json::{Value, json};

use crate::pair::{attached_claude, verify, wait_status};
use crate::support::mcp::McpClient;
use crate::support::model_request::says;
use crate::support::pair::Pair;
use crate::support::script::Reply;
use crate::support::wait::{timeout, wait_until};

const WORD: &str = "the word is plum-4713";

/// What the record says became of a message, in its order.
fn results(pair: &Pair, id: &Value) -> Vec<String> {
    let ledger = pair.project.ledger();
    let events = ledger.iter().map(|line| &line["runtimeEvent"]);
    let of_message = events.filter(|event| event["messageId"] == *id);
    of_message
        .map(|event| event["status"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn what_came_with_a_prompt_that_a_hook_of_the_persons_blocked_comes_once_more() {
    let Some(pair) = Pair::new() else { return };
    // It blocks while the file is there.
    let flag = pair.project.root().join("no-prompts");
    let command = format!(
        "if [ -e '{}' ]; then echo '{{\"decision\":\"block\",\"reason\":\"NOT-NOW\"}}'; fi",
        flag.display()
    );
    let hook = json!({"hooks": [{"type": "command", "command": command}]});
    let settings = json!({"hooks": {"UserPromptSubmit": [hook]}});
    std::fs::write(pair.claude_home.settings(), settings.to_string()).unwrap();
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
