//! What `init` writes for the agents, in their own requests to their models: the user's rules are
//! in them before and after.

use crate::support::agents;
use crate::support::child::run;
use crate::support::claude_home::ClaudeHome;
use crate::support::codex_home::CodexHome;
use crate::support::messages_server::MessagesServer;
use crate::support::model_request::{ModelRequest, always};
use crate::support::project::Project;
use crate::support::responses_server::ResponsesServer;
use crate::support::script::Reply;

const OURS: &str = "## Working as a pair";

/// What a plain Claude's model is told in this project now.
#[track_caller]
fn claudes_request(project: &Project) -> ModelRequest {
    let server = MessagesServer::start();
    let home = ClaudeHome::new(&server, project);
    server.when(always()).reply(Reply::text("Hello."));
    run(&home.claude(project, ["-p", "hello"])).expect_success();
    server.steps().swap_remove(0)
}

/// What a plain Codex's model is told in this project now; `config` stands before its own.
#[track_caller]
fn codexs_request(project: &Project, config: &str) -> ModelRequest {
    let server = ResponsesServer::start();
    let home = CodexHome::new(&server, project);
    configure(&home, config);
    server.when(always()).reply(Reply::text("Hello."));
    run(&home.codex(project, ["exec", "hello"])).expect_success();
    server.steps().swap_remove(0)
}

fn configure(home: &CodexHome, config: &str) {
    let path = home.path().join("config.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(path, format!("{config}\n{text}")).unwrap();
}

#[track_caller]
fn checked(project: &Project) -> (i32, String) {
    let checks = project.run(["doctor", "--json"]);
    let instructions = checks.json()["checks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|check| check["id"] == "instructions")
        .unwrap()["message"]
        .to_string();
    (checks.code(), instructions)
}

#[test]
fn claude_reads_the_projects_agents_md_after_init_as_before() {
    let Some(_slot) = agents::slot() else { return };
    let project = Project::new();
    let rules = "# Rules\n\nPlums are sorted by weight.\n";
    project.write("AGENTS.md", rules);
    assert!(claudes_request(&project).mentions("Plums are sorted by weight."));

    project.run(["init", "--yes"]).expect_success();
    let after = claudes_request(&project);
    assert!(after.mentions("Plums are sorted by weight."));
    assert!(after.mentions(OURS));
    let codex = codexs_request(&project, "");
    assert!(codex.mentions("Plums are sorted by weight.") && codex.mentions(OURS));

    project.run(["uninit", "--yes"]).expect_success();
    assert_eq!(project.read("AGENTS.md"), rules);
    assert!(!project.root().join("CLAUDE.md").exists());
}

#[test]
fn a_project_that_was_hurt_is_found_and_mended() {
    let Some(_slot) = agents::slot() else { return };
    let project = Project::new();
    // As an earlier version left it.
    project.run(["init", "--yes"]).expect_success();
    let ours = project.read("AGENTS.md");
    let rules = "# Rules\n\nPlums are sorted by weight.\n";
    project.write("CLAUDE.md", &ours);
    project.write("AGENTS.md", &format!("{rules}\n{ours}"));
    assert!(!claudes_request(&project).mentions("Plums are sorted by weight."));
    let (code, message) = checked(&project);
    assert_eq!(code, 6);
    assert!(message.contains("AGENTS.md"), "{message}");

    project.run(["init", "--yes"]).expect_success();
    let mended = claudes_request(&project);
    assert!(mended.mentions("Plums are sorted by weight.") && mended.mentions(OURS));
    assert!(!project.root().join("CLAUDE.md").exists());
    assert_eq!(checked(&project).0, 0);
    project.run(["uninit", "--yes"]).expect_success();
    assert_eq!(project.read("AGENTS.md"), rules);
}

#[test]
fn codex_reads_its_fallback_file_after_init_as_before() {
    let Some(_slot) = agents::slot() else { return };
    let project = Project::new();
    project.write("TEAM.md", "# Team\n\nPears are peeled.\n");
    let config = "project_doc_fallback_filenames = [\"TEAM.md\"]\n";
    assert!(codexs_request(&project, config).mentions("Pears are peeled."));

    let folder = project.home().join(".codex");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), config).unwrap();
    project.run(["init", "--yes"]).expect_success();
    assert!(!project.root().join("AGENTS.md").exists());
    let after = codexs_request(&project, config);
    assert!(after.mentions("Pears are peeled.") && after.mentions(OURS));
}
