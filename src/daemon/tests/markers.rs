//! A Codex that has no tools of ours says what it wants at the beginning of its final message.

use super::rig::Rig;
use crate::adapters::codex::fact::{CodexFact, ReportedStatus};
use crate::core::agent::{Agent, Party};
use crate::core::delivery::OnBusy;
use crate::core::entry::{EntryKind, NoteKind, TurnStatus};
use crate::core::id::{EntryId, ThreadId, TurnId};
use crate::wire::control::{Command, ContextPage, HandoffParams, RefusalCode, Reply, Role};

/// A turn of this message ends with this text.
async fn answers(rig: &mut Rig, turn: &str, id: Option<&EntryId>, text: &str) {
    rig.user_message(turn, id);
    rig.completed(turn, id.map_or(&[], std::slice::from_ref), text);
    rig.status(ReportedStatus::Idle);
    rig.pump().await;
}

/// Texts that wait for Claude.
fn for_claude(rig: &Rig) -> Vec<String> {
    let world = rig.daemon.base.recorder.world();
    let mut rows: Vec<_> = world
        .unsettled
        .values()
        .filter(|message| message.to == Agent::Claude)
        .collect();
    rows.sort_by_key(|message| message.seq);
    rows.iter()
        .map(|message| {
            rig.daemon
                .base
                .recorder
                .stored(message.seq)
                .unwrap()
                .entry
                .content
                .clone()
        })
        .collect()
}

#[tokio::test]
async fn what_is_for_the_person_does_not_reach_claude() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    let id = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    answers(&mut rig, "turn-1", Some(&id), "[HUMAN] please log in again").await;
    assert_eq!(for_claude(&rig), Vec::<String>::new());
    let note = rig.daemon.base.recorder.world().notes.back().unwrap();
    assert_eq!(note.text, "please log in again");

    let id = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    let done = "[IMPORTANT] DONE: the parser reads it";
    answers(&mut rig, "turn-2", Some(&id), done).await;
    // A claim, and the answer that Claude waits for.
    assert_eq!(for_claude(&rig), [done]);
    assert!(
        rig.daemon
            .base
            .recorder
            .world()
            .pending_proposals
            .is_empty()
    );
}

