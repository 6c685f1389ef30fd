#[cfg(target_os = "linux")]
use std::collections::BTreeMap;
#[cfg(target_os = "linux")]
use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Map;
use tokio::sync::mpsc;

use super::events;
use super::fact::{FileVerdict, Touch, WatchFact};
use super::inspect::LedgerLook;
use super::watcher::{ALARM_GAP, TamperWatch, WatchedFiles};
use crate::core::agent::Party;
use crate::core::entry::{Entry, EntryKind, LifecycleEvent};
use crate::core::id::{EntryId, SessionId};
use crate::core::redact::Redactor;
use crate::daemon::event::Event;
use crate::store::ledger::{self, Ledger, WriterEvent};
use crate::store::session;
use crate::store::testing::Place;
use crate::store::trust;

/// Generous: only a watcher that does not work takes so long.
const DEADLINE: Duration = Duration::from_secs(30);

struct Written {
    place: Place,
    session: SessionId,
    ledger: Ledger,
    durable: Receiver<()>,
}

/// Puts a file in its place whole: one that is written in place is empty for a moment, and may be
/// looked at in it.
fn put(path: &Path, text: &str) {
    let new = path.with_extension("new");
    fs::write(&new, text).unwrap();
    fs::rename(&new, path).unwrap();
}

impl Written {
    fn new() -> Self {
        let place = Place::new();
        let session = SessionId::new("session_1795000000000_a1b2c3d4");
        session::write_current(&place.dirs, &session).unwrap();
        let (sender, durable) = channel();
        let opened = ledger::open(
            ledger::OpenOptions {
                dirs: place.dirs.clone(),
                session: session.clone(),
                prev_head: None,
                redactor: Arc::new(Redactor::new()),
                checkpoint: None,
                outside: None,
                space: None,
            },
            Box::new(move |event| {
                if let WriterEvent::Durable { .. } = event {
                    let _ = sender.send(());
                }
            }),
        )
        .unwrap();
        let mut written = Self {
            place,
            session,
            ledger: opened.ledger,
            durable,
        };
        for n in 0..3 {
            written.append(n);
        }
        written
    }

    fn append(&mut self, n: usize) {
        let entry = Entry {
            id: EntryId::new(format!("e{n}")),
            timestamp_ms: 1,
            session_id: self.session.clone(),
            content: format!("text {n}"),
            ..Entry::new(
                Party::System,
                EntryKind::Lifecycle {
                    event: LifecycleEvent::from("test"),
                },
            )
        };
        self.ledger.append(0, vec![entry]).unwrap();
        self.durable.recv_timeout(DEADLINE).unwrap();
    }

    fn look(&self) -> LedgerLook {
        LedgerLook::new(self.ledger.clone())
    }

    fn watch(&self) -> (TamperWatch, mpsc::Sender<Event>, mpsc::Receiver<Event>) {
        self.watch_suspecting(false)
    }

    fn watch_suspecting(
        &self,
        suspect: bool,
    ) -> (TamperWatch, mpsc::Sender<Event>, mpsc::Receiver<Event>) {
        let (events, facts) = mpsc::channel(64);
        let watched = WatchedFiles {
            dirs: self.place.dirs.clone(),
            user: self.place.user.clone(),
            session: self.session.clone(),
            ledger: self.ledger.clone(),
            place: None,
            suspect,
            config: Some(Map::new()),
            is_trust_lost: false,
        };
        let watch = TamperWatch::start(watched, events.downgrade()).unwrap();
        (watch, events, facts)
    }
}

/// The next fact that is none about the chain.
fn next(facts: &mut mpsc::Receiver<Event>) -> WatchFact {
    loop {
        match next_of_all(facts) {
            WatchFact::Chain { .. } | WatchFact::TouchOver { .. } => {}
            fact => return fact,
        }
    }
}

fn next_of_all(facts: &mut mpsc::Receiver<Event>) -> WatchFact {
    let end = Instant::now() + DEADLINE;
    loop {
        match facts.try_recv() {
            Ok(Event::Watch(fact)) => return fact,
            Ok(other) => panic!("{other:?}"),
            Err(_) if Instant::now() < end => std::thread::sleep(Duration::from_millis(5)),
            Err(error) => panic!("waited in vain: {error}"),
        }
    }
}

#[test]
fn our_own_appends_are_no_touch() {
    let mut written = Written::new();
    let mut look = written.look();
    for n in 10..30 {
        written.append(n);
        let found = look.look(events::WRITTEN);
        assert_eq!((found.touches, found.suspect), (vec![], false));
    }
}

