//! A daemon that was killed cannot say that it ends: the next one does.

use crate::support::project::Project;
use crate::support::wait::{timeout, wait_until};

#[test]
fn a_daemon_that_was_killed_is_named_by_the_next_one_and_by_no_other() {
    const SAID: &str = "the one before this one ended without a word";
    let project = Project::new();
    let mut first = project.daemon();
    assert!(project.ledger_naming(SAID).is_empty());
    first.crash();
    let second = project.daemon();
    wait_until("the word of the next one", timeout(), || {
        (project.ledger_naming(SAID).len() == 1).then_some(())
    });
    second.stop();
    let third = project.daemon();
    assert_eq!(project.ledger_naming(SAID).len(), 1);
    third.stop();
}
