//! What leaves for a real Claude's model, and what is called a repeat: many messages, long texts and
//! a dead doorbell, with models that acknowledge, never acknowledge, and fetch needlessly.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::ladder::Scene;
use crate::support::model_request::{ModelRequest, says};
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

/// All copies of messages that a model read, in their order.
fn all_copies(scene: &Scene) -> Vec<Copied> {
    let steps = scene.pair.messages.steps();
    let copies = steps.iter().flat_map(|request| copies(&fresh(request)));
    copies.collect()
}

/// The messages in the order in which the model saw them first. No first copy is called a repeat.
#[track_caller]
fn first_copies(scene: &Scene) -> Vec<String> {
    let mut order: Vec<String> = Vec::new();
    for Copied { id, is_repeat, .. } in all_copies(scene) {
        if !order.contains(&id) {
            assert!(!is_repeat, "the first copy of {id} is called a repeat");
            order.push(id);
        }
    }
    order
}

#[track_caller]
fn wait_confirmed(scene: &Scene, ids: &[String]) {
    wait_until("the proof of all of them", timeout() * 3, || {
        let confirmed = "confirmed".to_owned();
        let all = ids.iter().all(|id| scene.results(id).contains(&confirmed));
        all.then_some(())
    });
}

#[test]
fn thirty_messages_are_shown_in_order_and_no_first_copy_is_called_a_repeat() {
    for habit in HABITS {
        let Some(mut scene) = Scene::new() else {
            return;
        };
        let gate = Gate::new("claude works");
        let fetch = ToolCall::mcp("contextrelay", "get_messages", json!({}));
        let messages = &scene.pair.messages;
        messages
            .when(says("work for long"))
            .once()
            .reply(Reply::held("Working", &gate, "…").then_call(fetch));
        let mut reader = Reader::new(habit);
        messages.otherwise(move |request| reader.answer(request));
        scene.claude.submit("work for long");
        gate.wait_arrived();
        let send = |n| scene.send(&format!("number {n} {}", "x".repeat(1_500)));
        let ids: Vec<String> = (0..MANY).map(send).collect();
        gate.open();
        wait_confirmed(&scene, &ids);
        scene.wait_idle();
        assert_eq!(first_copies(&scene), ids, "{habit:?}");
        // Proven once, and by nothing else.
        for id in &ids {
            let results = scene.results(id);
            let confirmed = results.iter().filter(|result| *result == "confirmed");
            assert_eq!(confirmed.count(), 1, "{habit:?}: {id}: {results:?}");
        }
    }
}

/// The ways by which the messages arrived, without repetition.
fn ways(scene: &Scene) -> BTreeSet<String> {
    let ledger = scene.pair.project.ledger();
    let events = ledger.iter().map(|line| &line["runtimeEvent"]);
    let proofs = events.filter(|event| event["status"] == "confirmed" && event["to"] == "claude");
    proofs
        .map(|event| event["rung"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn thirty_messages_reach_an_idle_claude_whole_and_once_with_nobody_prompting() {
    for habit in HABITS {
        // Nothing is told twice: what one ring and the hooks behind it leave lying lies for ever.
        let Some(mut scene) = Scene::that_tells_once() else {
            return;
        };
        let mut reader = Reader::new(habit);
        let messages = &scene.pair.messages;
        messages.otherwise(move |request| reader.answer(request));
        let mut sent = Vec::new();
        for n in 0..MANY {
            let text = format!("number {n} {}.", "x".repeat(1_500));
            sent.push((scene.send(&text), text));
        }
        let ids: Vec<String> = sent.iter().map(|(id, _)| id.clone()).collect();
        wait_confirmed(&scene, &ids);
        scene.wait_idle();
        // What Claude fetches by itself it acknowledges by itself; the rest its turns settle.
        if habit != Habit::FetchesNeedlessly {
            wait_until("the end of the turns that had them", timeout(), || {
                let settled = ["confirmed".to_owned(), "acknowledged".to_owned()];
                let all = ids.iter().all(|id| scene.results(id) == settled);
                all.then_some(())
            });
            assert_eq!(ways(&scene), BTreeSet::from(["hook".to_owned()]));
        }
        assert_eq!(first_copies(&scene), ids, "{habit:?}");
        let mut whole = BTreeSet::new();
        for copied in all_copies(&scene) {
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
        let requests = scene.pair.messages.steps().len();
        eprintln!("{habit:?}: {MANY} messages in {requests} model requests");
    }
}

#[test]
fn texts_of_thirty_thousand_and_a_hundred_thousand_characters_arrive_whole() {
    for habit in HABITS {
        let Some(mut scene) = Scene::new() else {
            return;
        };
        let mut reader = Reader::new(habit);
        let messages = &scene.pair.messages;
        messages.otherwise(move |request| reader.answer(request));
        for chars in [30_000, 100_000] {
            let mut text = String::new();
            let mut n = 0;
            while text.len() < chars {
                text.push_str(&format!("{n} "));
                n += 1;
            }
            let id = scene.send(&text);
            wait_confirmed(&scene, std::slice::from_ref(&id));
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
            first_copies(&scene);
        }
    }
}

#[test]
fn behind_a_dead_doorbell_what_was_pushed_in_vain_is_no_repeat() {
    for habit in HABITS {
        let Some(mut scene) = Scene::new() else {
            return;
        };
        scene.kill("doorbell");
        scene.wait_status("the dead doorbell", |status| {
            status["notices"].to_string().contains("monitor has ended")
        });
        scene.wait_idle();
        let mut reader = Reader::new(habit);
        let messages = &scene.pair.messages;
        messages.otherwise(move |request| reader.answer(request));
        let send = |n| scene.send(&format!("the word is plum-{n}."));
        let ids: Vec<String> = (0..13).map(send).collect();
        // They were pushed, to a Claude that was not started with channels.
        scene.wait_delivery("the end of pushing", |delivery| delivery["rung"] == "hook");
        scene.claude.submit("what is new");
        wait_confirmed(&scene, &ids);
        // A hook is proof before the request that it is part of leaves.
        scene.pair.messages.wait_for_request("the last", |request| {
            request.mentions("the word is plum-12.")
        });
        scene.wait_idle();
        assert_eq!(first_copies(&scene), ids, "{habit:?}");
    }
}
