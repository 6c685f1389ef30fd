//! Between two sessions: nothing open vanishes unsaid, and a crash is mended at the next start.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use super::commands::{change_queue, fetched};
use super::compact::note;
use super::rig::{Guest, Rig};
use crate::adapters::codex::fact::{CodexFact, ReportedStatus};
use crate::core::agent::{Agent, Party};
use crate::core::delivery::{DeliveryState, OnBusy, Outcome};
use crate::core::entry::{DeliveryResult, EntryKind, ErrorCode, LifecycleEvent, NoteKind};

use crate::core::continuity::ContinuityState;
use crate::core::id::{EntryId, RuntimeSession, SessionId, ThreadId, TurnId};
use crate::core::snapshot::Snapshot;
use crate::daemon::agents::inferences::Question;
use crate::daemon::agents::reminders::RidesAlong;
use crate::daemon::event::Event;
use crate::daemon::sessions::rollover::{failed, late, once_recorded};
use crate::store::ledger::{self, LedgerError, Stored};
use crate::store::session;
use crate::store::testing::Place;
use crate::wire::control::{
    ClearParams, Cleared, Command, CompactParams, HookEvent, HookParams, QueueChange, RefusalCode,
    Reply, Role, SendParams,
};

async fn write_to_claude(rig: &mut Rig, operator: &Guest) -> EntryId {
    let send = Command::Send(SendParams {
        from: None,
        to: Some(Agent::Claude),
        text: "please look".to_owned(),
        ..SendParams::default()
    });
    match rig.call(operator, send).await {
        Ok(Reply::Sent(sent)) => sent.message_id,
        other => panic!("{other:?}"),
    }
}

async fn clear(rig: &mut Rig, operator: &Guest, discard: bool) -> Cleared {
    let clear = Command::Clear(ClearParams {
        discard,
        ..ClearParams::default()
    });
    match rig.call(operator, clear).await {
        Ok(Reply::Cleared(cleared)) => cleared,
        other => panic!("{other:?}"),
    }
}

fn entries(path: &std::path::Path) -> Vec<Stored> {
    let mut entries = Vec::new();
    ledger::read(path, |stored| {
        entries.push(stored);
        std::ops::ControlFlow::Continue(())
    })
    .unwrap();
    entries
}

fn lifecycle(rig: &Rig, wanted: &str) -> bool {
    rig.daemon
        .base
        .recorder
        .recent()
        .iter()
        .any(|stored| match &stored.entry.kind {
            EntryKind::Lifecycle { event } => event.to_string() == wanted,
            EntryKind::Error { code } => code.to_string() == wanted,
            _ => false,
        })
}

#[tokio::test]
async fn what_nobody_settled_is_taken_back_in_the_record_that_is_sealed() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let operator = rig.connect(Role::Deck, None, true);
    let ids = [
        write_to_claude(&mut rig, &operator).await,
        write_to_claude(&mut rig, &operator).await,
    ];
    let cleared = clear(&mut rig, &operator, false).await;
    assert_eq!(cleared.cancelled, ids);
    let sealed = entries(cleared.archive.as_deref().unwrap().as_ref());
    assert_eq!(sealed.len() as u64, cleared.entries);
    let taken_back: Vec<_> = sealed
        .iter()
        .filter_map(|stored| match &stored.entry.kind {
            EntryKind::Delivery(record) if record.result == DeliveryResult::Cancelled => {
                Some(record.message_id.clone())
            }
            _ => None,
        })
        .collect();
    assert_eq!(taken_back, ids);
    let last = sealed.last().unwrap();
    assert_eq!(last.entry.source, Party::Human);
    assert_eq!(last.hash, cleared.head);
    // In the new record they are nowhere, and nobody gets them.
    assert!(rig.daemon.base.recorder.world().unsettled.is_empty());
    assert_eq!(rig.daemon.deliveries.outbox.lane(Agent::Claude).count(), 0);
    let first = &entries(rig.daemon.base.recorder.ledger().path())[0].entry;
    assert_eq!(first.source, Party::Human);
    let live = (**rig.daemon.base.recorder.world()).clone();
    drop(rig);
    assert_eq!(Rig::replayed(&place).0, live);
}