#[test]
fn every_way_to_touch_a_ledger_has_its_name_and_is_said_once() {
    type Touching = fn(&Path);
    let cases: [(Touching, Touch); 6] = [
        (|path| fs::remove_file(path).unwrap(), Touch::Removed),
        (
            |path| fs::rename(path, path.with_extension("away")).unwrap(),
            Touch::Removed,
        ),
        (
            |path| {
                let other = path.with_extension("other");
                fs::copy(path, &other).unwrap();
                fs::rename(&other, path).unwrap();
            },
            Touch::Replaced,
        ),
        (
            |path| {
                let file = fs::OpenOptions::new().write(true).open(path).unwrap();
                file.set_len(10).unwrap();
            },
            Touch::Truncated,
        ),
        (
            |path| {
                let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
                file.write_all(b"{}\n").unwrap();
            },
            Touch::Appended,
        ),
        (
            |path| fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap(),
            Touch::PermissionsChanged,
        ),
    ];
    for (touch, wanted) in cases {
        let written = Written::new();
        let mut look = written.look();
        touch(written.ledger.path());
        let all = events::ALL | events::CLOSED;
        assert_eq!(look.look(all).touches, [wanted], "{wanted:?}");
        assert_eq!(look.look(events::ALL).touches, [], "{wanted:?}");
    }
}

#[test]
fn a_copy_in_which_the_writer_goes_on_is_told_once_and_is_in_its_place() {
    for is_looked_at_before in [true, false] {
        let mut written = Written::new();
        let mut look = written.look();
        let path = written.ledger.path().to_owned();
        let copy = path.with_extension("copy");
        fs::copy(&path, &copy).unwrap();
        fs::rename(&copy, &path).unwrap();
        if is_looked_at_before {
            assert_eq!(look.look(events::NAMED).touches, [Touch::Replaced]);
            assert!(!look.is_in_place());
        }
        written.append(40);
        if !is_looked_at_before {
            assert_eq!(look.look(events::WRITTEN).touches, [Touch::Replaced]);
        }
        let found = look.look(events::WRITTEN);
        assert_eq!((found.touches, found.suspect), (vec![], true));
        assert!(look.is_in_place());
    }
}

#[test]
fn bytes_that_the_writer_moved_away_are_told_although_they_are_gone() {
    let mut written = Written::new();
    let mut look = written.look();
    for n in 0..2 {
        let path = written.ledger.path();
        let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
        file.write_all(b"not ours\n").unwrap();
        drop(file);
        written.append(40 + n);
        assert_eq!(look.look(events::WRITTEN).touches, [Touch::Appended]);
    }
}

#[test]
fn bytes_that_a_look_has_told_of_are_not_told_again_when_the_writer_moves_them_away() {
    let mut written = Written::new();
    let mut look = written.look();
    let path = written.ledger.path().to_owned();
    let appended = || {
        let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"not ours\n").unwrap();
    };
    for n in 0..2 {
        appended();
        assert_eq!(look.look(events::CLOSED).touches, [Touch::Appended]);
        written.append(40 + n);
        let found = look.look(events::WRITTEN);
        assert_eq!((found.touches, found.suspect), (vec![], true));
        assert_eq!(look.look(events::WRITTEN).touches, []);
    }
    // More than a look has told of.
    appended();
    assert_eq!(look.look(events::CLOSED).touches, [Touch::Appended]);
    appended();
    written.append(50);
    assert_eq!(look.look(events::WRITTEN).touches, [Touch::Appended]);
    assert_eq!(look.look(events::WRITTEN).touches, []);
    // Also where a look has seen the rest while the first of it stood there.
    appended();
    assert_eq!(look.look(events::CLOSED).touches, [Touch::Appended]);
    appended();
    assert_eq!(look.look(events::CLOSED).touches, []);
    written.append(51);
    assert_eq!(look.look(events::WRITTEN).touches, [Touch::Appended]);
    assert_eq!(look.look(events::WRITTEN).touches, []);
    // What another hand took away again was not moved.
    let ours = fs::metadata(&path).unwrap().len();
    appended();
    assert_eq!(look.look(events::CLOSED).touches, [Touch::Appended]);
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(ours).unwrap();
    for _ in 0..2 {
        assert_eq!(look.look(events::WRITTEN).touches, []);
    }
    appended();
    written.append(52);
    assert_eq!(look.look(events::WRITTEN).touches, [Touch::Appended]);
}

