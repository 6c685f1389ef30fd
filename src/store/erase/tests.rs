use std::os::unix::fs::symlink;

use super::*;
use crate::testing::Place;
use ctxrelay_core::wire::config::StorageKeys;

const OLDEST: &str = "session_1795000000000_00000001";
const OLD: &str = "session_1795000000001_00000002";
const NEW: &str = "session_1795000000002_00000003";
const OTHER: &str = "session_1794000000000_0000000f";

fn id(text: &str) -> SessionId {
    SessionId::new(text)
}

/// A ledger file that follows another one and speaks of a long text.
fn write(path: &Path, follows: Option<(&str, &str)>, text: Option<&str>) {
    let before = follows.map_or(String::new(), |(session, fate)| {
        format!(
            ",\"predecessor\":{{\"sessionId\":\"{session}\",\"entries\":1,\"head\":\"\",\"fate\":\"{fate}\"}}"
        )
    });
    let mut lines = format!(
        "{{\"schema\":\"v1\",\"id\":\"1\",\"type\":\"session_started\",\"content\":\"x\"{before}}}\n"
    );
    if let Some(text) = text {
        lines.push_str(&format!(
            "{{\"schema\":\"v1\",\"id\":\"2\",\"type\":\"note\",\"content\":\"x\",\
             \"whole\":{{\"sha256\":\"{text}\",\"units\":4}}}}\n"
        ));
    }
    fs::write(path, lines).unwrap();
}

struct World {
    place: Place,
    blobs: Blobs,
    shared: String,
    own: String,
}

/// Two compacted segments and the session itself, another archive, and their long texts.
fn world() -> World {
    let place = Place::new();
    let blobs = Blobs::of_ledger(&place.dirs.ledger(&id(NEW)));
    let shared = blobs.put("shared").unwrap();
    let own = blobs.put("own").unwrap();
    let archived = |name: &str| place.dirs.archives().join(format!("{name}.jsonl"));
    write(&archived(OLDEST), Some((OTHER, "archived")), Some(&own));
    write(&archived(OLD), Some((OLDEST, "compacted")), Some(&shared));
    write(&archived(OTHER), None, Some(&shared));
    write(&place.dirs.ledger(&id(NEW)), None, None);
    World {
        place,
        blobs,
        shared,
        own,
    }
}

fn files(dir: PathBuf) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_session_goes_with_its_segments_and_no_other_one_does() {
    let world = world();
    let dirs = &world.place.dirs;
    for name in [
        format!("sessions/{OLD}.foreign-1"),
        format!("archives/{OLDEST}.torn-2"),
        "state/checkpoint".to_owned(),
        "state/checkpoint.new".to_owned(),
        "state/queue.db.bad-3".to_owned(),
        "state/token".to_owned(),
        "blobs/.new-half".to_owned(),
    ] {
        fs::write(dirs.relay.join(name), "x").unwrap();
    }
    let erased = erase(dirs, &id(OLD), &id(NEW));
    assert_eq!(erased.left, Vec::<String>::new());
    assert_eq!(files(dirs.sessions()), [format!("{NEW}.jsonl")]);
    assert_eq!(files(dirs.archives()), [format!("{OTHER}.jsonl")]);
    assert_eq!(files(dirs.state.clone()), ["token"]);
    assert_eq!(files(world.blobs.dir().to_owned()), [world.shared]);
}

#[test]
fn what_the_next_session_keeps_meanwhile_stays() {
    let world = world();
    let dirs = &world.place.dirs;
    let space = Arc::new(DiskSpace::new(dirs, StorageKeys::default()));
    let texts = texts_of_others(dirs, &id(OLD));
    space.sweep().begin();
    // It lies there already, and no entry speaks of it yet.
    let blobs = world.blobs.clone().within(Some(Arc::clone(&space)));
    assert_eq!(blobs.put("own").unwrap(), world.own);
    let erased = erase_knowing(dirs, &id(OLD), &id(NEW), texts, Some(&space));
    assert_eq!(erased.left, Vec::<String>::new());
    assert!(!is_there(dirs, &id(OLD)) && space.sweep().is_over());
    let mut both = [world.shared, world.own];
    both.sort();
    assert_eq!(files(world.blobs.dir().to_owned()), both);
}

#[test]
fn what_a_daemon_that_ends_leaves_of_a_session_is_deleted_at_the_next_start() {
    let world = world();
    let dirs = &world.place.dirs;
    let space = Arc::new(DiskSpace::new(dirs, StorageKeys::default()));
    let texts = texts_of_others(dirs, &id(OLD));
    space.sweep().begin();
    space.sweep().end();
    let erased = erase_knowing(dirs, &id(OLD), &id(NEW), texts, Some(&space));
    assert_eq!((erased.removed, erased.left.len()), (0, 1), "{erased:?}");
    assert!(is_there(dirs, &id(OLD)));
    assert_eq!(files(world.blobs.dir().to_owned()).len(), 2);
    let erased = erase(dirs, &id(OLD), &id(NEW));
    assert_eq!(erased.left, Vec::<String>::new());
    assert_eq!(files(world.blobs.dir().to_owned()), [world.shared]);
}

#[test]
fn an_aborted_successor_goes_too_and_an_aborted_stranger_stays() {
    let world = world();
    let dirs = &world.place.dirs;
    let aside = |name: &str| dirs.sessions().join(format!("{name}.aborted-1"));
    write(
        &aside("session_1795000000003_00000004"),
        Some((OLD, "compacted")),
        None,
    );
    write(
        &aside("session_1795000000004_00000005"),
        Some((OTHER, "compacted")),
        None,
    );
    erase(dirs, &id(OLD), &id(NEW));
    assert_eq!(
        files(dirs.sessions()),
        [
            format!("{NEW}.jsonl"),
            "session_1795000000004_00000005.aborted-1".to_owned()
        ]
    );
}

