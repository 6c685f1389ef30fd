//! What happens while the disk refuses, and what a daemon that ended leaves in the middle.

use super::rig::Rig;
use super::silence::agent_action;
use crate::adapters::codex::fact::{CodexFact, ReportedStatus};
use crate::core::agent::{Agent, AgentState, Party};
use crate::core::delivery::OnBusy;
use crate::core::entry::{EntryKind, LifecycleEvent, TurnStatus};
use crate::core::id::{EntryId, ThreadId, TurnId};
use crate::daemon::agents::codex_lane::SIGN_IN;
use crate::daemon::event::Event;
use crate::daemon::fault::DaemonFault;
use crate::daemon::start::record_adoption;
use crate::daemon::stop::Stop;
use crate::store::contextrelay3::{Unread, UnreadMessage};
use crate::store::ledger::{LedgerError, WriterEvent};
use crate::store::testing::Place;
use crate::wire::control::{
    AgentActionKind, Command, GetMessagesParams, RefusalCode, Role, SendParams,
};

/// The disk takes everything again, and what was kept is written.
pub(super) async fn recover(rig: &mut Rig) {
    rig.daemon.on_event(Event::Ledger(WriterEvent::Recovered));
    rig.daemon.base.recorder.write_again_now();
    rig.daemon.base.recorder.write_again();
    rig.pump().await;
}

fn interrupted(turn: &str, id: &EntryId) -> CodexFact {
    CodexFact::TurnCompleted {
        thread_id: ThreadId::new("thread-1"),
        turn_id: TurnId::new(turn),
        status: TurnStatus::Interrupted,
        final_answer: None,
        client_ids: vec![id.to_string()],
        error: None,
        usage_limited: false,
        died: false,
    }
}

fn said(rig: &Rig, kind: impl Fn(&EntryKind) -> bool) -> Vec<String> {
    let recent = rig.daemon.base.recorder.recent().iter();
    recent
        .filter(|stored| kind(&stored.entry.kind))
        .map(|stored| stored.entry.content.clone())
        .collect()
}

#[tokio::test]
async fn a_tool_that_the_disk_refused_does_not_swallow_the_turns_last_words() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    let codex = rig.connect(Role::Codex, None, false);
    let id = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    rig.user_message("turn-1", Some(&id));
    rig.settle().await;
    let send = Command::Send(SendParams {
        from: Some(Agent::Codex),
        text: "by the tool".to_owned(),
        turn_id: Some("turn-1".to_owned()),
        ..SendParams::default()
    });
    let refused = rig.ask(&codex, send);
    rig.fail_writes().await;
    assert_eq!(
        refused.await.unwrap().unwrap_err().code,
        RefusalCode::LedgerUnwritable
    );
    recover(&mut rig).await;
    rig.completed("turn-1", std::slice::from_ref(&id), "as the last words");
    rig.pump().await;
    let texts = said(&rig, |kind| matches!(kind, EntryKind::Message(_)));
    assert!(texts.contains(&"as the last words".to_owned()), "{texts:?}");
}

#[tokio::test]
async fn facts_are_written_in_their_order_once_the_disk_takes_them_again() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    let id = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    rig.user_message("turn-1", Some(&id));
    rig.fail_writes().await;
    // It works again, and the next fact comes before anybody has asked it.
    rig.fact(interrupted("turn-1", &id));
    rig.pump().await;
    recover(&mut rig).await;
    // Only a turn's end that stands behind the proof cuts its message off.
    assert!(rig.daemon.base.recorder.world().cut_off.contains_key(&id));
    assert!(!rig.daemon.base.recorder.has_unwritten());
}

#[tokio::test]
async fn a_turns_end_that_comes_before_anybody_hears_of_the_failure_stands_behind_the_proof() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    let id = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    let ledger = rig.daemon.base.recorder.ledger().path().to_owned();
    let away = ledger.with_extension("away");
    std::fs::rename(&ledger, &away).unwrap();
    rig.user_message("turn-1", Some(&id));
    rig.wait_for_refusals().await;
    // The disk takes everything again.
    std::fs::rename(&away, &ledger).unwrap();
    rig.fact(interrupted("turn-1", &id));
    rig.pump().await;
    assert!(rig.daemon.base.recorder.has_unwritten());
    recover(&mut rig).await;
    assert!(rig.daemon.base.recorder.world().cut_off.contains_key(&id));
    assert!(!rig.daemon.base.recorder.has_unwritten());
}

