//! `ctxrelay doctor`: what it looks at, and that it says what cannot be written.

use std::io::Write as _;

use serde_json::{Value, json};

use crate::support::child::{Finished, run};
use crate::support::operator::Operator;
use crate::support::privileged;
use crate::support::project::Project;
use crate::support::script_file::write_program;
use crate::support::small_disk::SmallDisk;
use crate::support::wait::{timeout, wait_until};

#[test]
fn the_doctor_says_that_the_state_cannot_be_written() {
    if !privileged::granted() {
        return;
    }
    let project = Project::new();
    project.daemon().stop();
    let folder = project.state().join("state");
    let disk = SmallDisk::over(&project, &folder, 4096);
    disk.remount(&project, &folder, "ro");
    let told = run(&disk.launch(&project.ctxrelay(["doctor", "--json"])));
    assert_eq!(told.code(), 6, "{told:?}");
    let checks = told.json()["checks"].clone();
    let mut checks = checks.as_array().unwrap().iter();
    let found = checks.find(|check| check["id"] == "permissions").unwrap();
    assert_eq!(found["ok"], false, "{found}");
    let message = found["message"].as_str().unwrap();
    assert!(message.contains("state cannot be written"), "{found}");
    let daemon = run(&disk.launch(&project.ctxrelay(["daemon", "--json"])));
    assert_eq!(daemon.code(), 3, "{daemon:?}");
    let hint = daemon.json()["error"]["hint"].clone();
    assert!(hint.as_str().unwrap().contains("mount"), "{daemon:?}");
}

#[test]
fn the_doctor_says_whose_the_state_is() {
    if !privileged::granted() {
        return;
    }
    let project = Project::new();
    project.daemon().stop();
    std::os::unix::fs::chown(project.state(), Some(12_345), Some(12_345)).unwrap();
    // Root of a namespace in which nobody is that user: their folder is closed to it.
    let doctor = project.ctxrelay(["doctor", "--json"]);
    let mut apart = project
        .program("unshare")
        .args(["--user", "--map-root-user"]);
    apart = apart.arg(&doctor.program).args(&doctor.args);
    apart.env = doctor.env.clone();
    let told = run(&apart).json();
    for id in ["permissions", "config", "tokens"] {
        let mut checks = told["checks"].as_array().unwrap().iter();
        let found = checks.find(|check| check["id"] == id).unwrap();
        assert_eq!(found["ok"], false, "{found}");
        let message = found["message"].as_str().unwrap();
        assert!(message.contains("belongs to somebody else"), "{found}");
        let hint = found["hint"].as_str().unwrap();
        assert!(hint.contains("sudo chown -R \"$(id -un)\" /"), "{found}");
    }
}

#[test]
fn the_doctor_tells_an_alarm_that_waits_from_a_chain_that_is_broken() {
    let project = Project::without_git();
    let daemon = project.daemon();
    let current = project.read(".contextrelay/current");
    let path = project
        .state()
        .join(format!("sessions/{}.jsonl", current.trim()));
    let mut file = std::fs::OpenOptions::new()
        .append(true)
        .open(&path)
        .unwrap();
    file.write_all(b"{\"not\":\"ours\"}\n").unwrap();
    drop(file);
    wait_until("the entry about the line", timeout(), || {
        let ledger = project.ledger();
        let is_alarm = |entry: &Value| entry["meta"]["alarm"].is_object();
        ledger.iter().any(is_alarm).then_some(())
    });
    daemon.stop().expect_success();
    let record = || {
        let told = project.run(["doctor", "--json"]).json();
        let checks = told["checks"].as_array().unwrap().clone();
        checks
            .into_iter()
            .find(|check| check["id"] == "record")
            .unwrap()
    };
    let found = record();
    assert_eq!(found["ok"], false, "{found}");
    let message = found["message"].as_str().unwrap();
    assert!(message.starts_with("the chain is whole, and"), "{found}");
    assert!(found["hint"].as_str().unwrap().contains("Inbox"), "{found}");
    // The same words on the command line.
    let begins_with = |word: &str| {
        let status = project.run(["status", "--json"]).json();
        assert_eq!(status["ledger"]["chain"], word, "{status}");
        let verify = project.run(["ledger", "verify"]);
        assert_eq!(verify.code(), 6);
        assert!(verify.stdout.starts_with(word), "{}", verify.stdout);
    };
    begins_with("touched");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(
        &path,
        text.replacen("the daemon started", "the daemon stirred", 1),
    )
    .unwrap();
    assert_eq!(record()["message"], "the chain is broken");
    begins_with("broken");
}

