//! How tasks stand to the work tree of now, said everywhere in the same way; and what a task is
//! opened with, told in and described by.

use std::collections::BTreeSet;

use ctxrelay::core::capsule::NOT_KEPT_AT_CLOSE;
use ctxrelay::wire::capsule;
use serde_json::{Value, json};

use crate::capsule::{
    clone_of, closed_without_digest, done, imported, in_terminal, listed, login, note,
};
use crate::capsule_readme::wrote;
use crate::search_everywhere::clear;
use crate::support::mcp::McpClient;
use crate::support::project::Project;
use crate::support::pty::{Key, Pty};
use crate::support::wait::{timeout, wait_until};

fn read(project: &Project, args: &[&str]) -> Value {
    let words = ["capsule"].into_iter().chain(args.iter().copied());
    project.run(words.chain(["--json"])).expect_success().json()
}

fn said(project: &Project, args: &[&str]) -> String {
    let words = ["capsule"].into_iter().chain(args.iter().copied());
    project.run(words).expect_success().stdout
}

/// Claude writes a file again, in a turn of its own.
fn writes_again(project: &Project, path: &str) {
    writes(project, path, "pub fn login() { todo!() }\n");
}

fn writes(project: &Project, path: &str, text: &str) {
    let file = project.write(path, text);
    let mut hook = project.agent("hook");
    for event in ["UserPromptSubmit", "PostToolUse", "Stop"] {
        let params = json!({"event": event, "claudePid": null, "tool": "Write", "path": file});
        hook.expect("hook/report", params);
    }
}

/// A task whose file Claude wrote, exported into this file; its id.
fn exported(project: &Project, file: &str) -> String {
    done(project, &["new", "Fix the login"]);
    let id = listed(project)[0]["id"].as_str().unwrap().to_owned();
    wrote(project, "src/login.rs");
    // What the turn touched is recorded behind its end.
    wait_until("the file of the turn", timeout(), || {
        let shown = read(project, &["show", &id]);
        (shown["touched"][0]["path"] == "src/login.rs").then_some(())
    });
    done(project, &["export", &id, "-o", file]);
    id
}

/// Codex's server; with a parent of its own, so that this test does not run below an agent.
fn codex(project: &Project) -> McpClient {
    let server = project.program("sh").envs(project.env());
    let script = [
        "-c",
        "\"$0\" \"$@\"; exit $?",
        env!("CARGO_BIN_EXE_ctxrelay"),
    ];
    McpClient::start(&server.args(script).args(["codex-mcp", "server"]))
}

#[test]
fn every_view_says_which_files_changed_since_and_by_whom() {
    let project = Project::live();
    let out = project.base().join("login.ctxcapsule.json");
    let file = out.to_str().unwrap();
    let id = exported(&project, file);
    writes_again(&project, "src/login.rs");
    let changed = json!([{"path": "src/login.rs", "by": "claude"}]);
    wait_until("who wrote it", timeout(), || {
        (read(&project, &["check", &id])["touched"] == changed).then_some(())
    });
    // Of an open task it is said of what went out of it last.
    let open = said(&project, &["show", &id]);
    assert!(
        open.contains("touched  1 of its files changed since"),
        "{open}"
    );
    let (before, file_of) = open.split_once("Changed since\n").expect(&open);
    assert!(!before.contains("src/login.rs"), "{open}");
    assert!(
        file_of.starts_with("  src/login.rs (by claude)\n"),
        "{open}"
    );

    let told = "## Changed since it went out last\n- src/login.rs (by claude)\n";
    let handoff = said(&project, &["handoff", &id, "--to", "codex"]);
    assert!(handoff.contains(told), "{handoff}");
    let shown = codex(&project).tool("capsule", json!({"action": "show", "id": id}));
    assert!(shown["text"].as_str().unwrap().contains(told), "{shown}");

    // A closed one stays on the tree on which it was closed.
    project.write("src/login.rs", "pub fn login() {}\n");
    done(&project, &["close", &id]);
    writes_again(&project, "src/login.rs");
    wait_until("who wrote it again", timeout(), || {
        (read(&project, &["check", &id])["touched"] == changed).then_some(())
    });
    let line = "changed  src/login.rs (by claude)";
    let check = said(&project, &["check", &id]);
    assert!(check.contains(line), "{check}");
    let show = said(&project, &["show", &id]);
    assert!(
        show.contains("Changed since\n  src/login.rs (by claude)\n"),
        "{show}"
    );
    let told = "## Changed since this was made\n- src/login.rs (by claude)\n";
    let handoff = said(&project, &["handoff", &id, "--to", "codex"]);
    assert!(handoff.contains(told), "{handoff}");
    let (_, import) = imported(&project, &[file]);
    assert_eq!(import["touched"], changed, "{import}");
    let import = said(&project, &["import", file]);
    assert!(import.contains(line), "{import}");
    let mut codex = codex(&project);
    let shown = codex.tool("capsule", json!({"action": "show", "id": id}));
    assert!(shown["text"].as_str().unwrap().contains(told), "{shown}");
    let checked = codex.tool("capsule", json!({"action": "check", "id": id}));
    assert_eq!(checked["touched"], changed, "{checked}");

    let mut deck = Pty::spawn_sized(&project.ctxrelay([]), 120, 40);
    deck.wait_for_text("✓ chain");
    deck.type_text("T");
    // Its title stands in the timeline as well.
    deck.wait_for_text("hand to an agent");
    deck.press(Key::Enter);
    deck.wait_for_text("Changed since");
    deck.wait_for_text("src/login.rs (by claude)");
}