#[tokio::test]
async fn what_a_later_start_goes_by_of_codex_is_on_the_disk_though_it_refused_it_at_first() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let ledger = rig.daemon.base.recorder.ledger().path().to_owned();
    let away = ledger.with_extension("away");
    std::fs::rename(&ledger, &away).unwrap();
    let why = "the conversation cannot be opened".to_owned();
    rig.fact(CodexFact::ThreadReplaced { why: why.clone() });
    rig.user_message("turn-1", None);
    rig.fact(CodexFact::SignIn { needed: true });
    rig.wait_for_refusals().await;
    std::fs::rename(&away, &ledger).unwrap();
    rig.pump().await;
    recover(&mut rig).await;
    drop(rig);
    let (world, _) = Rig::replayed(&place);
    let codex = world.agent(Agent::Codex);
    let turn = codex.unended_turn.as_ref().map(|(_, turn)| turn);
    assert_eq!(turn, Some(&TurnId::new("turn-1")));
    assert_eq!(codex.why.as_deref(), Some(SIGN_IN));
    assert!(world.errors.iter().any(|error| error.text == why));
}

#[tokio::test]
async fn the_thread_of_codex_is_remembered_though_the_disk_refused_it_at_first() {
    let mut rig = Rig::fresh_with_codex().await;
    rig.fact(CodexFact::ThreadAdopted {
        thread_id: ThreadId::new("thread-2"),
    });
    rig.fail_writes().await;
    recover(&mut rig).await;
    let known = rig
        .daemon
        .base
        .recorder
        .world()
        .agent(Agent::Codex)
        .thread_id
        .clone();
    assert_eq!(known, Some(ThreadId::new("thread-2")));
}

#[tokio::test]
async fn a_claude_that_came_while_the_disk_refused_is_there_without_another_word_of_it() {
    let mut rig = Rig::fresh().await;
    let bridge = rig.connect(Role::Claude, Some(7), false);
    rig.fail_writes().await;
    let status = rig.daemon.status().agents.claude;
    assert_eq!((status.state, status.pid), (AgentState::Idle, Some(7)));
    assert_eq!(
        rig.daemon.base.recorder.world().agent(Agent::Claude).state,
        AgentState::Offline
    );
    recover(&mut rig).await;
    let known = rig.daemon.base.recorder.world().agent(Agent::Claude);
    assert_eq!((known.state, known.pid), (AgentState::Idle, Some(7)));

    // So is one that went meanwhile.
    rig.daemon.disconnect(bridge.conn);
    rig.fail_writes().await;
    assert_eq!(rig.daemon.status().agents.claude.state, AgentState::Offline);
    recover(&mut rig).await;
    assert_eq!(
        rig.daemon.base.recorder.world().agent(Agent::Claude).state,
        AgentState::Offline
    );
}

#[tokio::test]
async fn a_claude_that_comes_while_the_disk_refuses_every_other_write_does_not_fill_the_record() {
    let mut rig = Rig::fresh().await;
    let _bridge = rig.connect(Role::Claude, Some(7), false);
    rig.refuse_every_other_write().await;
    // Its state waits with the outage that came so soon, and nothing is lost of it.
    assert!(rig.daemon.base.recorder.has_unwritten());
    assert_eq!(rig.daemon.status().agents.claude.state, AgentState::Idle);
    recover(&mut rig).await;
    let known = rig.daemon.base.recorder.world().agent(Agent::Claude);
    assert_eq!((known.state, known.pid), (AgentState::Idle, Some(7)));
}

#[tokio::test]
async fn a_proposal_by_marker_waits_for_the_disk() {
    let mut rig = Rig::fresh_with_codex().await;
    rig.user_message("turn-1", None);
    rig.settle().await;
    rig.completed(
        "turn-1",
        &[],
        "[IMPORTANT] CONTEXTRELAY_PROPOSE_FINAL:\nsummary: it parses\nevidence: cargo test",
    );
    while !rig.next_is_tree().await {}
    rig.fail_writes().await;
    assert!(
        rig.daemon
            .base
            .recorder
            .world()
            .pending_proposals
            .is_empty()
    );
    recover(&mut rig).await;
    assert_eq!(rig.daemon.base.recorder.world().pending_proposals.len(), 1);
}

