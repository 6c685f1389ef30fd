mod reader;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::arbitrary::entry;
use super::*;
use crate::agent::{Agent, Party};
use crate::entry::{ArtifactStatus, DeliveryResult, EntryKind, NoteKind, OnBusy, Outcome};
use crate::id::{EntryId, RuntimeSession, Seq};

/// A ledger as it has to stay readable for ever, and its hashes, computed by another program.
const CHAINED: &[u8] =
    include_bytes!("../../../../tests/data/formats/v1/session_1795000000000_a1b2c3d4.jsonl");
const CHAINED_HASHES: &str =
    include_str!("../../../../tests/data/formats/v1/session_1795000000000_a1b2c3d4.hashes");
/// The same after three lines of ContextRelay 3.13, one of them broken.
const PREFIXED: &[u8] =
    include_bytes!("../../../../tests/data/formats/v1/session_1794000000000_0badcafe.jsonl");
const PREFIXED_HASHES: &str =
    include_str!("../../../../tests/data/formats/v1/session_1794000000000_0badcafe.hashes");

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .collect()
}

#[test]
fn the_fixed_vector_has_the_hashes_that_another_program_gave_it() {
    let mut prev = GENESIS.to_owned();
    let lines = lines(CHAINED);
    let hashes: Vec<_> = CHAINED_HASHES.lines().collect();
    assert_eq!(lines.len(), hashes.len());
    for (n, (line, hash)) in lines.iter().zip(hashes).enumerate() {
        let parsed = parse(line).unwrap();
        let link = parsed.link.unwrap();
        assert_eq!(
            (link.seq, link.prev.as_str()),
            (n as u64 + 1, prev.as_str())
        );
        assert_eq!(hash_line(line, &prev).unwrap(), hash);
        assert_eq!(link.hash, hash);
        let sealed = seal(serialize(&parsed.entry), link.seq, &prev).unwrap();
        assert_eq!(sealed.line.as_bytes(), *line, "written as it was read");
        assert_eq!(sealed.hash, hash);
        prev = link.hash;
    }
}

#[test]
fn the_first_link_after_an_unchained_ledger_is_the_digest_of_its_bytes() {
    let lines = lines(PREFIXED);
    let first = lines
        .iter()
        .position(|line| line.ends_with(b"\"}") && hash_line(line, GENESIS).is_some());
    let first = first.unwrap();
    assert_eq!(first, 3);
    let prefix: usize = lines[..first].iter().map(|line| line.len() + 1).sum();
    let mut prev = prefix_hash([&PREFIXED[..prefix]]);
    for (n, hash) in PREFIXED_HASHES.lines().enumerate() {
        let line = lines[first + n];
        let link = parse(line).unwrap().link.unwrap();
        assert_eq!((link.seq, &link.prev), ((first + n) as u64 + 1, &prev));
        assert_eq!(hash_line(line, &prev).unwrap(), hash);
        prev = link.hash;
    }
    assert_eq!(
        prefix_hash([&PREFIXED[..10], &PREFIXED[10..prefix]]),
        prefix_hash([&PREFIXED[..prefix]])
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_entry_is_read_back_as_it_was_written(mut entry in entry(), seq in 0..u64::MAX) {
        entry.seq = Seq(seq);
        let line = serde_json::to_string(&serialize(&entry)).unwrap();
        let parsed = parse(line.as_bytes()).unwrap();
        prop_assert_eq!(parsed.link, None);
        prop_assert_eq!(parsed.entry, entry);
    }

    #[test]
    fn a_sealed_line_is_one_line_and_proves_itself(entry in entry(), seq in 1..u64::MAX) {
        let sealed = seal(serialize(&entry), seq, GENESIS).unwrap();
        prop_assert!(!sealed.line.contains('\n'));
        let link = parse(sealed.line.as_bytes()).unwrap().link.unwrap();
        prop_assert_eq!(&link.hash, &sealed.hash);
        prop_assert_eq!(link.seq, seq);
        prop_assert_eq!(hash_line(sealed.line.as_bytes(), GENESIS).unwrap(), sealed.hash);
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        drop(parse(&bytes));
        drop(hash_line(&bytes, GENESIS));
    }

    #[test]
    fn no_object_makes_the_reader_panic(entry in entry(), cut in 0..400usize, byte in any::<u8>()) {
        let mut line = seal(serialize(&entry), 1, GENESIS).unwrap().line.into_bytes();
        let at = cut.min(line.len() - 1);
        line[at] = byte;
        let thorough = parse(&line).map(|parsed| parsed.link);
        let quick = parse_link(&line);
        let too_large = matches!(&thorough, Err(BadLine::NotJson(why)) if why.contains("out of range"));
        prop_assume!(!too_large);
        prop_assert_eq!(quick.is_ok(), thorough.is_ok());
        prop_assert_eq!(quick.ok(), thorough.ok());
        drop(hash_line(&line, GENESIS));
    }
}

#[test]
fn keys_stand_in_the_v1_order() {
    let parsed = parse(lines(CHAINED)[1]).unwrap();
    let object = serialize(&parsed.entry);
    let keys: Vec<_> = object.keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "schema",
            "id",
            "timestamp",
            "sessionId",
            "type",
            "source",
            "target",
            "content",
            "handoff",
            "meta",
            "seq",
        ]
    );
}

