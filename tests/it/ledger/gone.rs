//! The whole record is removed, as by `git clean -fdx`: the head that is kept outside of the
//! project tells of it, unless the operator ended the record or another folder lies there.

use std::fs;

use serde_json::{Value, json};

use crate::support::operator::Operator;
use crate::support::panes::open_row;
use crate::support::project::{Project, names};
use crate::support::pty::Pty;
use crate::support::wait::{timeout, wait_until};

/// What the alarm says.
const GONE: &str = "lay here and is gone";

/// A project whose daemon ran and ended, and its session.
fn left(project: &Project) -> String {
    let daemon = project.daemon();
    let session = project.read(".contextrelay/current").trim().to_owned();
    daemon.stop().expect_success();
    session
}

fn notices(project: &Project) -> String {
    let status = project.run(["status", "--json"]).expect_success().json();
    status["notices"].to_string()
}

fn verify_all(project: &Project) -> i32 {
    project.run(["ledger", "verify", "--all"]).code()
}

/// The entries of the record with the alarm.
fn alarms(project: &Project) -> Vec<Value> {
    let mut ledger = project.ledger();
    ledger.retain(|line| line["meta"]["alarm"]["kind"] == "record_gone");
    ledger
}

fn uninit(project: &Project) -> String {
    let mut pty = Pty::spawn(&project.ctxrelay(["uninit"]));
    pty.wait_for_text("Type `delete`");
    pty.type_text("delete\r");
    assert_eq!(pty.wait_exit(), 0, "{}", pty.screen());
    pty.screen()
}

#[test]
fn a_record_that_is_removed_with_its_folder_is_an_alarm_until_the_operator_has_seen_it() {
    for is_running in [false, true] {
        let project = Project::new();
        let session = if is_running {
            let mut daemon = project.daemon();
            let session = project.read(".contextrelay/current").trim().to_owned();
            wait_until("the head outside", timeout(), || {
                let verified = project.run(["ledger", "verify", "--json"]).json();
                (verified["outsideHead"] == "match").then_some(())
            });
            // What the daemon writes meanwhile stands in the way of who removes it.
            let removed = || fs::remove_dir_all(project.state()).ok();
            wait_until("its removal", timeout(), removed);
            wait_until("the daemon's end", timeout(), || daemon.child().try_exit());
            session
        } else {
            let session = left(&project);
            fs::remove_dir_all(project.state()).unwrap();
            session
        };
        assert_eq!(verify_all(&project), 6);
        let told = notices(&project);
        assert!(
            told.contains(&session) && told.contains("is gone"),
            "{told}"
        );

        let daemon = project.daemon();
        let told = notices(&project);
        assert!(told.contains(GONE) && told.contains(&session), "{told}");
        let raised = wait_until("the alarm in the record", timeout(), || {
            Some(alarms(&project)).filter(|raised| !raised.is_empty())
        });
        let [alarm] = &raised[..] else {
            panic!("{raised:?}");
        };
        assert_eq!(alarm["meta"]["alarm"]["session"], session);
        assert_eq!(verify_all(&project), 6);
        assert_eq!(project.run(["ledger", "verify"]).code(), 6);
        let mut deck = Pty::spawn_sized(&project.ctxrelay([]), 120, 40).labelled("deck");
        open_row(&mut deck, &["alarm"], "What to do");
        deck.wait_for_text("Put .contextrelay/ back");

        let mut operator = Operator::connect(&project);
        let seen = json!({"alarmId": alarm["id"]});
        operator.call("alarm/acknowledge", seen).unwrap();
        deck.wait_for_text("This card is gone");
        assert_eq!(verify_all(&project), 0);
        drop((operator, deck));
        daemon.stop().expect_success();
        // Once, also behind the first words of the next one.
        project.daemon().stop().expect_success();
        assert_eq!(alarms(&project).len(), 1);
        assert!(!notices(&project).contains(GONE));
    }
}