#[test]
fn what_was_done_before_it_went_out_is_not_said_to_have_changed_it_since() {
    let project = Project::live();
    let out = project.base().join("login.ctxcapsule.json");
    let file = out.to_str().unwrap();
    let id = exported(&project, file);
    // For another task, and the first one rests.
    done(&project, &["new", "Fix the logout"]);
    let other = listed(&project);
    let other = other.iter().find(|row| row["id"] != *id).unwrap();
    writes_again(&project, "src/login.rs");
    wait_until("the file of the turn", timeout(), || {
        let shown = read(&project, &["show", other["id"].as_str().unwrap()]);
        (shown["touched"][0]["path"] == "src/login.rs").then_some(())
    });
    done(&project, &["export", &id, "--force", "-o", file]);
    project.write("src/login.rs", "pub fn login() { /* by hand */ }\n");
    let check = read(&project, &["check", &id]);
    let changed = json!([{"path": "src/login.rs", "by": null}]);
    assert_eq!(check["touched"], changed, "{check}");
    writes(
        &project,
        "src/login.rs",
        "pub fn login() { /* by Claude */ }\n",
    );
    let changed = json!([{"path": "src/login.rs", "by": "claude"}]);
    wait_until("who wrote it", timeout(), || {
        (read(&project, &["check", &id])["touched"] == changed).then_some(())
    });
}

#[test]
fn a_task_on_a_commit_that_was_amended_since_is_said_to_have_gone_apart() {
    let project = Project::new();
    project.write("other.txt", "one\n");
    project.git(&["add", "."]);
    project.git(&["commit", "-qm", "other"]);
    let _daemon = project.daemon();
    let out = project.base().join("login.ctxcapsule.json");
    let id = exported(&project, out.to_str().unwrap());
    done(&project, &["close", &id]);
    // A file of no task, so that none of its own differs.
    project.write("other.txt", "two\n");
    project.git(&["commit", "-qa", "--amend", "-m", "other, amended"]);
    let check = read(&project, &["check", &id]);
    let stands = ["freshness", "ahead", "behind"].map(|key| check[key].clone());
    assert_eq!(stands, [json!("diverged"), json!(1), json!(1)], "{check}");
    let why =
        "diverged  1 commit here that it does not know, 1 commit of its own that are not here";
    let told = said(&project, &["check", &id]);
    assert!(told.contains(why), "{told}");
    let list = said(&project, &["list"]);
    assert!(list.contains("diverged"), "{list}");
    let handoff = said(&project, &["handoff", &id, "--to", "codex"]);
    let state = "State: diverged (the history here and the one that this was made on went apart: \
                 1 commit here, 1 commit there).";
    assert!(handoff.contains(state), "{handoff}");
}

fn keys(value: &Value) -> BTreeSet<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

