//! A handoff or a question that its own sender closes before its receiver has it.

use std::time::Duration;

use super::compact::{hand_off, note};
use super::nothing_came::question;
use super::rig::Rig;
use super::taken_back::in_codexs_queue;
use crate::adapters::codex::fact::{CodexFact, ReportedStatus};
use crate::core::agent::{Agent, Party};
use crate::core::delivery::OnBusy;
use crate::core::entry::{DeliveryResult, EntryKind, Handoff, NoteKind};
use crate::core::id::EntryId;
use crate::store::testing::Place;
use crate::wire::control::{Command, GetMessagesParams, NoteParams, Reply, Role};

impl Rig {
    /// What the record says became of a message, oldest first, as far as it is remembered.
    pub(super) fn became(&self, id: &EntryId) -> Vec<(DeliveryResult, String)> {
        let recent = self.daemon.base.recorder.recent().iter();
        let became = recent.filter_map(|stored| match &stored.entry.kind {
            EntryKind::Delivery(record) if record.message_id == *id => {
                Some((record.result, stored.entry.content.clone()))
            }
            _ => None,
        });
        became.collect()
    }
}

fn taken_back(from: &str, to: &str) -> [(DeliveryResult, String); 1] {
    let said = format!("{from}, who sent it, closed it: {to} does not get it");
    [(DeliveryResult::Cancelled, said)]
}

#[tokio::test]
async fn what_waits_behind_codexs_turn_is_taken_back_and_comes_back_by_no_end_of_a_session() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let claude = rig.connect(Role::Claude, None, false);
    let operator = rig.connect(Role::Deck, None, true);
    // One is on its way, so that the others wait.
    let first = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    let order = rig
        .newest(&claude, hand_off(Agent::Claude, "delete the branch"))
        .await;
    let asked = rig.newest(&claude, question()).await;
    assert_eq!(rig.delivered_ids(), std::slice::from_ref(&first));

    let settled = vec![first.clone(), order.clone(), asked.clone()];
    let settled = note(NoteKind::Note, "not needed any more, I did it", settled);
    rig.call(&claude, settled).await.unwrap();
    for id in [&order, &asked] {
        assert_eq!(rig.became(id), taken_back("Claude", "Codex"));
        assert!(rig.daemon.deliveries.outbox.get(id).is_none());
    }
    // What is given already goes on.
    assert_eq!(rig.became(&first), []);
    rig.user_message("turn-1", Some(&first));
    rig.completed("turn-1", std::slice::from_ref(&first), "done");
    rig.status(ReportedStatus::Idle);
    rig.settle().await;
    assert_eq!(rig.delivered_ids(), []);
    rig.compact(&operator).await;
    rig.status(ReportedStatus::Idle);
    rig.settle().await;
    assert_eq!(rig.delivered_ids(), []);
    drop(rig);
    let mut rig = Rig::with_codex(&place).await;
    assert_eq!(rig.delivered_ids(), []);
}

#[tokio::test]
async fn a_claude_that_comes_later_finds_nothing_of_it() {
    let mut rig = Rig::fresh().await;
    let codex = rig.connect(Role::Codex, None, false);
    let order = rig
        .newest(&codex, hand_off(Agent::Codex, "delete the branch"))
        .await;
    let stays = rig
        .newest(&codex, hand_off(Agent::Codex, "sort the pears"))
        .await;
    let settled = Command::AppendNote(NoteParams {
        handles: vec![order.clone()],
        ..NoteParams::new(Agent::Codex, NoteKind::Done, "I did it")
    });
    rig.call(&codex, settled).await.unwrap();
    assert_eq!(rig.became(&order), taken_back("Codex", "Claude"));
    let claude = rig.connect(Role::Claude, None, false);
    let get = Command::GetMessages(GetMessagesParams::of(Agent::Claude));
    let Ok(Reply::Messages(page)) = rig.call(&claude, get).await else {
        panic!("no messages");
    };
    let ids: Vec<_> = page.messages.iter().map(|it| &it.message_id).collect();
    assert_eq!(ids, [&stays]);
}

/// An order that Claude closes while it lies in Codex's own queue: it is asked back.
async fn closed_in_codexs_queue(rig: &mut Rig) -> EntryId {
    let (order, claude) = in_codexs_queue(rig).await;
    let settled = note(NoteKind::Note, "I did it", vec![order.clone()]);
    rig.call(&claude, settled).await.unwrap();
    assert_eq!(rig.taken_back(), std::slice::from_ref(&order));
    assert_eq!(rig.became(&order), []);
    order
}

/// Codex gives it back, and it begins nothing.
async fn comes_back(rig: &mut Rig, order: &EntryId) {
    let message_id = order.clone();
    rig.fact(CodexFact::TakenBack { message_id });
    rig.settle().await;
    assert_eq!(rig.became(order), taken_back("Claude", "Codex"));
    rig.status(ReportedStatus::Idle);
    rig.settle().await;
    assert_eq!(rig.delivered_ids(), []);
}

