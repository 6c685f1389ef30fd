//! The path of one message through all processes, as their log shows it by its id.

use super::launch::Launch;
use super::project::Project;
use super::wait::{timeout, wait_until};

/// A process that logs enough of it.
pub fn logging(launch: Launch) -> Launch {
    launch.env("CONTEXTRELAY_LOG", "debug")
}

fn log(project: &Project) -> String {
    std::fs::read_to_string(project.state().join("state/contextrelay.log")).unwrap()
}

/// What the log says of a message, in the order of its times, which come first on a line.
pub fn way(project: &Project, id: &str) -> Vec<String> {
    let log = log(project);
    let mut way: Vec<String> = log
        .lines()
        .filter(|line| line.contains(&format!("message{{id={id}")))
        .map(str::to_owned)
        .collect();
    way.sort();
    way
}

/// Waits until the steps stand in the log in this order, each of this attempt where there is one.
#[track_caller]
pub fn expect_way(project: &Project, id: &str, before: &[&str], attempted: &[&str]) {
    let found = |way: &[String]| {
        let mut lines = way.iter();
        let mut attempts = before
            .iter()
            .all(|step| lines.any(|line| line.contains(step)))
            .then(Vec::new)?;
        for step in attempted {
            let line = lines.find(|line| line.contains(step))?;
            let (_, attempt) = line.split_once("attempt=")?;
            attempts.push(attempt.split('}').next()?.to_owned());
        }
        attempts.dedup();
        Some(attempts)
    };
    let attempts = wait_until("the message's way", timeout(), || found(&way(project, id)));
    assert_eq!(attempts.len(), 1, "{:#?}", way(project, id));
}

/// What was said, and what would open our doors, is not there.
#[track_caller]
pub fn expect_discreet(project: &Project, text: &str) {
    let log = log(project);
    assert!(!log.contains(text), "{log}");
    for file in ["token", "claude-token", "codex-token", "proxy-token"] {
        assert!(!log.contains(&project.token_in(file)), "{file}");
    }
}
