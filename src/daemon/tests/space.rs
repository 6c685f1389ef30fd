//! What has happened is recorded although there is no room for its whole text.

use serde_json::json;

use super::rig::Rig;
use crate::core::agent::Agent;
use crate::core::delivery::OnBusy;
use crate::core::entry::EntryKind;
use crate::core::whole::LINE_UNITS_MAX;
use crate::store::testing::Place;
use crate::wire::control::{Command, RefusalCode, Role, SendParams};

/// A project whose long texts have nearly used up their quota.
fn crowded() -> Place {
    let place = Place::new();
    let config = json!({"storage": {"blobsMegabytes": 1}});
    std::fs::write(place.dirs.config(), config.to_string()).unwrap();
    let blobs = place.dirs.relay.join("blobs");
    std::fs::create_dir_all(&blobs).unwrap();
    std::fs::write(blobs.join("0".repeat(64)), vec![b'x'; 990_000]).unwrap();
    place
}

#[tokio::test]
async fn the_last_words_of_a_turn_are_shortened_where_long_texts_have_no_room() {
    let place = crowded();
    let mut rig = Rig::with_codex(&place).await;
    let claude = rig.connect(Role::Claude, None, false);
    let long = "a word ".repeat(5_000);
    let send = Command::Send(SendParams {
        from: Some(Agent::Claude),
        text: long.clone(),
        ..SendParams::default()
    });
    let refused = rig.call(&claude, send).await.unwrap_err();
    assert_eq!(refused.code, RefusalCode::LongTextsFull);
    // Nothing else is refused for that.
    let id = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    rig.user_message("turn-1", Some(&id));
    rig.settle().await;
    rig.completed("turn-1", std::slice::from_ref(&id), &long);
    rig.pump().await;
    rig.settle().await;
    assert!(!rig.daemon.base.recorder.is_read_only());
    assert!(!rig.daemon.base.recorder.has_unwritten());
    let mut recent = rig.daemon.base.recorder.recent().iter().rev();
    let answer = recent
        .find(|stored| matches!(stored.entry.kind, EntryKind::Message(_)))
        .unwrap();
    let content = &answer.entry.content;
    assert!(content.starts_with("a word a word"), "{content}");
    assert!(content.contains("which are not kept"), "{content}");
    assert!(content.encode_utf16().count() <= LINE_UNITS_MAX);
    assert_eq!(answer.entry.whole, None);
}
