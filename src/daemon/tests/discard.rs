//! What is deleted for good is nowhere any more.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::oneshot;

use super::rig::{Guest, Rig};
use crate::core::agent::Agent;
use crate::core::entry::{ErrorCode, Fate};
use crate::daemon::base::under_way::WorkBeside;
use crate::daemon::base::under_way::ordered::order_panic;
use crate::store::ledger::verify;
use crate::store::mend::mend;
use crate::store::testing::Place;
use crate::wire::control::{
    ClearParams, Command, CompactParams, HandoffParams, NoteParams, Refusal, RefusalCode, Reply,
    Role, SendParams,
};

/// Looks like nothing that the redaction knows, as a leaked secret may.
const MARKER: &str = "xq7-velvet-anchor";

/// How long the search index may take to catch up. Generous: only a broken one takes so long.
const DEADLINE: Duration = Duration::from_secs(30);

/// Every file below a folder that holds a text. SQLite's own files may go meanwhile.
fn holding(dir: &Path, text: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for file in fs::read_dir(dir).unwrap() {
        let path = file.unwrap().path();
        let is_link = path.is_symlink();
        if path.is_dir() && !is_link {
            found.extend(holding(&path, text));
            continue;
        }
        match fs::read(&path) {
            Ok(bytes)
                if bytes
                    .windows(text.len())
                    .any(|part| part == text.as_bytes()) =>
            {
                found.push(path);
            }
            Err(error) if error.kind() != ErrorKind::NotFound => panic!("{path:?}: {error}"),
            _ => {}
        }
    }
    found
}

fn discard() -> Command {
    Command::Clear(ClearParams {
        discard: true,
        ..ClearParams::default()
    })
}

/// Until the next session has begun. What deletes the one before has not, nor can it before
/// something is waited for.
async fn begin_discarding(
    rig: &mut Rig,
    operator: &Guest,
) -> oneshot::Receiver<Result<Reply, Refusal>> {
    let first = rig.daemon.base.recorder.session_id().clone();
    let answer = rig.ask(operator, discard());
    while *rig.daemon.base.recorder.session_id() == first {
        rig.next_is_tree().await;
    }
    answer
}

