//! What the record has of a request: all of it or nothing, also behind a disk that refuses and in the
//! session after this one.

use std::collections::BTreeMap;
use std::fs::{File, read_to_string};
use std::sync::Arc;

use super::{CLAUDE, WAITING, request};
use crate::adapters::codex::fact::CodexFact;
use crate::adapters::test_log::TestLog;
use crate::core::agent::Agent;
use crate::core::entry::{
    ApprovalChoice, ApprovalRequest, ChoiceEffect, EntryKind, TextHints, Wish,
};
use crate::core::id::EntryId;
use crate::core::snapshot::Snapshot;
use crate::daemon::base::clock::now_ms;
use crate::daemon::event::Event;
use crate::daemon::tests::rig::Rig;
use crate::store::ledger::{LedgerError, WriterEvent};
use crate::store::testing::Place;
use crate::wire::control::{
    AskUserParams, ClearParams, Command, CompactParams, RefusalCode, Reply, Role,
};

impl Rig {
    /// The steps that are folded, each with its words.
    pub(super) fn folded_steps(&self) -> Vec<(String, String)> {
        let recent = self.daemon.base.recorder.recent().iter();
        let steps = recent.filter_map(|stored| match &stored.entry.kind {
            EntryKind::Approval(record) => Some((
                format!("{} {}", stored.entry.source, record.step.as_str()),
                stored.entry.content.clone(),
            )),
            _ => None,
        });
        steps.collect()
    }

    /// The disk takes everything again, and what was kept is written.
    async fn disk_recovers(&mut self) {
        self.daemon.on_event(Event::Ledger(WriterEvent::Recovered));
        self.daemon.base.recorder.write_again_now();
        self.daemon.base.recorder.write_again();
        self.pump().await;
    }

    fn codex_asked(&mut self, request_id: &str, key: &str) {
        self.fact(CodexFact::ApprovalAsked {
            request_id: request_id.to_owned(),
            request: Box::new(request(key)),
            details: String::new(),
        });
    }
}

#[tokio::test]
async fn what_was_answered_stays_answered_in_the_session_after_it() {
    let clear = |discard| {
        Command::Clear(ClearParams {
            discard,
            ..ClearParams::default()
        })
    };
    let compact = Command::Compact(CompactParams::default());
    for (ends, answer) in [
        (clear(false), "accept it"),
        // Its words are deleted.
        (clear(true), "accept"),
        (compact, "accept it"),
    ] {
        let mut rig = Rig::fresh().await;
        let operator = rig.connect(Role::Deck, None, true);
        let hook = rig.connect(Role::Hook, Some(CLAUDE), false);
        let waiting = rig.claude_asks(&hook, "k1");
        rig.settle().await;
        let id = rig.only_open();
        assert_eq!(rig.answer(&operator, &id, "accept", None).await, Ok(()));
        waiting.await.unwrap().unwrap();
        rig.daemon.disconnect(hook.conn);
        rig.settle().await;

        // What was allowed runs on meanwhile.
        rig.call(&operator, ends).await.unwrap();
        assert_eq!(rig.only_open(), id);
        let open = &rig.daemon.base.recorder.world().open_approvals[&id];
        assert_eq!(open.given_label(), Some(answer));
        rig.claude_hook("PostToolUse", Some("touch")).await;
        let steps = rig.folded_steps();
        let names: Vec<&str> = steps.iter().map(|(step, _)| step.as_str()).collect();
        assert_eq!(names, ["claude asked", "human given", "system answered"]);
        let end = format!("Claude goes on; the operator's answer was {answer}");
        assert_eq!(steps[2].1, end);
    }
}

