//! What an approval costs the real Codex, whose model is a scripted one on loopback: from the model's
//! call to the deck, and from the operator's answer to the model's next request. Codex's own part
//! of both is inside; a command that needs no approval, run in its sandbox, shows how much that is.

use std::sync::mpsc;
use std::time::Instant;

use serde_json::json;

use crate::approvals::{DECIDED_MS, SHOWN_MS, open};
use crate::figure::{Series, Table};
use crate::support::codex_home;
use crate::support::model_request::{ModelRequest, Speaker};
use crate::support::operator::Operator;
use crate::support::pair::Pair;
use crate::support::script::{Reply, ToolCall};
use crate::support::wait::timeout;

/// Commands of each sort.
const RUNS: usize = 20;

/// What the person types.
const PROMPT: &str = "make the files";

/// Measures it.
pub fn measure(table: &mut Table) {
    let Some(pair) = Pair::new() else {
        return;
    };
    let _daemon = pair.daemon();
    let mut deck = Operator::greet_as(&pair.project, "deck").unwrap();
    let (came, requests) = mpsc::channel();
    // The free commands first, then those that ask, then the end.
    let mut calls = (0..2 * RUNS).map(|n| match n < RUNS {
        true => ToolCall::shell("true"),
        false => ToolCall::escalated(&format!("touch made-{n}"), "a file is needed"),
    });
    pair.responses.otherwise(move |request| {
        if !is_step(request) {
            return Reply::text("ok");
        }
        let _ = came.send(Instant::now());
        calls
            .next()
            .map_or_else(|| Reply::text("made"), Reply::call)
    });
    let mut codex = pair.codex();
    codex.wait_for_text(codex_home::COMPOSER);
    codex.submit(PROMPT);
    let next = || requests.recv_timeout(timeout()).expect("Codex's request");

    let (mut free, mut shown, mut decided) = <(Series, Series, Series)>::default();
    let mut called = next();
    for _ in 0..RUNS {
        let ran = next();
        free.push(ran - called);
        called = ran;
    }
    for _ in 0..RUNS {
        let id = std::iter::repeat_with(|| open(&mut deck).pop())
            .take_while(|_| called.elapsed() < timeout())
            .flatten()
            .next()
            .expect("what Codex asks");
        shown.push(called.elapsed());
        let answer = json!({"id": id, "choice": "accept"});
        let given = Instant::now();
        deck.call("approval/answer", answer).unwrap();
        called = next();
        decided.push(called - given);
    }
    codex.wait_for_text("made");

    table.baseline(
        "Codex alone, a command in its sandbox: call to next model request",
        &free.words(),
    );
    let over = |series: &Series| series.p50() - free.p50();
    table.row(
        "approval, the call of Codex's model until the deck can show it",
        &shown.words(),
        "Codex's reading of the call and the durable append inside",
        "<= 50 ms",
        shown.p50() <= SHOWN_MS,
    );
    table.row(
        "decision, the operator's answer until the command ran and the model hears of it",
        &decided.words(),
        &format!(
            "{:.2} ms over Codex alone, the append inside",
            over(&decided)
        ),
        "<= 20 ms over Codex alone",
        over(&decided) <= DECIDED_MS,
    );
}

/// Whether a request belongs to the turn of the commands: its prompt, or what a command came to.
fn is_step(request: &ModelRequest) -> bool {
    let mut fresh = request.fresh.iter();
    request.side.is_none()
        && fresh.any(|input| input.from == Speaker::Tool || input.text.contains(PROMPT))
}
