mod outages;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use super::next_session::NotBegun;
use super::{CloseHow, Keepers, Recorder, RecorderAction, RecorderParts, WriterEvents};
use crate::core::agent::Party;
use crate::core::entry::{Entry, EntryKind, Fate, LifecycleEvent};
use crate::core::id::SessionId;
use crate::core::redact::Redactor;
use crate::store::disk_space::DiskSpace;
use crate::store::head::{self, HeadKeeper, Heads};
use crate::store::ledger::{self, CheckpointKeeper, LedgerError, WriterEvent};
use crate::store::search::Search;
use crate::store::session;
use crate::store::testing::{Full, Place};
use crate::wire::config::StorageKeys;
use crate::wire::control::RefusalCode;

/// Generous: only a writer that does not work takes so long.
const DEADLINE: Duration = Duration::from_secs(30);

struct Written {
    recorder: Recorder<&'static str>,
    events: Receiver<WriterEvent>,
    place: Place,
}

impl Written {
    fn new() -> Self {
        let place = Place::new();
        let session = SessionId::new("session_1795000000000_a1b2c3d4");
        session::write_current(&place.dirs, &session).unwrap();
        let (sender, events) = channel();
        let writer_events: WriterEvents = Box::new(move || {
            let sender = sender.clone();
            Box::new(move |event| {
                let _ = sender.send(event);
            })
        });
        let redactor = Arc::new(Redactor::new());
        let heads = Heads::open(&place.user, &place.dirs.instance_id()).unwrap();
        let space = Arc::new(DiskSpace::new(&place.dirs, StorageKeys::default()));
        let opened = ledger::open(
            ledger::OpenOptions {
                dirs: place.dirs.clone(),
                session: session.clone(),
                prev_head: None,
                redactor: Arc::clone(&redactor),
                checkpoint: None,
                outside: Some(ledger::Outside {
                    heads: heads.clone(),
                    origin: ledger::Origin::Known,
                }),
                space: Some(Arc::clone(&space)),
            },
            writer_events(),
        )
        .unwrap();
        let search = Search::start(
            &place.dirs,
            Arc::clone(&redactor),
            opened.ledger.clone(),
            session.clone(),
            false,
        )
        .unwrap();
        let recorder = Recorder::new(RecorderParts {
            dirs: place.dirs.clone(),
            ledger: opened.ledger,
            redactor,
            keepers: Keepers {
                heads: HeadKeeper::start(heads, |_| {}).unwrap(),
                checkpoints: CheckpointKeeper::start(&place.dirs, &place.user, 0).unwrap(),
                search,
                space,
            },
            session_id: session,
            world: opened.snapshot,
            recent: opened.report.recent,
            writer_events,
            disowned: Arc::default(),
        });
        Self {
            recorder,
            events,
            place,
        }
    }

    fn said(&self, text: &str) -> Entry {
        let kind = EntryKind::Lifecycle {
            event: LifecycleEvent::Other("test".to_owned()),
        };
        self.recorder.entry(Party::System, None, kind, text, None)
    }

    fn append(&mut self, text: &str, then: &'static str) -> Vec<RecorderAction<&'static str>> {
        let entry = self.said(text);
        self.recorder.append(vec![entry], then);
        self.actions()
    }

    fn keep_then(&mut self, text: &str, then: &'static str) -> Vec<RecorderAction<&'static str>> {
        let entry = self.said(text);
        self.recorder.keep_then(vec![entry], then);
        self.actions()
    }

    fn next(&mut self) -> Vec<RecorderAction<&'static str>> {
        let event = self.events.recv_timeout(DEADLINE).unwrap();
        self.told(event)
    }

    fn told(&mut self, event: WriterEvent) -> Vec<RecorderAction<&'static str>> {
        self.recorder.on_writer(event);
        self.actions()
    }

    fn actions(&mut self) -> Vec<RecorderAction<&'static str>> {
        std::iter::from_fn(|| self.recorder.next_action()).collect()
    }

    /// What the writer took is refused by the disk.
    fn next_fails(&mut self, error: LedgerError) -> Vec<RecorderAction<&'static str>> {
        match self.events.recv_timeout(DEADLINE).unwrap() {
            WriterEvent::Durable { token, .. } => self.told(WriterEvent::Failed { token, error }),
            event => panic!("{event:?}"),
        }
    }

    fn no_space(&self) -> LedgerError {
        let path = self.recorder.ledger().path().to_owned();
        LedgerError::NoSpace(path)
    }

    fn texts(&self) -> Vec<&str> {
        let recent = self.recorder.recent().iter();
        recent.map(|stored| stored.entry.content.as_str()).collect()
    }
}

