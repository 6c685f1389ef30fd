//! What Codex asks the person: shown, answered once, never by ourselves.

mod left_behind;
mod masked;
mod recorded;

use super::rig::{Guest, Rig};
use crate::adapters::codex::fact::{CodexFact, ReportedStatus};
use crate::adapters::codex::request::CodexRequest;
use crate::core::agent::{Agent, AgentState};
use crate::core::entry::{
    ApprovalChoice, ApprovalKind, ApprovalRequest, ApprovalStep, ChoiceEffect, EntryKind,
};
use crate::core::id::{EntryId, Seq, ThreadId, TurnId};
use crate::daemon::event::Event;
use crate::store::testing::Place;
use crate::wire::control::{
    AnswerApprovalParams, ApprovalAnswer, AskApprovalParams, Command, HookEvent, HookParams,
    Refusal, RefusalCode, Reply, Role,
};
use tokio::sync::oneshot;

const WAITING: ReportedStatus = ReportedStatus::Active { waiting: true };

pub fn request(key: &str) -> ApprovalRequest {
    let choice = |id: &str, effect| ApprovalChoice::new(id, format!("{id} it"), effect);
    ApprovalRequest {
        cwd: Some("/proj".to_owned()),
        reason: Some("need to write a file".to_owned()),
        choices: vec![
            choice("accept", ChoiceEffect::AllowOnce),
            choice("decline", ChoiceEffect::Deny),
            choice("stop", ChoiceEffect::Stop),
        ],
        thread_id: Some(ThreadId::new("thread-1")),
        turn_id: Some(TurnId::new("turn-1")),
        ..ApprovalRequest::new(
            ApprovalKind::Command,
            key.to_owned(),
            "touch made.txt".to_owned(),
        )
    }
}

impl Rig {
    async fn codex_asks(&mut self, request_id: &str, key: &str) -> EntryId {
        self.fact(CodexFact::ApprovalAsked {
            request_id: request_id.to_owned(),
            request: Box::new(request(key)),
            details: String::new(),
        });
        self.status(WAITING);
        self.settle().await;
        let open = &self.daemon.base.recorder.world().open_approvals;
        let asked = open.values().find(|asked| asked.request.key == key);
        asked.unwrap().id.clone()
    }

    async fn answer(
        &mut self,
        by: &Guest,
        id: &EntryId,
        choice: &str,
        note: Option<&str>,
    ) -> Result<(), RefusalCode> {
        let waiting = self.ask(by, answer(id, choice, note));
        self.settle().await;
        if let Ok(CodexRequest::AnswerApproval {
            request_id,
            choice: sent,
            reply,
        }) = self.requests.try_recv()
        {
            assert_eq!((request_id.as_str(), sent.as_str()), ("3", choice));
            reply.send(Ok(())).unwrap();
        }
        match waiting.await.unwrap() {
            Ok(Reply::Recorded(_)) => Ok(()),
            Ok(other) => panic!("{other:?}"),
            Err(refusal) => Err(refusal.code),
        }
    }

    /// The answer that is shown as given.
    fn given(&self, id: &EntryId) -> Option<String> {
        let asked = &self.daemon.base.recorder.world().open_approvals[id];
        asked.given_label().map(str::to_owned)
    }

    fn open(&self) -> usize {
        self.daemon.base.recorder.world().open_approvals.len()
    }

    async fn steps(&mut self) -> Vec<String> {
        let place = self.daemon.base.recorder.world().seq.0;
        let stored = (1..=place).filter_map(|seq| self.daemon.base.recorder.stored(Seq(seq)));
        let steps = stored.filter_map(|stored| match &stored.entry.kind {
            EntryKind::Approval(record) => {
                Some(format!("{} {}", stored.entry.source, record.step.as_str()))
            }
            _ => None,
        });
        steps.collect()
    }
}

fn answer(id: &EntryId, choice: &str, note: Option<&str>) -> Command {
    Command::AnswerApproval(AnswerApprovalParams {
        id: id.clone(),
        choice: choice.to_owned(),
        note: note.map(str::to_owned),
    })
}

#[tokio::test]
async fn what_codex_asks_is_recorded_answered_by_the_operator_and_ends_with_its_answer() {
    let mut rig = Rig::fresh_with_codex().await;
    let operator = rig.connect(Role::Deck, None, true);
    let id = rig.codex_asks("3", "T/call_1").await;
    let approvals = rig.daemon.status().approvals;
    assert_eq!((approvals.pending, approvals.elsewhere), (1, 0));
    assert_eq!(rig.answer(&operator, &id, "accept", None).await, Ok(()));
    // It was given, and whether it counted nobody has said yet.
    assert_eq!(rig.open(), 1);
    rig.fact(CodexFact::ApprovalResolved {
        request_id: "3".to_owned(),
    });
    rig.settle().await;
    assert_eq!(rig.open(), 0);
    assert_eq!(
        rig.steps().await,
        ["codex asked", "human given", "system answered"]
    );
    let late = rig.answer(&operator, &id, "decline", None).await;
    assert_eq!(late, Err(RefusalCode::NotFound));
}