#[tokio::test]
async fn in_the_next_session_nobody_was_reminded_and_no_word_of_before_is_read() {
    let mut rig = Rig::fresh().await;
    let operator = rig.connect(Role::Deck, None, true);
    let pair = RuntimeSession::default();
    let rides = RidesAlong {
        text: String::new(),
        reminded_at: Some(8),
        compacted_ms: None,
    };
    let mut state = ContinuityState::default();
    (0..8).for_each(|_| state.turn_began());
    let question = Question {
        agent: Agent::Codex,
        pair: pair.clone(),
        turns: 8,
        unwritten: 8,
        every_turns: 5,
        day: 0,
        recorded: 0,
        per_day: 10,
    };
    let agents = &mut rig.daemon.agents;
    agents.reminders.said(Agent::Codex, &pair, &rides);
    agents.inferences.said(Agent::Codex, &pair, 8, "words");
    assert_eq!(agents.reminders.due(Agent::Codex, &pair, &state), None);
    clear(&mut rig, &operator, false).await;
    let agents = &mut rig.daemon.agents;
    assert!(agents.reminders.due(Agent::Codex, &pair, &state).is_some());
    assert!(agents.inferences.begin(&question).is_none());
    agents.inferences.said(Agent::Codex, &pair, 8, "words");
    assert!(agents.inferences.begin(&question).is_some());
}

#[tokio::test]
async fn a_message_that_codex_does_not_take_keeps_the_session_and_the_way_out_is_named() {
    let mut rig = Rig::fresh_with_codex().await;
    let operator = rig.connect(Role::Deck, None, true);
    let claude = rig.connect(Role::Claude, None, false);
    rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    rig.delivered_ids();
    let waits = write_to_claude(&mut rig, &operator).await;
    rig.fact(CodexFact::ServerLost {
        why: "it cannot be started".to_owned(),
        gave_up: true,
    });
    rig.settle().await;
    let clear = || Command::Clear(ClearParams::default());
    let refused = rig.call(&operator, clear()).await.unwrap_err();
    assert_eq!(refused.code, RefusalCode::InFlight);
    for way in ["doctor", "queue rebuild --apply", "queue retry ID --apply"] {
        assert!(refused.hint.contains(way), "{refused:?}");
    }
    rig.call(&operator, Command::QueueRebuild).await.unwrap();
    let row = rig.daemon.deliveries.outbox.get(&waits).unwrap();
    assert_eq!(row.state, DeliveryState::Ambiguous);
    rig.call(&operator, clear()).await.unwrap();
}

#[tokio::test]
async fn what_waits_for_the_end_of_codexs_turn_keeps_the_session_and_status_names_the_turn() {
    let mut rig = Rig::fresh_with_codex().await;
    let operator = rig.connect(Role::Deck, None, true);
    let claude = rig.connect(Role::Claude, None, false);
    assert_eq!(rig.daemon.status().kept_open, None);
    rig.fact(CodexFact::ThreadStatus {
        status: ReportedStatus::Active { waiting: false },
    });
    rig.fact(CodexFact::TurnStarted {
        thread_id: ThreadId::new("T"),
        turn_id: TurnId::new("turn-1"),
    });
    let id = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    assert_eq!(rig.delivered_ids(), std::slice::from_ref(&id));
    let kept_open = rig.daemon.status().kept_open.unwrap();
    assert!(kept_open.message.contains("turn-1"), "{kept_open:?}");
    for ending in endings() {
        let refused = rig.call(&operator, ending).await.unwrap_err();
        assert_eq!(refused.code, RefusalCode::InFlight);
        assert_eq!(refused.message, kept_open.message);
    }
    rig.user_message("turn-2", Some(&id));
    rig.settle().await;
    assert_eq!(rig.daemon.status().kept_open, None);
}

#[tokio::test]
async fn a_message_that_was_just_handed_over_keeps_the_session_until_it_is_known() {
    let mut rig = Rig::fresh().await;
    let operator = rig.connect(Role::Deck, None, true);
    let claude = rig.connect(Role::Claude, Some(7_000_000), false);
    let id = write_to_claude(&mut rig, &operator).await;
    let get = Command::GetMessages(crate::wire::control::GetMessagesParams::of(Agent::Claude));
    rig.call(&claude, get).await.unwrap();
    let refused = rig
        .call(&operator, Command::Clear(ClearParams::default()))
        .await;
    assert_eq!(refused.unwrap_err().code, RefusalCode::InFlight);
    let fetched = fetched(Agent::Claude, vec![id]);
    rig.call(&claude, fetched).await.unwrap();
    clear(&mut rig, &operator, false).await;
}

