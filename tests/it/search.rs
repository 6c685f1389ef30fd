//! Search, export and rebuild as a user meets them: with a daemon, without one, in archives.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::PathBuf;

use rustix::fs::{CWD, Mode, mkfifoat};
use serde_json::{Value, json};

use crate::support::project::Project;
use crate::support::wait::{timeout, wait_until};

/// Has notes recorded.
fn note(project: &Project, texts: &[&str]) {
    let mut socket = project.agent("codex");
    for text in texts {
        socket.expect("note/append", json!({"agent": "codex", "text": text}));
    }
}

/// A page that misses nothing: what is not in the index yet is read for 300 ms at most, and then
/// said to be missing.
#[track_caller]
fn search(project: &Project, args: &[&str]) -> Value {
    let args = ["ledger", "search", "--json"].iter().chain(args).copied();
    wait_until("a search that misses nothing", timeout(), || {
        let page = project.run(args.clone()).expect_success().json();
        (page["behind"] == 0).then_some(page)
    })
}

fn snippets(page: &Value) -> Vec<&str> {
    let hits = page["hits"].as_array().unwrap();
    hits.iter()
        .map(|hit| hit["snippet"].as_str().unwrap())
        .collect()
}

/// The record of the current session.
fn record(project: &Project) -> PathBuf {
    let id = project.read(".contextrelay/current");
    project
        .state()
        .join(format!("sessions/{}.jsonl", id.trim()))
}

/// Waits until a stopped daemon would find everything in its index.
fn wait_for_index(project: &Project) {
    wait_until("an index that is up to date", timeout(), || {
        let page = search(project, &["needle"]);
        let newest = page["hits"][0]["seq"].as_u64()?;
        (page["indexedTo"].as_u64()? >= newest).then_some(())
    });
}

#[test]
fn words_are_found_with_and_without_a_daemon() {
    let project = Project::new();
    assert_eq!(search(&project, &["needle"])["total"], 0);
    assert!(!project.state().exists(), "looking makes nothing");
    let daemon = project.daemon();
    note(
        &project,
        &[
            "a needle in the hay",
            "no such thing",
            "two Needles \u{1b}[2J side by side",
            "needle_case.rs:12 ends \"here\"",
        ],
    );
    let live = search(&project, &["needle"]);
    assert_eq!(live["total"], 3);
    assert_eq!(live["behind"], 0);
    assert_eq!(
        snippets(&live),
        [
            "needle_case.rs:12 ends \"here\"",
            "two Needles \u{1b}[2J side by side",
            "a needle in the hay"
        ]
    );
    let hit = &live["hits"][0];
    assert_eq!(hit["marks"], json!([[0, 6]]));
    assert_eq!(hit["type"], "note");
    assert_eq!(hit["source"], "codex");
    let shown = project.run(["ledger", "show", hit["id"].as_str().unwrap(), "--json"]);
    assert_eq!(shown.expect_success().json()["seq"], hit["seq"]);

    let text = project
        .run(["ledger", "search", "needles"])
        .expect_success();
    assert!(
        text.stdout.contains("two Needles ^[[2J side"),
        "{}",
        text.stdout
    );
    for (typed, want) in [
        (&["needle", "hay"][..], 1),
        (&["\"in the hay\""], 1),
        (&["\"the in\""], 0),
        (&["need*", "side"], 1),
        (&["AND", "\"", "needle*"], 0),
        (&["NEAR(needle)"], 0),
        (&["needle_case.rs:12"], 1),
        (&["--", "-needle"], 3),
    ] {
        assert_eq!(search(&project, typed)["total"], want, "{typed:?}");
    }

    let first = search(&project, &["needle", "--limit", "2"]);
    assert_eq!(snippets(&first).len(), 2);
    let cursor = first["cursor"].as_str().unwrap();
    let second = search(&project, &["needle", "--limit", "2", "--after", cursor]);
    assert_eq!(snippets(&second), ["a needle in the hay"]);
    assert_eq!(second["total"], 3);
    assert_eq!(second["cursor"], Value::Null);

    wait_for_index(&project);
    daemon.stop();
    let disk = search(&project, &["needle"]);
    assert_eq!(disk["hits"], live["hits"]);
    assert!(disk["indexedTo"].as_u64() > Some(0), "by the index: {disk}");
    let index = project.state().join("state/index.db");
    assert_eq!(
        index.metadata().unwrap().permissions().mode() & 0o777,
        0o600
    );
    std::fs::remove_file(index).unwrap();
    let read = search(&project, &["needle"]);
    assert_eq!(
        (&read["hits"], &read["indexedTo"]),
        (&live["hits"], &json!(0))
    );
}

#[test]
fn a_kill_in_the_middle_of_indexing_costs_nothing() {
    let project = Project::new();
    let mut daemon = project.daemon();
    note(&project, &["needle"; 300]);
    daemon.crash();
    let _daemon = project.daemon();
    assert_eq!(search(&project, &["needle"])["total"], 300);
    wait_for_index(&project);
    assert_eq!(search(&project, &["needle"])["total"], 300);
}