#[tokio::test]
async fn two_decks_answer_one_request_once_and_nobody_else_answers_at_all() {
    let mut rig = Rig::fresh_with_codex().await;
    let (one, two) = (
        rig.connect(Role::Deck, None, true),
        rig.connect(Role::Deck, None, true),
    );
    let reader = rig.connect(Role::Deck, None, false);
    let agent = rig.connect(Role::Codex, None, false);
    let id = rig.codex_asks("3", "T/call_1").await;
    for not_operator in [&reader, &agent] {
        let refused = rig.answer(not_operator, &id, "accept", None).await;
        assert_eq!(refused, Err(RefusalCode::OperatorOnly));
    }
    let unknown = rig.answer(&one, &id, "acceptForSession", None).await;
    assert_eq!(unknown, Err(RefusalCode::InvalidArguments));
    let first = rig.ask(&one, answer(&id, "accept", None));
    let second = rig.ask(&two, answer(&id, "decline", None));
    assert_eq!(
        second.await.unwrap().unwrap_err().code,
        RefusalCode::InFlight
    );
    rig.settle().await;
    let Ok(CodexRequest::AnswerApproval { choice, reply, .. }) = rig.requests.try_recv() else {
        panic!("nothing was sent");
    };
    assert_eq!(choice, "accept");
    reply.send(Ok(())).unwrap();
    first.await.unwrap().unwrap();
    assert!(rig.requests.try_recv().is_err());
}

#[tokio::test]
async fn an_answer_in_the_terminal_ends_the_request_here_too() {
    let mut rig = Rig::fresh_with_codex().await;
    rig.codex_asks("3", "T/call_1").await;
    rig.fact(CodexFact::ApprovalResolved {
        request_id: "3".to_owned(),
    });
    // Before that is on the disk.
    rig.status(ReportedStatus::Active { waiting: false });
    rig.settle().await;
    assert_eq!(rig.open(), 0);
    // One that was answered while nobody was connected is not told of.
    rig.codex_asks("4", "T/call_2").await;
    rig.status(ReportedStatus::Idle);
    rig.settle().await;
    assert_eq!(rig.open(), 0);
    let wanted = ["codex asked", "system answered"];
    assert_eq!(rig.steps().await, [wanted, wanted].concat());
}

#[tokio::test]
async fn asked_again_on_another_connection_it_is_the_same_request() {
    let mut rig = Rig::fresh_with_codex().await;
    let operator = rig.connect(Role::Deck, None, true);
    let id = rig.codex_asks("9", "T/call_1").await;
    assert_eq!(rig.codex_asks("3", "T/call_1").await, id);
    assert_eq!(rig.steps().await, ["codex asked"]);
    assert_eq!(rig.answer(&operator, &id, "accept", None).await, Ok(()));
}

#[tokio::test]
async fn what_is_asked_while_the_end_of_the_one_before_is_recorded_is_a_request_of_its_own() {
    let mut rig = Rig::fresh_with_codex().await;
    let operator = rig.connect(Role::Deck, None, true);
    let first = rig.codex_asks("9", "T/call_1").await;
    rig.fact(CodexFact::ApprovalResolved {
        request_id: "9".to_owned(),
    });
    rig.fact(CodexFact::ApprovalAsked {
        request_id: "3".to_owned(),
        request: Box::new(request("T/call_1")),
        details: String::new(),
    });
    rig.settle().await;
    let second = rig.only_open();
    assert_ne!(first, second);
    let wanted = ["codex asked", "system answered", "codex asked"];
    assert_eq!(rig.steps().await, wanted);
    assert_eq!(rig.answer(&operator, &second, "accept", None).await, Ok(()));
}

#[tokio::test]
async fn another_request_under_the_same_name_is_no_yes_to_what_was_read() {
    let other = |request: &mut ApprovalRequest, details: &mut String| {
        request.subject = "touch other.txt".to_owned();
        details.clear();
    };
    let diff = |_: &mut ApprovalRequest, details: &mut String| details.push_str("+x");
    type Change = fn(&mut ApprovalRequest, &mut String);
    for change in [other as Change, diff] {
        for is_recorded in [true, false] {
            let mut rig = Rig::fresh_with_codex().await;
            let operator = rig.connect(Role::Deck, None, true);
            let mut asked = request("T/call_1");
            let mut details = String::new();
            for request_id in ["9", "3"] {
                rig.daemon.on_event(Event::Codex(CodexFact::ApprovalAsked {
                    request_id: request_id.to_owned(),
                    request: Box::new(asked.clone()),
                    details: details.clone(),
                }));
                change(&mut asked, &mut details);
                if is_recorded {
                    rig.settle().await;
                }
            }
            rig.settle().await;
            let id = rig.only_open();
            // What is resolved late ends nothing else.
            rig.fact(CodexFact::ApprovalResolved {
                request_id: "9".to_owned(),
            });
            rig.settle().await;
            assert_eq!(rig.answer(&operator, &id, "accept", None).await, Ok(()));
            let steps = rig.steps().await;
            let count = |step: &str| steps.iter().filter(|it| *it == step).count();
            assert_eq!(count("codex asked"), 2, "{steps:?}");
            assert_eq!(count("system lost"), 1, "{steps:?}");
            assert_eq!(steps.len(), 4, "{steps:?}");
        }
    }
}

