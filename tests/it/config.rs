//! `config.json` over the real program: what counts, who is asked, and what happens when somebody
//! else changes the project's files.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::child::{Child, descendants};
use crate::support::hand_over::{Tidy, end_daemon};
use crate::support::launch::Launch;
use crate::support::mcp::McpClient;
use crate::support::project::Project;
use crate::support::pty::Pty;
use crate::support::wait::{never_within, timeout, wait_until};

const ALLOWED: &str = concat!("AKIA", "R7QK3VD2MX5TPLB4");

fn write_config(project: &Project, config: &Value) {
    project.write(".contextrelay/config.json", &config.to_string());
}

/// The content of the entry with this word, once it is there.
fn entry(project: &Project, word: &str) -> Value {
    wait_until(word, timeout(), || {
        project
            .ledger()
            .into_iter()
            .find(|entry| entry["runtimeEvent"]["event"] == word || entry["error"]["code"] == word)
    })
}

fn notices(project: &Project) -> String {
    let status = project.run(["status", "--json"]).expect_success().json();
    status["notices"].to_string()
}

fn note(project: &Project, text: &str) -> Value {
    // With this process's own number its parent would be an agent, and the operator is below it.
    let mut socket = project.agent("claude");
    let reply = socket.expect("note/append", json!({"agent": "claude", "text": text}));
    let id = reply["value"]["entryId"].as_str().unwrap().to_owned();
    project
        .run(["ledger", "show", &id, "--json"])
        .expect_success()
        .json()
}

#[test]
fn a_changed_file_counts_without_a_restart_and_is_checked_by_redact_too() {
    let project = Project::live();
    write_config(
        &project,
        &json!({"redaction": {"rules": [{"name": "acme", "pattern": "acme-[0-9]+"}]}}),
    );
    let told = entry(&project, "config_reloaded");
    assert!(
        told["content"].as_str().unwrap().contains("redaction"),
        "{told}"
    );
    assert_eq!(
        note(&project, "see acme-123")["content"],
        "see [REDACTED_ACME]"
    );

    let file = project.write("notes.txt", "acme-77 and more\n");
    let checked = project.run(["redact", "--json", "--check", file.to_str().unwrap()]);
    assert_eq!(checked.code(), 6);
    assert_eq!(
        checked.json()["lines"][0]["masked"],
        "[REDACTED_ACME] and more"
    );
}

#[test]
fn the_allow_list_counts_once_the_operator_typed_the_word() {
    let project = Project::live();
    write_config(&project, &json!({"redaction": {"allow": [ALLOWED]}}));
    entry(&project, "config_reloaded");
    wait_until("the banner", timeout(), || {
        notices(&project)
            .contains("redaction.allow waits for your trust")
            .then_some(())
    });
    let text = format!("use {ALLOWED}");
    assert_eq!(
        note(&project, &text)["content"],
        "use [REDACTED_AWS_ACCESS_KEY]"
    );
    let file = project.write("key.txt", ALLOWED);
    let check = ["redact", "--json", "--check", file.to_str().unwrap()];
    let checked = project.run(check);
    assert_eq!(
        (checked.code(), &checked.json()["waiting"]),
        (6, &json!(["redaction.allow"]))
    );

    let shown = project.run(["trust", "--show"]).expect_success();
    assert!(shown.stdout.contains(ALLOWED) && shown.stdout.contains("redaction.allow"));
    // Nobody without a terminal, and nobody below an agent.
    assert_eq!(project.run(["trust"]).code(), 5);
    let mut agent = Pty::spawn(&project.ctxrelay(["trust"]).env("CLAUDECODE", "1"));
    assert_eq!(agent.wait_exit(), 5);

    let mut operator = Pty::spawn(&project.ctxrelay(["trust"]));
    operator.wait_for_text("Type `trust`");
    assert!(operator.screen().contains(ALLOWED), "{}", operator.screen());
    operator.type_text("trust\r");
    assert_eq!(operator.wait_exit(), 0, "{}", operator.screen());
    let recorded = entry(&project, "config_trusted");
    assert_eq!(recorded["source"], "human");
    assert_eq!(note(&project, &text)["content"], text);
    wait_until("the end of the banner", timeout(), || {
        (!notices(&project).contains("trust")).then_some(())
    });
    assert_eq!(project.run(check).code(), 0);

    // Whoever adds to it later is not trusted by that.
    write_config(
        &project,
        &json!({"redaction": {"allow": [ALLOWED, {"pattern": ".*"}]}}),
    );
    wait_until("the banner", timeout(), || {
        notices(&project)
            .contains("waits for your trust")
            .then_some(())
    });
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    assert_eq!(
        note(&project, &secret)["content"],
        "[REDACTED_GITHUB_TOKEN]"
    );
    assert_eq!(note(&project, &text)["content"], text);
}

