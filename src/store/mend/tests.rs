use std::fs;

use super::*;
use crate::testing::Place;

const OLD: &str = "session_1795000000000_00000001";
const NEW: &str = "session_1795000000001_00000002";

fn id(text: &str) -> SessionId {
    SessionId::new(text)
}

/// A session file whose first entry says what it follows.
fn write(place: &Place, name: &str, follows: Option<(&str, &str)>) {
    let before = follows.map_or(String::new(), |(session, fate)| {
        format!(
            ",\"predecessor\":{{\"sessionId\":\"{session}\",\"entries\":3,\"head\":\"{}\",\"fate\":\"{fate}\"}}",
            "a".repeat(64)
        )
    });
    let line = format!(
        "{{\"schema\":\"v1\",\"id\":\"{name}\",\"timestamp\":1,\"sessionId\":\"{name}\",\
         \"type\":\"session_started\",\"source\":\"human\",\"content\":\"x\"{before}}}\n"
    );
    fs::write(place.dirs.ledger(&id(name)), line).unwrap();
}

fn names(dir: PathBuf) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn where_nothing_was_cut_short_nothing_happens() {
    let place = Place::new();
    write(&place, OLD, None);
    write(&place, NEW, None);
    let mended = mend(&place.dirs, &id(NEW));
    assert!(mended.archived.is_none() && mended.erased.is_none());
    assert!(mended.aborted.is_empty());
    assert_eq!(names(place.dirs.sessions()).len(), 2);
}

#[test]
fn a_sealed_session_that_was_not_moved_is_moved_now() {
    for fate in ["archived", "compacted"] {
        let place = Place::new();
        write(&place, OLD, None);
        write(&place, NEW, Some((OLD, fate)));
        let (session, moved) = mend(&place.dirs, &id(NEW)).archived.unwrap();
        assert_eq!(session, id(OLD));
        assert!(moved.unwrap().starts_with(place.dirs.archives()));
        assert_eq!(names(place.dirs.sessions()), [format!("{NEW}.jsonl")]);
        assert!(mend(&place.dirs, &id(NEW)).archived.is_none(), "once");
    }
}

#[test]
fn a_session_that_was_to_be_deleted_is_deleted_now() {
    let place = Place::new();
    write(&place, OLD, None);
    fs::write(place.dirs.sessions().join(format!("{OLD}.torn-5")), "x").unwrap();
    write(&place, NEW, Some((OLD, "discarded")));
    let (session, erased) = mend(&place.dirs, &id(NEW)).erased.unwrap();
    assert_eq!((session, erased.removed), (id(OLD), 2));
    assert_eq!(erased.left, Vec::<String>::new());
    assert_eq!(names(place.dirs.sessions()), [format!("{NEW}.jsonl")]);
    assert!(mend(&place.dirs, &id(NEW)).erased.is_none(), "once");
}

#[test]
fn a_session_that_never_took_over_is_set_aside_and_not_deleted() {
    let place = Place::new();
    write(&place, OLD, None);
    write(&place, NEW, Some((OLD, "archived")));
    let bytes = fs::read(place.dirs.ledger(&id(NEW))).unwrap();
    let mended = mend(&place.dirs, &id(OLD));
    let (session, aside) = &mended.aborted[0];
    assert_eq!(*session, id(NEW));
    assert_eq!(fs::read(aside).unwrap(), bytes);
    assert!(place.dirs.ledger(&id(OLD)).is_file());
    assert!(!place.dirs.ledger(&id(NEW)).exists());
}

#[test]
fn a_session_in_which_nothing_stands_is_removed_unless_it_is_the_current_one() {
    let place = Place::new();
    for name in [OLD, NEW] {
        fs::write(place.dirs.ledger(&id(name)), "").unwrap();
    }
    mend(&place.dirs, &id(OLD));
    assert_eq!(names(place.dirs.sessions()), [format!("{OLD}.jsonl")]);
}

#[test]
fn what_a_first_entry_says_leads_out_of_no_folder_and_to_no_circle() {
    let place = Place::new();
    let outside = place.dirs.root.join("outside.jsonl");
    fs::write(&outside, "somebody's").unwrap();
    for session in ["../../outside", NEW, ""] {
        write(&place, NEW, Some((session, "discarded")));
        let mended = mend(&place.dirs, &id(NEW));
        assert!(mended.erased.is_none(), "{session}");
        assert!(place.dirs.ledger(&id(NEW)).is_file());
    }
    assert!(outside.is_file());
}
