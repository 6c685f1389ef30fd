//! What is bounded: a flood costs whoever causes it, and the refusal says which bound it met.

use tokio::sync::oneshot;

use super::approvals::request;
use super::commands::{acked, wait_messages};
use super::compact::note;
use super::rig::Rig;
use crate::adapters::codex::fact::CodexFact;
use crate::core::agent::{Agent, Party};
use crate::core::delivery::OnBusy;
use crate::core::entry::{Artifact, ArtifactStatus, EntryKind, NoteKind};
use crate::core::id::Seq;
use crate::core::snapshot::APPROVALS_OPEN_MAX;
use crate::daemon::attach::{CLIENTS_MAX, ConnId, OPERATORS_MAX};
use crate::daemon::base::clients::{ACK_WAITERS_MAX, WAITERS_MAX};
use crate::daemon::commands::checks::STANDING_MAX;
use crate::daemon::event::Event;
use crate::daemon::handle::EVENTS_MAX;
use crate::wire::control::{
    ArtifactParams, AskApprovalParams, AskUserParams, Command, NoteParams, Refusal, RefusalCode,
    Reply, Role, SendParams,
};

/// For an answer that does not come: what the record begins with is no question.
fn wait(rig: &Rig) -> Command {
    let first = rig.daemon.base.recorder.stored(Seq(1)).unwrap();
    wait_messages(Agent::Codex, Some(first.entry.id.clone()), 10_000)
}

fn answered(answer: &mut oneshot::Receiver<Result<Reply, Refusal>>) -> Result<Reply, Refusal> {
    answer.try_recv().expect("an answer at once")
}

#[tokio::test]
async fn what_is_due_waits_for_no_flood_of_events() {
    let mut rig = Rig::fresh().await;
    let codex = rig.connect(Role::Codex, None, false);
    let waits = wait(&rig);
    let mut waits = rig.ask(&codex, waits);
    // It is due, and the queue is full before the loop looks, and never empty after it.
    rig.daemon.base.clients.make_due(|_| true);
    let (looping, events) = rig.run();
    let flood = || Event::PingAnswered {
        conn: ConnId::next(),
    };
    for _ in 0..EVENTS_MAX {
        events.try_send(flood()).unwrap();
    }
    let mut behind = 0;
    let page = loop {
        match waits.try_recv() {
            Ok(Ok(Reply::Messages(page))) => break page,
            Ok(answer) => panic!("{answer:?}"),
            Err(_) if behind < 10 * EVENTS_MAX => behind += 1,
            Err(_) => panic!("the flood goes first for ever"),
        }
        events.send(flood()).await.unwrap();
    };
    assert!(page.timed_out);
    events.send(Event::Shutdown { kill: false }).await.unwrap();
    looping.await.unwrap();
}

#[tokio::test]
async fn clients_beyond_the_bound_are_refused_and_the_operator_still_comes_in() {
    let mut rig = Rig::fresh().await;
    let mut guests: Vec<_> = (0..CLIENTS_MAX)
        .map(|_| rig.connect(Role::Cli, None, false))
        .collect();
    let refused = rig.try_connect(Role::Codex, false).unwrap_err();
    assert_eq!(refused.code, RefusalCode::TooManyClients);
    assert!(refused.message.contains(&CLIENTS_MAX.to_string()));
    let operators: Vec<_> = (0..OPERATORS_MAX)
        .map(|_| rig.connect(Role::Deck, None, true))
        .collect();
    let refused = rig.try_connect(Role::Deck, true).unwrap_err();
    assert_eq!(refused.code, RefusalCode::TooManyClients);
    assert!(refused.message.contains(&OPERATORS_MAX.to_string()));
    // Whoever leaves makes room.
    rig.daemon.disconnect(guests.pop().unwrap().conn);
    rig.try_connect(Role::Codex, false).unwrap();
    rig.daemon.disconnect(operators[0].conn);
    rig.try_connect(Role::Deck, true).unwrap();
}

