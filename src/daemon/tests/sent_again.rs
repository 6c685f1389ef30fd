//! Messages whose turn ended early and that the operator wants sent again.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileExt;

use tokio::sync::oneshot;

use super::ladder::{Pair, take};
use super::rig::{Guest, Rig};
use super::silence::{agent_action, ended};
use crate::adapters::codex::attempted_message::AttemptedMessage;
use crate::adapters::codex::fact::CodexFact;
use crate::adapters::codex::request::CodexRequest;
use crate::core::agent::Agent;
use crate::core::delivery::{DeliveryState, OnBusy};
use crate::core::entry::{DeliveryResult, EntryKind, TurnStatus};
use crate::core::id::{EntryId, Seq, ThreadId, TurnId};
use crate::core::snapshot::Snapshot;
use crate::daemon::event::Event;
use crate::daemon::sessions::carrying::{
    CarryingRead, EndingWish, SessionEnding, compaction_wants, entry_at,
};
use crate::store::testing::Place;
use crate::wire::control::{
    AgentActionKind, Command, CompactParams, HookParams, QueueChange, QueueChangeParams, QueueRow,
    RefusalCode, Reply, Role,
};

/// What the adapter was asked to deliver, or to find out about, since the last look.
fn handed_over(rig: &mut Rig) -> Vec<AttemptedMessage> {
    let mut asked = Vec::new();
    while let Ok(request) = rig.requests.try_recv() {
        match request {
            CodexRequest::Deliver {
                message_id,
                cut_off_in,
                thread,
                ..
            } => asked.push(AttemptedMessage {
                message_id,
                attempt: None,
                cut_off_in,
                thread,
                is_unwanted: false,
            }),
            // Which attempt it was is for the log alone.
            CodexRequest::Recover { messages } => {
                asked.extend(messages.into_iter().map(|message| AttemptedMessage {
                    attempt: None,
                    ..message
                }));
            }
            _ => {}
        }
    }
    asked
}

fn of_attempt(id: &EntryId, turns: &[&str]) -> Vec<AttemptedMessage> {
    vec![AttemptedMessage {
        message_id: id.clone(),
        attempt: None,
        cut_off_in: turns.iter().copied().map(TurnId::new).collect(),
        thread: Some(ThreadId::new("thread-1")),
        is_unwanted: false,
    }]
}

fn state(rig: &Rig, id: &EntryId) -> Option<DeliveryState> {
    rig.daemon.deliveries.outbox.get(id).map(|row| row.state)
}

/// How often this was recorded of a message.
fn recorded(rig: &Rig, id: &EntryId, result: DeliveryResult) -> usize {
    let recent = rig.daemon.base.recorder.recent().iter();
    let of_it = recent.filter(|stored| {
        matches!(&stored.entry.kind, EntryKind::Delivery(record)
            if record.message_id == *id && record.result == result)
    });
    of_it.count()
}

/// A message that `turn-1` had until that failed.
async fn cut_off(place: &Place) -> (Rig, EntryId) {
    let mut rig = Rig::with_codex(place).await;
    let claude = rig.connect(Role::Claude, None, false);
    let id = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    assert_eq!(handed_over(&mut rig), of_attempt(&id, &[]));
    rig.user_message("turn-1", Some(&id));
    rig.settle().await;
    ended(&mut rig, "turn-1", TurnStatus::Failed, &[&id], false).await;
    (rig, id)
}

async fn send_again(rig: &mut Rig) {
    let operator = rig.connect(Role::Deck, None, true);
    let again = agent_action(Agent::Codex, AgentActionKind::Requeue);
    rig.call(&operator, again).await.unwrap();
}

/// The same, sent again: Codex has it in its queue.
async fn sent_again(place: &Place) -> (Rig, EntryId) {
    let (mut rig, id) = cut_off(place).await;
    send_again(&mut rig).await;
    assert_eq!(handed_over(&mut rig), of_attempt(&id, &["turn-1"]));
    rig.fact(CodexFact::Queued {
        message_id: id.clone(),
    });
    rig.settle().await;
    (rig, id)
}

#[tokio::test]
async fn what_is_sent_again_is_delivered_when_another_turn_has_it_and_not_before() {
    let place = Place::new();
    let (mut rig, id) = sent_again(&place).await;
    // The history is read anew, and shows the turn that had it.
    rig.user_message("turn-1", Some(&id));
    ended(&mut rig, "turn-1", TurnStatus::Failed, &[&id], false).await;
    assert_eq!(state(&rig, &id), Some(DeliveryState::Offered));
    assert_eq!(recorded(&rig, &id, DeliveryResult::Confirmed), 1);
    rig.user_message("turn-2", Some(&id));
    rig.settle().await;
    assert_eq!(state(&rig, &id), None);
    assert_eq!(recorded(&rig, &id, DeliveryResult::Confirmed), 2);
    // Cut off once more, both turns are known.
    ended(&mut rig, "turn-2", TurnStatus::Failed, &[&id], false).await;
    send_again(&mut rig).await;
    assert_eq!(
        handed_over(&mut rig),
        of_attempt(&id, &["turn-1", "turn-2"])
    );
}