#[tokio::test]
async fn what_waits_is_as_old_in_the_session_after_it_and_so_is_its_answer() {
    let clear = |discard| {
        Command::Clear(ClearParams {
            discard,
            ..ClearParams::default()
        })
    };
    let times = |world: &Snapshot| -> BTreeMap<EntryId, (i64, Option<i64>)> {
        let open = world.open_approvals.values();
        let times = open.map(|asked| {
            let given_ms = asked.given.as_ref().map(|(_, at_ms)| *at_ms);
            (asked.id.clone(), (asked.at_ms, given_ms))
        });
        times.collect()
    };
    let compact = Command::Compact(CompactParams::default());
    for (ends, is_kept) in [(clear(false), true), (clear(true), false), (compact, true)] {
        let place = Place::new();
        let mut rig = Rig::start(&place).await;
        let operator = rig.connect(Role::Deck, None, true);
        let hook = rig.connect(Role::Hook, Some(CLAUDE), false);
        let waiting = rig.claude_asks(&hook, "k1");
        rig.settle().await;
        let id = rig.only_open();
        assert_eq!(rig.answer(&operator, &id, "accept", None).await, Ok(()));
        waiting.await.unwrap().unwrap();
        rig.daemon.disconnect(hook.conn);
        rig.settle().await;
        let codex = rig.connect(Role::Codex, None, false);
        let question = AskUserParams {
            agent: Agent::Codex,
            question: "May the old endpoint go?".to_owned(),
            choices: Vec::new(),
            timeout_ms: 45_000,
            runtime_session_id: None,
        };
        let asked = rig.call(&codex, Command::AskUser(question)).await;
        asked.unwrap();
        let mut before = times(rig.world());
        assert_eq!(before.len(), 2);
        // A question of which no word is left nobody could answer.
        before.retain(|open, _| is_kept || *open == id);
        let last_ms = now_ms();
        while now_ms() == last_ms {
            std::hint::spin_loop();
        }
        rig.call(&operator, ends).await.unwrap();
        assert_eq!(times(rig.world()), before);
        drop(rig);
        assert_eq!(times(&Rig::replayed(&place).0), before);
    }
}

#[tokio::test]
async fn of_a_request_whose_words_are_deleted_no_word_is_left_and_nothing_can_be_allowed() {
    let mut rig = Rig::fresh_with_codex().await;
    let operator = rig.connect(Role::Deck, None, true);
    let offered = |label: &str, effect| ApprovalChoice::new(label, label, effect);
    let mut asked = ApprovalRequest {
        peer_files: vec!["pears.rs".to_owned()],
        also_wants: vec![Wish::from("write /pears")],
        cwd: Some("/pears".to_owned()),
        unmasked: Some(TextHints::default()),
        ..request("T/call_1")
    };
    asked.choices.extend([
        offered("always pears", ChoiceEffect::AllowMore),
        offered("never pears", ChoiceEffect::DenyMore),
    ]);
    rig.fact(CodexFact::ApprovalAsked {
        request_id: "3".to_owned(),
        request: Box::new(asked),
        details: "eat the pears".to_owned(),
    });
    rig.status(WAITING);
    rig.settle().await;
    let id = rig.only_open();
    let discard = Command::Clear(ClearParams {
        discard: true,
        ..ClearParams::default()
    });
    rig.call(&operator, discard).await.unwrap();
    let open = rig.daemon.base.recorder.world().open_approvals[&id].clone();
    let left = format!("{open:?}");
    assert!(!left.contains("pears") && !left.contains("/proj"), "{left}");
    let offered: Vec<&str> = open
        .request
        .choices
        .iter()
        .map(|it| it.id.as_str())
        .collect();
    assert_eq!(offered, ["decline", "stop"]);
    let allowed = rig.answer(&operator, &id, "accept", None).await;
    assert_eq!(allowed, Err(RefusalCode::InvalidArguments));
    assert_eq!(rig.answer(&operator, &id, "decline", None).await, Ok(()));
}

