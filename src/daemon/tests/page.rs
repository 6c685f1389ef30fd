//! Pages of what waits for an agent: exactly what leaves is claimed and called a repeat later.

use super::ladder::{CLAIM_OVER_MS, Pair, text};
use super::rig::Rig;
use crate::adapters::codex::fact::ReportedStatus;
use crate::core::agent::Agent;
use crate::core::delivery::{MessageCursor, OnBusy, Shown};
use crate::core::envelope::end;
use crate::core::id::EntryId;
use crate::wire::control::{
    AckedPartly, Command, GetMessagesParams, MailMessage, MessagePage, Reply, Role,
};

/// So many messages of so many characters do not fit into one page.
const MANY: usize = 30;
const LONG: usize = 1_500;

async fn send_many(pair: &mut Pair, count: usize) -> Vec<EntryId> {
    let mut ids = Vec::new();
    for n in 0..count {
        let text = format!("{n} {}", "x".repeat(LONG));
        ids.push(pair.send(&text).await);
    }
    ids
}

fn ids(messages: &[MailMessage]) -> Vec<EntryId> {
    let ids = messages.iter();
    ids.map(|message| message.message_id.clone()).collect()
}

/// Fetches page after page, each marked as fetched, until there is no more.
async fn walk(pair: &mut Pair) -> Vec<MailMessage> {
    let mut messages = Vec::new();
    let mut after = None;
    for _ in 0..100 {
        let page = pair.page(after).await;
        pair.fetched(&page).await;
        messages.extend(page.messages);
        after = page.cursor;
        if !page.more {
            return messages;
        }
    }
    panic!("a walk without an end");
}

#[tokio::test]
async fn a_page_claims_what_it_holds_and_nothing_is_called_a_repeat_on_its_first_copy() {
    let mut pair = Pair::new(Rig::fresh().await, true).await;
    let sent = send_many(&mut pair, MANY).await;
    let page = pair.page(None).await;
    let held = page.messages.len();
    assert!((5..20).contains(&held), "{held}");
    assert!(page.more && page.cursor.is_some());
    assert_eq!(ids(&page.messages), sent[..held]);
    // What the page did not hold is not claimed: a hook goes on just there.
    let reply = pair.hook("UserPromptSubmit").await;
    assert_eq!(reply.ids.first(), Some(&sent[held]));
    assert!(!text(&reply).contains("shown before"));
    pair.fetched(&page).await;
    pair.handed(reply.ids.clone()).await;
    let by_hook = reply.ids.len();
    let rest = pair.page(page.cursor).await;
    assert_eq!(ids(&rest.messages)[0], sent[held + by_hook]);
    pair.fetched(&rest).await;
    let mut all = page.messages;
    all.extend(rest.messages);
    let mut after = rest.cursor;
    while all.len() + by_hook < MANY {
        let page = pair.page(after).await;
        assert!(!page.messages.is_empty());
        pair.fetched(&page).await;
        all.extend(page.messages);
        after = page.cursor;
    }
    assert!(all.iter().all(|message| !message.repeat));
    let late = pair.send("late").await;
    let page = pair.page(after).await;
    assert_eq!((ids(&page.messages), page.more), (vec![late], false));
}

