//! Texts that are too long for a line reach their receivers whole, or say that they do not.

use std::fs;

use super::rig::{Guest, Rig};
use crate::core::agent::Agent;
use crate::core::entry::{EntryKind, ErrorCode};
use crate::core::id::EntryId;
use crate::core::whole::LINE_UNITS_MAX;
use crate::store::blobs::Blobs;
use crate::wire::control::{
    Command, ContextView, EntryLine, GetMessagesParams, ReadContextParams, RefusalCode, Reply,
    Role, SendParams,
};

fn long() -> String {
    format!("{}the very end", "word ".repeat(LINE_UNITS_MAX / 4))
}

fn send(to: Agent) -> Command {
    Command::Send(SendParams {
        from: Some(to.peer()),
        to: Some(to),
        text: long(),
        ..SendParams::default()
    })
}

async fn text_for_claude(rig: &mut Rig, bridge: &Guest) -> String {
    let mut text = String::new();
    let mut after = None;
    loop {
        let get = Command::GetMessages(GetMessagesParams {
            after,
            ..GetMessagesParams::of(Agent::Claude)
        });
        match rig.call(bridge, get).await {
            Ok(Reply::Messages(page)) => {
                text.push_str(&page.messages[0].text);
                after = page.cursor;
                if !page.more {
                    return text;
                }
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn both_agents_get_all_of_a_long_text_and_the_line_holds_its_beginning() {
    let mut rig = Rig::fresh_with_codex().await;
    let bridge = rig.connect(Role::Claude, Some(7_000_000), false);
    let codex = rig.connect(Role::Codex, None, false);
    drop(rig.ask(&bridge, send(Agent::Codex)));
    rig.settle().await;
    let (_, text) = rig.delivered().remove(0);
    assert!(text.contains(&long()), "{} bytes", text.len());
    drop(rig.ask(&codex, send(Agent::Claude)));
    rig.settle().await;
    assert!(text_for_claude(&mut rig, &bridge).await.contains(&long()));
    let line = fs::read_to_string(rig.daemon.base.recorder.ledger().path()).unwrap();
    assert!(!line.contains("the very end"));
    assert!(line.contains("\\n[TRUNCATED "));
}

#[tokio::test]
async fn a_lost_text_is_handed_over_as_what_it_is_and_recorded_once() {
    let mut rig = Rig::fresh().await;
    let bridge = rig.connect(Role::Claude, Some(7_000_000), false);
    let codex = rig.connect(Role::Codex, None, false);
    drop(rig.ask(&codex, send(Agent::Claude)));
    rig.settle().await;
    let (id, message) = rig
        .daemon
        .base
        .recorder
        .world()
        .unsettled
        .first_key_value()
        .unwrap();
    let (id, seq): (EntryId, _) = (id.clone(), message.seq);
    let whole = rig
        .daemon
        .base
        .recorder
        .stored(seq)
        .unwrap()
        .entry
        .whole
        .clone()
        .unwrap();
    let blobs = Blobs::of_ledger(rig.daemon.base.recorder.ledger().path());
    let path = blobs.dir().join(&whole.sha256);

    fs::write(&path, "somebody else's words").unwrap();
    for _ in 0..2 {
        let text = text_for_claude(&mut rig, &bridge).await;
        assert!(text.contains("only the beginning of this text"), "{text}");
        assert!(text.contains("it was altered"));
        assert!(text.contains("\n[TRUNCATED "));
        assert!(!text.contains("somebody else's words"));
        rig.pump().await;
    }
    let errors = &rig.daemon.base.recorder.world().errors;
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].code, ErrorCode::BlobAltered);
    assert!(errors[0].text.contains(id.as_str()));
    // Whoever asks for all of it is refused, and gets what there is without.
    let show = |full| Command::LedgerShow {
        entry: id.to_string(),
        full,
        placed: false,
    };
    let refusal = rig.call(&bridge, show(true)).await.unwrap_err();
    assert_eq!(refusal.code, RefusalCode::BlobAltered);
    rig.call(&bridge, show(false)).await.unwrap();
    fs::remove_file(&path).unwrap();
    let refusal = rig.call(&bridge, show(true)).await.unwrap_err();
    assert_eq!(refusal.code, RefusalCode::BlobMissing);
}

#[tokio::test]
async fn a_page_of_the_record_says_of_which_text_it_has_the_beginning() {
    let mut rig = Rig::fresh().await;
    let codex = rig.connect(Role::Codex, None, false);
    drop(rig.ask(&codex, send(Agent::Claude)));
    rig.settle().await;
    for view in [ContextView::Summary, ContextView::Raw] {
        let read = Command::ReadContext(ReadContextParams {
            view,
            ..ReadContextParams::default()
        });
        let Ok(Reply::Context(page)) = rig.call(&codex, read).await else {
            panic!("no page");
        };
        let mut entries = page.entries.iter();
        let message = entries.find(|entry| entry["type"] == "message").unwrap();
        assert!(message["whole"]["units"].is_u64(), "{view:?}");
    }
}

#[tokio::test]
async fn show_gives_all_of_it_when_asked() {
    let mut rig = Rig::fresh().await;
    let codex = rig.connect(Role::Codex, None, false);
    drop(rig.ask(&codex, send(Agent::Claude)));
    rig.settle().await;
    let seq = rig
        .daemon
        .base
        .recorder
        .world()
        .unsettled
        .first_key_value()
        .unwrap()
        .1
        .seq;
    for full in [true, false] {
        let show = Command::LedgerShow {
            entry: seq.to_string(),
            full,
            placed: false,
        };
        let Ok(Reply::Entry(entry)) = rig.call(&codex, show).await else {
            panic!("no entry");
        };
        // In process nothing is made of it and read again.
        assert!(matches!(entry, EntryLine::Read { .. }));
        assert_eq!(entry.into_value()["content"] == long(), full);
        let is_error = |kind: &EntryKind| matches!(kind, EntryKind::Error { .. });
        assert!(
            !rig.daemon
                .base
                .recorder
                .recent()
                .iter()
                .any(|stored| is_error(&stored.entry.kind))
        );
    }
}
