//! What the human stopped in Codex is theirs to let go on, over a crash and into another session;
//! what died with its app-server is nobody's.

use super::rig::Rig;
use crate::adapters::codex::fact::{CodexFact, ReportedStatus};
use crate::adapters::codex::request::CodexRequest;
use crate::core::agent::Agent;
use crate::core::delivery::OnBusy;
use crate::core::entry::TurnStatus;
use crate::core::id::{EntryId, ThreadId, TurnId};
use crate::store::testing::Place;
use crate::wire::control::{ClearParams, Command, Role};

/// A turn of the human's begins.
async fn begins(rig: &mut Rig, turn: &str) {
    rig.status(ReportedStatus::Active { waiting: false });
    rig.fact(CodexFact::TurnStarted {
        thread_id: ThreadId::new("thread-1"),
        turn_id: TurnId::new(turn),
    });
    rig.user_message(turn, None);
    rig.settle().await;
}

/// It ends early: with its app-server, or because they stopped it.
async fn is_cut_short(rig: &mut Rig, turn: &str, died: bool) {
    rig.status(ReportedStatus::Idle);
    rig.fact(CodexFact::TurnCompleted {
        thread_id: ThreadId::new("thread-1"),
        turn_id: TurnId::new(turn),
        status: TurnStatus::Interrupted,
        final_answer: None,
        client_ids: Vec::new(),
        error: None,
        usage_limited: false,
        died,
    });
    rig.settle().await;
}

/// Codex took the message into its queue and leaves it there.
fn is_kept(rig: &mut Rig, id: &EntryId) {
    let message_id = id.clone();
    rig.fact(CodexFact::Queued { message_id });
    let message_id = id.clone();
    rig.fact(CodexFact::StillQueued { message_id });
}

fn is_paused(rig: &Rig) -> bool {
    rig.daemon.status().agents.codex.held
}

async fn send(rig: &mut Rig) -> EntryId {
    let claude = rig.connect(Role::Claude, None, false);
    rig.send(&claude, Agent::Claude, OnBusy::Queue).await
}

#[tokio::test]
async fn what_the_human_stopped_is_held_over_a_crash_until_they_go_on() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    begins(&mut rig, "turn-1").await;
    is_cut_short(&mut rig, "turn-1", false).await;
    assert!(is_paused(&rig));
    drop(rig);

    let mut rig = Rig::with_codex(&place).await;
    assert!(is_paused(&rig));
    let operator = rig.connect(Role::Deck, None, true);
    let clear = Command::Clear(ClearParams::default());
    rig.call(&operator, clear).await.unwrap();
    drop(rig);

    let mut rig = Rig::with_codex(&place).await;
    assert!(is_paused(&rig));
    let why = rig.daemon.status().agents.codex.why.unwrap();
    assert!(
        why.contains("another conversation (`/new`, `/resume`)"),
        "{why}"
    );
    let id = send(&mut rig).await;
    assert_eq!(rig.delivered_ids(), []);
    begins(&mut rig, "turn-2").await;
    assert!(!is_paused(&rig));
    assert_eq!(rig.delivered_ids(), [id]);
    drop(rig);
    assert!(!is_paused(&Rig::with_codex(&place).await));
}

#[tokio::test]
async fn what_died_with_its_app_server_holds_nothing() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    begins(&mut rig, "turn-1").await;
    is_cut_short(&mut rig, "turn-1", true).await;
    for _ in 0..2 {
        assert!(!is_paused(&rig));
        drop(rig);
        rig = Rig::with_codex(&place).await;
    }
    let id = send(&mut rig).await;
    assert_eq!(rig.delivered_ids(), std::slice::from_ref(&id));
    is_kept(&mut rig, &id);
    let asked = rig.requests.try_recv();
    assert!(matches!(asked, Ok(CodexRequest::ReleaseQueue)), "{asked:?}");
    // Once.
    is_kept(&mut rig, &id);
    assert!(rig.requests.try_recv().is_err());
}

#[tokio::test]
async fn what_lies_in_codexs_queue_when_the_human_stops_a_turn_is_left_there() {
    let mut rig = Rig::fresh_with_codex().await;
    begins(&mut rig, "turn-1").await;
    let id = send(&mut rig).await;
    assert_eq!(rig.delivered_ids(), std::slice::from_ref(&id));
    let message_id = id.clone();
    rig.fact(CodexFact::Queued { message_id });
    is_cut_short(&mut rig, "turn-1", false).await;
    is_kept(&mut rig, &id);
    assert!(rig.requests.try_recv().is_err());
    assert!(is_paused(&rig));
}
