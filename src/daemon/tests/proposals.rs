//! A proposal that is not decided as it was made: it went stale, or its agent took it back.

use tokio::sync::oneshot;

use super::rig::{Guest, Rig};
use crate::core::agent::{Agent, Party};
use crate::core::entry::{LifecycleEvent, NoteKind, TreeFound, WorkTree};
use crate::core::id::EntryId;
use crate::core::signing::{META, SigningChange, SigningNotice};
use crate::daemon::event::{Event, TreePurpose};
use crate::store::operator_key;
use crate::store::testing::Place;
use crate::wire::control::{
    Command, DecideParams, NoteParams, ProposeParams, Recorded, Refusal, RefusalCode, Reply, Role,
};

fn tree(hash: &str) -> Option<WorkTree> {
    Some(WorkTree {
        commit: Some("c0ffee".to_owned()),
        tree: hash.to_owned(),
        changed: 1,
    })
}

async fn proposed(rig: &mut Rig, claude: &Guest, tree: Option<WorkTree>) -> EntryId {
    proposed_as(rig, claude, "done", Vec::new(), tree).await
}

/// Claude proposes this, while `tree` lies there.
pub(super) async fn proposed_as(
    rig: &mut Rig,
    claude: &Guest,
    summary: &str,
    handles: Vec<EntryId>,
    tree: Option<WorkTree>,
) -> EntryId {
    let (reply, proposed) = oneshot::channel();
    rig.daemon.on_event(Event::TreeRead {
        purpose: TreePurpose::Propose {
            conn: claude.conn,
            params: ProposeParams {
                agent: Agent::Claude,
                summary: summary.to_owned(),
                evidence: vec!["tests".to_owned()],
                remaining_risk: None,
                handles,
                runtime_session_id: None,
            },
            reply: Some(reply),
        },
        tree: tree.into(),
        changed: None,
    });
    rig.settle().await;
    match proposed.await.unwrap() {
        Ok(Reply::Proposed(proposal)) => proposal.proposal_id,
        other => panic!("{other:?}"),
    }
}

/// The operator approves, having seen `stale_tree`, while `tree` lies there.
pub(super) fn approve(
    rig: &mut Rig,
    proposal: &EntryId,
    tree: impl Into<TreeFound>,
    stale_tree: Option<&str>,
) -> oneshot::Receiver<Result<Reply, Refusal>> {
    let (reply, answer) = oneshot::channel();
    rig.daemon.on_event(Event::TreeRead {
        purpose: TreePurpose::Decide {
            params: DecideParams {
                stale_tree: stale_tree.map(str::to_owned),
                ..DecideParams::of(proposal.clone(), true)
            },
            reply,
        },
        tree: tree.into(),
        changed: None,
    });
    answer
}

fn take_back(
    rig: &mut Rig,
    guest: &Guest,
    agent: Agent,
    proposal: &EntryId,
) -> oneshot::Receiver<Result<Reply, Refusal>> {
    rig.ask(
        guest,
        Command::AppendNote(NoteParams {
            withdraws: Some(proposal.clone()),
            ..NoteParams::new(agent, NoteKind::Note, "one test more")
        }),
    )
}

#[tokio::test]
async fn what_changed_since_is_approved_only_as_the_operator_saw_it() {
    let mut rig = Rig::fresh().await;
    let claude = rig.connect(Role::Claude, None, false);
    let proposal = proposed(&mut rig, &claude, tree("proposed")).await;
    for (lies_there, seen) in [
        (tree("changed"), None),
        (tree("changed again"), Some("changed")),
        (None, None),
    ] {
        let refused = approve(&mut rig, &proposal, lies_there, seen)
            .await
            .unwrap();
        assert_eq!(refused.unwrap_err().code, RefusalCode::StaleTree);
    }
    assert!(
        !rig.daemon
            .base
            .recorder
            .world()
            .counts
            .contains_key("finality_decision")
    );
    let answer = approve(&mut rig, &proposal, tree("changed"), Some("changed"));
    rig.settle().await;
    answer.await.unwrap().unwrap();
    let decided = rig
        .daemon
        .base
        .recorder
        .world()
        .proposal(&proposal)
        .unwrap();
    let (decision, _) = decided.decision.clone().unwrap();
    assert_eq!(
        decision.tree.unwrap().tree,
        "changed",
        "it names what it is about"
    );
}

