//! What is said and done where a line of the record cannot be read any more.

use super::commands::wait_messages;
use super::compact::{hand_off, note};
use super::rig::{Guest, Rig};
use super::sent_again::spoil;
use super::silence::ended;
use super::tasks::open;
use crate::adapters::codex::fact::CodexFact;
use crate::core::agent::{Agent, Party};
use crate::core::delivery::OnBusy;
use crate::core::entry::{EntryKind, NoteKind, TurnStatus};
use crate::core::id::{EntryId, TurnId};
use crate::core::snapshot::Snapshot;
use crate::daemon::sessions::carrying::compaction_wants;
use crate::wire::control::{ClearParams, Command, RefusalCode, Role, SendParams};

/// More entries than are in memory.
const LONG: usize = 1_001;

impl Rig {
    /// Somebody writes over the line of a message, which is in memory no longer.
    async fn spoil_message(&mut self, id: &EntryId) {
        let recorder = &mut self.daemon.base.recorder;
        let seq = recorder.world().unsettled[id].seq;
        let filler = || recorder.entry(Party::Human, None, NoteKind::Note, "x", None);
        let filler = std::iter::repeat_with(filler).take(LONG).collect();
        recorder.append(filler, Box::new(|_, _| {}));
        self.settle().await;
        assert!(self.daemon.base.recorder.recent_entry(seq).is_none());
        spoil(self, seq);
    }

    /// Who the record says started a turn, of each of its entries.
    fn starters(&self) -> Vec<(TurnStatus, Party)> {
        let recent = self.daemon.base.recorder.recent().iter();
        let of_turns = recent.filter_map(|stored| match &stored.entry.kind {
            EntryKind::Turn(turn) => Some((turn.status, turn.started_by.clone())),
            _ => None,
        });
        of_turns.collect()
    }

    /// The last thing that was said to Claude.
    fn last_told(&self) -> String {
        let mut recent = self.daemon.base.recorder.recent().iter().rev();
        let is_to_claude = |entry: &crate::core::entry::Entry| {
            entry.receiver() == Some(Agent::Claude) && matches!(entry.kind, EntryKind::Message(_))
        };
        let told = recent.find(|stored| is_to_claude(&stored.entry));
        told.unwrap().entry.content.clone()
    }
}

async fn refused(rig: &mut Rig, guest: &Guest, command: Command) -> RefusalCode {
    rig.call(guest, command).await.unwrap_err().code
}

#[tokio::test]
async fn a_turn_of_a_message_that_cannot_be_read_is_no_turn_of_the_persons() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    for (turn, status) in [
        ("turn-1", TurnStatus::Completed),
        ("turn-2", TurnStatus::Failed),
    ] {
        let id = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
        rig.spoil_message(&id).await;
        rig.user_message(turn, Some(&id));
        rig.settle().await;
        let of_claude = Party::Agent(Agent::Claude);
        let begun = (TurnStatus::InProgress, of_claude.clone());
        assert_eq!(rig.starters(), std::slice::from_ref(&begun));
        if status == TurnStatus::Completed {
            rig.completed(turn, std::slice::from_ref(&id), "all of them");
            rig.settle().await;
            assert_eq!(rig.last_told(), "all of them");
        } else {
            ended(&mut rig, turn, status, &[&id], false).await;
            let told = rig.last_told();
            assert!(told.contains(id.as_str()), "{told}");
            assert!(told.contains("cannot be read"), "{told}");
        }
        assert_eq!(rig.starters(), [begun, (status, of_claude)]);
    }
}

#[tokio::test]
async fn who_asks_for_an_entry_that_cannot_be_read_hears_that_and_not_that_it_is_not_there() {
    let mut rig = Rig::fresh().await;
    let claude = rig.connect(Role::Claude, None, false);
    let codex = rig.connect(Role::Codex, None, false);
    let handoff = hand_off(Agent::Claude, "sort the plums");
    let id = rig.newest(&claude, handoff.clone()).await;
    let message = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    rig.spoil_message(&id).await;
    rig.spoil_message(&message).await;
    let reply = |handles, in_reply_to| {
        Command::Send(SendParams {
            from: Some(Agent::Codex),
            text: "done".to_owned(),
            handles,
            in_reply_to,
            ..SendParams::default()
        })
    };
    let unreadable = RefusalCode::LedgerUnreadable;
    // Said in other words it would be there twice.
    assert_eq!(refused(&mut rig, &claude, handoff).await, unreadable);
    let answer = reply(vec![message.clone()], None);
    assert_eq!(refused(&mut rig, &codex, answer).await, unreadable);
    let answer = reply(Vec::new(), Some(message.clone()));
    assert_eq!(refused(&mut rig, &codex, answer).await, unreadable);
    let show = Command::LedgerShow {
        entry: message.to_string(),
        full: false,
        placed: false,
    };
    assert_eq!(refused(&mut rig, &codex, show).await, unreadable);
}

