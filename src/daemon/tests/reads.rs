//! Reads of the record beside the loop.

use std::sync::{Arc, mpsc};

use serde_json::json;
use tokio::sync::oneshot;

use super::compact::hand_off;
use super::rig::Rig;
use crate::core::agent::{Agent, Party};
use crate::core::entry::NoteKind;
use crate::core::id::EntryId;
use crate::daemon::attach::ConnId;
use crate::wire::control::{
    ClearParams, Command, ContextPage, EntryPage, HandoffParams, LedgerListParams, NoteParams,
    ReadContextParams, Refusal, RefusalCode, Reply, Role,
};
use crate::wire::search::SearchParams;
use crate::wire::window::WindowParams;

type Answer = oneshot::Receiver<Result<Reply, Refusal>>;

/// Reads that take for ever, in every turn that there is.
fn hold_reads(rig: &Rig) -> Vec<mpsc::Sender<()>> {
    let one = |number: u64| {
        let (end, ended) = mpsc::channel::<()>();
        let (reply, _) = oneshot::channel();
        let client = ConnId::of(1_000 + number);
        rig.daemon.base.readers.read(client, reply, move || {
            let _ = ended.recv();
            Ok(Reply::Done)
        });
        end
    };
    (0..8_u64).map(one).collect()
}

fn note(text: &str) -> Command {
    Command::AppendNote(NoteParams::new(Agent::Codex, NoteKind::Decision, text))
}

