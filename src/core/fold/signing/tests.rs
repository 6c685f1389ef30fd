#![allow(clippy::unwrap_used, reason = "tests")]

use ed25519_dalek::{Signer as _, SigningKey};
use serde_json::Map;

use crate::agent::{Agent, Party};
use crate::alarm::Alarm;
use crate::entry::{
    Entry, EntryKind, FinalityDecision, FinalityProposal, LifecycleEvent, WorkTree,
};
use crate::fold::fold;
use crate::id::{EntryId, Seq, SessionId};
use crate::signing::{
    DecisionSignature, DecisionStatement, META, NotSigned, Signer, SigningChange, SigningNotice,
    SigningStatement,
};
use crate::snapshot::Snapshot;
use crate::wire::line::hex;

struct Record {
    world: Snapshot,
    key: SigningKey,
}

impl Record {
    /// A proposal that waits, recorded before decisions are signed.
    fn with_a_proposal() -> Self {
        let mut record = Self {
            world: Snapshot::default(),
            key: SigningKey::from_bytes(&[7; 32]),
        };
        record.propose("p1");
        record
    }

    fn put(&mut self, id: &str, source: Party, kind: EntryKind, change: Option<SigningChange>) {
        let mut meta = Map::new();
        if let Some(change) = change {
            meta.insert(META.to_owned(), change.to_value());
        }
        let entry = Entry {
            id: EntryId::new(id),
            timestamp_ms: 1,
            session_id: SessionId::new("session"),
            source,
            target: None,
            content: String::new(),
            whole: None,
            kind,
            runtime_session: None,
            carried: None,
            meta,
            seq: Seq(self.world.seq.0 + 1),
        };
        fold(&mut self.world, &entry);
        self.world.note_hash(&entry.id, &format!("hash of {id}"));
    }

    fn propose(&mut self, id: &str) {
        let kind = EntryKind::FinalityProposal(FinalityProposal {
            summary: "done".to_owned(),
            evidence: Vec::new(),
            remaining_risk: None,
            handles: vec![EntryId::new("h1")],
            tree: None,
        });
        self.put(id, Agent::Codex.into(), kind, None);
    }

    fn change(&mut self, change: SigningChange) {
        let kind = LifecycleEvent::SigningChanged.into();
        self.put("change", Party::Human, kind, Some(change));
    }

    fn on(&mut self) {
        let signer = self.signer();
        let value = self.sign(&SigningStatement::On(&signer).to_bytes());
        let notice = SigningNotice { signer, value };
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
        proposal_id: EntryId::new(proposal),
        approved: true,
        reason: None,
        tree: Some(WorkTree {
            commit: None,
            tree: tree.to_owned(),
            changed: 0,
        }),
        handles: vec![EntryId::new("h1")],
        tells: Vec::new(),
        runs: Vec::new(),
        signature: None,
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