#[test]
fn what_a_checkpoint_spared_the_start_is_read_afterwards() {
    let written = Written::new();
    let path = written.ledger.path();
    let text = fs::read_to_string(path).unwrap();
    fs::write(path, text.replace("text 1", "text 7")).unwrap();
    let (_watch, _events, mut facts) = written.watch_suspecting(true);
    let WatchFact::Ledger {
        touches, verdict, ..
    } = next(&mut facts)
    else {
        panic!("no alarm about the ledger")
    };
    assert!(touches.contains(&Touch::Edited));
    assert!(!matches!(&verdict, FileVerdict::Report(report) if report.ok));
}

#[test]
fn an_edit_in_place_is_a_suspicion_and_its_content_the_proof() {
    let written = Written::new();
    let (_watch, _events, mut facts) = written.watch();
    let path = written.ledger.path();
    let text = fs::read_to_string(path).unwrap();
    let mut file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.write_all(text.replace("text 1", "text 7").as_bytes())
        .unwrap();
    drop(file);
    let WatchFact::Ledger {
        touches, verdict, ..
    } = next(&mut facts)
    else {
        panic!("something else");
    };
    assert_eq!(touches, [Touch::Edited]);
    assert!(!matches!(&verdict, FileVerdict::Report(report) if report.ok));
    assert!(
        verdict.to_string().contains("first bad entry is 2"),
        "{verdict}"
    );
}

#[test]
fn a_file_that_is_moved_away_and_back_is_whole_again() {
    let written = Written::new();
    let (_watch, _events, mut facts) = written.watch();
    let path = written.ledger.path();
    let away = path.with_extension("away");
    let mut chain = || loop {
        if let WatchFact::Chain { is_whole, .. } = next_of_all(&mut facts) {
            return is_whole;
        }
    };
    fs::rename(path, &away).unwrap();
    assert!(!chain());
    fs::rename(&away, path).unwrap();
    assert!(chain());
}

#[test]
fn what_was_told_of_a_touch_is_over_once_the_file_is_as_it_was() {
    let written = Written::new();
    let (_watch, _events, mut facts) = written.watch();
    let give = |mode| {
        let permissions = fs::Permissions::from_mode(mode);
        fs::set_permissions(written.ledger.path(), permissions).unwrap();
    };
    give(0o644);
    let told = next_of_all(&mut facts);
    let WatchFact::Ledger { touches, .. } = told else {
        panic!("{told:?}");
    };
    assert_eq!(touches, [Touch::PermissionsChanged]);
    give(0o600);
    let told = next_of_all(&mut facts);
    assert!(matches!(told, WatchFact::TouchOver { .. }), "{told:?}");
}

#[test]
fn a_ledger_that_is_only_opened_for_writing_raises_no_alarm() {
    let written = Written::new();
    let (_watch, _events, mut facts) = written.watch();
    drop(
        fs::OpenOptions::new()
            .append(true)
            .open(written.ledger.path())
            .unwrap(),
    );
    // The next fact is about something that comes after.
    let text = r#"{"idleShutdownSeconds": 77}"#;
    put(&written.place.dirs.config(), text);
    let WatchFact::Config {
        loaded, changed, ..
    } = next(&mut facts)
    else {
        panic!("something else");
    };
    assert_eq!(changed, ["idleShutdownSeconds"]);
    assert_eq!(loaded.config.idle_shutdown_seconds.get(), 77);
    fs::remove_file(written.ledger.path()).unwrap();
    let WatchFact::Ledger { touches, .. } = next(&mut facts) else {
        panic!("something else");
    };
    assert_eq!(touches, [Touch::Removed]);
}

#[test]
fn what_current_names_is_told_and_another_session_is_followed() {
    let written = Written::new();
    let (watch, _events, mut facts) = written.watch();
    let other = SessionId::new("session_1795000000001_00000000");
    session::write_current(&written.place.dirs, &other).unwrap();
    let WatchFact::Current { found } = next(&mut facts) else {
        panic!("something else");
    };
    assert_eq!(found, Some(other.clone()));
    watch.follow(other, written.ledger.clone());
    fs::write(written.place.dirs.current(), "../../etc/passwd").unwrap();
    let WatchFact::Current { found } = next(&mut facts) else {
        panic!("something else");
    };
    assert_eq!(found, None);
}

#[test]
fn what_the_file_says_is_told_once_more_after_the_operator_trusted_it() {
    let written = Written::new();
    let (watch, _events, mut facts) = written.watch();
    let config = written.place.dirs.config();
    let gates = r#"{"gates": [{"name": "tests", "cmd": "true"}]}"#;
    put(&config, gates);
    let WatchFact::Config { loaded, trusts, .. } = next(&mut facts) else {
        panic!("something else");
    };
    assert!(loaded.config.gates.is_empty() && !loaded.waiting.is_empty());
    assert_eq!(trusts, 0);
    // As the daemon does it, while what was said above may still be on its way to it.
    let instance = written.place.dirs.instance_id();
    trust::write(&written.place.user, &instance, loaded.power(), 1).unwrap();
    watch.trusted(1);
    let WatchFact::Config {
        loaded,
        changed,
        trusts,
    } = next(&mut facts)
    else {
        panic!("something else");
    };
    assert_eq!(trusts, 1);
    assert_eq!(changed, Vec::<String>::new());
    assert!(loaded.config.gates.len() == 1 && loaded.waiting.is_empty());
}

