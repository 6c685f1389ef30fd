//! An older `queue.db` that somebody puts in the place of the one that is there, in which a message
//! that has left looks never attempted.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use crate::support::account::{connect, mail};
use crate::support::operator::Operator;
use crate::support::project::Project;
use crate::support::wait::{timeout, wait_until};

const FILES: [&str; 3] = ["queue.db", "queue.db-wal", "queue.db-shm"];

fn is_noticed(project: &Project) -> bool {
    let ledger = project.ledger();
    ledger
        .iter()
        .any(|line| line["error"]["code"] == "queue_put_back")
}

#[test]
fn an_older_queue_is_noticed_and_nothing_in_it_is_sent_again_as_new() {
    for is_put_back in [true, false] {
        let project = Project::without_git();
        let daemon = project.daemon();
        let mut operator = Operator::connect(&project);
        let message = json!({"to": "claude", "text": "push once"});
        operator.call("message/send", message).unwrap();
        drop(operator);
        daemon.stop().expect_success();
        let state = project.state().join("state");
        let files = FILES.map(|name| state.join(name));
        let copies: Vec<(PathBuf, Option<Vec<u8>>)> = files
            .iter()
            .map(|file| (file.clone(), fs::read(file).ok()))
            .collect();

        let mut daemon = project.daemon();
        let page = mail(&project);
        assert_eq!(page["messages"][0]["repeat"], false, "{page}");
        daemon.crash();
        if is_put_back {
            for (file, bytes) in copies {
                match bytes {
                    Some(bytes) => fs::write(file, bytes).unwrap(),
                    None => drop(fs::remove_file(file)),
                }
            }
        }
        let _daemon = project.daemon();
        // Before the test stands for an agent.
        let mut operator = Operator::connect(&project);
        let status = project.run(["status", "--json"]).expect_success().json();
        let page = mail(&project);
        let messages = page["messages"].as_array().unwrap();
        assert!(
            messages.iter().all(|message| message["repeat"] == true),
            "{page}"
        );
        // Behind it all that the start tells is in the file.
        let mut socket = connect(&project).unwrap();
        socket.expect("note/append", json!({"agent": "codex", "text": "begun"}));
        assert_eq!(is_noticed(&project), is_put_back, "{status}");
        let notices = status["notices"].to_string();
        assert_eq!(notices.contains("older copy"), is_put_back, "{notices}");
        let ambiguous = status["queue"]["claude"]["ambiguous"].as_u64().unwrap();
        assert_eq!(ambiguous, u64::from(is_put_back), "{status}");
        // Once each ambiguous message is settled there is nothing left to be said of it.
        if is_put_back {
            let id = &messages[0]["messageId"];
            let remove = json!({"id": id, "change": "remove"});
            // It is just being given.
            wait_until("a message that can be removed", timeout(), || {
                operator.call("queue/change", remove.clone()).ok()
            });
            wait_until("the end of the notice", timeout(), || {
                let status = project.run(["status", "--json"]).expect_success().json();
                (!status["notices"].to_string().contains("older copy")).then_some(())
            });
        }
    }
}