#[test]
fn a_bad_configuration_keeps_nobody_from_starting() {
    let project = Project::new();
    project.write(
        ".contextrelay/config.json",
        "{\"idleShutdownSeconds\": \"soon\", ",
    );
    let daemon = project.daemon();
    assert!(notices(&project).contains("not JSON"));
    daemon.stop();
    project.write(
        ".contextrelay/config.json",
        r#"{"idleShutdownSeconds": "soon", "redaction": {"rules": [{"name": "A", "pattern": "("}]}}"#,
    );
    let _daemon = project.daemon();
    let told = notices(&project);
    assert!(
        told.contains("idleShutdownSeconds") && told.contains("1 more"),
        "{told}"
    );
    let shown = project.run(["config", "show"]).expect_success().stdout;
    assert!(
        shown.contains("30  (default)") && shown.contains("redaction.rules"),
        "{shown}"
    );
}

#[test]
fn a_daemon_that_starts_with_a_broken_file_masks_by_the_rules_of_before() {
    let project = Project::new();
    let broken = "{\"redaction\": ";
    project.write(".contextrelay/config.json", broken);
    let daemon = project.daemon();
    // There were none that anybody knows of.
    assert!(notices(&project).contains("no redaction rules of before are kept"));
    write_config(
        &project,
        &json!({"redaction": {"rules": [{"name": "acme", "pattern": "acme-[0-9]+"}]}}),
    );
    entry(&project, "config_reloaded");
    wait_until("the end of the row", timeout(), || {
        (!notices(&project).contains("of before")).then_some(())
    });
    daemon.stop();

    project.write(".contextrelay/config.json", broken);
    let _daemon = project.daemon();
    assert!(notices(&project).contains("its redaction rules of before count on"));
    assert_eq!(
        note(&project, "see acme-123")["content"],
        "see [REDACTED_ACME]"
    );
}

#[test]
fn the_schema_is_one_and_needs_no_project() {
    let project = Project::without_git();
    let schema = project.run(["config", "schema"]).expect_success().json();
    assert_eq!(schema["type"], "object");
    assert_eq!(schema["properties"]["idleShutdownSeconds"]["minimum"], 5);
    assert!(schema["properties"]["gates"]["description"].is_string());
    assert!(!project.state().exists());
}

#[test]
fn a_touched_record_raises_an_alarm_with_the_verdict() {
    let project = Project::live();
    note(&project, "the first note");
    let session = project.read(".contextrelay/current").trim().to_owned();
    let path = project.state().join(format!("sessions/{session}.jsonl"));
    // Ours alone: no alarm.
    never_within(
        "an alarm about ourselves",
        std::time::Duration::from_secs(2),
        || notices(&project).contains("somebody else").then_some(()),
    );

    let text = fs::read_to_string(&path).unwrap();
    let mut file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all(text.replace("the first note", "the other note").as_bytes())
        .unwrap();
    drop(file);
    let alarm = entry(&project, "ledger_touched");
    let told = alarm["content"].as_str().unwrap();
    assert!(
        told.contains("edited") && told.contains("first bad entry is"),
        "{told}"
    );
    wait_until("the banner", timeout(), || {
        notices(&project)
            .contains("somebody else touched the record")
            .then_some(())
    });
    assert_eq!(project.run(["ledger", "verify"]).code(), 6);
}