#[tokio::test]
async fn calls_that_wait_are_bounded_and_a_sender_is_answered_in_spite_of_them() {
    let mut rig = Rig::fresh_with_codex().await;
    let codex = rig.connect(Role::Codex, None, false);
    let claude = rig.connect(Role::Claude, None, false);
    let wait = wait(&rig);
    let mut waiting: Vec<_> = (0..WAITERS_MAX)
        .map(|_| rig.ask(&codex, wait.clone()))
        .collect();
    let refused = answered(&mut rig.ask(&codex, wait.clone())).unwrap_err();
    assert_eq!(refused.code, RefusalCode::TooManyWaiters);
    assert!(refused.message.contains(&WAITERS_MAX.to_string()));
    let send = Command::Send(SendParams {
        from: Some(Agent::Claude),
        text: "please look".to_owned(),
        ..SendParams::default()
    });
    let Ok(Reply::Sent(sent)) = rig.call(&claude, send).await else {
        panic!("not sent");
    };
    assert!(
        rig.daemon
            .base
            .recorder
            .world()
            .unsettled
            .contains_key(&sent.message_id)
    );
    // Whoever gave up makes room.
    waiting.pop();
    let mut more = rig.ask(&codex, wait);
    assert!(more.try_recv().is_err(), "it waits");
}

#[tokio::test]
async fn one_blocker_note_too_many_is_refused_to_an_agent_and_pushes_none_out() {
    let mut rig = Rig::fresh().await;
    let claude = rig.connect(Role::Claude, None, false);
    let recorder = &mut rig.daemon.base.recorder;
    let codex = || Party::Agent(Agent::Codex);
    let blocker = || recorder.entry(codex(), None, NoteKind::Blocker, "no key", None);
    let blockers = std::iter::repeat_with(blocker).take(STANDING_MAX).collect();
    recorder.append(blockers, Box::new(|_, _| {}));
    rig.settle().await;
    let standing = |rig: &Rig| rig.daemon.base.recorder.world().open_blockers.clone();
    let before = standing(&rig);
    let more = || note(NoteKind::Blocker, "no room", Vec::new());
    let refused = rig.call(&claude, more()).await.unwrap_err();
    assert_eq!(refused.code, RefusalCode::Overloaded);
    assert!(refused.message.contains(&STANDING_MAX.to_string()));
    assert_eq!(standing(&rig), before);
    // The person may say what they like, and whoever lifts one makes room.
    let of_operator = Command::AppendNote(NoteParams::new(None, NoteKind::Blocker, "stop"));
    let operator = rig.connect(Role::Deck, None, true);
    rig.call(&operator, of_operator).await.unwrap();
    let over = before.iter().take(2).map(|note| note.id.clone()).collect();
    let lift = note(NoteKind::Done, "there is one", over);
    rig.call(&claude, lift).await.unwrap();
    rig.call(&claude, more()).await.unwrap();
    assert_eq!(standing(&rig).len(), STANDING_MAX);
}

#[tokio::test]
async fn one_failure_too_many_is_refused_until_an_earlier_one_is_taken_back() {
    let mut rig = Rig::fresh().await;
    let codex = rig.connect(Role::Codex, None, false);
    let recorder = &mut rig.daemon.base.recorder;
    let failed = |n| {
        let claim = EntryKind::Artifact(Artifact {
            kind: "test".into(),
            title: format!("unit {n}"),
            status: ArtifactStatus::Failed,
            ..Artifact::default()
        });
        recorder.entry(Agent::Codex.into(), None, claim, "", None)
    };
    let failures = (0..STANDING_MAX).map(failed).collect();
    recorder.append(failures, Box::new(|_, _| {}));
    rig.settle().await;
    let result = |n: usize, status| {
        Command::RecordArtifact(ArtifactParams {
            agent: Agent::Codex,
            kind: "test".to_owned(),
            title: format!("unit {n}"),
            summary: String::new(),
            status,
            evidence: Vec::new(),
            runtime_session_id: None,
        })
    };
    let more = || result(STANDING_MAX, ArtifactStatus::Blocked);
    let refused = rig.call(&codex, more()).await.unwrap_err();
    assert_eq!(refused.code, RefusalCode::Overloaded);
    let standing = |rig: &Rig| rig.daemon.base.recorder.world().failed_artifacts().count();
    assert_eq!(standing(&rig), STANDING_MAX);
    // One that fails again is no further one.
    rig.call(&codex, result(0, ArtifactStatus::Failed))
        .await
        .unwrap();
    assert_eq!(standing(&rig), STANDING_MAX);
    rig.call(&codex, result(0, ArtifactStatus::Passed))
        .await
        .unwrap();
    rig.call(&codex, more()).await.unwrap();
    assert_eq!(standing(&rig), STANDING_MAX);
}

