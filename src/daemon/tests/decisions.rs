//! The operator decides once.

use tokio::sync::oneshot;

use super::rig::Rig;
use crate::core::agent::Agent;
use crate::core::delivery::OnBusy;
use crate::daemon::event::{Event, TreePurpose};
use crate::store::testing::Place;
use crate::wire::control::{Command, DecideParams, HandoffParams, ProposeParams, Reply, Role};

#[tokio::test]
async fn of_two_decisions_at_once_one_is_recorded() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let claude = rig.connect(Role::Claude, None, false);
    let (reply, proposed) = oneshot::channel();
    rig.daemon.on_event(Event::TreeRead {
        purpose: TreePurpose::Propose {
            conn: claude.conn,
            params: ProposeParams {
                agent: Agent::Claude,
                summary: "done".to_owned(),
                evidence: vec!["tests".to_owned()],
                remaining_risk: None,
                handles: Vec::new(),
                runtime_session_id: None,
            },
            reply: Some(reply),
        },
        tree: None,
    });
    rig.settle().await;
    let Ok(Reply::Proposed(proposal)) = proposed.await.unwrap() else {
        panic!("not proposed");
    };
    let mut answers = Vec::new();
    for approve in [false, true] {
        let (reply, answer) = oneshot::channel();
        rig.daemon.on_event(Event::TreeRead {
            purpose: TreePurpose::Decide {
                params: DecideParams {
                    proposal_id: proposal.proposal_id.clone(),
                    approve,
                    reason: Some("because".to_owned()),
                },
                reply,
            },
            tree: None,
        });
        answers.push(answer);
    }
    rig.settle().await;
    let [first, second] = answers.try_into().unwrap();
    assert!(first.await.unwrap().is_ok());
    assert_eq!(second.await.unwrap().unwrap_err().code, "in_flight");
    assert_eq!(rig.daemon.world.counts["finality_decision"], 1);
}

#[tokio::test]
async fn a_handoff_that_was_rejected_can_be_handed_over_again() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let claude = rig.connect(Role::Claude, None, false);
    let hand_off = Command::Handoff(HandoffParams {
        from: Some(Agent::Claude),
        ask: "look at it".to_owned(),
        reason: "you know it".to_owned(),
        on_busy: OnBusy::Reject,
        ..HandoffParams::default()
    });
    rig.status(crate::adapters::codex::fact::ThreadStatus::Active { waiting: false });
    rig.call(&claude, hand_off.clone()).await.unwrap();
    rig.status(crate::adapters::codex::fact::ThreadStatus::Idle);
    drop(rig.ask(&claude, hand_off));
    rig.settle().await;
    assert_eq!(rig.delivered_ids().len(), 1);
}