#[tokio::test]
async fn a_request_that_is_cut_in_the_session_after_it_names_no_entry_with_the_rest() {
    let clear = Command::Clear(ClearParams::default());
    for ends in [clear, Command::Compact(CompactParams::default())] {
        for (details, is_cut) in [("+ a line", false), (&"+ a line\n".repeat(2_000), true)] {
            let mut rig = Rig::fresh_with_codex().await;
            let operator = rig.connect(Role::Deck, None, true);
            rig.fact(CodexFact::ApprovalAsked {
                request_id: "3".to_owned(),
                request: Box::new(request("T/call_1")),
                details: details.to_owned(),
            });
            rig.status(WAITING);
            rig.settle().await;
            let id = rig.only_open();
            let asked = |rig: &Rig| rig.daemon.base.recorder.world().open_approvals[&id].clone();
            assert_eq!(asked(&rig).rest().is_some(), is_cut);
            rig.call(&operator, ends.clone()).await.unwrap();
            assert_eq!(
                (asked(&rig).rest(), asked(&rig).request.cut),
                (None, is_cut)
            );
            assert_eq!(asked(&rig).request.choices, request("k").choices);
        }
    }
}

#[tokio::test]
async fn a_refusal_of_what_then_ran_is_on_record_as_too_late() {
    let late = "Claude was answered in its own terminal, and it was done: the operator's answer came \
                too late, which was decline it";
    let stop_late = "Claude was answered in its own terminal, and it was done: the operator's answer \
                     came too late";
    let stopped = "Claude was told to stop; the operator's answer was stop it";
    for (choice, event, tool_use, end) in [
        ("decline", "PostToolUse", "touch", late),
        ("stop", "PostToolUse", "touch", stop_late),
        ("stop", "PostToolUse", "another tool", stopped),
        ("stop", "UserPromptSubmit", "touch", stopped),
        (
            "decline",
            "PostToolUse",
            "another tool",
            "Claude goes on; the operator's answer was decline it",
        ),
        (
            "decline",
            "PostToolUseFailure",
            "touch",
            "Claude goes on; the operator's answer was decline it",
        ),
        (
            "accept",
            "PostToolUse",
            "touch",
            "Claude goes on; the operator's answer was accept it",
        ),
    ] {
        let mut rig = Rig::fresh().await;
        let operator = rig.connect(Role::Deck, None, true);
        let hook = rig.connect(Role::Hook, Some(CLAUDE), false);
        let _waiting = rig.claude_asks(&hook, "k1");
        rig.settle().await;
        let id = rig.only_open();
        assert_eq!(rig.answer(&operator, &id, choice, None).await, Ok(()));
        rig.daemon.disconnect(hook.conn);
        rig.claude_hook(event, Some(tool_use)).await;
        let (_, said) = rig.folded_steps().pop().unwrap();
        assert_eq!(said, end);
    }
}

#[tokio::test]
async fn a_request_that_the_disk_refused_has_no_end_in_the_record_either() {
    for leaves_first in [false, true] {
        let mut rig = Rig::fresh().await;
        let _operator = rig.connect(Role::Deck, None, true);
        let hook = rig.connect(Role::Hook, Some(CLAUDE), false);
        rig.settle().await;
        let waiting = rig.claude_asks(&hook, "k1");
        if leaves_first {
            // Esc in Claude's own dialog.
            rig.daemon.disconnect(hook.conn);
        }
        rig.fail_writes().await;
        if !leaves_first {
            assert_eq!(waiting.await.unwrap(), Ok(Reply::Approval(None)));
        }
        rig.disk_recovers().await;
        rig.claude_hook("PostToolUse", Some("touch")).await;
        assert_eq!(rig.folded_steps(), []);
    }
}

#[tokio::test]
async fn what_codex_asks_waits_for_the_operator_once_the_record_has_it() {
    let mut rig = Rig::fresh_with_codex().await;
    let pending = |rig: &Rig| rig.daemon.status().approvals.pending;
    rig.codex_asked("3", "T/call_1");
    rig.fact(CodexFact::ApprovalsPending {
        count: 1,
        helpers: 0,
    });
    assert_eq!(pending(&rig), 0, "nobody can answer it yet");
    rig.settle().await;
    assert_eq!(pending(&rig), 1);
    rig.only_open();
}