#[tokio::test]
async fn a_disk_that_takes_no_new_file_leaves_the_session_going_and_says_so() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let operator = rig.connect(Role::Deck, None, true);
    let id = write_to_claude(&mut rig, &operator).await;
    let session = rig.daemon.base.recorder.session_id().clone();
    // `current` cannot be replaced by a file while a folder has its name.
    fs::remove_file(place.dirs.current()).unwrap();
    fs::create_dir(place.dirs.current()).unwrap();
    let refused = rig
        .call(&operator, Command::Clear(ClearParams::default()))
        .await;
    assert_eq!(refused.unwrap_err().code, RefusalCode::ClearFailed);
    rig.settle().await;
    assert_eq!(*rig.daemon.base.recorder.session_id(), session);
    assert!(lifecycle(&rig, "not_sealed"));
    assert!(
        !rig.daemon.base.recorder.world().unsettled.contains_key(&id),
        "taken back all the same"
    );
    assert!(rig.daemon.deliveries.outbox.get(&id).is_none());
    assert_eq!(fs::read_dir(place.dirs.sessions()).unwrap().count(), 1);
    fs::remove_dir(place.dirs.current()).unwrap();
    clear(&mut rig, &operator, false).await;
}

#[tokio::test]
async fn what_a_session_that_never_began_writes_late_is_not_heard() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let world = Arc::clone(rig.daemon.base.recorder.world());
    let (_, head) = rig.daemon.base.recorder.ledger().stats().head.unwrap();
    // No disk is so fast; a system that lets this thread wait is.
    let late = (0..100).any(|n| {
        let next = session::new_id(1_795_000_000_000, n);
        let kind = EntryKind::SessionStarted { predecessor: None };
        let mut first = rig
            .daemon
            .base
            .recorder
            .entry(Party::System, None, kind, "begins", None);
        first.session_id = next.clone();
        let begun =
            rig.daemon
                .base
                .recorder
                .begin(&next, head.clone(), vec![first], Duration::ZERO);
        match begun {
            Ok((ledger, _)) => {
                ledger.close();
                false
            }
            Err(error) => {
                assert!(matches!(error, LedgerError::Late(_)), "{error}");
                assert!(!place.dirs.ledger(&next).exists());
                true
            }
        }
    });
    assert!(late);
    rig.pump().await;
    assert_eq!(*rig.daemon.base.recorder.world(), world);
}

/// As after a crash before the old file was put away.
fn undo_archive(place: &Place, old: &SessionId) {
    let name = format!("{old}.jsonl");
    fs::rename(
        place.dirs.archives().join(&name),
        place.dirs.sessions().join(&name),
    )
    .unwrap();
}

#[tokio::test]
async fn a_crash_before_the_old_file_is_put_away_is_mended_at_the_next_start() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let operator = rig.connect(Role::Deck, None, true);
    let cleared = clear(&mut rig, &operator, false).await;
    drop(rig);
    undo_archive(&place, &cleared.sealed);
    let rig = Rig::start(&place).await;
    assert_eq!(*rig.daemon.base.recorder.session_id(), cleared.session_id);
    assert!(lifecycle(&rig, "session_archived"));
    let before = rig
        .daemon
        .base
        .recorder
        .world()
        .predecessor
        .clone()
        .unwrap();
    assert_eq!(
        (before.session_id, before.head),
        (cleared.sealed.clone(), cleared.head)
    );
    assert!(
        place
            .dirs
            .archives()
            .join(format!("{}.jsonl", cleared.sealed))
            .is_file()
    );
    assert!(!place.dirs.ledger(&cleared.sealed).exists());
}

