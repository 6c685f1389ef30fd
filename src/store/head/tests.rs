use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::testing::{Place, mode};

/// Generous: only a keeper that does not work takes so long.
const DEADLINE: Duration = Duration::from_secs(30);

fn head(seq: u64) -> Head {
    Head {
        seq,
        hash: "ab".repeat(32),
        session_id: SessionId::new("session_1795000000000_a1b2c3d4"),
    }
}

fn other(seq: u64) -> Head {
    Head {
        session_id: SessionId::new("session_1795000000001_a1b2c3d4"),
        ..head(seq)
    }
}

fn keeper_of(heads: Heads) -> HeadKeeper {
    HeadKeeper::start(heads, |_| {}).unwrap()
}

fn lines(file: &str) -> Alarm {
    Alarm::ForeignLines {
        file: file.to_owned(),
        lines: 2,
        sha256: "cd".repeat(32),
    }
}

#[test]
fn a_head_is_read_back_and_nobody_else_may_read_it() {
    let place = Place::new();
    assert_eq!(read(&place.user, "ctx_1").unwrap(), None);
    let kept = Kept {
        clean: true,
        alarms: vec![lines("x.foreign-1")],
        anchors: vec![(3, "ef".repeat(32))],
        ..Kept::new(head(7))
    };
    write(&place.user, "ctx_1", &kept).unwrap();
    assert_eq!(read(&place.user, "ctx_1").unwrap(), Some(kept));
    assert_eq!(read(&place.user, "ctx_2").unwrap(), None);
    assert_eq!(mode(&place.user.head("ctx_1")), 0o600);
}

#[test]
fn the_head_of_an_older_version_is_that_of_a_crash() {
    let place = Place::new();
    write(&place.user, "ctx_1", &Kept::new(head(7))).unwrap();
    let text = serde_json::to_vec(&head(7)).unwrap();
    std::fs::write(place.user.head("ctx_1"), text).unwrap();
    let kept = read(&place.user, "ctx_1").unwrap();
    assert_eq!(kept, Some(Kept::new(head(7))));
}

#[test]
fn a_head_that_is_none_is_an_error_and_not_an_absent_one() {
    let place = Place::new();
    write(&place.user, "ctx_1", &Kept::new(head(7))).unwrap();
    std::fs::write(place.user.head("ctx_1"), "{}").unwrap();
    assert!(read(&place.user, "ctx_1").is_err());
    // For a daemon it is none: it must start, and believes nothing then.
    assert_eq!(Heads::open(&place.user, "ctx_1").unwrap().kept(), None);
}

#[test]
fn the_keeper_has_written_the_last_head_when_it_is_closed() {
    let place = Place::new();
    let heads = Heads::open(&place.user, "ctx_1").unwrap();
    let keeper = keeper_of(heads);
    for seq in 1..=100 {
        keeper.set(head(seq));
    }
    keeper.close(None).unwrap();
    let kept = read(&place.user, "ctx_1").unwrap();
    assert_eq!(kept, Some(Kept::new(head(100))));
    let heads = Heads::open(&place.user, "ctx_1").unwrap();
    keeper_of(heads).close(Some(head(101))).unwrap();
    let kept = read(&place.user, "ctx_1").unwrap().unwrap();
    assert!(kept.clean && kept.head == head(101));
}

#[test]
fn the_keeper_tells_that_the_head_cannot_be_written_and_writes_it_by_itself_once_it_can() {
    let place = Place::new();
    let heads = Heads::open(&place.user, "ctx_1").unwrap();
    let (sender, told) = channel();
    let keeper = HeadKeeper::start(heads, move |said| sender.send(said).unwrap()).unwrap();
    let in_the_way = place.user.registry.join("heads");
    std::fs::create_dir_all(&place.user.registry).unwrap();
    std::fs::write(&in_the_way, "in the way").unwrap();
    keeper.set(head(7));
    assert!(told.recv_timeout(DEADLINE).unwrap().is_err());
    std::fs::remove_file(&in_the_way).unwrap();
    told.recv_timeout(DEADLINE).unwrap().unwrap();
    let kept = read(&place.user, "ctx_1").unwrap();
    assert_eq!(kept, Some(Kept::new(head(7))));
    std::fs::rename(&in_the_way, place.user.registry.join("away")).unwrap();
    std::fs::write(&in_the_way, "in the way").unwrap();
    keeper.close(Some(head(8))).unwrap_err();
}

