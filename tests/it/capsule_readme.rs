//! The README's way of a task from Claude to Codex to another clone, run as it stands there.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::capsule::{clone_of, imported, listed, note};
use crate::support::project::Project;
use crate::support::pty::Pty;

/// The commands under the sentence that announces them.
fn commands() -> Vec<String> {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = fs::read_to_string(readme).unwrap();
    let (_, rest) = readme
        .split_once("From Claude to Codex to another clone:")
        .unwrap();
    let (_, rest) = rest.split_once("```sh\n").unwrap();
    let (block, _) = rest.split_once("```").unwrap();
    block.lines().map(str::to_owned).collect()
}

/// Types one of them into a terminal of the operator's; what it says.
#[track_caller]
fn typed(project: &Project, line: &str) -> String {
    let shell = project.program("sh").envs(project.env()).args(["-c", line]);
    let mut pty = Pty::spawn_sized(&shell, 200, 50);
    let code = pty.wait_exit();
    assert_eq!(code, 0, "{line}: {}", pty.screen());
    pty.screen()
}

/// Claude writes a file in a turn of its own, which is committed.
pub fn wrote(project: &Project, path: &str) {
    let file = project.write(path, "pub fn login() {}\n");
    project.git(&["add", path]);
    project.git(&["commit", "-qm", "a login"]);
    let mut hook = project.agent("hook");
    for event in ["UserPromptSubmit", "PostToolUse", "Stop"] {
        let params = json!({"event": event, "claudePid": null, "tool": "Write", "path": file});
        hook.expect("hook/report", params);
    }
}

#[test]
fn the_readmes_commands_bring_a_task_from_claude_to_codex_to_another_clone() {
    let [new, send, export, import, handoff] = commands().try_into().expect("five commands");
    let program = Path::new(env!("CARGO_BIN_EXE_ctxrelay"));
    let project = Project::new();
    project.link_program("ctxrelay", program);
    let daemon = project.daemon();
    typed(&project, &new);
    let mut claude = project.agent("claude");
    note(&mut claude, "claude", "constraint", "no new dependency");
    note(
        &mut claude,
        "claude",
        "decision",
        "tokens live for one hour",
    );
    wrote(&project, "src/login.rs");
    let said = [
        "nobody is logged out by a restart",
        "no new dependency",
        "tokens live for one hour",
    ];
    let id = listed(&project)[0]["id"].as_str().unwrap().to_owned();
    typed(&project, &send.replace("ID", &id));
    let entries = project.ledger();
    let sent = entries.iter().find(|entry| entry["type"] == "handoff");
    let sent = sent.expect("a handoff");
    assert_eq!(sent["target"], "codex");
    for words in said {
        assert!(sent["content"].as_str().unwrap().contains(words), "{sent}");
    }
    let screen = typed(&project, &export.replace("ID", &id));
    let is_digest = |word: &&str| word.len() == 64 && word.chars().all(|c| c.is_ascii_hexdigit());
    let digest = screen
        .split(|c: char| !c.is_ascii_alphanumeric())
        .find(is_digest);
    let digest = digest.unwrap_or_else(|| panic!("no digest: {screen}"));
    daemon.stop();

    let clone = clone_of(&project);
    clone.link_program("ctxrelay", program);
    // As the README says behind them; this one ends with the test.
    let _daemon = clone.daemon();
    let file = clone.base().join("login.ctxcapsule.json");
    fs::copy(project.base().join("login.ctxcapsule.json"), &file).unwrap();
    let (code, told) = imported(&clone, &[file.to_str().unwrap()]);
    assert_eq!((code, &told["intact"]), (0, &json!(true)), "{told}");
    let screen = typed(&clone, &import.replace("DIGEST", digest));
    assert!(screen.contains("intact"), "{screen}");
    assert_eq!(listed(&clone)[0]["foreign"], json!(true));
    // Where Cursor has been at work.
    fs::create_dir_all(clone.root().join(".cursor/rules")).unwrap();
    typed(&clone, &handoff.replace("ID", &id));
    let text = clone.read(".cursor/rules/login.mdc");
    for words in said {
        assert!(text.contains(words), "{words}: {text}");
    }
    clone.write("README.md", "# Later\n");
    clone.git(&["commit", "-qam", "later"]);
    let check = || {
        let check = clone.run(["capsule", "check", &id, "--json"]);
        check.expect_success().json()
    };
    let told = check();
    assert_eq!(
        (&told["freshness"], &told["ahead"], &told["touched"]),
        (&json!("moved"), &json!(1), &json!([])),
        "{told}"
    );
    // Now a file that the task was about.
    clone.write("src/login.rs", "pub fn login() { todo!() }\n");
    let told = check();
    assert_eq!(
        (&told["freshness"], &told["touched"]),
        (
            &json!("touched"),
            &json!([{"path": "src/login.rs", "by": null}])
        ),
        "{told}"
    );
    let said = clone.run(["capsule", "check", &id]).expect_success().stdout;
    assert!(
        said.contains("touched  1 of its files changed since"),
        "{said}"
    );
    assert!(said.contains("changed  src/login.rs"), "{said}");
    let (_, told) = imported(&clone, &[file.to_str().unwrap()]);
    assert_eq!(told["touched"][0]["path"], "src/login.rs", "{told}");
}