#[tokio::test]
async fn a_secret_that_was_recorded_is_in_no_file_afterwards() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let claude = rig.connect(Role::Claude, Some(7_000_000), false);
    let operator = rig.connect(Role::Deck, None, true);
    rig.settle().await;
    let send = |from, text: String| {
        Command::Send(SendParams {
            from: Some(from),
            text,
            runtime_session_id: Some(crate::core::id::RuntimeSession::new(MARKER)),
            ..SendParams::default()
        })
    };
    // In a line, in a long text, in a handoff, in the text of the running turn, in a row of the
    // queue; in an archived segment and in what was set aside of it.
    let codex = rig.connect(Role::Codex, None, false);
    let _of_pair = rig.connect_to(MARKER, Role::Codex, None);
    rig.call(&codex, send(Agent::Codex, format!("short {MARKER}")))
        .await
        .unwrap();
    let long = format!(
        "{} {MARKER} {}",
        "word ".repeat(3_000),
        "word ".repeat(3_000)
    );
    rig.call(&codex, send(Agent::Codex, long)).await.unwrap();
    rig.call(
        &claude,
        Command::AppendNote(NoteParams::new(
            Agent::Claude,
            crate::core::entry::NoteKind::Goal,
            format!("the goal is {MARKER}"),
        )),
    )
    .await
    .unwrap();
    let compact = Command::Compact(CompactParams::default());
    let Ok(Reply::Compacted(compacted)) = rig.call(&operator, compact).await else {
        panic!("not compacted");
    };
    let torn = format!("{}.torn-1", compacted.sealed);
    fs::write(place.dirs.archives().join(torn), MARKER).unwrap();
    drop(rig.ask(
        &claude,
        Command::Handoff(HandoffParams {
            from: Some(Agent::Claude),
            ask: format!("use {MARKER}"),
            ..HandoffParams::default()
        }),
    ));
    rig.settle().await;
    let id = rig.delivered_ids().pop().unwrap();
    rig.user_message("turn-1", Some(&id));
    rig.settle().await;
    let text = rig
        .daemon
        .base
        .recorder
        .world()
        .agent(Agent::Codex)
        .turn_text
        .clone()
        .unwrap();
    assert!(text.contains(MARKER));
    fs::write(place.dirs.state_file("checkpoint"), MARKER).unwrap();
    // The search index has the words of it, in lower case and cut.
    let seq = rig.daemon.base.recorder.world().seq.0;
    assert!(rig.daemon.base.recorder.search().wait_for(seq, DEADLINE));
    let words = holding(&place.dirs.state, "velvet");
    let in_index = |path: &PathBuf| path.to_string_lossy().contains("index.db");
    assert!(words.iter().any(in_index), "{words:?}");
    let foreign = format!("{}.foreign-1", compacted.session_id);
    fs::write(place.dirs.sessions().join(foreign), MARKER).unwrap();
    assert!(holding(&place.dirs.relay, MARKER).len() >= 6);

    let before = rig.daemon.base.recorder.ledger().stats();
    let Ok(Reply::Cleared(cleared)) = rig.call(&operator, discard()).await else {
        panic!("not cleared");
    };
    assert_eq!((cleared.archive, cleared.left), (None, Vec::new()));
    assert_eq!(holding(&place.dirs.relay, MARKER), Vec::<PathBuf>::new());
    assert_eq!(holding(&place.dirs.relay, "velvet"), Vec::<PathBuf>::new());
    // The number of entries and the head are what is left.
    let kept = rig
        .daemon
        .base
        .recorder
        .world()
        .predecessor
        .clone()
        .unwrap();
    assert_eq!(kept.fate, Fate::Discarded);
    assert!(kept.entries > before.entries);
    assert_eq!((kept.entries, kept.head), (cleared.entries, cleared.head));

    // Everything goes on, here and after a restart.
    let id = rig.send(&claude, Agent::Claude, Default::default()).await;
    let live = (**rig.daemon.base.recorder.world()).clone();
    assert!(live.unsettled.contains_key(&id));
    assert!(
        verify(rig.daemon.base.recorder.ledger().path(), None)
            .unwrap()
            .ok
    );
    drop(rig);
    assert_eq!(Rig::replayed(&place).0, live);
    assert_eq!(holding(&place.dirs.relay, MARKER), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn sessions_before_it_are_left_alone() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let operator = rig.connect(Role::Deck, None, true);
    let first = rig.daemon.base.recorder.session_id().clone();
    rig.call(&operator, long_message()).await.unwrap();
    rig.call(&operator, Command::Clear(ClearParams::default()))
        .await
        .unwrap();
    rig.call(&operator, long_message()).await.unwrap();
    rig.call(&operator, discard()).await.unwrap();
    let archive = place.dirs.archives().join(format!("{first}.jsonl"));
    let report = verify(&archive, None).unwrap();
    // The same text was spoken of in both, and is still needed by the one that is kept.
    assert_eq!((report.ok, report.blobs.texts), (true, 1), "{report:?}");
}

#[tokio::test]
async fn what_cannot_be_deleted_is_said_and_recorded() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let operator = rig.connect(Role::Deck, None, true);
    // A folder where a derived file should be cannot be removed as a file.
    fs::create_dir(place.dirs.state_file("checkpoint")).unwrap();
    let Ok(Reply::Cleared(cleared)) = rig.call(&operator, discard()).await else {
        panic!("not cleared");
    };
    assert_eq!(cleared.left.len(), 1, "{:?}", cleared.left);
    assert!(cleared.left[0].contains("checkpoint"));
    let error = rig.daemon.base.recorder.world().errors.back().unwrap();
    assert_eq!(error.code, ErrorCode::NotDeleted);
}

#[tokio::test]
async fn segments_that_nobody_can_find_any_more_are_said_to_be_left() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let operator = rig.connect(Role::Deck, None, true);
    let first = rig.compact(&operator).await.sealed;
    let second = rig.compact(&operator).await.sealed;
    let archive = |name| place.dirs.archives().join(format!("{name}.jsonl"));
    // Only what is sealed second says what was compacted into it.
    fs::remove_file(archive(second.clone())).unwrap();
    std::os::unix::fs::symlink("elsewhere", archive(second.clone())).unwrap();
    let Ok(Reply::Cleared(cleared)) = rig.call(&operator, discard()).await else {
        panic!("not cleared");
    };
    assert!(archive(first).is_file());
    assert!(
        cleared.left[0].contains(second.as_str()),
        "{:?}",
        cleared.left
    );
    let error = rig.daemon.base.recorder.world().errors.back().unwrap();
    assert_eq!(error.code, ErrorCode::NotDeleted);
}

/// A message whose text is a file of its own.
fn long_message() -> Command {
    Command::Send(SendParams {
        from: None,
        to: Some(Agent::Claude),
        text: format!("{MARKER} {}", "word ".repeat(5_000)),
        ..SendParams::default()
    })
}

