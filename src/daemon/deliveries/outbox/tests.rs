use std::sync::{Arc, Mutex};

use super::*;
use crate::adapters::test_log::TestLog;
use crate::core::agent::Party;
use crate::core::delivery::{DeliveryFact, DeliveryState};
use crate::core::entry::DeliveryResult;
use crate::core::id::AttemptId;
use crate::core::lock::lock;
use crate::store::testing::Place;

fn world(result: Option<DeliveryResult>) -> Snapshot {
    let message = MessageSnapshot {
        seq: Seq(3),
        from: Party::Agent(Agent::Claude),
        to: Agent::Codex,
        at_ms: 0,
        sent_ms: None,
        runtime_session: None,
        on_busy: Default::default(),
        result,
        rung: None,
        hash: None,
        cut_off_in: Vec::new(),
        answers: 0,
        closed: false,
        closed_by_sender: false,
        closed_by_operator: false,
        answered_in_turn: false,
        will_be_sent_again: false,
    };
    Snapshot {
        seq: Seq(4),
        unsettled: [(EntryId::new("m"), Arc::new(message))].into(),
        ..Snapshot::default()
    }
}

fn open(place: &Place, world: &Snapshot) -> (Outbox, Vec<EntryId>) {
    Outbox::open(Queue::open(&place.dirs).unwrap(), world, |_| {}).unwrap()
}

fn state(outbox: &Outbox) -> DeliveryState {
    outbox.get(&EntryId::new("m")).unwrap().state
}

#[test]
fn without_its_queue_nothing_is_sent_again_by_itself() {
    for result in [None, Some(DeliveryResult::Requeued)] {
        let place = Place::new();
        let (outbox, unknowable) = open(&place, &world(result));
        assert_eq!(state(&outbox), DeliveryState::Ambiguous);
        assert_eq!(unknowable.len(), 1);
        // A crash before the ledger says so.
        drop(outbox);
        let (outbox, unknowable) = open(&place, &world(result));
        assert_eq!(state(&outbox), DeliveryState::Ambiguous, "{result:?}");
        assert_eq!(unknowable.len(), 1);
    }
}

#[test]
fn an_older_copy_of_the_queue_is_set_aside_and_a_crash_leaves_none() {
    let place = Place::new();
    std::fs::create_dir_all(place.user.registry.join("heads")).unwrap();
    let open = |is_older: bool| {
        let (queue, was_older) = Outbox::queue_of(&place.dirs, &place.user).unwrap();
        assert_eq!(was_older, is_older);
        Outbox::open(queue, &world(None), |_| {}).unwrap()
    };
    let (mut outbox, _) = open(false);
    outbox.rebuild(&place.dirs, Seq(4)).unwrap();
    drop(outbox);
    let file = place.dirs.state_file("queue.db");
    let copy = std::fs::read(&file).unwrap();
    let outside = place.user.queue_generation(&place.dirs.instance_id());
    let kept = std::fs::read(&outside).unwrap();
    let (mut outbox, _) = open(false);
    outbox.sync().unwrap();
    drop(outbox);
    // A crash between the row and the number outside; and one of the machine, which lost that.
    for lost in [Some(kept), None] {
        match lost {
            Some(kept) => std::fs::write(&outside, kept).unwrap(),
            None => std::fs::remove_file(&outside).unwrap(),
        }
        let (mut outbox, _) = open(false);
        outbox.sync().unwrap();
    }
    std::fs::write(&file, copy).unwrap();
    let (outbox, unknowable) = open(true);
    assert_eq!(
        (state(&outbox), unknowable),
        (DeliveryState::Ambiguous, vec![EntryId::new("m")])
    );
    drop(outbox);
    open(false);
}

#[test]
fn a_queue_that_was_made_and_not_filled_counts_as_lost() {
    let place = Place::new();
    drop(Queue::open(&place.dirs).unwrap());
    let (outbox, _) = open(&place, &world(None));
    assert_eq!(state(&outbox), DeliveryState::Ambiguous);
}