#[test]
fn an_index_that_is_rubbish_is_made_anew_by_the_next_daemon_or_by_hand() {
    let project = Project::new();
    let daemon = project.daemon();
    note(&project, &["needle one", "needle two"]);
    wait_for_index(&project);
    let rebuilt = project.run(["ledger", "rebuild", "--json"]);
    let rebuilt = rebuilt.expect_success().json();
    assert!(rebuilt["indexedTo"].as_u64() > Some(2), "{rebuilt}");
    daemon.stop();

    let index = project.state().join("state/index.db");
    std::fs::write(&index, "rubbish").unwrap();
    std::fs::write(project.state().join("state/checkpoint"), "rubbish").unwrap();
    assert_eq!(search(&project, &["needle"])["total"], 2);
    let rebuilt = project.run(["ledger", "rebuild", "--json"]);
    let rebuilt = rebuilt.expect_success().json();
    assert_eq!(
        rebuilt["removed"],
        json!(["checkpoint", "checkpoint.slots", "index.db"])
    );
    assert!(!project.state().join("state/checkpoint").exists());
    let found = search(&project, &["needle"]);
    assert_eq!(found["total"], 2);
    assert_eq!(found["indexedTo"], rebuilt["indexedTo"]);
    project.run(["ledger", "verify"]).expect_success();

    std::fs::write(&index, "rubbish").unwrap();
    let _daemon = project.daemon();
    wait_for_index(&project);
}

/// The word was recorded before there was a rule for it.
#[test]
fn an_index_that_is_made_by_hand_has_no_word_that_a_rule_of_the_project_masks() {
    let project = Project::new();
    let daemon = project.daemon();
    note(&project, &["the needle is quince-4711"]);
    daemon.stop();
    let index = || {
        let files =
            ["index.db", "index.db-wal"].map(|name| project.state().join("state").join(name));
        let texts = files.map(|file| std::fs::read(file).unwrap_or_default());
        let text = texts.concat();
        let has = |word: &str| text.windows(word.len()).any(|it| it == word.as_bytes());
        (has("needle"), has("quince"))
    };
    project.run(["ledger", "rebuild"]).expect_success();
    assert_eq!(index(), (true, true));
    let rules = json!({"redaction": {"rules": [{"name": "fruit", "pattern": "quince-[0-9]+"}]}});
    project.write(".contextrelay/config.json", &rules.to_string());
    project.run(["ledger", "rebuild"]).expect_success();
    assert_eq!(index(), (true, false));
}

#[test]
fn an_archive_is_searched_and_exported_too() {
    let project = Project::new();
    let daemon = project.daemon();
    note(&project, &["needle in the archive"]);
    daemon.stop();
    // As a clear leaves it; clearing itself needs an operator.
    let old = record(&project);
    let session = old.file_stem().unwrap().to_str().unwrap().to_owned();
    let archive = project.state().join(format!("archives/{session}.jsonl"));
    std::fs::rename(&old, &archive).unwrap();
    std::fs::remove_file(project.state().join("current")).unwrap();
    let _daemon = project.daemon();
    note(&project, &["needle of today", "needle of tonight"]);

    assert_eq!(search(&project, &["needle"])["total"], 2);
    let old_hits = search(&project, &["needle", "--session", &session]);
    assert_eq!(snippets(&old_hits), ["needle in the archive"]);
    let mut seen = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let mut args = vec!["needle", "--session", "all", "--limit", "1"];
        if let Some(after) = &after {
            args.extend(["--after", after]);
        }
        let page = search(&project, &args);
        assert_eq!(page["total"], 3);
        seen.extend(snippets(&page).into_iter().map(str::to_owned));
        assert!(page["hits"][0]["session"].is_string());
        match page["cursor"].as_str() {
            Some(cursor) => after = Some(cursor.to_owned()),
            None => break,
        }
    }
    assert_eq!(
        seen,
        [
            "needle of tonight",
            "needle of today",
            "needle in the archive"
        ]
    );
    let exported = project.run(["ledger", "export", "--session", &session]);
    assert_eq!(
        exported.expect_success().stdout,
        std::fs::read_to_string(&archive).unwrap()
    );
}