#[tokio::test]
async fn a_handoff_by_marker_is_a_handoff_once() {
    let mut rig = Rig::fresh_with_codex().await;
    let text = "[IMPORTANT] CONTEXTRELAY_HANDOFF_TO_CLAUDE: review the parser";
    answers(&mut rig, "turn-1", None, text).await;
    answers(&mut rig, "turn-2", None, text).await;
    assert_eq!(for_claude(&rig), ["review the parser"]);
    let open = &rig.daemon.base.recorder.world().open_handoffs;
    assert_eq!(open.len(), 1);
    let handoff = open.values().next().unwrap();
    assert_eq!(handoff.from, Party::Agent(Agent::Codex));
    let id = handoff.id.clone();
    // And a tool that says the same says nothing new.
    let codex = rig.connect(Role::Codex, None, false);
    let ask = Command::Handoff(HandoffParams {
        from: Some(Agent::Codex),
        ask: "review the parser".to_owned(),
        reason: "it is new".to_owned(),
        ..HandoffParams::default()
    });
    match rig.call(&codex, ask).await {
        Ok(Reply::Sent(sent)) => assert!(sent.duplicate && sent.message_id == id),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_handoff_by_marker_on_a_full_disk_keeps_no_call_waiting() {
    let mut rig = Rig::fresh_with_codex().await;
    let codex = rig.connect(Role::Codex, None, false);
    rig.user_message("turn-1", None);
    rig.settle().await;
    rig.completed(
        "turn-1",
        &[],
        "[IMPORTANT] CONTEXTRELAY_HANDOFF_TO_CLAUDE: look",
    );
    rig.fail_writes().await;
    let ask = Command::Handoff(HandoffParams {
        from: Some(Agent::Codex),
        ask: "look".to_owned(),
        reason: "it is new".to_owned(),
        ..HandoffParams::default()
    });
    let refused = rig.ask(&codex, ask);
    rig.fail_writes().await;
    assert_eq!(
        refused.await.unwrap().unwrap_err().code,
        RefusalCode::LedgerUnwritable
    );
}

#[tokio::test]
async fn a_turn_that_did_not_end_well_asks_for_nothing() {
    let mut rig = Rig::fresh_with_codex().await;
    rig.user_message("turn-1", None);
    rig.fact(CodexFact::TurnCompleted {
        thread_id: ThreadId::new("thread-1"),
        turn_id: TurnId::new("turn-1"),
        status: TurnStatus::Interrupted,
        final_answer: Some("[IMPORTANT] CONTEXTRELAY_NOTE: half".to_owned()),
        client_ids: Vec::new(),
        error: None,
        usage_limited: false,
        died: false,
    });
    rig.pump().await;
    assert!(rig.daemon.base.recorder.world().notes.is_empty());
}

#[tokio::test]
async fn the_answer_behind_a_question_about_the_record_reaches_who_asked() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    let asked = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    rig.delivered();
    let question = "[IMPORTANT] CONTEXTRELAY_READ_CONTEXT: locks";
    answers(&mut rig, "turn-1", Some(&asked), question).await;
    assert_eq!(for_claude(&rig), Vec::<String>::new());
    let record = rig.delivered_ids();
    assert_eq!(record.len(), 1);
    answers(&mut rig, "turn-2", Some(&record[0]), "it is in store.rs").await;
    assert_eq!(for_claude(&rig), ["it is in store.rs"]);
    let sent = rig.daemon.base.recorder.recent().iter().rev();
    let answer = sent
        .map(|stored| &stored.entry)
        .find_map(|entry| match &entry.kind {
            EntryKind::Message(message) if entry.content == "it is in store.rs" => {
                Some(message.in_reply_to.clone())
            }
            _ => None,
        });
    assert_eq!(answer, Some(Some(asked)));
}

#[tokio::test]
async fn codex_is_given_as_much_of_the_record_as_fits() {
    let mut rig = Rig::fresh_with_codex().await;
    let recorder = &mut rig.daemon.base.recorder;
    let notes = (1..=40).map(|number| {
        let text = format!("note {number} {}", "word ".repeat(300));
        recorder.entry(Party::Human, None, NoteKind::Note, text, None)
    });
    let notes: Vec<_> = notes.collect();
    recorder.append(notes, Box::new(|_, _| {}));
    rig.settle().await;
    rig.user_message("turn-1", None);
    rig.settle().await;
    let question = "[IMPORTANT] CONTEXTRELAY_READ_CONTEXT: locks";
    rig.completed("turn-1", &[], question);
    rig.status(ReportedStatus::Idle);
    rig.pump().await;
    let (_, text) = rig.delivered().remove(0);
    let (_, record) = text.split_once("(you asked about: locks):\n").unwrap();
    let mut record = serde_json::Deserializer::from_str(record).into_iter();
    let page: ContextPage = record.next().unwrap().unwrap();
    // 40 of them are too many, and so are 20.
    let latest = page.entries.iter().map(|entry| entry["text"].as_str());
    let latest: Vec<_> = latest.map(|text| text.unwrap()[..7].to_owned()).collect();
    let numbers: Vec<_> = (31..=40).map(|number| format!("note {number}")).collect();
    assert_eq!(latest, numbers);
    // And who asks goes on from there.
    assert_eq!(page.cursor, Some(page.entries[0]["seq"].to_string()));
    assert_eq!((page.unread_lines, page.looked_at), (0, None));
}

#[tokio::test]
async fn a_question_about_the_record_is_answered_once_and_not_in_a_circle() {
    let mut rig = Rig::fresh_with_codex().await;
    let note = "[IMPORTANT] CONTEXTRELAY_NOTE: the lock comes first";
    answers(&mut rig, "turn-1", None, note).await;
    let question = "[IMPORTANT] CONTEXTRELAY_READ_CONTEXT: locks";
    answers(&mut rig, "turn-2", None, question).await;
    let delivered = rig.delivered();
    assert_eq!(delivered.len(), 1);
    let (id, text) = &delivered[0];
    assert!(text.contains("the lock comes first"), "{text}");
    assert!(text.contains("not from your operator"), "{text}");
    answers(&mut rig, "turn-3", Some(id), question).await;
    assert_eq!(rig.delivered_ids(), []);
    assert!(rig.daemon.base.recorder.world().unsettled.is_empty());
}
