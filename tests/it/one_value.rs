//! `--json` is one JSON value, whatever is asked; and what people read instead.

use serde_json::{Value, json};

use crate::support::child::{Finished, run};
use crate::support::mcp::McpClient;
use crate::support::project::Project;

/// Code, message and hint of a refused command line.
#[track_caller]
fn refused(finished: &Finished) -> (String, String) {
    assert_eq!(finished.code(), 2, "{finished:#?}");
    let value = finished.json();
    let error = &value["error"];
    assert_eq!(error["code"], "usage", "{value}");
    let text = |field: &str| error[field].as_str().unwrap().to_owned();
    (text("message"), text("hint"))
}

#[test]
fn what_prints_text_prints_one_value_on_demand() {
    let project = Project::new();
    let value = |args: &[&str]| project.run(args.iter().copied()).expect_success().json();
    for shell in ["bash", "zsh", "fish"] {
        let completions = value(&["completions", shell, "--json"]);
        assert_eq!(completions["shell"], shell);
        assert!(completions["script"].as_str().unwrap().contains("ctxrelay"));
    }
    let man = value(&["man", "--json"]);
    assert_eq!(man["format"], "roff");
    assert!(man["page"].as_str().unwrap().contains(".TH"));
    for (args, named) in [
        (
            &["--json", "claude", "--dry-run", "--model", "x y"][..],
            "'x y'",
        ),
        (&["--json", "codex", "--dry-run"], "'(secret)'"),
        (&["pair", "--dry-run", "--json"], "ctxrelay"),
    ] {
        let dry = value(args);
        assert_eq!(dry["dryRun"], true, "{dry}");
        let commands = dry["commands"].as_array().unwrap();
        assert!(
            commands
                .iter()
                .any(|line| line.as_str().unwrap().contains(named)),
            "{args:?}: {dry}"
        );
    }
    for verb in ["init", "uninit"] {
        let steps = value(&[verb, "--dry-run", "--json"]);
        assert!(!steps["steps"].as_array().unwrap().is_empty(), "{steps}");
    }
    for args in [&["--help", "--json"][..], &["--version", "--json"]] {
        let text = value(args);
        assert!(
            text["text"].as_str().unwrap().contains("ctxrelay"),
            "{text}"
        );
    }
    assert!(!project.state().exists(), "a dry run makes nothing");
}

#[test]
fn a_schema_is_one_value_with_and_without_the_word() {
    let project = Project::new();
    for verb in ["capsule", "config"] {
        let plain = project.run([verb, "schema"]).expect_success();
        let named = project.run([verb, "schema", "--json"]).expect_success();
        assert_eq!(plain.json(), named.json(), "{verb}");
        assert!(plain.json()["properties"].is_object(), "{verb}");
        assert!(plain.stdout.lines().count() > 1, "{verb}: for people");
    }
}

#[test]
fn a_usage_error_names_what_is_missing_and_where_to_read_on() {
    let project = Project::new();
    for (args, named, help) in [
        (
            &["queue", "show", "--json"][..],
            "<ID>",
            "`ctxrelay queue show --help`",
        ),
        (
            &["redact", "--json"],
            "--check <FILE>",
            "`ctxrelay redact --help`",
        ),
        (
            &["completions", "--json"],
            "<SHELL>",
            "`ctxrelay completions --help`",
        ),
        (
            &["completions", "klingon", "--json"],
            "zsh",
            "`ctxrelay completions --help`",
        ),
        (
            &["queue", "--json"],
            "list, show, retry",
            "`ctxrelay queue --help`",
        ),
        (
            &["queue", "drain", "--to", "me", "--json"],
            "claude, codex",
            "`ctxrelay queue drain --help`",
        ),
        (
            &["status", "--bogus", "--json"],
            "--bogus",
            "`ctxrelay status --help`",
        ),
        (
            &["demo", "--speed", "0", "--json"],
            "0.02 to 1000",
            "`ctxrelay demo --help`",
        ),
        (
            &["demo", "--speed", "fast", "--json"],
            "0.02 to 1000",
            "`ctxrelay demo --help`",
        ),
    ] {
        let (message, hint) = refused(&project.run(args.iter().copied()));
        assert!(message.contains(named), "{args:?}: {message}");
        assert!(!message.contains('\n'), "{args:?}: {message}");
        assert!(hint.contains(help), "{args:?}: {hint}");
    }
}

#[test]
fn the_demo_is_one_value() {
    let project = Project::new();
    let temporary = project.base().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let launch = project
        .ctxrelay(["demo", "--speed", "1000", "--json"])
        .env("TMPDIR", &temporary);
    let told = run(&launch).expect_success().json();
    assert_eq!(told["ok"], true);
    let lines = told["timeline"].as_array().unwrap();
    assert!(
        lines
            .iter()
            .any(|line| line.as_str().unwrap().contains("The record verifies")),
        "{told}"
    );
}

#[test]
fn the_queue_stands_in_columns_under_their_heads() {
    let project = Project::live();
    let mut codex = McpClient::start(&project.ctxrelay(["codex-mcp", "server"]));
    let sent: Vec<Value> = (0..2)
        .map(|number| {
            codex.tool(
                "send_to_claude",
                json!({"text": format!("number {number}")}),
            )
        })
        .collect();
    let text = project.run(["queue", "list"]).expect_success().stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    let column = |head: &str| {
        lines[0]
            .find(head)
            .unwrap_or_else(|| panic!("{head}: {text}"))
    };
    for (line, sent) in lines[1..].iter().zip(&sent) {
        assert!(
            line.starts_with(sent["message_id"].as_str().unwrap()),
            "{text}"
        );
        for (head, cell) in [
            ("TO", "claude"),
            ("STATE", "queued"),
            ("WHEN BUSY", "queue"),
        ] {
            assert!(line[column(head)..].starts_with(cell), "{head}: {text}");
        }
        let tries = &line[column("TRIES")..column("AGE")];
        assert!(tries.trim().parse::<u32>().is_ok(), "{text}");
    }
}