fn read(line: Value) -> crate::entry::Entry {
    parse(line.to_string().as_bytes()).unwrap().entry
}

#[test]
fn an_entry_with_nothing_but_id_and_type_is_one() {
    let entry = read(json!({"id": "compact_1", "type": "note"}));
    assert_eq!(entry.id, EntryId::new("compact_1"));
    assert_eq!((entry.content.as_str(), entry.timestamp_ms), ("", 0));
    assert_eq!(
        (entry.target, entry.runtime_session, entry.seq),
        (None, None, Seq(0))
    );
    assert_eq!(entry.source, Party::Other("unknown".to_owned()));
    assert_eq!(entry.kind, EntryKind::note(NoteKind::Note));
}

#[test]
fn what_is_no_entry_says_why() {
    assert!(matches!(parse(b"").unwrap_err(), BadLine::NotJson(_)));
    assert!(matches!(
        parse(b"{\"id\":").unwrap_err(),
        BadLine::NotJson(_)
    ));
    assert!(matches!(
        parse(b"\xff\xfe").unwrap_err(),
        BadLine::NotJson(_)
    ));
    assert!(matches!(
        parse(b"{\"id\":\"\xff\",\"type\":\"note\"}").unwrap_err(),
        BadLine::NotJson(_)
    ));
    let deep = "[".repeat(100_000);
    assert!(matches!(
        parse(deep.as_bytes()).unwrap_err(),
        BadLine::NotJson(_)
    ));
    for text in ["null", "[]", "7", "\"x\"", "true"] {
        assert_eq!(parse(text.as_bytes()).unwrap_err(), BadLine::NotObject);
    }
    assert_eq!(parse(b"{}").unwrap_err(), BadLine::Missing("id"));
    assert_eq!(
        parse(b"{\"id\":7,\"type\":\"note\"}").unwrap_err(),
        BadLine::Missing("id")
    );
    assert_eq!(
        parse(b"{\"id\":\"a\"}").unwrap_err(),
        BadLine::Missing("type")
    );
}

#[test]
fn the_quick_look_says_what_the_thorough_one_says() {
    let hash = GENESIS;
    for text in [
        "null".to_owned(),
        "[1]".to_owned(),
        "{}".to_owned(),
        "{\"id\":1,\"type\":\"note\"}".to_owned(),
        "{\"id\":\"a\"}".to_owned(),
        "{\"id\":\"a\",\"type\":null}".to_owned(),
        "{\"id\":\"a\",\"type\":\"\\ud800\"}".to_owned(),
        "{\"id\":\"a\",\"id\":7,\"type\":\"note\"}".to_owned(),
        format!(
            "{{\"id\":\"a\",\"type\":\"note\",\"seq\":1,\"prev\":\"{hash}\",\"hash\":\"{hash}\"}}"
        ),
        format!(
            "{{\"id\":\"a\",\"type\":\"note\",\"seq\":-1,\"prev\":\"{hash}\",\"hash\":\"{hash}\"}}"
        ),
        format!(
            "{{\"id\":\"a\",\"type\":\"note\",\"seq\":1.5,\"prev\":\"{hash}\",\"hash\":\"{hash}\"}}"
        ),
        format!("{{\"id\":\"a\",\"type\":\"note\",\"seq\":1,\"prev\":\"{hash}\",\"hash\":7}}"),
        "{\"id\":\"a\",\"type\":\"note\"} x".to_owned(),
    ] {
        let thorough = parse(text.as_bytes()).map(|parsed| parsed.link);
        assert_eq!(parse_link(text.as_bytes()), thorough, "{text}");
    }
}