#[test]
fn a_check_tells_of_own_and_imported_tasks_what_an_import_tells() {
    let project = Project::new();
    let daemon = project.daemon();
    let out = project.base().join("login.ctxcapsule.json");
    let file = out.to_str().unwrap();
    let id = login(&project);
    done(&project, &["export", &id, "-o", file]);
    let told = [
        "id",
        "freshness",
        "ahead",
        "behind",
        "touched",
        "intact",
        "anchored",
        "chainRead",
        "uncited",
        "firstBad",
        "digest",
        "patch",
        "applied",
    ];
    let check = read(&project, &["check", &id]);
    for key in told {
        assert!(keys(&check).contains(key), "no {key}: {check}");
    }
    let stands =
        |check: &Value| ["intact", "anchored", "patch", "applied"].map(|key| check[key].clone());
    let own = [json!(true), json!(true), Value::Null, json!(false)];
    assert_eq!(stands(&check), own, "{check}");
    // Of an own task each line was looked up, and no more.
    assert_eq!(check["chainRead"], json!(false));
    daemon.stop();
    assert_eq!(stands(&read(&project, &["check", &id])), own);

    let clone = clone_of(&project);
    let _daemon = clone.daemon();
    done(&clone, &["import", file, "--apply"]);
    let check = read(&clone, &["check", &id]);
    assert_eq!(
        stands(&check),
        [json!(true), json!(false), Value::Null, json!(true)],
        "{check}"
    );
    let text = said(&clone, &["check", &id]);
    assert!(
        text.contains("intact only  the record that it cites is not here"),
        "{text}"
    );
}

#[test]
fn what_came_of_a_task_is_cited() {
    let project = Project::live();
    let id = login(&project);
    done(&project, &["close", &id, "--outcome", "fixed in 1.4"]);
    let closed = read(&project, &["show", &id]);
    let cited = &closed["outcome"]["ref"];
    let entries = project.ledger();
    let entry = entries
        .iter()
        .find(|entry| entry["id"] == cited["id"])
        .unwrap();
    assert_eq!(
        (&entry["content"], &entry["seq"]),
        (&json!("fixed in 1.4"), &cited["seq"])
    );
    let lines = closed["origin"]["lines"].as_array().unwrap().iter();
    let is_its = |line: &&Value| line.as_str().unwrap().contains("fixed in 1.4");
    assert_eq!(lines.filter(is_its).count(), 1);
}

#[test]
fn a_kept_file_whose_digest_no_record_tells_is_not_believed_and_can_be_kept_anew() {
    let project = Project::live();
    let id = login(&project);
    let kept = project.state().join(format!("capsules/{id}.json"));
    // As by a close that was cut off before its digest was recorded, or by an earlier version.
    let closed = closed_without_digest(&project, &id, Some("fixed in 1.4"));
    let (bytes, digest) = capsule::write(&closed).unwrap();
    std::fs::create_dir_all(kept.parent().unwrap()).unwrap();
    std::fs::write(&kept, &bytes).unwrap();
    let check = read(&project, &["check", &id]);
    assert_eq!(check["remarks"], json!([NOT_KEPT_AT_CLOSE]));
    assert_ne!(check["digest"], json!(digest));
    let show = read(&project, &["show", &id]);
    assert_eq!(show["outcome"]["text"], "fixed in 1.4");
    assert_eq!(show["git"]["late"], json!(true));
    for action in ["show", "check"] {
        let said = codex(&project).tool("capsule", json!({"action": action, "id": id}));
        assert_eq!(said["remark"], NOT_KEPT_AT_CLOSE, "{said}");
    }
    let out = project.base().join("again.json");
    done(&project, &["export", &id, "-o", out.to_str().unwrap()]);
    let exported = std::fs::read(&out).unwrap();
    assert_eq!(std::fs::read(&kept).unwrap(), exported);
    let anew = capsule::read(&exported).unwrap();
    assert_eq!(read(&project, &["show", &id])["digest"], json!(anew.digest));
    // What an agent puts back there is another one than the record tells of.
    std::fs::write(&kept, &bytes).unwrap();
    let show = said(&project, &["show", &id]);
    assert!(
        show.contains("says something else than the record"),
        "{show}"
    );
    // Nor does a sealed session vouch for one, until the task is closed anew.
    let id = login(&project);
    let kept = project.state().join(format!("capsules/{id}.json"));
    let closed = closed_without_digest(&project, &id, None);
    std::fs::write(&kept, capsule::write(&closed).unwrap().0).unwrap();
    clear(&project, false);
    let show = said(&project, &["show", &id]);
    assert!(show.contains("tells the digest of this"), "{show}");
    assert!(show.contains("nobody vouches for it"), "{show}");
    done(&project, &["reopen", &id]);
    done(&project, &["close", &id]);
    clear(&project, false);
    let check = read(&project, &["check", &id]);
    assert_eq!(
        (&check["remarks"], &check["foreign"]),
        (&json!([]), &json!(false))
    );
}