#[test]
fn the_doctor_says_that_nothing_more_can_be_written() {
    if !privileged::granted() {
        return;
    }
    let project = Project::new();
    project.daemon().stop();
    // The disk of the record has room: that of the state has none.
    let folder = project.state().join("state");
    let disk = SmallDisk::over(&project, &folder, 4096);
    let doctor = disk.launch(&project.ctxrelay(["doctor", "--json"]));
    let of_writing = |told: &Finished| {
        let checks = told.json()["checks"].clone();
        let mut checks = checks.as_array().unwrap().iter().cloned();
        checks.find(|check| check["id"] == "writing").unwrap()
    };
    let found = of_writing(&run(&doctor).expect_success());
    assert_eq!(found["ok"], true, "{found}");
    let filler = disk.outside(&folder.join("filler"));
    let filled = std::fs::write(&filler, vec![0; 8 << 20]).unwrap_err();
    assert_eq!(filled.kind(), std::io::ErrorKind::StorageFull);
    let told = run(&doctor);
    assert_eq!(told.code(), 6, "{told:?}");
    let found = of_writing(&told);
    assert_eq!(found["ok"], false, "{found}");
    let hint = found["hint"].as_str().unwrap();
    assert!(
        hint.contains("make room") && hint.contains("state"),
        "{found}"
    );
    std::fs::remove_file(filler).unwrap();
    assert_eq!(of_writing(&run(&doctor).expect_success())["ok"], true);
    // The folder of the record itself.
    let folder = project.state().join("sessions");
    let disk = SmallDisk::over(&project, &folder, 4096);
    disk.remount(&project, &folder, "ro");
    let told = run(&disk.launch(&project.ctxrelay(["doctor", "--json"])));
    let found = of_writing(&told);
    assert_eq!((told.code(), &found["ok"]), (6, &json!(false)), "{found}");
    assert!(found["hint"].as_str().unwrap().contains("mount"), "{found}");
}

