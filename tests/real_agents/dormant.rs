//! A plain Claude makes no project of the folder it runs in, and works where no daemon does.

use serde_json::{Value, json};

use crate::support::agents;
use crate::support::child::run;
use crate::support::claude_home::{self, ClaudeHome};
use crate::support::launch::Launch;
use crate::support::messages_server::MessagesServer;
use crate::support::model_request::{ModelRequest, says, tool_said};
use crate::support::project::{Project, names};
use crate::support::pty::{Key, Pty};
use crate::support::script::{Reply, ToolCall};
use crate::support::wait::{timeout, wait_until};

fn is_running(launch: &Launch) -> bool {
    run(launch).expect_success().json()["running"] == true
}

/// Ends what a bridge started.
fn kill(project: &Project) {
    let mut pty = Pty::spawn(&project.ctxrelay(["kill"]));
    pty.wait_for_text("Type");
    pty.type_text("kill\r");
    assert_eq!(pty.wait_exit(), 0, "{}", pty.screen());
}

/// A Claude home with the plugin in the user's own settings.
fn with_plugin(server: &MessagesServer, project: &Project) -> ClaudeHome {
    let home = ClaudeHome::new(server, project);
    let install = project
        .ctxrelay_with_agents(["claude-plugin", "install", "--yes"])
        .envs(home.env());
    run(&install).expect_success();
    home
}

/// Claude offers an installed plugin's tools once its server has answered: asked until then.
#[track_caller]
fn wait_for_tools(server: &MessagesServer, claude: &mut Pty) {
    let offered = |request: &ModelRequest| {
        let mut tools = request.tools.iter();
        tools.any(|tool| tool.ends_with("__append_note"))
    };
    server.when(says("tools?")).reply(Reply::text("I see."));
    wait_until("the plugin's tools", timeout(), || {
        let before = server.steps().len();
        claude.submit("tools?");
        wait_until("a step", timeout(), || {
            (server.steps().len() > before).then_some(())
        });
        server.steps().iter().any(offered).then_some(())
    });
}

#[test]
fn a_plain_claude_leaves_a_plain_folder_as_it_is_and_says_how_to_begin() {
    let Some(_slot) = agents::slot() else { return };
    let project = Project::without_git();
    let server = MessagesServer::start();
    let home = with_plugin(&server, &project);
    assert_eq!(names(project.root()), [""; 0]);
    let note = |text: &str| Reply::mcp("contextrelay", "append_note", json!({"text": text}));
    server.when(says("first")).once().reply(note("early"));
    server.when(says("second")).once().reply(note("late"));
    server
        .when(tool_said("ctxrelay init"))
        .reply(Reply::text("Not begun."));
    server
        .when(tool_said("entry_id"))
        .reply(Reply::text("Noted it."));

    // Claude's environment names ports of this test, and nothing that is ours to find by.
    let launch = home
        .claude(
            &project,
            ["--allowedTools=mcp__plugin_contextrelay_contextrelay"],
        )
        .envs(project.env());
    let mut claude = Pty::spawn(&launch);
    claude.wait_for_text(claude_home::COMPOSER);
    wait_for_tools(&server, &mut claude);
    claude.submit("first");
    claude.wait_for_text("Not begun.");
    assert_eq!(names(project.root()), [""; 0], "nothing was written");
    assert_eq!(names(&project.registry()), [""; 0], "nor registered");

    project
        .run(["init", "--instructions", "skip"])
        .expect_success();
    // The same Claude, whose bridge looks once a second.
    wait_until("the bridge's daemon", timeout(), || {
        is_running(&project.ctxrelay(["status", "--json"])).then_some(())
    });
    claude.submit("second");
    claude.wait_for_text("Noted it.");
    let notes: Vec<Value> = project
        .ledger()
        .into_iter()
        .filter(|line| line["type"] == "note")
        .collect();
    assert_eq!(notes.len(), 1);
    assert_eq!(notes[0]["content"], "late");
    assert_eq!(claude.press_until_exit(Key::Ctrl('c')), 0);
    kill(&project);
}

#[test]
fn a_claude_whose_daemon_the_operator_killed_works_as_ever_and_reads_no_error_of_ours() {
    let Some(_slot) = agents::slot() else { return };
    let project = Project::new();
    let server = MessagesServer::start();
    let home = with_plugin(&server, &project);
    project
        .run(["init", "--instructions", "skip", "--yes"])
        .expect_success();
    let daemon = project.daemon();
    kill(&project);
    drop(daemon);
    let killed = project.state().join("state/killed");
    assert!(killed.exists());

    let plums = project.write("plums.txt", "small\n");
    let read = ToolCall::named("Read", json!({"file_path": plums}));
    server
        .when(says("sort the plums"))
        .once()
        .reply(Reply::call(read));
    server
        .when(tool_said("small"))
        .once()
        .reply(Reply::text("They are sorted."));
    let launch = home.claude(&project, []).envs(project.env());
    let mut claude = Pty::spawn(&launch).labelled("claude");
    claude.wait_for_text(claude_home::COMPOSER);
    // The plugin is there, with its hooks.
    wait_for_tools(&server, &mut claude);
    claude.submit("sort the plums");
    claude.wait_for_text("They are sorted.");
    for request in server.requests() {
        let heard = request.fresh.iter().map(|input| input.text.as_str());
        let heard = heard.collect::<Vec<_>>().join("\n");
        for words in [
            "[ctxrelay",
            "hook error",
            "not reachable",
            "daemon_unreachable",
            "killed by the operator",
        ] {
            assert!(!heard.contains(words), "{words}: {heard}");
        }
    }
    assert!(!claude.shows("hook error"), "{}", claude.screen());
    assert!(!is_running(&project.ctxrelay(["status", "--json"])));
    assert!(killed.exists(), "nothing took the operator's word back");
    assert_eq!(claude.press_until_exit(Key::Ctrl('c')), 0);
}