#[test]
fn status_names_the_task_that_the_work_belongs_to() {
    let project = Project::new();
    let daemon = project.daemon();
    let current = || {
        let status = project.run(["status", "--json"]).expect_success().json();
        assert!(keys(&status).contains("capsule"), "{status}");
        status["capsule"].clone()
    };
    assert_eq!(current(), Value::Null);
    let id = login(&project);
    assert_eq!(current(), json!(id));
    let daemon = {
        daemon.stop();
        assert_eq!(current(), json!(id), "from the disk alone");
        project.daemon()
    };
    done(&project, &["close", &id]);
    assert_eq!(current(), Value::Null);
    daemon.stop();
}

#[test]
fn a_task_begins_with_a_handoff_that_is_open() {
    let project = Project::live();
    let mut claude = project.agent("claude");
    let ask = json!({"from": "claude", "ask": "find the leak", "reason": "I am at the cookie"});
    claude.expect("handoff/create", ask);
    let entries = project.ledger();
    let handoff = entries.iter().find(|entry| entry["type"] == "handoff");
    let handoff = handoff.unwrap()["id"].as_str().unwrap().to_owned();
    let (code, screen) = in_terminal(&project, &["new", "The leak", "--handoff", "none"]);
    assert_eq!(code, 3, "{screen}");
    assert!(listed(&project).is_empty());
    done(&project, &["new", "The leak", "--handoff", &handoff]);
    let id = listed(&project)[0]["id"].as_str().unwrap().to_owned();
    let first = || read(&project, &["show", &id])["handoffs"][0].clone();
    let begun = json!({"id": handoff, "from": "claude", "to": "codex", "ask": "find the leak",
        "state": "open"});
    assert_eq!(first(), begun);
    let mut codex = project.agent("codex");
    let answer = json!({"agent": "codex", "kind": "note", "text": "it is the cache",
        "handles": [handoff]});
    codex.expect("note/append", answer);
    assert_eq!(first()["state"], "answered");
    // Its log begins with it, also where both stand in an earlier session.
    let logged = |of: &str| {
        let log = read(&project, &["log", of]);
        let entries = log["entries"].as_array().unwrap().iter();
        let texts = entries.map(|entry| entry["content"].as_str().unwrap().to_owned());
        texts.collect::<Vec<_>>()
    };
    let log = logged(&id);
    assert_eq!(log[..2], ["find the leak", "The leak"], "{log:?}");
    done(&project, &["close", &id]);
    clear(&project, false);
    let log = logged(&id);
    assert_eq!(log[..2], ["find the leak", "The leak"], "{log:?}");
}

#[test]
fn a_text_is_as_long_as_was_asked_and_says_what_had_no_room() {
    let project = Project::live();
    let id = login(&project);
    let mut claude = project.agent("claude");
    // With what is said for it already, as many as are kept of a task.
    for number in 0..40 {
        let text = format!("decision {number}: {}", "it is kept. ".repeat(10));
        note(&mut claude, "claude", "decision", &text);
    }
    for budget in ["3000", "5000", "100000"] {
        let args = ["handoff", &id, "--to", "claude", "--budget", budget];
        let told = read(&project, &args);
        let text = told["text"].as_str().unwrap();
        let chars = text.chars().count();
        assert!(
            chars <= budget.parse().unwrap(),
            "{chars} of {budget}: {text}"
        );
        let left = told["leftOut"].as_array().unwrap().iter();
        let mut left = left.filter(|left| left["what"] == "Decisions");
        let left = left
            .next()
            .map_or(0, |left| left["count"].as_u64().unwrap());
        let (_, decisions) = text.split_once("## Decisions\n").unwrap();
        let (decisions, _) = decisions.split_once("\n\n").unwrap();
        assert_eq!(
            decisions.lines().count() as u64 + left,
            41,
            "{budget}: {text}"
        );
        let is_cut = budget != "100000";
        assert_eq!(
            (left > 0, text.contains(&format!("{left} of Decisions"))),
            (is_cut, is_cut)
        );
    }
    for budget in ["2999", "100001", "many"] {
        let args = [
            "capsule", "handoff", &id, "--to", "claude", "--budget", budget,
        ];
        assert_eq!(project.run(args).code(), 2, "{budget}");
    }
}

