use ed25519_dalek::{Signer as _, SigningKey};

use crate::agent::{Agent, Party};
use crate::alarm::Alarm;
use crate::entry::{
    Artifact, ArtifactStatus, DecisionSignature, Entry, EntryKind, Fate, FinalityDecision,
    FinalityProposal, LifecycleEvent, Predecessor, WorkTree,
};
use crate::fold::fold;
use crate::hex::hex;
use crate::id::{EntryId, Seq, SessionId};
use crate::signer::Signer;
use crate::signing::{
    ActSignature, DecisionStatement, META, NotSigned, OperatorAct, SignedPlace, SigningChange,
    SigningNotice, SigningStatement, TRUSTED,
};
use crate::snapshot::Snapshot;

struct Record {
    world: Snapshot,
    key: SigningKey,
    session: SessionId,
}

impl Record {
    /// A proposal that waits, recorded before decisions are signed.
    fn with_a_proposal() -> Self {
        let mut record = Self {
            world: Snapshot::default(),
            key: SigningKey::from_bytes(&[7; 32]),
            session: SessionId::new("session"),
        };
        record.propose("p1");
        record
    }

    fn entry(&self, id: &str, source: Party, kind: EntryKind) -> Entry {
        Entry {
            id: EntryId::new(id),
            timestamp_ms: 1,
            session_id: self.session.clone(),
            seq: Seq(self.world.seq.0 + 1),
            ..Entry::new(source, kind)
        }
    }

    fn fold(&mut self, entry: Entry) {
        fold(&mut self.world, &entry);
        self.world
            .note_hash(&entry.id, &format!("hash of {}", entry.id));
    }

    fn put(&mut self, id: &str, source: Party, kind: EntryKind, change: Option<SigningChange>) {
        let mut entry = self.entry(id, source, kind);
        if let Some(change) = change {
            entry.meta.insert(META.to_owned(), change.to_value());
        }
        self.fold(entry);
    }

    fn propose(&mut self, id: &str) {
        let kind = EntryKind::FinalityProposal(FinalityProposal {
            summary: "done".to_owned(),
            handles: vec![EntryId::new("h1")],
            ..FinalityProposal::default()
        });
        self.put(id, Agent::Codex.into(), kind, None);
    }

    fn change(&mut self, change: SigningChange) {
        let kind = LifecycleEvent::SigningChanged.into();
        self.put("change", Party::Human, kind, Some(change));
    }

    fn on(&mut self) {
        let signer = self.signer();
        let notice = SigningNotice::sign(signer, None, self.with()).unwrap();
        self.change(SigningChange::On { notice });
    }

    fn signer(&self) -> Signer {
        Signer::new(self.key.verifying_key().as_bytes())
    }

    fn sign(&self, bytes: &[u8]) -> String {
        hex(&self.key.sign(bytes).to_bytes())
    }

    fn signed(&self, proposal: &str, head: &str, tree: &str) -> FinalityDecision {
        let statement = DecisionStatement {
            project: None,
            head,
            proposal: &EntryId::new(proposal),
            tree,
            approved: true,
        };
        FinalityDecision {
            signature: Some(DecisionSignature {
                signer: self.signer(),
                head: head.to_owned(),
                value: self.sign(&statement.to_bytes()),
            }),
            ..unsigned(proposal, tree)
        }
    }

    fn decide(&mut self, decision: FinalityDecision) {
        let kind = EntryKind::FinalityDecision(decision);
        self.put("d", Party::Human, kind, None);
    }

    fn alarms(&self) -> Vec<&Alarm> {
        self.world.open_alarms().map(|open| &open.alarm).collect()
    }
}

fn unsigned(proposal: &str, tree: &str) -> FinalityDecision {
    FinalityDecision {
        tree: Some(WorkTree {
            commit: None,
            tree: tree.to_owned(),
            changed: 0,
        }),
        handles: vec![EntryId::new("h1")],
        ..FinalityDecision::of(EntryId::new(proposal), true)
    }
}

