//! How long the daemon's loop is busy with one event while nothing waits for Claude, and while as
//! much waits as a lane can hold: each event wakes the loop, which then looks at what is due next.
//!
//! From the daemon's own `/metrics`, as [`crate::busy`].

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ctxrelay::core::agent::Agent as Who;
use ctxrelay::store::dirs::ProjectDirs;
use serde_json::json;

use crate::agent::Agent;
use crate::busy::Busy;
use crate::figure::{Table, ms};
use crate::process::settle_within;
use crate::record::{Record, RecordEnd};
use crate::support::project::Project;

/// Nearly as many as one receiver may have.
const WAITING: usize = 9_900;

/// How many messages are sent, fetched and acknowledged while it is measured, with a note each.
const ROUNDS: usize = 100;

/// For so long a bridge waits for its doorbell, and some more.
const DOORBELL_WAIT: Duration = Duration::from_secs(3);

/// How long it may take until the last of them is told of for the last time.
const TOLD_WAIT: Duration = Duration::from_secs(180);

/// How much more one event may cost, in ms. What it walks is a handful of rows either way.
const MORE_MS: f64 = 0.1;

/// Measures it.
pub fn measure(table: &mut Table) {
    let [none, many] = [0, WAITING].map(busy_with);
    table.baseline("the loop, busy with one event, 0 unread", &ms(none));
    table.row(
        &format!("the same, {WAITING} unread"),
        &ms(many),
        &format!("{:.1} x", many / none),
        &format!("<= {MORE_MS} ms more"),
        many <= none + MORE_MS,
    );
}

/// The mean, in ms.
fn busy_with(unread: usize) -> f64 {
    let project = Project::new();
    let record = Record::of(16);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let mut end = RecordEnd::of(&record, since.as_millis() as i64);
    end.settle(&record);
    for number in 0..unread {
        end.message(Who::Codex, &format!("unread {number}"));
    }
    record.lay_with(&ProjectDirs::new(project.root().to_owned(), None), end);
    let daemon = project.daemon();
    let mut claude = Agent::start(&project.ctxrelay(["bridge"]));
    let mut codex = Agent::start(&project.ctxrelay(["codex-mcp", "server"]));
    // A Claude without a doorbell is told of them some at a time, and once more when it stays idle.
    std::thread::sleep(DOORBELL_WAIT);
    settle_within(daemon.pid(), TOLD_WAIT);
    let before = Busy::read(&project);
    for number in 0..ROUNDS {
        let text = format!("number {number}");
        codex.tool("send_to_claude", json!({"text": text}));
        let page = claude.tool("get_messages", json!({"limit": 1}));
        let id = &page["messages"][0]["message_id"];
        claude.tool("ack_messages", json!({"ids": [id]}));
        codex.tool("append_note", json!({"text": text}));
    }
    Busy::read(&project).mean(&before)
}