#[test]
fn what_is_vouched_for_is_written_and_nothing_earlier_or_of_another_session_after_it() {
    let place = Place::new();
    let heads = Heads::open(&place.user, "ctx_1").unwrap();
    heads.vouch(head(5)).unwrap();
    let keeper = keeper_of(heads.clone());
    keeper.set(head(4));
    keeper.close(Some(head(4))).unwrap();
    let kept = read(&place.user, "ctx_1").unwrap().unwrap();
    assert_eq!((&kept.head, kept.clean), (&head(5), false));
    assert_eq!(kept.anchors, [(0, String::new()), (5, head(5).hash)]);
    heads.vouch(other(1)).unwrap();
    let keeper = keeper_of(heads.clone());
    keeper.set(head(6));
    keeper.close(None).unwrap();
    let kept = read(&place.user, "ctx_1").unwrap().unwrap();
    assert_eq!(kept.head, other(1));
    for seq in 2..100 {
        heads.vouch(other(seq)).unwrap();
    }
    let kept = heads.kept().unwrap();
    assert_eq!(kept.anchors.len(), ANCHORS_MAX);
    assert_eq!(kept.anchors.last().unwrap().0, 99);
}

#[test]
fn an_alarm_is_kept_until_the_record_tells_of_it() {
    let place = Place::new();
    let heads = Heads::open(&place.user, "ctx_1").unwrap();
    heads.vouch(head(5)).unwrap();
    heads.raise(&[lines("a"), lines("a")]).unwrap();
    let kept = read(&place.user, "ctx_1").unwrap().unwrap();
    assert_eq!(kept.alarms, [lines("a")]);
    heads.told(&lines("a"));
    heads.vouch(head(6)).unwrap();
    assert_eq!(read(&place.user, "ctx_1").unwrap().unwrap().alarms, []);
}

#[test]
fn an_alarm_of_a_later_version_takes_nothing_else_from_the_head_and_stays_in_it() {
    let place = Place::new();
    let kept = Kept {
        alarms: vec![lines("a")],
        ..Kept::new(head(7))
    };
    write(&place.user, "ctx_1", &kept).unwrap();
    let path = place.user.head("ctx_1");
    let on_disk = || -> Value { serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap() };
    let later = json!({"kind": "of_the_future", "seq": 4, "names": ["a"]});
    let mut text = on_disk();
    text["alarms"].as_array_mut().unwrap().push(later.clone());
    std::fs::write(&path, text.to_string()).unwrap();

    let heads = Heads::open(&place.user, "ctx_1").unwrap();
    assert_eq!(heads.kept().unwrap().head, head(7));
    heads.told(&lines("a"));
    heads.come_to(head(8)).unwrap();
    let text = on_disk();
    assert_eq!(
        (&text["seq"], &text["alarms"]),
        (&json!(8), &json!([later]))
    );
}

#[test]
fn where_it_cannot_be_written_nothing_is_kept() {
    let place = Place::new();
    let heads = Heads::open(&place.user, "ctx_1").unwrap();
    heads.vouch(head(5)).unwrap();
    let folder = place.user.registry.join("heads");
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::write(&folder, "in the way").unwrap();
    assert!(heads.vouch(head(6)).is_err());
    assert_eq!(heads.kept().unwrap().head, head(5));
}

#[test]
fn nobody_waits_for_the_disk_to_know_what_is_kept_or_to_say_what_was_told() {
    let place = Place::new();
    let heads = Heads::open(&place.user, "ctx_1").unwrap();
    heads.vouch(head(5)).unwrap();
    heads.raise(&[lines("a"), lines("b")]).unwrap();
    // As while it is written.
    let writing = heads.lock();
    let (done, answered) = channel();
    let asking = heads.clone();
    thread::spawn(move || {
        asking.told(&lines("a"));
        done.send(asking.kept()).unwrap();
    });
    let kept = answered.recv_timeout(Duration::from_secs(30)).unwrap();
    assert_eq!(kept.unwrap().alarms, [lines("b")]);
    drop(writing);
    heads.come_to(head(6)).unwrap();
    let written = read(&place.user, "ctx_1").unwrap().unwrap();
    assert_eq!((written.head, written.alarms), (head(6), vec![lines("b")]));
}

#[test]
fn a_folder_is_another_one_where_its_birth_tells_so_though_it_has_the_inode_of_the_one_before() {
    let born = |root_born_ns| RootFolder {
        root_inode: 7,
        root_born_ns,
    };
    assert!(born(Some(1)).is(born(Some(1))));
    assert!(!born(Some(1)).is(born(Some(2))));
    // Not every disk has one.
    assert!(born(None).is(born(Some(2))) && born(Some(1)).is(born(None)));

    let place = Place::new();
    let kept = Kept {
        root: RootFolder::of(&place.dirs),
        ..Kept::new(head(7))
    };
    write(&place.user, "ctx_1", &kept).unwrap();
    assert_eq!(read(&place.user, "ctx_1").unwrap(), Some(kept));
}

#[test]
fn a_head_that_does_not_say_its_folder_misses_no_record_there() {
    let place = Place::new();
    let mut kept = Kept::new(head(7));
    assert!(!kept.is_lost(&place.dirs) && kept.is_left_over(&place.dirs));
    kept.root = RootFolder::of(&place.dirs);
    assert!(kept.is_lost(&place.dirs) && !kept.is_left_over(&place.dirs));
}