#[test]
fn what_is_broken_in_a_record_is_said_by_each_of_its_exports_and_counts_as_no_entry() {
    let project = Project::new();
    let daemon = project.daemon();
    note(&project, &["before", "after"]);
    daemon.stop();
    let old = record(&project);
    let session = old.file_stem().unwrap().to_str().unwrap().to_owned();
    let archive = project.state().join(format!("archives/{session}.jsonl"));
    let text = std::fs::read_to_string(&old).unwrap();
    let entries = text.lines().count();
    let mut lines: Vec<&str> = text.lines().collect();
    let altered = lines[1].replace("\"timestamp\":1", "\"timestamp\":2");
    assert_ne!(altered, lines[1]);
    lines[1] = &altered;
    lines.insert(2, "null");
    std::fs::write(&archive, format!("{}\n", lines.join("\n"))).unwrap();
    // Of the current session nothing is exported that its head does not vouch for.
    std::fs::remove_file(&old).unwrap();
    std::fs::remove_file(project.state().join("current")).unwrap();
    project.daemon().stop();
    for (format, fate) in [
        ("jsonl", "copied as the others are"),
        ("md", "left out"),
        ("html", "left out"),
    ] {
        let out = project.base().join(format);
        let args = [
            "ledger",
            "export",
            "--session",
            &session,
            "--format",
            format,
        ];
        let to_file = [&args[..], &["--force", "--output", out.to_str().unwrap()]].concat();
        let told = project.run([&to_file[..], &["--json"]].concat());
        let told = told.expect_success().json();
        let found = ["entries", "badLines", "chainOk"].map(|key| told[key].clone());
        assert_eq!(found, [json!(entries), json!(1), json!(false)], "{format}");
        let to_stdout = project.run(args).expect_success().stderr;
        let to_file = project.run(to_file).expect_success();
        for said in [to_stdout, to_file.stdout + &to_file.stderr] {
            let bad = format!("1 line is no entry and {fate}");
            assert!(said.contains(&bad), "{format}: {said}");
            assert!(said.contains("chain of this record is broken"), "{said}");
        }
    }
}

#[test]
fn an_export_is_private_whole_and_takes_nobodys_place_unasked() {
    let project = Project::new();
    let daemon = project.daemon();
    note(&project, &["</script><script>alert(1)</script> \u{202e}x"]);
    daemon.stop();
    let path = record(&project);
    let text = std::fs::read_to_string(&path).unwrap();
    let out = project.base().join("out.jsonl");
    let export = |format: &str, more: &[&str]| {
        let mut args = vec!["ledger", "export", "--json", "--format", format];
        args.extend(["--output", out.to_str().unwrap()]);
        args.extend(more);
        project.run(args)
    };
    let done = export("jsonl", &[]).expect_success().json();
    assert_eq!(done["entries"].as_u64(), Some(text.lines().count() as u64));
    assert_eq!(std::fs::read_to_string(&out).unwrap(), text);
    assert_eq!(out.metadata().unwrap().permissions().mode() & 0o777, 0o600);

    let refused = export("html", &[]);
    assert_eq!(refused.code(), 3);
    assert_eq!(refused.json()["error"]["code"], "exists");
    assert_eq!(std::fs::read_to_string(&out).unwrap(), text, "untouched");

    // A link gives up its name, and what it points to stays.
    std::fs::remove_file(&out).unwrap();
    let precious = project.write("precious.txt", "precious");
    std::os::unix::fs::symlink(&precious, &out).unwrap();
    assert_eq!(export("html", &[]).code(), 3);
    export("html", &["--force"]).expect_success();
    assert_eq!(project.read("precious.txt"), "precious");
    assert!(!out.symlink_metadata().unwrap().is_symlink());
    let html = std::fs::read_to_string(&out).unwrap();
    assert!(html.contains("&lt;/script&gt;&lt;script&gt;alert(1)"));
    assert!(!html.contains("<script") && !html.contains('\u{202e}'));

    // What is no file keeps its name.
    let [pipe, link, folder] = ["pipe", "link", "folder"].map(|name| project.base().join(name));
    mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
    std::os::unix::fs::symlink(&pipe, &link).unwrap();
    std::fs::create_dir(&folder).unwrap();
    for (target, why) in [
        (&pipe, "is no plain file"),
        (&link, "is no plain file"),
        (&folder, "is a folder"),
    ] {
        let before = target.symlink_metadata().unwrap();
        let args = ["ledger", "export", "--force", "--json", "--output"];
        let refused = project.run(args.into_iter().chain(target.to_str()));
        assert_eq!(refused.code(), 3, "{}", target.display());
        let said = refused.json()["error"]["message"].to_string();
        assert!(said.contains(why), "{said}");
        let after = target.symlink_metadata().unwrap();
        assert_eq!(
            (after.ino(), after.file_type()),
            (before.ino(), before.file_type())
        );
    }

    // Not into the record's own folder, by whatever way.
    std::os::unix::fs::symlink(project.state(), project.base().join("way")).unwrap();
    for target in [
        path.clone(),
        project.base().join("way/state/token"),
        project.state().join("new.md"),
    ] {
        let args = ["ledger", "export", "--force", "--json", "--output"];
        let refused = project.run(args.into_iter().chain([target.to_str().unwrap()]));
        assert_eq!(refused.code(), 2, "{}", target.display());
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    assert_eq!(project.run(["ledger", "export", "--json"]).code(), 2);
    let stumps: Vec<_> = std::fs::read_dir(project.base())
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with(".ctxrelay-export"))
        .collect();
    assert!(stumps.is_empty(), "{stumps:?}");
    let markdown = project.run(["ledger", "export", "--format", "md"]);
    assert!(markdown.expect_success().stdout.starts_with("# Record of "));
}
