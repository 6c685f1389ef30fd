//! Work that was handed over, behind the end of a session: what is answered stays answered, and the
//! tasks that it was handed over for have it.

use std::collections::BTreeMap;

use super::commands::change_queue;
use super::compact::{hand_off, note};
use super::rig::{Guest, Rig};
use super::tasks::{change, open};
use crate::core::agent::Agent;
use crate::core::entry::NoteKind;
use crate::core::id::{CapsuleId, EntryId};
use crate::store::testing::Place;
use crate::wire::control::{
    ClearParams, Command, GetMessagesParams, IdsParams, NoteParams, QueueChange, ReadContextParams,
    Reply, Role, TaskChange,
};

impl Rig {
    /// What was handed over for a task and how far that is, and how many more there were.
    fn handed_over(&self, task: &CapsuleId) -> (Vec<(EntryId, &'static str)>, u64) {
        let task = &self.world().tasks[task];
        let handoffs = task.handoffs.iter().map(|handoff| {
            let state = match (handoff.is_over, handoff.is_unanswered) {
                (false, false) => "open",
                (true, false) => "answered",
                (true, true) => "closed",
                (false, true) => "open without an answer",
            };
            (handoff.id.clone(), state)
        });
        let dropped = task.dropped.get("handoffs").copied().unwrap_or(0);
        (handoffs.collect(), dropped)
    }

    /// Claude hands over, and Codex has it.
    async fn hand_to_codex(&mut self, claude: &Guest, ask: &str) -> EntryId {
        let handoff = self.newest(claude, hand_off(Agent::Claude, ask)).await;
        self.user_message(&format!("turn-{ask}"), Some(&handoff));
        self.settle().await;
        handoff
    }

    async fn clear_away(&mut self, operator: &Guest) {
        let clear = Command::Clear(ClearParams::default());
        self.call(operator, clear).await.unwrap();
    }
}

fn handles(handoff: &EntryId) -> Command {
    note(NoteKind::Note, "it is done", vec![handoff.clone()])
}

/// As a note of Codex's.
fn answers(handoff: &EntryId) -> Command {
    Command::AppendNote(NoteParams {
        handles: vec![handoff.clone()],
        ..NoteParams::new(Agent::Codex, NoteKind::Note, "all green")
    })
}

fn begun_with(handoff: &EntryId) -> Command {
    change(TaskChange::Open {
        title: "The leak".to_owned(),
        goal: None,
        handoff: Some(handoff.clone()),
    })
}

#[tokio::test]
async fn a_handoff_that_was_answered_before_it_was_acknowledged_stays_answered() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let claude = rig.connect(Role::Claude, Some(7_000_000), false);
    let codex = rig.connect(Role::Codex, None, false);
    let operator = rig.connect(Role::Deck, None, true);
    let one = rig
        .newest(&codex, hand_off(Agent::Codex, "review it"))
        .await;
    let other = rig.newest(&codex, hand_off(Agent::Codex, "test it")).await;
    let fetched = IdsParams {
        agent: Agent::Claude,
        ids: vec![one.clone(), other.clone()],
        rung: None,
    };
    rig.call(&claude, Command::Fetched(fetched)).await.unwrap();
    rig.call(&claude, handles(&one)).await.unwrap();
    let open = |rig: &Rig| -> Vec<EntryId> { rig.world().open_handoffs.keys().cloned().collect() };
    assert_eq!(open(&rig), std::slice::from_ref(&other));
    for _ in 0..2 {
        rig.compact(&operator).await;
        assert_eq!(open(&rig), std::slice::from_ref(&other));
        let closed = rig.world().closed_handoffs.iter();
        let closed: Vec<_> = closed.map(|handoff| &handoff.id).collect();
        assert_eq!(closed, [&one]);
        // It was not acknowledged, answered or not.
        assert_eq!(rig.world().unsettled.len(), 2);
    }
    let get = Command::GetMessages(GetMessagesParams {
        ack: vec![one, other],
        ..GetMessagesParams::of(Agent::Claude)
    });
    let Ok(Reply::Messages(page)) = rig.call(&claude, get).await else {
        panic!("no messages");
    };
    assert_eq!(page.acked.len(), 2);
    let live = rig.world().clone();
    drop(rig);
    assert_eq!(Rig::replayed(&place).0, live);
}