#[test]
fn the_doctor_looks_at_the_configuration_and_its_columns_stay_apart() {
    let project = Project::new();
    project.daemon().stop();
    let check = |id: &str| {
        let told = project.run(["doctor", "--json"]);
        let checks = told.json()["checks"].clone();
        let mut checks = checks.as_array().unwrap().iter();
        let found = checks.find(|check| check["id"] == id).unwrap().clone();
        (told.code(), found)
    };
    assert_eq!(check("config").1["ok"], true);
    let text = project.run(["doctor"]).stdout;
    assert!(text.contains("instructions  no file of ours"), "{text}");
    for (config, said) in [
        ("{", "JSON"),
        (
            r#"{"idleShutdownSeconds": "x"}"#,
            "idleShutdownSeconds: it has to be a whole number from 5 to 604800, so it is ignored",
        ),
    ] {
        project.write(".contextrelay/config.json", config);
        let (code, found) = check("config");
        assert_eq!((code, &found["ok"]), (6, &json!(false)), "{found}");
        assert!(found["message"].as_str().unwrap().contains(said), "{found}");
    }
    let several = json!({
        "idleShutdownSecond": 30,
        "idleShutdownSeconds": "x",
        "delivery": {"idleSeconds": 0, "retries\u{1b}[2J": 3},
        "gates": [{"name": "tests", "cmd": "true", "comand": "false"}],
        "notify": ["bell"],
    });
    project.write(".contextrelay/config.json", &several.to_string());
    let text = project.run(["doctor"]).stdout;
    let at = text.lines().position(|line| line.contains("config  "));
    let config: Vec<&str> = text.lines().skip(at.unwrap()).take(6).collect();
    let words: Vec<&str> = (config[0]
        .split_once("config")
        .unwrap()
        .1
        .trim_start()
        .lines())
    .chain(config[1..].iter().map(|line| line.trim_start()))
    .collect();
    assert_eq!(
        words,
        [
            "idleShutdownSeconds: it has to be a whole number from 5 to 604800, so it is ignored",
            "delivery.idleSeconds: it has to be a whole number from 1 to 3600, so it is ignored",
            "idleShutdownSecond: no such key is known, so it does nothing",
            r#"delivery."retries\u{1b}[2J": no such key is known, so it does nothing"#,
            "gates[0].comand: no such key is known, so it does nothing",
            "next: mend .contextrelay/config.json; `ctxrelay config show` says what counts",
        ],
        "{text}"
    );
    project.write(".contextrelay/config.json", r#"{"idleShutdownSecond": 30}"#);
    let (code, found) = check("config");
    assert_eq!((code, &found["ok"]), (0, &json!(true)), "{found}");
    let message = found["message"].as_str().unwrap();
    assert!(message.starts_with("idleShutdownSecond: no such key"));
    let many: serde_json::Map<_, _> = (0..50).map(|n| (format!("k{n}"), json!(n))).collect();
    project.write(".contextrelay/config.json", &json!(many).to_string());
    let (_, found) = check("config");
    let message = found["message"].as_str().unwrap();
    assert_eq!(message.lines().count(), 6, "{message}");
    assert!(message.ends_with("and 45 more"), "{message}");
    let shown = project.run(["config", "show"]).expect_success().stdout;
    for line in shown.lines().filter(|line| line.contains("(default)")) {
        assert!(line.split_whitespace().count() >= 3, "{line}");
    }
}

#[test]
fn a_file_that_switches_claudes_hooks_off_is_named_where_rules_are_shown() {
    let project = Project::new();
    write_program(&project.bin().join("claude"), "#!/bin/sh\necho 2.1.330\n");
    let daemon = project.daemon();
    let mut operator = Operator::connect(&project);
    let rule = json!({"change": "coordinator", "to": "human"});
    operator.call("policy/set", rule).unwrap();
    let why = || {
        let status = project.run(["status", "--json"]).json();
        let rule = status["policy"]["rules"][0].clone();
        (rule["agent"] == "claude" && rule["enforced"] == false)
            .then(|| rule["why"].as_str().unwrap().to_owned())
    };
    assert!(!why().unwrap().contains("settings"));
    let file = project.root().join(".claude/settings.local.json");
    project.write(
        ".claude/settings.local.json",
        r#"{"disableAllHooks": true}"#,
    );
    let is_named = |text: &str| text.contains(&*file.to_string_lossy());
    wait_until("the daemon to notice", timeout(), || {
        why().filter(|why| is_named(why))
    });
    let told = project.run(["doctor", "--json"]).json();
    let mut checks = told["checks"].as_array().unwrap().iter();
    let check = checks.find(|check| check["id"] == "hooks").unwrap();
    assert!(is_named(check["message"].as_str().unwrap()), "{check}");
    assert_eq!(check["ok"], true, "it is the person's own file");
    daemon.stop();
    assert!(is_named(&why().unwrap()));
    std::fs::remove_file(&file).unwrap();
    assert!(!is_named(&why().unwrap()));
    // Below the project it is found by who stands there, as a Claude would that is started there.
    project.write("web/.claude/settings.json", r#"{"disableAllHooks": true}"#);
    let names = |folder: &std::path::Path, command: &str| {
        let launch = project.ctxrelay([command, "--json"]).cwd(folder);
        run(&launch).stdout.contains("web/.claude/settings.json")
    };
    for command in ["doctor", "status"] {
        assert!(!names(project.root(), command), "{command}");
        assert!(names(&project.root().join("web"), command), "{command}");
    }
}

#[test]
fn the_doctor_says_that_an_entry_of_before_serves_one_project_alone() {
    let project = Project::new();
    let codex = project.base().join("codex-of-this-test");
    let own = env!("CARGO_BIN_EXE_ctxrelay");
    let check_of = |program: &str, args: &[&str]| {
        let entry = json!([{"name": "contextrelay", "enabled": true, "transport": {
            "type": "stdio", "command": program, "args": args}}]);
        write_program(
            &codex,
            &format!(
                "#!/bin/sh\ncase \"$1\" in\n--version) echo codex-cli 0.169.0;;\n\
                 mcp) echo '{entry}';;\nesac\n"
            ),
        );
        let doctor = project.ctxrelay(["doctor", "--json"]);
        let told = run(&doctor.env("CONTEXTRELAY_CODEX_BIN", &codex)).json();
        let checks = told["checks"].as_array().unwrap().iter();
        let mut checks = checks.filter(|check| check["id"] == "codex-mcp");
        checks.next().cloned()
    };
    let check = |args: &[&str]| check_of(own, args);
    assert_eq!(check(&["codex-mcp", "server"]), None);
    assert_eq!(check_of("/opt/somebodys", &["serve"]), None, "not ours");
    for (program, how) in [
        (
            "/gone/ctxrelay",
            "a program that is not there: /gone/ctxrelay",
        ),
        ("/bin/sh", "another program: /bin/sh"),
    ] {
        let told = check_of(program, &["codex-mcp", "server"]).unwrap();
        assert!(told["message"].as_str().unwrap().ends_with(how), "{told}");
        assert!(
            told["hint"].as_str().unwrap().contains("codex-mcp install"),
            "{told}"
        );
    }
    let bound = ["codex-mcp", "server", "--project", "/home/me/one"];
    let told = check(&bound).unwrap();
    assert_eq!(told["ok"], true, "{told}");
    assert!(
        told["message"]
            .as_str()
            .unwrap()
            .ends_with("the record of /home/me/one"),
        "{told}"
    );
    assert!(
        told["hint"].as_str().unwrap().contains("codex-mcp install"),
        "{told}"
    );
}

#[test]
fn the_doctor_says_what_codex_finds_wrong_in_its_configuration() {
    let project = Project::new();
    let codex = project.bin().join("codex");
    write_program(
        &codex,
        "#!/bin/sh\nif [ \"$1\" = --version ]; then echo codex-cli 0.169.0; exit; fi\n\
         printf 'WARNING: as always\\nError: failed to load\\n\\nCaused by:\\n    0: a.toml:1:5: no\\n' >&2\n\
         exit 1\n",
    );
    let told = project.run(["doctor", "--json"]);
    assert_eq!(told.code(), 6, "{told:?}");
    let told = told.json();
    let mut checks = told["checks"].as_array().unwrap().iter();
    let check = checks.find(|check| check["id"] == "codex-mcp").unwrap();
    assert_eq!(
        (&check["ok"], &check["message"]),
        (
            &json!(false),
            &json!("`codex mcp list` failed: Error: failed to load: a.toml:1:5: no")
        )
    );
}

#[test]
fn an_installed_plugin_of_another_program_is_told_and_renewed_by_init() {
    let project = Project::new();
    // In Claude's place: it takes what it is told.
    write_program(&project.bin().join("claude"), "#!/bin/sh\necho '[]'\n");
    let check = || {
        let told = project.run(["doctor", "--json"]).json();
        let checks = told["checks"].as_array().unwrap().iter();
        let mut checks = checks.filter(|check| check["id"] == "claude-plugin");
        checks.next().cloned()
    };
    assert_eq!(check(), None, "nobody installed it");
    project
        .run(["claude-plugin", "install", "--yes"])
        .expect_success();
    let current = check().unwrap();
    assert_eq!(current["hint"], "", "{current}");
    let plugin = project
        .base()
        .join("xdg/data/contextrelay/market/plugins/contextrelay/.claude-plugin/plugin.json");
    let text = std::fs::read_to_string(&plugin).unwrap();
    let own = env!("CARGO_BIN_EXE_ctxrelay");
    std::fs::write(&plugin, text.replace(own, "/gone/ctxrelay")).unwrap();
    let told = check().unwrap();
    let hint = told["hint"].as_str().unwrap();
    assert!(hint.contains("claude-plugin install"), "{told}");

    project.run(["init"]).expect_success();
    assert_eq!(std::fs::read_to_string(&plugin).unwrap(), text);
    assert_eq!(check().unwrap(), current);
}

#[test]
fn a_queue_of_a_later_version_is_named_with_the_version_to_start() {
    let project = Project::new();
    project.daemon().stop();
    let path = project.state().join("state/queue.db");
    let mut queue = std::fs::read(&path).unwrap();
    // Where SQLite's format has the `user_version`.
    queue[60..64].copy_from_slice(&99_u32.to_be_bytes());
    std::fs::write(&path, &queue).unwrap();
    let daemon = project.run(["daemon", "--json"]);
    assert_eq!(daemon.code(), 3, "{daemon:?}");
    names_the_newer(&project, &daemon.json()["error"]["hint"]);
    assert_eq!(std::fs::read(&path).unwrap(), queue);
}

#[test]
fn a_record_of_a_later_version_is_named_with_the_version_to_start() {
    let project = Project::new();
    let sessions = project.state().join("sessions");
    std::fs::create_dir_all(&sessions).unwrap();
    let session = "session_1795000000000_a1b2c3d4";
    std::fs::write(project.state().join("current"), session).unwrap();
    let line =
        json!({"schema": "v2", "id": "new", "type": "note", "source": "claude", "content": "x"});
    let path = sessions.join(format!("{session}.jsonl"));
    std::fs::write(&path, format!("{line}\n")).unwrap();
    let daemon = project.run(["daemon", "--json"]);
    assert_eq!(daemon.code(), 3, "{daemon:?}");
    names_the_newer(&project, &daemon.json()["error"]["hint"]);
}

/// `hint`: of the daemon that did not start.
#[track_caller]
fn names_the_newer(project: &Project, hint: &Value) {
    let newer = "the newer ctxrelay";
    assert!(hint.as_str().unwrap().contains(newer), "{hint}");
    let doctor = project.run(["doctor", "--json"]);
    assert_eq!(doctor.code(), 6, "{doctor:?}");
    let checks = doctor.json()["checks"].clone();
    let mut checks = checks.as_array().unwrap().iter();
    let found = checks.find(|check| check["id"] == "daemon").unwrap();
    assert_eq!(found["ok"], false, "{found}");
    assert_eq!(&found["hint"], hint);
    let status = project.run(["status"]).expect_success().stdout;
    assert!(status.contains(newer), "{status}");
    assert!(!status.contains("start it with `ctxrelay`"), "{status}");
}