/// That a decision changes nothing, and is an alarm that says why.
fn refused(record: &mut Record, decision: FinalityDecision, why: NotSigned) {
    let before = record.world.clone();
    record.decide(decision);
    let seq = record.world.seq.0;
    let Some(Alarm::UnsignedDecision {
        seq: at, why: told, ..
    }) = record.alarms().last()
    else {
        panic!("no alarm: {why}");
    };
    assert_eq!((*at, *told), (seq, why));
    assert_eq!(record.world.pending_proposals, before.pending_proposals);
    assert_eq!(record.world.decided_proposals, before.decided_proposals);
    assert_eq!(record.world.approved_through, before.approved_through);
    assert_eq!(record.world.approved_tree, before.approved_tree);
}

#[test]
fn without_signing_a_decision_needs_no_signature() {
    let mut record = Record::with_a_proposal();
    record.decide(unsigned("p1", "t"));
    assert!(record.world.pending_proposals.is_empty());
    assert!(record.alarms().is_empty());
}

#[test]
fn from_the_switch_on_only_what_the_key_signed_decides() {
    let mut record = Record::with_a_proposal();
    record.on();
    refused(&mut record, unsigned("p1", "t"), NotSigned::Missing);

    // Of another proposal, and so of another record as well.
    let other = record.signed("p1", "hash of another", "t");
    refused(&mut record, other, NotSigned::OtherHead);
    let mut renamed = record.signed("p0", "hash of p1", "t");
    renamed.proposal_id = EntryId::new("p1");
    refused(&mut record, renamed, NotSigned::Wrong);
    // Of another tree, and with another verdict.
    let mut moved = record.signed("p1", "hash of p1", "t");
    moved.tree = unsigned("p1", "t2").tree;
    refused(&mut record, moved, NotSigned::Wrong);
    let mut turned = record.signed("p1", "hash of p1", "t");
    turned.approved = false;
    turned.handles = Vec::new();
    refused(&mut record, turned, NotSigned::Wrong);
    // What closes more than it says.
    let mut more = record.signed("p1", "hash of p1", "t");
    more.handles.push(EntryId::new("h2"));
    refused(&mut record, more, NotSigned::OtherHandoffs);
    // By the gates, and by another key.
    let mut auto = record.signed("p1", "hash of p1", "t");
    auto.runs = vec![EntryId::new("run")];
    refused(&mut record, auto, NotSigned::Missing);
    let stranger = Record {
        world: Snapshot::default(),
        key: SigningKey::from_bytes(&[8; 32]),
        session: SessionId::new("session"),
    };
    let by_stranger = stranger.signed("p1", "hash of p1", "t");
    refused(&mut record, by_stranger, NotSigned::OtherSigner);

    let right = record.signed("p1", "hash of p1", "t");
    record.decide(right.clone());
    assert!(record.world.pending_proposals.is_empty());
    assert_eq!(record.world.approved_tree, right.tree);
    // The same one again finds nothing undecided, and is no alarm.
    let alarms = record.alarms().len();
    record.decide(right);
    assert_eq!(record.alarms().len(), alarms);
}

#[test]
fn switching_off_is_signed_over_this_very_switch_on() {
    let mut record = Record::with_a_proposal();
    record.on();
    let off = |record: &Record, head: &str| SigningChange::Off {
        value: record.sign(&SigningStatement::Off { head }.to_bytes()),
    };
    let forged = SigningChange::Off {
        value: "00".repeat(64),
    };
    let elsewhere = off(&record, "hash of another line");
    for forged in [forged, elsewhere] {
        record.change(forged);
        let seq = record.world.seq.0;
        assert_eq!(
            record.alarms().last(),
            Some(&&Alarm::UnsignedChange { seq })
        );
        assert!(record.world.signing.is_some());
    }
    let right = off(&record, "hash of change");
    record.change(right);
    assert_eq!(record.world.signing, None);
    record.decide(unsigned("p1", "t"));
    assert!(record.world.pending_proposals.is_empty());
}

/// Every act is signed from the entry `change` on, in this very session of the project `here`.
fn all_signed() -> Record {
    let mut record = Record::with_a_proposal();
    let place = SignedPlace {
        project: "here".to_owned(),
        session: SessionId::new("session"),
    };
    let notice = SigningNotice::sign(record.signer(), Some(place), record.with()).unwrap();
    record.change(SigningChange::On { notice });
    assert_eq!(record.alarms().len(), 0);
    record
}

