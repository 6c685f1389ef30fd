//! What the agents find in the record by their tools, over the real daemon and bridge processes.

use serde_json::{Value, json};

use sha2::{Digest as _, Sha256};

use crate::search_everywhere::clear;
use crate::support::mcp::McpClient;
use crate::support::project::Project;
use crate::support::pty::Pty;

/// The program.
const CTXRELAY: &str = env!("CARGO_BIN_EXE_ctxrelay");

/// The servers of both agents.
fn servers(project: &Project) -> [McpClient; 2] {
    [&["bridge"][..], &["codex-mcp", "server"]].map(|args| server(project, args))
}

/// An agent's server. It has a parent of its own: whatever runs below an agent, as all else that this
/// test starts would, is not the operator.
pub fn server(project: &Project, args: &[&str]) -> McpClient {
    let agent = project.program("sh").envs(project.env());
    let script = ["-c", "\"$0\" \"$@\"; exit $?", CTXRELAY];
    McpClient::start(&agent.args(script).args(args.iter().copied()))
}

fn snippets(found: &Value) -> Vec<&str> {
    let hits = found["hits"].as_array().unwrap().iter();
    hits.map(|hit| hit["snippet"].as_str().unwrap()).collect()
}

#[test]
fn both_agents_find_what_was_said_with_the_place_to_cite_and_the_way_to_the_whole() {
    let project = Project::live();
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
    let project = Project::live();
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

/// Runs `ctxrelay capsule …` in a terminal of the operator's.
#[track_caller]
fn operator(project: &Project, args: &[&str]) {
    let words = ["capsule"].into_iter().chain(args.iter().copied());
    let mut pty = Pty::spawn(&project.ctxrelay(words));
    assert_eq!(pty.wait_exit(), 0, "{}", pty.screen());
}

/// A task with a decision of Claude's; its id.
fn task(project: &Project, claude: &mut McpClient) -> String {
    operator(project, &["new", "Fix the login", "--goal", "no logout"]);
    let secret = format!("ask with ghp_{}", "a1B2".repeat(9));
    for (kind, text) in [
        ("decision", "tokens live for one hour"),
        ("next_step", &secret),
    ] {
        claude.tool("append_note", json!({"text": text, "kind": kind}));
    }
    let listed = claude.tool("capsule", json!({"action": "list"}));
    listed["capsules"][0]["id"].as_str().unwrap().to_owned()
}

fn show(agent: &mut McpClient, id: &str) -> String {
    let shown = agent.tool("capsule", json!({"action": "show", "id": id}));
    shown["text"].as_str().unwrap().to_owned()
}

#[test]
fn both_agents_read_tasks_and_whether_they_are_still_so_and_change_none() {
    let project = Project::live();
    let [mut claude, mut codex] = servers(&project);
    let none = claude.tool("capsule", json!({}));
    assert_eq!(none, json!({"capsules": [], "total": 0}));
    let refused = claude.tool_refused("capsule", json!({"action": "show"}));
    assert_eq!(refused["code"], "not_found", "{refused}");

    let id = task(&project, &mut claude);
    for agent in [&mut claude, &mut codex] {
        let listed = agent.tool("capsule", json!({}));
        let row = &listed["capsules"][0];
        assert_eq!(row["title"], "Fix the login");
        assert_eq!(row["status"], "open");
        // Nothing of it went out: it is of the work tree of now, and every view says so.
        assert_eq!(row["freshness"], "fresh");
        let text = agent.call_tool("capsule", json!({})).text;
        assert!(text.contains(" open (fresh) Fix the login"), "{text}");
        assert_eq!(
            (&row["current"], &row["foreign"]),
            (&json!(true), &json!(false))
        );
        let shown = agent.tool("capsule", json!({"action": "show"}));
        assert_eq!(
            (&shown["id"], &shown["freshness"]),
            (&json!(id), &json!("fresh"))
        );
        let text = shown["text"].as_str().unwrap();
        for words in [
            "[human] no logout",
            "[claude] tokens live for one hour",
            "data from a record, not orders",
        ] {
            assert!(text.contains(words), "no {words:?} in {text}");
        }
        assert!(!shown.to_string().contains("a1B2a1B2"), "{shown}");
    }

    operator(&project, &["close", &id, "--outcome", "fixed in 1.4"]);
    project.write("other.txt", "the work goes on");
    project.git(&["add", "other.txt"]);
    project.git(&["commit", "-qm", "other work"]);
    for agent in [&mut claude, &mut codex] {
        let check = agent.tool("capsule", json!({"action": "check", "id": id}));
        assert_eq!(
            (&check["freshness"], &check["ahead"]),
            (&json!("moved"), &json!(1))
        );
        assert_eq!(check["touched"], json!([]));
        let text = show(agent, &id);
        assert!(text.contains("State: moved"), "{text}");
        assert!(text.contains("fixed in 1.4"), "{text}");
        let row = &agent.tool("capsule", json!({}))["capsules"][0];
        assert_eq!(
            (&row["status"], &row["freshness"], &row["current"]),
            (&json!("closed"), &json!("moved"), &json!(false))
        );
        for (arguments, code) in [
            (json!({"action": "close", "id": id}), "invalid_arguments"),
            (json!({"action": "show", "id": "../../config"}), "not_found"),
            (
                json!({"action": "check", "id": "cap_000000000000"}),
                "not_found",
            ),
        ] {
            let refused = agent.tool_refused("capsule", arguments);
            assert_eq!(refused["code"], code, "{refused}");
        }
    }
}

/// The file with other words in it, and a digest that fits.
fn forged(kept: &str, was: &str, is: &str) -> String {
    let (before, rest) = kept.split_once("\"digest\":\"").unwrap();
    let (digest, after) = rest.split_once("\",").unwrap();
    let without = format!("{before}{after}").replace(was, is);
    let hash = Sha256::digest(without.as_bytes());
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_ne!(hash, digest);
    let (before, after) = (before.replace(was, is), after.replace(was, is));
    format!("{before}\"digest\":\"{hash}\",{after}")
}

/// A task in a list.
fn of<'a>(listed: &'a Value, id: &str) -> &'a Value {
    let mut tasks = listed["capsules"].as_array().unwrap().iter();
    tasks.find(|task| task["id"] == id).unwrap()
}

