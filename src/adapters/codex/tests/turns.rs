#![allow(clippy::unwrap_used, reason = "tests")]
use serde_json::json;

use super::*;
use crate::core::agent::{Agent, Party};
use crate::core::entry::TurnFiles;
use crate::core::envelope::{Envelope, MessageKind, SentWhen, wrap};
use crate::core::id::EntryId;
use crate::wire::codex::notification::CodexNotification;
use pretty_assertions::assert_eq;

fn user(client_id: &str, text: &str) -> Item {
    Item::UserMessage {
        client_id: Some(client_id.to_owned()),
        content: vec![UserInput::Text {
            text: text.to_owned(),
        }],
    }
}

fn said(text: &str, phase: Option<&str>) -> Item {
    Item::AgentMessage {
        text: text.to_owned(),
        phase: phase.map(str::to_owned),
    }
}

fn turn(id: &str, status: &str, items: Vec<Item>) -> Turn {
    Turn {
        id: id.to_owned(),
        status: status.to_owned(),
        items,
        ..Turn::default()
    }
}

fn started(turn_id: &str) -> CodexFact {
    CodexFact::TurnStarted {
        thread_id: "T".into(),
        turn_id: turn_id.into(),
    }
}

fn message(turn_id: &str, client_id: &str, steered: bool) -> CodexFact {
    CodexFact::UserMessage {
        turn_id: turn_id.into(),
        client_id: Some(client_id.to_owned()),
        preview: "hi".to_owned(),
        steered,
    }
}

fn ended(
    turn_id: &str,
    status: TurnStatus,
    answer: Option<&str>,
    client_ids: &[&str],
) -> CodexFact {
    CodexFact::TurnCompleted {
        thread_id: "T".into(),
        turn_id: turn_id.into(),
        status,
        final_answer: answer.map(str::to_owned),
        client_ids: client_ids.iter().map(|id| (*id).to_owned()).collect(),
        error: None,
        usage_limited: false,
        // In these tests: that the human stopped one has a test of its own.
        died: status == TurnStatus::Interrupted,
    }
}

/// What a turn said that touched nothing.
fn traced(said: &[&str]) -> CodexFact {
    CodexFact::TurnTraced {
        files: TurnFiles::default(),
        said: said.iter().map(|text| (*text).to_owned()).collect(),
        is_over: true,
    }
}

struct Told {
    book: TurnBook,
    facts: Vec<CodexFact>,
}

impl Told {
    fn new() -> Self {
        Self {
            book: TurnBook::new("T".into()),
            facts: Vec::new(),
        }
    }
    fn started(&mut self, id: &str) -> &mut Self {
        self.book.started(id, &mut self.facts);
        self
    }
    fn item(&mut self, id: &str, item: Item) -> &mut Self {
        self.book.item(id, &item, &mut self.facts);
        self
    }
    fn completed(&mut self, turn: &Turn) -> &mut Self {
        self.book.completed(turn, &mut self.facts);
        self
    }
    fn history(&mut self, turn: &Turn, dead: bool, wanted: &[&str]) -> &mut Self {
        self.book.recall(
            turn,
            dead,
            false,
            |id| wanted.contains(&id),
            &mut self.facts,
        );
        self
    }
}

#[test]
fn a_turn_is_told_from_its_start_to_its_answer() {
    let mut told = Told::new();
    told.started("U")
        .item("U", user("m1", "\n hi \nthere"))
        .item("U", said("thinking", Some("commentary")))
        .item("U", said("the answer", Some("final_answer")))
        .item("U", said("by the way", Some("commentary")))
        .item("U", user("m2", "hi"))
        .completed(&turn("U", "completed", vec![]));
    assert_eq!(
        told.facts,
        [
            started("U"),
            message("U", "m1", false),
            message("U", "m2", true),
            traced(&["thinking", "the answer", "by the way"]),
            ended(
                "U",
                TurnStatus::Completed,
                Some("the answer"),
                &["m1", "m2"]
            ),
        ]
    );
}

#[test]
fn an_answer_without_a_phase_counts_and_the_end_may_bring_it() {
    let mut told = Told::new();
    told.started("U")
        .completed(&turn("U", "completed", vec![said("late", None)]));
    assert_eq!(
        told.facts[1],
        ended("U", TurnStatus::Completed, Some("late"), &[])
    );
}

