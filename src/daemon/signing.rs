//! Switches signing on and off, and has it go on in the next session.

use super::owners::Daemon;
use crate::core::agent::Party;
use crate::core::alarm::{Alarm, AlarmSnapshot};
use crate::core::entry::{Entry, ErrorCode, LifecycleEvent};
use crate::core::id::Seq;
use crate::core::signing::{
    ActSignature, META, NotSigned, OperatorAct, SignedPlace, Signer, SigningChange, SigningNotice,
    SigningState,
};
use crate::store::dirs::UserDirs;
use crate::store::signer;
use crate::wire::config::SigningMode;
use crate::wire::control::{Refusal, RefusalCode};

impl Daemon {
    /// The entry that makes signing what is trusted from now on; none where it is so already.
    ///
    /// # Errors
    ///
    /// When the key did not sign the change that this needs.
    pub(super) fn signing_change(
        &self,
        wanted: SigningMode,
        change: Option<SigningChange>,
    ) -> Result<Option<Entry>, Refusal> {
        let state = self.recorder.world().signing.as_ref();
        let is_wanted = wanted != SigningMode::Off;
        // A key that signs the decisions alone may come to sign all acts.
        let widens = change.is_some() && state.is_some_and(|state| !state.signs_acts());
        if is_wanted == state.is_some() && !widens {
            return Ok(None);
        }
        let notice = change.as_ref().and_then(SigningChange::notice);
        let here = SignedPlace {
            project: self.dirs.instance_id(),
            session: self.recorder.session_id().clone(),
        };
        let is_here = notice.is_none_or(|notice| {
            let is_ssh = wanted == SigningMode::Ssh;
            notice.place.as_ref() == Some(&here) && notice.signer.is_ssh() == is_ssh
        });
        let after = change
            .as_ref()
            .map(|change| SigningState::after(state, change.clone(), Seq(0)));
        match (after, change) {
            (Some(Ok(after)), Some(change)) if is_here && after.is_some() == is_wanted => {
                Ok(Some(self.signing_entry(Party::Human, &change)))
            }
            _ => Err(Refusal::new(
                RefusalCode::NotSigned,
                "`operator.signing` changes only by the key itself",
                "trust it in a terminal, where the passphrase can be asked for: `ctxrelay trust`",
            )),
        }
    }

    /// Refuses an act of the operator that is not signed where it has to be: the record would not
    /// believe it.
    pub(super) fn check_act(
        &self,
        act: OperatorAct,
        signature: Option<&ActSignature>,
        subject: &str,
        verdict: &str,
    ) -> Result<(), Refusal> {
        let state = self.recorder.world().signing.as_ref();
        let Some(state) = state.filter(|state| state.signs_acts()) else {
            return Ok(());
        };
        let checked = state.check_act(act, signature, Some(subject), Some(verdict));
        checked.map_err(|why| {
            let (text, next) = match why {
                NotSigned::Missing => (
                    format!("this is signed here, by the key {}", state.notice.signer),
                    "do it in a terminal or in the deck, where the passphrase is asked for",
                ),
                _ => (
                    format!("it does not count: {why}, or something was signed meanwhile"),
                    "nothing was changed; run the command again",
                ),
            };
            Refusal::new(RefusalCode::NotSigned, text, next)
        })
    }

    /// Decisions of the next session are signed as those of this one.
    pub(super) fn signing_as_it_is(&self) -> Option<Entry> {
        let state = self.recorder.world().signing.as_ref()?;
        let notice = state.notice.clone();
        Some(self.signing_entry(Party::System, &SigningChange::On { notice }))
    }

    /// At a start: the record and what is known outside have to name the same key. Where the record
    /// names none any more, that is an alarm, and the key that is known signs from here on; a record
    /// that names one makes it known, which a crash may have kept it from.
    pub(super) fn meet_signer(&mut self, user: &UserDirs) {
        let id = self.dirs.instance_id();
        let known = match signer::read(user, &id) {
            Ok(known) => known,
            Err(error) => {
                tracing::warn!(%error, "which key signs the decisions cannot be read");
                return;
            }
        };
        let state = self.recorder.world().signing.as_ref();
        let told = state.map(|state| state.notice.clone());
        let Some(known) = known else {
            self.keep_signer(user, told.as_ref());
            return;
        };
        // The same key that signs less now was announced by somebody else: a notice can be copied.
        let is_less = known.place.is_some() && told.as_ref().is_some_and(|it| it.place.is_none());
        if !is_less && told.as_ref().is_some_and(|it| it.signer == known.signer) {
            return;
        }
        let alarm = Alarm::SignerLost {
            signer: known.signer.clone(),
        };
        let is_told = |open: &AlarmSnapshot| open.alarm == alarm;
        if !self.recorder.world().open_alarms().any(is_told) {
            self.raise_alarm(alarm);
        }
        if told.is_none() {
            let change = SigningChange::On { notice: known };
            let entry = self.signing_entry(Party::System, &change);
            self.record_mere_fact(entry);
        }
    }

    /// The operator was to sign, and this key was in the place of the one that signs.
    pub(super) fn meet_key(&mut self, found: Signer) {
        let world = self.recorder.world();
        let Some(state) = world.signing.as_ref() else {
            return;
        };
        let signer = state.notice.signer.clone();
        let alarm = Alarm::SignerReplaced { signer, found };
        let is_told = world.open_alarms().any(|open| open.alarm == alarm);
        let is_other =
            !matches!(&alarm, Alarm::SignerReplaced { signer, found } if signer == found);
        if is_other && !is_told {
            self.raise_alarm(alarm);
        }
    }

    /// Has the key known outside of the project, or forgotten there; at the start.
    fn keep_signer(&mut self, user: &UserDirs, notice: Option<&SigningNotice>) {
        if let Err(error) = signer::write(user, &self.dirs.instance_id(), notice) {
            let why = format!("which key signs the decisions could not be kept: {error}");
            self.note_fact(Party::System, ErrorCode::TrustNotKept, why);
        }
    }

    fn signing_entry(&self, by: Party, change: &SigningChange) -> Entry {
        let event = LifecycleEvent::SigningChanged;
        let mut entry = self.entry(by, None, event, change.text(), None);
        entry.meta.insert(META.to_owned(), change.to_value());
        entry
    }
}
