//! What wakes a real Claude that is idle, whose model is a scripted one on loopback: from Codex's
//! tool call to the request at Claude's model, and what a wake costs there.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::agent::Agent;
use crate::figure::{Series, Table};
use crate::support::child::run;
use crate::support::claude_home;
use crate::support::model_request::ModelRequest;
use crate::support::pair::Pair;
use crate::support::script::Reply;
use crate::support::wait::{timeout, wait_until};

/// How many messages are sent, and how long after one the next. Claude shows one line of a monitor
/// in two seconds for long (2.1.330, observed): at the quicker beat some have to wait.
const BEATS: [(u32, Duration); 2] = [(10, Duration::from_secs(3)), (30, Duration::from_secs(1))];

/// From the call to the model's request, in ms.
const P50_MS: f64 = 300.0;
const P99_MS: f64 = 600.0;

/// What a wake may hold beside the message's text, in characters.
const CHARS_MAX: usize = 850;

/// The requests at Claude's model, each with its time.
type Requests = Arc<Mutex<Vec<(Instant, ModelRequest)>>>;

/// Measures it.
pub fn measure(table: &mut Table) {
    let Some(pair) = Pair::new() else {
        return;
    };
    let requests = Requests::default();
    let seen = Arc::clone(&requests);
    pair.messages.otherwise(move |request| {
        let now = Instant::now();
        seen.lock().unwrap().push((now, request.clone()));
        Reply::text("ok")
    });
    run(&pair.ctxrelay(["init", "--instructions", "skip", "--yes"])).expect_success();
    let _daemon = pair.daemon();
    let mut claude = pair.claude();
    claude.wait_for_text(claude_home::COMPOSER);
    let mut codex = Agent::start(&pair.ctxrelay(["codex-mcp", "server"]));
    wait_until("bridge and doorbell", timeout(), || {
        let status = run(&pair.ctxrelay(["status", "--json"])).json();
        (status["agents"]["claude"]["delivery"]["rung"] == "doorbell").then_some(())
    });
    // The first request of a conversation holds much besides what wakes it.
    claude.submit("good morning");
    wait_until("the first prompt", timeout(), || {
        find(&requests, "good morning")
    });

    for (messages, beat) in BEATS {
        row(table, &mut codex, &requests, (messages, beat));
    }
}

fn row(
    table: &mut Table,
    codex: &mut Agent,
    requests: &Requests,
    (messages, beat): (u32, Duration),
) {
    let before = requests.lock().unwrap().len();
    let mut sent = Vec::new();
    let began = Instant::now();
    for number in 1..=messages {
        let text = format!("number {number} of {messages}: two races in refresh.rs");
        let at = Instant::now();
        codex.tool("send_to_claude", json!({"text": text}));
        sent.push((at, text));
        std::thread::sleep((beat * number).saturating_sub(began.elapsed()));
    }
    let (mut way, mut alone) = <(Series, Vec<usize>)>::default();
    for (at, text) in &sent {
        let (came, request) =
            wait_until("it at Claude's model", timeout(), || find(requests, text));
        way.push(came - *at);
        let heard = sent.iter().filter(|(_, text)| hears(&request, text));
        if heard.count() == 1 {
            let all = request.fresh.iter().map(|input| input.text.chars().count());
            alone.push(all.sum::<usize>() - text.chars().count());
        }
    }
    let steps = requests.lock().unwrap().len() - before;
    table.row(
        "an idle Claude, call to model request",
        &way.words(),
        &format!("{messages} messages, one in {} s", beat.as_secs()),
        "<= 300 ms, p99 <= 600 ms",
        way.p50() <= P50_MS && way.p99() <= P99_MS,
    );
    let most = alone.iter().max().copied().unwrap_or_default();
    table.row(
        "the same, model requests",
        &format!("{steps} for {messages} messages"),
        &format!("{} of them for one message", alone.len()),
        "<= 1 a message",
        steps <= sent.len(),
    );
    table.row(
        "the same, characters beside the text",
        &format!("{most} for one message"),
        "695 of them are Claude's own",
        "<= 850",
        most <= CHARS_MAX,
    );
}

/// The first request that is new with this text.
fn find(requests: &Requests, text: &str) -> Option<(Instant, ModelRequest)> {
    let requests = requests.lock().unwrap();
    let found = requests.iter().find(|(_, request)| hears(request, text));
    found.cloned()
}

fn hears(request: &ModelRequest, text: &str) -> bool {
    request.fresh.iter().any(|input| input.text.contains(text))
}