#[tokio::test]
async fn what_lies_in_codexs_own_queue_is_asked_back_and_does_not_begin() {
    let mut rig = Rig::fresh_with_codex().await;
    let order = closed_in_codexs_queue(&mut rig).await;
    comes_back(&mut rig, &order).await;
}

#[tokio::test]
async fn what_was_asked_back_of_an_app_server_that_is_lost_is_asked_back_of_the_next_one() {
    for another_daemon in [false, true] {
        let place = Place::new();
        let mut rig = Rig::with_codex(&place).await;
        let order = closed_in_codexs_queue(&mut rig).await;
        if another_daemon {
            drop(rig);
            rig = Rig::with_codex(&place).await;
        } else {
            rig.fact(CodexFact::ServerLost {
                why: "killed".to_owned(),
                gave_up: false,
            });
            rig.settle().await;
            rig.codex_runs_as(4_000_010).await;
        }
        // Until it is known where the message is, nobody can give it back.
        rig.taken_back();
        let message_id = order.clone();
        rig.fact(CodexFact::StillQueued { message_id });
        rig.settle().await;
        assert_eq!(rig.taken_back(), std::slice::from_ref(&order));
        comes_back(&mut rig, &order).await;
    }
}

#[tokio::test]
async fn what_was_just_handed_over_when_it_was_closed_and_is_not_taken_does_not_go_out_again() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    let order = rig
        .newest(&claude, hand_off(Agent::Claude, "delete the branch"))
        .await;
    assert_eq!(rig.delivered_ids(), std::slice::from_ref(&order));
    let settled = note(NoteKind::Note, "I did it", vec![order.clone()]);
    rig.call(&claude, settled).await.unwrap();
    assert_eq!(rig.became(&order), []);
    rig.fact(CodexFact::NotTaken {
        message_id: order.clone(),
        why: "the conversation does not open".to_owned(),
    });
    rig.settle().await;
    assert_eq!(rig.became(&order), taken_back("Claude", "Codex"));
    assert_eq!(rig.delivered_ids(), []);
}

impl Rig {
    /// The word of who ordered it that it is done is on the disk, and nobody has heard of it.
    fn closes_unheard(&mut self, by: Agent, order: &EntryId) {
        let recorder = &mut self.daemon.base.recorder;
        let kind = EntryKind::Note {
            note: NoteKind::Note,
            handles: vec![order.clone()],
            withdraws: None,
        };
        let closes = recorder.entry(Party::Agent(by), None, kind, "I did it", None);
        let at_most = Duration::from_secs(30);
        let closed = recorder.append_and_wait(vec![closes], at_most, Box::new(|_, _| {}));
        closed.unwrap();
        assert_eq!(self.became(order), []);
    }
}

#[tokio::test]
async fn a_daemon_that_died_behind_the_senders_word_leaves_it_to_the_next_one() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let claude = rig.connect(Role::Claude, None, false);
    // The one before it is on its way.
    rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    let order = rig
        .newest(&claude, hand_off(Agent::Claude, "delete the branch"))
        .await;
    rig.closes_unheard(Agent::Claude, &order);
    drop(rig);
    let mut rig = Rig::with_codex(&place).await;
    assert_eq!(rig.became(&order), taken_back("Claude", "Codex"));
    assert!(!rig.delivered_ids().contains(&order));
}

#[tokio::test]
async fn a_daemon_that_died_behind_a_compaction_leaves_it_to_the_next_one_without_a_row() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let codex = rig.connect(Role::Codex, None, false);
    let operator = rig.connect(Role::Deck, None, true);
    // Nothing is on its way to a Claude that is not here.
    let order = hand_off(Agent::Codex, "delete the branch");
    let order = rig.newest(&codex, order).await;
    rig.closes_unheard(Agent::Codex, &order);
    rig.compact(&operator).await;
    assert!(rig.world().unsettled[&order].closed_by_sender);
    drop(rig);
    let mut rig = Rig::start(&place).await;
    rig.settle().await;
    assert_eq!(rig.became(&order), taken_back("Codex", "Claude"));
}

#[tokio::test]
async fn a_handoff_of_which_the_record_does_not_say_to_whom_is_refused_without_that() {
    let mut rig = Rig::fresh().await;
    let recorder = &mut rig.daemon.base.recorder;
    let handoff = Handoff {
        reason: String::new(),
        context_refs: Vec::new(),
        on_busy: OnBusy::Queue,
        handles: Vec::new(),
    };
    let (by, kind) = (Agent::Claude.into(), EntryKind::Handoff(handoff));
    let entry = recorder.entry(by, None, kind, "review it", None);
    let id = entry.id.clone();
    recorder.append(vec![entry], Box::new(|_, _| {}));
    rig.settle().await;
    let codex = rig.connect(Role::Codex, None, false);
    let closes = Command::AppendNote(NoteParams {
        handles: vec![id.clone()],
        ..NoteParams::new(Agent::Codex, NoteKind::Done, "reviewed")
    });
    let refusal = rig.call(&codex, closes).await.unwrap_err();
    let said = format!("handoff {id} is of Claude, and what names it would close it");
    assert_eq!(refusal.message, said);
}
