//! Messages for Codex: none lost, none twice, the lane never stuck.

use tokio::sync::oneshot;

use super::commands::{change_queue, wait_messages};
use super::rig::Rig;
use super::unwritten::recover;
use crate::adapters::codex::fact::{CodexFact, ReportedStatus};
use crate::adapters::codex::request::CodexRequest;
use crate::core::agent::{Agent, AgentState};
use crate::core::delivery::{DeliveryState, OnBusy, Outcome};
use crate::core::entry::{EntryKind, ErrorCode, TurnStatus};
use crate::core::id::{EntryId, ThreadId, TurnId};
use crate::daemon::base::bounded_map::REMEMBERED_MAX;
use crate::daemon::base::clients::Wants;
use crate::store::testing::Place;
use crate::wire::codex::call::INPUT_CHARS_MAX;
use crate::wire::control::{
    Command, HandoffParams, IdsParams, QueueChange, Refusal, RefusalCode, Reply, Role, SendParams,
};
use crate::wire::status::NoticeKey;

#[tokio::test]
async fn a_compaction_is_told_as_begun_when_it_began_and_not_when_the_last_turn_ended() {
    let mut rig = Rig::fresh_with_codex().await;
    rig.user_message("turn-1", None);
    rig.completed("turn-1", &[], "done");
    rig.status(ReportedStatus::Idle);
    rig.settle().await;
    let minutes = 3 * 60_000;
    rig.daemon.base.clock.pass(minutes);
    let asked_ms = rig.daemon.base.clock.now_ms();
    rig.status(ReportedStatus::Active { waiting: false });
    rig.fact(CodexFact::CompactionBegan);
    rig.settle().await;
    let codex = rig.daemon.status().agents.codex;
    assert_eq!(codex.state, AgentState::Busy);
    assert!(codex.since >= Some(asked_ms), "{:?}", codex.since);
    rig.status(ReportedStatus::Idle);
    rig.settle().await;
    let codex = rig.daemon.status().agents.codex;
    assert_eq!(codex.state, AgentState::Idle);
    assert!(codex.since < Some(asked_ms), "as the record says");
}

#[tokio::test]
async fn a_message_that_a_waiting_turn_got_is_not_delivered_as_a_turn_too() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    let codex = rig.connect(Role::Codex, None, false);
    let waiting = rig.ask(&codex, wait_messages(Agent::Codex, None, 10_000));
    let id = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    let Ok(Reply::Messages(page)) = waiting.await.unwrap() else {
        panic!("no page");
    };
    assert_eq!(page.messages[0].message_id, id);
    // Between the page and the word that it arrived.
    rig.status(ReportedStatus::Idle);
    assert_eq!(rig.delivered_ids(), []);
    let fetched = IdsParams {
        agent: Agent::Codex,
        ids: vec![id],
        rung: None,
    };
    rig.call(&codex, Command::Fetched(fetched)).await.unwrap();
    rig.status(ReportedStatus::Idle);
    assert_eq!(rig.delivered_ids(), []);
    assert!(rig.daemon.base.recorder.world().unsettled.is_empty());
}

#[tokio::test]
async fn a_turn_that_waits_for_one_answer_holds_nothing_else_up() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    let codex = rig.connect(Role::Codex, None, false);
    let question = rig.send(&codex, Agent::Codex, OnBusy::Queue).await;
    let mut waiting = rig.ask(&codex, wait_messages(Agent::Codex, Some(question), 10_000));
    let other = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    assert_eq!(rig.delivered_ids(), [other]);
    assert!(waiting.try_recv().is_err());
}

#[tokio::test]
async fn what_the_operator_takes_back_is_not_sent_while_that_is_recorded() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    let operator = rig.connect(Role::Deck, None, true);
    let first = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    let second = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    assert_eq!(rig.delivered_ids(), std::slice::from_ref(&first));

    let remove = change_queue(second, QueueChange::Remove);
    let removed = rig.ask(&operator, remove.clone());
    // The lane becomes free before the record is durable.
    rig.user_message("turn-1", Some(&first));
    rig.status(ReportedStatus::Idle);
    let again = rig.ask(&operator, remove);
    assert_eq!(
        again.await.unwrap().unwrap_err().code,
        RefusalCode::InFlight
    );
    rig.settle().await;
    removed.await.unwrap().unwrap();
    assert_eq!(rig.delivered_ids(), []);
    assert!(rig.daemon.agents.codex.is_quiet());
}

