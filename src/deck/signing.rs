//! [`DeckSigning`]: signs, in this process, what is decided on the screen; the daemon gets only the
//! signature.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ctxrelay_ui::{Effect, Msg, Passphrase};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use super::key_slot::{KeyFault, KeySlot, UnlockedKey};
use super::tree_looks::ReadTree;
use crate::core::entry::{Fate, TreeFound, WorkTree};
use crate::core::id::{EntryId, SessionId};
use crate::core::signer::Signer;
use crate::core::signing::{ActSignature, OperatorAct, SignedDecision, SigningState, TRUSTED};
use crate::deck::followed::model::Model;

/// How much of what is decided on the question repeats, in characters.
const SUBJECT_CHARS: usize = 120;

/// Unlocks the key of this signer with what was typed; slow on purpose. Otherwise a sentence.
pub type UnlockKey = Arc<dyn Fn(&Signer, &str) -> Result<UnlockedKey, KeyFault> + Send + Sync>;

/// Has a person's own key sign these bytes; slow, it may wait for a touch. Asked now and then whether
/// nobody waits for it any more. Otherwise a sentence.
pub type SignElsewhere =
    Arc<dyn Fn(&Signer, &[u8], &dyn Fn() -> bool) -> Result<String, KeyFault> + Send + Sync>;

#[derive(Clone)]
pub struct OperatorKeyAccess {
    /// Of ours.
    pub unlock: UnlockKey,
    /// Of the person's own.
    pub elsewhere: SignElsewhere,
}

impl std::fmt::Debug for OperatorKeyAccess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OperatorKeyAccess")
    }
}

/// A wish with the signature that it needs, or what has to be told first.
pub(super) enum ToSign {
    /// It can be performed.
    Ready(Effect, Option<DeckSignature>),
    /// It waits for the key.
    Ask(Msg),
    /// It cannot be signed.
    Refused(String),
}

/// What came of a question.
pub(super) struct SigningEnd {
    attempt: u64,
    outcome: Result<SigningDone, KeyFault>,
}

/// The signature, and the key that was unlocked for it.
struct SigningDone {
    signed: Result<DeckSignature, KeyFault>,
    unlocked: Option<(Signer, UnlockedKey, u64)>,
}

/// The wish that waits for a key, and the key that is there for a while.
pub(super) struct DeckSigning {
    keys: OperatorKeyAccess,
    read_tree: ReadTree,
    slot: KeySlot,
    waits: Option<Waiting>,
    /// Which question this is: the answer to one that was left counts for nothing.
    attempt: Arc<AtomicU64>,
    ends: mpsc::Sender<SigningEnd>,
    ended: mpsc::Receiver<SigningEnd>,
}

/// A wish that waits, and what is signed of it.
struct Waiting {
    effect: Effect,
    subject: Subject,
    signing: SigningState,
}

impl DeckSigning {
    pub(super) fn new(keys: OperatorKeyAccess, read_tree: ReadTree, slot: KeySlot) -> Self {
        let (ends, ended) = mpsc::channel(1);
        Self {
            keys,
            read_tree,
            slot,
            waits: None,
            attempt: Arc::default(),
            ends,
            ended,
        }
    }

    pub(super) fn slot(&self) -> &KeySlot {
        &self.slot
    }

    /// Has a wish signed where the record says that it has to be.
    pub(super) async fn prepare(&mut self, effect: Effect, model: &Model) -> ToSign {
        let Some(signing) = &model.world.signing else {
            return ToSign::Ready(effect, None);
        };
        let Some(subject) = Subject::of(&effect, model, signing) else {
            return ToSign::Ready(effect, None);
        };
        if let Effect::Approve { proposal_id, .. } = &effect
            && let Some(why) = not_green(model, &EntryId::new(proposal_id.as_str()))
        {
            return ToSign::Refused(why);
        }
        let signer = &signing.notice.signer;
        if self.slot.is_unlocked(signer) {
            let sign = |bytes: &[u8]| {
                let value = self.slot.sign(signer, bytes);
                value.ok_or_else(|| KeyFault::from("the key was locked meanwhile"))
            };
            let read = Arc::clone(&self.read_tree);
            let is_decision = subject.is_decision();
            let tree = spawn_blocking(move || is_decision.then(|| read(None).0));
            let tree = tree.await.ok().flatten().and_then(TreeFound::into_tree);
            return ready(effect, subject.sign(signing, tree.as_ref(), sign));
        }
        let (fingerprint, what) = (signer.fingerprint(), subject.text(model));
        let question = match signer.is_ssh() {
            true => Msg::AwaitKey {
                fingerprint,
                what,
                touch: signer.wants_touch(),
            },
            false => Msg::AskPassphrase { fingerprint, what },
        };
        self.attempt.fetch_add(1, Ordering::Relaxed);
        self.waits = Some(Waiting {
            effect,
            subject,
            signing: signing.clone(),
        });
        if signer.is_ssh() {
            self.sign_elsewhere();
        }
        ToSign::Ask(question)
    }