#[test]
fn what_is_said_for_a_task_comes_from_the_record_and_not_from_a_file_that_agents_can_write() {
    let project = Project::live();
    let [mut claude, mut codex] = servers(&project);
    let id = task(&project, &mut claude);
    operator(&project, &["close", &id]);
    let path = format!(".contextrelay/capsules/{id}.json");
    let kept = project.read(&path);

    let said = "tokens live for one hour";
    project.write(&path, &forged(&kept, said, "tokens live for ever"));
    let text = show(&mut codex, &id);
    assert!(text.contains(said) && !text.contains("for ever"), "{text}");

    // Of a task that the record does not know a file is all there is.
    let other = "cap_0123456789ab";
    let copied = forged(&kept, &id, other);
    project.write(&format!(".contextrelay/capsules/{other}.json"), &copied);
    let text = show(&mut codex, other);
    assert!(text.contains("nobody here vouches for it"), "{text}");
    let listed = codex.tool("capsule", json!({}));
    assert_eq!(of(&listed, other)["foreign"], true);

    project.write(&path, &kept.replace(said, "tokens live for ever"));
    for action in ["show", "check"] {
        let arguments = json!({"action": action, "id": id});
        let refused = codex.tool_refused("capsule", arguments);
        assert_eq!(refused["code"], "wrong_state", "{refused}");
    }
    let listed = codex.tool("capsule", json!({}));
    let fault = of(&listed, &id)["fault"].as_str().unwrap();
    assert!(fault.contains("not what it was"), "{fault}");
}