#[tokio::test]
async fn of_a_message_that_codex_did_not_take_nothing_counts_as_given() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    let given = |rig: &Rig| {
        let codex = rig.daemon.status().agents.codex;
        codex.continuity.cost_today.unwrap().chars
    };
    let before = given(&rig);
    let id = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    assert_eq!(rig.delivered_ids(), std::slice::from_ref(&id));
    rig.fact(CodexFact::NotTaken {
        message_id: id.clone(),
        why: "codex is not installed".to_owned(),
    });
    let (_, text) = rig.delivered().remove(0);
    assert_eq!(given(&rig), before);
    for _ in 0..2 {
        rig.user_message("turn-1", Some(&id));
        let ours = text.chars().count() - "please look".len();
        assert_eq!(given(&rig), before + ours as u64);
    }
}

#[tokio::test]
async fn a_message_that_codex_refuses_again_and_again_is_not_offered_in_a_circle() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    let id = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    let not_taken = CodexFact::NotTaken {
        message_id: id.clone(),
        why: "codex refused it: no".to_owned(),
    };
    for _ in 0..2 {
        let delivered = rig.delivered();
        assert_eq!(delivered.len(), 1);
        // Nobody has seen it, so it is not called a repetition.
        assert!(!delivered[0].1.contains("shown before"));
        rig.fact(not_taken.clone());
    }
    assert_eq!(rig.delivered_ids(), []);
    assert!(
        rig.daemon
            .deliveries
            .codex_next(&rig.daemon.base, &rig.daemon.agents.codex)
            .is_some()
    );
    // Another conversation is another try.
    rig.fact(CodexFact::ThreadAdopted {
        thread_id: ThreadId::new("thread-2"),
    });
    assert_eq!(rig.delivered_ids(), [id]);
}

#[tokio::test]
async fn a_message_that_wants_no_waiting_is_rejected_when_codex_is_busy_at_last() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    let id = rig.send(&claude, Agent::Claude, OnBusy::Reject).await;
    assert_eq!(rig.delivered_ids(), std::slice::from_ref(&id));
    rig.status(ReportedStatus::Active { waiting: false });
    rig.fact(CodexFact::NotTaken {
        message_id: id.clone(),
        why: "codex is working".to_owned(),
    });
    rig.settle().await;
    assert_eq!(rig.delivered_ids(), []);
    assert!(rig.daemon.deliveries.outbox.get(&id).is_none());
    assert!(rig.daemon.base.recorder.world().unsettled.is_empty());
}

/// A message of Claude's that must not wait, handed over to the adapter; its sender waits for what
/// becomes of it.
async fn at_once_or_not(rig: &mut Rig) -> (EntryId, oneshot::Receiver<Result<Reply, Refusal>>) {
    let claude = rig.connect(Role::Claude, None, false);
    let send = Command::Send(SendParams {
        from: Some(Agent::Claude),
        text: "at once, or not".to_owned(),
        on_busy: OnBusy::Reject,
        ..SendParams::default()
    });
    let told = rig.ask(&claude, send);
    rig.settle().await;
    let [id] = &rig.delivered_ids()[..] else {
        panic!("it is handed over");
    };
    (id.clone(), told)
}

#[tokio::test]
async fn what_a_sender_was_promised_is_not_rejected_any_more() {
    for restarts in [false, true] {
        let place = Place::new();
        let mut rig = Rig::with_codex(&place).await;
        let (id, told) = at_once_or_not(&mut rig).await;
        // Its app-server takes its time.
        let clients = &mut rig.daemon.base.clients;
        clients.make_due(|wants| matches!(wants, Wants::Receipt(_)));
        rig.daemon.deliveries.expire_waiters(&mut rig.daemon.base);
        rig.settle().await;
        let Ok(Reply::Sent(told)) = told.await.unwrap() else {
            panic!("it is recorded");
        };
        assert_eq!(told.outcome, Outcome::QueuedForNextTurn);
        if restarts {
            drop(rig);
            rig = Rig::with_codex(&place).await;
        }
        rig.status(ReportedStatus::Active { waiting: false });
        rig.fact(CodexFact::NotTaken {
            message_id: id.clone(),
            why: "codex is working".to_owned(),
        });
        rig.settle().await;
        assert_eq!(rig.delivered_ids(), [id], "{restarts}");
    }
}

