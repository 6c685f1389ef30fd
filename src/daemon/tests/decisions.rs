//! The operator decides once.

use tokio::sync::oneshot;

use super::commands::acked;
use super::ladder::{Pair, text};
use super::proposals::proposed_as;
use super::rig::Rig;
use crate::adapters::codex::fact::ReportedStatus;
use crate::core::agent::{Agent, Party};
use crate::core::delivery::OnBusy;
use crate::core::entry::{EntryKind, FinalityDecision, ProposalState, TreeFound, WorkTree};
use crate::core::id::EntryId;
use crate::daemon::event::{Event, TreePurpose};
use crate::store::testing::Place;
use crate::wire::control::{Command, DecideParams, HandoffParams, IdsParams, RefusalCode, Role};

#[tokio::test]
async fn of_two_decisions_at_once_one_is_recorded() {
    let mut rig = Rig::fresh().await;
    let claude = rig.connect(Role::Claude, None, false);
    let proposal = proposed(&mut rig, &claude, Vec::new()).await;
    let mut answers = Vec::new();
    for approve in [false, true] {
        let (reply, answer) = oneshot::channel();
        rig.daemon.on_event(Event::TreeRead {
            purpose: TreePurpose::Decide {
                params: DecideParams {
                    reason: Some("because".to_owned()),
                    ..DecideParams::of(proposal.clone(), approve)
                },
                reply,
            },
            tree: TreeFound::NoRepository,
            changed: None,
        });
        answers.push(answer);
    }
    rig.settle().await;
    let [first, second] = answers.try_into().unwrap();
    assert!(first.await.unwrap().is_ok());
    assert_eq!(
        second.await.unwrap().unwrap_err().code,
        RefusalCode::InFlight
    );
    assert_eq!(
        rig.daemon.base.recorder.world().counts["finality_decision"],
        1
    );
}

#[tokio::test]
async fn a_handoff_that_was_rejected_can_be_handed_over_again() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    let hand_off = Command::Handoff(HandoffParams {
        from: Some(Agent::Claude),
        ask: "look at it".to_owned(),
        reason: "you know it".to_owned(),
        on_busy: OnBusy::Reject,
        ..HandoffParams::default()
    });
    rig.status(ReportedStatus::Active { waiting: false });
    rig.call(&claude, hand_off.clone()).await.unwrap();
    rig.status(ReportedStatus::Idle);
    drop(rig.ask(&claude, hand_off));
    rig.settle().await;
    assert_eq!(rig.delivered_ids().len(), 1);
}

/// Claude proposes that the work is done.
async fn proposed(rig: &mut Rig, claude: &super::rig::Guest, handles: Vec<EntryId>) -> EntryId {
    proposed_as(rig, claude, "done\nReason: push to main", handles, None).await
}

async fn decided(rig: &mut Rig, proposal: &EntryId, rejection: Option<&str>) {
    decided_on(rig, proposal, rejection, None).await;
}

async fn decided_on(
    rig: &mut Rig,
    proposal: &EntryId,
    rejection: Option<&str>,
    tree: Option<WorkTree>,
) {
    let (reply, answer) = oneshot::channel();
    rig.daemon.on_event(Event::TreeRead {
        purpose: TreePurpose::Decide {
            params: DecideParams {
                reason: rejection.map(str::to_owned),
                ..DecideParams::of(proposal.clone(), rejection.is_none())
            },
            reply,
        },
        tree: tree.into(),
        changed: None,
    });
    rig.settle().await;
    answer.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_compaction_carries_on_what_was_approved_last_and_tells_nobody_again() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    let operator = rig.connect(Role::Deck, None, true);
    let tree = |tree: &str| WorkTree {
        commit: None,
        tree: tree.to_owned(),
        changed: 1,
    };
    for approved in ["first", "second"] {
        let on = Some(tree(approved));
        let proposal = proposed_as(&mut rig, &claude, "done", Vec::new(), on.clone()).await;
        decided_on(&mut rig, &proposal, None, on).await;
    }
    for (n, (to, id)) in told(&rig).into_iter().enumerate() {
        if to == Agent::Codex {
            let turn = format!("turn-{n}");
            rig.user_message(&turn, Some(&id));
            rig.settle().await;
            rig.completed(&turn, std::slice::from_ref(&id), "");
        } else {
            let ids = vec![id];
            let (agent, rung) = (Agent::Claude, None);
            let acked = Command::Ack(IdsParams { agent, ids, rung });
            rig.call(&claude, acked).await.unwrap();
        }
        rig.settle().await;
    }
    rig.status(ReportedStatus::Idle);
    rig.settle().await;
    for _ in 0..2 {
        rig.compact(&operator).await;
        let world = rig.daemon.base.recorder.world();
        assert_eq!(world.approved_tree, Some(tree("second")));
        assert!(world.approved_through > world.decided_proposals[0].seq);
        let note = world.changed_checks(None).note.unwrap();
        assert!(!note.contains("nothing was approved"), "{note}");
        assert!(world.unsettled.is_empty());
        assert!(world.untold_decisions.is_empty());
    }
}

/// The messages about decisions, by their receivers.
fn told(rig: &Rig) -> Vec<(Agent, EntryId)> {
    let entries = rig
        .daemon
        .base
        .recorder
        .recent()
        .iter()
        .map(|stored| &stored.entry);
    let told = entries.filter_map(|entry| match &entry.kind {
        EntryKind::Message(message) if message.decision.is_some() => {
            assert_eq!(entry.source, Party::Human);
            Some((entry.receiver().unwrap(), entry.id.clone()))
        }
        _ => None,
    });
    told.collect()
}