#[test]
fn what_comes_twice_is_told_once() {
    let mut told = Told::new();
    told.started("U")
        .started("U")
        .item("U", user("m1", "hi"))
        .item("U", user("m1", "hi"));
    let end = turn("U", "completed", vec![]);
    told.completed(&end).completed(&end).started("U");
    assert_eq!(
        told.facts,
        [
            started("U"),
            message("U", "m1", false),
            ended("U", TurnStatus::Completed, None, &["m1"])
        ]
    );
}

#[test]
fn a_turn_that_is_met_in_the_middle_begins_with_what_is_seen_of_it() {
    let mut told = Told::new();
    told.item("U", said("x", None));
    assert_eq!(told.facts, [started("U")]);
}

#[test]
fn a_new_turn_ends_the_one_whose_end_was_missed_and_which_did_not_die() {
    let mut told = Told::new();
    told.started("U").started("V");
    let CodexFact::TurnCompleted {
        status,
        error,
        died,
        ..
    } = &told.facts[1]
    else {
        panic!("no end: {:?}", told.facts);
    };
    assert_eq!((*status, *died), (TurnStatus::Failed, false));
    assert!(error.as_ref().unwrap().contains("did not say"), "{error:?}");
    // It said its last word: what was asked for is done.
    told.item("V", user("m1", "hi"))
        .item("V", said("done", Some("final_answer")))
        .started("W");
    let end = ended("V", TurnStatus::Completed, Some("done"), &["m1"]);
    assert!(told.facts.contains(&end), "{:?}", told.facts);
}