#[tokio::test]
async fn a_sender_is_promised_nothing_while_the_record_is_about_to_say_that_nobody_gets_it() {
    for stops in [false, true] {
        let mut rig = Rig::fresh_with_codex().await;
        let (id, told) = at_once_or_not(&mut rig).await;
        rig.status(ReportedStatus::Active { waiting: false });
        rig.fact(CodexFact::NotTaken {
            message_id: id.clone(),
            why: "codex is working".to_owned(),
        });
        // The disk takes its time with the record of that.
        if stops {
            rig.daemon.dismiss_waiters();
        } else {
            let clients = &mut rig.daemon.base.clients;
            clients.make_due(|wants| matches!(wants, Wants::Receipt(_)));
            rig.daemon.deliveries.expire_waiters(&mut rig.daemon.base);
        }
        rig.settle().await;
        let Ok(Reply::Sent(told)) = told.await.unwrap() else {
            panic!("it is recorded");
        };
        assert_eq!(told.outcome, Outcome::Rejected, "{stops}");
    }
}

#[tokio::test]
async fn after_a_crash_a_message_is_looked_for_where_it_went_and_not_where_the_record_was() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let claude = rig.connect(Role::Claude, None, false);
    let id = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    rig.settle().await;
    assert_eq!(rig.delivered_ids(), std::slice::from_ref(&id));
    // The person begins another conversation, and nobody knows yet whether it came into this one.
    rig.fact(CodexFact::ThreadAdopted {
        thread_id: ThreadId::new("thread-2"),
    });
    rig.settle().await;
    drop(rig);
    let mut rig = Rig::start(&place).await;
    let asked = std::iter::from_fn(|| rig.requests.try_recv().ok()).find_map(|asked| match asked {
        CodexRequest::Recover { messages } => Some(messages),
        _ => None,
    });
    let asked = asked.unwrap();
    assert_eq!(asked[0].message_id, id);
    assert_eq!(asked[0].thread, Some(ThreadId::new("thread-1")));
}

#[tokio::test]
async fn what_has_to_wait_for_the_end_of_a_turn_says_when_it_was_sent_and_at_which_commit() {
    let place = Place::new();
    let git = place.dirs.root.join(".git");
    std::fs::create_dir_all(&git).unwrap();
    std::fs::write(git.join("HEAD"), format!("{}\n", "a".repeat(40))).unwrap();
    let mut rig = Rig::with_codex(&place).await;
    let claude = rig.connect(Role::Claude, None, false);
    let sent = |rig: &mut Rig| {
        let (id, text) = rig.delivered().remove(0);
        let head = text.lines().next().unwrap().to_owned();
        (id, head)
    };
    rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    let (first, head) = sent(&mut rig);
    assert!(head.ends_with("; just now]"), "{head}");
    rig.user_message("turn-1", Some(&first));
    rig.status(ReportedStatus::Active { waiting: false });
    let second = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    let (_, head) = sent(&mut rig);
    let recent = rig.daemon.base.recorder.recent().iter();
    let stored = recent.clone().find(|stored| stored.entry.id == second);
    let at = jiff::Timestamp::from_millisecond(stored.unwrap().entry.timestamp_ms).unwrap();
    let at = at.strftime("%Y-%m-%d %H:%M UTC");
    let when = format!("; sent {at} at commit aaaaaaaaaaaa]");
    assert!(head.ends_with(&when), "{head}");
}

#[tokio::test]
async fn an_urgent_message_overtakes_one_that_waits_for_the_end_of_the_turn() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    rig.status(ReportedStatus::Active { waiting: false });
    let patient = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    rig.fact(CodexFact::Queued {
        message_id: patient.clone(),
    });
    let next = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    let urgent = rig.send(&claude, Agent::Claude, OnBusy::Steer).await;
    assert_eq!(rig.delivered_ids(), [patient.clone(), urgent.clone()]);
    rig.user_message("turn-1", Some(&urgent));
    rig.user_message("turn-2", Some(&patient));
    rig.settle().await;
    assert_eq!(rig.delivered_ids(), [next]);
}