#[tokio::test]
async fn an_answer_that_reached_nobody_can_be_given_again() {
    let mut rig = Rig::fresh_with_codex().await;
    let operator = rig.connect(Role::Deck, None, true);
    let id = rig.codex_asks("3", "T/call_1").await;
    let first = rig.ask(&operator, answer(&id, "accept", None));
    rig.settle().await;
    let Ok(CodexRequest::AnswerApproval { reply, .. }) = rig.requests.try_recv() else {
        panic!("nothing was sent");
    };
    drop(reply);
    let refused = first.await.unwrap().unwrap_err();
    assert_eq!(refused.code, RefusalCode::CodexUnavailable);
    rig.pump().await;
    // The deck, too, offers it again.
    assert_eq!(rig.given(&id), None);
    assert_eq!(rig.answer(&operator, &id, "accept", None).await, Ok(()));
    assert_eq!(rig.given(&id).as_deref(), Some("accept it"));
    let wanted = [
        "codex asked",
        "human given",
        "system undelivered",
        "human given",
    ];
    assert_eq!(rig.steps().await, wanted);
}

#[tokio::test]
async fn what_is_asked_again_behind_its_answer_waits_for_another_one() {
    let mut rig = Rig::fresh_with_codex().await;
    let operator = rig.connect(Role::Deck, None, true);
    let id = rig.codex_asks("3", "T/call_1").await;
    assert_eq!(rig.answer(&operator, &id, "accept", None).await, Ok(()));
    let refused = rig.answer(&operator, &id, "accept", None).await;
    assert_eq!(refused, Err(RefusalCode::InFlight));
    // The connection that it was written to is gone, and nobody read it there.
    for _ in 0..2 {
        assert_eq!(rig.codex_asks("3", "T/call_1").await, id);
        assert_eq!(rig.given(&id), None);
    }
    assert_eq!(rig.answer(&operator, &id, "decline", None).await, Ok(()));
    rig.fact(CodexFact::ApprovalResolved {
        request_id: "3".to_owned(),
    });
    rig.settle().await;
    assert_eq!(rig.open(), 0);
    let wanted = [
        "codex asked",
        "human given",
        "system undelivered",
        "human given",
    ];
    assert_eq!(rig.steps().await[..4], wanted);
    assert_eq!(rig.steps().await[4..], ["system answered"]);
}

#[tokio::test]
async fn that_an_earlier_answer_failed_says_nothing_of_the_one_behind_it() {
    let mut rig = Rig::fresh_with_codex().await;
    let operator = rig.connect(Role::Deck, None, true);
    let id = rig.codex_asks("3", "T/call_1").await;
    let first = rig.ask(&operator, answer(&id, "accept", None));
    rig.settle().await;
    let Ok(CodexRequest::AnswerApproval { reply, .. }) = rig.requests.try_recv() else {
        panic!("nothing was sent");
    };
    assert_eq!(rig.codex_asks("3", "T/call_1").await, id);
    assert_eq!(rig.answer(&operator, &id, "decline", None).await, Ok(()));
    drop(reply);
    first.await.unwrap().unwrap_err();
    rig.pump().await;
    assert_eq!(rig.given(&id).as_deref(), Some("decline it"));
}

#[tokio::test]
async fn a_refusal_with_a_reason_is_a_message_that_joins_the_turn() {
    let mut rig = Rig::fresh_with_codex().await;
    let operator = rig.connect(Role::Deck, None, true);
    let id = rig.codex_asks("3", "T/call_1").await;
    let given = rig
        .answer(&operator, &id, "decline", Some("use the lock"))
        .await;
    assert_eq!(given, Ok(()));
    rig.pump().await;
    let world = rig.daemon.base.recorder.world();
    let told: Vec<_> = world.unsettled.values().collect();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].to, Agent::Codex);
    let message = rig.daemon.base.recorder.stored(told[0].seq).unwrap();
    let text = &message.entry.content;
    assert!(text.contains("touch made.txt") && text.contains("use the lock"));
}

#[tokio::test]
async fn a_reason_is_not_told_with_an_answer_that_came_too_late() {
    let mut rig = Rig::fresh_with_codex().await;
    let operator = rig.connect(Role::Deck, None, true);
    let id = rig.codex_asks("3", "T/call_1").await;
    let late = rig.ask(&operator, answer(&id, "decline", Some("use the lock")));
    rig.settle().await;
    let Ok(CodexRequest::AnswerApproval { reply, .. }) = rig.requests.try_recv() else {
        panic!("nothing was sent");
    };
    reply.send(Err("it waits no longer".to_owned())).unwrap();
    let refused = late.await.unwrap().unwrap_err();
    assert_eq!(refused.code, RefusalCode::CodexRefused);
    rig.pump().await;
    let waits = &rig.daemon.base.recorder.world().unsettled;
    assert!(
        waits.is_empty(),
        "codex hears that it was forbidden: {waits:?}"
    );
}

#[tokio::test]
async fn what_was_asked_is_gone_with_the_app_server_and_waits_on_in_a_cleared_session() {
    let mut rig = Rig::fresh_with_codex().await;
    let operator = rig.connect(Role::Deck, None, true);
    let id = rig.codex_asks("3", "T/call_1").await;
    let clear = Command::Clear(Default::default());
    rig.call(&operator, clear).await.unwrap();
    assert_eq!(rig.steps().await, ["codex asked"]);
    assert_eq!(rig.answer(&operator, &id, "accept", None).await, Ok(()));
    rig.fact(CodexFact::ServerLost {
        why: "killed".to_owned(),
        gave_up: false,
    });
    rig.settle().await;
    assert_eq!(rig.open(), 0);
    assert_eq!(rig.steps().await.last().unwrap(), "system lost");
    let kinds = [ApprovalStep::Ended(crate::core::entry::ApprovalEnd::Lost)];
    assert_eq!(kinds[0].as_str(), "lost");
}

