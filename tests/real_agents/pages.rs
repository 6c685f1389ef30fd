//! What leaves for a real Claude's model, and what is called a repeat: many messages, long texts and
//! a dead doorbell, with models that acknowledge, never acknowledge, and fetch needlessly.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::ladder::Scene;
use crate::support::model_request::{ModelRequest, hears, says};
use crate::support::script::{Gate, Reply, ToolCall};
use crate::support::wait::{timeout, wait_until};

/// Messages that do not fit into one page.
const MANY: usize = 30;

/// What a model does with what it was given.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Habit {
    Acknowledges,
    NeverAcknowledges,
    /// Asks once more after each message that it has not seen before.
    FetchesNeedlessly,
}

const HABITS: [Habit; 3] = [
    Habit::Acknowledges,
    Habit::NeverAcknowledges,
    Habit::FetchesNeedlessly,
];

/// A model that pages on while there is more, and fetches what it is told of.
struct Reader {
    habit: Habit,
    seen: BTreeSet<String>,
    /// It was told that more waits, and after which cursor.
    next: Option<Value>,
}

impl Reader {
    fn new(habit: Habit) -> Self {
        Self {
            habit,
            seen: BTreeSet::new(),
            next: None,
        }
    }

    fn answer(&mut self, request: &ModelRequest) -> Reply {
        let fresh = fresh(request);
        let page = page(request);
        if page["more"] == true {
            self.next = Some(page["cursor"].clone());
        } else if fresh.contains("get_messages") {
            self.next.get_or_insert(Value::Null);
        }
        let paged = page["messages"].as_array().into_iter().flatten();
        let paged = paged.filter_map(|message| message["message_id"].as_str());
        let mut ids: BTreeSet<String> = paged.map(str::to_owned).collect();
        ids.extend(copies(&fresh).into_iter().map(|copied| copied.id));
        let is_news = !ids.is_subset(&self.seen);
        self.seen.extend(ids.iter().cloned());
        let call = |tool, arguments| Reply::mcp("contextrelay", tool, arguments);
        match self.habit {
            Habit::Acknowledges if !ids.is_empty() => call("ack_messages", json!({"ids": ids})),
            Habit::FetchesNeedlessly if is_news => call("get_messages", json!({})),
            _ => match self.next.take() {
                Some(Value::Null) => call("get_messages", json!({})),
                Some(cursor) => call("get_messages", json!({"after": cursor})),
                None => Reply::text("ok"),
            },
        }
    }
}

/// From now on Claude's model reads by this habit, and has seen nothing yet.
fn read_by(scene: &Scene, habit: Habit) {
    let mut reader = Reader::new(habit);
    let messages = &scene.pair.messages;
    messages.otherwise(move |request| reader.answer(request));
}

/// What is new in a request, in its order.
fn fresh(request: &ModelRequest) -> String {
    let texts = request.fresh.iter().map(|input| input.text.as_str());
    texts.collect::<Vec<_>>().join("\n")
}

/// The page that a request brings; null when it brings none.
fn page(request: &ModelRequest) -> Value {
    serde_json::from_str(&request.tool_text()).unwrap_or_default()
}

/// One copy of a message in what a model read.
struct Copied {
    id: String,
    is_repeat: bool,
    /// What stands behind its head, up to the next one's.
    rest: String,
}

/// The copies of messages in a text, in their order.
fn copies(text: &str) -> Vec<Copied> {
    text.split("[ctxrelay message ")
        .skip(1)
        .filter_map(|copy| {
            let (head, rest) = copy.split_once(']')?;
            Some(Copied {
                id: head.split_whitespace().next()?.to_owned(),
                is_repeat: head.contains("shown before"),
                rest: rest.to_owned(),
            })
        })
        .collect()
}

/// How many requests the model has had: what comes behind them is of the next step.
fn so_far(scene: &Scene) -> usize {
    scene.pair.messages.steps().len()
}

/// All copies of messages that a model read behind so many requests, in their order.
fn copies_since(scene: &Scene, mark: usize) -> Vec<Copied> {
    let steps = scene.pair.messages.steps();
    let steps = steps.iter().skip(mark);
    steps.flat_map(|request| copies(&fresh(request))).collect()
}

/// The messages in the order in which the model saw them first, behind so many requests. No first
/// copy is called a repeat.
#[track_caller]
fn first_copies(scene: &Scene, mark: usize) -> Vec<String> {
    let mut order: Vec<String> = Vec::new();
    for Copied { id, is_repeat, .. } in copies_since(scene, mark) {
        if !order.contains(&id) {
            assert!(!is_repeat, "the first copy of {id} is called a repeat");
            order.push(id);
        }
    }
    order
}

