//! A message is named in a terminal as the deck names it.

use serde_json::{Value, json};

use crate::support::mcp::McpClient;
use crate::support::operator::Operator;
use crate::support::project::Project;
use crate::support::pty::Pty;
use crate::support::wait::{timeout, wait_until};

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
    // Its bridge would start another one.
    drop(codex);
    daemon.stop();
    // From the record alone.
    let names = names.iter().map(|name| json!(name));
    assert!(list().iter().map(|row| row["name"].clone()).eq(names));
}

#[test]
fn what_is_taken_back_is_told_by_how_far_it_came() {
    let project = Project::live();
    let mut codex = McpClient::start(&project.ctxrelay(["codex-mcp", "server"]));
    let mut claude = McpClient::start(&project.ctxrelay(["bridge"]));
    let handed = codex.tool(
        "handoff_to_claude",
        json!({"ask": "look at the parser", "reason": "you know it"}),
    );
    let id = handed["handoff_id"].as_str().unwrap();
    let row = || {
        let told = project.run(["queue", "list", "--json"]).expect_success();
        let rows = told.json()["messages"].as_array().unwrap().clone();
        rows.into_iter().find(|row| row["id"] == id)
    };
    // The channel had it, and who knows whether anybody listened.
    let given = wait_until("the push", timeout(), || {
        row().filter(|row| row["state"] == "attempted")
    });
    let name = given["name"].as_str().unwrap().to_owned();
    let told = project.run(["queue", "remove", &name]).expect_success();
    assert!(
        told.stdout
            .contains("nobody can know whether Claude has read it")
    );
    assert!(!told.stdout.contains("never sent"), "{}", told.stdout);

    claude.tool("get_messages", json!({}));
    wait_until("the proof", timeout(), || {
        row().filter(|row| row["state"] == "confirmed")
    });
    let told = project.run(["queue", "remove", &name]).expect_success();
    assert!(told.stdout.contains("Claude has it"), "{}", told.stdout);
    assert!(!told.stdout.contains("never sent"), "{}", told.stdout);
}

/// An agent's tools below a shell of its own: below the agent itself nobody is the operator.
fn tools(project: &Project, verb: &str) -> McpClient {
    let script = format!("{} {verb}; :", env!("CARGO_BIN_EXE_ctxrelay"));
    let shell = project.program("sh").args(["-c", &script]);
    McpClient::start(&shell.envs(project.env()))
}

/// A handoff to Claude; its id.
fn handed(project: &Project) -> String {
    let mut codex = tools(project, "codex-mcp server");
    let handoff = json!({"ask": "look at the parser", "reason": "you know it"});
    let handed = codex.tool("handoff_to_claude", handoff);
    handed["handoff_id"].as_str().unwrap().to_owned()
}

/// Its row in the queue.
fn row_of(project: &Project, id: &str) -> Option<Value> {
    let told = project.run(["queue", "list", "--json"]).expect_success();
    let rows = told.json()["messages"].as_array().unwrap().clone();
    rows.into_iter().find(|row| row["id"] == id)
}

/// The question whether it is to be closed, which says this of its way.
#[track_caller]
fn asked_to_close(project: &Project, id: &str, promised: &str) -> Pty {
    let launch = project.ctxrelay(["handoff", "close", id]);
    let mut line = Pty::spawn_sized(&launch, 240, 40);
    line.wait_for_text("Type `close`");
    assert!(line.screen().contains(promised), "{}", line.screen());
    line
}

/// The answer to it, which says this.
#[track_caller]
fn close(mut line: Pty, told: &str) {
    line.type_text("close\r");
    assert_eq!(line.wait_exit(), 0, "{}", line.screen());
    let screen = line.screen();
    assert!(screen.contains(told), "{screen}");
    assert!(!screen.contains("does not get it"), "{screen}");
}

#[test]
fn a_handoff_that_is_read_while_its_close_is_asked_for_is_not_said_to_be_taken_back() {
    let project = Project::live();
    let id = handed(&project);
    let promised = "taken back unless Claude begins a turn with it just then";
    let line = asked_to_close(&project, &id, promised);
    let mut claude = tools(&project, "bridge");
    claude.tool("get_messages", json!({}));
    wait_until("the proof", timeout(), || {
        row_of(&project, &id).filter(|row| row["state"] == "confirmed")
    });
    close(line, "Claude has it by now");
}

#[test]
fn a_closed_handoff_that_claude_was_given_is_not_given_again() {
    let project = Project::live();
    let _claude = tools(&project, "bridge");
    let id = handed(&project);
    // The channel had it, and who knows whether anybody listened.
    wait_until("the push", timeout(), || {
        row_of(&project, &id).filter(|row| row["state"] == "attempted")
    });
    let line = asked_to_close(&project, &id, "not given to Claude again");
    close(line, "nobody can know whether it was read");
    assert_eq!(row_of(&project, &id), None);
}

#[test]
fn the_number_of_an_entry_names_no_message_whose_id_ends_with_it() {
    let project = Project::live();
    let mut codex = McpClient::start(&project.ctxrelay(["codex-mcp", "server"]));
    for word in 0..20 {
        let text = format!("word {word}");
        codex.tool("send_to_claude", json!({"text": text}));
    }
    let rows = project.run(["queue", "list", "--json"]).expect_success();
    let rows = rows.json()["messages"].as_array().unwrap().clone();
    let names: Vec<&str> = rows.iter().filter_map(|row| row["name"].as_str()).collect();
    assert_eq!(names.len(), 20);
    let is_named = |number: usize| names.contains(&number.to_string().as_str());
    let unnamed: Vec<usize> = (0..40).filter(|number| !is_named(*number)).collect();
    assert!(unnamed.len() >= 20, "{rows:#?}");
    for number in unnamed {
        for command in ["queue show", "queue remove", "handoff close"] {
            let name = number.to_string();
            let args = command.split(' ').chain([name.as_str()]);
            let done = project.run(args);
            assert_eq!(done.code(), 3, "{command} {number}: {done:#?}");
            assert!(done.stderr.contains("there is no"), "{done:#?}");
        }
    }
}

/// As after a `handoff close` that was ended before it took the message back.
#[test]
fn what_is_closed_and_on_its_way_is_listed_so() {
    let project = Project::live();
    let id = handed(&project);
    assert_eq!(row_of(&project, &id).unwrap().get("closed"), None);
    let mut operator = Operator::connect(&project);
    let closed = operator.call("note/append", json!({"text": "done", "handles": [id]}));
    closed.unwrap();
    assert_eq!(row_of(&project, &id).unwrap()["closed"], true);
    let listed = project.run(["queue", "list"]).expect_success().stdout;
    assert!(listed.contains("queued, closed"), "{listed}");
}

#[test]
fn an_open_question_is_closed_by_the_name_that_the_deck_shows() {
    let project = Project::live();
    let mut codex = McpClient::start(&project.ctxrelay(["codex-mcp", "server"]));
    let ask = json!({"text": "which lock do you mean?", "require_reply": true});
    let asked = codex.tool("send_to_claude", ask);
    let id = asked["message_id"].as_str().unwrap();
    let entry = project.run(["ledger", "show", id, "--json"]).json();
    for name in [format!("#{}", entry["seq"]), entry["seq"].to_string()] {
        // It is found, and asks for a word in a terminal.
        let done = project.run(["handoff", "close", name.as_str()]);
        assert!(done.stderr.contains("only the operator"), "{done:#?}");
    }
}