#[tokio::test]
async fn an_open_task_has_its_handoffs_after_a_compaction_and_after_a_clear() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let operator = rig.connect(Role::Deck, None, true);
    let claude = rig.connect(Role::Claude, Some(7_000_000), false);
    let task = rig.task(&operator, open("Login", None)).await;
    let codex = rig.connect(Role::Codex, None, false);
    let answered = rig.hand_to_codex(&claude, "review").await;
    let closed = rig.hand_to_codex(&claude, "weigh").await;
    let asked = rig.hand_to_codex(&claude, "test").await;
    rig.call(&codex, answers(&answered)).await.unwrap();
    rig.call(&claude, handles(&closed)).await.unwrap();
    let ended = [(answered, "answered"), (closed, "closed")];
    let before = ([&ended[..], &[(asked.clone(), "open")]].concat(), 0);
    assert_eq!(rig.handed_over(&task), before);
    rig.compact(&operator).await;
    assert_eq!(rig.handed_over(&task), before);
    let open: Vec<_> = rig.world().open_handoffs.keys().collect();
    assert_eq!(open, [&asked]);

    // In the session after a clear nobody is asked by it any more.
    rig.clear_away(&operator).await;
    assert_eq!(rig.handed_over(&task), before);
    assert!(rig.world().open_handoffs.is_empty() && rig.world().unsettled.is_empty());
    let blocked = note(NoteKind::Blocker, "no database", vec![asked.clone()]);
    rig.call(&claude, blocked).await.unwrap();
    rig.compact(&operator).await;
    assert_eq!(rig.handed_over(&task), before);
    assert!(rig.world().open_handoffs.is_empty());

    // Closed and opened again from behind the end of its session it has them, too.
    let close = TaskChange::Close {
        task: task.clone(),
        outcome: None,
    };
    rig.task(&operator, change(close)).await;
    rig.clear_away(&operator).await;
    assert!(!rig.world().tasks.contains_key(&task));
    let reopen = TaskChange::Reopen { task: task.clone() };
    rig.task(&operator, change(reopen)).await;
    assert_eq!(rig.handed_over(&task), before);
    assert!(rig.world().open_handoffs.is_empty());
    rig.call(&claude, handles(&asked)).await.unwrap();
    let states: BTreeMap<_, _> = rig.handed_over(&task).0.into_iter().collect();
    assert_eq!(states[&asked], "closed");
    rig.status(crate::adapters::codex::fact::ReportedStatus::Idle);
    rig.settle().await;
    rig.delivered();
    let live = rig.world().clone();
    drop(rig);
    assert_eq!(Rig::replayed(&place).0, live);
}

#[tokio::test]
async fn what_a_task_began_with_goes_on_with_the_work_or_is_counted() {
    let mut rig = Rig::fresh_with_codex().await;
    let operator = rig.connect(Role::Deck, None, true);
    let claude = rig.connect(Role::Claude, Some(7_000_000), false);
    let first = rig.hand_to_codex(&claude, "find").await;
    let task = rig.task(&operator, begun_with(&first)).await;
    for state in ["open", "closed"] {
        if state == "closed" {
            rig.call(&claude, handles(&first)).await.unwrap();
        }
        rig.compact(&operator).await;
        let handed_over = rig.handed_over(&task);
        assert_eq!(handed_over, (vec![(first.clone(), state)], 0));
    }
    for _ in 0..2 {
        rig.clear_away(&operator).await;
        assert_eq!(rig.handed_over(&task), (Vec::new(), 1));
    }
}

