//! What a proposal had resolved, over a compaction.

use tokio::sync::oneshot;

use super::compact::{hand_off, note};
use super::rig::{Guest, Rig};
use crate::adapters::codex::fact::ReportedStatus;
use crate::core::agent::Agent;
use crate::core::entry::{NoteKind, TreeFound};
use crate::core::id::EntryId;
use crate::daemon::event::{Event, TreePurpose};
use crate::store::testing::Place;
use crate::wire::control::{Command, DecideParams, ProposeParams, Role, SendParams};

impl Rig {
    /// An agent says that this is done.
    pub(super) async fn propose(&mut self, guest: &Guest, agent: Agent, handoff: &EntryId) {
        let params = ProposeParams {
            agent,
            summary: "all done".to_owned(),
            evidence: vec!["tests".to_owned()],
            remaining_risk: None,
            handles: vec![handoff.clone()],
            runtime_session_id: None,
        };
        self.daemon.on_event(Event::TreeRead {
            purpose: TreePurpose::Propose {
                conn: guest.conn,
                params,
                reply: None,
            },
            tree: TreeFound::NoRepository,
            changed: None,
        });
        self.settle().await;
    }

    /// The operator says that what waits is not done.
    pub(super) async fn reject(&mut self) {
        let world = self.daemon.base.recorder.world();
        let params = DecideParams {
            reason: Some("the tests are missing".to_owned()),
            ..DecideParams::of(
                world.pending_proposals.keys().next().unwrap().clone(),
                false,
            )
        };
        let (reply, decided) = oneshot::channel();
        self.daemon.on_event(Event::TreeRead {
            purpose: TreePurpose::Decide { params, reply },
            tree: TreeFound::NoRepository,
            changed: None,
        });
        self.settle().await;
        decided.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_proposal_that_is_rejected_after_a_compaction_opens_again_what_it_had_resolved() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, Some(7_000_000), false);
    let operator = rig.connect(Role::Deck, None, true);
    let handoff = rig
        .newest(&claude, hand_off(Agent::Claude, "review it"))
        .await;
    rig.user_message("turn-1", Some(&handoff));
    rig.settle().await;
    rig.call(&claude, note(NoteKind::Blocker, "no database", Vec::new()))
        .await
        .unwrap();
    rig.call(&claude, note(NoteKind::Blocker, "no key", Vec::new()))
        .await
        .unwrap();
    let blockers = |rig: &Rig| -> Vec<EntryId> {
        let open = rig.daemon.base.recorder.world().open_blockers.iter();
        open.map(|blocker| blocker.id.clone()).collect()
    };
    let lifted = blockers(&rig)[1].clone();
    rig.call(&claude, note(NoteKind::Note, "there is one", vec![lifted]))
        .await
        .unwrap();
    rig.call(&claude, note(NoteKind::Note, "done", vec![handoff.clone()]))
        .await
        .unwrap();
    rig.propose(&claude, Agent::Claude, &handoff).await;
    let standing = blockers(&rig);
    assert_eq!(standing.len(), 1);
    rig.status(ReportedStatus::Idle);
    assert_eq!(rig.delivered_ids(), std::slice::from_ref(&handoff));
    rig.compact(&operator).await;
    assert!(rig.daemon.base.recorder.world().open_handoffs.is_empty());
    assert_eq!(blockers(&rig), standing);

    rig.reject().await;
    assert!(
        rig.daemon
            .base
            .recorder
            .world()
            .open_handoffs
            .contains_key(&handoff)
    );
    assert_eq!(rig.delivered().len(), 1, "the decision, and no old handoff");
}

#[tokio::test]
async fn what_a_rejection_opened_again_stays_open_over_a_compaction() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let claude = rig.connect(Role::Claude, Some(7_000_000), false);
    let codex = rig.connect(Role::Codex, None, false);
    let operator = rig.connect(Role::Deck, None, true);
    let handoff = rig
        .newest(&claude, hand_off(Agent::Claude, "review it"))
        .await;
    rig.user_message("turn-1", Some(&handoff));
    rig.settle().await;
    // Claude has not read it, so that the answer itself goes on.
    let answered = Command::Send(SendParams {
        from: Some(Agent::Codex),
        to: Some(Agent::Claude),
        text: "no race".to_owned(),
        in_reply_to: Some(handoff.clone()),
        handles: vec![handoff.clone()],
        ..SendParams::default()
    });
    let answer = rig.newest(&codex, answered).await;
    rig.propose(&codex, Agent::Codex, &handoff).await;
    assert!(rig.daemon.base.recorder.world().open_handoffs.is_empty());
    rig.reject().await;
    rig.status(ReportedStatus::Idle);
    rig.settle().await;
    // Nothing of it is on its way.
    for (id, _) in rig.delivered() {
        rig.user_message("turn-2", Some(&id));
    }
    rig.settle().await;
    for _ in 0..2 {
        rig.compact(&operator).await;
        let world = rig.daemon.base.recorder.world();
        assert_eq!(world.open_handoffs.keys().collect::<Vec<_>>(), [&handoff]);
        assert!(world.closed_handoffs.is_empty());
        assert!(world.unsettled.contains_key(&answer));
        // It is carried to be read, and answers nothing any more.
        let opened_again = &world.open_handoffs[&handoff];
        assert_eq!(opened_again.answer, None);
        assert_eq!(opened_again.final_answer, None);
    }
    let live = rig.daemon.base.recorder.world().as_ref().clone();
    drop(rig);
    assert_eq!(Rig::replayed(&place).0, live);
}