#[test]
fn the_operators_wish_for_another_try_outlives_a_crash_before_its_row() {
    let place = Place::new();
    let (mut outbox, _) = open(&place, &Snapshot::default());
    let id = EntryId::new("m");
    outbox.track(id.clone(), &world(None).unsettled[&id], 1);
    for fact in [
        DeliveryFact::AttemptBegan(AttemptId::new("a")),
        DeliveryFact::Unknowable,
    ] {
        assert!(outbox.backlog.apply(&id, fact, 1));
        outbox.store([&id].into_iter(), None).unwrap();
    }
    drop(outbox);
    let (outbox, _) = open(&place, &world(Some(DeliveryResult::Requeued)));
    assert_eq!(state(&outbox), DeliveryState::Queued);
}

#[test]
fn what_is_sent_once_more_waits_from_then_on_whenever_it_was_sent_first_over_a_restart_too() {
    let place = Place::new();
    let (mut outbox, _) = open(&place, &Snapshot::default());
    let (id, again) = (EntryId::new("m"), world(Some(DeliveryResult::Requeued)));
    outbox.track_again(id.clone(), &again.unsettled[&id], 9_000);
    assert_eq!(outbox.get(&id).unwrap().changed_ms, 9_000);
    drop(outbox);
    let (outbox, _) = open(&place, &again);
    let row = outbox.get(&id).unwrap();
    assert_eq!((row.state, row.changed_ms), (DeliveryState::Queued, 9_000));
}

#[test]
fn a_settled_row_that_the_writer_could_not_take_goes_with_the_next_write() {
    let place = Place::new();
    let (go_on, held) = std::sync::mpsc::channel::<()>();
    let queue = Queue::open(&place.dirs).unwrap();
    // It answers nothing until it may, and so writes nothing either.
    let hold = move |_| {
        let _ = held.recv();
    };
    let (mut outbox, _) = Outbox::open(queue, &Snapshot::default(), hold).unwrap();
    let id = EntryId::new("m");
    outbox.track(id.clone(), &world(None).unsettled[&id], 1);
    let began = DeliveryFact::AttemptBegan(AttemptId::new("a"));
    assert!(outbox.backlog.apply(&id, began, 1));
    outbox.store([&id].into_iter(), None).unwrap();
    while outbox.sync().is_ok() {}
    outbox.settle(&id);
    drop(go_on);
    while outbox.sync().is_err() {
        std::thread::yield_now();
    }
    drop(outbox);
    assert_eq!(Queue::open(&place.dirs).unwrap().load().unwrap(), []);
}

#[test]
fn settled_rows_that_wait_are_one_line_of_the_log_until_the_writer_takes_one() {
    let place = Place::new();
    let path = place.dir.path().join("log");
    let log = std::fs::File::create(&path).unwrap();
    let _logged = TestLog::to(Arc::new(log));
    // Who holds it keeps the writer from going on behind an answer, and so from taking more once its
    // queue is full. It tells that it comes to it, and, with it in its hand, that it goes on.
    let gate = Arc::new(Mutex::new(()));
    let closed = Arc::clone(&gate);
    let (sender, told) = std::sync::mpsc::channel();
    let queue = Queue::open(&place.dirs).unwrap();
    let answer = move |_| {
        let _ = sender.send(true);
        let passed = lock(&closed);
        let _ = sender.send(false);
        drop(passed);
    };
    let (mut outbox, _) = Outbox::open(queue, &Snapshot::default(), answer).unwrap();
    let mut is_at_gate = false;
    for times in 1..=2 {
        // The removals of the round before are taken by then.
        while outbox.sync().is_err() {
            std::thread::yield_now();
        }
        let held = lock(&gate);
        is_at_gate = told.try_iter().last().unwrap_or(is_at_gate);
        if !is_at_gate {
            // Where there is no room for it, the writer has work.
            let _ = outbox.sync();
            is_at_gate = told.recv().unwrap();
        }
        assert!(is_at_gate, "nobody goes on while this is held");
        while outbox.sync().is_ok() {}
        for n in 0..1_000 {
            outbox.forget(&EntryId::new(format!("m{n}")));
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let lines = text.lines().filter(|line| line.contains("settled rows"));
        assert_eq!(lines.count(), times, "{text}");
        drop(held);
    }
}