const CLAUDE: u32 = 4_000_000;

impl Rig {
    fn claude_asks(
        &mut self,
        hook: &Guest,
        key: &str,
    ) -> oneshot::Receiver<Result<Reply, Refusal>> {
        self.claude_asks_since(hook, key, None)
    }

    /// The hook has been asking for so long.
    fn claude_asks_since(
        &mut self,
        hook: &Guest,
        key: &str,
        asked_ago_ms: Option<u64>,
    ) -> oneshot::Receiver<Result<Reply, Refusal>> {
        let ask = Command::AskApproval(AskApprovalParams {
            request: request(key),
            details: String::new(),
            claude_pid: Some(CLAUDE),
            tool_use: Some("touch".to_owned()),
            asked_ago_ms,
        });
        self.ask(hook, ask)
    }

    async fn claude_hook(&mut self, event: &str, tool_use: Option<&str>) {
        let hook = self.connect(Role::Hook, Some(CLAUDE), false);
        let params = HookParams {
            event: event.into(),
            claude_pid: Some(CLAUDE),
            tool_use: tool_use.map(str::to_owned),
            ..HookParams::default()
        };
        self.call(&hook, Command::Hook(params)).await.unwrap();
        self.daemon.disconnect(hook.conn);
        self.settle().await;
    }

    fn only_open(&self) -> EntryId {
        let open = &self.daemon.base.recorder.world().open_approvals;
        assert_eq!(open.len(), 1);
        open.keys().next().unwrap().clone()
    }
}

#[tokio::test]
async fn claude_is_answered_by_its_hook_and_what_it_does_next_ends_the_request() {
    let mut rig = Rig::fresh().await;
    let operator = rig.connect(Role::Deck, None, true);
    let hook = rig.connect(Role::Hook, Some(CLAUDE), false);
    let mut waiting = rig.claude_asks(&hook, "k1");
    rig.settle().await;
    assert!(waiting.try_recv().is_err());
    let id = rig.only_open();
    let note = Some("use the lock");
    assert_eq!(rig.answer(&operator, &id, "decline", note).await, Ok(()));
    let answer = ApprovalAnswer {
        choice: "decline".to_owned(),
        note: note.map(str::to_owned),
    };
    assert_eq!(waiting.await.unwrap(), Ok(Reply::Approval(Some(answer))));
    // The hook prints it and is gone, which says nothing about whether it counted.
    rig.daemon.disconnect(hook.conn);
    rig.settle().await;
    assert_eq!(rig.only_open(), id);
    // The reason went with the answer.
    assert!(rig.daemon.base.recorder.world().unsettled.is_empty());
    rig.claude_hook("PostToolUse", Some("another tool")).await;
    assert_eq!(rig.open(), 0);
    assert_eq!(
        rig.steps().await,
        ["claude asked", "human given", "system answered"]
    );
}

#[tokio::test]
async fn an_answer_for_which_no_hook_of_claudes_waits_is_refused_with_where_to_look() {
    let mut rig = Rig::fresh().await;
    let operator = rig.connect(Role::Deck, None, true);
    let hook = rig.connect(Role::Hook, Some(CLAUDE), false);
    let waiting = rig.claude_asks(&hook, "k1");
    rig.settle().await;
    let id = rig.only_open();
    assert_eq!(rig.answer(&operator, &id, "accept", None).await, Ok(()));
    waiting.await.unwrap().unwrap();
    // Its effect is not known yet.
    assert_eq!(
        rig.answer(&operator, &id, "decline", None).await,
        Err(RefusalCode::InFlight)
    );
    rig.claude_hook("PostToolUse", Some("touch")).await;

    let hook = rig.connect(Role::Hook, Some(CLAUDE), false);
    let _waiting = rig.claude_asks(&hook, "k2");
    rig.settle().await;
    let id = rig.only_open();
    // Claude was answered in its own dialog, and the record does not have that yet.
    rig.daemon.disconnect(hook.conn);
    let refused = rig.ask(&operator, answer(&id, "accept", None));
    rig.settle().await;
    let refusal = refused.await.unwrap().unwrap_err();
    assert_eq!(refusal.code, RefusalCode::NotFound);
    let told = format!("{} {}", refusal.message, refusal.hint);
    assert!(told.contains("Claude") && !told.contains("Codex"), "{told}");
}

#[tokio::test]
async fn a_yes_to_what_claude_has_changed_since_is_on_record_as_not_passed_on() {
    let mut rig = Rig::fresh().await;
    let operator = rig.connect(Role::Deck, None, true);
    let hook = rig.connect(Role::Hook, Some(CLAUDE), false);
    let waiting = rig.claude_asks(&hook, "k1");
    rig.settle().await;
    let id = rig.only_open();
    assert_eq!(rig.answer(&operator, &id, "accept", None).await, Ok(()));
    waiting.await.unwrap().unwrap();
    // As its hook does with a plan whose file is another one by now.
    let again = Command::AskApproval(AskApprovalParams {
        request: request("k1"),
        details: "2. Drop it.".to_owned(),
        claude_pid: Some(CLAUDE),
        tool_use: Some("touch".to_owned()),
        asked_ago_ms: None,
    });
    let mut waiting = rig.ask(&hook, again);
    rig.settle().await;
    assert!(waiting.try_recv().is_err());
    assert_ne!(rig.only_open(), id);
    assert_eq!(
        rig.steps().await,
        ["claude asked", "human given", "system lost", "claude asked"]
    );
    let place = rig.daemon.base.recorder.world().seq.0;
    let stored = (1..=place).filter_map(|seq| rig.daemon.base.recorder.stored(Seq(seq)));
    let mut told = stored.filter(|stored| match &stored.entry.kind {
        EntryKind::Approval(record) => record.step.as_str() == "lost",
        _ => false,
    });
    let told = told.next().unwrap().entry.content.clone();
    assert!(told.contains("not passed on"), "{told}");
    assert!(told.ends_with("accept it"), "{told}");
}