#[test]
fn odd_fields_do_not_hide_an_entry() {
    let entry = read(json!({
        "schema": 2, "id": "a", "type": "message", "timestamp": 1.7e12, "sessionId": null,
        "source": 5, "target": ["codex"], "content": {"text": 1}, "meta": "none", "seq": "1",
        "message": {"onBusy": "later", "requireReply": "yes", "inReplyTo": 7},
        "handles_handoff_id": 5, "handles_handoff_ids": "h1",
    }));
    assert_eq!(entry.timestamp_ms, 1_700_000_000_000);
    assert_eq!(entry.content, "{\"text\":1}");
    let EntryKind::Message(message) = entry.kind else {
        panic!("{:?}", entry.kind)
    };
    assert_eq!(message.on_busy, OnBusy::Queue);
    assert!(!message.require_reply && message.handles.is_empty());
}

#[test]
fn a_handoff_of_contextrelay_is_read() {
    let entry = read(json!({
        "schema": "v1", "id": "h1", "timestamp": 1, "sessionId": "s", "type": "handoff",
        "source": "claude",
        "handoff": {"from": "claude", "to": "codex", "reason": "review", "ask": "look at it",
            "context_refs": ["a.rs", 7], "next_speaker": "codex",
            "timeoutPolicy": {"liveWaitMs": 1}},
        "meta": {"runtimeSessionId": "pair-2", "redacted": false, "truncated": false},
    }));
    assert_eq!(entry.content, "look at it");
    assert_eq!(entry.target, Some(Party::Agent(Agent::Codex)));
    assert_eq!(entry.runtime_session, Some(RuntimeSession::new("pair-2")));
    assert_eq!(entry.meta.len(), 2);
    let EntryKind::Handoff(handoff) = entry.kind else {
        panic!("{:?}", entry.kind)
    };
    assert_eq!(
        (handoff.reason.as_str(), handoff.on_busy),
        ("review", OnBusy::Queue)
    );
    assert_eq!(handoff.context_refs, ["a.rs", "7"]);
}

#[test]
fn handled_handoffs_are_read_in_both_spellings() {
    let handles = |line: Value| {
        let entry = read(line);
        let handles: Vec<_> = entry
            .handles()
            .iter()
            .map(|id| id.as_str().to_owned())
            .collect();
        handles
    };
    for kind in [
        "note",
        "message",
        "handoff",
        "finality_decision",
        "backup_result",
        "summary",
    ] {
        let both = json!({"id": "a", "type": kind, "handles_handoff_id": "h2", "handles_handoff_ids": ["h1", ""]});
        assert_eq!(handles(both), ["h1", "h2"], "{kind}");
        let one = json!({"id": "a", "type": kind, "handles_handoff_id": "h2"});
        assert_eq!(handles(one), ["h2"], "{kind}");
    }
    let proposal =
        json!({"id": "a", "type": "finality_proposal", "meta": {"handled_handoff_ids": ["h3"]}});
    assert_eq!(handles(proposal), ["h3"]);
}

#[test]
fn finality_of_contextrelay_lies_in_its_meta() {
    let entry = read(json!({
        "id": "p1", "type": "finality_proposal", "source": "codex", "content": "done",
        "meta": {"summary": "all done", "evidence": "cargo test", "remaining_risk": "none known"},
    }));
    let EntryKind::FinalityProposal(proposal) = entry.kind else {
        panic!("{:?}", entry.kind)
    };
    assert_eq!(proposal.summary, "all done");
    assert_eq!(proposal.evidence, ["cargo test"]);
    assert_eq!(proposal.remaining_risk.as_deref(), Some("none known"));
}

#[test]
fn a_decision_whose_answer_cannot_be_read_approves_nothing() {
    let approved = |line: Value| match read(line).kind {
        EntryKind::FinalityDecision(decision) => decision.approved,
        kind => panic!("{kind:?}"),
    };
    let of_ours = |finality: Value| {
        approved(
            json!({"id": "d", "type": "finality_decision", "source": "human",
            "finality": finality}),
        )
    };
    assert!(of_ours(json!({"proposalId": "p", "approved": true})));
    for finality in [
        json!({"proposalId": "p", "approved": false}),
        json!({"proposalId": "p", "approved": "in_part"}),
        json!({"proposalId": "p", "approved": null}),
        json!({"proposalId": "p"}),
        json!("approved"),
    ] {
        assert!(!of_ours(finality.clone()), "{finality}");
    }
    // ContextRelay's own: it writes none but a yes.
    let auto = json!({"id": "d", "type": "finality_decision", "source": "system",
        "meta": {"auto_finalized": true}});
    assert!(approved(auto));
}

