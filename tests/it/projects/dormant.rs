//! A plain agent makes no project of the folder it runs in.

use serde_json::json;

use crate::support::child::run;
use crate::support::launch::Launch;
use crate::support::mcp::McpClient;
use crate::support::project::{Project, names};

#[test]
fn a_record_in_the_home_is_not_that_of_every_folder_below() {
    let project = Project::without_git();
    let home = project.base().to_path_buf();
    let at_home = |args: &[&'static str]| {
        project
            .program(env!("CARGO_BIN_EXE_ctxrelay"))
            .env("CONTEXTRELAY_REGISTRY_DIR", project.registry())
            .env(
                "CONTEXTRELAY_PORT_BASE",
                project.ports.app_server.to_string(),
            )
            .env("HOME", &home)
            .args(args.iter().copied())
    };
    // As an earlier version left it: by a plain Claude in the home.
    std::fs::create_dir(home.join(".contextrelay")).unwrap();
    let status = |launch: Launch| run(&launch).expect_success().json();
    let below = || status(at_home(&["status", "--json"]));
    assert_eq!(below()["projectRoot"], project.root().display().to_string());

    // An agent in the home itself starts nothing either.
    let mut claude = McpClient::start(&at_home(&["bridge"]).cwd(&home));
    let refused = claude.tool_refused("append_note", json!({"text": "x"}));
    assert_eq!(refused["code"], "no_project");
    assert!(refused["hint"].to_string().contains("ctxrelay init"));
    assert_eq!(names(&home.join(".contextrelay")), [""; 0]);

    std::fs::write(home.join(".contextrelay/config.json"), "{\"version\": 1}").unwrap();
    assert_eq!(below()["projectRoot"], home.display().to_string());
}

#[test]
fn what_a_bridge_starts_makes_no_project() {
    let project = Project::new();
    let refused = project.run(["daemon", "--detach", "--unless-killed", "--json"]);
    assert_eq!(refused.code(), 3);
    assert_eq!(refused.json()["error"]["code"], "no_project");
    let mut codex = McpClient::start(&project.ctxrelay(["codex-mcp", "server"]));
    let refused = codex.tool_refused("send_to_claude", json!({"text": "x"}));
    assert_eq!(refused["code"], "no_project");
    assert!(!project.state().exists());
}