    /// Signs beside the deck, with the person's own key.
    fn sign_elsewhere(&self) {
        let elsewhere = Arc::clone(&self.keys.elsewhere);
        self.beside(move |subject, signing, tree, is_left| {
            let signer = &signing.notice.signer;
            let sign = |bytes: &[u8]| elsewhere(signer, bytes, is_left);
            let value = subject.sign(signing, tree, sign)?;
            Ok(SigningDone {
                signed: Ok(value),
                unlocked: None,
            })
        });
    }

    /// Begins to unlock the key, and signs what waits; [`Self::ended`] tells what came of it.
    pub(super) fn unlock(&self, passphrase: Passphrase) {
        let unlock = Arc::clone(&self.keys.unlock);
        let forgotten = self.slot.forgotten();
        self.beside(move |subject, signing, tree, _| {
            let signer = &signing.notice.signer;
            let unlocked = unlock(signer, passphrase.as_str())?;
            drop(passphrase);
            let signed = subject.sign(signing, tree, |bytes| Ok(unlocked.key.sign(bytes)));
            Ok(SigningDone {
                signed,
                unlocked: Some((signer.clone(), unlocked, forgotten)),
            })
        });
    }

    /// Does something slow with what waits.
    fn beside(
        &self,
        sign: impl FnOnce(
            &Subject,
            &SigningState,
            Option<&WorkTree>,
            &dyn Fn() -> bool,
        ) -> Result<SigningDone, KeyFault>
        + Send
        + 'static,
    ) {
        let Some(waits) = &self.waits else {
            return;
        };
        let (subject, signing) = (waits.subject.clone(), waits.signing.clone());
        let (ends, counter) = (self.ends.clone(), Arc::clone(&self.attempt));
        let read_tree = Arc::clone(&self.read_tree);
        let attempt = counter.load(Ordering::Relaxed);
        spawn_blocking(move || {
            let tree = subject.is_decision().then(|| read_tree(None).0);
            let tree = tree.and_then(TreeFound::into_tree);
            let is_left = || counter.load(Ordering::Relaxed) != attempt || ends.is_closed();
            let outcome = sign(&subject, &signing, tree.as_ref(), &is_left);
            // Nobody waits where the deck was left.
            let _ = ends.blocking_send(SigningEnd { attempt, outcome });
        });
    }

    /// The question was left. Whether it still was one: otherwise what it was about is signed.
    pub(super) fn leave(&mut self) -> bool {
        self.attempt.fetch_add(1, Ordering::Relaxed);
        self.waits.take().is_some()
    }

    pub(super) async fn ended(&mut self) -> Option<SigningEnd> {
        self.ended.recv().await
    }

    /// Takes what came of a question; the wish that waited for it, signed. `None`: nobody waits for
    /// this one any more. `Err`: why it was none.
    pub(super) fn take(&mut self, end: SigningEnd) -> Option<Result<ToSign, KeyFault>> {
        if end.attempt != self.attempt.load(Ordering::Relaxed) || self.waits.is_none() {
            return None;
        }
        let done = match end.outcome {
            Ok(done) => done,
            Err(why) => return Some(Err(why)),
        };
        if let Some((signer, unlocked, forgotten)) = done.unlocked {
            self.slot.keep(signer, unlocked, forgotten);
        }
        let effect = self.waits.take()?.effect;
        Some(Ok(ready(effect, done.signed)))
    }
}

/// What the required gates have against an approval, which the daemon would refuse once it is
/// signed. Of a tree that is not what was proposed it alone knows what counts.
fn not_green(model: &Model, id: &EntryId) -> Option<String> {
    let proposal = model.world.pending_proposals.get(id)?;
    let now = model.tree.as_ref()?;
    if now.pin() != WorkTree::pin(proposal.proposal.tree.as_ref()) {
        return None;
    }
    let gates = &model.status.gates.in_force;
    let on = model.in_question(proposal);
    let red = model.world.gate_blockers(gates, &on);
    (!red.is_empty()).then(|| format!("{}: run the gates, or reject it", red.join("; ")))
}

