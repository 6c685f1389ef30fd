//! [`DeckSigning`]: what is decided on the screen is signed in this process, and the daemon gets
//! no more than the signature.

use std::sync::Arc;

use ctxrelay_ui::{Effect, Msg, Passphrase};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use super::key_slot::{KeySlot, UnlockedKey};
use super::model::Model;
use super::run::ReadTree;
use crate::core::entry::WorkTree;
use crate::core::id::EntryId;
use crate::core::signing::{DecisionSignature, DecisionStatement, Signer};

/// How much of what is decided on the question repeats, in characters.
const SUBJECT_CHARS: usize = 120;

/// Unlocks the key of this signer with what was typed; slow on purpose. Otherwise a sentence.
pub type UnlockKey = Arc<dyn Fn(&Signer, &str) -> Result<UnlockedKey, String> + Send + Sync>;

/// A wish with the signature that it needs, or what has to be told first.
pub(super) enum ToSign {
    /// It can be performed.
    Ready(Effect, Option<DecisionSignature>),
    /// It waits for the passphrase.
    Ask(Msg),
    /// It cannot be signed.
    Refused(String),
}

/// What unlocking came to.
pub(super) struct UnlockEnd {
    attempt: u64,
    forgotten: u64,
    signer: Signer,
    result: Result<UnlockedKey, String>,
}

/// The wish that waits for a passphrase, and the key that is there for a while.
pub(super) struct DeckSigning {
    unlock: UnlockKey,
    slot: KeySlot,
    waits: Option<Effect>,
    /// Which question this is: the answer to one that was left counts for nothing.
    attempt: u64,
    ends: mpsc::Sender<UnlockEnd>,
    ended: mpsc::Receiver<UnlockEnd>,
}

impl DeckSigning {
    pub(super) fn new(unlock: UnlockKey, slot: KeySlot) -> Self {
        let (ends, ended) = mpsc::channel(1);
        Self {
            unlock,
            slot,
            waits: None,
            attempt: 0,
            ends,
            ended,
        }
    }

    pub(super) fn slot(&self) -> &KeySlot {
        &self.slot
    }

    /// Has a wish signed where the record says that it has to be.
    pub(super) async fn prepare(
        &mut self,
        effect: Effect,
        model: &Model,
        read_tree: &ReadTree,
    ) -> ToSign {
        let Some(signing) = &model.world.signing else {
            return ToSign::Ready(effect, None);
        };
        let Some((proposal, approved)) = decided(&effect) else {
            return ToSign::Ready(effect, None);
        };
        let signer = &signing.notice.signer;
        if !self.slot.is_unlocked(signer) {
            let what = subject(model, &proposal, approved);
            self.attempt += 1;
            self.waits = Some(effect);
            return ToSign::Ask(Msg::AskPassphrase {
                fingerprint: signer.fingerprint(),
                what,
            });
        }
        let signed = match statement(model, &proposal, approved, read_tree).await {
            Ok(statement) => {
                let value = self.slot.sign(signer, &statement.bytes);
                let value = value.ok_or_else(|| "the key was locked meanwhile".to_owned());
                value.map(|value| statement.signed(signer, value))
            }
            Err(why) => Err(why),
        };
        ready(effect, signed)
    }

    /// Begins to unlock the key; [`Self::ended`] tells what came of it.
    pub(super) fn unlock(&self, passphrase: Passphrase, model: &Model) {
        let Some(signing) = &model.world.signing else {
            return;
        };
        let signer = signing.notice.signer.clone();
        let (attempt, forgotten) = (self.attempt, self.slot.forgotten());
        let (unlock, ends) = (Arc::clone(&self.unlock), self.ends.clone());
        spawn_blocking(move || {
            let result = unlock(&signer, passphrase.as_str());
            drop(passphrase);
            // Nobody waits where the deck was left.
            let _ = ends.blocking_send(UnlockEnd {
                attempt,
                forgotten,
                signer,
                result,
            });
        });
    }

    /// The question was left.
    pub(super) fn leave(&mut self) {
        self.attempt += 1;
        self.waits = None;
    }

    pub(super) async fn ended(&mut self) -> Option<UnlockEnd> {
        self.ended.recv().await
    }

    /// Takes what unlocking came to; the wish that waited for it, signed. `None`: nobody waits for
    /// this one any more. `Err`: why it was none.
    pub(super) async fn take(
        &mut self,
        end: UnlockEnd,
        model: &Model,
        read_tree: &ReadTree,
    ) -> Option<Result<ToSign, String>> {
        if end.attempt != self.attempt || self.waits.is_none() {
            return None;
        }
        let unlocked = match end.result {
            Ok(unlocked) => unlocked,
            Err(why) => return Some(Err(why)),
        };
        let effect = self.waits.take()?;
        let (proposal, approved) = decided(&effect)?;
        let statement = statement(model, &proposal, approved, read_tree).await;
        let signed = statement.map(|statement| {
            let value = unlocked.key.sign(&statement.bytes);
            statement.signed(&end.signer, value)
        });
        self.slot.keep(end.signer, unlocked, end.forgotten);
        Some(Ok(ready(effect, signed)))
    }
}

fn ready(effect: Effect, signed: Result<DecisionSignature, String>) -> ToSign {
    match signed {
        Ok(signature) => ToSign::Ready(effect, Some(signature)),
        Err(why) => ToSign::Refused(why),
    }
}

/// The proposal that a wish decides on, and how.
fn decided(effect: &Effect) -> Option<(EntryId, bool)> {
    match effect {
        Effect::Approve { proposal_id, .. } => Some((EntryId::new(proposal_id.clone()), true)),
        Effect::Reject { proposal_id, .. } => Some((EntryId::new(proposal_id.clone()), false)),
        _ => None,
    }
}

/// One line about what will be signed.
fn subject(model: &Model, proposal: &EntryId, approved: bool) -> String {
    let verb = if approved { "Approve" } else { "Reject" };
    let summary = model.world.proposal(proposal);
    let summary = summary.map_or("", |proposal| proposal.proposal.summary.as_str());
    let summary: String = summary.chars().take(SUBJECT_CHARS).collect();
    format!("{verb}: {summary}")
}

/// What is signed of a decision.
struct ToBeSigned {
    head: String,
    bytes: Vec<u8>,
}

impl ToBeSigned {
    fn signed(self, signer: &Signer, value: String) -> DecisionSignature {
        DecisionSignature {
            signer: signer.clone(),
            head: self.head,
            value,
        }
    }
}

/// A decision on the work tree of now.
async fn statement(
    model: &Model,
    proposal: &EntryId,
    approved: bool,
    read_tree: &ReadTree,
) -> Result<ToBeSigned, String> {
    let pending = model.world.proposal(proposal);
    let head = pending.and_then(|pending| pending.hash.clone());
    let head = head.ok_or("nothing can be signed over this proposal: have it proposed again")?;
    let read = Arc::clone(read_tree);
    let tree = spawn_blocking(move || read(None)).await.ok().flatten();
    let tree = tree.map(|(tree, _)| tree);
    let statement = DecisionStatement {
        head: &head,
        proposal,
        tree: WorkTree::pin(tree.as_ref()),
        approved,
    };
    let bytes = statement.to_bytes();
    Ok(ToBeSigned { head, bytes })
}
