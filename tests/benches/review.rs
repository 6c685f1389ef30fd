//! What reviews say: cleaning comments up, and importing a thousand of them, all but `gh` itself.

use std::hint::black_box;
use std::time::Instant;

use ctxrelay::core::entry::FindingSeverity;
use ctxrelay::core::review::{CleanBody, ReviewPart};
use serde_json::{Value, json};

use crate::figure::{Series, Table, ms};
use crate::support::fake_gh::comment;
use crate::support::project::Project;
use crate::support::pty::Pty;

/// Findings of one import.
const FINDINGS: u64 = 1_000;

/// How often they are imported into a new record.
const ROUNDS: usize = 5;

/// How much is cleaned up, in bytes.
const CLEANED: usize = 64 * 1024 * 1024;

/// A comment as bots write them: a badge, words, code, a suggestion, a prompt and buttons.
const BODY: &str = "<a href=\"#\"><img alt=\"P1\" src=\"https://example.invalid/p1.svg\" \
align=\"top\"></a> **Two refreshes run at the same time**\n\nBoth callers see an expired token in \
`refresh()` and both ask for a new one; the second answer invalidates the first, so that the first \
caller is logged out. Hold a lock, or [share one request](https://example.invalid/a?b=c) between \
them.\n\n```rust\nlet fetch = || self.client.refresh(&self.secret);\nlet token = fetch().await?;\n\
```\n\n```suggestion\nlet token = self.flight.run(fetch).await?;\n```\n\n<details><summary>Prompt \
To Fix With AI</summary>\n\n`````markdown\nThis is a comment left during a code review. Fix it.\n\
`````\n</details>\n\n[Fix in Cursor](https://example.invalid/fix?prompt=Fix%20it%20now) • [Fix in \
Web](https://example.invalid/web)\n\n<!-- id: 0123456789abcdef -->\n";

/// Measures all of it.
pub fn measure(table: &mut Table) {
    clean_up(table);
    import(table);
}

fn clean_up(table: &mut Table) {
    let rounds = CLEANED / BODY.len();
    let start = Instant::now();
    for _ in 0..rounds {
        let clean = CleanBody::of(black_box(BODY));
        black_box(FindingSeverity::of(BODY, &clean, ReviewPart::Finding));
    }
    let seconds = start.elapsed().as_secs_f64();
    let rate = (rounds * BODY.len()) as f64 / seconds / 1e6;
    table.row(
        "review: a bot's comments cleaned and rated",
        &format!("{rate:.0} MB/s"),
        "",
        ">= 20 MB/s",
        rate >= 20.0,
    );
}

fn import(table: &mut Table) {
    let comments: Vec<Value> = (1..=FINDINGS).map(|id| comment(id, BODY)).collect();
    let page = json!(comments).to_string();
    let (mut first, mut again) = <(Series, Series)>::default();
    for _ in 0..ROUNDS {
        let project = Project::new();
        let daemon = project.daemon();
        let file = project.base().join("page.json");
        std::fs::write(&file, &page).unwrap();
        for (series, says) in [(&mut first, "1000 new"), (&mut again, "1000 as before")] {
            let args = ["review", "import", "--from", "file", file.to_str().unwrap()];
            let launch = project.ctxrelay(args);
            let screen = series.time(|| {
                let mut pty = Pty::spawn(&launch);
                pty.wait_exit();
                pty.screen()
            });
            assert!(screen.contains(says), "{screen}");
        }
        daemon.stop();
    }
    table.row(
        "review: 1,000 findings imported, without gh",
        &first.words(),
        &format!("again {}", ms(again.p50())),
        "<= 1 s",
        first.p50() <= 1_000.0,
    );
}