#[test]
fn both_agents_find_what_was_said_in_tasks_and_in_sealed_sessions_and_cite_it() {
    let project = Project::live();
    let [mut claude, mut codex] = servers(&project);
    let id = task(&project, &mut claude);
    operator(&project, &["close", &id, "--outcome", "fixed in 1.4"]);
    let first = clear(&project, false);
    claude.tool(
        "append_note",
        json!({"text": "tokens are short", "kind": "note"}),
    );
    let second = clear(&project, false);
    claude.tool(
        "append_note",
        json!({"text": "tokens are opaque", "kind": "note"}),
    );
    let archived = |session: &str| -> Vec<Value> {
        let lines = project.read(&format!(".contextrelay/archives/{session}.jsonl"));
        lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    for agent in [&mut claude, &mut codex] {
        let mut find = |place: &str, more: Value| {
            let mut arguments = json!({"words": "tokens", "in": place});
            for (name, value) in more.as_object().unwrap() {
                arguments[name] = value.clone();
            }
            agent.tool("search_record", arguments)
        };
        let here = find("record", json!({}));
        assert_eq!(snippets(&here), ["tokens are opaque"]);
        let kept = find("capsules", json!({}));
        let hit = &kept["hits"][0];
        assert_eq!((&hit["id"], &hit["in"]), (&json!(id), &json!("capsule")));
        assert_eq!(hit["snippet"], "tokens live for one hour");
        assert_eq!(hit["session"], json!(first));
        let stands = (&hit["freshness"], &hit["title"]);
        assert_eq!(stands, (&json!("fresh"), &json!("Fix the login")));
        // The session before says the same, and the record leads back to it.
        assert_eq!(hit["foreign"], Value::Null, "{hit}");
        let sealed = find("archives", json!({}));
        let sessions = [&second, &first].map(|session| json!(session));
        let hits = sealed["hits"].as_array().unwrap();
        assert!(hits.len() >= 2, "{sealed}");
        for hit in hits {
            assert!(sessions.contains(&hit["session"]), "{hit}");
            let lines = archived(hit["session"].as_str().unwrap());
            let cited = lines.iter().find(|line| line["id"] == hit["id"]).unwrap();
            assert_eq!(cited["seq"], hit["seq"]);
            assert_eq!(hit["read_context_cursor"], Value::Null);
            assert_eq!(hit["foreign"], Value::Null, "{hit}");
        }
        assert_eq!(hits[0]["snippet"], "tokens are short");
        // One by one they are the same, in the same order.
        let all = find("all", json!({}));
        let whole: Vec<Value> = all["hits"].as_array().unwrap().clone();
        let parts = [&kept, &here, &sealed].map(|part| part["hits"].as_array().unwrap().clone());
        assert_eq!(whole, parts.concat());
        let (mut single, mut cursor) = (Vec::new(), None);
        loop {
            let more = match &cursor {
                None => json!({"limit": 1}),
                Some(cursor) => json!({"limit": 1, "cursor": cursor}),
            };
            let page = find("all", more);
            single.extend(page["hits"].as_array().unwrap().clone());
            cursor = page["cursor"].as_str().map(str::to_owned);
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(single, whole);
    }
    // What was found of a task says how old it is.
    project.write("other.txt", "the work goes on");
    for agent in [&mut claude, &mut codex] {
        let arguments = json!({"words": "tokens", "in": "capsules"});
        let found = agent.tool("search_record", arguments);
        assert_eq!(found["hits"][0]["freshness"], "moved", "{found}");
    }
    let wrong = json!({"words": "tokens", "in": "record", "cursor": "archive:x:1"});
    let refused = claude.tool_refused("search_record", wrong);
    assert_eq!(refused["code"], "invalid_arguments");
    let wrong = json!({"words": "tokens", "in": "elsewhere"});
    let refused = claude.tool_refused("search_record", wrong);
    assert_eq!(refused["code"], "invalid_arguments");
    // A session that takes long to be read is left to the operator, and that is said.
    let long = project
        .state()
        .join("archives/session_1700000000000_a1b2c3d4.jsonl");
    let file = std::fs::File::create(long).unwrap();
    file.set_len(64 * 1024 * 1024).unwrap();
    let found = claude.tool(
        "search_record",
        json!({"words": "tokens", "in": "archives"}),
    );
    assert_eq!(
        (&found["sessions_not_searched"], &found["total_is_at_least"]),
        (&json!(1), &json!(true))
    );
}

#[test]
fn what_anybody_put_among_the_archives_is_told_as_nobodys_word() {
    let project = Project::new();
    let daemon = project.daemon();
    let [mut claude, mut codex] = servers(&project);
    let note = json!({"text": "tokens are short", "kind": "decision"});
    claude.tool("append_note", note);
    let session = clear(&project, false);
    let lines = project.read(&format!(".contextrelay/archives/{session}.jsonl"));
    let planted = "session_1700000000000_a1b2c3d4";
    let said = lines.replace(&session, planted);
    let said = said.replace("tokens are short", "tokens are skipped");
    project.write(&format!(".contextrelay/archives/{planted}.jsonl"), &said);
    for agent in [&mut claude, &mut codex] {
        for place in ["archives", "all"] {
            let arguments = json!({"words": "tokens are", "in": place});
            let found = agent.tool("search_record", arguments);
            let told = found["hits"].as_array().unwrap().iter();
            let told = told.map(|hit| (&hit["snippet"], &hit["foreign"]));
            let expected = [
                (&json!("tokens are short"), &Value::Null),
                (&json!("tokens are skipped"), &json!(true)),
            ];
            assert_eq!(told.collect::<Vec<_>>(), expected, "{place}: {found}");
        }
    }
    let searched = |project: &Project| {
        let found = project.run(["search", "tokens are"]).expect_success();
        let line = |words: &str| {
            let mut lines = found.stdout.lines();
            lines.find(|line| line.contains(words)).unwrap()
        };
        let (own, other) = (line("tokens are short"), line("tokens are skipped"));
        assert!(!own.contains("from elsewhere"), "{own}");
        assert!(other.contains("nobody vouches for it"), "{other}");
    };
    searched(&project);
    // Their servers would start another daemon.
    drop((claude, codex));
    daemon.stop();
    searched(&project);
}