#[tokio::test]
async fn what_was_never_shown_comes_before_repeats_and_no_page_hides_a_rest() {
    let mut pair = Pair::new(Rig::fresh().await, true).await;
    let old = send_many(&mut pair, MANY).await;
    let first = walk(&mut pair).await;
    assert_eq!(ids(&first), old);
    assert!(first.iter().all(|message| !message.repeat));
    // Nothing was acknowledged.
    let new = send_many(&mut pair, 3).await;
    let page = pair.page(None).await;
    assert_eq!(ids(&page.messages)[..3], new);
    assert!(page.more);
    assert_eq!(page.unread, 33);
    pair.fetched(&page).await;
    // One more comes in the middle of the walk, before the repeats that are left.
    let newest = send_many(&mut pair, 1).await;
    let mut walked = page.messages;
    let mut after = page.cursor;
    loop {
        let page = pair.page(after).await;
        pair.fetched(&page).await;
        walked.extend(page.messages);
        after = page.cursor;
        if !page.more {
            break;
        }
    }
    let is_repeat = |repeat| {
        let of = walked
            .iter()
            .filter(move |message| message.repeat == repeat);
        of.map(|message| message.message_id.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(is_repeat(false), [new, newest].concat());
    assert_eq!(is_repeat(true), old, "each once");
}

#[tokio::test]
async fn a_long_text_arrives_whole_though_its_beginning_was_acknowledged() {
    let mut pair = Pair::new(Rig::fresh().await, true).await;
    // Quotes and line ends take twice their length in JSON.
    let long: String = (0..17_000).map(|n| format!("{n}\"\n")).collect();
    assert!(long.chars().count() > 90_000);
    let id = pair.send(&long).await;
    let reply = pair.hook("UserPromptSubmit").await;
    assert_eq!(reply.ids, []);
    pair.rig.later(CLAIM_OVER_MS).await;
    let acked = pair.ack(&id).await;
    let unfinished = AckedPartly {
        acked: Vec::new(),
        unfinished: vec![id.clone()],
    };
    assert_eq!(acked, Reply::AckedPartly(unfinished));
    let parts = walk(&mut pair).await;
    assert!(parts.len() > 3, "{}", parts.len());
    assert!(
        parts
            .iter()
            .all(|part| !part.repeat && part.message_id == id)
    );
    let whole: String = parts.iter().map(|part| part.text.as_str()).collect();
    assert!(whole.contains(&long));
    assert!(whole.ends_with(&end(&id)));
    assert_eq!(pair.ack(&id).await, Reply::Acked(vec![id]));
    assert!(pair.rig.daemon.base.recorder.world().unsettled.is_empty());
}

#[tokio::test]
async fn a_long_text_is_settled_by_its_last_part_and_by_no_other() {
    let mut pair = Pair::new(Rig::fresh().await, true).await;
    let id = pair.send(&"pear ".repeat(8_000)).await;
    let first = pair.page(None).await;
    assert!(first.more);
    // As a bridge of another version would say.
    pair.fetched(&first).await;
    pair.rig.later(CLAIM_OVER_MS).await;
    assert!(matches!(pair.ack(&id).await, Reply::AckedPartly(_)));
    let unproven = pair.rig.daemon.deliveries.outbox.get(&id).unwrap();
    assert_eq!(unproven.shown, Shown::Head);
    // Whoever begins again gets its beginning, not a repeat.
    let again = pair.page(None).await;
    assert_eq!(again.messages, first.messages);
}

#[tokio::test]
async fn codex_gets_a_long_text_whole_in_parts() {
    let mut rig = Rig::fresh_with_codex().await;
    rig.status(ReportedStatus::Active { waiting: false });
    rig.user_message("turn-0", None);
    rig.settle().await;
    let claude = rig.connect(Role::Claude, None, false);
    let codex = rig.connect(Role::Codex, None, false);
    // One is on its way already, so that the other one waits.
    rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    let long = "plum ".repeat(20_000);
    let send = crate::wire::control::SendParams {
        from: Some(Agent::Claude),
        text: long.clone(),
        ..Default::default()
    };
    drop(rig.ask(&claude, Command::Send(send)));
    rig.settle().await;
    let mut whole = String::new();
    let mut after: Option<MessageCursor> = None;
    loop {
        let get = Command::GetMessages(GetMessagesParams {
            after: after.clone(),
            ..GetMessagesParams::of(Agent::Codex)
        });
        let page: MessagePage = match rig.call(&codex, get).await {
            Ok(Reply::Messages(page)) => page,
            other => panic!("{other:?}"),
        };
        let [message] = &page.messages[..] else {
            panic!("{page:?}");
        };
        assert!(!message.repeat);
        whole.push_str(&message.text);
        after = page.cursor;
        if !page.more {
            break;
        }
    }
    assert!(whole.contains(&long));
}
