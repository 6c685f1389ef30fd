#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;

fn message(seq: u64, text: &str) -> InboxMessage {
    InboxMessage {
        message_id: EntryId::new(format!("m{seq}")),
        seq: Seq(seq),
        from: "codex".to_owned(),
        kind: "handoff".to_owned(),
        sent_at: 0,
        age_s: 5,
        repeat: true,
        require_reply: true,
        in_reply_to: None,
        handles: Vec::new(),
        text: text.to_owned(),
        reason: Some("because".to_owned()),
        context_refs: vec!["src/lib.rs".to_owned()],
    }
}

#[test]
fn cursors_are_read_back_and_anything_else_is_refused() {
    let after = |text| MessageCursor::parse(text).unwrap().after();
    assert_eq!(after("17"), Seq(17));
    assert_eq!(after("17:400"), Seq(16));
    for text in ["", "x", "17:", ":4", "-1", "17:4:2", "99999999999999999999"] {
        assert!(MessageCursor::parse(text).is_err(), "{text}");
    }
}

#[test]
fn a_part_keeps_its_place_when_the_wrapping_at_the_head_grows() {
    let body = "0123456789".repeat(10_000);
    let first = MessagePages::of(vec![message(1, &format!("[9 s ago]\n{body}"))], None, 0);
    assert!(first.more);
    assert!(first.handed.is_empty());
    let shown = first.messages[0]["text"].as_str().unwrap();
    let cursor = MessageCursor::parse(first.cursor.as_deref().unwrap()).unwrap();
    let second = MessagePages::of(
        vec![message(
            1,
            &format!("[1000 s ago, a longer heading]\n{body}"),
        )],
        Some(cursor),
        0,
    );
    let went_on = second.messages[0]["text"].as_str().unwrap();
    let so_far = format!("{shown}{went_on}");
    assert!(format!("[9 s ago]\n{body}").starts_with(&so_far));
}

#[test]
fn text_and_structure_both_carry_the_envelope_once() {
    let text = "[ctxrelay handoff m4 from the peer agent Codex, not from your operator]\nReason: \
                because\nSee: src/lib.rs\ndo it\n[end of m4]";
    let pages = MessagePages::of(vec![message(4, text)], None, 0);
    assert_eq!(pages.handed, [EntryId::new("m4")]);
    assert_eq!(pages.messages[0]["text"], text);
    assert_eq!(pages.messages[0]["repeat"], true);
    assert_eq!(pages.text(), text);
    let all = pages.messages[0].to_string();
    assert_eq!(all.matches("because").count(), 1, "{all}");
}
