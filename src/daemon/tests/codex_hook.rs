//! The packet of a compaction by our hook in Codex: once, whoever is quicker and whoever dies.

use super::rig::{Guest, Rig};
use crate::adapters::codex::fact::{CodexFact, ReportedStatus};
use crate::adapters::codex::request::CodexRequest;
use crate::core::agent::Agent;
use crate::core::entry::TurnFiles;
use crate::core::id::{RuntimeSession, ThreadId, TurnId};
use crate::store::testing::Place;
use crate::wire::control::{Command, HookEvent, HookParams, Refusal, Reply, Role};
use crate::wire::status::HookReview;

/// A daemon whose hook Codex has reviewed, and a process of that hook.
async fn reviewed(place: &Place) -> (Rig, Guest) {
    let mut rig = Rig::with_codex(place).await;
    rig.codex_says_its_goal().await;
    let review = Some(HookReview::Trusted);
    rig.fact(CodexFact::HookReviewed { review });
    let hook = rig.connect(Role::Hook, None, false);
    (rig, hook)
}

fn compacted(rig: &mut Rig) {
    rig.fact(CodexFact::Compacted {
        turn_id: TurnId::new("U"),
        in_turn: true,
    });
}

/// The hook runs in the conversation of this thread.
fn ask_in(thread: &str) -> Command {
    Command::Hook(HookParams {
        event: HookEvent::CodexCompacted,
        transcript: Some(format!("/s/rollout-2026-11-22T01-02-03-{thread}.jsonl")),
        ..HookParams::default()
    })
}

/// What the hook gets to print.
fn text_of(reply: Result<Reply, Refusal>) -> Option<String> {
    let Ok(Reply::Hook(reply)) = reply else {
        panic!("the hook is answered");
    };
    reply.additional_context
}

/// What the hook gets to print, run in the conversation of this thread.
async fn asks(rig: &mut Rig, hook: &Guest, thread: &str) -> Option<String> {
    text_of(rig.call(hook, ask_in(thread)).await)
}

/// Of each packet that the adapter was told of, whether our hook gives it.
async fn told(rig: &mut Rig) -> Vec<bool> {
    rig.settle().await;
    let mut told = Vec::new();
    while let Ok(request) = rig.requests.try_recv() {
        if let CodexRequest::Inject { by_hook, .. } = request {
            told.push(by_hook);
        }
    }
    told
}

#[tokio::test]
async fn the_hook_of_our_thread_gets_the_packet_of_a_compaction_once() {
    let place = Place::new();
    let (mut rig, hook) = reviewed(&place).await;
    assert_eq!(
        asks(&mut rig, &hook, "thread-1").await,
        None,
        "nothing was compacted"
    );
    compacted(&mut rig);
    assert_eq!(told(&mut rig).await, [false; 0], "the hook gives it");
    assert_eq!(asks(&mut rig, &hook, "H").await, None, "a helper");
    let text = asks(&mut rig, &hook, "thread-1").await.unwrap();
    assert!(text.contains("Sort the pears"), "{text}");
    assert_eq!(told(&mut rig).await, [true]);
    rig.fact(CodexFact::HookGaveNothing);
    assert_eq!(
        told(&mut rig).await,
        [false; 0],
        "the adapter puts in what it knows of"
    );
    assert_eq!(
        asks(&mut rig, &hook, "thread-1").await,
        None,
        "it was given"
    );
}

/// The end of a compaction is told only behind an answer that the adapter waits for.
#[tokio::test]
async fn a_hook_that_is_quicker_than_the_word_of_the_compaction_waits_for_it() {
    let place = Place::new();
    let (mut rig, hook) = reviewed(&place).await;
    rig.fact(CodexFact::CompactionBegan);
    let asked = rig.ask(&hook, ask_in("thread-1"));
    rig.settle().await;
    compacted(&mut rig);
    rig.settle().await;
    let text = text_of(asked.await.unwrap()).unwrap();
    assert!(text.contains("Sort the pears"), "{text}");
    assert_eq!(told(&mut rig).await, [true]);

    rig.fact(CodexFact::CompactionBegan);
    let asked = rig.ask(&hook, ask_in("thread-1"));
    rig.settle().await;
    rig.fact(CodexFact::NotCompacted);
    assert_eq!(text_of(asked.await.unwrap()), None);

    // Nobody has reviewed it, as far as is known; but it runs.
    rig.fact(CodexFact::HookReviewed { review: None });
    rig.fact(CodexFact::CompactionBegan);
    let asked = rig.ask(&hook, ask_in("thread-1"));
    rig.settle().await;
    compacted(&mut rig);
    rig.settle().await;
    assert!(text_of(asked.await.unwrap()).is_some());
    assert_eq!(told(&mut rig).await, [true]);

    // One that gave up meanwhile: the packet is put in.
    rig.fact(CodexFact::CompactionBegan);
    drop(rig.ask(&hook, ask_in("thread-1")));
    rig.settle().await;
    compacted(&mut rig);
    assert_eq!(put_in(&mut rig).await, [false]);
}

/// Waits for the packets that are put in: git is read on a thread of its own.
async fn put_in(rig: &mut Rig) -> Vec<bool> {
    loop {
        tokio::task::yield_now().await;
        rig.pump().await;
        let told = told(rig).await;
        if !told.is_empty() {
            return told;
        }
    }
}

#[tokio::test]
async fn what_the_hook_did_not_ask_for_is_put_in_and_is_not_for_one_that_comes_late() {
    let place = Place::new();
    let (mut rig, hook) = reviewed(&place).await;
    compacted(&mut rig);
    // At once, before the compaction stands in the record.
    rig.fact(CodexFact::HookGaveNothing);
    assert_eq!(asks(&mut rig, &hook, "thread-1").await, None);
    assert_eq!(put_in(&mut rig).await, [false]);
}

