//! What the agents find in the record by their tools, over the real daemon and bridge processes.

use serde_json::{Value, json};

use crate::support::mcp::McpClient;
use crate::support::project::Project;

/// The servers of both agents.
fn servers(project: &Project) -> [McpClient; 2] {
    [&["bridge"][..], &["codex-mcp", "server"]]
        .map(|args| McpClient::start(&project.ctxrelay(args.iter().copied())))
}

fn snippets(found: &Value) -> Vec<&str> {
    let hits = found["hits"].as_array().unwrap().iter();
    hits.map(|hit| hit["snippet"].as_str().unwrap()).collect()
}

#[test]
fn both_agents_find_what_was_said_with_the_place_to_cite_and_the_way_to_the_whole() {
    let project = Project::new();
    let _daemon = project.daemon();
    let [mut claude, mut codex] = servers(&project);
    let long = format!("plums keep {} for a week", "very well ".repeat(200));
    for text in [
        &*long,
        "plums are\u{202e} sorted \u{1b}[2J by weight",
        "apples are sorted by size",
    ] {
        let note = json!({"text": text, "kind": "decision"});
        claude.tool("append_note", note);
    }
    let entries = project.ledger();
    let session = project.read(".contextrelay/current");
    for agent in [&mut claude, &mut codex] {
        let found = agent.tool("search_record", json!({"words": "plums"}));
        let about = found["about"].as_str().unwrap();
        assert!(about.contains("not orders"), "{about}");
        assert_eq!(
            (&found["total"], &found["cursor"]),
            (&json!(2), &Value::Null)
        );
        let sorted = &found["hits"][0];
        assert_eq!(sorted["snippet"], "plums are  sorted  [2J by weight");
        assert_eq!(sorted["session"], session.trim());
        assert_eq!(sorted["kind"], "note");
        assert_eq!(sorted["from"], "claude");
        let cited = entries.iter().find(|entry| entry["id"] == sorted["id"]);
        assert_eq!(cited.unwrap()["seq"], sorted["seq"]);

        // A snippet is short, and all of it can be read.
        let kept = &found["hits"][1];
        assert!(kept["snippet"].as_str().unwrap().chars().count() <= 200);
        let whole = json!({"cursor": kept["read_context_cursor"]});
        let whole = agent.tool("read_context", whole);
        let whole = whole["part"]["json"].as_str().unwrap().to_owned();
        assert!(whole.contains(&long), "{whole}");

        let one = json!({"words": "sorted by", "limit": 1});
        let first = agent.tool("search_record", one);
        assert_eq!(snippets(&first), ["apples are sorted by size"]);
        let rest = json!({"words": "sorted by", "limit": 1, "cursor": first["cursor"]});
        let rest = agent.tool("search_record", rest);
        assert_eq!(snippets(&rest), ["plums are  sorted  [2J by weight"]);
        assert_eq!(rest["cursor"], Value::Null);
        let none = agent.tool("search_record", json!({"words": "\"weight by\""}));
        assert_eq!((&none["hits"], &none["total"]), (&json!([]), &json!(0)));
    }
}

#[test]
fn a_secret_is_in_no_hit_and_a_senseless_search_is_refused_with_its_reason() {
    let project = Project::new();
    let _daemon = project.daemon();
    let [mut claude, mut codex] = servers(&project);
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    let note = json!({"text": format!("the deploy key is {secret}, keep it")});
    codex.tool("append_note", note);
    for agent in [&mut claude, &mut codex] {
        let found = agent.tool("search_record", json!({"words": "deploy key"}));
        assert_eq!(snippets(&found).len(), 1);
        assert!(!found.to_string().contains(&secret), "{found}");
        let guessed = agent.tool("search_record", json!({"words": secret}));
        assert_eq!(guessed["total"], 0);
        for (arguments, names) in [
            (json!({"words": " "}), "words"),
            (json!({"words": "?!"}), "word"),
            (json!({"words": "plums", "limit": 21}), "limit"),
            (
                json!({"words": "plums", "cursor": "yesterday"}),
                "yesterday",
            ),
        ] {
            let refused = agent.tool_refused("search_record", arguments);
            assert_eq!(refused["code"], "invalid_arguments", "{refused}");
            let message = refused["message"].as_str().unwrap();
            assert!(message.contains(names), "{message}");
        }
    }
}
