//! `ctxrelay claude-plugin statusline`: the person's own line runs whatever becomes of us, and their
//! settings change only when they say so.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use crate::support::child::run;
use crate::support::launch::Launch;
use crate::support::project::Project;
use crate::support::pty::Pty;

/// A project, and a private folder of Claude settings.
struct Scene {
    project: Project,
    claude: PathBuf,
}

impl Scene {
    fn new() -> Self {
        let project = Project::new();
        let claude = project.root().join("claude home");
        fs::create_dir(&claude).unwrap();
        Self { project, claude }
    }

    fn ctxrelay<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Launch {
        self.project
            .ctxrelay(args)
            .env("CLAUDE_CONFIG_DIR", &self.claude)
    }

    fn settings(&self) -> PathBuf {
        self.claude.join("settings.json")
    }
}

#[test]
fn nobody_who_asks_on_no_terminal_changes_the_settings() {
    let scene = Scene::new();
    fs::write(scene.settings(), "{}\n").unwrap();
    let install = scene.ctxrelay(["claude-plugin", "statusline", "install"]);
    let refused = run(&install);
    assert_eq!(refused.status.code(), Some(5), "{refused:#?}");
    assert!(refused.stdout.contains("refreshInterval"), "{refused:#?}");
    assert_eq!(fs::read_to_string(scene.settings()).unwrap(), "{}\n");

    for broken in ["{", "[]", r#"{"statusLine": 7}"#] {
        fs::write(scene.settings(), broken).unwrap();
        let install = ["claude-plugin", "statusline", "install", "--yes", "--json"];
        let failed = run(&scene.ctxrelay(install));
        assert_eq!(failed.status.code(), Some(3), "{failed:#?}");
        assert_eq!(failed.json()["error"]["code"], "settings_not_understood");
        assert_eq!(fs::read_to_string(scene.settings()).unwrap(), broken);
    }
}

#[test]
fn what_was_written_while_the_person_was_asked_is_not_lost() {
    let scene = Scene::new();
    fs::write(scene.settings(), "{}\n").unwrap();
    let mut install = Pty::spawn(&scene.ctxrelay(["claude-plugin", "statusline", "install"]));
    install.wait_for_text("Go on?");
    fs::write(scene.settings(), "{\"theme\": \"light\"}\n").unwrap();
    install.type_text("y\r");
    assert_eq!(install.wait_exit(), 3, "{}", install.screen());
    let kept = fs::read_to_string(scene.settings()).unwrap();
    assert_eq!(kept, "{\"theme\": \"light\"}\n");
}

#[test]
fn a_link_to_the_settings_stays_one_and_their_mode_too() {
    use std::os::unix::fs::PermissionsExt as _;

    let scene = Scene::new();
    let kept = scene.project.root().join("dotfiles.json");
    fs::write(&kept, "{\n  \"model\": \"opus\"\n}\n").unwrap();
    fs::set_permissions(&kept, fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink(&kept, scene.settings()).unwrap();
    for verb in ["install", "remove"] {
        let words = ["claude-plugin", "statusline", verb, "--yes"];
        run(&scene.ctxrelay(words)).expect_success();
        let has = fs::read_to_string(&kept).unwrap().contains("statusline");
        assert_eq!(has, verb == "install");
    }
    assert!(scene.settings().symlink_metadata().unwrap().is_symlink());
    let mode = kept.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o640);
    assert_eq!(
        fs::read_to_string(&kept).unwrap(),
        "{\n  \"model\": \"opus\"\n}\n"
    );
}

#[test]
fn the_persons_line_is_shown_without_a_daemon_and_without_a_project() {
    let scene = Scene::new();
    let settings = json!({"statusLine": {"type": "command", "command": "echo 'it is mine'"}});
    fs::write(scene.settings(), settings.to_string()).unwrap();
    let install = ["claude-plugin", "statusline", "install", "--yes"];
    run(&scene.ctxrelay(install)).expect_success();
    let status = ["claude-plugin", "statusline", "status", "--json"];
    let status = run(&scene.ctxrelay(status)).expect_success().json();
    assert_eq!(
        (status["state"].as_str(), status["around"].as_str()),
        (Some("installed"), Some("echo 'it is mine'"),)
    );
    let settings: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(scene.settings()).unwrap()).unwrap();
    let command = settings["statusLine"]["command"].as_str().unwrap();
    for folder in [scene.project.root().to_str().unwrap(), "/nowhere", ""] {
        let mut line = scene.ctxrelay(["status"]);
        line.program = "/bin/sh".into();
        line.args = vec!["-c".into(), command.into()];
        let said = run(&line.env("CLAUDE_PROJECT_DIR", folder)).expect_success();
        assert_eq!(said.stdout, "it is mine\n", "{folder}: {}", said.stderr);
    }
    let made = scene.project.root().join(".contextrelay");
    assert!(!made.exists(), "a status line makes no project");
}