async fn entries(answer: Answer) -> EntryPage {
    match answer.await.unwrap() {
        Ok(Reply::Entries(page)) => page,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_client_that_reads_delays_nobody_and_gets_what_was_acknowledged_to_it() {
    let mut rig = Rig::fresh().await;
    let codex = rig.connect(Role::Codex, None, false);
    let held = hold_reads(&rig);
    rig.call(&codex, note("we use a lock")).await.unwrap();
    let mut list = rig.ask(&codex, Command::LedgerList(LedgerListParams::default()));
    let context = rig.ask(&codex, Command::ReadContext(ReadContextParams::default()));
    // With both reads begun and none done.
    rig.call(&codex, note("and a queue")).await.unwrap();
    assert_eq!(list.try_recv(), Err(oneshot::error::TryRecvError::Empty));
    drop(held);
    let page = entries(list).await;
    let told = serde_json::to_string(&page.entries).unwrap();
    assert!(told.contains("we use a lock"), "{told}");
    let Ok(Reply::Context(context)) = context.await.unwrap() else {
        panic!("no context");
    };
    let told = serde_json::to_string(&context.entries).unwrap();
    assert!(told.contains("we use a lock"), "{told}");
}

#[tokio::test]
async fn reads_that_wait_keep_no_world_that_they_do_not_need() {
    let mut rig = Rig::fresh().await;
    let deck = rig.connect(Role::Deck, None, true);
    let held = hold_reads(&rig);
    let keepers = |rig: &Rig| Arc::strong_count(rig.daemon.base.recorder.world());
    let before = keepers(&rig);
    let sealed = SearchParams {
        words: "lock".to_owned(),
        ..SearchParams::default()
    };
    let window = rig.ask(&deck, Command::LedgerWindow(WindowParams::default()));
    let sealed = rig.ask(&deck, Command::SearchSealed(sealed));
    assert!(keepers(&rig) <= before);
    drop(held);
    let window = window.await.unwrap();
    assert!(matches!(window, Ok(Reply::Window(_))), "{window:?}");
    let sealed = sealed.await.unwrap();
    assert!(matches!(sealed, Ok(Reply::FoundSealed(_))), "{sealed:?}");
}

#[tokio::test]
async fn a_read_that_a_clear_overtakes_is_of_the_session_that_it_was_asked_of() {
    for discard in [false, true] {
        let mut rig = Rig::fresh().await;
        let codex = rig.connect(Role::Codex, None, false);
        let deck = rig.connect(Role::Deck, None, true);
        rig.call(&codex, note("we use a lock")).await.unwrap();
        let held = hold_reads(&rig);
        let list = rig.ask(&codex, Command::LedgerList(LedgerListParams::default()));
        let clear = ClearParams {
            discard,
            ..ClearParams::default()
        };
        rig.call(&deck, Command::Clear(clear)).await.unwrap();
        let after = rig.ask(&codex, Command::LedgerList(LedgerListParams::default()));
        drop(held);
        let old = serde_json::to_string(&entries(list).await.entries).unwrap();
        assert!(old.contains("we use a lock"), "{old}");
        let new = serde_json::to_string(&entries(after).await.entries).unwrap();
        assert!(!new.contains("we use a lock"), "{new}");
    }
}

#[tokio::test]
async fn a_handoff_is_read_with_its_reason_and_what_to_look_at() {
    let mut rig = Rig::fresh().await;
    let codex = rig.connect(Role::Codex, None, false);
    let handoff = Command::Handoff(HandoffParams {
        from: Some(Agent::Codex),
        ask: "mend the lock".to_owned(),
        reason: "it hangs".to_owned(),
        context_refs: vec!["src/lock.rs".to_owned()],
        ..HandoffParams::default()
    });
    drop(rig.ask(&codex, handoff));
    rig.settle().await;
    let open = &rig.daemon.base.recorder.world().open_handoffs;
    let id = open.keys().next().unwrap().clone();
    let read = Command::ReadContext(ReadContextParams {
        handoff_id: Some(id.clone()),
        ..ReadContextParams::default()
    });
    let Ok(Reply::Context(page)) = rig.call(&codex, read).await else {
        panic!("no context");
    };
    assert_eq!(page.entries[0]["text"], "mend the lock");
    assert_eq!(page.entries[0]["reason"], "it hangs");
    assert_eq!(page.entries[0]["context_refs"][0], "src/lock.rs");

    let other = hand_off(Agent::Codex, "another matter");
    drop(rig.ask(&codex, other));
    rig.settle().await;
    let read = || {
        Command::ReadContext(ReadContextParams {
            handoff_id: Some(id.clone()),
            ..ReadContextParams::default()
        })
    };
    let Ok(Reply::Context(page)) = rig.call(&codex, read()).await else {
        panic!("no context");
    };
    assert_eq!(page.open_handoffs.len(), 1, "no word of others");
    assert_eq!(page.open_handoffs[0]["id"], json!(id));

    let unknown = Command::ReadContext(ReadContextParams {
        handoff_id: Some(EntryId::new("nope")),
        ..ReadContextParams::default()
    });
    let refusal = rig.call(&codex, unknown).await.unwrap_err();
    assert_eq!(refusal.code, RefusalCode::NotFound);
    assert!(refusal.message.contains("nope"), "{refusal:?}");
}

#[tokio::test]
async fn a_refusal_repeats_only_the_beginning_of_a_place_that_is_none() {
    let mut rig = Rig::fresh().await;
    let codex = rig.connect(Role::Codex, None, false);
    let long = "nowhere".repeat(10_000);
    let page = Command::ReadContext(ReadContextParams {
        cursor: Some(long.clone()),
        ..ReadContextParams::default()
    });
    let entry = Command::LedgerShow {
        entry: long,
        full: false,
        placed: true,
    };
    for command in [page, entry] {
        let refusal = rig.call(&codex, command).await.unwrap_err();
        assert!(refusal.message.contains("nowhere"), "{refusal:?}");
        assert!(refusal.message.chars().count() <= 100, "{refusal:?}");
    }
}

#[tokio::test]
async fn a_handoff_is_read_at_once_however_far_back_it_stands_and_a_reading_ends_with_it() {
    const LATER: usize = 6_000;
    let mut rig = Rig::fresh().await;
    let codex = rig.connect(Role::Codex, None, false);
    drop(rig.ask(&codex, note("said before it")));
    drop(rig.ask(&codex, hand_off(Agent::Codex, "mend the lock")));
    rig.settle().await;
    let open = rig.daemon.base.recorder.world().open_handoffs.values();
    let (id, first) = open.map(|open| (open.id.clone(), open.seq)).next().unwrap();
    let recorder = &mut rig.daemon.base.recorder;
    let filler = || recorder.entry(Party::Human, None, NoteKind::Note, "x", None);
    let filler = std::iter::repeat_with(filler).take(LATER).collect();
    recorder.append(filler, Box::new(|_, _| {}));
    rig.settle().await;
    let read = |cursor: Option<String>| {
        Command::ReadContext(ReadContextParams {
            handoff_id: Some(id.clone()),
            cursor,
            ..ReadContextParams::default()
        })
    };
    let Ok(Reply::Context(page)) = rig.call(&codex, read(None)).await else {
        panic!("no context");
    };
    let ids = |page: &ContextPage| -> Vec<_> {
        page.entries
            .iter()
            .map(|shown| shown["id"].clone())
            .collect()
    };
    assert_eq!(ids(&page), [json!(id)]);
    let (oldest, newest) = page.looked_at.expect("a reading that was cut");
    assert!(first < oldest && oldest < newest);
    assert_eq!(page.cursor, Some(oldest.to_string()));
    let Ok(Reply::Context(last)) = rig.call(&codex, read(page.cursor)).await else {
        panic!("no context");
    };
    assert_eq!(ids(&last), [json!(id)]);
    assert_eq!((last.cursor, last.looked_at), (None, None));

    // So it is where something names it that came after.
    let blocker = NoteParams {
        handles: vec![id.clone()],
        ..NoteParams::new(Agent::Codex, NoteKind::Blocker, "no key")
    };
    drop(rig.ask(&codex, Command::AppendNote(blocker)));
    rig.settle().await;
    let Ok(Reply::Context(page)) = rig.call(&codex, read(None)).await else {
        panic!("no context");
    };
    assert_eq!(page.entries.len(), 2, "{:?}", page.entries);
    assert_eq!(page.entries[0]["id"], json!(id));
}