#[tokio::test]
async fn calls_that_wait_for_the_record_are_bounded_and_what_they_said_is_recorded() {
    let mut rig = Rig::fresh().await;
    let claude = rig.connect(Role::Claude, None, false);
    let codex = rig.connect(Role::Codex, None, false);
    let id = rig.send(&codex, Agent::Codex, OnBusy::Queue).await;
    let ack = || acked(Agent::Claude, vec![id.clone()]);
    let mut asked: Vec<_> = (0..ACK_WAITERS_MAX)
        .map(|_| rig.ask(&claude, ack()))
        .collect();
    let refused = answered(&mut rig.ask(&claude, ack())).unwrap_err();
    assert_eq!(refused.code, RefusalCode::TooManyWaiters);
    assert!(refused.message.contains(&ACK_WAITERS_MAX.to_string()));
    rig.settle().await;
    for answer in &mut asked {
        answered(answer).unwrap();
    }
    assert!(!rig.daemon.base.recorder.world().unsettled.contains_key(&id));
}

#[tokio::test]
async fn requests_beyond_the_bound_are_answered_where_their_agent_asks() {
    let mut rig = Rig::fresh_with_codex().await;
    let _deck = rig.connect(Role::Deck, None, true);
    let hook = rig.connect(Role::Hook, None, false);
    let codex = rig.connect(Role::Codex, None, false);
    let asks = |number: usize| CodexFact::ApprovalAsked {
        request_id: number.to_string(),
        request: Box::new(request(&format!("T/{number}"))),
        details: String::new(),
    };
    let over = |number: usize| CodexFact::ApprovalResolved {
        request_id: number.to_string(),
    };
    let open = |rig: &Rig| rig.daemon.base.recorder.world().open_approvals.len();
    for number in 0..=APPROVALS_OPEN_MAX {
        rig.fact(asks(number));
    }
    for is_recorded in [false, true] {
        if is_recorded {
            rig.settle().await;
        }
        assert_eq!(open(&rig), if is_recorded { APPROVALS_OPEN_MAX } else { 0 });
        let of_claude = Command::AskApproval(AskApprovalParams {
            request: request("c"),
            details: String::new(),
            claude_pid: None,
            tool_use: None,
            asked_ago_ms: None,
        });
        let told = answered(&mut rig.ask(&hook, of_claude));
        assert_eq!(told, Ok(Reply::Approval(None)), "its own dialog is open");
        let question = Command::AskUser(AskUserParams {
            agent: Agent::Codex,
            question: "May it go?".to_owned(),
            choices: Vec::new(),
            timeout_ms: 0,
            runtime_session_id: None,
        });
        let refused = answered(&mut rig.ask(&codex, question)).unwrap_err();
        assert_eq!(refused.code, RefusalCode::Overloaded);
    }
    // Nobody here knows the one that was too much.
    rig.fact(over(APPROVALS_OPEN_MAX));
    rig.settle().await;
    assert_eq!(open(&rig), APPROVALS_OPEN_MAX);
    // Whatever is answered makes room.
    rig.fact(over(0));
    rig.settle().await;
    assert_eq!(open(&rig), APPROVALS_OPEN_MAX - 1);
    rig.fact(asks(APPROVALS_OPEN_MAX));
    rig.settle().await;
    assert_eq!(open(&rig), APPROVALS_OPEN_MAX);
}