/// What is done about something, in words.
fn words(actions: &[RecorderAction<&'static str>]) -> Vec<String> {
    actions
        .iter()
        .map(|action| match action {
            RecorderAction::Recorded { entries, then } => {
                format!("recorded {} {then:?}", entries[0].entry.content)
            }
            RecorderAction::Refused { then, refusal } => format!("refused {then} {}", refusal.code),
            RecorderAction::FactRefused {
                entries,
                refusal,
                is_kept,
            } => format!(
                "fact {} {} {}",
                entries[0].content,
                refusal.code,
                if *is_kept { "kept" } else { "given up" }
            ),
            RecorderAction::Unwritable(_) => "unwritable".to_owned(),
            RecorderAction::Writable => "writable".to_owned(),
            RecorderAction::FactsLost(_) => "lost".to_owned(),
            RecorderAction::SpaceChanged => "space".to_owned(),
            RecorderAction::Foreign(_) => "foreign".to_owned(),
            RecorderAction::WriterGone => "writer gone".to_owned(),
        })
        .collect()
}

#[test]
fn what_is_told_is_on_the_disk_and_folded() {
    let mut written = Written::new();
    assert!(written.append("one", "asked").is_empty());
    assert_eq!(written.recorder.pending_count(), 1);
    assert!(written.texts().is_empty(), "nothing before the disk has it");
    let actions = written.next();
    assert_eq!(words(&actions), [r#"recorded one Some("asked")"#]);
    assert_eq!(written.recorder.pending_count(), 0);
    assert_eq!(written.recorder.world().seq.0, 1);
    let [RecorderAction::Recorded { entries, .. }] = &actions[..] else {
        panic!("{actions:?}");
    };
    let seq = entries[0].entry.seq;
    assert_eq!(written.recorder.stored(seq).unwrap().hash, entries[0].hash);
    let line = std::fs::read_to_string(written.recorder.ledger().path()).unwrap();
    assert!(line.contains(&entries[0].hash));
}

#[test]
fn what_the_disk_was_too_late_for_counts_as_pending_until_it_is_there() {
    let mut written = Written::new();
    // No disk is so fast; a system that lets this thread wait is.
    let late = (0..100).find_map(|_| {
        let entry = written.said("last words");
        let appended = written
            .recorder
            .append_and_wait(vec![entry], Duration::ZERO, "late");
        appended.err()
    });
    assert!(matches!(late, Some(LedgerError::Late(_))), "{late:?}");
    assert_eq!(written.recorder.pending_count(), 1);
    assert_eq!(
        words(&written.next()),
        [r#"recorded last words Some("late")"#]
    );
    assert_eq!(written.recorder.pending_count(), 0);
}

#[test]
fn what_somebody_asked_for_is_refused_and_not_tried_again() {
    let mut written = Written::new();
    let _ = written.append("one", "asked");
    let path = written.recorder.ledger().path().to_owned();
    let actions = written.next_fails(LedgerError::Gone(path));
    let code = RefusalCode::LedgerUnwritable;
    assert_eq!(
        words(&actions),
        ["unwritable", &format!("refused asked {code}")]
    );
    let [_, RecorderAction::Refused { refusal, .. }] = &actions[..] else {
        panic!("{actions:?}");
    };
    assert!(refusal.hint.contains("ctxrelay kill"), "{refusal:?}");
    assert!(written.recorder.is_ledger_gone());
    assert!(!written.recorder.has_unwritten());
    assert!(written.recorder.next_deadline().is_none());
}

#[test]
fn once_the_writer_is_gone_nobody_waits_and_nothing_is_kept() {
    let mut written = Written::new();
    let _ = written.append("one", "asked");
    let path = written.recorder.ledger().path().to_owned();
    let gone = WriterEvent::Gone(LedgerError::WriterGone(path));
    let actions = written.told(gone);
    assert_eq!(
        words(&actions),
        ["writer gone", "refused asked writer_gone"]
    );
    assert_eq!(written.recorder.pending_count(), 0);
    written.recorder.ledger().clone().close();
    assert_eq!(
        words(&written.keep_then("happened", "then")),
        [
            "writer gone",
            "fact happened writer_gone given up",
            "refused then writer_gone"
        ]
    );
    assert!(!written.recorder.has_unwritten());
    // It came to the disk all the same.
    assert_eq!(words(&written.next()), ["recorded one None"]);
}

#[test]
fn nothing_is_written_where_the_folder_is_not_ours_any_more() {
    let mut written = Written::new();
    written.recorder.disown();
    assert_eq!(
        words(&written.append("one", "asked")),
        ["refused asked folder_lost"]
    );
    assert_eq!(
        words(&written.keep_then("happened", "then")),
        ["fact happened folder_lost kept"]
    );
    assert_eq!(written.recorder.ledger().stats().entries, 0);
}

#[test]
fn the_next_session_goes_on_from_the_head_with_its_own_world() {
    let mut written = Written::new();
    let entry = written.said("last words");
    written
        .recorder
        .append_and_wait(vec![entry], DEADLINE, "late")
        .unwrap();
    assert_eq!(written.texts(), ["last words"]);
    let before = written.recorder.as_predecessor(Fate::Archived);
    let next = SessionId::new("session_1795000000001_a1b2c3d5");
    let kind = EntryKind::SessionStarted {
        predecessor: Some(before.clone()),
    };
    let first = written
        .recorder
        .entry(Party::Human, None, kind, "first words", None);
    let (world, stored) = written
        .recorder
        .go_on_as(next.clone(), before.head.clone(), vec![first], DEADLINE)
        .unwrap();
    assert_eq!(world.seq.0, 1, "of the session before");
    assert_eq!(written.texts(), ["first words"]);
    assert_eq!(stored[0].entry.session_id, next);
    assert_eq!(*written.recorder.session_id(), next);
    let current = session::read_current(&written.place.dirs).unwrap();
    assert_eq!(current.as_ref(), Some(&next));
    let archive = written.recorder.archive(&before.session_id).unwrap();
    assert!(archive.exists());
    let Written {
        recorder, place, ..
    } = written;
    recorder.into_closing().close(CloseHow::Ended).unwrap();
    let heads = Heads::open(&place.user, &place.dirs.instance_id()).unwrap();
    let kept = heads.kept().unwrap();
    assert_eq!(kept.head.session_id, next);
    assert_eq!(kept.head.hash, stored[0].hash);
}

/// Waits until the head outside is of the last entry.
fn wait_for_head(written: &Written) {
    let last = written.recorder.recent().back().unwrap().hash.clone();
    let (user, id) = (&written.place.user, written.place.dirs.instance_id());
    let begun = Instant::now();
    while head::read(user, &id).unwrap().map(|kept| kept.head.hash) != Some(last.clone()) {
        assert!(begun.elapsed() < DEADLINE, "no head of {last}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Has the operator begin the next session.
fn begin_next(written: &mut Written) -> Result<SessionId, NotBegun> {
    let next = SessionId::new("session_1795000000001_a1b2c3d5");
    let before = written.recorder.as_predecessor(Fate::Archived);
    let head = before.head.clone();
    let kind = EntryKind::SessionStarted {
        predecessor: Some(before),
    };
    let first = written
        .recorder
        .entry(Party::Human, None, kind, "first words", None);
    let begun = written
        .recorder
        .go_on_as(next.clone(), head, vec![first], DEADLINE);
    begun.map(|_| next)
}

#[test]
fn a_disk_that_is_full_in_the_middle_of_a_clear_makes_nothing_foreign() {
    let mut written = Written::new();
    let entry = written.said("before");
    written
        .recorder
        .append_and_wait(vec![entry], DEADLINE, "late")
        .unwrap();
    wait_for_head(&written);
    let dirs = written.place.dirs.clone();
    let outside = written.place.user.head(&dirs.instance_id());
    // The head of the next session is the last that there is room for.
    let full = [Full::after(1, &outside), Full::after(0, &dirs.current())];
    let next = SessionId::new("session_1795000000001_a1b2c3d5");
    assert!(matches!(
        begin_next(&mut written),
        Err(NotBegun::Current(_))
    ));
    assert!(!dirs.ledger(&next).exists());
    drop(full);

    let entry = written.said("behind");
    written
        .recorder
        .append_and_wait(vec![entry], DEADLINE, "late")
        .unwrap();
    wait_for_head(&written);
    let Written {
        recorder, place, ..
    } = written;
    let session = recorder.session_id().clone();
    recorder.into_closing().close(CloseHow::Left).unwrap();
    let heads = Heads::open(&place.user, &dirs.instance_id()).unwrap();
    let opened = ledger::open(
        ledger::OpenOptions {
            dirs: dirs.clone(),
            session,
            prev_head: None,
            redactor: Arc::new(Redactor::new()),
            checkpoint: None,
            outside: Some(ledger::Outside {
                heads,
                origin: ledger::Origin::Known,
            }),
            space: None,
        },
        Box::new(|_| {}),
    )
    .unwrap();
    assert_eq!(opened.report.alarms, []);
    assert_eq!(
        (opened.report.entries, opened.snapshot.foreign_through.0),
        (2, 0)
    );
}

#[test]
fn a_session_that_could_not_be_opened_leaves_no_ledger() {
    let mut written = Written::new();
    let entry = written.said("before");
    written
        .recorder
        .append_and_wait(vec![entry], DEADLINE, "late")
        .unwrap();
    let sessions = written.place.dirs.sessions();
    let full = Full::after(0, &sessions);
    let begun = begin_next(&mut written);
    assert!(matches!(begun, Err(NotBegun::Ledger(_))), "{begun:?}");
    drop(full);
    let names = std::fs::read_dir(sessions).unwrap();
    let names: Vec<_> = names.map(|file| file.unwrap().file_name()).collect();
    let session = written.recorder.session_id();
    assert_eq!(names, [format!("{session}.jsonl").as_str()]);
    let entry = written.said("behind");
    let stored = written
        .recorder
        .append_and_wait(vec![entry], DEADLINE, "late");
    assert_eq!(stored.unwrap()[0].entry.seq.0, 2);
}