/// A yes in Claude's own dialog does not end the hook. One that was slow, or whose daemon has changed
/// its process, asks behind what shows that Claude goes on.
#[tokio::test]
async fn a_hook_that_asks_behind_what_shows_claude_going_on_is_sent_away() {
    let mut rig = Rig::fresh().await;
    let _operator = rig.connect(Role::Deck, None, true);
    let _bridge = rig.connect(Role::Claude, Some(CLAUDE), false);
    let state = |rig: &Rig| rig.daemon.status().agents.claude.state;
    for (event, tool_use, is) in [
        ("PostToolUse", Some("touch"), AgentState::Busy),
        ("Stop", None, AgentState::Idle),
    ] {
        rig.claude_hook("UserPromptSubmit", None).await;
        // The use of another tool tells nothing of it.
        rig.claude_hook("PostToolUse", Some("rm")).await;
        rig.daemon.base.clock.pass(1_000);
        // A clock that is set moves none of these times.
        rig.daemon.base.clock.set_wall(-300_000);
        rig.daemon.base.clock.catch_up();
        let hook = rig.connect(Role::Hook, Some(CLAUDE), false);
        let waiting = rig.claude_asks_since(&hook, "k1", Some(500));
        rig.settle().await;
        assert_eq!((rig.open(), state(&rig)), (1, AgentState::Waiting));
        rig.claude_hook(event, tool_use).await;
        assert_eq!((rig.open(), state(&rig)), (0, is));
        drop(waiting);
        rig.daemon.base.clock.pass(1_000);
        let told = HookParams {
            event: HookEvent::PermissionRequest,
            claude_pid: Some(CLAUDE),
            tool_use: Some("touch".to_owned()),
            asked_ago_ms: Some(5_000),
            ..HookParams::default()
        };
        rig.call(&hook, Command::Hook(told)).await.unwrap();
        rig.settle().await;
        assert_eq!((rig.open(), state(&rig)), (0, is));
        let again = rig.claude_asks_since(&hook, "k1", Some(5_000));
        rig.settle().await;
        let answer = again.await.unwrap().unwrap();
        assert!(matches!(answer, Reply::Approval(None)), "{answer:?}");
        assert_eq!((rig.open(), state(&rig)), (0, is));
        rig.daemon.disconnect(hook.conn);
        // The next question is one.
        let hook = rig.connect(Role::Hook, Some(CLAUDE), false);
        let _waiting = rig.claude_asks_since(&hook, "k2", Some(500));
        rig.settle().await;
        assert_eq!(rig.open(), 1);
        rig.claude_hook("Stop", None).await;
        assert_eq!(rig.open(), 0);
        rig.daemon.disconnect(hook.conn);
        rig.settle().await;
    }
}

#[tokio::test]
async fn an_answer_that_stops_the_turn_ends_with_its_hook_and_leaves_claude_idle() {
    let mut rig = Rig::fresh().await;
    let operator = rig.connect(Role::Deck, None, true);
    let _bridge = rig.connect(Role::Claude, Some(CLAUDE), false);
    rig.claude_hook("UserPromptSubmit", None).await;
    rig.claude_hook("PermissionRequest", None).await;
    let state = |rig: &Rig| rig.daemon.status().agents.claude.state;
    for (choice, left, is) in [
        // It has the answer: the tool that was allowed may run for long.
        ("accept", 1, AgentState::Busy),
        ("decline", 1, AgentState::Busy),
        ("stop", 0, AgentState::Idle),
    ] {
        let hook = rig.connect(Role::Hook, Some(CLAUDE), false);
        let waiting = rig.claude_asks(&hook, choice);
        rig.settle().await;
        let open = &rig.daemon.base.recorder.world().open_approvals;
        let asked = open.values().find(|asked| asked.request.key == choice);
        let id = asked.unwrap().id.clone();
        assert_eq!(rig.answer(&operator, &id, choice, None).await, Ok(()));
        waiting.await.unwrap().unwrap();
        assert_eq!(state(&rig), AgentState::Waiting);
        // No hook of Claude's runs behind it.
        rig.daemon.disconnect(hook.conn);
        rig.settle().await;
        assert_eq!((rig.open(), state(&rig)), (left, is), "{choice}");
        // One that asks again goes on, and ends what it asked before.
        rig.claude_hook("PermissionRequest", None).await;
        assert_eq!(rig.open(), 0);
    }
}