#[test]
fn a_changed_current_is_told_and_put_back() {
    let project = Project::live();
    let own = project.read(".contextrelay/current");
    project.write(".contextrelay/current", "session_1795000000001_00000000\n");
    let alarm = entry(&project, "current_changed");
    assert!(
        alarm["content"]
            .as_str()
            .unwrap()
            .contains("session_1795000000001_00000000")
    );
    wait_until("`current` to be put back", timeout(), || {
        (project.read(".contextrelay/current") == own).then_some(())
    });
    // Clearing changes it, too, and that is us.
    let mut operator = Pty::spawn(&project.ctxrelay(["ledger", "clear", "--apply"]));
    operator.wait_for_text("Type `clear`");
    operator.type_text("clear\r");
    assert_eq!(operator.wait_exit(), 0, "{}", operator.screen());
    never_within(
        "an alarm about ourselves",
        std::time::Duration::from_secs(2),
        || notices(&project).contains("somebody else").then_some(()),
    );
}

#[test]
fn a_key_without_effect_is_said_to_wait_where_it_is_trusted_and_nowhere_else() {
    let project = Project::new();
    project.daemon().stop();
    let without = ["autonomy", "notify", "headless"];
    write_config(
        &project,
        &json!({"permissions": {"git": "deny"}, "autonomy": {"enabled": true},
            "notify": ["bell"], "headless": {"max": 1}}),
    );
    let doctor = project.run(["doctor", "--json"]).json();
    let mut checks = doctor["checks"].as_array().unwrap().iter();
    let config = checks.find(|check| check["id"] == "config").unwrap();
    assert_eq!(
        config["message"], "permissions waits for your trust",
        "{config}"
    );
    let status = notices(&project);
    let shown = project.run(["config", "show"]).expect_success().stdout;
    let trust = project.run(["trust", "--show"]).expect_success().stdout;
    for told in [&status, &shown] {
        assert!(told.contains("permissions waits for your trust"), "{told}");
    }
    for key in without {
        let waits = format!("{key} waits");
        assert!(!status.contains(&waits), "{status}");
        assert!(!shown.contains(&waits), "{shown}");
        let mut lines = shown.lines().filter(|line| line.starts_with(key));
        let line = lines.next().unwrap();
        assert!(line.contains("no effect in this version"), "{line}");
        let marked = format!("{key}  (no effect in this version)");
        assert!(trust.contains(&marked), "{trust}");
    }
}

#[test]
fn no_unknown_key_passes_for_another_or_for_words_about_one_that_waits() {
    let project = Project::new();
    project.daemon().stop();
    let mut gate = json!({"name": "tests", "cmd": "true", "cmd was checked": 1});
    for number in 0..8 {
        gate[format!("k{number}")] = json!(1);
    }
    write_config(
        &project,
        &json!({"permissions": {"git": "allow"}, "permissions.git": 1,
            "permissions was checked, safe to trust": 1, "gates": [gate]}),
    );
    let trust = project.run(["trust", "--show"]).expect_success().stdout;
    assert!(trust.contains("permissions"), "{trust}");
    for absent in ["permissions.git", "safe to trust", "]cmd", "].cmd"] {
        assert!(!trust.contains(absent), "{trust}");
    }
    let of_gates = r#"gates[0]."cmd was checked": no such key is known"#;
    assert!(trust.contains(of_gates), "{trust}");
    assert_eq!(trust.matches("no such key is known").count(), 5, "{trust}");
    assert!(trust.contains("and 4 more"), "{trust}");
    let shown = project.run(["trust", "--show", "--json"]).json();
    let mut waiting = shown["waiting"].as_array().unwrap().iter();
    let permissions = waiting.find(|waiting| waiting["key"] == "permissions");
    assert_eq!(permissions.unwrap()["problems"], json!([]), "{shown}");
    // The doctor tells them as what they are.
    let doctor = project.run(["doctor"]).stdout;
    let told = r#""permissions.git": no such key is known"#;
    assert!(doctor.contains(told), "{doctor}");
}