#[tokio::test]
async fn what_codex_asks_and_the_record_never_has_is_counted_beside_what_claude_asks() {
    let mut rig = Rig::fresh_with_codex().await;
    let _operator = rig.connect(Role::Deck, None, true);
    let hook = rig.connect(Role::Hook, Some(CLAUDE), false);
    let _waiting = rig.claude_asks(&hook, "k1");
    rig.settle().await;
    rig.codex_asked("3", "T/call_1");
    rig.fact(CodexFact::ApprovalsPending {
        count: 1,
        helpers: 0,
    });
    rig.refuse_writes(|_| LedgerError::Refused("too long".to_owned()))
        .await;
    let approvals = rig.daemon.status().approvals;
    assert_eq!((approvals.pending, approvals.elsewhere), (2, 1));
}

#[tokio::test]
async fn a_request_that_ends_before_the_disk_has_it_ends_behind_it() {
    let mut rig = Rig::fresh().await;
    let _operator = rig.connect(Role::Deck, None, true);
    let hook = rig.connect(Role::Hook, Some(CLAUDE), false);
    rig.settle().await;
    drop(rig.claude_asks(&hook, "k1"));
    rig.daemon.disconnect(hook.conn);
    rig.settle().await;
    assert_eq!(rig.open(), 0);
    assert_eq!(rig.steps().await, ["claude asked", "system answered"]);
}

#[tokio::test]
async fn what_codex_asked_and_the_record_will_never_have_can_be_asked_again() {
    let mut rig = Rig::fresh_with_codex().await;
    let operator = rig.connect(Role::Deck, None, true);
    let refused = |_| LedgerError::Refused("too long".to_owned());
    rig.codex_asked("3", "T/call_1");
    rig.refuse_writes(refused).await;
    assert_eq!(rig.daemon.decisions.approvals.on_their_way(), 0);
    assert_eq!(rig.open(), 0);
    // On another connection, with fewer words.
    rig.codex_asked("3", "T/call_1");
    rig.status(WAITING);
    rig.settle().await;
    let id = rig.only_open();
    assert_eq!(rig.answer(&operator, &id, "accept", None).await, Ok(()));

    // An end that was given up does not keep a later one from the record.
    rig.fact(CodexFact::ApprovalResolved {
        request_id: "3".to_owned(),
    });
    rig.refuse_writes(refused).await;
    assert_eq!(rig.open(), 1);
    rig.fact(CodexFact::ServerLost {
        why: "killed".to_owned(),
        gave_up: false,
    });
    rig.settle().await;
    assert_eq!(rig.open(), 0);
}

#[tokio::test]
async fn an_answer_that_a_crash_left_without_a_sign_is_on_record_with_what_it_was() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let operator = rig.connect(Role::Deck, None, true);
    let mut hooks = Vec::new();
    for key in ["k1", "k2"] {
        let hook = rig.connect(Role::Hook, Some(CLAUDE), false);
        hooks.push(rig.claude_asks(&hook, key));
        rig.settle().await;
    }
    let open = &rig.world().open_approvals;
    let first = open.values().find(|asked| asked.request.key == "k1");
    let first = first.unwrap().id.clone();
    assert_eq!(rig.answer(&operator, &first, "decline", None).await, Ok(()));
    drop(rig);

    let mut rig = Rig::start(&place).await;
    rig.settle().await;
    assert_eq!(rig.open(), 0);
    let mut steps = rig.folded_steps();
    steps.retain(|(step, _)| step == "system lost");
    let said: Vec<&str> = steps.iter().map(|(_, said)| said.as_str()).collect();
    assert_eq!(
        said,
        [
            "what Claude asked is gone with the daemon; the operator's answer was decline it, and \
             whether Claude got it is not known",
            "what Claude asked is gone with the daemon",
        ]
    );
}