/// Whether a value is what a schema says, as far as `capsule schema` says anything; else where not.
fn check_schema(root: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    if let Some(name) = schema["$ref"].as_str() {
        let place = name.strip_prefix('#').unwrap();
        let schema = root
            .pointer(place)
            .ok_or_else(|| format!("{at}: no {name}"))?;
        check_schema(root, schema, value, at)?;
    }
    if let Some(any) = schema["anyOf"].as_array() {
        let fits = |schema| check_schema(root, schema, value, at).is_ok();
        if !any.iter().any(fits) {
            return Err(format!("{at}: {value} is none of {any:?}"));
        }
    }
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let is_kind = match &schema["type"] {
        Value::String(one) => one == kind,
        Value::Array(all) => all.iter().any(|one| one == kind),
        _ => true,
    };
    if !is_kind {
        return Err(format!("{at}: {value} is no {}", schema["type"]));
    }
    for (number, item) in value.as_array().into_iter().flatten().enumerate() {
        check_schema(root, &schema["items"], item, &format!("{at}[{number}]"))?;
    }
    let Some(object) = value.as_object() else {
        return Ok(());
    };
    let required = schema["required"].as_array().into_iter().flatten();
    for name in required.filter_map(Value::as_str) {
        if !object.contains_key(name) {
            return Err(format!("{at}: no {name}"));
        }
    }
    for (name, member) in object {
        let of = match &schema["properties"][name] {
            Value::Null => &schema["additionalProperties"],
            of => of,
        };
        // What the schema does not name is no member of this version.
        if schema["properties"].is_object() && of.is_null() {
            return Err(format!("{at}: {name} is not described"));
        }
        check_schema(root, of, member, &format!("{at}.{name}"))?;
    }
    Ok(())
}

#[test]
fn a_capsule_is_what_its_schema_says() {
    let project = Project::live();
    let out = project.base().join("login.ctxcapsule.json");
    let file = out.to_str().unwrap();
    let id = exported(&project, file);
    let mut claude = project.agent("claude");
    for kind in [
        "goal",
        "constraint",
        "decision",
        "assumption",
        "question",
        "hypothesis",
        "next_step",
    ] {
        note(
            &mut claude,
            "claude",
            kind,
            "use ghp_a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2 for it",
        );
    }
    let ask = json!({"from": "claude", "ask": "find the leak", "reason": "I am at the cookie"});
    claude.expect("handoff/create", ask);
    let mut pty = Pty::spawn(&project.ctxrelay(["review", "import", "--from", "mock"]));
    assert_eq!(pty.wait_exit(), 0, "{}", pty.screen());
    project.write("src/login.rs", "pub fn login() { todo!() }\n");
    done(
        &project,
        &["export", &id, "-o", file, "--force", "--patch", "--outputs"],
    );
    let open: Value = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
    done(&project, &["close", &id, "--outcome", "fixed in 1.4"]);
    let closed = read(&project, &["show", &id]);
    let schema = project.run(["capsule", "schema", "--json"]);
    let schema = schema.expect_success().json();
    for (capsule, has) in [
        (&open, &["patch", "findings"]),
        (&closed, &["outcome", "git"]),
    ] {
        assert!(has.iter().all(|name| !capsule[name].is_null()), "{capsule}");
        assert_eq!(check_schema(&schema, &schema, capsule, ""), Ok(()));
    }
    // It is no schema that takes anything.
    for (place, other) in [
        ("/decisions/0/at", json!("today")),
        ("/touched/0/path", json!(7)),
        ("/git/diffStat", json!([])),
        ("/findings/0/title", Value::Null),
    ] {
        let mut wrong = open.clone();
        *wrong.pointer_mut(place).unwrap() = other;
        let checked = check_schema(&schema, &schema, &wrong, "");
        assert!(checked.is_err(), "{place}");
    }
}
