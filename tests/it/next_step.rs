//! What the command line says of the next step, where a person would not know it.

use crate::support::project::Project;
use crate::support::pty::Pty;

#[test]
fn a_project_that_was_made_ready_is_told_how_to_begin_and_what_its_files_say() {
    let project = Project::new();
    let made = project.run(["init", "--yes"]).expect_success();
    assert!(made.stderr.contains("ctxrelay pair"), "{}", made.stderr);
    let would = project.run(["init", "--dry-run"]).expect_success();
    assert!(!would.stderr.contains("next:"), "{}", would.stderr);
    // Our own block is in them, and nothing else.
    let rules = project.run(["instructions"]).expect_success().stdout;
    assert!(rules.contains("says more than our own block"), "{rules}");
    let status = project.run(["status"]).expect_success().stdout;
    for line in ["handoffs, by how they stand", "none is current"] {
        assert!(status.contains(line), "{line}: {status}");
    }
}

#[test]
fn a_daemon_that_is_not_in_the_background_can_end_with_its_terminal() {
    let project = Project::live();
    let found = project.run(["daemon", "--detach"]).expect_success();
    assert!(found.stdout.starts_with("ready: "), "{}", found.stdout);
    assert!(
        found.stderr.contains("goes on in the background"),
        "{}",
        found.stderr
    );
}

#[test]
fn the_manual_page_is_no_text_for_a_terminal() {
    let project = Project::new();
    let mut terminal = Pty::spawn(&project.ctxrelay(["man"]));
    terminal.wait_for_text("ctxrelay man | man -l -");
    assert_eq!(terminal.wait_exit(), 0);
    let page = project.run(["man"]).expect_success().stdout;
    assert!(page.contains(".TH"), "{page}");
}