#[tokio::test]
async fn a_turn_that_ended_with_the_daemon_is_cut_off_and_can_be_had_again() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let claude = rig.connect(Role::Claude, None, false);
    let id = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    rig.user_message("turn-1", Some(&id));
    rig.settle().await;
    assert_eq!(rig.daemon.status().agents.codex.cut_off, 0);
    drop(rig);

    let mut rig = Rig::with_codex(&place).await;
    assert_eq!(rig.daemon.status().agents.codex.cut_off, 1);
    assert_eq!(rig.delivered_ids(), []);
    let told = said(&rig, |kind| {
        matches!(
            kind,
            EntryKind::Lifecycle {
                event: LifecycleEvent::DeliveryCutOff
            }
        )
    });
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("turn-1") && told[0].contains(id.as_str()));
    let operator = rig.connect(Role::Deck, None, true);
    let again = agent_action(Agent::Codex, AgentActionKind::Requeue);
    rig.call(&operator, again).await.unwrap();
    assert_eq!(rig.delivered_ids(), [id]);
    // Said once: the next start knows nothing of it any more.
    drop(rig);
    let rig = Rig::start(&place).await;
    let told = said(&rig, |kind| {
        matches!(
            kind,
            EntryKind::Lifecycle {
                event: LifecycleEvent::DeliveryCutOff
            }
        )
    });
    assert_eq!(told.len(), 1, "{told:?}");
}

#[tokio::test]
async fn a_start_that_the_disk_refuses_is_recorded_once_it_takes_it() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let claude = rig.connect(Role::Claude, None, false);
    let id = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    rig.user_message("turn-1", Some(&id));
    rig.settle().await;
    drop(rig);

    let mut rig = Rig::begin_after(&place, None).await;
    rig.fail_writes().await;
    let in_turn = |rig: &Rig| rig.daemon.base.recorder.world().in_turn.contains_key(&id);
    assert!(in_turn(&rig));
    recover(&mut rig).await;
    assert!(!in_turn(&rig));
    let started = said(&rig, |kind| {
        matches!(
            kind,
            EntryKind::Lifecycle {
                event: LifecycleEvent::DaemonStarted
            }
        )
    });
    assert_eq!(started.len(), 2, "{started:?}");
}

#[tokio::test]
async fn a_record_of_contextrelay_3_is_taken_over_though_the_disk_refuses_that_at_first() {
    let mut rig = Rig::fresh().await;
    let unread = Unread {
        messages: vec![UnreadMessage {
            id: "m-1".to_owned(),
            content: "did you see it?".to_owned(),
            at_ms: 5,
            pushed: true,
        }],
        total: 1,
    };
    record_adoption(&mut rig.daemon, 12, &unread);
    rig.fail_writes().await;
    let lane = |rig: &Rig| rig.daemon.deliveries.outbox.lane(Agent::Claude).count();
    assert_eq!(lane(&rig), 0);
    recover(&mut rig).await;
    assert_eq!(lane(&rig), 1);
}

#[tokio::test]
async fn the_end_of_a_turn_that_is_told_again_says_nothing_twice() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let claude = rig.connect(Role::Claude, None, false);
    let id = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    rig.user_message("turn-1", Some(&id));
    for _ in 0..2 {
        rig.completed("turn-1", std::slice::from_ref(&id), "the answer");
        rig.pump().await;
    }
    let texts = said(&rig, |kind| matches!(kind, EntryKind::Message(_)));
    assert_eq!(texts.iter().filter(|text| *text == "the answer").count(), 1);
    let known = rig.leave().await;
    let mut rig = Rig::start_after(&place, Some(known)).await;
    rig.completed("turn-1", std::slice::from_ref(&id), "the answer");
    rig.pump().await;
    let to_claude = rig.daemon.base.recorder.world().unsettled.values();
    let to_claude = to_claude.filter(|message| message.from == Party::Agent(Agent::Codex));
    assert_eq!(to_claude.count(), 1);
}

#[tokio::test]
async fn codex_gets_the_rest_of_a_page_by_asking_on() {
    let mut rig = Rig::fresh_with_codex().await;
    rig.status(ReportedStatus::Active { waiting: false });
    rig.user_message("turn-0", None);
    rig.settle().await;
    let claude = rig.connect(Role::Claude, None, false);
    let codex = rig.connect(Role::Codex, None, false);
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(rig.send(&claude, Agent::Claude, OnBusy::Queue).await);
    }
    let sent = rig.delivered_ids();
    let waiting: Vec<_> = ids.into_iter().filter(|id| !sent.contains(id)).collect();
    assert!(waiting.len() > 1);
    let mut asked = Vec::new();
    let mut after = None;
    for _ in 0..waiting.len() {
        let get = Command::GetMessages(GetMessagesParams {
            after,
            limit: Some(1),
            ..GetMessagesParams::of(Agent::Codex)
        });
        let page = rig.call(&codex, get).await.unwrap();
        let crate::wire::control::Reply::Messages(page) = page else {
            panic!("{page:?}");
        };
        asked.push(page.messages[0].message_id.clone());
        assert_eq!(page.more, asked.len() < waiting.len());
        after = page.cursor;
    }
    assert_eq!(asked, waiting);
}