#[test]
fn a_file_that_is_replaced_by_renaming_is_seen_as_well() {
    let written = Written::new();
    let (_watch, _events, mut facts) = written.watch();
    let config = written.place.dirs.config();
    for (text, changed) in [
        (r#"{"a": 1}"#, vec!["a"]),
        (r#"{"a": 2"#, vec![]),
        (r#"{"a": 1, "b": 2}"#, vec!["b"]),
    ] {
        put(&config, text);
        let WatchFact::Config { changed: found, .. } = next(&mut facts) else {
            panic!("something else");
        };
        assert_eq!(found, changed, "{text}");
    }
    fs::remove_file(&config).unwrap();
    let WatchFact::Config {
        loaded, changed, ..
    } = next(&mut facts)
    else {
        panic!("something else");
    };
    assert_eq!(changed, ["a", "b"]);
    assert_eq!(loaded.file, Some(Map::new()));
}

#[test]
fn without_signs_of_the_system_it_is_said_once_and_looked_at_all_the_same() {
    let written = Written::new();
    let sessions = written.place.dirs.sessions();
    let hidden = sessions.with_extension("hidden");
    // What cannot be watched when the watch begins.
    fs::rename(&sessions, &hidden).unwrap();
    let (_watch, _events, mut facts) = written.watch();
    fs::rename(&hidden, &sessions).unwrap();
    assert!(matches!(next(&mut facts), WatchFact::Degraded { .. }));
    put(&written.place.dirs.config(), r#"{"a": 1}"#);
    loop {
        match next(&mut facts) {
            WatchFact::Config { changed, .. } => {
                assert_eq!(changed, ["a"]);
                break;
            }
            WatchFact::Degraded { why } => panic!("said again: {why}"),
            // It was away for a moment.
            WatchFact::Ledger { .. } | WatchFact::Current { .. } => {}
            fact => panic!("{fact:?}"),
        }
    }
}

#[test]
fn whoever_touches_it_again_and_again_does_not_make_us_read_without_end() {
    let written = Written::new();
    let (_watch, _events, mut facts) = written.watch();
    let path = written.ledger.path();
    let start = Instant::now();
    let mut alarms = 0;
    for n in 0.. {
        let mode = if n % 2 == 0 { 0o640 } else { 0o600 };
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        while facts.try_recv().is_ok() {
            alarms += 1;
        }
        // Few looks of a busy machine's may all find it as it was.
        let passed = start.elapsed();
        if passed > DEADLINE || (alarms > 0 && passed > Duration::from_secs(3)) {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let most = 1 + start.elapsed().as_secs() / ALARM_GAP.as_secs();
    assert!((1..=most).contains(&alarms), "{alarms} alarms");
}

/// How often each thread of this name was put to work, by the system's count.
#[cfg(target_os = "linux")]
fn switches(name: &str) -> BTreeMap<OsString, u64> {
    let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
    let of_task = |task: fs::DirEntry| {
        let status = fs::read_to_string(task.path().join("status")).ok()?;
        let is_named = status.starts_with(&format!("Name:\t{name}\n"));
        let mut lines = status.lines().filter(|_| is_named);
        let line = lines.find(|line| line.starts_with("voluntary_ctxt_switches"))?;
        let count = line.split_whitespace().nth(1)?.parse().ok()?;
        Some((task.file_name(), count))
    };
    tasks.filter_map(of_task).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn a_thousand_appends_are_not_a_thousand_looks() {
    let mut written = Written::new();
    let (_watch, _events, mut facts) = written.watch();
    let start = Instant::now();
    let before = switches("watcher");
    for n in 0..1000 {
        written.append(100 + n);
    }
    // Other tests of this process may have watchers, too, which come and go; each looks as rarely.
    let after = switches("watcher").into_iter();
    let looks: u64 = after
        .filter_map(|(task, count)| Some(count - before.get(&task)?))
        .sum();
    let allowed = 60 + 40 * start.elapsed().as_secs();
    assert!(looks < allowed, "{looks} wakes in {:?}", start.elapsed());
    assert!(facts.try_recv().is_err());
}
