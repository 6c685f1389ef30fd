//! A new session: the record alone tells what goes on.

use serde_json::json;

use super::rig::Rig;
use crate::adapters::codex::fact::CodexFact;
use crate::adapters::gate::{GateFact, GateOutcome};
use crate::core::agent::{Agent, AgentState};
use crate::core::delivery::OnBusy;
use crate::core::entry::{ArtifactStatus, EntryKind, ErrorCode, GateRun, TurnStatus};
use crate::core::id::{Seq, ThreadId, TurnId};
use crate::daemon::event::Event;
use crate::store::testing::Place;
use crate::wire::config::Gate;
use crate::wire::control::{ClearParams, Command, CompactParams, Reply, Role};

#[tokio::test]
async fn after_a_clear_the_new_file_alone_makes_the_same_world() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let _bridge = rig.connect(Role::Claude, Some(7_000_000), false);
    let operator = rig.connect(Role::Deck, None, true);
    rig.settle().await;
    let clear = Command::Clear(ClearParams::default());
    rig.call(&operator, clear).await.unwrap();
    let live = (**rig.daemon.base.recorder.world()).clone();
    assert_eq!(live.agent(Agent::Claude).state, AgentState::Idle);
    drop(rig);
    let (replayed, _) = Rig::replayed(&place);
    assert_eq!(replayed, live);
    // A later daemon goes on with the same conversation.
    assert_eq!(
        replayed.agent(Agent::Codex).thread_id,
        Some(ThreadId::new("thread-1"))
    );
}

#[tokio::test]
async fn a_turn_that_outlives_its_session_still_answers_whoever_asked() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let claude = rig.connect(Role::Claude, None, false);
    let operator = rig.connect(Role::Deck, None, true);
    let id = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    rig.user_message("turn-1", Some(&id));
    rig.settle().await;
    let clear = Command::Clear(ClearParams::default());
    rig.call(&operator, clear).await.unwrap();
    rig.fact(CodexFact::TurnCompleted {
        thread_id: ThreadId::new("thread-1"),
        turn_id: TurnId::new("turn-1"),
        status: TurnStatus::Completed,
        final_answer: Some("it is fine".to_owned()),
        client_ids: vec![id.to_string()],
        error: None,
        usage_limited: false,
        died: false,
    });
    rig.settle().await;
    let waiting: Vec<_> = rig.daemon.deliveries.outbox.lane(Agent::Claude).collect();
    assert_eq!(waiting.len(), 1);
}

#[tokio::test]
async fn a_session_that_cannot_be_archived_is_cleared_all_the_same() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let operator = rig.connect(Role::Deck, None, true);
    let old = rig.daemon.base.recorder.session_id().clone();
    let _ = std::fs::remove_dir(place.dirs.archives());
    std::fs::write(place.dirs.archives(), "in the way").unwrap();
    let clear = Command::Clear(ClearParams::default());
    let Ok(Reply::Cleared(cleared)) = rig.call(&operator, clear).await else {
        panic!("not cleared");
    };
    // The old file stays where it can be found, and the new one is nobody else's.
    let kept = place.dirs.ledger(&old);
    assert_eq!(cleared.archive, Some(kept.display().to_string()));
    assert!(kept.is_file());
    assert_eq!(*rig.daemon.base.recorder.session_id(), cleared.session_id);
    assert!(
        rig.daemon
            .base
            .recorder
            .recent()
            .iter()
            .all(|stored| { stored.entry.session_id == cleared.session_id })
    );
    assert!(rig.daemon.base.recorder.recent().iter().any(|stored| {
        matches!(
            &stored.entry.kind,
            EntryKind::Error {
                code: ErrorCode::NotArchived
            }
        )
    }));
}

#[tokio::test]
async fn a_gate_that_outlives_its_session_began_before_all_of_the_next_one() {
    let clear = Command::Clear(ClearParams::default());
    let compact = Command::Compact(CompactParams::default());
    for (ends, is_before_all) in [(None, false), (Some(clear), true), (Some(compact), true)] {
        let place = Place::new();
        let mut rig = Rig::start(&place).await;
        let operator = rig.connect(Role::Deck, None, true);
        let gate = json!({"name": "unit", "cmd": "true"});
        let gate: Gate = serde_json::from_value(gate).unwrap();
        let session = rig.daemon.base.recorder.session_id().clone();
        rig.daemon.decisions.gates.begin(vec![gate.clone()], false);
        rig.daemon.decisions.gates.next(0, &session).unwrap();
        if let Some(ends) = ends {
            rig.call(&operator, ends).await.unwrap();
        }
        let began = Seq(690);
        rig.daemon
            .on_event(Event::Gate(GateFact::Ended(Box::new(GateOutcome {
                status: ArtifactStatus::Passed,
                run: GateRun {
                    gate: gate.name.clone(),
                    cmd: gate.cmd.clone(),
                    spec: gate.spec(),
                    exit_code: Some(0),
                    why: None,
                    duration_ms: 1,
                    tree: None,
                    stale: false,
                    rewritten: None,
                    setup_failed: false,
                    isolated: None,
                    began_after: Some(began),
                    output_bytes: 0,
                    output_sha256: String::new(),
                },
                output: String::new(),
            }))));
        rig.settle().await;
        let ran = rig.daemon.base.recorder.world().gates["unit"].began_after();
        assert_eq!(ran, if is_before_all { Seq(0) } else { began });
        assert!(rig.daemon.decisions.gates.is_idle());
    }
}
