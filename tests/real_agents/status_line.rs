//! The pair in Claude's status line, around the person's own.

use crate::support::child::run;
use crate::support::claude_home;
use crate::support::model_request::says;
use crate::support::pair::Pair;
use crate::support::script::Reply;
use crate::support::wait::{timeout, wait_until};

const SETTINGS: &str = r#"{
  "statusLine": {
    "type": "command",
    "command": "read -r said; echo \"own line of $(echo \"$said\" | grep -c session_id)\"",
    "refreshInterval": 1
  }
}
"#;

#[test]
fn claude_shows_the_pair_beside_the_persons_own_line_and_tells_what_fits_into_its_context() {
    let Some(pair) = Pair::new() else { return };
    let settings = pair.claude_home.settings();
    std::fs::write(&settings, SETTINGS).unwrap();
    let command = |verb| {
        let words = ["claude-plugin", "statusline", verb, "--yes", "--json"];
        run(&pair.ctxrelay(words)).expect_success().json()
    };
    assert_eq!(command("install")["result"], "installed");
    assert_eq!(command("install")["result"], "there");
    let _daemon = pair.daemon();
    let mut claude = pair.claude();
    claude.wait_for_text(claude_home::COMPOSER);
    claude.wait_for_text("own line of 1");
    claude.wait_for_text("Codex ");

    pair.messages
        .when(says("sort the pears"))
        .once()
        .reply(Reply::text("They are sorted.").filling(150_000));
    claude.submit("sort the pears");
    let context = wait_until("the figures of the status line", timeout(), || {
        let status = run(&pair.ctxrelay(["status", "--json"]))
            .expect_success()
            .json();
        let context = status["agents"]["claude"]["context"].clone();
        (context["used"] == 150_000 && context["windowSource"] == "statusline").then_some(context)
    });
    let window = context["window"].as_u64().unwrap();
    let percent = 150_000 * 100 / window;
    assert_eq!(context["percent"], percent, "{context}");
    claude.wait_for_text(&format!("context {percent} %"));
    claude.wait_for_text("own line of 1");

    assert_eq!(command("remove")["result"], "removed");
    assert_eq!(std::fs::read_to_string(&settings).unwrap(), SETTINGS);
}
