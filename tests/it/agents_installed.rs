//! Agents that are installed, moved or removed while the daemon runs.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use crate::support::child::run;
use crate::support::daemon::Daemon;
use crate::support::launch::Launch;
use crate::support::project::Project;
use crate::support::pty::Pty;
use crate::support::script_file::write_program;

/// Has a Codex here: the demo's app-server, and a terminal that only says whose it is.
fn install(folder: &Path) {
    let ctxrelay = env!("CARGO_BIN_EXE_ctxrelay");
    let script = format!(
        "#!/bin/sh\ncase \"$1\" in\n--version) echo 'codex-cli 0.169.0' ;;\nmcp) echo '[]' ;;\n\
         resume) echo \"joined $2\" ;;\n*) exec '{ctxrelay}' demo-codex --speed 50 -- \"$@\" ;;\nesac\n"
    );
    fs::create_dir_all(folder).unwrap();
    let new = folder.join("new");
    write_program(&new, &script);
    fs::rename(new, folder.join("codex")).unwrap();
}

fn remove(folder: &Path) {
    fs::remove_file(folder.join("codex")).unwrap();
}

#[test]
fn a_codex_that_comes_moves_or_goes_is_said_by_the_daemon_that_runs_and_works() {
    const MISSING: &str = "Codex is not installed";
    let project = Project::new();
    let [first, second] = ["first", "second"].map(|name| project.base().join(name));
    let ctxrelay = |args: &[&str]| -> Launch {
        let launch = project.ctxrelay(args.iter().copied());
        let path = launch.env[OsStr::new("PATH")].display().to_string();
        launch.env(
            "PATH",
            format!("{}:{}:{path}", first.display(), second.display()),
        )
    };
    let is_installed = || {
        let status = run(&ctxrelay(&["status", "--json"]))
            .expect_success()
            .json();
        assert_eq!(status["running"], true);
        status["agents"]["codex"]["installed"] == true
    };
    install(&first);
    let _daemon = Daemon::start(&ctxrelay(&["daemon"]));
    assert!(is_installed());
    remove(&first);
    assert!(!is_installed());

    // The deck sees by itself that it comes, and hears from who finds out that it is gone.
    let mut deck = Pty::spawn(&ctxrelay(&[])).labelled("deck");
    deck.wait_for_text(MISSING);
    install(&second);
    deck.wait_until_gone(MISSING);
    assert!(is_installed());
    remove(&second);
    assert!(!is_installed());
    deck.wait_for_text(MISSING);
    install(&second);
    assert!(is_installed());
    deck.wait_until_gone(MISSING);

    let joined = run(&ctxrelay(&["codex"])).expect_success().stdout;
    assert!(joined.starts_with("joined "), "{joined}");
}