#[tokio::test]
async fn what_ended_because_its_hook_was_gone_when_it_was_answered_ends_once() {
    for leaves in [true, false] {
        let mut rig = Rig::fresh().await;
        let operator = rig.connect(Role::Deck, None, true);
        let hook = rig.connect(Role::Hook, Some(CLAUDE), false);
        drop(rig.claude_asks(&hook, "k1"));
        rig.settle().await;
        let id = rig.only_open();
        let late = rig.answer(&operator, &id, "accept", None).await;
        assert_eq!(late, Err(RefusalCode::NotFound));
        if leaves {
            rig.daemon.disconnect(hook.conn);
        }
        rig.claude_hook("PostToolUse", Some("touch")).await;
        rig.settle().await;
        let wanted = ["claude asked", "human given", "system answered"];
        assert_eq!(rig.steps().await, wanted, "{leaves}");
    }
}

#[tokio::test]
async fn an_answer_that_nobody_took_is_on_record_as_such_and_where_the_tool_ran_as_too_late() {
    let late = "Claude was answered in its own terminal, and it was done: the operator's answer came \
                too late";
    for choice in ["decline", "stop"] {
        let missed = format!("nobody took the operator's answer, which was {choice} it");
        // What the hook's end tells comes before that of its tool, or behind it.
        for (leaves, event) in [
            (true, "PostToolUse"),
            (false, "PostToolUse"),
            (true, "PostToolUseFailure"),
            (true, "Stop"),
        ] {
            let mut rig = Rig::fresh().await;
            let operator = rig.connect(Role::Deck, None, true);
            let hook = rig.connect(Role::Hook, Some(CLAUDE), false);
            drop(rig.claude_asks(&hook, "k1"));
            rig.settle().await;
            let id = rig.only_open();
            let answered = rig.answer(&operator, &id, choice, None).await;
            assert_eq!(answered, Err(RefusalCode::NotFound));
            if leaves {
                rig.daemon.disconnect(hook.conn);
            }
            rig.claude_hook(event, Some("touch")).await;
            rig.settle().await;
            let said = rig.folded_steps().into_iter().skip(2);
            let said: Vec<String> = said.map(|(_, said)| said).collect();
            let wanted = match event {
                "PostToolUse" => vec![missed.as_str(), late],
                _ => vec![missed.as_str()],
            };
            assert_eq!(said, wanted, "{choice} {event} {leaves}");
        }
    }
}

#[tokio::test]
async fn the_log_follows_a_request_by_its_id() {
    let place = Place::new();
    let path = place.dir.path().join("log");
    let _logged = TestLog::to(Arc::new(File::create(&path).unwrap()));
    for agent in Agent::ALL {
        let mut rig = Rig::fresh_with_codex().await;
        let operator = rig.connect(Role::Deck, None, true);
        let hook = rig.connect(Role::Hook, Some(CLAUDE), false);
        let mut waiting = None;
        match agent {
            Agent::Claude => waiting = Some(rig.claude_asks(&hook, "k1")),
            Agent::Codex => rig.codex_asked("3", "T/call_1"),
        }
        rig.settle().await;
        let id = rig.only_open();
        assert_eq!(rig.answer(&operator, &id, "accept", None).await, Ok(()));
        match agent {
            Agent::Claude => rig.claude_hook("PostToolUse", Some("touch")).await,
            Agent::Codex => rig.fact(CodexFact::ApprovalResolved {
                request_id: "3".to_owned(),
            }),
        }
        rig.settle().await;
        drop(waiting);
        let log = read_to_string(&path).unwrap();
        let its = log.lines().filter(|line| line.contains(id.as_str()));
        let its: Vec<&str> = its.collect();
        let steps = [
            ": asked agent=",
            "step=\"asked\"",
            "step=\"given\"",
            ": answer delivered agent=",
            "step=\"answered\"",
        ];
        assert_eq!(its.len(), steps.len(), "{its:#?}");
        for (line, step) in its.iter().zip(steps) {
            assert!(line.contains(step), "no {step} in {line}");
            assert!(!line.contains("touch made.txt"), "{line}");
        }
    }
}