fn ready(effect: Effect, signed: Result<DeckSignature, KeyFault>) -> ToSign {
    match signed {
        Ok(signature) => ToSign::Ready(effect, Some(signature)),
        Err(fault) => ToSign::Refused(fault.text()),
    }
}

/// What goes with a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DeckSignature {
    /// With a decision.
    Decision(SignedDecision),
    /// With another act.
    Act(ActSignature),
}

impl DeckSignature {
    pub(super) fn decision(self) -> Option<SignedDecision> {
        match self {
            Self::Decision(signed) => Some(signed),
            Self::Act(_) => None,
        }
    }

    pub(super) fn act(self) -> Option<ActSignature> {
        match self {
            Self::Decision(_) => None,
            Self::Act(signature) => Some(signature),
        }
    }
}

/// What a wish does that is signed.
#[derive(Clone)]
enum Subject {
    Decision {
        proposal: EntryId,
        /// The hash on its line.
        head: Option<String>,
        approved: bool,
    },
    Clear {
        session: SessionId,
        fate: Fate,
    },
    /// What `config.json` says, by its digest.
    Trust(String),
}

impl Subject {
    /// `None` for what nobody signs.
    fn of(effect: &Effect, model: &Model, signing: &SigningState) -> Option<Self> {
        let decision = |id: &str, approved| {
            let proposal = EntryId::new(id);
            let head = model.world.proposal(&proposal);
            Self::Decision {
                head: head.and_then(|pending| pending.hash.clone()),
                proposal,
                approved,
            }
        };
        match effect {
            Effect::Approve { proposal_id, .. } => Some(decision(proposal_id, true)),
            Effect::Reject { proposal_id, .. } => Some(decision(proposal_id, false)),
            // Of another session than is there now it is refused, signed or not.
            Effect::ClearSession { session, discard } if signing.signs_acts() => {
                Some(Self::Clear {
                    session: model.session_named(session)?.clone(),
                    fate: match discard {
                        true => Fate::Discarded,
                        false => Fate::Archived,
                    },
                })
            }
            Effect::Trust { digest } if signing.signs_acts() => Some(Self::Trust(digest.clone())),
            _ => None,
        }
    }

    /// Whether it is decided on a work tree.
    fn is_decision(&self) -> bool {
        matches!(self, Self::Decision { .. })
    }

    /// One line about it.
    fn text(&self, model: &Model) -> String {
        match self {
            Self::Decision {
                proposal, approved, ..
            } => {
                let verb = if *approved { "Approve" } else { "Reject" };
                let summary = model.world.proposal(proposal);
                let summary = summary.map_or("", |proposal| proposal.proposal.summary.as_str());
                let summary: String = summary.chars().take(SUBJECT_CHARS).collect();
                format!("{verb}: {summary}")
            }
            Self::Clear { session, fate } => match fate {
                Fate::Discarded => format!("Delete for good: {session}"),
                _ => format!("Archive: {session}"),
            },
            Self::Trust(_) => {
                let waiting = model.trust.iter().flat_map(|(trust, _)| &trust.waiting);
                let keys: Vec<&str> = waiting.map(|waiting| waiting.key.as_str()).collect();
                let keys: String = keys.join(", ").chars().take(SUBJECT_CHARS).collect();
                format!("Trust in config.json: {keys}")
            }
        }
    }

    fn sign(
        &self,
        signing: &SigningState,
        tree: Option<&WorkTree>,
        sign: impl FnOnce(&[u8]) -> Result<String, KeyFault>,
    ) -> Result<DeckSignature, KeyFault> {
        match self {
            Self::Decision {
                proposal,
                head,
                approved,
            } => {
                let head = head.as_deref();
                let head =
                    head.ok_or("nothing can be signed over this proposal: have it proposed again")?;
                let pin = WorkTree::pin(tree);
                let signature = signing.sign_decision(head, proposal, pin, *approved, sign)?;
                let tree = tree.cloned();
                Ok(DeckSignature::Decision(SignedDecision { signature, tree }))
            }
            Self::Clear { session, fate } => {
                let (act, verdict) = (OperatorAct::Clear, fate.verdict());
                let signed = signing.sign_act(act, session.as_str(), "", verdict, sign)?;
                Ok(DeckSignature::Act(signed))
            }
            Self::Trust(digest) => {
                let signed = signing.sign_act(OperatorAct::Trust, digest, "", TRUSTED, sign)?;
                Ok(DeckSignature::Act(signed))
            }
        }
    }
}