#[tokio::test]
async fn what_waits_for_a_claude_that_never_came_expires() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let codex = rig.connect(Role::Codex, None, false);
    let id = rig.send(&codex, Agent::Codex, OnBusy::Queue).await;
    drop(rig);
    let mut rig = Rig::start(&place).await;
    rig.daemon.agents.claude.set_timeouts(20_000, Some(60_000));
    rig.daemon.pump_claude();
    assert!(rig.daemon.base.recorder.world().unsettled.contains_key(&id));
    rig.later(61_000).await;
    assert!(!rig.daemon.base.recorder.world().unsettled.contains_key(&id));
}

#[tokio::test]
async fn a_daemon_whose_record_was_taken_away_ends_when_nobody_is_there() {
    let mut rig = Rig::fresh_with_codex().await;
    rig.daemon.base.identity.detach();
    rig.fact(CodexFact::ServerLost {
        why: "it was removed too".to_owned(),
        gave_up: true,
    });
    rig.fail_writes().await;
    assert!(rig.daemon.base.recorder.has_unwritten());
    rig.daemon.watch_idleness();
    let since = rig.daemon.base.operations.idle_since();
    assert!(since.is_some());
    // It is asked for again and again meanwhile.
    rig.daemon.base.recorder.write_again_now();
    rig.daemon.base.recorder.write_again();
    rig.daemon.watch_idleness();
    assert_eq!(rig.daemon.base.operations.idle_since(), since);
    rig.fail_writes().await;
    // A disk that is only full gets its facts yet.
    recover(&mut rig).await;
    assert!(!rig.daemon.base.recorder.has_unwritten());
}

#[tokio::test]
async fn a_stop_asks_the_disk_once_more_and_is_recorded_behind_what_waited() {
    let mut rig = Rig::fresh_with_codex().await;
    rig.fact(CodexFact::ThreadAdopted {
        thread_id: ThreadId::new("thread-2"),
    });
    rig.fail_writes().await;
    // It works again, and nobody has found that out.
    rig.daemon.stop(Stop::now(false));
    rig.settle().await;
    let said = said(&rig, |_| true);
    let ends = ["Codex works on thread thread-2", "the daemon stopped"];
    assert!(said.ends_with(&ends.map(str::to_owned)), "{said:?}");
    assert_eq!(rig.finish().await, Ok(()));
}

#[tokio::test]
async fn a_stop_that_comes_while_the_disk_is_slow_to_refuse_waits_for_its_answer() {
    let mut rig = Rig::fresh_with_codex().await;
    let adopt = |rig: &mut Rig, thread: &str| {
        rig.fact(CodexFact::ThreadAdopted {
            thread_id: ThreadId::new(thread),
        });
    };
    adopt(&mut rig, "thread-2");
    let first = rig.daemon.base.recorder.asked();
    adopt(&mut rig, "thread-3");
    let both = rig.daemon.base.recorder.asked();
    while !rig.daemon.base.recorder.has_answered(first) {
        rig.refuse_next(LedgerError::Gone).await;
    }
    rig.daemon.stop(Stop::now(false));
    while !rig.daemon.base.recorder.has_answered(both) {
        rig.refuse_next(LedgerError::Gone).await;
    }
    rig.settle().await;
    let said = said(&rig, |_| true);
    let ends = [
        "Codex works on thread thread-2",
        "Codex works on thread thread-3",
        "the daemon stopped",
    ];
    assert!(said.ends_with(&ends.map(str::to_owned)), "{said:?}");
}

#[tokio::test]
async fn a_stop_that_leaves_facts_unrecorded_is_no_orderly_one_and_the_next_start_says_so() {
    for can_leave_mark in [true, false] {
        let place = Place::new();
        let mut rig = Rig::with_codex(&place).await;
        rig.fact(CodexFact::ThreadAdopted {
            thread_id: ThreadId::new("thread-2"),
        });
        rig.fail_writes().await;
        rig.daemon.stop(Stop::now(false));
        rig.fail_writes().await;
        assert_eq!(rig.finish().await, Err(DaemonFault::Unrecorded));
        if !can_leave_mark {
            std::fs::remove_file(place.dirs.state_file("failed")).unwrap();
        }
        let rig = Rig::start(&place).await;
        let said = said(&rig, |_| true);
        let names = |text: &str| said.iter().any(|said| said.contains(text));
        assert_eq!(
            names("what happened last is not recorded"),
            can_leave_mark,
            "{said:?}"
        );
        assert_eq!(names("ended without a word"), !can_leave_mark, "{said:?}");
    }
}