#[tokio::test]
async fn esc_in_claudes_own_dialog_leaves_it_idle_and_the_end_of_the_hooks_time_leaves_the_dialog()
{
    for (passed_s, is) in [(5, AgentState::Idle), (3_600, AgentState::Waiting)] {
        let mut rig = Rig::fresh().await;
        let _operator = rig.connect(Role::Deck, None, true);
        let _bridge = rig.connect(Role::Claude, Some(CLAUDE), false);
        rig.claude_hook("UserPromptSubmit", None).await;
        rig.claude_hook("PermissionRequest", None).await;
        let hook = rig.connect(Role::Hook, Some(CLAUDE), false);
        let _waiting = rig.claude_asks(&hook, "k1");
        rig.settle().await;
        rig.daemon.base.clock.pass(passed_s * 1_000);
        rig.daemon.disconnect(hook.conn);
        rig.settle().await;
        let state = rig.daemon.status().agents.claude.state;
        assert_eq!((rig.open(), state), (0, is), "after {passed_s} s");
        let end = match is {
            AgentState::Idle => ("system answered", "Claude was answered in its own terminal"),
            _ => (
                "system lost",
                "nobody answered here in time; Claude's own dialog waits on",
            ),
        };
        let (step, said) = rig.folded_steps().pop().unwrap();
        assert_eq!((step.as_str(), said.as_str()), end);
    }
}

#[tokio::test]
async fn where_claude_waits_for_a_prompt_no_answer_waits_for_its_effect() {
    let mut rig = Rig::fresh().await;
    let operator = rig.connect(Role::Deck, None, true);
    let hook = rig.connect(Role::Hook, Some(CLAUDE), false);
    let _waiting = rig.claude_asks(&hook, "k1");
    rig.settle().await;
    let id = rig.only_open();
    assert_eq!(rig.answer(&operator, &id, "decline", None).await, Ok(()));
    for (detail, left) in [("permission_prompt", 1), ("idle_prompt", 0)] {
        let params = HookParams {
            event: "Notification".into(),
            claude_pid: Some(CLAUDE),
            detail: Some(detail.to_owned()),
            ..HookParams::default()
        };
        rig.call(&hook, Command::Hook(params)).await.unwrap();
        rig.settle().await;
        assert_eq!(rig.open(), left, "{detail}");
    }
}

#[tokio::test]
async fn what_claudes_own_dialog_decided_ends_the_request_here() {
    for (event, tool_use, ends) in [
        ("PostToolUse", Some("touch"), true),
        ("PostToolUse", Some("another tool"), false),
        ("Notification", None, false),
        ("Stop", None, true),
        ("UserPromptSubmit", None, true),
        ("PermissionRequest", None, true),
    ] {
        let mut rig = Rig::fresh().await;
        let _operator = rig.connect(Role::Deck, None, true);
        let hook = rig.connect(Role::Hook, Some(CLAUDE), false);
        let waiting = rig.claude_asks(&hook, "k1");
        rig.settle().await;
        rig.claude_hook(event, tool_use).await;
        assert_eq!(rig.open() == 0, ends, "{event} {tool_use:?}");
        if ends {
            // The hook hears that nobody answers it any more.
            assert!(waiting.await.is_err());
        }
        // Pressing Esc or No ends the hook.
        rig.daemon.disconnect(hook.conn);
        rig.settle().await;
        assert_eq!(rig.open(), 0);
        assert_eq!(rig.steps().await, ["claude asked", "system answered"]);
    }
}

#[tokio::test]
async fn where_nobody_looks_claude_is_not_kept_waiting() {
    let mut rig = Rig::fresh().await;
    let _reader = rig.connect(Role::Deck, None, false);
    let hook = rig.connect(Role::Hook, Some(CLAUDE), false);
    let waiting = rig.claude_asks(&hook, "k1");
    assert_eq!(waiting.await.unwrap(), Ok(Reply::Approval(None)));
    assert!(rig.steps().await.is_empty());
}

#[tokio::test]
async fn a_hook_that_asks_again_on_another_connection_is_answered_there() {
    let mut rig = Rig::fresh().await;
    let operator = rig.connect(Role::Deck, None, true);
    let hook = rig.connect(Role::Hook, Some(CLAUDE), false);
    let _before = rig.claude_asks(&hook, "k1");
    let again = rig.connect(Role::Hook, Some(CLAUDE), false);
    let waiting = rig.claude_asks(&again, "k1");
    rig.daemon.disconnect(hook.conn);
    rig.settle().await;
    let id = rig.only_open();
    assert_eq!(rig.answer(&operator, &id, "accept", None).await, Ok(()));
    let Ok(Reply::Approval(Some(answer))) = waiting.await.unwrap() else {
        panic!("no answer");
    };
    assert_eq!(answer.choice, "accept");
    assert_eq!(rig.steps().await, ["claude asked", "human given"]);
}

#[tokio::test]
async fn a_hook_that_asks_the_next_daemon_shows_that_claude_waits_whoever_comes_first() {
    let state = |rig: &Rig| rig.daemon.status().agents.claude.state;
    for hook_is_first in [true, false] {
        let place = Place::new();
        let mut before = Rig::start(&place).await;
        let _bridge = before.connect(Role::Claude, Some(CLAUDE), false);
        before.claude_hook("UserPromptSubmit", None).await;
        before.claude_hook("PermissionRequest", None).await;
        assert_eq!(state(&before), AgentState::Waiting);
        // It dies.
        drop(before);
        let mut rig = Rig::start(&place).await;
        let _operator = rig.connect(Role::Deck, None, true);
        let bridge = |rig: &mut Rig| rig.connect(Role::Claude, Some(CLAUDE), false);
        let early = (!hook_is_first).then(|| bridge(&mut rig));
        let hook = rig.connect(Role::Hook, Some(CLAUDE), false);
        let _waiting = rig.claude_asks(&hook, "k1");
        rig.settle().await;
        let _bridge = early.unwrap_or_else(|| bridge(&mut rig));
        rig.settle().await;
        assert_eq!(state(&rig), AgentState::Waiting, "{hook_is_first}");
        // Esc in the dialog: behind it no hook tells of the turn's end.
        rig.daemon.disconnect(hook.conn);
        let params = HookParams {
            event: "Notification".into(),
            claude_pid: Some(CLAUDE),
            detail: Some("idle_prompt".to_owned()),
            ..HookParams::default()
        };
        let hook = rig.connect(Role::Hook, Some(CLAUDE), false);
        rig.call(&hook, Command::Hook(params)).await.unwrap();
        assert_eq!(state(&rig), AgentState::Idle);
    }
}

