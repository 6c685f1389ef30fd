//! What the operator takes out of Codex's own queue, and a daemon that dies before Codex gave it back.

use tokio::sync::oneshot::error::TryRecvError;

use super::commands::change_queue;
use super::compact::hand_off;
use super::rig::{Guest, Rig};
use crate::adapters::codex::attempted_message::AttemptedMessage;
use crate::adapters::codex::fact::{CodexFact, ReportedStatus};
use crate::adapters::codex::request::CodexRequest;
use crate::core::agent::Agent;
use crate::core::entry::{DeliveryResult, NoteKind};
use crate::core::id::EntryId;
use crate::store::testing::Place;
use crate::wire::control::{Command, NoteParams, QueueChange, Role};

/// What the record says of what the operator took back.
const BY_OPERATOR: &str = "the operator took it back";

/// A handoff in Codex's own queue, behind a turn; and the Claude that sent it.
pub async fn in_codexs_queue(rig: &mut Rig) -> (EntryId, Guest) {
    let claude = rig.connect(Role::Claude, None, false);
    rig.status(ReportedStatus::Active { waiting: false });
    let order = rig
        .newest(&claude, hand_off(Agent::Claude, "delete the branch"))
        .await;
    assert_eq!(rig.delivered_ids(), std::slice::from_ref(&order));
    let message_id = order.clone();
    rig.fact(CodexFact::Queued { message_id });
    rig.settle().await;
    (order, claude)
}

/// The operator hears that it is asked back, and Codex does not answer.
async fn removed(rig: &mut Rig) -> EntryId {
    let (order, _claude) = in_codexs_queue(rig).await;
    let operator = rig.connect(Role::Deck, None, true);
    let remove = change_queue(order.clone(), QueueChange::Remove);
    let mut answer = rig.ask_only(&operator, remove);
    // Its row is on its way to the disk.
    assert!(matches!(answer.try_recv(), Err(TryRecvError::Empty)));
    rig.store();
    answer.try_recv().unwrap().unwrap();
    assert_eq!(rig.taken_back(), std::slice::from_ref(&order));
    order
}

/// What a daemon that began asks of the adapter before anything goes on.
fn recovered(rig: &mut Rig) -> Vec<AttemptedMessage> {
    let mut requests = std::iter::from_fn(|| rig.requests.try_recv().ok());
    let recovered = requests.find_map(|request| match request {
        CodexRequest::Recover { messages } => Some(messages),
        _ => None,
    });
    recovered.unwrap()
}

/// The next daemon has it taken out of the queue, and nothing of it goes out.
async fn ends(rig: &mut Rig, order: &EntryId, said: &str) {
    let [asked] = &recovered(rig)[..] else {
        panic!("one is asked about");
    };
    assert!(asked.message_id == *order && asked.is_unwanted, "{asked:?}");
    let message_id = order.clone();
    rig.fact(CodexFact::TakenBack { message_id });
    rig.settle().await;
    let became = rig.became(order);
    assert_eq!(became, [(DeliveryResult::Cancelled, said.to_owned())]);
    rig.status(ReportedStatus::Idle);
    rig.settle().await;
    assert_eq!(rig.delivered_ids(), []);
}

#[tokio::test]
async fn the_next_process_goes_on_to_take_it_back_behind_a_kill_or_in_a_takeover() {
    for is_killed in [true, false] {
        let place = Place::new();
        let mut rig = Rig::with_codex(&place).await;
        let order = removed(&mut rig).await;
        let takeover = if is_killed {
            drop(rig);
            None
        } else {
            Some(rig.leave().await)
        };
        let mut rig = Rig::start_after(&place, takeover).await;
        ends(&mut rig, &order, BY_OPERATOR).await;
    }
}

#[tokio::test]
async fn a_daemon_that_died_behind_the_operators_note_leaves_the_asking_back_to_the_next_one() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let (order, _claude) = in_codexs_queue(&mut rig).await;
    let operator = rig.connect(Role::Deck, None, true);
    let over = Command::AppendNote(NoteParams {
        handles: vec![order.clone()],
        ..NoteParams::new(None, NoteKind::Note, "it is over")
    });
    rig.call(&operator, over).await.unwrap();
    assert_eq!(rig.became(&order), []);
    drop(rig);
    let mut rig = Rig::start(&place).await;
    ends(&mut rig, &order, BY_OPERATOR).await;
}

#[tokio::test]
async fn what_codex_got_after_all_is_recorded_as_that() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let order = removed(&mut rig).await;
    drop(rig);
    let mut rig = Rig::with_codex(&place).await;
    rig.user_message("turn-1", Some(&order));
    rig.settle().await;
    let [(result, said)] = &rig.became(&order)[..] else {
        panic!("it has come");
    };
    assert_eq!(*result, DeliveryResult::Confirmed);
    assert!(said.contains("got it after all"), "{said}");
}

#[tokio::test]
async fn what_cannot_be_kept_of_it_is_refused_and_the_message_goes_on() {
    let mut rig = Rig::fresh_with_codex().await;
    let (order, _claude) = in_codexs_queue(&mut rig).await;
    let operator = rig.connect(Role::Deck, None, true);
    let remove = change_queue(order.clone(), QueueChange::Remove);
    let mut answer = rig.ask_only(&operator, remove);
    rig.fail_rows();
    assert!(answer.try_recv().unwrap().is_err());
    let message_id = order.clone();
    rig.fact(CodexFact::TakenBack { message_id });
    rig.status(ReportedStatus::Idle);
    rig.settle().await;
    assert_eq!(rig.became(&order), []);
    assert_eq!(rig.delivered_ids(), [order]);
}
