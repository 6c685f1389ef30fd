//! A Codex that nobody is signed in to, and somebody who signs in.

use serde_json::Value;

use crate::held_queue::{as_claude, send, wait_settled};
use crate::pair::{status, verify, wait_status};
use crate::support::child::Child;
use crate::support::model_request::says;
use crate::support::pair::Pair;

#[test]
fn what_is_for_a_codex_without_an_account_waits_until_somebody_signs_in() {
    let Some(pair) = Pair::new() else { return };
    let config = pair.codex_home.config();
    let text = std::fs::read_to_string(&config).unwrap();
    let text = text
        .replace(
            "requires_openai_auth = false",
            "requires_openai_auth = true",
        )
        .replace("env_key = \"SCRIPTED_KEY\"\n", "");
    std::fs::write(&config, text).unwrap();
    let _daemon = pair.daemon();
    let mut claude = as_claude(&pair);
    let sent = send(&mut claude, "the word is signed-in");
    assert_eq!(sent["outcome"], "queued_for_next_turn", "{sent}");
    wait_status(&pair, "a Codex that waits", |status| {
        let codex = &status["agents"]["codex"];
        codex["state"] == "waiting" && status["queue"]["codex"]["pending"] == 1
    });
    assert_eq!(pair.responses.times_heard("the word is signed-in"), 0);
    // In another terminal, of which the app-server tells nobody.
    let login = ["login", "--with-api-key"];
    let mut login = Child::spawn(&pair.codex_home.codex(&pair.project, login));
    login.write_line("sk-this-key-opens-nothing").unwrap();
    login.close_stdin();
    login.wait().expect_success();
    let came = says("the word is signed-in");
    pair.responses.wait_for_request("the message", came);
    wait_settled(&pair);
    assert_eq!(pair.responses.times_heard("the word is signed-in"), 1);
    assert_eq!(status(&pair)["agents"]["codex"]["limit"], Value::Null);
    verify(&pair);
}
