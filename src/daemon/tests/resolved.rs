//! What a proposal had resolved, over a compaction.

use tokio::sync::oneshot;

use super::compact::{hand_off, note};
use super::rig::Rig;
use crate::adapters::codex::fact::ReportedStatus;
use crate::core::agent::Agent;
use crate::core::entry::{NoteKind, TreeFound};
use crate::core::id::EntryId;
use crate::daemon::event::{Event, TreePurpose};
use crate::store::testing::Place;
use crate::wire::control::{DecideParams, ProposeParams, Role};

#[tokio::test]
async fn a_proposal_that_is_rejected_after_a_compaction_opens_again_what_it_had_resolved() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
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
    let propose = ProposeParams {
        agent: Agent::Claude,
        summary: "all done".to_owned(),
        evidence: vec!["tests".to_owned()],
        remaining_risk: None,
        handles: vec![handoff.clone()],
        runtime_session_id: None,
    };
    rig.daemon.on_event(Event::TreeRead {
        purpose: TreePurpose::Propose {
            conn: claude.conn,
            params: propose,
            reply: None,
        },
        tree: TreeFound::NoRepository,
        changed: None,
    });
    rig.settle().await;
    let standing = blockers(&rig);
    assert_eq!(standing.len(), 1);
    rig.status(ReportedStatus::Idle);
    assert_eq!(rig.delivered_ids(), std::slice::from_ref(&handoff));
    rig.compact(&operator).await;
    assert!(rig.daemon.base.recorder.world().open_handoffs.is_empty());
    assert_eq!(blockers(&rig), standing);

    let proposal = rig
        .daemon
        .base
        .recorder
        .world()
        .pending_proposals
        .keys()
        .next()
        .unwrap();
    let params = DecideParams {
        proposal_id: proposal.clone(),
        approve: false,
        reason: Some("the tests are missing".to_owned()),
        stale_tree: None,
        signature: None,
        signed_tree: None,
    };
    let (reply, decided) = oneshot::channel();
    rig.daemon.on_event(Event::TreeRead {
        purpose: TreePurpose::Decide { params, reply },
        tree: TreeFound::NoRepository,
        changed: None,
    });
    rig.settle().await;
    decided.await.unwrap().unwrap();
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