#[tokio::test]
async fn a_doubt_that_was_resolved_does_not_come_back() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    let id = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    rig.fact(CodexFact::Unanswered {
        message_id: id.clone(),
    });
    assert!(
        rig.daemon
            .deliveries
            .codex_next(&rig.daemon.base, &rig.daemon.agents.codex)
            .is_some()
    );
    rig.fact(CodexFact::StillQueued {
        message_id: id.clone(),
    });
    // No deadline is left at which it would be called ambiguous.
    assert!(
        rig.daemon
            .deliveries
            .codex_next(&rig.daemon.base, &rig.daemon.agents.codex)
            .is_none()
    );
    let row = rig.daemon.deliveries.outbox.get(&id).unwrap();
    assert_eq!(row.state, DeliveryState::Offered);
    assert!(!rig.daemon.agents.codex.is_quiet());
}

#[tokio::test]
async fn after_a_crash_nothing_newer_goes_out_before_the_older_is_accounted_for() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let claude = rig.connect(Role::Claude, None, false);
    let first = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    let second = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    drop(rig);

    let mut rig = Rig::start(&place).await;
    let Ok(CodexRequest::Recover { messages }) = rig.requests.try_recv() else {
        panic!("no recovery");
    };
    let asked: Vec<EntryId> = messages.into_iter().map(|asked| asked.message_id).collect();
    assert_eq!(asked, std::slice::from_ref(&first));
    rig.codex_runs().await;
    assert_eq!(rig.delivered_ids(), []);
    rig.fact(CodexFact::NotTaken {
        message_id: first.clone(),
        why: "it is nowhere".to_owned(),
    });
    assert_eq!(rig.delivered_ids(), std::slice::from_ref(&first));
    rig.user_message("turn-1", Some(&first));
    rig.settle().await;
    assert_eq!(rig.delivered_ids(), [second]);
}

#[tokio::test]
async fn a_usage_limit_ends_on_the_record_too() {
    let mut rig = Rig::fresh_with_codex().await;
    let ended = |limited| CodexFact::TurnCompleted {
        thread_id: ThreadId::new("thread-1"),
        turn_id: TurnId::new("turn-1"),
        status: if limited {
            TurnStatus::Failed
        } else {
            TurnStatus::Completed
        },
        final_answer: None,
        client_ids: Vec::new(),
        error: limited.then(|| "usage limit".to_owned()),
        usage_limited: limited,
        died: false,
    };
    rig.fact(ended(true));
    rig.settle().await;
    assert_eq!(
        rig.daemon.base.recorder.world().agent(Agent::Codex).state,
        AgentState::Limited
    );
    rig.fact(ended(false));
    rig.settle().await;
    assert_eq!(
        rig.daemon.base.recorder.world().agent(Agent::Codex).state,
        AgentState::Idle
    );
}

#[tokio::test]
async fn the_sender_to_a_busy_codex_is_answered_at_once_and_one_that_steers_waits_for_proof() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    rig.status(ReportedStatus::Active { waiting: false });
    for (on_busy, waits) in [(OnBusy::Queue, false), (OnBusy::Steer, true)] {
        let send = SendParams {
            from: Some(Agent::Claude),
            text: format!("please look, {on_busy:?}"),
            on_busy,
            ..SendParams::default()
        };
        let mut answer = rig.ask(&claude, Command::Send(send));
        rig.settle().await;
        match answer.try_recv() {
            Ok(Ok(Reply::Sent(sent))) => {
                assert!(!waits);
                assert_eq!(sent.outcome, Outcome::QueuedForNextTurn);
            }
            Ok(other) => panic!("{other:?}"),
            Err(_) => assert!(waits, "{on_busy:?} has no answer"),
        }
    }
}

/// Why the conversation cannot be had.
const SHUT: &str = "codex refused: its conversation thread-1 does not open (it is open elsewhere)";

#[tokio::test]
async fn a_conversation_that_does_not_open_is_said_once_and_shown_until_it_does() {
    let mut rig = Rig::fresh_with_codex().await;
    let starts = || CodexFact::ServerStarted {
        pid: 4_000_003,
        keeper: 4_000_004,
        version: "0.169.0".to_owned(),
        port: 4500,
    };
    // As long as messages wait, it is tried again.
    for _ in 0..3 {
        rig.fact(starts());
        rig.fact(CodexFact::ServerLost {
            why: SHUT.to_owned(),
            gave_up: true,
        });
        rig.fact(CodexFact::Unavailable {
            code: ErrorCode::CodexFailed,
            why: SHUT.to_owned(),
        });
        rig.settle().await;
        assert_eq!(rig.daemon.base.notices.lines(), [SHUT]);
    }
    rig.fact(starts());
    assert_eq!(rig.daemon.base.notices.lines(), [SHUT]);
    rig.fact(CodexFact::ThreadAdopted {
        thread_id: ThreadId::new("thread-1"),
    });
    assert_eq!(rig.daemon.base.notices.lines(), [""; 0]);
    rig.settle().await;
    let record = std::fs::read_to_string(rig.daemon.base.recorder.ledger().path()).unwrap();
    // That the app-server is gone, and why there is none.
    assert_eq!(record.lines().filter(|line| line.contains(SHUT)).count(), 2);
}