impl Record {
    fn with(&self) -> impl Fn(&[u8]) -> Result<String, ()> {
        move |bytes: &[u8]| Ok(self.sign(bytes))
    }

    fn act(&self, act: OperatorAct, subject: &str, verdict: &str) -> ActSignature {
        let state = self.world.signing.as_ref().unwrap();
        state
            .sign_act(act, subject, "", verdict, self.with())
            .unwrap()
    }

    /// An entry with a signature in the place where an act has it; its alarm, if it is one.
    fn signed_entry(
        &mut self,
        source: Party,
        kind: impl Into<EntryKind>,
        signature: Option<&ActSignature>,
    ) -> Option<NotSigned> {
        let before = self.alarms().len();
        let mut entry = self.entry("act", source, kind.into());
        if let Some(signature) = signature {
            signature.put_on(&mut entry);
        }
        self.fold(entry);
        let alarms = self.alarms();
        let raised = alarms.get(before)?;
        match raised {
            Alarm::UnsignedAct { why, .. } => Some(*why),
            other => panic!("{other:?}"),
        }
    }

    fn trust(&mut self, signature: Option<&ActSignature>) -> Option<NotSigned> {
        self.signed_entry(Party::Human, LifecycleEvent::ConfigTrusted, signature)
    }
}

#[test]
fn trust_counts_signed_over_the_act_before_and_only_once() {
    let mut record = all_signed();
    let right = record.act(OperatorAct::Trust, "digest", TRUSTED);
    assert_eq!(record.trust(None), Some(NotSigned::Missing));
    let mut other_subject = right.clone();
    other_subject.subject = "another digest".to_owned();
    assert_eq!(record.trust(Some(&other_subject)), Some(NotSigned::Wrong));
    let another_act = record.act(OperatorAct::Release, "digest", TRUSTED);
    assert_eq!(record.trust(Some(&another_act)), Some(NotSigned::Wrong));
    let another_verdict = record.act(OperatorAct::Trust, "digest", "maybe");
    assert_eq!(
        record.trust(Some(&another_verdict)),
        Some(NotSigned::OtherSubject)
    );

    assert_eq!(record.trust(Some(&right)), None);
    // What was trusted before cannot be brought back with its signature.
    assert_eq!(record.trust(Some(&right)), Some(NotSigned::OtherHead));
    let next = record.act(OperatorAct::Trust, "digest", TRUSTED);
    assert_eq!(record.trust(Some(&next)), None);
}

#[test]
fn what_is_signed_in_one_project_counts_in_no_copy_of_it() {
    let mut there = all_signed();
    let mut here = all_signed();
    let place = SignedPlace {
        project: "there".to_owned(),
        session: SessionId::new("session"),
    };
    let notice = SigningNotice::sign(there.signer(), Some(place), there.with()).unwrap();
    there.world.signing.as_mut().unwrap().notice = notice;
    let trusted = there.act(OperatorAct::Trust, "digest", TRUSTED);
    assert_eq!(here.trust(Some(&trusted)), Some(NotSigned::Wrong));

    // The same proposal with the same hash on its line.
    let state = there.world.signing.clone().unwrap();
    let (id, tree) = (EntryId::new("p1"), "t");
    let mut decision = here.signed("p1", "hash of p1", tree);
    decision.signature = state
        .sign_decision("hash of p1", &id, tree, true, there.with())
        .ok();
    here.decide(decision.clone());
    assert_eq!(here.world.pending_proposals.len(), 1);
    // And one of an earlier version, which named no project.
    let old = here.signed("p1", "hash of p1", tree);
    here.decide(old);
    assert_eq!(here.world.pending_proposals.len(), 1);
    let state = here.world.signing.clone().unwrap();
    decision.signature = state
        .sign_decision("hash of p1", &id, tree, true, here.with())
        .ok();
    here.decide(decision);
    assert!(here.world.pending_proposals.is_empty());
}