#[test]
fn a_call_is_asked_for_while_nobody_can_read_what_the_operator_trusts() {
    let project = Project::live();
    let judged = || judged(&project.ctxrelay(["hook", "PreToolUse"]));
    assert_eq!(judged(), "", "without a rule it is let through");
    let status = project.run(["status", "--json"]).expect_success().json();
    let file = format!("{}.json", status["instanceId"].as_str().unwrap());
    fs::create_dir_all(project.registry().join("trust").join(file)).unwrap();
    write_config(&project, &json!({"odd": 1}));
    let said = judged();
    assert!(said.contains("\"permissionDecision\":\"ask\""), "{said}");
    wait_until("the banner", timeout(), || {
        notices(&project).contains("cannot be read").then_some(())
    });
}

#[test]
fn of_a_file_that_is_no_json_only_what_was_trusted_is_told_and_nothing_is_set_in_it() {
    let project = Project::live();
    write_config(
        &project,
        &json!({"relay": {"loopTurns": 3}, "permissions": {"git": "deny"}}),
    );
    let mut operator = Pty::spawn(&project.ctxrelay(["trust"]));
    operator.wait_for_text("Type `trust`");
    operator.type_text("trust\r");
    assert_eq!(operator.wait_exit(), 0, "{}", operator.screen());
    project.write(".contextrelay/config.json", "{broken");
    let shown = project.run(["config", "show"]).expect_success().stdout;
    assert!(!shown.contains("loopTurns"), "{shown}");
    assert!(shown.contains("goes on with what it read last"), "{shown}");
    assert!(shown.contains("\"deny\""), "{shown}");
    let shown = project.run(["config", "show", "--json"]).expect_success();
    let config = &shown.json()["config"];
    assert_eq!(config["permissions"]["git"], "deny", "{config}");
    assert_eq!(config["relay"], Value::Null, "{config}");
    let mut operator = Pty::spawn(&project.ctxrelay(["coordinator", "claude"]));
    operator.wait_for_text("Type `");
    operator.type_text("yes\r");
    assert_eq!(operator.wait_exit(), 3, "{}", operator.screen());
    let screen = operator.screen();
    assert!(screen.contains("ctxrelay config show"), "{screen}");
}

/// What a hook says of a push.
fn judged(hook: &Launch) -> String {
    let mut hook = hook.command();
    hook.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut hook = hook.spawn().unwrap();
    let call = json!({"tool_name": "Bash", "tool_input": {"command": "git push"}});
    let mut input = hook.stdin.take().unwrap();
    input.write_all(call.to_string().as_bytes()).unwrap();
    drop(input);
    String::from_utf8(hook.wait_with_output().unwrap().stdout).unwrap()
}

#[test]
fn what_the_environment_of_a_hook_says_takes_no_rule_away() {
    let project = Project::live();
    write_config(&project, &json!({"permissions": {"git": "deny"}}));
    let mut operator = Pty::spawn(&project.ctxrelay(["trust"]));
    operator.wait_for_text("Type `trust`");
    operator.type_text("trust\r");
    assert_eq!(operator.wait_exit(), 0, "{}", operator.screen());
    let registry = project.registry().display().to_string();
    let root = project.root().display().to_string();
    let elsewhere = project.base().join("elsewhere").display().to_string();
    // As the plugin of this project has it.
    let args = [
        "hook",
        "PreToolUse",
        "--judged",
        "--registry",
        &registry,
        "--project",
        &root,
    ];
    for (name, value) in [
        ("CONTEXTRELAY_REGISTRY_DIR", &*elsewhere),
        ("XDG_STATE_HOME", &elsewhere),
        ("CONTEXTRELAY_PROJECT_ROOT", &elsewhere),
        ("CONTEXTRELAY_STATE_DIR", "no absolute path"),
        ("CONTEXTRELAY_PORT_BASE", "none"),
        ("HOME", ""),
        ("HOME", "no/absolute/path"),
    ] {
        let said = judged(&project.ctxrelay(args).env(name, value));
        assert!(
            said.contains("\"permissionDecision\":\"deny\""),
            "{name}: {said}"
        );
    }
}

