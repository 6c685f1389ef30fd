//! [`SigningCheck`]: who signed which decision, and what is not signed as it should be.

use std::collections::HashMap;

use ctxrelay_core::agent::Party;
use ctxrelay_core::alarm::Alarm;
use ctxrelay_core::entry::{Entry, EntryKind, LifecycleEvent, Predecessor};
use ctxrelay_core::id::{EntryId, Seq};
use ctxrelay_core::signer::Signer;
use ctxrelay_core::signing::{
    ActSignature, NotSigned, OperatorAct, SignedProposal, SigningChange, SigningState,
};
use ctxrelay_core::wire::line::parse;

/// An act of the operator that a key signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedEntry {
    /// Its number.
    pub seq: u64,
    /// What was done.
    pub what: SignedWhat,
    /// Whose key.
    pub signer: Signer,
}

impl SignedWhat {
    /// In a few words.
    pub fn text(&self) -> String {
        match self {
            Self::Decision { proposal, approved } => {
                let verdict = if *approved { "approved" } else { "rejected" };
                format!("{verdict} {proposal}")
            }
            Self::Act {
                act,
                subject,
                verdict,
            } => match act {
                OperatorAct::Trust => {
                    let digest: String = subject.chars().take(DIGEST_CHARS).collect();
                    format!("trusted the configuration {digest}")
                }
                OperatorAct::Clear => format!("{verdict} {subject}"),
                OperatorAct::Release => format!("release gate {verdict}"),
            },
            Self::Session { from } => format!("goes on from {from}"),
            Self::Signing => "signing changed".to_owned(),
        }
    }
}

/// How much of a digest is named.
const DIGEST_CHARS: usize = 12;

/// What the operator did by a signed act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignedWhat {
    Decision {
        proposal: EntryId,
        /// Yes or no.
        approved: bool,
    },
    /// Another act.
    Act {
        act: OperatorAct,
        /// What it was done to.
        subject: String,
        verdict: String,
    },
    /// The session continues one that the key ended.
    Session {
        /// That one's id.
        from: String,
    },
    /// Signing itself changed.
    Signing,
}

/// Checks a record line by line, and keeps only its proposals' hashes.
#[derive(Debug, Default)]
pub struct SigningCheck {
    state: Option<SigningState>,
    predecessor: Option<Predecessor>,
    begun_by: Option<ActSignature>,
    proposals: HashMap<EntryId, (String, Vec<EntryId>)>,
    /// What was signed, oldest first.
    pub(super) signed: Vec<SignedEntry>,
}

/// What a line of interest has in it: a text that only looks like it costs a reading.
const MARKS: [&str; 8] = [
    "\"config_trusted\"",
    "\"session_cleared\"",
    "\"session_compacted\"",
    "\"session_started\"",
    "\"release_gate\"",
    "\"finality_proposal\"",
    "\"finality_decision\"",
    "\"signing\"",
];

impl SigningCheck {
    /// Takes an entry in, with the hash on its line: who signed what it does, or why it is not
    /// believed; nothing of one that nobody signs.
    pub fn judge(&mut self, entry: &Entry, hash: &str) -> Option<Result<SignedEntry, Alarm>> {
        let before = self.signed.len();
        if let Some(alarm) = self.take(entry, entry.seq.0, hash) {
            return Some(Err(alarm));
        }
        let signed = self.signed.get(before).cloned();
        // Nobody asks for all of them.
        self.signed.clear();
        signed.map(Ok)
    }

    /// Takes a line in. Returns its entry and the alarm, when it is not signed as it has to be.
    pub(super) fn line(&mut self, text: &[u8], seq: u64, hash: &str) -> Option<(EntryId, Alarm)> {
        let text_of = std::str::from_utf8(text).ok()?;
        if !MARKS.iter().any(|mark| text_of.contains(mark)) {
            return None;
        }
        let entry = parse(text).ok()?.entry;
        let alarm = self.take(&entry, seq, hash)?;
        Some((entry.id, alarm))
    }

