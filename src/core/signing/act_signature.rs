//! [`ActSignature`]: the signature of an act of the operator, and when it is believed.

use serde::{Deserialize, Serialize};

use super::act::{OperatorAct, TRUSTED};
use super::statement::ActStatement;
use super::{NotSigned, SigningNotice, SigningState};
use crate::entry::{Entry, EntryKind, Fate, LifecycleEvent, Predecessor};
use crate::signer::Signer;

/// The key of an entry's `meta` with the signature of an act.
pub const ACT_META: &str = "signature";

/// What an act carries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActSignature {
    pub signer: Signer,
    /// The hash on the line of the act before.
    pub head: String,
    /// What it is done to: the digest of a configuration, a session's id, the ids of gates' runs.
    pub subject: String,
    /// The work tree, where there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tree: String,
    pub verdict: String,
    /// The signature of the [`ActStatement`], in hex.
    pub value: String,
}

impl ActSignature {
    /// The signature that an entry carries.
    pub fn of(entry: &Entry) -> Option<Self> {
        serde_json::from_value(entry.meta.get(ACT_META)?.clone()).ok()
    }

    /// Puts it on an entry.
    pub fn put_on(&self, entry: &mut Entry) {
        let value = serde_json::to_value(self).unwrap_or_default();
        entry.meta.insert(ACT_META.to_owned(), value);
    }

    fn is_of(&self, act: OperatorAct, notice: &SigningNotice) -> Result<(), NotSigned> {
        if self.signer != notice.signer {
            return Err(NotSigned::OtherSigner);
        }
        let project = notice.place.as_ref().map(|place| place.project.as_str());
        let statement = ActStatement {
            project: project.unwrap_or_default(),
            act,
            head: &self.head,
            subject: &self.subject,
            tree: &self.tree,
            verdict: &self.verdict,
        };
        let is_right = notice.signer.verifies(&statement.to_bytes(), &self.value);
        is_right.then_some(()).ok_or(NotSigned::Wrong)
    }
}

impl Fate {
    /// The verdict of the act that leads to it.
    pub fn verdict(self) -> &'static str {
        match self {
            Self::Archived => "archived",
            Self::Discarded => "discarded",
            Self::Compacted => "compacted",
        }
    }
}

impl SigningState {
    /// Whether acts beside decisions are signed.
    pub fn signs_acts(&self) -> bool {
        self.notice.place.is_some()
    }

    /// Whether an act is believed: `subject` and `verdict` are what the record or the daemon says
    /// of it, where that is known.
    ///
    /// # Errors
    ///
    /// Why it is not.
    pub fn check_act(
        &self,
        act: OperatorAct,
        signature: Option<&ActSignature>,
        subject: Option<&str>,
        verdict: Option<&str>,
    ) -> Result<(), NotSigned> {
        let signature = signature.ok_or(NotSigned::Missing)?;
        signature.is_of(act, &self.notice)?;
        if self.head.as_deref() != Some(signature.head.as_str()) {
            return Err(NotSigned::OtherHead);
        }
        let is_same = |wanted: Option<&str>, signed: &str| wanted.is_none_or(|it| it == signed);
        if is_same(subject, &signature.subject) && is_same(verdict, &signature.verdict) {
            return Ok(());
        }
        Err(NotSigned::OtherSubject)
    }

    /// Whether the act that an entry tells of is believed.
    ///
    /// # Errors
    ///
    /// Why it is not.
    pub fn check_entry(&self, act: OperatorAct, entry: &Entry) -> Result<(), NotSigned> {
        let signature = ActSignature::of(entry);
        let check = |subject, verdict| self.check_act(act, signature.as_ref(), subject, verdict);
        match &entry.kind {
            EntryKind::Artifact(artifact) => check(None, Some(artifact.status.as_str())),
            EntryKind::Lifecycle {
                event: LifecycleEvent::SessionCompacted,
            } => check(
                Some(entry.session_id.as_str()),
                Some(Fate::Compacted.verdict()),
            ),
            EntryKind::Lifecycle {
                event: LifecycleEvent::SessionCleared,
            } => check(Some(entry.session_id.as_str()), None),
            _ => check(None, Some(TRUSTED)),
        }
    }
}

impl SigningNotice {
    /// Whether a session that goes on with this key was begun by it: it announced itself in that
    /// very session, or the act that ended the one before is signed.
    ///
    /// # Errors
    ///
    /// Why it was not.
    pub fn check_session(
        &self,
        session: &str,
        predecessor: Option<&Predecessor>,
        begun_by: Option<&ActSignature>,
    ) -> Result<(), NotSigned> {
        let Some(place) = &self.place else {
            return Ok(());
        };
        if place.session.as_str() == session {
            return Ok(());
        }
        let signature = begun_by.ok_or(NotSigned::Missing)?;
        signature.is_of(OperatorAct::Clear, self)?;
        let is_same = predecessor.is_some_and(|before| {
            before.session_id.as_str() == signature.subject
                && before.fate.verdict() == signature.verdict
        });
        is_same.then_some(()).ok_or(NotSigned::OtherSubject)
    }
}