#[test]
fn an_error_of_another_shape_leaves_the_end_of_the_turn_to_be_read() {
    for (error, said) in [
        (json!("the provider is gone"), "the provider is gone"),
        (json!({"message": "gone", "codexErrorInfo": 7}), "gone"),
        (json!({"message": ["gone"]}), r#"{"message":["gone"]}"#),
        (json!(["gone"]), r#"["gone"]"#),
    ] {
        let params =
            json!({"threadId": "T", "turn": {"id": "U", "status": "failed", "error": error}});
        let read = CodexNotification::parse("turn/completed", &params.to_string());
        let Some(CodexNotification::TurnCompleted(changed)) = read else {
            panic!("not read: {params}");
        };
        let mut told = Told::new();
        told.started("U").completed(&changed.turn);
        let Some(CodexFact::TurnCompleted { status, error, .. }) = told.facts.last() else {
            panic!("no end: {:?}", told.facts);
        };
        assert_eq!(
            (*status, error.as_deref()),
            (TurnStatus::Failed, Some(said))
        );
    }
    // What one daemon process passes to the next.
    let limit = TurnError {
        message: "limit".to_owned(),
        codex_error_info: Some("usageLimitExceeded".into()),
    };
    let passed = serde_json::to_value(&limit).unwrap();
    assert_eq!(serde_json::from_value::<TurnError>(passed).unwrap(), limit);
}

#[test]
fn a_usage_limit_is_known_from_the_error_before_the_end() {
    let mut told = Told::new();
    told.started("U");
    told.book.error(
        "U",
        TurnError {
            message: "limit".to_owned(),
            codex_error_info: Some("usageLimitExceeded".into()),
        },
    );
    told.completed(&turn("U", "failed", vec![]));
    let CodexFact::TurnCompleted {
        error,
        usage_limited,
        status,
        ..
    } = &told.facts[1]
    else {
        panic!("no end");
    };
    assert_eq!(
        (error.as_deref(), *usage_limited, *status),
        (Some("limit"), true, TurnStatus::Failed)
    );
}

#[test]
fn an_unknown_word_for_the_end_is_a_failure_that_says_so() {
    let mut told = Told::new();
    told.started("U")
        .completed(&turn("U", "evaporated", vec![]));
    let CodexFact::TurnCompleted { error, status, .. } = &told.facts[1] else {
        panic!("no end");
    };
    assert_eq!(*status, TurnStatus::Failed);
    assert!(error.as_ref().unwrap().contains("evaporated"));
}

#[test]
fn the_turn_that_died_is_closed_from_history_with_what_was_missed() {
    let mut told = Told::new();
    told.started("U").item("U", user("m1", "hi"));
    told.history(
        &turn("U", "interrupted", vec![user("m1", "hi"), user("m2", "hi")]),
        true,
        &[],
    );
    assert_eq!(
        told.facts[2..],
        [
            message("U", "m2", true),
            ended("U", TurnStatus::Interrupted, None, &["m1", "m2"])
        ]
    );
}

#[test]
fn a_killed_turn_that_the_history_still_calls_running_is_closed() {
    let mut told = Told::new();
    told.history(
        &turn("U", "inProgress", vec![user("m1", "hi")]),
        true,
        &["m1"],
    );
    assert_eq!(
        told.facts,
        [
            started("U"),
            message("U", "m1", false),
            ended("U", TurnStatus::Interrupted, None, &["m1"])
        ]
    );
    assert_eq!(told.book.open_turn(), None);
}

#[test]
fn the_history_of_an_old_turn_does_not_end_the_one_that_runs() {
    let mut told = Told::new();
    told.started("V");
    let old = turn("U", "completed", vec![user("m1", "hi"), said("done", None)]);
    told.history(&old, false, &["m1"]);
    assert_eq!(told.book.open_turn(), Some(&"V".into()));
    assert_eq!(
        told.facts[1..],
        [
            started("U"),
            message("U", "m1", false),
            ended("U", TurnStatus::Completed, Some("done"), &["m1"])
        ]
    );
}

#[test]
fn turns_that_nobody_asked_for_are_not_told_again() {
    let mut told = Told::new();
    let human = turn("U", "completed", vec![user("someone", "hi")]);
    told.history(&human, false, &["m1"]);
    assert_eq!(told.facts, []);
}

/// Whether the last fact is that a turn died, or that the human stopped it.
fn died(facts: &[CodexFact]) -> bool {
    let Some(CodexFact::TurnCompleted {
        status: TurnStatus::Interrupted,
        died,
        ..
    }) = facts.last()
    else {
        panic!("no interrupted turn: {facts:?}");
    };
    *died
}

#[test]
fn a_turn_that_died_with_its_app_server_is_told_from_one_that_the_human_stopped() {
    let mut told = Told::new();
    told.started("U")
        .completed(&turn("U", "interrupted", vec![]));
    assert!(!died(&told.facts));
    told.started("V");
    told.book.close_as_interrupted(&mut told.facts);
    assert!(died(&told.facts));
    // As the history has it: with the time of its end, the same app-server saw that end, unless it
    // was just started.
    for (ended, fresh, is_dead) in [
        (true, false, false),
        (true, true, true),
        (false, false, true),
        (false, true, true),
    ] {
        let mut told = Told::new();
        let mut turn = turn("U", "interrupted", vec![user("m1", "hi")]);
        turn.completed_at = ended.then(|| 1_795_384_218.into());
        told.book
            .recall(&turn, true, fresh, |id| id == "m1", &mut told.facts);
        assert_eq!(died(&told.facts), is_dead, "{ended} {fresh}");
    }
}

/// The packet of the compaction is to hold what the turn did and said before it.
#[test]
fn what_a_turn_did_before_its_compaction_is_told_ahead_of_that_and_once() {
    let written = |path: &str| {
        let value = json!({"type": "fileChange", "id": "c", "status": "completed",
            "changes": [{"path": path, "kind": {"type": "add"}, "diff": ""}]});
        serde_json::from_value::<Item>(value).unwrap()
    };
    let compaction = || Item::ContextCompaction { id: "c".to_owned() };
    let mut told = Told::new();
    told.started("U")
        .item("U", written("/p/a.rs"))
        .item("U", said("early", Some("commentary")))
        .item("U", compaction())
        .item("U", compaction())
        .item("U", written("/p/b.rs"))
        .completed(&turn("U", "completed", vec![]));
    told_in_three_parts(&told);

    // The connection was lost in between: the history tells of all of it once more.
    let mut told = Told::new();
    told.started("U")
        .item("U", written("/p/a.rs"))
        .item("U", said("early", Some("commentary")))
        .item("U", compaction());
    let items = vec![
        written("/p/a.rs"),
        said("early", Some("commentary")),
        compaction(),
        written("/p/b.rs"),
    ];
    told.history(&turn("U", "inProgress", items), false, &[])
        .completed(&turn("U", "completed", vec![]));
    told_in_three_parts(&told);
}

#[track_caller]
fn told_in_three_parts(told: &Told) {
    let traces = told.facts.iter().filter_map(|fact| match fact {
        CodexFact::TurnTraced {
            files,
            said,
            is_over,
        } => Some((files.written.join(" "), said.join(" "), *is_over)),
        CodexFact::Compacted { .. } => Some(("compacted".to_owned(), String::new(), false)),
        _ => None,
    });
    let traces: Vec<_> = traces.collect();
    let of = |files: &str, said: &str, is_over| (files.to_owned(), said.to_owned(), is_over);
    assert_eq!(
        traces,
        [
            of("/p/a.rs", "early", false),
            of("compacted", "", false),
            of("/p/b.rs", "", true)
        ]
    );
}

#[test]
fn a_conversation_that_a_handoff_begins_is_named_after_what_is_asked() {
    let id = EntryId::new("0198aa");
    let peer = Party::Agent(Agent::Claude);
    let refs = ["a.rs".to_owned()];
    let why = Some("a second look");
    for (kind, reason, context_refs, text, name) in [
        (MessageKind::Handoff, why, &refs[..], "look\nagain", "look"),
        (
            MessageKind::Handoff,
            why,
            &refs,
            "See: all\nof it",
            "See: all",
        ),
        (
            MessageKind::Handoff,
            why,
            &[],
            "See: the log",
            "See: the log",
        ),
        (
            MessageKind::Message,
            None,
            &[],
            "Reason: none",
            "Reason: none",
        ),
    ] {
        let envelope = Envelope {
            id: &id,
            from: &peer,
            kind: &kind,
            sent: SentWhen::Ago {
                seconds: 0,
                head_moved: false,
            },
            repeat: false,
            require_reply: false,
            reason,
            context_refs,
        };
        let text = wrap(&envelope, text);
        assert_eq!(preview(&[UserInput::Text { text }]), name);
    }
}

#[test]
fn a_prompt_is_shown_up_to_the_word_that_does_not_fit() {
    let token = "ghp_a1B2c3D4e5F6g7H8i9J0";
    let words = "word ".repeat(38);
    let text = format!("\n{words}{token} is it");
    assert_eq!(preview(&[UserInput::Text { text }]), words.trim_end());
}

#[test]
fn a_turn_that_only_the_record_knew_of_ends_as_the_history_has_it_and_tells_nothing_twice() {
    let written = |path: &str| {
        let value = json!({"type": "fileChange", "id": path, "status": "completed",
            "changes": [{"path": path, "kind": {"type": "add"}, "diff": ""}]});
        serde_json::from_value::<Item>(value).unwrap()
    };
    let compaction = || Item::ContextCompaction { id: "c".to_owned() };
    let answer = || {
        let value = json!({"type": "agentMessage", "text": "the answer", "phase": "final_answer"});
        serde_json::from_value::<Item>(value).unwrap()
    };
    let items = vec![
        user("m1", "hi"),
        written("told.rs"),
        compaction(),
        written("untold.rs"),
        answer(),
    ];
    let mut told = Told::new();
    told.book.lacks_end_of("U".into());
    told.book.recall(
        &turn("U", "completed", items),
        true,
        true,
        |_| false,
        &mut told.facts,
    );
    assert_eq!(told.facts[0], message("U", "m1", false));
    let [
        _,
        CodexFact::TurnTraced {
            files,
            is_over: true,
            ..
        },
        end,
    ] = &told.facts[..]
    else {
        panic!("{:?}", told.facts);
    };
    assert!(format!("{files:?}").contains("untold.rs"), "{files:?}");
    assert!(!format!("{files:?}").contains("\"told.rs"), "{files:?}");
    let whole = ended("U", TurnStatus::Completed, Some("the answer"), &["m1"]);
    assert_eq!(*end, whole);
    // One that runs keeps what was seen of it.
    let mut told = Told::new();
    told.started("U");
    told.book.lacks_end_of("V".into());
    assert_eq!(told.book.open_turn(), Some(&"U".into()));
}