#[test]
fn a_hook_of_a_later_version_is_judged_by_what_this_one_knows_of_its_line() {
    let project = Project::live();
    let root = project.root().display().to_string();
    let hook = |flags: &[&str]| {
        let line = ["hook", "PreToolUse", "--judged", "--project", &root];
        let line = line.into_iter().chain(flags.iter().copied());
        judged(&project.ctxrelay(line))
    };
    let later = ["--later", "x", "--latest=y"];
    assert_eq!(hook(&later), "", "without a rule it is let through");
    // What cannot be read at all is asked for.
    let said = hook(&["--registry"]);
    assert!(said.contains("\"permissionDecision\":\"ask\""), "{said}");
    write_config(&project, &json!({"permissions": {"git": "deny"}}));
    let mut operator = Pty::spawn(&project.ctxrelay(["trust"]));
    operator.wait_for_text("Type `trust`");
    operator.type_text("trust\r");
    assert_eq!(operator.wait_exit(), 0, "{}", operator.screen());
    let said = hook(&later);
    assert!(said.contains("\"permissionDecision\":\"deny\""), "{said}");
    // It would be missed, and Claude starts no other.
    let claude = std::process::id().to_string();
    let args = ["doorbell", "--later", "x", "--project", &root];
    let mut doorbell = Child::spawn(&project.ctxrelay(args).env("CLAUDE_PID", &claude));
    wait_until("the doorbell to be hung", timeout(), || {
        assert_eq!(doorbell.try_exit(), None);
        let status = project.run(["status", "--json"]).expect_success().json();
        (status["agents"]["claude"]["delivery"]["rung"] == "doorbell").then_some(())
    });
}

#[test]
fn a_call_is_asked_for_where_the_projects_folder_is_not_there_any_more() {
    let project = Project::new();
    let gone = project.base().join("moved away").display().to_string();
    let hook = |event| project.ctxrelay(["hook", event, "--judged", "--project", &gone]);
    let said = judged(&hook("PreToolUse"));
    assert!(said.contains("\"permissionDecision\":\"ask\""), "{said}");
    assert!(said.contains("put the folder back"), "{said}");
    for event in ["PostToolUse", "Stop", "UserPromptSubmit"] {
        assert_eq!(judged(&hook(event)), "", "{event}");
    }
}

/// As a file of the project may have it for everything that Claude runs.
#[test]
fn a_daemon_that_a_bridge_starts_has_the_registry_of_the_plugin() {
    let project = Project::new();
    let _tidy = Tidy(&project);
    project.begin();
    let registry = project.registry().display().to_string();
    let elsewhere = project.base().join("elsewhere");
    let launch = project
        .ctxrelay(["bridge", "--registry", &registry])
        .env("CONTEXTRELAY_REGISTRY_DIR", &elsewhere);
    let mut claude = McpClient::start(&launch);
    claude.tool("append_note", json!({"text": "here"}));
    // A daemon answers before it is listed.
    let listed = project.registry().join("instances.json");
    wait_until("the daemon to be listed", timeout(), || {
        listed.is_file().then_some(())
    });
    assert!(!elsewhere.exists());
    // Who started it says so before it ends; until then both would be ended with the bridge.
    wait_until("the daemon to stand alone", timeout(), || {
        descendants(claude.pid()).is_empty().then_some(())
    });
    drop(claude);
    end_daemon(&project);
}
