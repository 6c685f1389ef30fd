use std::sync::mpsc::{Receiver, channel};

use rusqlite::Connection;

use super::*;
use crate::testing::Place;
use ctxrelay_core::agent::Agent;
use ctxrelay_core::delivery::{DeliveryState, OnBusy};
use ctxrelay_core::id::{AttemptId, RuntimeSession};

const SOON: Duration = Duration::from_secs(20);

fn row(number: u64) -> Delivery {
    let mut row = Delivery::recorded(
        EntryId::new(format!("m{number}")),
        Seq(number),
        Agent::Codex,
        RuntimeSession::default(),
        OnBusy::Queue,
        0,
    );
    row.attempts = 1;
    row.attempt = Some(AttemptId::new("a"));
    row.state = DeliveryState::Attempted;
    row
}

fn start(place: &Place) -> (QueueWriter, Receiver<QueueEvent>) {
    let (events, told) = channel();
    let queue = Queue::open(&place.dirs).unwrap();
    let writer = QueueWriter::start(queue, move |event| drop(events.send(event))).unwrap();
    (writer, told)
}

/// Waits until this was answered; whether all of it was written.
fn answered(told: &Receiver<QueueEvent>, token: u64) -> bool {
    let mut all = true;
    loop {
        match told.recv_timeout(SOON).unwrap() {
            QueueEvent::Durable { upto } if upto >= token => return all,
            QueueEvent::Failed { upto, .. } if upto >= token => return false,
            QueueEvent::Durable { .. } => {}
            QueueEvent::Failed { .. } => all = false,
            QueueEvent::Gone => panic!("it is gone"),
        }
    }
}

fn on_disk(place: &Place) -> Vec<String> {
    let rows = Queue::open(&place.dirs).unwrap().load().unwrap();
    rows.into_iter().map(|row| row.id.to_string()).collect()
}

