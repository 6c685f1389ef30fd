//! A daemon with `CONTEXTRELAY_STATE_DIR`, and terminals in which that is not set.

use serde_json::json;

use crate::support::child::run;
use crate::support::daemon::Daemon;
use crate::support::launch::Launch;
use crate::support::project::Project;
use crate::support::pty::Pty;

const NAME: &str = "CONTEXTRELAY_STATE_DIR";

/// What says the first of the notices.
#[track_caller]
fn noticed(status: Launch) -> String {
    let status = run(&status).expect_success().json();
    let is_there = (&status["running"], &status["answers"]);
    assert_eq!(is_there, (&json!(true), &json!(false)), "{status}");
    status["notices"][0].to_string()
}

#[test]
fn a_daemon_with_its_state_elsewhere_is_named_with_the_way_to_it() {
    let project = Project::new();
    let state = project.base().join("elsewhere");
    let daemon = Daemon::start(&project.ctxrelay(["daemon"]).env(NAME, &state));
    let way = format!("set {NAME}={}", state.display());
    let told = noticed(project.ctxrelay(["status", "--json"]));
    assert!(told.contains(&way), "{told}");
    let status = project.run(["status"]).expect_success().stdout;
    assert!(!status.contains("ctxrelay kill"), "{status}");
    assert!(
        status.contains(&format!("pid {}", daemon.pid())),
        "{status}"
    );
    for args in [
        &["kill", "--json"][..],
        &["daemon", "--json"],
        &["daemon", "--detach", "--json"],
        &["uninit", "--yes", "--json"],
        &["queue", "list", "--json"],
        &["queue", "drain", "--json"],
        &["approvals", "list", "--json"],
    ] {
        let refused = project.run(args.iter().copied());
        assert_eq!(refused.code(), 4, "{args:?}: {refused:?}");
        let error = &refused.json()["error"];
        assert_eq!(error["code"], "state_elsewhere", "{args:?}: {error}");
        assert!(
            error["hint"].to_string().contains(&way),
            "{args:?}: {error}"
        );
    }
    let doctor = project.run(["doctor", "--json"]).json();
    let checks = doctor["checks"].as_array().unwrap().iter();
    let mut of_daemon = checks.filter(|check| check["id"] == "daemon");
    let check = of_daemon.next().unwrap();
    assert!(check["hint"].to_string().contains(&way), "{check}");
    let mut deck = Pty::spawn_sized(&project.ctxrelay([]), 200, 50).labelled("deck");
    assert_eq!(deck.wait_exit(), 4, "{}", deck.screen());
    assert!(deck.shows(&way), "{}", deck.screen());
    // Nothing was marked, and the daemon answers where it is.
    assert!(!project.state().join("state/killed").exists());
    let status = run(&project.ctxrelay(["status", "--json"]).env(NAME, &state));
    assert_eq!(status.json()["answers"], true);
}

#[test]
fn a_daemon_with_its_state_in_the_project_is_named_where_another_folder_is_set() {
    let project = Project::new();
    let _daemon = project.daemon();
    let state = project.base().join("elsewhere");
    let told = noticed(project.ctxrelay(["status", "--json"]).env(NAME, &state));
    assert!(told.contains(&format!("unset {NAME}")), "{told}");
}