#[tokio::test]
async fn after_a_crash_the_turn_that_had_it_before_is_known() {
    let place = Place::new();
    let (rig, id) = sent_again(&place).await;
    drop(rig);
    let mut rig = Rig::start(&place).await;
    assert_eq!(handed_over(&mut rig), of_attempt(&id, &["turn-1"]));
    rig.codex_runs().await;
    rig.user_message("turn-1", Some(&id));
    rig.settle().await;
    assert_eq!(state(&rig, &id), Some(DeliveryState::Offered));
    let why = "it is nowhere".to_owned();
    rig.fact(CodexFact::NotTaken {
        message_id: id.clone(),
        why,
    });
    rig.settle().await;
    assert_eq!(handed_over(&mut rig), of_attempt(&id, &["turn-1"]));
}

#[tokio::test]
async fn after_a_compaction_of_the_record_and_a_crash_it_is_known_too() {
    let place = Place::new();
    let (mut rig, id) = cut_off(&place).await;
    rig.fact(CodexFact::ServerLost {
        why: "it ended".to_owned(),
        gave_up: true,
    });
    send_again(&mut rig).await;
    assert_eq!(handed_over(&mut rig), []);
    let operator = rig.connect(Role::Deck, None, true);
    rig.compact(&operator).await;
    drop(rig);
    let mut rig = Rig::with_codex(&place).await;
    let mut expected = of_attempt(&id, &["turn-1"]);
    // It waits for whichever conversation is taken up.
    expected[0].thread = None;
    assert_eq!(handed_over(&mut rig), expected);
}

#[tokio::test]
async fn the_process_that_goes_on_knows_it() {
    let place = Place::new();
    let (rig, id) = sent_again(&place).await;
    let known = rig.leave().await;
    let mut rig = Rig::start_after(&place, Some(known)).await;
    assert_eq!(handed_over(&mut rig), of_attempt(&id, &["turn-1"]));
    rig.codex_runs().await;
    rig.user_message("turn-1", Some(&id));
    ended(&mut rig, "turn-1", TurnStatus::Failed, &[&id], false).await;
    assert_eq!(state(&rig, &id), Some(DeliveryState::Offered));
}

#[tokio::test]
async fn what_claude_is_done_with_meanwhile_is_not_sent_again() {
    let mut pair = Pair::new(Rig::fresh().await, true).await;
    let id = pair.send("fig").await;
    let handed = take(&mut pair, "UserPromptSubmit").await;
    assert_eq!(handed, std::slice::from_ref(&id));
    let failed = HookParams {
        event: "StopFailure".into(),
        detail: Some("server_error".to_owned()),
        ..HookParams::default()
    };
    pair.hook_with(failed).await;
    assert_eq!(pair.rig.daemon.status().agents.claude.cut_off, 1);
    let operator = pair.rig.connect(Role::Deck, None, true);
    let again = agent_action(Agent::Claude, AgentActionKind::Requeue);
    // Its row is on its way to the disk.
    let answer = pair.rig.ask_only(&operator, again);
    let acked = pair.ack(&id).await;
    assert_eq!(answer.await.unwrap(), Ok(Reply::Done));
    assert!(matches!(acked, Reply::Acked(_)), "{acked:?}");
    assert_eq!(recorded(&pair.rig, &id, DeliveryResult::Acknowledged), 1);
    assert_eq!(recorded(&pair.rig, &id, DeliveryResult::Requeued), 0);
    assert!(pair.rig.daemon.base.recorder.world().unsettled.is_empty());
}

#[tokio::test]
async fn a_compaction_does_not_forget_what_was_cut_off_nor_what_a_running_turn_has() {
    let place = Place::new();
    let (mut rig, id) = cut_off(&place).await;
    let operator = rig.connect(Role::Deck, None, true);
    rig.compact(&operator).await;
    send_again(&mut rig).await;
    assert_eq!(handed_over(&mut rig), of_attempt(&id, &["turn-1"]));
    rig.user_message("turn-2", Some(&id));
    rig.settle().await;
    assert_eq!(state(&rig, &id), None, "turn-2 has it");

    rig.compact(&operator).await;
    ended(&mut rig, "turn-2", TurnStatus::Failed, &[&id], false).await;
    let live = (**rig.daemon.base.recorder.world()).clone();
    assert_eq!(live.cut_off.keys().collect::<Vec<_>>(), [&id]);
    send_again(&mut rig).await;
    assert_eq!(
        handed_over(&mut rig),
        of_attempt(&id, &["turn-1", "turn-2"])
    );
    drop(rig);
    let (replayed, _) = Rig::replayed(&place);
    assert_eq!(replayed.cut_off, BTreeMap::new());
    assert_eq!(
        replayed.unsettled[&id].cut_off_in,
        live.cut_off[&id].cut_off_in
    );
}

fn change(id: &EntryId, change: QueueChange) -> Command {
    Command::QueueChange(QueueChangeParams {
        id: id.clone(),
        change,
        placed: true,
    })
}