#[tokio::test]
async fn only_a_hook_asks_for_claude() {
    let mut rig = Rig::fresh().await;
    let operator = rig.connect(Role::Deck, None, true);
    let refused = rig.claude_asks(&operator, "k1").await.unwrap();
    assert_eq!(refused.unwrap_err().code, RefusalCode::WrongRole);
}

#[tokio::test]
async fn an_answer_to_a_hook_that_is_just_gone_reaches_nobody_and_ends_the_request() {
    let mut rig = Rig::fresh().await;
    let operator = rig.connect(Role::Deck, None, true);
    let _bridge = rig.connect(Role::Claude, Some(CLAUDE), false);
    rig.claude_hook("UserPromptSubmit", None).await;
    let hook = rig.connect(Role::Hook, Some(CLAUDE), false);
    let waiting = rig.claude_asks(&hook, "k1");
    rig.settle().await;
    let id = rig.only_open();
    // Esc in Claude's dialog; that the connection ended is not told yet.
    drop(waiting);
    let late = rig.answer(&operator, &id, "accept", None).await;
    assert_eq!(late, Err(RefusalCode::NotFound));
    rig.daemon.disconnect(hook.conn);
    rig.settle().await;
    assert_eq!(rig.open(), 0);
    // Esc has stopped the turn.
    let state = rig.daemon.status().agents.claude.state;
    assert_eq!(state, AgentState::Idle);
    let wanted = ["claude asked", "human given", "system answered"];
    assert_eq!(rig.steps().await, wanted);
}

#[tokio::test]
async fn an_answer_whose_hook_leaves_while_it_is_recorded_says_where_it_was_answered() {
    let mut rig = Rig::fresh().await;
    let operator = rig.connect(Role::Deck, None, true);
    let hook = rig.connect(Role::Hook, Some(CLAUDE), false);
    let _waiting = rig.claude_asks(&hook, "k1");
    rig.settle().await;
    let accept = answer(&rig.only_open(), "accept", None);
    let answered = rig.ask_only(&operator, accept);
    rig.daemon.disconnect(hook.conn);
    rig.settle().await;
    let refused = answered.await.unwrap().unwrap_err();
    assert_eq!(refused.code, RefusalCode::NotFound);
    assert!(
        refused.hint.contains("in Claude's own terminal"),
        "{refused:?}"
    );
    assert_eq!(rig.open(), 0);
    let wanted = ["claude asked", "human given", "system answered"];
    assert_eq!(rig.steps().await, wanted);
}

#[tokio::test]
async fn a_hundred_requests_at_once_are_each_answered_as_it_was_meant() {
    let mut rig = Rig::fresh_with_codex().await;
    let operator = rig.connect(Role::Deck, None, true);
    for n in 0..100 {
        rig.fact(CodexFact::ApprovalAsked {
            request_id: n.to_string(),
            request: Box::new(request(&format!("key-{n}"))),
            details: String::new(),
        });
    }
    rig.status(WAITING);
    rig.settle().await;
    assert_eq!(rig.open(), 100);
    assert_eq!(rig.daemon.status().approvals.pending, 100);
    let open = rig.daemon.base.recorder.world().open_approvals.values();
    let ids: Vec<(EntryId, String)> = open
        .map(|asked| (asked.id.clone(), asked.request.key.clone()))
        .collect();
    let choice_of = |key: &str| match key.ends_with('7') {
        true => "accept",
        false => "decline",
    };
    let mut sent = std::collections::BTreeMap::new();
    let mut left: Vec<&(EntryId, String)> = ids.iter().collect();
    for _round in 0..10 {
        // All of them, before any is done: what the adapter has no room for is refused, not lost.
        let mut waiting = Vec::new();
        for (id, key) in &left {
            waiting.push(rig.ask(&operator, answer(id, choice_of(key), None)));
        }
        rig.settle().await;
        while let Ok(request) = rig.requests.try_recv() {
            if let CodexRequest::AnswerApproval {
                request_id,
                choice,
                reply,
            } = request
            {
                reply.send(Ok(())).unwrap();
                assert!(sent.insert(format!("key-{request_id}"), choice).is_none());
            }
        }
        let mut again = Vec::new();
        for (waiting, asked) in waiting.into_iter().zip(left) {
            match waiting.await.unwrap() {
                Ok(Reply::Recorded(_)) => {}
                Err(refusal) if refusal.code == RefusalCode::CodexUnavailable => again.push(asked),
                other => panic!("{other:?}"),
            }
        }
        left = again;
    }
    assert!(left.is_empty());
    let meant = ids
        .iter()
        .map(|(_, key)| (key.clone(), choice_of(key).to_owned()));
    assert_eq!(sent, meant.collect());
    for n in 0..100 {
        let request_id = n.to_string();
        rig.fact(CodexFact::ApprovalResolved { request_id });
    }
    rig.settle().await;
    assert_eq!(rig.open(), 0);
}

