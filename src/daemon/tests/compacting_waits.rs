//! What waits for a compaction of Codex's, how long, and for what a compaction does not begin.

use super::rig::{Guest, Rig};
use super::silence::{agent_action, hook};
use crate::adapters::codex::fact::{CodexFact, ReportedStatus};
use crate::adapters::codex::request::CodexRequest;
use crate::core::agent::Agent;
use crate::core::delivery::OnBusy;
use crate::core::entry::CompactionTrigger;
use crate::core::id::{EntryId, RuntimeSession, TurnId};
use crate::wire::control::{AgentActionKind, Command, Refusal, RefusalCode, Reply, Role};

fn compact() -> Command {
    agent_action(Agent::Codex, AgentActionKind::Compact)
}

fn refused(result: Result<Reply, Refusal>) -> RefusalCode {
    result.unwrap_err().code
}

/// Asks, and has the app-server take it.
async fn begin(rig: &mut Rig, operator: &Guest) {
    let begun = rig.ask(operator, compact());
    let Ok(CodexRequest::Compact { reply }) = rig.requests.try_recv() else {
        panic!("nothing was asked of the adapter");
    };
    reply.send(Ok(())).unwrap();
    assert_eq!(begun.await.unwrap().unwrap(), Reply::Done);
    rig.settle().await;
    rig.fact(CodexFact::CompactionBegan);
    rig.status(ReportedStatus::Active { waiting: false });
}

fn compacted(rig: &mut Rig) {
    rig.fact(CodexFact::Compacted {
        turn_id: TurnId::new("C"),
        in_turn: false,
    });
    rig.completed("C", &[], "");
    rig.status(ReportedStatus::Idle);
}

/// What leaves for Codex, in its order: a packet as `None`.
async fn leaves(rig: &mut Rig, count: usize) -> Vec<Option<EntryId>> {
    let mut left = Vec::new();
    while left.len() < count {
        match rig.requests.try_recv() {
            Ok(CodexRequest::Inject { .. }) => left.push(None),
            Ok(CodexRequest::Deliver { message_id, .. }) => left.push(Some(message_id)),
            // Git is read on a thread of its own.
            _ => tokio::task::yield_now().await,
        }
        rig.pump().await;
    }
    left
}

#[tokio::test]
async fn a_message_leaves_behind_the_packet_of_a_compaction_that_the_operator_asked_for() {
    let mut rig = Rig::fresh_with_codex().await;
    let operator = rig.connect(Role::Deck, None, true);
    let claude = rig.connect(Role::Claude, None, false);
    rig.codex_says_its_goal().await;
    begin(&mut rig, &operator).await;
    let again = rig.call(&operator, compact()).await;
    assert_eq!(refused(again), RefusalCode::WrongState);
    let id = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    assert!(rig.delivered().is_empty(), "it waits");
    compacted(&mut rig);
    assert_eq!(leaves(&mut rig, 2).await, [None, Some(id)]);
    let world = rig.daemon.base.recorder.world();
    let state = world.state_of(Agent::Codex, &RuntimeSession::default());
    let compactions = &state.unwrap().compactions;
    let last = compactions.back().unwrap();
    assert_eq!(last.compaction.trigger, CompactionTrigger::Manual);
}

#[tokio::test]
async fn a_compaction_that_hangs_keeps_a_message_for_a_minute() {
    let mut rig = Rig::fresh_with_codex().await;
    let operator = rig.connect(Role::Deck, None, true);
    let claude = rig.connect(Role::Claude, None, false);
    begin(&mut rig, &operator).await;
    let id = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    // The rig's clock runs on between its steps.
    rig.later(40_000).await;
    assert!(rig.delivered().is_empty());
    rig.later(21_000).await;
    assert_eq!(rig.delivered_ids(), [id]);
}

#[tokio::test]
async fn a_compaction_meets_no_missing_thread_no_compaction_of_claudes_and_no_message_on_its_way() {
    let mut rig = Rig::fresh().await;
    let operator = rig.connect(Role::Deck, None, true);
    let hooks = rig.connect(Role::Hook, None, false);
    let bridge = rig.connect(Role::Claude, Some(7_000_000), false);
    let unloaded = rig.call(&operator, compact()).await;
    assert_eq!(refused(unloaded), RefusalCode::CodexUnavailable);
    rig.codex_runs().await;
    while rig.requests.try_recv().is_ok() {}

    rig.call(&hooks, hook("PreCompact", Some("manual")))
        .await
        .unwrap();
    let both = rig.call(&operator, compact()).await.unwrap_err();
    assert!(both.message.contains("Claude's context"), "{both:?}");
    rig.call(&hooks, hook("PostCompact", None)).await.unwrap();
    assert!(rig.requests.try_recv().is_err(), "nothing was asked");
    drop(rig.ask(&operator, compact()));
    assert!(matches!(
        rig.requests.try_recv(),
        Ok(CodexRequest::Compact { .. })
    ));
    rig.fact(CodexFact::NotCompacted);
    rig.settle().await;

    // A message that is on its way begins a turn.
    rig.send(&bridge, Agent::Claude, OnBusy::Queue).await;
    assert_eq!(rig.delivered().len(), 1);
    let awaited = rig.call(&operator, compact()).await.unwrap_err();
    assert!(awaited.message.contains("on its way"), "{awaited:?}");
}