#[test]
fn a_record_that_the_operator_ended_is_nobodys_alarm_whenever_its_folder_went() {
    for is_removed_before in [false, true] {
        let project = Project::new();
        left(&project);
        if is_removed_before {
            fs::remove_dir_all(project.state()).unwrap();
            // Nobody but the operator ends what is known of it.
            let refused = project.run(["uninit", "--yes"]).expect_success();
            assert!(
                refused.stdout.contains("terminal of your own"),
                "{refused:?}"
            );
        }
        let screen = uninit(&project);
        assert_eq!(
            screen.contains("is gone already"),
            is_removed_before,
            "{screen}"
        );
        assert_eq!(names(&project.registry().join("heads")), [""; 0]);
        assert_eq!(verify_all(&project), 0);
        let begin = ["init", "--instructions", "skip"];
        project.run(begin).expect_success();
        assert_eq!(alarms(&project), [] as [Value; 0]);
        assert_eq!(verify_all(&project), 0);
    }
}

#[test]
fn an_end_that_stops_before_all_is_gone_leaves_the_record_and_can_be_taken_up_again() {
    let project = Project::new();
    left(&project);
    let heads = project.registry().join("heads");
    let head = names(&heads)
        .into_iter()
        .find(|name| name.ends_with(".json"));
    let head = head.unwrap();
    // As a deck keeps it whose terminal was lost.
    let folder = project.registry().join("unsent");
    fs::create_dir_all(&folder).unwrap();
    let unsent = folder.join(head.replace(".json", "-1.txt"));
    fs::write(&unsent, "figs").unwrap();
    // No file can be removed that is none.
    let in_the_way = heads.join(head.replace(".json", ".coming"));
    fs::remove_file(&in_the_way).ok();
    fs::create_dir(&in_the_way).unwrap();
    let mut pty = Pty::spawn(&project.ctxrelay(["uninit"]));
    pty.wait_for_text("what is known of the record");
    pty.wait_for_text("what was not sent");
    pty.wait_for_text("Type `delete`");
    pty.type_text("delete\r");
    assert_ne!(pty.wait_exit(), 0, "{}", pty.screen());
    assert!(project.state().join("current").exists());
    assert!(unsent.exists());

    fs::remove_dir(in_the_way).unwrap();
    uninit(&project);
    assert!(!project.state().exists() && !unsent.exists());
    let left = names(project.root());
    assert!(
        !left.iter().any(|name| name.contains("removed")),
        "{left:?}"
    );
    assert_eq!(verify_all(&project), 0);
    project
        .run(["init", "--instructions", "skip"])
        .expect_success();
    assert_eq!(alarms(&project), [] as [Value; 0]);
}

#[test]
fn what_an_end_that_was_killed_had_set_aside_goes_with_the_next_one() {
    let project = Project::new();
    left(&project);
    let folder = project.root().join(".contextrelay");
    let aside = project.root().join(".contextrelay.removed-4711");
    let own = project.root().join(".contextrelay.removed-mine");
    fs::rename(&folder, &aside).unwrap();
    fs::create_dir(&own).unwrap();
    let dry = project.run(["uninit", "--dry-run"]).expect_success();
    assert!(dry.stdout.contains(".contextrelay.removed-4711"), "{dry:?}");
    uninit(&project);
    assert!(!aside.exists() && own.exists());
}

#[test]
fn another_folder_at_the_same_path_has_a_line_about_the_record_before_and_no_alarm() {
    // A removed folder's inode may be the next one's at once; the time of birth tells them apart.
    for is_moved in [true, false] {
        let project = Project::without_git();
        let session = left(&project);
        match is_moved {
            true => fs::rename(project.root(), project.base().join("moved")).unwrap(),
            false => {
                let has_birth = fs::metadata(project.root()).unwrap().created().is_ok();
                fs::remove_dir_all(project.root()).unwrap();
                if !has_birth {
                    fs::create_dir(project.base().join("takes the inode")).unwrap();
                }
            }
        }
        fs::create_dir(project.root()).unwrap();
        assert!(!notices(&project).contains("is gone"));
        let daemon = project.daemon();
        assert!(!notices(&project).contains(GONE));
        daemon.stop().expect_success();
        assert_eq!(verify_all(&project), 0);
        assert_eq!(alarms(&project), [] as [Value; 0]);
        let told = |line: &Value| {
            let text = line["content"].as_str().unwrap_or_default();
            text.contains("went with that folder") && text.contains(&session)
        };
        assert!(project.ledger().iter().any(told));
    }
}