#[tokio::test]
async fn a_codex_that_fails_at_each_try_with_other_words_is_said_once_and_shown_as_it_failed_last()
{
    let mut rig = Rig::fresh_with_codex().await;
    let fails = |rig: &mut Rig, code: ErrorCode, why: &str| {
        rig.fact(CodexFact::ServerStarted {
            pid: 4_000_003,
            keeper: 4_000_004,
            version: "0.169.0".to_owned(),
            port: 4500,
        });
        rig.fact(CodexFact::ServerLost {
            why: why.to_owned(),
            gave_up: true,
        });
        rig.fact(CodexFact::Unavailable {
            code,
            why: why.to_owned(),
        });
        assert_eq!(rig.daemon.base.notices.lines(), [why]);
    };
    for second in 0..5 {
        let why = format!("codex ended: 12:00:0{second} no room");
        fails(&mut rig, ErrorCode::CodexFailed, &why);
        rig.settle().await;
    }
    let said = |rig: &Rig| {
        let path = rig.daemon.base.recorder.ledger().path();
        let record = std::fs::read_to_string(path).unwrap();
        let lines = record.lines();
        lines.filter(|line| line.contains("codex ended")).count()
    };
    // That the app-server is gone, and why there is none.
    assert_eq!(said(&rig), 2);
    fails(&mut rig, ErrorCode::CodexTooOld, "codex ended: too old");
    rig.settle().await;
    assert_eq!(said(&rig), 3);
}

#[tokio::test]
async fn an_app_server_that_is_lost_again_before_codex_works_is_lost_once_on_record() {
    let mut rig = Rig::fresh_with_codex().await;
    let mut lose = |why: &str, works_first: bool| {
        rig.fact(CodexFact::ServerStarted {
            pid: 4_000_003,
            keeper: 4_000_004,
            version: "0.169.0".to_owned(),
            port: 4500,
        });
        if works_first {
            let thread_id = ThreadId::new("thread-1");
            rig.fact(CodexFact::ThreadAdopted { thread_id });
        }
        rig.fact(CodexFact::ServerLost {
            why: why.to_owned(),
            gave_up: false,
        });
    };
    lose("it ended: 12:00:01", false);
    lose("it ended: 12:00:02", false);
    lose("it ended: 12:00:02", true);
    rig.settle().await;
    let recent = rig.daemon.base.recorder.recent().iter();
    let said = recent.map(|stored| stored.entry.content.as_str());
    let gone = said.filter_map(|said| said.strip_prefix("the codex app-server is gone: "));
    let gone: Vec<_> = gone.collect();
    assert_eq!(gone, ["it ended: 12:00:01", "it ended: 12:00:02"]);
    let codex = rig.daemon.base.recorder.world().agent(Agent::Codex);
    assert_eq!(codex.state, AgentState::Offline);
    assert_eq!(codex.why.as_deref(), Some("it ended: 12:00:02"));
}

#[tokio::test]
async fn a_codex_that_fails_at_each_try_while_nothing_can_be_recorded_waits_for_the_disk_once() {
    let mut rig = Rig::fresh_with_codex().await;
    for second in 0..5 {
        rig.fact(CodexFact::ServerStarted {
            pid: 4_000_003,
            keeper: 4_000_004,
            version: "0.169.0".to_owned(),
            port: 4500,
        });
        let why = format!("codex ended: 12:00:0{second} no room");
        rig.fact(CodexFact::ServerLost {
            why: why.clone(),
            gave_up: true,
        });
        let code = ErrorCode::CodexFailed;
        rig.fact(CodexFact::Unavailable { code, why });
        rig.fail_writes().await;
        assert_eq!(rig.daemon.base.recorder.facts_on_the_way().count(), 1);
    }
    recover(&mut rig).await;
    let recent = rig.daemon.base.recorder.recent().iter();
    let gone = recent.filter(|stored| stored.entry.content.contains("app-server is gone"));
    assert_eq!(gone.count(), 1);
}