    fn signed(&mut self, seq: u64, what: SignedWhat, signer: Signer) {
        self.signed.push(SignedEntry { seq, what, signer });
    }

    fn act(&mut self, entry: &Entry, act: OperatorAct, seq: u64, hash: &str) -> Option<Alarm> {
        let state = self.state.as_mut().filter(|state| state.signs_acts())?;
        if let Err(why) = state.check_entry(act, entry) {
            return Some(Alarm::UnsignedAct { seq, act, why });
        }
        state.act = Seq(seq);
        state.head = Some(hash.to_owned());
        let signature = ActSignature::of(entry)?;
        let what = SignedWhat::Act {
            act,
            subject: signature.subject,
            verdict: signature.verdict,
        };
        self.signed(seq, what, signature.signer);
        None
    }

    /// Whether a session that goes on from a signed one was begun by its key.
    fn session(&mut self, entry: &Entry, seq: u64) -> Option<Alarm> {
        let notice = self.state.as_ref().map(|state| state.notice.clone())?;
        let session = entry.session_id.as_str();
        let (before, by) = (self.predecessor.as_ref(), self.begun_by.as_ref());
        if let Err(why) = notice.check_session(session, before, by) {
            let act = OperatorAct::Clear;
            return Some(Alarm::UnsignedAct { seq, act, why });
        }
        if let Some(by) = self.begun_by.take() {
            self.signed(seq, SignedWhat::Session { from: by.subject }, notice.signer);
        }
        None
    }

    fn take(&mut self, entry: &Entry, seq: u64, hash: &str) -> Option<Alarm> {
        if let Some(act) = OperatorAct::of(entry) {
            return self.act(entry, act, seq, hash);
        }
        match &entry.kind {
            EntryKind::FinalityProposal(proposal) => {
                let known = (hash.to_owned(), proposal.handles.clone());
                self.proposals.insert(entry.id.clone(), known);
                None
            }
            EntryKind::FinalityDecision(decision) => {
                let state = self.state.as_ref()?;
                let proposal = self.proposals.get(&decision.proposal_id);
                let proposal = proposal.map(|(head, handles)| SignedProposal {
                    head: Some(head),
                    handles,
                });
                let checked = match decision.is_auto() {
                    true => Err(NotSigned::Missing),
                    false => state.check(decision, proposal),
                };
                let why = match checked {
                    Ok(()) => {
                        let what = SignedWhat::Decision {
                            proposal: decision.proposal_id.clone(),
                            approved: decision.approved,
                        };
                        let signer = state.notice.signer.clone();
                        self.signed(seq, what, signer);
                        return None;
                    }
                    Err(why) => why,
                };
                Some(Alarm::UnsignedDecision {
                    seq,
                    proposal: decision.proposal_id.clone(),
                    why,
                })
            }
            EntryKind::Lifecycle {
                event: LifecycleEvent::SigningChanged,
            } => {
                let after = SigningChange::of(entry)
                    .map(|change| SigningState::after(self.state.as_ref(), change, Seq(seq)));
                let Some(Ok(state)) = after else {
                    return Some(Alarm::UnsignedChange { seq });
                };
                let before = std::mem::replace(&mut self.state, state);
                let begins = self.state.as_mut().filter(|state| state.since == Seq(seq));
                let Some(state) = begins else {
                    if let (Some(before), None) = (before, &self.state) {
                        self.signed(seq, SignedWhat::Signing, before.notice.signer);
                    }
                    return None;
                };
                state.head = Some(hash.to_owned());
                if entry.source == Party::Human {
                    let signer = state.notice.signer.clone();
                    self.signed(seq, SignedWhat::Signing, signer);
                }
                self.session(entry, seq)
            }
            EntryKind::SessionStarted { predecessor } => {
                self.predecessor.clone_from(predecessor);
                self.begun_by = ActSignature::of(entry);
                None
            }
            _ => None,
        }
    }
}