#[test]
fn artifacts_of_contextrelay_are_read() {
    let artifact = |line: Value| match read(line).kind {
        EntryKind::Artifact(artifact) => artifact,
        kind => panic!("{kind:?}"),
    };
    let report = artifact(json!({
        "id": "a", "type": "artifact", "artifact": {"kind": "test_report", "title": "t",
            "summary": "s", "status": "timed_out", "evidence": ["x", {"y": 1}]},
    }));
    assert_eq!(report.status, ArtifactStatus::TimedOut);
    assert_eq!(report.evidence, ["x", "{\"y\":1}"]);
    let gate =
        artifact(json!({"id": "a", "type": "release_gate", "artifact": {"status": "strange"}}));
    assert_eq!(
        (gate.kind.as_str(), gate.status),
        ("release_gate", ArtifactStatus::Unknown)
    );
    let headless = artifact(json!({
        "id": "a", "type": "artifact",
        "meta": {"artifact_kind": "headless_result", "artifact_status": "failed"},
    }));
    assert_eq!(headless.kind.as_str(), "headless_result");
    assert_eq!(headless.status, ArtifactStatus::Failed);
}

#[test]
fn deliveries_of_contextrelay_are_read_as_far_as_they_tell() {
    let delivery = |outcome: &str| {
        read(json!({
            "id": "d", "type": "runtime_event", "target": "codex",
            "runtimeEvent": {"kind": "message_delivery", "status": "ok", "title": "t",
                "messageId": "m1", "deliveryAttemptId": "a1", "deliveryOutcome": outcome,
                "onBusy": "queue"},
        }))
        .kind
    };
    for (word, outcome, result) in [
        (
            "delivered_live",
            Outcome::DeliveredLive,
            DeliveryResult::Confirmed,
        ),
        (
            "joined_active_work",
            Outcome::JoinedActiveWork,
            DeliveryResult::Confirmed,
        ),
        (
            "started_new_turn",
            Outcome::StartedNewTurn,
            DeliveryResult::Confirmed,
        ),
        ("rejected", Outcome::Rejected, DeliveryResult::Rejected),
        ("ambiguous", Outcome::Ambiguous, DeliveryResult::Ambiguous),
    ] {
        let EntryKind::Delivery(record) = delivery(word) else {
            panic!("{word}")
        };
        assert_eq!((record.outcome, record.result), (Some(outcome), result));
        assert_eq!(
            (record.message_id, record.to),
            (EntryId::new("m1"), Agent::Codex)
        );
    }
    for word in ["queued_for_next_turn", "something_new"] {
        assert!(matches!(delivery(word), EntryKind::Other { .. }), "{word}");
    }
}

#[test]
fn what_is_unknown_is_kept_whole() {
    let entry = read(json!({
        "id": "a", "type": "backup_request", "reason": "tired", "limits": {"usd": 1},
        "meta": {"backupMode": "auto"},
    }));
    let EntryKind::Other {
        entry_type, detail, ..
    } = &entry.kind
    else {
        panic!("{:?}", entry.kind)
    };
    assert_eq!(entry_type, "backup_request");
    assert_eq!(
        Value::Object(detail.clone()),
        json!({"reason": "tired", "limits": {"usd": 1}})
    );
    assert_eq!(serialize(&entry)["limits"], json!({"usd": 1}));
}

#[test]
fn a_stray_runtime_session_in_meta_does_not_replace_the_real_one() {
    let mut entry = read(json!({"id": "a", "type": "note", "meta": {"runtimeSessionId": "one"}}));
    entry
        .meta
        .insert("runtimeSessionId".to_owned(), json!("two"));
    assert_eq!(
        serialize(&entry)["meta"],
        json!({"runtimeSessionId": "one"})
    );
}

#[test]
fn a_hash_is_recognised_only_where_it_belongs() {
    let line = seal(
        serialize(&read(json!({"id": "a", "type": "note"}))),
        1,
        GENESIS,
    )
    .unwrap()
    .line;
    for text in [
        format!("{line} "),
        format!("{line}\r"),
        line.replace(",\"hash\":", ", \"hash\":"),
        line.replace("\"hash\":\"", "\"hash\":\"Z"),
        line[1..].to_owned(),
    ] {
        let hash = hash_line(text.as_bytes(), GENESIS);
        assert!(hash.is_none_or(|hash| !line.contains(&hash)), "{text}");
    }
}
