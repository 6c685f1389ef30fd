//! A message of the operator whose line somebody edits in place while it waits: it is given to
//! nobody, whether the daemon runs, was stopped or was killed.

use serde_json::json;

use crate::support::account::mail;
use crate::support::altered::{MADE, alter, is_refused, waiting};
use crate::support::operator::Operator;
use crate::support::project::Project;

#[test]
fn an_edited_message_of_the_operator_is_given_to_nobody_while_the_daemon_runs() {
    let project = Project::without_git();
    let _daemon = project.daemon();
    // Before the test stands for an agent.
    let mut operator = Operator::connect(&project);
    let path = waiting(&project, &mut operator);
    alter(&path);
    let page = mail(&project);
    assert!(!page.to_string().contains(MADE), "{page}");
    is_refused(&project);
    let refused = operator
        .when_quiet("ledger/compact", json!({}))
        .unwrap_err();
    assert_eq!(refused.data["code"], "record_altered");
    operator.when_quiet("ledger/clear", json!({})).unwrap();
    // The alarm goes along until the operator has seen it.
    assert_eq!(project.run(["ledger", "verify"]).code(), 6);
    let ledger = project.ledger();
    let mut alarms = ledger
        .iter()
        .filter(|line| line["meta"]["alarm"].is_object());
    let acknowledge = json!({"alarmId": alarms.next().unwrap()["id"]});
    operator.call("alarm/acknowledge", acknowledge).unwrap();
    project.run(["ledger", "verify"]).expect_success();
}

#[test]
fn an_edited_message_of_the_operator_is_given_to_nobody_after_a_start_either() {
    for is_killed in [true, false] {
        let project = Project::without_git();
        let mut daemon = project.daemon();
        let path = waiting(&project, &mut Operator::connect(&project));
        if is_killed {
            daemon.crash();
        } else {
            daemon.stop().expect_success();
        }
        alter(&path);
        let _daemon = project.daemon();
        let page = mail(&project);
        assert!(!page.to_string().contains(MADE), "{is_killed}: {page}");
        assert_eq!(project.run(["ledger", "verify"]).code(), 6);
        // Also where its reader has gone.
        for args in [&["ledger", "verify"][..], &["ledger", "verify", "--all"]] {
            let (reader, writer) = std::io::pipe().unwrap();
            drop(reader);
            let mut verify = project.ctxrelay(args.iter().copied()).command();
            let ended = verify.stdout(writer).status().unwrap();
            assert_eq!(ended.code(), Some(6), "{args:?}");
        }
    }
}