#[tokio::test]
async fn a_deck_that_is_killed_answers_nothing_and_the_next_one_may() {
    let mut rig = Rig::fresh_with_codex().await;
    let killed = rig.connect(Role::Deck, None, true);
    let hook = rig.connect(Role::Hook, Some(CLAUDE), false);
    let mut of_claude = rig.claude_asks(&hook, "k1");
    let of_codex = rig.codex_asks("3", "k2").await;
    rig.daemon.disconnect(killed.conn);
    rig.settle().await;
    assert_eq!(rig.open(), 2);
    assert!(of_claude.try_recv().is_err());
    assert!(rig.requests.try_recv().is_err(), "nothing was answered");
    let next = rig.connect(Role::Deck, None, true);
    assert_eq!(rig.answer(&next, &of_codex, "accept", None).await, Ok(()));
    let open = &rig.daemon.base.recorder.world().open_approvals;
    let of_hook = open.keys().find(|id| **id != of_codex).unwrap().clone();
    assert_eq!(rig.answer(&next, &of_hook, "decline", None).await, Ok(()));
    assert!(matches!(
        of_claude.await,
        Ok(Ok(Reply::Approval(Some(given)))) if given.choice == "decline"
    ));
}

#[tokio::test]
async fn a_request_names_the_files_that_the_other_agent_just_wrote() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let _operator = rig.connect(Role::Deck, None, true);
    let below = |path: &str| place.dirs.root.join(path).to_string_lossy().into_owned();
    // Claude writes one file and reads another, in a turn that runs on.
    for (tool, path) in [("Edit", "src/lib.rs"), ("Read", "README.md")] {
        let hook = rig.connect(Role::Hook, Some(CLAUDE), false);
        let params = HookParams {
            event: "PostToolUse".into(),
            claude_pid: Some(CLAUDE),
            tool: Some(tool.to_owned()),
            path: Some(below(path)),
            ..HookParams::default()
        };
        rig.call(&hook, Command::Hook(params)).await.unwrap();
        rig.daemon.disconnect(hook.conn);
    }
    let asks = |key: &str, subject: &str| ApprovalRequest {
        subject: subject.to_owned(),
        cwd: Some(place.dirs.root.to_string_lossy().into_owned()),
        ..request(key)
    };
    rig.fact(CodexFact::ApprovalAsked {
        request_id: "3".to_owned(),
        request: Box::new(asks("k1", "sed -i s/a/b/ src/lib.rs README.md")),
        details: String::new(),
    });
    rig.settle().await;
    let world = rig.daemon.base.recorder.world();
    let asked = world.open_approvals.values().next().unwrap();
    assert_eq!(asked.request.peer_files, ["src/lib.rs"]);

    // And the other way round.
    rig.fact(CodexFact::FilesWritten {
        paths: vec![below("src/main.rs")],
    });
    let hook = rig.connect(Role::Hook, Some(CLAUDE), false);
    let ask = Command::AskApproval(AskApprovalParams {
        request: asks("k2", "git checkout -- src/main.rs src/lib.rs"),
        details: String::new(),
        claude_pid: Some(CLAUDE),
        tool_use: Some("t".to_owned()),
        asked_ago_ms: None,
    });
    let _waiting = rig.ask(&hook, ask);
    rig.settle().await;
    let mut open = rig.daemon.base.recorder.world().open_approvals.values();
    let asked = open.find(|asked| asked.agent == Agent::Claude).unwrap();
    assert_eq!(asked.request.peer_files, [below("src/main.rs")]);
}

#[tokio::test]
async fn a_helper_thread_of_codexs_that_waits_is_counted_beside_what_is_recorded() {
    let mut rig = Rig::fresh_with_codex().await;
    let _operator = rig.connect(Role::Deck, None, true);
    let hook = rig.connect(Role::Hook, Some(CLAUDE), false);
    let _waiting = rig.claude_asks(&hook, "k1");
    rig.settle().await;
    for (helpers, pending) in [(1, 2), (0, 1)] {
        let count = 0;
        rig.fact(CodexFact::ApprovalsPending { count, helpers });
        let approvals = rig.daemon.status().approvals;
        assert_eq!((approvals.pending, approvals.elsewhere), (pending, helpers));
    }
    assert!(rig.requests.try_recv().is_err(), "nothing was answered");
}

#[tokio::test]
async fn a_claude_whose_hook_has_the_answer_goes_on_at_the_next_process() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let operator = rig.connect(Role::Deck, None, true);
    let _bridge = rig.connect(Role::Claude, Some(CLAUDE), false);
    rig.claude_hook("UserPromptSubmit", None).await;
    let hook = rig.connect(Role::Hook, Some(CLAUDE), false);
    let waiting = rig.claude_asks(&hook, "k1");
    rig.settle().await;
    let state = rig.daemon.status().agents.claude.state;
    assert_eq!(state, AgentState::Waiting);
    let id = rig.only_open();
    assert_eq!(rig.answer(&operator, &id, "accept", None).await, Ok(()));
    waiting.await.unwrap().unwrap();
    // It has not left yet.
    let known = rig.leave().await;
    let left = serde_json::to_value(&known.loop_state.known.claudes.pairs).unwrap();
    assert_eq!(left[0]["claude"]["state"], "busy");
}