async fn listed(rig: &mut Rig, operator: &Guest) -> Vec<EntryId> {
    let Ok(Reply::Queue(rows)) = rig.call(operator, Command::QueueList).await else {
        panic!("no rows");
    };
    let cut_off = rows.into_iter().filter(QueueRow::is_cut_off);
    cut_off.map(|row| row.id).collect()
}

#[tokio::test]
async fn one_that_was_cut_off_is_listed_and_given_up_for_good() {
    let place = Place::new();
    let (mut rig, id) = cut_off(&place).await;
    let operator = rig.connect(Role::Deck, None, true);
    assert_eq!(listed(&mut rig, &operator).await, std::slice::from_ref(&id));
    assert_eq!(
        rig.daemon.status().agents.codex.cut_off_ids,
        std::slice::from_ref(&id)
    );
    let give_up = change(&id, QueueChange::Remove);
    let done = rig.call(&operator, give_up.clone()).await;
    assert!(matches!(done, Ok(Reply::Recorded(_))), "{done:?}");
    assert_eq!(recorded(&rig, &id, DeliveryResult::Cancelled), 1);
    assert_eq!(rig.daemon.status().agents.codex.cut_off, 0);
    assert_eq!(listed(&mut rig, &operator).await, []);
    let again = rig.call(&operator, give_up).await.unwrap_err();
    assert_eq!(again.code, RefusalCode::NotFound);
    let again = agent_action(Agent::Codex, AgentActionKind::Requeue);
    let again = rig.call(&operator, again).await.unwrap_err();
    assert_eq!(again.code, RefusalCode::NothingCutOff);
    assert_eq!(handed_over(&mut rig), []);
    let (replayed, _) = Rig::replayed(&place);
    assert!(replayed.cut_off.is_empty() && !replayed.unsettled.contains_key(&id));
}

#[tokio::test]
async fn one_that_was_cut_off_is_sent_again_alone() {
    let place = Place::new();
    let (mut rig, first) = cut_off(&place).await;
    let claude = rig.connect(Role::Claude, None, false);
    let operator = rig.connect(Role::Deck, None, true);
    let second = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    rig.user_message("turn-2", Some(&second));
    rig.settle().await;
    ended(
        &mut rig,
        "turn-2",
        TurnStatus::Interrupted,
        &[&second],
        false,
    )
    .await;
    handed_over(&mut rig);
    let again = change(&second, QueueChange::Retry);
    rig.call(&operator, again).await.unwrap();
    assert_eq!(handed_over(&mut rig), of_attempt(&second, &["turn-2"]));
    assert_eq!(listed(&mut rig, &operator).await, [first]);
}

/// Somebody writes over the line of an entry.
pub(super) fn spoil(rig: &Rig, seq: Seq) {
    let ledger = rig.daemon.base.recorder.ledger();
    let line = ledger.read(seq).unwrap().unwrap().line;
    let text = fs::read_to_string(ledger.path()).unwrap();
    let at = text.find(&line).unwrap();
    let file = fs::File::options().write(true).open(ledger.path());
    file.unwrap().write_all_at(b"?", at as u64).unwrap();
    assert!(ledger.read(seq).is_err());
}

impl Rig {
    /// Compacts, with what was read before something was recorded and this line was lost.
    pub(super) async fn compact_over_lost_line(&mut self, lost: impl FnOnce(&Snapshot) -> Seq) {
        let wish = EndingWish::Compact(CompactParams::default());
        let recorder = &self.daemon.base.recorder;
        let (session, world) = (recorder.session_id().clone(), recorder.world());
        let read = CarryingRead::of(&wish, recorder.ledger(), world);
        let seq = lost(world);
        // Between that and the end of the session something is recorded, and the line is gone.
        self.codex_says_its_goal().await;
        spoil(self, seq);
        let (reply, compacted) = oneshot::channel();
        let ending = SessionEnding {
            wish,
            session,
            read,
            reply,
            under_way: self.daemon.base.operations.begin_beside(),
        };
        self.daemon.on_event(Event::SessionEnding(Box::new(ending)));
        self.settle().await;
        compacted.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn one_that_was_cut_off_and_cannot_be_read_any_more_is_not_left_behind() {
    let place = Place::new();
    let (mut rig, id) = cut_off(&place).await;
    let operator = rig.connect(Role::Deck, None, true);
    rig.compact_over_lost_line(|world| world.cut_off[&id].seq)
        .await;
    assert_eq!(listed(&mut rig, &operator).await, [id]);
}

#[tokio::test]
async fn nothing_goes_on_without_one_that_was_cut_off_and_cannot_be_read() {
    let place = Place::new();
    let (rig, id) = cut_off(&place).await;
    let recorder = &rig.daemon.base.recorder;
    let (world, ledger) = (recorder.world(), recorder.ledger());
    let seq = world.cut_off[&id].seq;
    spoil(&rig, seq);
    assert!(
        compaction_wants(world, ledger, |_| None)
            .unwrap()
            .contains(&seq)
    );
    let refused = entry_at(ledger, seq).unwrap_err();
    assert_eq!(refused.code, RefusalCode::LedgerUnreadable);
}
