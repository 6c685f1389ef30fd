//! What a daemon publishes on the disk, as a script reads it.

use serde_json::Value;

use super::child::run;
use super::project::Project;

pub const SHOWN: [&str; 5] = [
    "state/ports.json",
    "state/daemon.pid",
    "state/status.json",
    "state/sessions.json",
    "sessions.json",
];

/// What a script prints that stands in the project.
pub fn script(project: &Project, text: &str) -> (i32, String) {
    let done = run(&project.program("sh").args(["-c", text]));
    (done.code(), done.stdout.trim().to_owned())
}

/// Whether the process that the file names is there.
pub fn runs(project: &Project) -> bool {
    let asks = "kill -0 \"$(cat .contextrelay/state/daemon.pid)\" 2>/dev/null";
    script(project, asks).0 == 0
}

pub fn field(project: &Project, name: &str) -> String {
    let text = format!(
        "sed -n 's/.*\"{name}\":\\(\"[^\"]*\"\\|[^,}}]*\\).*/\\1/p' .contextrelay/state/status.json"
    );
    script(project, &text).1.trim_matches('"').to_owned()
}

pub fn participants(project: &Project) -> Vec<String> {
    let text = project.read(".contextrelay/sessions.json");
    let sessions: Value = serde_json::from_str(&text).unwrap();
    let active = sessions["activeSessionId"].as_str().unwrap();
    let there = sessions["sessions"][active]["participants"].as_array();
    let there = there.unwrap().iter();
    there
        .map(|one| one["agentId"].as_str().unwrap().to_owned())
        .collect()
}

pub fn present(project: &Project) -> Vec<&'static str> {
    let is_there = |name: &&str| project.state().join(name).symlink_metadata().is_ok();
    SHOWN.into_iter().filter(is_there).collect()
}