#[track_caller]
fn wait_confirmed(scene: &Scene, habit: Habit, ids: &[String]) {
    let what = format!("{habit:?}: the proof of all of them");
    wait_until(&what, timeout() * 3, || {
        let confirmed = "confirmed".to_owned();
        let all = ids.iter().all(|id| scene.results(id).contains(&confirmed));
        all.then_some(())
    });
}

/// Claude acknowledges all that it was given, whatever its habit: nothing of it comes again beside
/// what is sent next. Its model has no habit then.
#[track_caller]
fn put_away(scene: &mut Scene, what: &str, ids: &[String]) {
    let prompt = format!("put away the {what}");
    let messages = &scene.pair.messages;
    messages.otherwise(|_| Reply::text("ok"));
    let call = Reply::mcp("contextrelay", "ack_messages", json!({"ids": ids}));
    messages.when(hears(&prompt)).once().reply(call);
    scene.claude.submit(&prompt);
    // What a turn has settled already says nothing about this one.
    let messages = &scene.pair.messages;
    messages.wait_for_request(&prompt, hears(&prompt));
    wait_until(&format!("the {what} to be put away"), timeout(), || {
        let acknowledged = "acknowledged".to_owned();
        let mut ids = ids.iter();
        let all = ids.all(|id| scene.results(id).contains(&acknowledged));
        all.then_some(())
    });
    scene.wait_idle();
}

/// One Claude with this habit: many messages, long texts, and at the end a dead doorbell.
fn everything_reaches_a_claude_that(habit: Habit) {
    let Some(mut scene) = Scene::new() else {
        return;
    };
    let numbers =
        thirty_messages_are_shown_in_order_and_no_first_copy_is_called_a_repeat(&mut scene, habit);
    put_away(&mut scene, "numbers", &numbers);
    let texts =
        texts_of_thirty_thousand_and_a_hundred_thousand_characters_arrive_whole(&mut scene, habit);
    put_away(&mut scene, "texts", &texts);
    behind_a_dead_doorbell_what_was_pushed_in_vain_is_no_repeat(&mut scene, habit);
}

#[test]
fn many_messages_long_texts_and_a_dead_doorbell_with_a_claude_that_acknowledges() {
    everything_reaches_a_claude_that(Habit::Acknowledges);
}

#[test]
fn many_messages_long_texts_and_a_dead_doorbell_with_a_claude_that_never_acknowledges() {
    everything_reaches_a_claude_that(Habit::NeverAcknowledges);
}

#[test]
fn many_messages_long_texts_and_a_dead_doorbell_with_a_claude_that_fetches_needlessly() {
    everything_reaches_a_claude_that(Habit::FetchesNeedlessly);
}

fn thirty_messages_are_shown_in_order_and_no_first_copy_is_called_a_repeat(
    scene: &mut Scene,
    habit: Habit,
) -> Vec<String> {
    let mark = so_far(scene);
    let gate = Gate::new("claude works");
    let fetch = ToolCall::mcp("contextrelay", "get_messages", json!({}));
    let messages = &scene.pair.messages;
    messages
        .when(says("work for long"))
        .once()
        .reply(Reply::held("Working", &gate, "…").then_call(fetch));
    read_by(scene, habit);
    scene.claude.submit("work for long");
    gate.wait_arrived();
    let send = |n| scene.send(&format!("number {n} {}", "x".repeat(1_500)));
    let ids: Vec<String> = (0..MANY).map(send).collect();
    gate.open();
    wait_confirmed(scene, habit, &ids);
    scene.wait_idle();
    assert_eq!(first_copies(scene, mark), ids, "{habit:?}");
    // Proven once, and by nothing else.
    for id in &ids {
        let results = scene.results(id);
        let confirmed = results.iter().filter(|result| *result == "confirmed");
        assert_eq!(confirmed.count(), 1, "{habit:?}: {id}: {results:?}");
    }
    ids
}

fn texts_of_thirty_thousand_and_a_hundred_thousand_characters_arrive_whole(
    scene: &mut Scene,
    habit: Habit,
) -> Vec<String> {
    let mark = so_far(scene);
    read_by(scene, habit);
    let mut ids = Vec::new();
    for chars in [30_000, 100_000] {
        let mut text = String::new();
        let mut n = 0;
        while text.len() < chars {
            text.push_str(&format!("{n} "));
            n += 1;
        }
        let id = scene.send(&text);
        wait_confirmed(scene, habit, std::slice::from_ref(&id));
        scene.wait_idle();
        let steps = scene.pair.messages.steps();
        let mut read = String::new();
        for part in steps.iter().flat_map(|request| {
            let page = page(request);
            page["messages"].as_array().cloned().unwrap_or_default()
        }) {
            if part["message_id"] != id.as_str() || part["repeat"] == true {
                continue;
            }
            // A needless fetch begins again.
            if part["part"]["from"] == 0 {
                read.clear();
            }
            read.push_str(part["text"].as_str().unwrap());
        }
        assert!(
            read.contains(text.trim_end()),
            "{habit:?}: of {chars}: {}",
            read.len()
        );
        first_copies(scene, mark);
        ids.push(id);
    }
    ids
}