#[tokio::test]
async fn a_crash_before_current_names_the_new_session_leaves_the_old_one_going() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let operator = rig.connect(Role::Deck, None, true);
    let id = write_to_claude(&mut rig, &operator).await;
    let heads = rig.daemon.base.recorder.heads().clone();
    let before = heads.kept().unwrap();
    let cleared = clear(&mut rig, &operator, false).await;
    drop(rig);
    undo_archive(&place, &cleared.sealed);
    // Nor does the head outside, which is written before `current`.
    heads.replace(before).unwrap();
    session::write_current(&place.dirs, &cleared.sealed).unwrap();
    let rig = Rig::start(&place).await;
    assert_eq!(*rig.daemon.base.recorder.session_id(), cleared.sealed);
    assert!(lifecycle(&rig, "clear_cut_short"));
    assert!(!place.dirs.ledger(&cleared.session_id).exists());
    assert!(!rig.daemon.base.recorder.world().unsettled.contains_key(&id));
    assert!(rig.daemon.deliveries.outbox.get(&id).is_none());
}

/// What the session that goes on says of an end that did not come.
fn cut_short(rig: &Rig) -> Vec<String> {
    let recent = rig.daemon.base.recorder.recent().iter();
    let told = recent.filter(|stored| stored.entry.kind == ErrorCode::ClearCutShort.into());
    told.map(|stored| stored.entry.content.clone()).collect()
}

#[tokio::test]
async fn a_crash_behind_the_last_entries_of_a_session_is_told_once_with_what_they_took_back() {
    let [clear, compact, _] = endings();
    for (ending, taken_back) in [(clear, true), (compact, false)] {
        let place = Place::new();
        let mut rig = Rig::start(&place).await;
        let operator = rig.connect(Role::Deck, None, true);
        for _ in 0..2 {
            write_to_claude(&mut rig, &operator).await;
        }
        // Taken back just before by itself, it is none of those.
        let alone = write_to_claude(&mut rig, &operator).await;
        let remove = change_queue(alone, QueueChange::Remove);
        rig.call(&operator, remove).await.unwrap();
        let heads = rig.daemon.base.recorder.heads().clone();
        let mut kept = heads.kept().unwrap();
        let old = rig.daemon.base.recorder.session_id().clone();
        rig.call(&operator, ending).await.unwrap();
        let new = rig.daemon.base.recorder.session_id().clone();
        drop(rig);
        undo_archive(&place, &old);
        // The operator's word is known outside, and nothing of the next session.
        let sealed = entries(&place.dirs.ledger(&old));
        kept.head.seq = sealed.len() as u64;
        kept.head.hash.clone_from(&sealed.last().unwrap().hash);
        kept.anchors.push((kept.head.seq, kept.head.hash.clone()));
        heads.replace(kept).unwrap();
        session::write_current(&place.dirs, &old).unwrap();
        // The file of the next one was made, and nothing was written to it.
        fs::write(place.dirs.ledger(&new), "").unwrap();
        for _ in 0..2 {
            let rig = Rig::start(&place).await;
            assert_eq!(*rig.daemon.base.recorder.session_id(), old);
            let told = cut_short(&rig);
            assert_eq!(told.len(), 1, "{told:?}");
            assert_eq!(told[0].contains("the 2 messages"), taken_back, "{told:?}");
            assert_eq!(told[0].contains("taken back"), taken_back, "{told:?}");
            assert!(told[0].contains("clear or compact again"), "{told:?}");
            assert!(!place.dirs.ledger(&new).exists());
        }
    }
}

#[tokio::test]
async fn a_process_that_takes_a_session_over_tells_of_its_end_that_did_not_come() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let recorder = &mut rig.daemon.base.recorder;
    recorder.mention(Party::Human, LifecycleEvent::SessionCleared, "it ends");
    rig.settle().await;
    let rig = Rig::start_after(&place, Some(rig.leave().await)).await;
    assert_eq!(cut_short(&rig).len(), 1);
    // A session that ended has no such word.
    drop(rig);
    let mut rig = Rig::start(&place).await;
    let operator = rig.connect(Role::Deck, None, true);
    clear(&mut rig, &operator, false).await;
    drop(rig);
    assert!(cut_short(&Rig::start(&place).await).is_empty());
}

#[test]
fn a_refusal_for_a_slow_disk_does_not_say_what_it_cannot_know() {
    let late = LedgerError::Late("/plums/ledger".into());
    let refused = failed(&late.into(), &once_recorded(4));
    let said = format!("{}: {}", refused.message, refused.hint);
    assert!(said.contains("it may be recorded yet"), "{said}");
    assert!(
        said.contains("if that is recorded, the 4 messages"),
        "{said}"
    );
    assert!(said.contains("ctxrelay ledger list"), "{said}");
    assert!(!said.contains("nothing was recorded"), "{said}");
}

