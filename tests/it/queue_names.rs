//! A message is named in a terminal as the deck names it.

use serde_json::json;

use crate::support::mcp::McpClient;
use crate::support::project::Project;

#[test]
fn a_message_on_its_way_is_found_by_the_name_that_the_deck_shows() {
    let project = Project::new();
    let daemon = project.daemon();
    let mut codex = McpClient::start(&project.ctxrelay(["codex-mcp", "server"]));
    let ask = json!({"ask": "look at\nthe parser", "reason": "you know it"});
    let handed = codex.tool("handoff_to_claude", ask);
    codex.tool("send_to_claude", json!({"text": "mind the lexer"}));
    let list = || {
        let told = project.run(["queue", "list", "--json"]).expect_success();
        told.json()["messages"].as_array().unwrap().clone()
    };
    let rows = list();
    let names: Vec<&str> = rows
        .iter()
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    assert!(
        names[0].starts_with('h') && !names[1].starts_with('h'),
        "{names:?}"
    );
    let begins: Vec<&str> = rows
        .iter()
        .map(|row| row["begins"].as_str().unwrap())
        .collect();
    assert_eq!(begins, ["look at the parser", "mind the lexer"]);
    let text = project.run(["queue", "list"]).expect_success().stdout;
    for word in [names[0], names[1], "look at the parser", "mind the lexer"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let id = handed["handoff_id"].as_str().unwrap();
    for name in [names[0], &names[0][1..]] {
        let shown = project.run(["queue", "show", name, "--json"]).json();
        assert_eq!(shown["message"]["id"], id, "{name}");
        let entry = project.run(["ledger", "show", name, "--json"]).json();
        assert_eq!(entry["id"], id, "{name}");
    }
    let told = project.run(["queue", "remove", names[0]]).expect_success();
    for word in [id, "is never sent", "look at the parser"] {
        assert!(told.stdout.contains(word), "{word}: {}", told.stdout);
    }
    let missing = project.run(["queue", "show", "h9999"]);
    assert!(
        missing.stderr.contains("there is no message `h9999`"),
        "{}",
        missing.stderr
    );
    daemon.stop();
    // From the record alone.
    let names = names.iter().map(|name| json!(name));
    assert!(list().iter().map(|row| row["name"].clone()).eq(names));
}
