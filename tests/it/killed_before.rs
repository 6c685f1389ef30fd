//! A daemon that was killed cannot say that it ends: the next one does.

use crate::support::daemon::Daemon;
use crate::support::project::Project;
use crate::support::wait::{timeout, wait_until};

const SAID: &str = "the one before this one ended without a word";

/// A daemon of which the record says that it started.
#[track_caller]
fn begun(project: &Project) -> Daemon {
    let started = || project.ledger_naming("the daemon started").len();
    let before = match project.state().join("sessions").exists() {
        true => started(),
        false => 0,
    };
    let daemon = project.daemon();
    wait_until("the first word of the daemon", timeout(), || {
        (started() > before).then_some(())
    });
    daemon
}

#[track_caller]
fn wait_until_said(project: &Project) {
    wait_until("the word of the next one", timeout(), || {
        (project.ledger_naming(SAID).len() == 1).then_some(())
    });
}

#[test]
fn a_daemon_that_was_killed_is_named_by_the_next_one_and_by_no_other() {
    let project = Project::new();
    begun(&project).crash();
    assert!(project.ledger_naming(SAID).is_empty());
    let second = project.daemon();
    wait_until_said(&project);
    second.stop();
    let third = project.daemon();
    assert_eq!(project.ledger_naming(SAID).len(), 1);
    third.stop();
}

#[test]
fn a_daemon_that_ended_because_its_lock_was_removed_has_said_so() {
    let project = Project::new();
    let mut first = begun(&project);
    std::fs::remove_file(project.state().join("state/daemon.lock")).unwrap();
    wait_until("the daemon's end", timeout(), || first.child().try_exit());
    begun(&project).stop();
    assert!(project.ledger_naming(SAID).is_empty());
}

#[test]
fn a_daemon_that_was_killed_is_named_also_behind_a_start_that_failed() {
    let project = Project::new();
    begun(&project).crash();
    let queue = project.state().join("state/queue.db");
    let away = queue.with_extension("away");
    std::fs::rename(&queue, &away).unwrap();
    std::fs::create_dir(&queue).unwrap();
    assert_ne!(project.run(["daemon"]).code(), 0);
    std::fs::remove_dir(&queue).unwrap();
    std::fs::rename(&away, &queue).unwrap();
    let second = project.daemon();
    wait_until_said(&project);
    second.stop();
    // Nor does a start that fails first of all make one of a project that had none.
    let other = Project::new();
    other.write(".contextrelay/state/queue.db/in_the_way", "");
    assert_ne!(other.run(["daemon"]).code(), 0);
    std::fs::remove_dir_all(other.state().join("state/queue.db")).unwrap();
    begun(&other).stop();
    assert!(other.ledger_naming(SAID).is_empty());
}