#[tokio::test]
async fn a_handoff_that_nobody_got_stands_in_the_task_alone_after_a_compaction() {
    let mut rig = Rig::fresh().await;
    let operator = rig.connect(Role::Deck, None, true);
    let codex = rig.connect(Role::Codex, None, false);
    let task = rig.task(&operator, open("Login", None)).await;
    let handoff = rig.newest(&codex, hand_off(Agent::Codex, "test it")).await;
    let began = rig.task(&operator, begun_with(&handoff)).await;
    let cancel = change_queue(handoff.clone(), QueueChange::Remove);
    rig.call(&operator, cancel).await.unwrap();
    assert_eq!(rig.world().standing_handoffs().count(), 0);
    for _ in 0..2 {
        rig.compact(&operator).await;
        let handed_over = rig.handed_over(&task);
        assert_eq!(handed_over, (vec![(handoff.clone(), "closed")], 0));
        assert_eq!(rig.handed_over(&began), (Vec::new(), 1));
        assert_eq!(rig.world().standing_handoffs().count(), 0);
    }
}

#[tokio::test]
async fn the_answer_of_the_one_who_was_asked_counts_as_well() {
    let mut rig = Rig::fresh_with_codex().await;
    let operator = rig.connect(Role::Deck, None, true);
    let claude = rig.connect(Role::Claude, Some(7_000_000), false);
    let codex = rig.connect(Role::Codex, None, false);
    let task = rig.task(&operator, open("Login", None)).await;
    let handoff = rig.hand_to_codex(&claude, "test").await;
    rig.clear_away(&operator).await;
    rig.call(&codex, answers(&handoff)).await.unwrap();
    assert_eq!(rig.handed_over(&task), (vec![(handoff, "answered")], 0));
}

#[tokio::test]
async fn what_the_operator_closed_and_took_back_from_its_way_stays_closed() {
    let mut rig = Rig::fresh_with_codex().await;
    let operator = rig.connect(Role::Deck, None, true);
    let claude = rig.connect(Role::Claude, Some(7_000_000), false);
    let task = rig.task(&operator, open("Login", None)).await;
    let handoff = rig.newest(&claude, hand_off(Agent::Claude, "test")).await;
    assert!(rig.delivered_ids().contains(&handoff));
    rig.nobody_knows(&handoff);
    rig.settle().await;
    let close = Command::AppendNote(NoteParams {
        handles: vec![handoff.clone()],
        ..NoteParams::new(None, NoteKind::Note, "done elsewhere")
    });
    rig.call(&operator, close).await.unwrap();
    let cancel = change_queue(handoff.clone(), QueueChange::Remove);
    rig.call(&operator, cancel).await.unwrap();
    let closed = (vec![(handoff, "closed")], 0);
    assert_eq!(rig.handed_over(&task), closed);
    for _ in 0..2 {
        rig.compact(&operator).await;
        assert_eq!(rig.handed_over(&task), closed);
    }
}

#[tokio::test]
async fn what_its_sender_took_back_stands_again_behind_no_rejection() {
    for is_compacted in [false, true] {
        let mut rig = Rig::fresh().await;
        let operator = rig.connect(Role::Deck, None, true);
        let codex = rig.connect(Role::Codex, None, false);
        let handoff = rig.newest(&codex, hand_off(Agent::Codex, "test it")).await;
        rig.propose(&codex, Agent::Codex, &handoff).await;
        rig.call(&codex, answers(&handoff)).await.unwrap();
        rig.settle().await;
        if is_compacted {
            rig.compact(&operator).await;
        }
        rig.reject().await;
        let read = Command::ReadContext(ReadContextParams::default());
        let Ok(Reply::Context(page)) = rig.call(&codex, read).await else {
            panic!("no context");
        };
        assert_eq!(page.open_handoffs, [] as [serde_json::Value; 0]);
        assert_eq!(rig.world().blocker_count(&[], 0), 0, "{is_compacted}");
    }
}