#[tokio::test]
async fn a_message_that_is_too_large_for_codex_is_rejected_and_the_next_one_goes_out() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    let large = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    let next = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    assert_eq!(rig.delivered_ids(), std::slice::from_ref(&large));
    rig.fact(CodexFact::TooLarge {
        message_id: large.clone(),
        why: "it has more than 1048576 characters".to_owned(),
    });
    rig.settle().await;
    assert_eq!(rig.delivered_ids(), [next]);
    let world = rig.daemon.base.recorder.world();
    assert!(!world.unsettled.contains_key(&large));
    assert_eq!(
        rig.daemon.agents.codex.receipt(&large),
        Some(Outcome::Rejected)
    );
    let record = std::fs::read_to_string(rig.daemon.base.recorder.ledger().path()).unwrap();
    let why = "Codex takes no message of this size: it has more than 1048576 characters";
    assert_eq!(record.matches(why).count(), 1);
}

#[tokio::test]
async fn the_parts_of_a_handoff_are_as_long_together_as_one_message_may_be() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    // With the comma and the space before it.
    let of = |reason: usize| {
        Command::Handoff(HandoffParams {
            from: Some(Agent::Claude),
            ask: "x".repeat(999_000),
            reason: "y".repeat(reason),
            context_refs: vec!["z".to_owned()],
            ..HandoffParams::default()
        })
    };
    let refused = rig.call(&claude, of(998)).await.unwrap_err();
    assert_eq!(refused.code, RefusalCode::TooLarge);
    assert!(refused.message.contains("together"), "{refused:?}");
    assert_eq!(rig.delivered(), []);
    drop(rig.ask(&claude, of(997)));
    rig.settle().await;
    let delivered = rig.delivered();
    assert_eq!(delivered.len(), 1);
    assert!(delivered[0].1.chars().count() <= INPUT_CHARS_MAX);
}

#[tokio::test]
async fn a_turn_that_is_shown_again_after_many_others_is_recorded_once() {
    let mut rig = Rig::fresh_with_codex().await;
    for turn in 0..=REMEMBERED_MAX {
        rig.user_message(&format!("turn-{turn}"), None);
    }
    // A history that is read again shows it.
    rig.user_message("turn-1", None);
    rig.settle().await;
    let began = rig.daemon.base.recorder.recent().iter().filter(|stored| {
        matches!(&stored.entry.kind, EntryKind::Turn(turn) if turn.turn_id.as_str() == "turn-1")
    });
    assert_eq!(began.count(), 1);
}

#[tokio::test]
async fn who_is_refused_at_the_proxy_now_for_one_reason_and_now_for_another_is_told_once_for_each()
{
    let mut rig = Rig::fresh_with_codex().await;
    for is_full in [false, true, false, true, false] {
        rig.fact(CodexFact::ProxyRefused { count: 1, is_full });
    }
    rig.settle().await;
    let errors = rig.daemon.base.recorder.world().errors.iter();
    let told = errors.filter(|error| error.code == ErrorCode::ProxyRefused);
    assert_eq!(told.count(), 2);
    let is_full = |rig: &Rig| rig.daemon.base.notices.has(&NoticeKey::ProxyFull);
    assert!(is_full(&rig));
    rig.fact(CodexFact::ProxyHasRoom);
    assert!(!is_full(&rig));
}

#[tokio::test]
async fn a_terminal_that_a_fault_of_ours_cut_off_is_told_of_until_the_next_one_comes() {
    let mut rig = Rig::fresh_with_codex().await;
    let tui = |attached| CodexFact::Tui {
        attached,
        pid: None,
    };
    let is_told = |rig: &Rig| rig.daemon.base.notices.has(&NoticeKey::TerminalFailed);
    for fact in [tui(true), CodexFact::TerminalFailed, tui(false)] {
        rig.fact(fact);
    }
    rig.settle().await;
    assert!(is_told(&rig));
    let errors = rig.daemon.base.recorder.world().errors.iter();
    let failed = errors.filter(|error| error.code == ErrorCode::WorkFailed);
    assert_eq!(failed.count(), 1);
    rig.fact(tui(true));
    rig.settle().await;
    assert!(!is_told(&rig));
}
