//! What a daemon shows on the disk, as scripts around ContextRelay 3 read it.

use crate::support::child::run;
use crate::support::hand_over::{Tidy, another_daemon, end_daemon, pid};
use crate::support::operator::Operator;
use crate::support::project::Project;
use crate::support::published::{SHOWN, field, present, runs};
use crate::support::wait::{timeout, wait_until};

#[test]
fn what_a_killed_daemon_left_is_the_next_ones_before_it_is_ready() {
    let project = Project::new();
    let mut daemon = project.daemon();
    assert_eq!(present(&project), SHOWN);
    daemon.crash();
    assert_eq!(present(&project), SHOWN, "a killed process removes nothing");
    assert!(!runs(&project));
    let daemon = project.daemon();
    assert!(runs(&project));
    let shown = project.read(".contextrelay/state/daemon.pid");
    assert_eq!(shown, format!("{}\n", daemon.pid()));
    daemon.stop().expect_success();
    assert_eq!(present(&project), [""; 0]);
    // Who works alone clears what is left, too, and leaves nothing.
    let mut daemon = project.daemon();
    daemon.crash();
    run(&project.ctxrelay(["ledger", "rebuild"])).expect_success();
    assert_eq!(present(&project), [""; 0]);
}

#[test]
fn the_process_that_goes_on_shows_itself() {
    let project = Project::new();
    let _tidy = Tidy(&project);
    let mut daemon = project.daemon();
    let before = daemon.pid();
    let mut operator = Operator::connect(&project);
    operator.hand_over(env!("CARGO_BIN_EXE_ctxrelay")).unwrap();
    let now = another_daemon(&project, before);
    wait_until("the end of the process before", timeout(), || {
        daemon.child().try_exit()
    });
    assert_eq!(present(&project), SHOWN);
    let shown = project.read(".contextrelay/state/daemon.pid");
    assert_eq!(shown.trim(), pid(&now).to_string());
    assert_eq!(field(&project, "pid"), pid(&now).to_string());
    end_daemon(&project);
    assert_eq!(present(&project), [""; 0]);
}

#[test]
fn a_folder_that_was_taken_away_gets_nothing_back() {
    let project = Project::new();
    let mut daemon = project.daemon();
    let away = project.root().join("away");
    std::fs::rename(project.state(), &away).unwrap();
    std::fs::create_dir_all(project.state().join("state")).unwrap();
    wait_until("the daemon's end", timeout(), || daemon.child().try_exit());
    assert_eq!(present(&project), [""; 0]);
}