#[tokio::test]
async fn a_tree_that_cannot_be_read_is_never_the_one_that_was_proposed() {
    let mut rig = Rig::fresh().await;
    let claude = rig.connect(Role::Claude, None, false);
    let proposal = proposed(&mut rig, &claude, None).await;
    let refused = approve(&mut rig, &proposal, TreeFound::Unreadable, None)
        .await
        .unwrap()
        .unwrap_err();
    assert_eq!(refused.code, RefusalCode::StaleTree);
    assert!(
        refused.message.contains("could not be read"),
        "{}",
        refused.message
    );
    // The operator was told that nobody knows.
    let seen = Some(TreeFound::UNREADABLE);
    let answer = approve(&mut rig, &proposal, TreeFound::Unreadable, seen);
    rig.settle().await;
    answer.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_commit_of_what_was_proposed_changes_nothing() {
    let mut rig = Rig::fresh().await;
    let claude = rig.connect(Role::Claude, None, false);
    let proposal = proposed(&mut rig, &claude, tree("proposed")).await;
    let committed = Some(WorkTree {
        commit: Some("another".to_owned()),
        tree: "proposed".to_owned(),
        changed: 0,
    });
    let answer = approve(&mut rig, &proposal, committed, None);
    rig.settle().await;
    answer.await.unwrap().unwrap();
}

#[tokio::test]
async fn what_its_agent_took_back_is_not_decided_and_what_is_decided_is_not_taken_back() {
    let mut rig = Rig::fresh().await;
    let claude = rig.connect(Role::Claude, None, false);
    let codex = rig.connect(Role::Codex, None, false);
    let proposal = proposed(&mut rig, &claude, None).await;

    let refused = take_back(&mut rig, &codex, Agent::Codex, &proposal)
        .await
        .unwrap();
    assert_eq!(
        refused.unwrap_err().code,
        RefusalCode::WrongState,
        "it is of the other"
    );

    let answer = take_back(&mut rig, &claude, Agent::Claude, &proposal);
    rig.settle().await;
    let Ok(Reply::Recorded(Recorded { entry_id: note, .. })) = answer.await.unwrap() else {
        panic!("not taken back");
    };
    let refused = approve(&mut rig, &proposal, None, None)
        .await
        .unwrap()
        .unwrap_err();
    assert_eq!(refused.code, RefusalCode::WrongState);
    assert!(
        refused
            .message
            .contains(&format!("withdrawn by entry {note}")),
        "{refused:?}"
    );

    let proposal = proposed(&mut rig, &claude, None).await;
    let decision = approve(&mut rig, &proposal, None, None);
    let refused = take_back(&mut rig, &claude, Agent::Claude, &proposal)
        .await
        .unwrap();
    assert_eq!(refused.unwrap_err().code, RefusalCode::InFlight);
    rig.settle().await;
    decision.await.unwrap().unwrap();
    let refused = take_back(&mut rig, &claude, Agent::Claude, &proposal)
        .await
        .unwrap();
    assert_eq!(refused.unwrap_err().code, RefusalCode::WrongState);
}

#[tokio::test]
async fn a_signed_rejection_counts_on_the_tree_that_it_was_signed_on_and_an_approval_on_that_of_now()
 {
    let place = Place::new();
    let key = operator_key::create(&place.user, "a long passphrase").unwrap();
    let sign = |bytes: &[u8]| Ok::<_, ()>(key.value(bytes));
    let mut rig = Rig::start(&place).await;
    let claude = rig.connect(Role::Claude, None, false);
    let notice = SigningNotice::sign(key.signer(), None, sign).unwrap();
    let recorder = &mut rig.daemon.base.recorder;
    let event = LifecycleEvent::SigningChanged;
    let mut on = recorder.entry(Party::Human, None, event, "signed", None);
    let change = SigningChange::On { notice };
    on.meta.insert(META.to_owned(), change.to_value());
    recorder.keep_then(vec![on], Box::new(|_, _| {}));
    rig.settle().await;
    let proposal = proposed(&mut rig, &claude, tree("proposed")).await;
    let world = rig.daemon.base.recorder.world();
    let signing = world.signing.clone().unwrap();
    let head = world.pending_proposals[&proposal].hash.clone().unwrap();
    for (approve, signed, said, counts) in [
        // What an agent wrote since the key was touched is approved by nobody.
        (true, "proposed", tree("proposed"), false),
        // What is said to be signed is what is signed.
        (false, "proposed", tree("another"), false),
        (false, "proposed", None, false),
        (false, "proposed", tree("proposed"), true),
    ] {
        let signature = signing.sign_decision(&head, &proposal, signed, approve, sign);
        let (reply, decided) = oneshot::channel();
        rig.daemon.on_event(Event::TreeRead {
            purpose: TreePurpose::Decide {
                params: DecideParams {
                    reason: Some("not yet".to_owned()),
                    stale_tree: Some("written meanwhile".to_owned()),
                    signature: signature.ok(),
                    signed_tree: said,
                    ..DecideParams::of(proposal.clone(), approve)
                },
                reply,
            },
            tree: tree("written meanwhile").into(),
            changed: None,
        });
        rig.settle().await;
        let decided = decided.await.unwrap().map_err(|refused| refused.code);
        assert_eq!(decided.err(), (!counts).then_some(RefusalCode::NotSigned));
        // The record believes it as well.
        let pending = &rig.daemon.base.recorder.world().pending_proposals;
        assert_eq!(pending.is_empty(), counts);
    }
    let of = rig
        .daemon
        .base
        .recorder
        .world()
        .proposal(&proposal)
        .cloned();
    let (decision, _) = of.unwrap().decision.unwrap();
    assert_eq!(decision.tree, tree("proposed"));
}