#[test]
fn a_release_gate_counts_as_it_was_signed_and_an_agents_is_a_claim() {
    let mut record = all_signed();
    let artifact = |status| {
        EntryKind::Artifact(Artifact {
            kind: "release_gate".into(),
            title: "release gate".to_owned(),
            status,
            ..Artifact::default()
        })
    };
    let passed = || artifact(ArtifactStatus::Passed);
    let failed = record.act(OperatorAct::Release, "runs", "failed");
    let by = Party::System;
    assert_eq!(
        record.signed_entry(by.clone(), passed(), None),
        Some(NotSigned::Missing)
    );
    let turned = record.signed_entry(by.clone(), passed(), Some(&failed));
    assert_eq!(turned, Some(NotSigned::OtherSubject));
    assert!(record.world.artifacts.is_empty());
    let right = record.act(OperatorAct::Release, "runs", "passed");
    assert_eq!(record.signed_entry(by, passed(), Some(&right)), None);
    assert_eq!(record.world.artifacts.len(), 1);
    let claim = record.signed_entry(Agent::Codex.into(), passed(), None);
    assert_eq!(claim, None);
}

#[test]
fn a_session_goes_on_from_a_signed_one_only_where_the_key_ended_that_one() {
    let old = all_signed();
    let notice = old.world.signing.as_ref().unwrap().notice.clone();
    let right = old.act(OperatorAct::Clear, "session", "archived");
    let compacted = old.act(OperatorAct::Clear, "session", "compacted");
    let elsewhere = old.act(OperatorAct::Clear, "another", "archived");
    let begun = |signature: Option<&ActSignature>| {
        let mut record = Record::with_a_proposal();
        record.world = Snapshot::default();
        record.session = SessionId::new("next");
        let predecessor = Some(Predecessor {
            session_id: SessionId::new("session"),
            entries: 3,
            head: "old head".to_owned(),
            fate: Fate::Archived,
            earlier: None,
        });
        let kind = EntryKind::SessionStarted { predecessor };
        let raised = record.signed_entry(Party::Human, kind, signature);
        assert_eq!(raised, None);
        record.change(SigningChange::On {
            notice: notice.clone(),
        });
        assert!(record.world.signing.is_some());
        let raised = record.alarms().first().map(|alarm| (*alarm).clone());
        raised.map(|alarm| match alarm {
            Alarm::UnsignedAct { why, act, .. } => {
                assert_eq!(act, OperatorAct::Clear);
                why
            }
            other => panic!("{other:?}"),
        })
    };
    assert_eq!(begun(Some(&right)), None);
    assert_eq!(begun(None), Some(NotSigned::Missing));
    assert_eq!(begun(Some(&compacted)), Some(NotSigned::OtherSubject));
    assert_eq!(begun(Some(&elsewhere)), Some(NotSigned::OtherSubject));
    // The word in the old session, too.
    let mut old = all_signed();
    let mut clear =
        |signature| old.signed_entry(Party::Human, LifecycleEvent::SessionCleared, signature);
    assert_eq!(clear(None), Some(NotSigned::Missing));
    assert_eq!(clear(Some(&right)), None);
}

#[test]
fn a_key_that_signed_the_decisions_alone_comes_to_sign_every_act_by_its_own_word() {
    let mut record = Record::with_a_proposal();
    record.on();
    assert_eq!(record.trust(None), None);
    let place = SignedPlace {
        project: "here".to_owned(),
        session: SessionId::new("session"),
    };
    let notice = SigningNotice::sign(record.signer(), Some(place), record.with()).unwrap();
    let state = record.world.signing.clone().unwrap();
    let change = state.sign_replacement(notice, record.with()).unwrap();
    record.change(change);
    assert_eq!(record.alarms().len(), 0);
    assert_eq!(record.trust(None), Some(NotSigned::Missing));
    let right = record.act(OperatorAct::Trust, "digest", TRUSTED);
    assert_eq!(record.trust(Some(&right)), None);
    // The announcement of before, copied, takes nothing back.
    let before = record.alarms().len();
    record.change(SigningChange::On {
        notice: state.notice,
    });
    assert_eq!(record.alarms().len(), before + 1);
    assert_eq!(record.trust(None), Some(NotSigned::Missing));
}