#[test]
fn a_link_is_no_ledger_and_what_it_points_to_is_left_alone() {
    let world = world();
    let dirs = &world.place.dirs;
    let path = dirs.archives().join(format!("{OTHER}.jsonl"));
    fs::remove_file(&path).unwrap();
    let elsewhere = world.place.dir.path().join("elsewhere");
    write(&elsewhere, None, Some(&world.own));
    symlink(&elsewhere, &path).unwrap();
    let erased = erase(dirs, &id(OLD), &id(NEW));
    assert_eq!(erased.left, Vec::<String>::new());
    assert_eq!(files(world.blobs.dir().to_owned()).len(), 0);
    assert!(elsewhere.is_file());
}

#[test]
fn an_archive_folder_that_cannot_be_read_keeps_the_texts_and_is_reported() {
    let world = world();
    let dirs = &world.place.dirs;
    let session = dirs.ledger(&id("session_1795000000005_00000006"));
    write(&session, None, None);
    fs::remove_dir_all(dirs.archives()).unwrap();
    fs::write(dirs.archives(), "in the way").unwrap();
    let erased = erase(dirs, &id("session_1795000000005_00000006"), &id(NEW));
    assert!(!session.exists(), "the session goes all the same");
    assert!(erased.left[0].contains("all kept"), "{erased:?}");
    assert!(
        erased.left[1].contains("archives cannot be read"),
        "{erased:?}"
    );
    assert_eq!(files(world.blobs.dir().to_owned()).len(), 2);
}

#[test]
fn what_stands_before_a_segment_that_cannot_be_read_is_told_as_left() {
    let world = world();
    let dirs = &world.place.dirs;
    let path = dirs.archives().join(format!("{OLD}.jsonl"));
    fs::remove_file(&path).unwrap();
    symlink("elsewhere", &path).unwrap();
    let erased = erase(dirs, &id(OLD), &id(NEW));
    let oldest = dirs.archives().join(format!("{OLDEST}.jsonl"));
    assert!(oldest.is_file() && !path.is_symlink());
    let [left] = erased.left.as_slice() else {
        panic!("{erased:?}");
    };
    assert!(
        left.contains("was compacted") && left.contains(OLD),
        "{left}"
    );
}

#[test]
fn each_folder_and_file_that_cannot_be_looked_into_is_told_as_left() {
    let world = world();
    let dirs = &world.place.dirs;
    let in_the_way = |path: &Path| {
        fs::remove_dir_all(path).unwrap();
        fs::write(path, "in the way").unwrap();
    };
    let aborted = dirs
        .sessions()
        .join("session_1795000000003_00000004.aborted-1");
    symlink("elsewhere", aborted).unwrap();
    let capsules = dirs.relay.join("capsules");
    fs::create_dir(&capsules).unwrap();
    in_the_way(&capsules);
    in_the_way(&dirs.state);
    let erased = erase(dirs, &id(OLD), &id(NEW));
    for told in ["aborted-1", "the capsules", "state cannot be read"] {
        assert!(
            erased.left.iter().any(|left| left.contains(told)),
            "{told}: {erased:?}"
        );
    }
    assert_eq!(files(dirs.archives()), [format!("{OTHER}.jsonl")]);
    // It is told once.
    let work = dirs.state_file("continuity").display().to_string();
    let told = erased.left.iter().filter(|left| left.contains(&work));
    assert_eq!(told.count(), 1, "{erased:?}");
    // What nobody can look into may have something of the session.
    fs::remove_dir_all(dirs.archives()).unwrap();
    assert!(!is_there(dirs, &id(OLD)));
    fs::write(dirs.archives(), "in the way").unwrap();
    assert!(is_there(dirs, &id(OLD)));
}

#[test]
fn a_circle_of_segments_ends_and_the_current_session_is_never_deleted() {
    let place = Place::new();
    let dirs = &place.dirs;
    write(&dirs.ledger(&id(OLD)), Some((NEW, "compacted")), None);
    write(&dirs.ledger(&id(NEW)), Some((OLD, "compacted")), None);
    assert_eq!(erase(dirs, &id(OLD), &id(NEW)).left, Vec::<String>::new());
    assert_eq!(files(dirs.sessions()), [format!("{NEW}.jsonl")]);
    assert_eq!(erase(dirs, &id(NEW), &id(NEW)).left.len(), 1);
    assert_eq!(erase(dirs, &id("../x"), &id(NEW)).left.len(), 1);
    assert_eq!(files(dirs.sessions()), [format!("{NEW}.jsonl")]);
}

#[test]
fn an_erasure_that_was_cut_short_is_finished_by_the_next_one() {
    let world = world();
    let dirs = &world.place.dirs;
    // As after a crash: the oldest segment is gone already, the younger one still names it.
    fs::remove_file(dirs.archives().join(format!("{OLDEST}.jsonl"))).unwrap();
    assert!(is_there(dirs, &id(OLD)));
    let erased = erase(dirs, &id(OLD), &id(NEW));
    assert_eq!(erased.left, Vec::<String>::new());
    assert!(!is_there(dirs, &id(OLD)));
    assert_eq!(files(world.blobs.dir().to_owned()), [world.shared]);
    assert_ne!(world.own, "");
}