#[tokio::test]
async fn a_call_that_waits_for_an_answer_knows_where_its_question_stands() {
    let mut rig = Rig::fresh().await;
    let claude = rig.connect(Role::Claude, None, false);
    let codex = rig.connect(Role::Codex, None, false);
    // Without an app-server it waits until Codex asks.
    rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    let question = rig.send(&codex, Agent::Codex, OnBusy::Queue).await;
    let wait = wait_messages(Agent::Codex, Some(question.clone()), 50_000);
    let mut waiting = rig.ask(&codex, wait);
    rig.spoil_message(&question).await;
    rig.daemon.answer_waiters();
    // What was sent before the question is in memory no longer: nobody asks the disk for it.
    let looked_at = rig.daemon.base.clients.waiters().next_after(None);
    assert!(looked_at.is_some(), "it is being read for");
    assert!(waiting.try_recv().is_err());
}

#[tokio::test]
async fn a_compaction_leaves_nothing_out_that_was_said_of_a_handoff_and_cannot_be_read() {
    let mut rig = Rig::fresh().await;
    let claude = rig.connect(Role::Claude, None, false);
    let codex = rig.connect(Role::Codex, None, false);
    let handoff = rig.newest(&codex, hand_off(Agent::Codex, "sort it")).await;
    let blocked = note(NoteKind::Blocker, "the key is missing", vec![handoff]);
    rig.call(&claude, blocked).await.unwrap();
    let recorder = &rig.daemon.base.recorder;
    let (world, ledger) = (recorder.world(), recorder.ledger());
    let seq = world.open_blockers.back().unwrap().seq;
    assert!(
        compaction_wants(world, ledger, |_| None)
            .unwrap()
            .contains(&seq)
    );
    spoil(&rig, seq);
    let refused = compaction_wants(world, ledger, |_| None).unwrap_err();
    assert_eq!(refused.code, RefusalCode::LedgerUnreadable);
}

#[tokio::test]
async fn a_compaction_asks_the_disk_once_for_what_was_said_of_a_handoff() {
    let mut rig = Rig::fresh().await;
    let claude = rig.connect(Role::Claude, None, false);
    let codex = rig.connect(Role::Codex, None, false);
    let handoff = rig.newest(&codex, hand_off(Agent::Codex, "sort it")).await;
    let blocked = note(NoteKind::Blocker, "the key is missing", vec![handoff]);
    rig.call(&claude, blocked).await.unwrap();
    let blocker = |world: &Snapshot| world.open_blockers.back().unwrap().seq;
    rig.compact_over_lost_line(blocker).await;
    assert_eq!(rig.daemon.base.recorder.world().open_blockers.len(), 1);
}

#[tokio::test]
async fn a_blocker_of_no_task_that_cannot_be_read_holds_up_no_clear() {
    let mut rig = Rig::fresh().await;
    let operator = rig.connect(Role::Deck, None, true);
    let claude = rig.connect(Role::Claude, None, false);
    let blocked = note(NoteKind::Blocker, "of no task", Vec::new());
    rig.call(&claude, blocked).await.unwrap();
    rig.task(&operator, open("Login", None)).await;
    let seq = rig.daemon.base.recorder.world().open_blockers[0].seq;
    spoil(&rig, seq);
    let clear = Command::Clear(ClearParams::default());
    rig.call(&operator, clear).await.unwrap();
    let world = rig.daemon.base.recorder.world();
    assert!(world.open_blockers.is_empty());
    assert_eq!(world.open_tasks().count(), 1);
}

#[tokio::test]
async fn of_a_secret_that_goes_on_behind_what_is_shown_of_a_prompt_nothing_is_recorded() {
    let mut rig = Rig::fresh_with_codex().await;
    let words = "word ".repeat(38);
    let token = concat!("ghp_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    rig.fact(CodexFact::UserMessage {
        turn_id: TurnId::new("turn-1"),
        client_id: None,
        preview: format!("{words}{token} is it"),
        steered: false,
    });
    rig.settle().await;
    let record = std::fs::read_to_string(rig.daemon.base.recorder.ledger().path()).unwrap();
    assert!(record.contains("word word"), "{record}");
    assert!(!record.contains(&token[..8]), "{record}");
}
