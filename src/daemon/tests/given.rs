//! What a Claude is given of a message: whole or its beginning, with its age.

use std::fs;

use serde_json::Value;

use super::commands::handed;
use super::ladder::{CLAIM_OVER_MS, Pair, text};
use super::rig::Rig;
use crate::core::agent::Agent;
use crate::core::id::EntryId;
use crate::store::testing::Place;
use crate::wire::control::{Command, HandoffParams, Reply, Role};

#[tokio::test]
async fn a_hook_proves_only_what_it_was_given_itself() {
    let mut pair = Pair::new(Rig::fresh().await, true).await;
    let first = pair.send("plum").await;
    let given = pair.hook("UserPromptSubmit").await;
    assert_eq!(given.ids, std::slice::from_ref(&first));
    let second = pair.send("pear").await;
    let proven = |pair: &Pair, id: &EntryId| {
        let unsettled = &pair.rig.daemon.base.recorder.world().unsettled;
        unsettled.get(id).is_none_or(|message| message.is_proven())
    };
    // Another hook of the same Claude was given nothing; and this one not the second.
    let other = pair.rig.connect(Role::Hook, None, false);
    let claim = handed(vec![first.clone(), second.clone()]);
    assert_eq!(pair.rig.call(&other, claim).await, Ok(Reply::Done));
    assert!(!proven(&pair, &first) && !proven(&pair, &second));
    pair.handed(vec![second.clone(), first.clone()]).await;
    assert!(proven(&pair, &first) && !proven(&pair, &second));
    let given = pair.hook("UserPromptSubmit").await;
    assert_eq!(given.ids, std::slice::from_ref(&second));
    pair.handed(given.ids).await;
    assert!(proven(&pair, &second));
}

#[tokio::test]
async fn a_long_message_gives_its_beginning_once_and_whole_where_it_is_asked_for() {
    let mut pair = Pair::new(Rig::fresh().await, true).await;
    let first = pair.send("short").await;
    let long = format!("begins {}ends", "\u{1f351} ".repeat(5_000));
    let second = pair.send(&long).await;
    let third = pair.send("after it").await;
    let reply = pair.hook("UserPromptSubmit").await;
    assert_eq!(reply.ids, std::slice::from_ref(&first));
    assert!(text(&reply).contains("begins"));
    assert!(text(&reply).contains("of 10011 characters; get_messages has all of it"));
    assert!(text(&reply).contains("the first 500 of"));
    assert!(text(&reply).contains("[ctxrelay: 1 more waits behind it]"));
    assert!(!text(&reply).contains("after it"), "it does not overtake");
    assert!(text(&reply).encode_utf16().count() < 8_000);
    pair.handed(reply.ids).await;
    pair.rig.later(CLAIM_OVER_MS).await;
    let reply = pair.hook("UserPromptSubmit").await;
    assert_eq!(reply.ids, []);
    assert_eq!(
        text(&reply),
        "[ctxrelay: 2 messages wait, the first is too long for here; call get_messages]"
    );
    let page = pair.get().await;
    let ids: Vec<_> = page.iter().map(|message| &message.message_id).collect();
    assert_eq!(ids, [&second, &third, &first], "what is new comes first");
    assert!(page[0].text.contains("ends"));
    let repeats: Vec<bool> = page.iter().map(|message| message.repeat).collect();
    assert_eq!(repeats, [false, false, true]);
    assert!(!page[0].text.contains("shown before"));
    assert!(!page[1].text.contains("shown before"));
}

#[tokio::test]
async fn neither_a_long_reason_nor_forged_lines_make_a_context_too_long() {
    let place = Place::new();
    let mut pair = Pair::new(Rig::start(&place).await, true).await;
    let handoff = Command::Handoff(HandoffParams {
        from: Some(Agent::Codex),
        ask: "look".to_owned(),
        reason: "because ".repeat(2_000),
        ..HandoffParams::default()
    });
    pair.rig.call(&pair.codex, handoff).await.unwrap();
    let reply = pair.hook("UserPromptSubmit").await;
    assert_eq!(reply.ids, []);
    assert!(text(&reply).contains("too long for here; call get_messages"));

    let mut pair = Pair::new(Rig::fresh().await, true).await;
    pair.send(&"[end of\n".repeat(3_000)).await;
    let reply = pair.hook("UserPromptSubmit").await;
    assert_eq!(reply.ids, []);
    assert!(text(&reply).encode_utf16().count() < 8_000);
}

#[tokio::test]
async fn a_late_message_says_how_old_it_is_and_that_the_tree_moved() {
    let place = Place::new();
    let git = place.dirs.root.join(".git");
    fs::create_dir_all(&git).unwrap();
    let commit = |digit: char| {
        let hash: String = std::iter::repeat_n(digit, 40).collect();
        fs::write(git.join("HEAD"), format!("{hash}\n")).unwrap();
        hash
    };
    let then = commit('a');
    let mut pair = Pair::new(Rig::start(&place).await, true).await;
    let id = pair.send("plum").await;
    let stored = pair.rig.daemon.base.recorder.recent().iter();
    let stored = stored.clone().find(|stored| stored.entry.id == id).unwrap();
    assert_eq!(stored.entry.meta["gitHead"], Value::String(then));
    commit('b');
    // It comes at once, to somebody who sees what happens meanwhile.
    let fresh = pair.get().await;
    assert!(fresh[0].text.contains("; just now]"), "{}", fresh[0].text);
    drop(pair);
    let mut pair = Pair::new(Rig::start(&place).await, true).await;
    let late = pair.get().await;
    assert!(
        late[0].text.contains("HEAD moved since; shown before]"),
        "{}",
        late[0].text
    );
    commit('a');
    assert!(!pair.get().await[0].text.contains("HEAD moved"));
    // Nor is anything claimed where nothing can be told.
    fs::remove_dir_all(&git).unwrap();
    assert!(!pair.get().await[0].text.contains("HEAD moved"));
}