/// Somebody else writes the file, so that nobody else can.
fn occupied(place: &Place) -> Connection {
    let other = Connection::open(place.dirs.state_file("queue.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    other
}

#[test]
fn what_is_told_as_durable_is_there_in_its_order() {
    let place = Place::new();
    let (mut writer, told) = start(&place);
    let token = writer.put(vec![row(1), row(2)]).unwrap();
    assert!(answered(&told, token));
    assert_eq!(on_disk(&place), ["m1", "m2"]);
    writer.remove(EntryId::new("m1")).unwrap();
    let again = Delivery {
        seq: Seq(9),
        ..row(1)
    };
    writer.put(vec![again]).unwrap();
    writer.remove(EntryId::new("m2")).unwrap();
    let token = writer.put(Vec::new()).unwrap();
    assert!(answered(&told, token));
    assert_eq!(on_disk(&place), ["m1"]);
    writer.close();
    assert_eq!(on_disk(&place), ["m1"]);
}

#[test]
fn what_waited_is_written_together_and_answered_once() {
    let place = Place::new();
    let (mut writer, told) = start(&place);
    let other = occupied(&place);
    let first = writer.put(vec![row(1)]).unwrap();
    let tokens: Vec<u64> = (2..=40)
        .map(|number| writer.put(vec![row(number)]).unwrap())
        .collect();
    other.execute_batch("COMMIT").unwrap();
    let mut upto = Vec::new();
    while upto.last() != tokens.last() {
        match told.recv_timeout(SOON).unwrap() {
            QueueEvent::Durable { upto: token } => upto.push(token),
            other => panic!("{other:?}"),
        }
    }
    // The first may have begun by itself; what came meanwhile is one write.
    assert!(upto.len() <= 2, "{upto:?}");
    assert!(upto[0] >= first);
    writer.close();
    assert_eq!(on_disk(&place).len(), 40);
}

#[test]
fn a_write_that_fails_leaves_nothing_and_the_next_is_tried_anew() {
    let place = Place::new();
    let (mut writer, told) = start(&place);
    let token = writer.put(vec![row(1), row(2)]).unwrap();
    assert!(answered(&told, token));
    let other = Connection::open(place.dirs.state_file("queue.db")).unwrap();
    other
        .execute_batch(
            "CREATE TRIGGER full BEFORE UPDATE ON marks BEGIN SELECT RAISE(ABORT, 'disk'); END",
        )
        .unwrap();
    writer.remove(EntryId::new("m1")).unwrap();
    let token = writer.put(vec![row(3)]).unwrap();
    assert!(!answered(&told, token));
    assert!(!on_disk(&place).contains(&"m3".to_owned()));
    other.execute_batch("DROP TRIGGER full").unwrap();
    let token = writer.put(vec![row(4)]).unwrap();
    assert!(answered(&told, token));
    // What was to be forgotten is, though its own try failed.
    assert_eq!(on_disk(&place), ["m2", "m4"]);
}

#[test]
fn too_much_at_once_is_refused_and_the_rest_is_written() {
    let place = Place::new();
    let (mut writer, told) = start(&place);
    let other = occupied(&place);
    let mut last = 0;
    let refused = loop {
        match writer.put(vec![row(last + 1)]) {
            Ok(token) => last = token,
            Err(refused) => break refused,
        }
    };
    assert_eq!(refused, RowsNotTaken::Full);
    assert!(last as usize >= WAITING_MAX);
    other.execute_batch("COMMIT").unwrap();
    assert!(answered(&told, last));
    let token = writer.put(vec![row(last + 1)]).unwrap();
    assert_eq!(token, last + 1);
    assert!(answered(&told, token));
    assert_eq!(on_disk(&place).len() as u64, token);
}

#[test]
fn a_rebuilt_queue_holds_what_it_was_given_and_what_came_after() {
    let place = Place::new();
    let (mut writer, told) = start(&place);
    writer.put(vec![row(1), row(2)]).unwrap();
    let token = writer.rebuild(&place.dirs, vec![row(2)], Seq(7)).unwrap();
    let after = writer.put(vec![row(3)]).unwrap();
    assert!(after > token);
    assert!(answered(&told, after));
    assert_eq!(on_disk(&place), ["m2", "m3"]);
    let high_water = Queue::open(&place.dirs).unwrap().high_water().unwrap();
    assert_eq!(high_water, Seq(7));
}

#[test]
fn erased_is_what_was_given_before_and_nothing_of_it_is_left() {
    let place = Place::new();
    let (mut writer, told) = start(&place);
    let mut secret = row(1);
    secret.runtime_session = RuntimeSession::new("a-name-that-is-found");
    writer.put(vec![secret]).unwrap();
    writer.erase().unwrap().wait(SOON).unwrap();
    let token = writer.put(vec![row(2)]).unwrap();
    assert!(answered(&told, token));
    writer.close();
    assert_eq!(on_disk(&place), ["m2"]);
    for file in ["queue.db", "queue.db-wal"] {
        let bytes = std::fs::read(place.dirs.state_file(file)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("a-name-that-is-found"), "{file}");
    }
}

#[test]
fn whoever_waits_on_a_disk_that_hangs_gives_up() {
    let place = Place::new();
    let (mut writer, told) = start(&place);
    let other = occupied(&place);
    let token = writer.put(vec![row(1)]).unwrap();
    let late = writer
        .scrub()
        .unwrap()
        .wait(Duration::from_millis(1))
        .unwrap_err();
    assert!(matches!(late, QueueError::Late(_)), "{late}");
    other.execute_batch("COMMIT").unwrap();
    assert!(answered(&told, token));
}

#[test]
fn what_was_given_is_written_before_it_is_closed() {
    let place = Place::new();
    let (mut writer, _told) = start(&place);
    for number in 1..=100 {
        writer.put(vec![row(number)]).unwrap();
    }
    drop(writer);
    assert_eq!(on_disk(&place).len(), 100);
}

#[test]
fn a_writer_that_panics_says_so_and_takes_nothing_more() {
    let place = Place::new();
    let (events, told) = channel();
    let queue = Queue::open(&place.dirs).unwrap();
    let mut writer = QueueWriter::start(queue, move |event| {
        let is_gone = matches!(event, QueueEvent::Gone);
        drop(events.send(event));
        assert!(is_gone, "a test's panic");
    })
    .unwrap();
    let token = writer.put(vec![row(1)]).unwrap();
    assert!(matches!(told.recv_timeout(SOON), Ok(QueueEvent::Durable { upto }) if upto == token));
    assert!(matches!(told.recv_timeout(SOON), Ok(QueueEvent::Gone)));
    assert_eq!(
        writer.put(vec![row(2)]).unwrap_err(),
        RowsNotTaken::WriterGone
    );
    let erased = writer.erase().and_then(|scrubbing| scrubbing.wait(SOON));
    let gone = erased.unwrap_err();
    assert!(matches!(gone, QueueError::WriterGone(_)), "{gone}");
}