#[tokio::test]
async fn a_crash_before_the_deletion_is_mended_at_the_next_start() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let operator = rig.connect(Role::Deck, None, true);
    let path = rig.daemon.base.recorder.ledger().path().to_owned();
    let cleared = clear(&mut rig, &operator, true).await;
    drop(rig);
    fs::write(&path, "{}\n").unwrap();
    let rig = Rig::start(&place).await;
    assert_eq!(*rig.daemon.base.recorder.session_id(), cleared.session_id);
    assert!(lifecycle(&rig, "session_deleted"));
    assert!(!path.exists());
}

#[tokio::test]
async fn of_what_a_clear_takes_back_the_lane_to_codex_remembers_nothing() {
    let mut rig = Rig::fresh_with_codex().await;
    let operator = rig.connect(Role::Deck, None, true);
    let claude = rig.connect(Role::Claude, None, false);
    let id = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    for _ in 0..2 {
        rig.fact(CodexFact::NotTaken {
            message_id: id.clone(),
            why: "its conversation is full".to_owned(),
        });
        rig.settle().await;
    }
    assert!(rig.daemon.agents.codex.flow().remembered() > 0);
    let cleared = clear(&mut rig, &operator, false).await;
    assert_eq!(cleared.cancelled, [id]);
    assert_eq!(rig.daemon.agents.codex.flow().remembered(), 0);
}

#[tokio::test]
async fn the_end_of_a_session_that_is_recorded_too_late_is_said_to_be_none() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    let send = Command::Send(SendParams {
        from: Some(Agent::Claude),
        text: "and then this".to_owned(),
        ..SendParams::default()
    });
    let asked = rig.ask(&claude, send);
    rig.record().await;
    rig.store();
    let session = rig.daemon.base.recorder.session_id().clone();

    // As the operator's clear leaves it once the disk was too late for it.
    let (ids, mut closing) = rig.daemon.deliveries.take_back_all(&rig.daemon.base);
    let word = rig.daemon.base.recorder.entry(
        Party::Human,
        None,
        LifecycleEvent::SessionCleared,
        "the operator puts this session away",
        None,
    );
    closing.push(word);
    for id in &ids {
        let outbox = &mut rig.daemon.deliveries.outbox;
        outbox.mark_recording(id, DeliveryResult::Cancelled);
    }
    rig.daemon.base.recorder.append(closing, late(&ids));
    rig.settle().await;

    assert_eq!(*rig.daemon.base.recorder.session_id(), session);
    let recent = rig.daemon.base.recorder.recent();
    let last = &recent.back().unwrap().entry;
    assert_eq!(last.kind, EntryKind::from(ErrorCode::NotSealed));
    // Its sender does not go on as if it were delivered.
    match asked.await.unwrap() {
        Ok(Reply::Sent(sent)) => assert_eq!(sent.outcome, Outcome::Rejected),
        other => panic!("{other:?}"),
    }
}

fn plan(text: &str) -> Command {
    note(NoteKind::Plan, text, Vec::new())
}

/// The three ways in which a session ends.
fn endings() -> [Command; 3] {
    let clear = |discard| {
        Command::Clear(ClearParams {
            discard,
            ..ClearParams::default()
        })
    };
    [
        clear(false),
        Command::Compact(CompactParams::default()),
        clear(true),
    ]
}

#[tokio::test]
async fn a_session_ends_behind_what_is_being_written_and_nobody_is_told_to_try_again() {
    let mut rig = Rig::fresh().await;
    let operator = rig.connect(Role::Deck, None, true);
    let claude = rig.connect(Role::Claude, None, false);
    rig.settle().await;
    for ending in endings() {
        let session = rig.daemon.base.recorder.session_id().clone();
        let noted = rig.ask_only(&claude, plan("what was just said"));
        let mut ended = rig.ask_only(&operator, ending.clone());
        assert!(rig.daemon.base.recorder.pending_count() > 0);
        assert!(ended.try_recv().is_err(), "{ending:?}");
        // One is enough.
        let mut second = rig.ask_only(&operator, ending.clone());
        let refused = second.try_recv().unwrap().unwrap_err();
        assert_eq!(refused.code, RefusalCode::InFlight);
        // A third one that is written while what it leaves is read.
        rig.record().await;
        let late = rig.ask_only(&claude, plan("what was said meanwhile"));
        rig.settle().await;
        assert!(noted.await.unwrap().is_ok() && late.await.unwrap().is_ok());
        ended.await.unwrap().unwrap();
        assert_ne!(*rig.daemon.base.recorder.session_id(), session);
    }
}

