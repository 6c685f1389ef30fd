//! [`SigningCheck`]: who signed which decision, and what is not signed as it has to be.

use std::collections::HashMap;

use ctxrelay_core::alarm::Alarm;
use ctxrelay_core::entry::{Entry, EntryKind, LifecycleEvent};
use ctxrelay_core::id::{EntryId, Seq};
use ctxrelay_core::signing::{NotSigned, SignedProposal, Signer, SigningChange, SigningState};
use ctxrelay_core::wire::line::parse;

/// A decision that a key signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedDecision {
    /// Its number.
    pub seq: u64,
    /// The proposal.
    pub proposal: EntryId,
    /// Yes or no.
    pub approved: bool,
    /// Whose key.
    pub signer: Signer,
}

/// Goes through a record line by line, and holds no more of it than its proposals' hashes.
#[derive(Debug, Default)]
pub(super) struct SigningCheck {
    state: Option<SigningState>,
    proposals: HashMap<EntryId, (String, Vec<EntryId>)>,
    /// What was signed, oldest first.
    pub(super) signed: Vec<SignedDecision>,
}

/// What a line of interest has in it: a text that only looks like it costs a reading.
const MARKS: [&str; 3] = [
    "\"finality_proposal\"",
    "\"finality_decision\"",
    "\"signing\"",
];

impl SigningCheck {
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

    fn take(&mut self, entry: &Entry, seq: u64, hash: &str) -> Option<Alarm> {
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
                        self.signed.push(SignedDecision {
                            seq,
                            proposal: decision.proposal_id.clone(),
                            approved: decision.approved,
                            signer: state.notice.signer.clone(),
                        });
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
                self.state = state;
                if let Some(state) = self.state.as_mut().filter(|state| state.since == Seq(seq)) {
                    state.head = Some(hash.to_owned());
                }
                None
            }
            _ => None,
        }
    }
}
