//! What the agents are at, as a person sees and sets it from a terminal.

use serde_json::{Value, json};

use crate::support::mcp::McpClient;
use crate::support::project::Project;
use crate::support::pty::Pty;
use crate::support::ws::RpcSocket;

fn note(socket: &mut RpcSocket, agent: &str, kind: &str, text: &str) {
    let params = json!({"agent": agent, "kind": kind, "text": text});
    socket.expect("note/append", params);
}

/// Runs `ctxrelay continuity …` in a terminal of the operator's; its exit code and screen.
#[track_caller]
fn in_terminal(project: &Project, args: &[&str]) -> (u32, String) {
    let words = ["continuity"].into_iter().chain(args.iter().copied());
    let mut pty = Pty::spawn(&project.ctxrelay(words));
    let code = pty.wait_exit();
    (code, pty.screen())
}

fn shown(project: &Project, agent: &str) -> Value {
    let args = ["continuity", "show", agent, "--json"];
    project.run(args).expect_success().json()
}

/// The texts of a field.
fn texts(shown: &Value, field: &str) -> Vec<String> {
    let said = shown["fields"][field].as_array().unwrap().iter();
    said.map(|said| said["text"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn what_an_agent_is_at_is_shown_with_who_said_it_whether_a_daemon_runs_or_not() {
    let project = Project::new();
    let daemon = project.daemon();
    let mut codex = project.agent("codex");
    for (kind, text) in [
        ("goal", "nobody is logged out"),
        ("constraint", "no new dependency"),
        ("decision", "one lock over it all"),
        ("next_step", "write the test"),
        ("next_step", "run it\u{1b}[2Junder load"),
    ] {
        note(&mut codex, "codex", kind, text);
    }
    let seq = project.ledger().last().unwrap()["seq"].clone();
    let look = || {
        let told = shown(&project, "codex");
        assert_eq!(texts(&told, "objective"), ["nobody is logged out"]);
        assert_eq!(texts(&told, "constraints"), ["no new dependency"]);
        let last = &told["fields"]["nextSteps"][1];
        assert_eq!(
            (&last["by"], &last["tag"], &last["seq"]),
            (&json!("codex"), &json!("note"), &seq)
        );
        let expected = &told["packet"];
        assert_eq!(expected["state"], "expected");
        let packet = expected["text"].as_str().unwrap();
        for text in [
            "nobody is logged out",
            "no new dependency",
            "one lock over it all",
        ] {
            assert!(packet.contains(text), "no {text:?} in {packet}");
        }
        // What was decided holds for both, the rest is its author's.
        let peers = shown(&project, "claude");
        assert_eq!(texts(&peers, "objective"), [""; 0]);
        let peers = peers["packet"]["text"].as_str().unwrap();
        assert!(peers.contains("one lock over it all"), "{peers}");
        assert!(!peers.contains("write the test"), "{peers}");

        let printed = project.run(["continuity", "show", "codex"]);
        let printed = printed.expect_success().stdout;
        assert!(
            printed.contains("[note by codex] no new dependency"),
            "{printed}"
        );
        assert!(!printed.contains('\u{1b}'), "{printed:?}");
        let packet = project.run(["continuity", "show", "codex", "--as", "packet"]);
        assert!(packet.expect_success().stdout.contains("no new dependency"));
        let status = project.run(["continuity", "status", "--json"]);
        let status = status.expect_success().json();
        assert_eq!(
            status["agents"]["codex"]["objective"],
            "nobody is logged out"
        );
        assert_eq!(status["agents"]["claude"]["staleness"], "fresh");
        assert_eq!(status["agents"]["codex"]["lastPacket"], Value::Null);
    };
    look();
    daemon.stop();
    look();
}

#[test]
fn a_pinned_objective_is_the_operators_and_no_agents() {
    let project = Project::live();
    let set = ["continuity", "objective", "nobody is logged out", "--pin"];
    assert_eq!(project.run(set).code(), 5, "a pipe is not the operator");
    let mut shell = Pty::spawn(&project.ctxrelay(set).env("CLAUDECODE", "1"));
    assert_eq!(shell.wait_exit(), 5, "an agent's shell is not the operator");
    let params = json!({"values": [{"kind": "goal", "text": "forged"}]});
    for role in ["claude", "codex"] {
        let mut socket = project.agent(role);
        for method in ["work/state", "work/forget"] {
            let refused = socket.call(method, params.clone()).unwrap_err();
            assert_eq!(refused.data["code"], "operator_only", "{method} by {role}");
        }
    }
    assert_eq!(texts(&shown(&project, "claude"), "objective"), [""; 0]);

    let (code, screen) = in_terminal(&project, &set[1..]);
    assert_eq!(code, 0, "{screen}");
    let mut claude = project.agent("claude");
    note(&mut claude, "claude", "goal", "rewrite it all");
    for agent in ["claude", "codex"] {
        let told = shown(&project, agent);
        assert_eq!(texts(&told, "objective"), ["nobody is logged out"]);
        assert_eq!(told["fields"]["objective"][0]["tag"], "you");
    }

    // The operator's own next word counts, for one agent alone; unpinned it is the agent's again.
    let only_claude = ["objective", "ship it", "--for", "claude"];
    assert_eq!(in_terminal(&project, &only_claude).0, 0);
    assert_eq!(texts(&shown(&project, "claude"), "objective"), ["ship it"]);
    let others = texts(&shown(&project, "codex"), "objective");
    assert_eq!(others, ["nobody is logged out"]);
    note(&mut claude, "claude", "goal", "ship it on Friday");
    let now = texts(&shown(&project, "claude"), "objective");
    assert_eq!(now, ["ship it on Friday"]);
}

#[test]
fn a_file_sets_the_fields_and_what_is_forgotten_is_in_no_packet() {
    let project = Project::live();
    let file = project.write(
        "state.json",
        r#"{"plan": "first the parser", "constraints": ["keep the API", "no unsafe"],
            "nextSteps": ["read lib.rs", "mend it"]}"#,
    );
    let file = file.to_str().unwrap();
    let (code, screen) = in_terminal(&project, &["sync", file]);
    assert_eq!(code, 0, "{screen}");
    for agent in ["claude", "codex"] {
        let told = shown(&project, agent);
        assert_eq!(texts(&told, "plan"), ["first the parser"]);
        assert_eq!(texts(&told, "constraints"), ["keep the API", "no unsafe"]);
        assert_eq!(texts(&told, "nextSteps"), ["read lib.rs", "mend it"]);
    }

    let told = shown(&project, "codex");
    let id = told["fields"]["constraints"][0]["id"].as_str().unwrap();
    let end = &id[id.len() - 12..];
    let (code, screen) = in_terminal(&project, &["forget", end]);
    assert_eq!(code, 0, "{screen}");
    for agent in ["claude", "codex"] {
        let told = shown(&project, agent);
        assert_eq!(texts(&told, "constraints"), ["no unsafe"]);
        let packet = told["packet"]["text"].as_str().unwrap();
        assert!(!packet.contains("keep the API"), "{packet}");
    }
    // It stays in the record.
    let is_there = |line: &Value| line["content"] == "keep the API";
    assert!(project.ledger().iter().any(is_there));

    let before = project.ledger().len();
    assert_eq!(in_terminal(&project, &["forget", "src/nothing.rs"]).0, 3);
    let slip = project.write("slip.json", r#"{"plan": "x", "next_steps": []}"#);
    assert_eq!(
        in_terminal(&project, &["sync", slip.to_str().unwrap()]).0,
        2
    );
    // Together or not at all.
    let long = json!({"plan": "short", "constraints": ["x".repeat(2_001)]});
    let long = project.write("long.json", &long.to_string());
    assert_eq!(
        in_terminal(&project, &["sync", long.to_str().unwrap()]).0,
        2
    );
    assert_eq!(project.ledger().len(), before);
}

#[test]
fn next_steps_of_a_file_take_the_place_of_an_agents_and_other_lists_are_added_to() {
    let project = Project::live();
    let help = project.run(["continuity", "sync", "--help"]);
    let help = help.expect_success().stdout;
    let help: Vec<&str> = help.split_whitespace().collect();
    let help = help.join(" ");
    for said in ["questions, which are added to", "nextSteps, which take the"] {
        assert!(help.contains(said), "{help}");
    }
    let mut codex = project.agent("codex");
    note(&mut codex, "codex", "constraint", "keep the API");
    note(&mut codex, "codex", "next_step", "rewrite it all");
    let sync = |name: &str, fields: Value| {
        let file = project.write(name, &fields.to_string());
        let (code, screen) = in_terminal(&project, &["sync", file.to_str().unwrap()]);
        assert_eq!(code, 0, "{screen}");
        let told = shown(&project, "codex");
        ["constraints", "nextSteps"].map(|field| texts(&told, field))
    };
    let first = json!({"constraints": ["no unsafe"], "nextSteps": ["read lib.rs"]});
    let [constraints, steps] = sync("first.json", first);
    assert_eq!(constraints, ["keep the API", "no unsafe"]);
    assert_eq!(steps, ["read lib.rs"]);
    let [_, steps] = sync("second.json", json!({"nextSteps": ["mend it"]}));
    assert_eq!(steps, ["read lib.rs", "mend it"]);
}

#[test]
fn what_is_reset_is_told_to_nobody_and_stays_in_the_record() {
    let project = Project::live();
    let file = project.write(
        "state.json",
        r#"{"plan": "first the parser", "constraints": ["no unsafe"]}"#,
    );
    assert_eq!(
        in_terminal(&project, &["sync", file.to_str().unwrap()]).0,
        0
    );
    let pinned = ["objective", "nobody is logged out", "--pin"];
    assert_eq!(in_terminal(&project, &pinned).0, 0);
    let before = project.ledger().len();
    let params = json!({"all": true});
    for role in ["claude", "codex"] {
        let refused = project.agent(role).call("work/forget", params.clone());
        assert_eq!(refused.unwrap_err().data["code"], "operator_only");
    }
    let asked = |args: &[&str], word: &str| {
        let words = ["continuity", "reset"].into_iter();
        let words = words.chain(args.iter().copied());
        let mut pty = Pty::spawn_sized(&project.ctxrelay(words), 200, 24);
        pty.wait_for_text("Type `reset` to go on");
        let whom = match args {
            ["codex"] => "tells Codex any more what it is at",
            _ => "tells the agents any more what they are at",
        };
        assert!(pty.screen().contains(whom), "{}", pty.screen());
        pty.submit(word);
        pty.wait_exit()
    };
    assert_eq!(asked(&[], "yes"), 5);
    assert_eq!(
        texts(&shown(&project, "codex"), "plan"),
        ["first the parser"]
    );

    assert_eq!(asked(&["codex"], "reset"), 0);
    let told = shown(&project, "codex");
    let packet = told["packet"].to_string();
    // The other one's objective stands there as what is not its own.
    for words in ["first the parser", "no unsafe"] {
        assert!(!packet.contains(words), "{packet}");
    }
    for field in ["objective", "plan", "constraints"] {
        assert_eq!(texts(&told, field), [""; 0], "{field}");
    }
    assert_eq!(
        texts(&shown(&project, "claude"), "constraints"),
        ["no unsafe"]
    );
    assert_eq!(asked(&[], "reset"), 0);
    assert_eq!(texts(&shown(&project, "claude"), "objective"), [""; 0]);
    assert_eq!(asked(&[], "reset"), 3, "nothing is left to forget");
    let record = project.ledger();
    assert!(record.len() > before);
    let is_there = |line: &Value| line["content"] == "nobody is logged out";
    assert!(record.iter().any(is_there));
}

#[test]
fn an_agent_reads_all_of_its_own_work_page_by_page() {
    let project = Project::live();
    let mut claude = McpClient::start(&project.ctxrelay(["bridge"]));
    let empty = claude.tool("read_context", json!({"view": "resume"}));
    let empty = empty["text"].as_str().unwrap();
    assert!(empty.contains("nothing of your work"), "{empty}");

    let all: Vec<String> = (0..20)
        .map(|number| format!("constraint {number}: {}", "é\"".repeat(900)))
        .collect();
    for text in &all {
        claude.tool("append_note", json!({"text": text, "kind": "constraint"}));
    }
    let mut read = String::new();
    let mut pages = 0;
    let mut arguments = json!({"view": "resume"});
    loop {
        let page = claude.tool("read_context", arguments.clone());
        assert_eq!(page["record_has_grown"], false, "reading records nothing");
        read.push_str(page["text"].as_str().unwrap());
        pages += 1;
        if page["cursor"].is_null() {
            break;
        }
        arguments["cursor"] = page["cursor"].clone();
    }
    assert!(pages > 1, "one page has room for all of it");
    for text in &all {
        assert!(read.contains(text), "{text} is left out");
    }
    assert!(!read.contains("left out"));

    let wrong = json!({"view": "resume", "cursor": "7"});
    let refused = claude.tool_refused("read_context", wrong);
    assert_eq!(refused["code"], "invalid_arguments");
}

#[test]
fn recover_tells_what_a_crash_left_without_an_end_and_what_was_compacted() {
    const SESSION: &str = "session_1795000000000_a1b2c3d4";
    let project = Project::new();
    let line = |number: i64, source: &str, kind: &str, name: &str, fact: Value| {
        let mut event =
            json!({"kind": kind, "status": "recorded", "title": kind, "agent": "codex"});
        event[name] = fact;
        let line = json!({
            "schema": "v1", "id": format!("e{number}"), "timestamp": number, "sessionId": SESSION,
            "type": "runtime_event", "source": source, "content": "", "runtimeEvent": event,
        });
        format!("{line}\n")
    };
    let files = |commands: Value| json!({"written": ["src/a.rs"], "unfinished": commands});
    let record = [
        line(
            1,
            "codex",
            "turn_files",
            "files",
            files(json!(["cargo bench"])),
        ),
        line(
            2,
            "codex",
            "context_compacted",
            "compaction",
            json!({"trigger": "auto", "tokensBefore": 180_000, "tokensAfter": 41_000}),
        ),
        line(
            3,
            "codex",
            "turn_files",
            "files",
            files(json!(["make \u{1b}[2Jship"])),
        ),
        // Nobody tells of another's context.
        line(4, "claude", "turn_files", "files", files(json!(["forged"]))),
    ];
    let path = format!(".contextrelay/sessions/{SESSION}.jsonl");
    project.write(&path, &record.concat());
    project.write(".contextrelay/current", SESSION);

    let told = project.run(["recover", "--json"]).expect_success().json();
    let commands = &told["interruptedCommands"];
    assert_eq!(
        commands,
        &json!([
            {"agent": "codex", "at": 3, "text": "make \u{1b}[2Jship"},
            {"agent": "codex", "at": 1, "text": "cargo bench"},
        ])
    );
    let compaction = json!({"agent": "codex", "at": 2, "trigger": "auto",
        "tokensBefore": 180_000, "tokensAfter": 41_000});
    assert_eq!(told["compactions"], json!([compaction]));
    assert_eq!(told["packets"], json!({"claude": null, "codex": null}));
    let resume = |agent: &str| told["resume"][agent].as_str().unwrap().to_owned();
    // Only those of its last turn are still to be looked at.
    // No daemon here wrote this record: the person reads its commands, and no agent is told them.
    for agent in ["claude", "codex"] {
        let prompt = resume(agent);
        assert!(prompt.starts_with("Go on with the work"), "{prompt}");
        for command in ["make", "cargo bench", "forged"] {
            assert!(!prompt.contains(command), "{prompt}");
        }
    }

    let printed = project.run(["recover"]).expect_success().stdout;
    assert!(
        printed.contains("codex: auto, 180000 → 41000 tokens"),
        "{printed}"
    );
    assert!(printed.contains("codex: cargo bench"), "{printed}");
    assert!(
        !printed.contains('\u{1b}') && !printed.contains("forged"),
        "{printed:?}"
    );
}