#[tokio::test]
async fn a_session_does_not_end_for_somebody_who_has_gone_before_it_could() {
    let mut rig = Rig::fresh().await;
    let operator = rig.connect(Role::Deck, None, true);
    let claude = rig.connect(Role::Claude, None, false);
    rig.settle().await;
    let session = rig.daemon.base.recorder.session_id().clone();
    for ending in endings() {
        let noted = rig.ask_only(&claude, plan("what was just said"));
        drop(rig.ask_only(&operator, ending));
        rig.settle().await;
        assert!(noted.await.unwrap().is_ok());
        assert_eq!(*rig.daemon.base.recorder.session_id(), session);
    }
}

#[tokio::test]
async fn a_session_that_waits_for_its_end_goes_on_where_the_daemon_stops() {
    for ending in endings() {
        let mut rig = Rig::fresh().await;
        let operator = rig.connect(Role::Deck, None, true);
        let claude = rig.connect(Role::Claude, None, false);
        rig.settle().await;
        let session = rig.daemon.base.recorder.session_id().clone();
        let noted = rig.ask_only(&claude, plan("what was just said"));
        let ended = rig.ask_only(&operator, ending);
        rig.daemon.on_event(Event::Shutdown { kill: false });
        rig.settle().await;
        let refused = ended.await.unwrap().unwrap_err();
        assert_eq!(refused.code, RefusalCode::DaemonStopping);
        assert!(noted.await.unwrap().is_ok());
        assert_eq!(*rig.daemon.base.recorder.session_id(), session);
    }
}

#[tokio::test]
async fn the_conversation_of_each_pair_goes_on_after_a_compaction_and_none_after_a_clear() {
    for ends in [
        Command::Clear(ClearParams::default()),
        Command::Clear(ClearParams {
            discard: true,
            ..ClearParams::default()
        }),
    ] {
        let place = Place::new();
        let mut rig = Rig::start(&place).await;
        let operator = rig.connect(Role::Deck, None, true);
        let pairs = [
            ("default", 7_000_000, "plums"),
            ("second", 7_000_001, "pears"),
        ];
        let mut bridges = Vec::new();
        for (pair, process, session) in pairs {
            bridges.push(rig.connect_to(pair, Role::Claude, Some(process)));
            let hook = rig.connect_to(pair, Role::Hook, None);
            let prompt = Command::Hook(HookParams {
                event: HookEvent::UserPromptSubmit,
                claude_pid: Some(process),
                claude_session_id: Some(session.to_owned()),
                ..HookParams::default()
            });
            rig.call(&hook, prompt).await.unwrap();
            rig.settle().await;
        }
        let known = |world: &Snapshot| {
            let claude = world.agent(Agent::Claude);
            pairs.map(|(pair, ..)| {
                let known = claude.conversation(&RuntimeSession::new(pair)).cloned();
                known.map(|id| id.to_string())
            })
        };
        // The second one leaves.
        let gone = bridges.pop().unwrap();
        rig.daemon.disconnect(gone.conn);
        rig.settle().await;
        for _ in 0..2 {
            rig.compact(&operator).await;
            let live = rig.daemon.base.recorder.world();
            let both = ["plums", "pears"].map(|id| Some(id.to_owned()));
            assert_eq!(known(live), both);
            assert_eq!(Rig::replayed(&place).0, **live);
        }
        rig.call(&operator, ends).await.unwrap();
        let live = rig.daemon.base.recorder.world();
        assert_eq!(known(live), [None, None]);
        let claude = live.agent(Agent::Claude);
        assert!(claude.state.is_attached(), "the first one is here");
        assert_eq!(Rig::replayed(&place).0, **live);
    }
}
