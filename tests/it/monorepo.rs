//! A project in a folder of a repository: reviews name files from the repository's top.

use std::fs;

use serde_json::{Value, json};

use crate::capsule::{done, listed};
use crate::support::fake_gh::comment;
use crate::support::mcp::McpClient;
use crate::support::project::Project;
use crate::support::pty::{Key, Pty};

/// A repository with the project in one folder, and something else in another; its commit.
fn repository() -> (Project, String) {
    let project = Project::without_git();
    let top = project.base();
    let ignored = "/*\n!/.gitignore\n!/project/\n!/lib/\n";
    fs::write(top.join(".gitignore"), ignored).unwrap();
    fs::create_dir(top.join("lib")).unwrap();
    fs::write(top.join("lib/b.rs"), "elsewhere\n").unwrap();
    project.write("src/a.rs", "one\ntwo\nthree\n");
    project.write(".contextrelay/config.json", "{}");
    for args in [
        &["init", "-q", "-b", "main", ".."][..],
        &["config", "user.name", "Test"],
        &["config", "user.email", "test@example.invalid"],
        &["add", "src", "../lib", "../.gitignore"],
        &["commit", "-qm", "first"],
    ] {
        project.git(args);
    }
    let commit = project.git(&["rev-parse", "HEAD"]).trim().to_owned();
    (project, commit)
}

#[test]
fn findings_of_a_repository_are_found_in_the_project_that_is_a_folder_of_it() {
    let (project, commit) = repository();
    let _daemon = project.daemon();
    done(&project, &["new", "Fix the login"]);
    let id = listed(&project)[0]["id"].as_str().unwrap().to_owned();
    let of = |id: u64, path: &str, line: u64| {
        let mut comment = comment(id, "P1: it is wrong");
        comment["path"] = json!(path);
        comment["line"] = json!(line);
        comment["commit_id"] = json!(commit);
        comment
    };
    let comments = json!([of(1, "project/src/a.rs", 2), of(2, "lib/b.rs", 1)]);
    let file = project.base().join("review.json");
    fs::write(&file, comments.to_string()).unwrap();
    let import = ["review", "import", "--from", "file", file.to_str().unwrap()];
    let mut pty = Pty::spawn(&project.ctxrelay(import));
    assert_eq!(pty.wait_exit(), 0, "{}", pty.screen());

    let show = |id: &str| {
        let shown = project.run(["review", "show", id, "--json"]);
        let shown = shown.expect_success().json();
        (shown["lineFate"].clone(), shown["lineNow"].clone())
    };
    // Everybody is told the place from the project.
    let listed = project.run(["review", "list", "--json"]);
    let listed = listed.expect_success().json();
    let mut paths: Vec<(&Value, &Value)> = listed["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (&row["path"], &row["outside"]))
        .collect();
    paths.sort_by_key(|(path, _)| path.as_str());
    assert_eq!(
        paths,
        [
            (&json!("../lib/b.rs"), &json!(true)),
            (&json!("src/a.rs"), &json!(false)),
        ]
    );
    let outside = "../lib/b.rs:1 (outside of the project)";
    for args in [&["review", "list"][..], &["review", "show", "gh:rc:2"]] {
        let told = project.run(args.iter().copied()).expect_success().stdout;
        assert!(told.contains(outside), "{told}");
        assert!(!told.contains("project/src"), "{told}");
    }
    // It has a parent of its own: what runs below an agent is not the operator.
    let script = [
        "-c",
        "\"$0\" \"$@\"; exit $?",
        env!("CARGO_BIN_EXE_ctxrelay"),
        "bridge",
    ];
    let bridge = project.program("sh").envs(project.env()).args(script);
    let mut claude = McpClient::start(&bridge);
    let board = claude.tool("task_state", json!({}));
    let open = board["findings"]["open"].as_array().unwrap();
    let mut places: Vec<&str> = open
        .iter()
        .map(|it| it["place"].as_str().unwrap())
        .collect();
    places.sort_unstable();
    assert_eq!(places, [outside, "src/a.rs:2"]);
    let proposed = json!({"summary": "it is done", "evidence": ["tests"]});
    let proposed = claude.tool("propose_final", proposed)["blockers"].to_string();
    for place in ["(high, src/a.rs:2)", "(high, ../lib/b.rs:1 (outside"] {
        assert!(proposed.contains(place), "{proposed}");
    }
    drop(claude);
    assert_eq!(show("gh:rc:1"), (json!("same"), json!(2)));
    assert_eq!(show("gh:rc:2"), (json!("same"), json!(1)));
    project.write("src/a.rs", "zero\none\ntwo\nthree\n");
    assert_eq!(show("gh:rc:1"), (json!("moved"), json!(3)));
    // What travels names files of the project, and of no other folder.
    let capsule = project.run(["capsule", "show", &id, "--json"]);
    let capsule = capsule.expect_success().json();
    let places: Vec<(&str, &Value, &Value)> = capsule["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["externalId"].as_str().unwrap(), &it["path"], &it["line"]))
        .collect();
    assert_eq!(places.len(), 2);
    assert!(places.contains(&("gh:rc:1", &json!("src/a.rs"), &json!(2))));
    assert!(places.contains(&("gh:rc:2", &Value::Null, &Value::Null)));
    assert_eq!(capsule["git"]["changed"], json!(1));

    let mut deck = Pty::spawn_sized(&project.ctxrelay([]), 120, 40).labelled("deck");
    deck.wait_for_text("● attached");
    deck.type_text("F");
    deck.wait_for_text(" src/a.rs:2");
    // The place of the other one sorts before.
    deck.wait_for_text("../lib/b.rs:1");
    assert!(!deck.screen().contains("project/src"), "{}", deck.screen());
    deck.press(Key::Enter);
    deck.wait_for_text("elsewhere");
    deck.wait_for_text("The file is outside of the project.");
    // The next one.
    deck.type_text("J");
    deck.wait_for_text("The line is line 3 now.");
    deck.wait_for_text("zero");
    deck.type_text("h");
    deck.wait_for_text(" on src/a.rs:2. The line is line 3");
}
