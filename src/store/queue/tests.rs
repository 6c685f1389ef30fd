use ctxrelay_core::agent::Agent;
use ctxrelay_core::delivery::{DeliveryState, OnBusy, Shown};
use ctxrelay_core::id::{AttemptId, RuntimeSession, ThreadId};

use super::*;
use crate::testing::{Place, mode};

fn message(id: &str, seq: u64) -> Delivery {
    Delivery {
        id: EntryId::new(id),
        seq: Seq(seq),
        to: Agent::Codex,
        runtime_session: RuntimeSession::new("pair-2"),
        on_busy: OnBusy::Steer,
        state: DeliveryState::Attempted,
        attempts: 3,
        attempt: Some(AttemptId::new("a3")),
        changed_ms: 1_795_000_000_000,
        shown: Shown::Nothing,
        in_turn: false,
        lost_turn: seq == 20,
        thread: (seq == 20).then(|| ThreadId::new("thread-20")),
        withdrawn: seq == 20,
        cut_off_in: Vec::new(),
    }
}

#[test]
fn what_was_put_is_there_after_opening_again() {
    let place = Place::new();
    let queue = Queue::open(&place.dirs).unwrap();
    assert!(queue.is_new());
    let mut second = message("m2", 20);
    second.attempt = None;
    second.to = Agent::Claude;
    queue
        .upsert(&[second.clone(), message("m1", 10)], None)
        .unwrap();
    second.state = DeliveryState::Offered;
    queue.upsert(std::slice::from_ref(&second), None).unwrap();
    queue.upsert(&[], Some(Seq(20))).unwrap();
    drop(queue);

    let queue = Queue::open(&place.dirs).unwrap();
    assert!(!queue.is_new());
    assert_eq!(queue.load().unwrap(), [message("m1", 10), second]);
    assert_eq!(queue.high_water().unwrap(), Seq(20));
    queue.remove(&EntryId::new("m1")).unwrap();
    queue.remove(&EntryId::new("m1")).unwrap();
    assert_eq!(queue.load().unwrap().len(), 1);
    assert_eq!(mode(queue.path()), 0o600);
}

#[test]
fn every_state_survives() {
    let place = Place::new();
    let queue = Queue::open(&place.dirs).unwrap();
    let states = [
        DeliveryState::Queued,
        DeliveryState::Attempted,
        DeliveryState::Offered,
        DeliveryState::Confirmed,
        DeliveryState::Rejected,
        DeliveryState::Expired,
        DeliveryState::Ambiguous,
        DeliveryState::Cancelled,
    ];
    for state in states {
        let mut delivery = message("m", 1);
        delivery.state = state;
        queue.upsert(std::slice::from_ref(&delivery), None).unwrap();
        assert_eq!(queue.load().unwrap(), [delivery]);
    }
}

#[test]
fn rows_and_mark_are_written_together_or_not_at_all() {
    let place = Place::new();
    let queue = Queue::open(&place.dirs).unwrap();
    queue.upsert(&[message("m1", 1)], Some(Seq(1))).unwrap();
    queue
        .db
        .execute_batch(
            "CREATE TRIGGER full BEFORE UPDATE ON marks BEGIN SELECT RAISE(ABORT, 'disk'); END",
        )
        .unwrap();
    assert!(queue.upsert(&[message("m2", 2)], Some(Seq(2))).is_err());
    assert_eq!(queue.load().unwrap(), [message("m1", 1)]);
    assert_eq!(queue.high_water().unwrap(), Seq(1));
}

#[test]
fn it_is_a_write_ahead_log_and_synced() {
    let place = Place::new();
    let queue = Queue::open(&place.dirs).unwrap();
    let pragma = |name: &str| -> String {
        let sql = format!("PRAGMA {name}");
        queue
            .db
            .query_row(&sql, [], |row| row.get::<_, rusqlite::types::Value>(0))
            .map(|value| format!("{value:?}"))
            .unwrap()
    };
    assert_eq!(pragma("journal_mode"), "Text(\"wal\")");
    assert_eq!(pragma("synchronous"), "Integer(2)");
    assert_eq!(pragma("user_version"), "Integer(7)");
}

#[test]
fn sqlite_can_do_nothing_that_we_do_not_use() {
    let db = Connection::open_in_memory().unwrap();
    let mut rows = db.prepare("PRAGMA compile_options").unwrap();
    let options = rows.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let options: Vec<String> = options.map(Result::unwrap).collect();
    let is_set = |name: &str| options.iter().any(|option| option == name);
    for left_out in ["OMIT_JSON", "OMIT_LOAD_EXTENSION"] {
        assert!(is_set(left_out), "{left_out}: {options:?}");
    }
    for unused in ["ENABLE_FTS3", "ENABLE_RTREE", "ENABLE_LOAD_EXTENSION"] {
        assert!(!is_set(unused), "{unused}: {options:?}");
    }
    assert!(is_set("ENABLE_FTS5"), "{options:?}");
    assert!(is_set("DEFAULT_PCACHE_INITSZ=0"), "{options:?}");
}