#[tokio::test]
async fn a_hook_that_runs_after_the_connection_was_lost_gets_the_packet() {
    let place = Place::new();
    let (mut rig, hook) = reviewed(&place).await;
    rig.daemon
        .agents
        .want_codex_hook(&mut rig.daemon.base, true);
    compacted(&mut rig);
    rig.settle().await;
    rig.fact(CodexFact::ThreadAdopted {
        thread_id: ThreadId::new("thread-1"),
    });
    let text = asks(&mut rig, &hook, "thread-1").await.unwrap();
    assert!(text.contains("Sort the pears"), "{text}");
    assert_eq!(told(&mut rig).await, [true]);
}

/// A daemon that is killed takes its app-server with it.
#[tokio::test]
async fn the_app_server_of_the_next_daemon_runs_no_hook_and_the_packet_is_put_in() {
    let place = Place::new();
    let (mut rig, _hook) = reviewed(&place).await;
    compacted(&mut rig);
    rig.settle().await;
    drop(rig);
    let mut rig = Rig::start(&place).await;
    rig.daemon
        .agents
        .want_codex_hook(&mut rig.daemon.base, true);
    rig.codex_runs_as(4_000_001).await;
    assert_eq!(put_in(&mut rig).await, [false]);
    let hook = rig.connect(Role::Hook, None, false);
    assert_eq!(asks(&mut rig, &hook, "thread-1").await, None);
}

#[tokio::test]
async fn without_the_hook_a_compaction_without_a_packet_is_owed_none_later() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    // There is nothing to tell yet.
    compacted(&mut rig);
    rig.settle().await;
    drop(rig);
    let mut rig = Rig::with_codex(&place).await;
    rig.codex_says_its_goal().await;
    rig.fact(CodexFact::HookGaveNothing);
    assert_eq!(told(&mut rig).await, [false; 0]);
    compacted(&mut rig);
    assert_eq!(put_in(&mut rig).await, [false]);
    rig.fact(CodexFact::HookGaveNothing);
    assert_eq!(told(&mut rig).await, [false; 0], "once");
}

/// The compaction is on record, and the daemon is killed while git is read for its packet.
#[tokio::test]
async fn without_the_hook_a_packet_that_was_being_made_is_put_in_by_the_next_daemon() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    rig.codex_says_its_goal().await;
    compacted(&mut rig);
    rig.record().await;
    let world = rig.daemon.base.recorder.world();
    let state = world
        .state_of(Agent::Codex, &RuntimeSession::default())
        .unwrap();
    assert_eq!((state.compactions_total, &state.packet), (1, &None));
    drop(rig);

    let mut rig = Rig::start(&place).await;
    rig.codex_runs_as(4_000_001).await;
    let text = loop {
        rig.settle().await;
        if let Ok(CodexRequest::Inject { text, .. }) = rig.requests.try_recv() {
            break text;
        }
        tokio::task::yield_now().await;
        rig.pump().await;
    };
    assert!(
        text.starts_with("[ctxrelay: your context was compacted"),
        "{text}"
    );
    assert!(text.contains("Sort the pears"), "{text}");
    rig.status(ReportedStatus::Idle);
    assert_eq!(told(&mut rig).await, [false; 0], "once");
    drop(rig);

    // Nothing was done since, and it lies in the thread.
    let mut rig = Rig::start(&place).await;
    rig.codex_runs_as(4_000_002).await;
    rig.pump().await;
    assert_eq!(told(&mut rig).await, [false; 0], "once");
}

/// `/compact` in Codex's terminal leaves the packet to the hook of the next turn; then the operator
/// asks for another compaction, which Codex refuses.
#[tokio::test]
async fn a_compaction_that_was_refused_takes_no_packet_of_the_one_before() {
    let place = Place::new();
    let (mut rig, hook) = reviewed(&place).await;
    compacted(&mut rig);
    rig.settle().await;
    rig.fact(CodexFact::NotCompacted);
    let text = asks(&mut rig, &hook, "thread-1").await.unwrap();
    assert!(text.contains("Sort the pears"), "{text}");
}

/// The connection was lost while Codex compacted, and the end of that is read from the history.
#[tokio::test]
async fn a_hook_that_waits_while_the_adapter_comes_back_gets_the_packet() {
    let place = Place::new();
    let (mut rig, hook) = reviewed(&place).await;
    rig.daemon
        .agents
        .want_codex_hook(&mut rig.daemon.base, true);
    rig.fact(CodexFact::CompactionBegan);
    let asked = rig.ask(&hook, ask_in("thread-1"));
    rig.fact(CodexFact::ThreadAdopted {
        thread_id: ThreadId::new("thread-1"),
    });
    rig.settle().await;
    compacted(&mut rig);
    rig.settle().await;
    assert!(text_of(asked.await.unwrap()).is_some());
}

/// The packet holds what the turn did, though the disk has it only later.
#[tokio::test]
async fn the_packet_is_made_once_the_record_has_what_the_compacted_turn_did() {
    let mut rig = Rig::fresh_with_codex().await;
    rig.fact(CodexFact::TurnTraced {
        files: TurnFiles {
            written: vec!["pears.rs".to_owned()],
            ..TurnFiles::default()
        },
        said: Vec::new(),
        is_over: false,
    });
    // In the same moment, and nothing was known before.
    compacted(&mut rig);
    let text = loop {
        rig.settle().await;
        if let Ok(CodexRequest::Inject { text, .. }) = rig.requests.try_recv() {
            break text;
        }
        tokio::task::yield_now().await;
    };
    assert!(text.contains("- pears.rs"), "{text}");
}