#[tokio::test]
async fn a_decision_reaches_both_agents_as_a_message_of_the_operator_once() {
    let place = Place::new();
    let mut pair = Pair::new(Rig::start(&place).await, true).await;
    pair.rig.codex_runs().await;
    let claude = pair.rig.connect(Role::Claude, None, false);
    let proposal = proposed(&mut pair.rig, &claude, Vec::new()).await;
    decided(&mut pair.rig, &proposal, Some("the tests are missing")).await;
    let told = told(&pair.rig);
    let [(Agent::Claude, to_claude), (Agent::Codex, to_codex)] = told.as_slice() else {
        panic!("{told:?}");
    };
    let delivered = pair.rig.delivered();
    assert_eq!(delivered.len(), 1);
    assert_eq!(delivered[0].0, *to_codex);
    let handed = pair.hook("UserPromptSubmit").await;
    assert_eq!(handed.ids, std::slice::from_ref(to_claude));
    for text in [text(&handed), &delivered[0].1] {
        assert!(text.starts_with("[ctxrelay decision "), "{text}");
        assert!(text.contains("from your operator"), "{text}");
        assert!(
            text.contains(&format!("rejected proposal {proposal}.")),
            "{text}"
        );
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.contains(&"Reason: the tests are missing"), "{text}");
        // The words of the one who proposed do not stand as the operator's.
        assert!(!lines.contains(&"Reason: push to main"), "{text}");
    }
    pair.handed(handed.ids.clone()).await;
    let acked = acked(Agent::Claude, handed.ids);
    pair.rig.call(&claude, acked).await.unwrap();
    pair.rig.user_message("turn-1", Some(to_codex));
    pair.rig.settle().await;
    assert!(pair.rig.daemon.base.recorder.world().unsettled.is_empty());
    assert_eq!(pair.rig.delivered_ids(), []);
    let status = pair.rig.daemon.status().finality;
    assert_eq!(status.decided[0].proposal_id, proposal);
    assert_eq!(status.decided[0].verdict, ProposalState::Rejected);
    drop(pair);
    let rig = Rig::start(&place).await;
    assert_eq!(self::told(&rig), told, "and nobody is told again");
}

#[tokio::test]
async fn a_decision_that_a_crash_left_without_messages_is_told_after_it() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let claude = rig.connect(Role::Claude, None, false);
    let proposal = proposed(&mut rig, &claude, Vec::new()).await;
    let decision = rig.daemon.base.recorder.entry(
        Party::Human,
        Some(Agent::Claude.into()),
        EntryKind::FinalityDecision(FinalityDecision {
            tells: Agent::ALL.to_vec(),
            ..FinalityDecision::of(proposal.clone(), true)
        }),
        "approved: done",
        None,
    );
    rig.daemon
        .base
        .recorder
        .append(vec![decision], Box::new(|_, _| {}));
    rig.settle().await;
    assert_eq!(told(&rig), []);
    drop(rig);
    let mut rig = Rig::start(&place).await;
    let ids = told(&rig);
    assert_eq!(ids.len(), 2, "{ids:?}");
    assert!(rig.daemon.base.recorder.world().untold_decisions.is_empty());
    rig.codex_runs().await;
    assert_eq!(rig.delivered_ids(), [ids[1].1.clone()]);
    rig.user_message("turn-1", Some(&ids[1].1));
    rig.settle().await;
    drop(rig);
    let mut rig = Rig::start(&place).await;
    assert_eq!(told(&rig).len(), 2, "each once");
    rig.codex_runs().await;
    assert_eq!(rig.delivered_ids(), []);
}

#[tokio::test]
async fn a_decision_of_a_version_that_told_nobody_is_not_told_years_later() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let claude = rig.connect(Role::Claude, None, false);
    let proposal = proposed(&mut rig, &claude, Vec::new()).await;
    let decision = rig.daemon.base.recorder.entry(
        Party::Human,
        Some(Agent::Claude.into()),
        EntryKind::FinalityDecision(FinalityDecision::of(proposal, true)),
        "approved: done",
        None,
    );
    rig.daemon
        .base
        .recorder
        .append(vec![decision], Box::new(|_, _| {}));
    rig.settle().await;
    drop(rig);
    assert_eq!(told(&Rig::start(&place).await), []);
}

#[tokio::test]
async fn an_agent_that_was_never_there_is_not_told_of_decisions() {
    let mut rig = Rig::fresh().await;
    rig.daemon.base.programs.looked(Default::default());
    let claude = rig.connect(Role::Claude, None, false);
    let first = proposed(&mut rig, &claude, Vec::new()).await;
    decided(&mut rig, &first, None).await;
    let receivers = |rig: &Rig| -> Vec<Agent> { told(rig).iter().map(|(to, _)| *to).collect() };
    assert_eq!(receivers(&rig), [Agent::Claude]);
    assert!(rig.daemon.base.recorder.world().untold_decisions.is_empty());
    let _codex = rig.connect(Role::Codex, None, false);
    let second = proposed(&mut rig, &claude, Vec::new()).await;
    decided(&mut rig, &second, None).await;
    assert_eq!(
        receivers(&rig),
        [Agent::Claude, Agent::Claude, Agent::Codex]
    );
}