#[test]
fn a_settled_row_goes_without_a_sync_and_the_next_row_is_synced() {
    let place = Place::new();
    let queue = Queue::open(&place.dirs).unwrap();
    let level = || -> i64 {
        let level = queue
            .db
            .query_row("PRAGMA synchronous", [], |row| row.get(0));
        level.unwrap()
    };
    let (normal, full) = (1, 2);
    let steps: [&dyn Fn() -> Result<(), QueueError>; 5] = [
        &|| queue.upsert(&[message("m2", 2)], None),
        &|| queue.upsert(&[], Some(Seq(2))),
        &|| queue.upsert(&[], None),
        &|| queue.scrub(),
        &|| queue.erase(),
    ];
    for synced in steps {
        queue.upsert(&[message("m1", 1)], None).unwrap();
        queue.remove(&EntryId::new("m1")).unwrap();
        assert_eq!(level(), normal);
        // Gone for everybody at once: a crash of the program alone brings nothing back.
        let other = Queue::open(&place.dirs).unwrap();
        assert!(
            other
                .load()
                .unwrap()
                .iter()
                .all(|row| row.id.as_str() != "m1")
        );
        drop(other);
        synced().unwrap();
        assert_eq!(level(), full);
    }
}

#[test]
fn a_damaged_file_is_set_aside_and_the_queue_is_new() {
    let place = Place::new();
    let path = place.dirs.state_file("queue.db");
    let half = {
        let queue = Queue::open(&place.dirs).unwrap();
        let many: Vec<_> = (0..500).map(|n| message(&format!("m{n}"), n)).collect();
        queue.upsert(&many, None).unwrap();
        drop(queue);
        let mut bytes = fs::read(&path).unwrap();
        let (from, to) = (4096, bytes.len() - 4096);
        bytes[from..to].fill(0xff);
        bytes
    };
    let foreign = {
        let other = place.dir.path().join("other.db");
        Connection::open(&other)
            .unwrap()
            .execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE messages (id TEXT); PRAGMA user_version = 1;")
            .unwrap();
        fs::read(&other).unwrap()
    };
    for (bytes, n) in [
        b"not a database, but long enough to look at".to_vec(),
        half,
        foreign,
    ]
    .into_iter()
    .zip(1..)
    {
        for log in ["queue.db-wal", "queue.db-shm"] {
            drop(fs::remove_file(place.dirs.state_file(log)));
        }
        fs::write(&path, &bytes).unwrap();
        let queue = Queue::open(&place.dirs).unwrap();
        assert!(queue.is_new(), "{n}");
        assert_eq!(queue.load().unwrap(), []);
        drop(queue);
        let kept = fs::read_dir(&place.dirs.state)
            .unwrap()
            .filter(|file| fs::read(file.as_ref().unwrap().path()).unwrap() == bytes)
            .count();
        assert_eq!(kept, 1, "{n}");
    }
}

#[test]
fn a_newer_queue_is_left_alone() {
    let place = Place::new();
    drop(Queue::open(&place.dirs).unwrap());
    Connection::open(place.dirs.state_file("queue.db"))
        .unwrap()
        .execute_batch("PRAGMA user_version = 99")
        .unwrap();
    let refused = Queue::open(&place.dirs).unwrap_err();
    assert!(
        matches!(refused, QueueError::Newer { version: 99, .. })
            && matches!(
                Queue::newer(&place.dirs),
                Some(QueueError::Newer { version: 99, .. })
            ),
        "{refused}"
    );
    assert!(place.dirs.state_file("queue.db").exists());
}

#[test]
fn a_link_is_not_followed() {
    let place = Place::new();
    let elsewhere = place.dir.path().join("elsewhere.db");
    fs::write(&elsewhere, "").unwrap();
    std::os::unix::fs::symlink(&elsewhere, place.dirs.state_file("queue.db")).unwrap();
    assert!(Queue::open(&place.dirs).is_err());
    assert_eq!(fs::read(&elsewhere).unwrap(), b"");
}

#[test]
fn a_row_of_an_older_version_that_may_have_been_shown_counts_as_shown() {
    let place = Place::new();
    let path = place.dirs.state_file("queue.db");
    let old = Connection::open(&path).unwrap();
    for step in &MIGRATIONS[..2] {
        old.execute_batch(step).unwrap();
    }
    old.execute_batch(
        "INSERT INTO deliveries VALUES
            ('m1', 1, 'claude', 'default', 'queue', 'attempted', 1, 'a', 5, 1),
            ('m2', 2, 'claude', 'default', 'queue', 'attempted', 1, 'b', 5, 0);
         PRAGMA user_version = 2; PRAGMA journal_mode = WAL;",
    )
    .unwrap();
    drop(old);
    let queue = Queue::open(&place.dirs).unwrap();
    assert!(!queue.is_new());
    let shown: Vec<Shown> = queue.load().unwrap().iter().map(|row| row.shown).collect();
    assert_eq!(shown, [Shown::Whole, Shown::Nothing]);
    assert!(queue.load().unwrap().iter().all(|row| !row.withdrawn));
    let mut head = queue.load().unwrap().remove(1);
    assert!(head.show(Shown::Head));
    queue.upsert(std::slice::from_ref(&head), None).unwrap();
    assert_eq!(queue.load().unwrap()[1], head);
}
