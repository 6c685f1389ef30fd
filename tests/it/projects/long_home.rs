//! A home whose path leaves no room for a socket's.

use std::path::{Path, PathBuf};

use crate::support::child::run;
use crate::support::daemon::Daemon;
use crate::support::launch::Launch;
use crate::support::project::Project;
use crate::support::pty::Pty;

/// `ctxrelay` of a user whose folders all lie below this home.
fn at_home(project: &Project, home: &Path, args: &[&'static str]) -> Launch {
    let launch = project
        .ctxrelay(args.iter().copied())
        .env("HOME", home)
        .env_remove("CONTEXTRELAY_REGISTRY_DIR");
    ["XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"]
        .into_iter()
        .fold(launch, Launch::env_remove)
}

/// The operator ends the daemon by a typed word, over the socket, and undoes the project.
#[track_caller]
fn type_word(launch: &Launch, word: &str) -> Pty {
    let mut pty = Pty::spawn(launch);
    pty.wait_for_text("Type");
    pty.type_text(&format!("{word}\r"));
    assert_eq!(pty.wait_exit(), 0, "{}", pty.screen());
    pty
}

/// Where the registry says that the operator's socket is.
fn socket(home: &Path) -> PathBuf {
    let registry = home.join(".local/state/contextrelay/instances.json");
    let text = std::fs::read_to_string(registry).unwrap();
    let registry: serde_json::Value = serde_json::from_str(&text).unwrap();
    registry["instances"][0]["operatorSocket"]
        .as_str()
        .unwrap()
        .into()
}

#[track_caller]
fn works(home_chars: usize, has_runtime: bool) -> PathBuf {
    let project = Project::new();
    let base = project.base().display().to_string();
    let home = PathBuf::from(format!(
        "{base}/{}",
        "h".repeat(home_chars - base.len() - 1)
    ));
    std::fs::create_dir(&home).unwrap();
    let launch = |args: &[&'static str]| {
        let launch = at_home(&project, &home, args);
        if has_runtime {
            launch
        } else {
            launch.env_remove("XDG_RUNTIME_DIR")
        }
    };
    run(&launch(&["init"])).expect_success();
    let daemon = Daemon::start(&launch(&["daemon"]));
    let at = socket(&home);
    assert!(at.exists(), "{}", at.display());
    // From a login of its own, which has no runtime folder.
    let elsewhere = launch(&["kill"]).env_remove("XDG_RUNTIME_DIR");
    // It was asked, and not killed.
    type_word(&elsewhere, "kill").wait_for_text(": ended");
    drop(daemon);
    type_word(&launch(&["uninit"]), "delete");
    assert!(!at.exists());
    at
}

#[test]
fn a_project_works_in_a_home_of_any_length() {
    for chars in [46, 47, 60, 180] {
        let socket = works(chars, true);
        let is_beside = socket.ends_with("operator.sock");
        assert_eq!(is_beside, chars == 46, "{}", socket.display());
    }
}

#[test]
fn a_project_works_in_a_long_home_without_a_runtime_folder() {
    let socket = works(90, false);
    assert!(socket.starts_with("/var/tmp"), "{}", socket.display());
    assert!(!socket.parent().unwrap().exists(), "uninit removes it");
}