#[tokio::test]
async fn a_session_that_ends_while_a_deletion_is_prepared_keeps_its_texts() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let operator = rig.connect(Role::Deck, None, true);
    let first = rig.daemon.base.recorder.session_id().clone();
    rig.call(&operator, long_message()).await.unwrap();
    // What the other sessions speak of is being found out, and the loop goes on.
    let deleted = rig.ask(&operator, discard());
    let archived = rig.ask(&operator, Command::Clear(ClearParams::default()));
    let Ok(Ok(Reply::Cleared(archived))) = archived.await else {
        panic!("not cleared");
    };
    assert_eq!(archived.sealed, first);
    rig.settle().await;
    let Ok(Ok(Reply::Cleared(deleted))) = deleted.await else {
        panic!("not deleted");
    };
    assert_eq!(deleted.sealed, archived.session_id);
    assert_eq!(deleted.left, Vec::<String>::new());
    let archive = place.dirs.archives().join(format!("{first}.jsonl"));
    let report = verify(&archive, None).unwrap();
    assert_eq!((report.ok, report.blobs.texts), (true, 1), "{report:?}");
}

#[tokio::test]
async fn what_a_daemon_that_dies_over_a_deletion_leaves_is_deleted_at_the_next_start() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let operator = rig.connect(Role::Deck, None, true);
    rig.call(&operator, long_message()).await.unwrap();
    let old = rig.daemon.base.recorder.session_id().clone();
    let mut answer = begin_discarding(&mut rig, &operator).await;
    let current = rig.daemon.base.recorder.session_id().clone();
    // Nothing is claimed, and the loop has deleted nothing itself.
    assert_eq!(answer.try_recv(), Err(oneshot::error::TryRecvError::Empty));
    let of_record = || {
        let folders = [place.dirs.sessions(), place.dirs.relay.join("blobs")];
        folders.map(|folder| holding(&folder, MARKER).len())
    };
    assert_eq!(of_record(), [1, 1]);
    drop(rig);
    let (erased, came_to) = mend(&place.dirs, &current).erased.unwrap();
    assert_eq!((erased, came_to.left), (old, Vec::new()));
    assert_eq!(of_record(), [0, 0]);
}

#[tokio::test]
async fn no_other_session_ends_before_the_one_before_it_is_deleted() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let operator = rig.connect(Role::Deck, None, true);
    let deleted = begin_discarding(&mut rig, &operator).await;
    let again = rig.ask(&operator, Command::Clear(ClearParams::default()));
    let refused = again.await.unwrap().unwrap_err();
    assert_eq!(refused.code, RefusalCode::InFlight);
    assert!(refused.message.contains("being deleted"), "{refused:?}");
    rig.settle().await;
    assert!(deleted.await.unwrap().is_ok());
    let again = Command::Clear(ClearParams::default());
    rig.call(&operator, again).await.unwrap();
}

#[tokio::test]
async fn a_deletion_that_panicked_is_carried_out_before_the_next_session_ends() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let operator = rig.connect(Role::Deck, None, true);
    rig.call(&operator, long_message()).await.unwrap();
    order_panic(WorkBeside::Deletion);
    let deleted = rig.ask(&operator, discard());
    rig.settle().await;
    assert!(deleted.await.is_err(), "nothing is claimed");
    let notices = |rig: &Rig| {
        let told = rig.daemon.status().notices.into_iter();
        told.filter(|it| it.contains("deleting the rest")).count()
    };
    assert_eq!(notices(&rig), 1);
    let of_record = || {
        let folders = [place.dirs.sessions(), place.dirs.relay.join("blobs")];
        folders.map(|folder| holding(&folder, MARKER).len())
    };
    assert_eq!(of_record(), [1, 1]);
    // What the session that goes on has stays until that one ends.
    let current = rig.daemon.base.recorder.session_id().clone();
    rig.call(&operator, long_message()).await.unwrap();
    let Ok(Reply::Cleared(cleared)) = rig
        .call(&operator, Command::Clear(ClearParams::default()))
        .await
    else {
        panic!("not cleared");
    };
    assert_eq!((&cleared.sealed, cleared.cancelled.len()), (&current, 1));
    assert_eq!(of_record(), [0, 1]);
    let archive = place.dirs.archives().join(format!("{current}.jsonl"));
    let report = verify(&archive, None).unwrap();
    assert_eq!((report.ok, report.blobs.texts), (true, 1), "{report:?}");
    assert_eq!(notices(&rig), 0, "it is over");
}