/// The doorbell stays dead: nothing else can follow.
fn behind_a_dead_doorbell_what_was_pushed_in_vain_is_no_repeat(scene: &mut Scene, habit: Habit) {
    scene.kill("doorbell");
    scene.wait_status("the dead doorbell", |status| {
        status["notices"].to_string().contains("monitor has ended")
    });
    scene.wait_idle();
    let mark = so_far(scene);
    read_by(scene, habit);
    let send = |n| scene.send(&format!("the word is plum-{n}."));
    let ids: Vec<String> = (0..13).map(send).collect();
    // They were pushed, to a Claude that was not started with channels.
    scene.wait_delivery("the end of pushing", |delivery| delivery["rung"] == "hook");
    scene.claude.submit("what is new");
    let messages = &scene.pair.messages;
    messages.wait_for_request("the prompt", hears("what is new"));
    scene.wait_idle();
    // The last ones may still have been on their way to a channel when it came: they go with the next.
    let confirmed = "confirmed".to_owned();
    if !ids.iter().all(|id| scene.results(id).contains(&confirmed)) {
        scene.wait_delivery("what had no effect", |delivery| {
            let why = delivery["why"].as_str().unwrap_or_default();
            why.contains("waits until Claude asks")
        });
        scene.claude.submit("what else is new");
    }
    wait_confirmed(scene, habit, &ids);
    // A hook is proof before the request that it is part of leaves.
    scene.pair.messages.wait_for_request("the last", |request| {
        request.mentions("the word is plum-12.")
    });
    scene.wait_idle();
    assert_eq!(first_copies(scene, mark), ids, "{habit:?}");
}

/// The ways by which these messages arrived, without repetition.
fn ways(scene: &Scene, ids: &[String]) -> BTreeSet<String> {
    let ledger = scene.pair.project.ledger();
    let events = ledger.iter().map(|line| &line["runtimeEvent"]);
    let proofs = events.filter(|event| event["status"] == "confirmed" && event["to"] == "claude");
    let of_these = proofs.filter(|event| ids.iter().any(|id| event["messageId"] == id.as_str()));
    of_these
        .map(|event| event["rung"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn thirty_messages_reach_an_idle_claude_whole_and_once_with_nobody_prompting() {
    // Nothing is told twice: what one ring and the hooks behind it leave lying lies for ever.
    let Some(mut scene) = Scene::that_tells_once() else {
        return;
    };
    // The last one leaves what it fetched unacknowledged, and nothing follows it.
    for habit in HABITS {
        scene.wait_idle();
        let mark = so_far(&scene);
        read_by(&scene, habit);
        let mut sent = Vec::new();
        for n in 0..MANY {
            let text = format!("{habit:?}: number {n} {}.", "x".repeat(1_500));
            sent.push((scene.send(&text), text));
        }
        let ids: Vec<String> = sent.iter().map(|(id, _)| id.clone()).collect();
        wait_confirmed(&scene, habit, &ids);
        scene.wait_idle();
        // What Claude fetches by itself it acknowledges by itself; the rest its turns settle.
        if habit != Habit::FetchesNeedlessly {
            let what = format!("{habit:?}: the end of the turns that had them");
            wait_until(&what, timeout(), || {
                let settled = ["confirmed".to_owned(), "acknowledged".to_owned()];
                let all = ids.iter().all(|id| scene.results(id) == settled);
                all.then_some(())
            });
            assert_eq!(ways(&scene, &ids), BTreeSet::from(["hook".to_owned()]));
        }
        assert_eq!(first_copies(&scene, mark), ids, "{habit:?}");
        let mut whole = BTreeSet::new();
        for copied in copies_since(&scene, mark) {
            let (_, text) = sent.iter().find(|(id, _)| *id == copied.id).unwrap();
            let is_first = whole.insert(copied.id.clone());
            assert_eq!(copied.is_repeat, !is_first, "{habit:?}: {}", copied.id);
            let tail = &copied.id[copied.id.len() - 8..];
            assert!(copied.rest.contains(text.as_str()), "{}", copied.rest);
            assert!(copied.rest.contains(&format!("[end of {tail}]")));
        }
        assert_eq!(whole.len(), MANY, "{habit:?}");
        scene.wait_status("nothing in the queue", |status| {
            let queue = &status["queue"]["claude"];
            ["pending", "inFlight", "ambiguous"]
                .iter()
                .all(|state| queue[state] == 0)
        });
        let requests = so_far(&scene) - mark;
        eprintln!("{habit:?}: {MANY} messages in {requests} model requests");
    }
}
