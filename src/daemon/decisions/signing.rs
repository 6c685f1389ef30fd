//! Switches signing on and off, and continues it in the next session.

use crate::core::agent::Party;
use crate::core::alarm::{Alarm, AlarmSnapshot};
use crate::core::entry::{Entry, LifecycleEvent};
use crate::core::id::Seq;
use crate::core::signer::Signer;
use crate::core::signing::{
    ActSignature, META, NotSigned, OperatorAct, SignedPlace, SigningChange, SigningNotice,
    SigningState,
};
use crate::daemon::base::recorder::Recorder;
use crate::store::dirs::{ProjectDirs, UserDirs};
use crate::store::signer;
use crate::wire::config::SigningMode;
use crate::wire::control::{Refusal, RefusalCode};

/// The entry that makes signing what is trusted from now on; none where it is so already.
///
/// # Errors
///
/// When the key did not sign the change that this needs.
pub(in crate::daemon) fn signing_change<T>(
    recorder: &Recorder<T>,
    dirs: &ProjectDirs,
    wanted: SigningMode,
    change: Option<SigningChange>,
) -> Result<Option<Entry>, Refusal> {
    let state = recorder.world().signing.as_ref();
    let is_wanted = wanted != SigningMode::Off;
    // A key that signs the decisions alone may come to sign all acts.
    let widens = change.is_some() && state.is_some_and(|state| !state.signs_acts());
    if is_wanted == state.is_some() && !widens {
        return Ok(None);
    }
    let notice = change.as_ref().and_then(SigningChange::notice);
    let here = SignedPlace {
        project: dirs.instance_id(),
        session: recorder.session_id().clone(),
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
            Ok(Some(signing_entry(recorder, Party::Human, &change)))
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
pub(in crate::daemon) fn check_act<T>(
    recorder: &Recorder<T>,
    act: OperatorAct,
    signature: Option<&ActSignature>,
    subject: &str,
    verdict: &str,
) -> Result<(), Refusal> {
    let state = recorder.world().signing.as_ref();
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
pub(in crate::daemon) fn signing_as_it_is<T>(recorder: &Recorder<T>) -> Option<Entry> {
    let state = recorder.world().signing.as_ref()?;
    let notice = state.notice.clone();
    Some(signing_entry(
        recorder,
        Party::System,
        &SigningChange::On { notice },
    ))
}

/// What a start finds out about the signing key.
#[derive(Debug, Default)]
pub(in crate::daemon) struct SignerMet {
    /// The record no longer names it.
    pub(in crate::daemon) lost: Option<Alarm>,
    /// It signs from here on, as this entry says.
    pub(in crate::daemon) goes_on: Option<Entry>,
    /// Why it could not be kept outside the project.
    pub(in crate::daemon) not_kept: Option<String>,
}

/// At a start: the record and what is known outside have to name the same key. Where the record
/// names none any more, that is an alarm, and the key that is known signs from here on; a record
/// that names one makes it known, which a crash may have kept it from. Blocking.
pub(in crate::daemon) fn meet_signer<T>(
    recorder: &Recorder<T>,
    dirs: &ProjectDirs,
    user: &UserDirs,
) -> SignerMet {
    let id = dirs.instance_id();
    let mut met = SignerMet::default();
    let known = match signer::read(user, &id) {
        Ok(known) => known,
        Err(error) => {
            tracing::warn!(%error, "which key signs the decisions cannot be read");
            return met;
        }
    };
    let state = recorder.world().signing.as_ref();
    let told = state.map(|state| &state.notice);
    let Some(known) = known else {
        met.not_kept = keep_signer(user, &id, told);
        return met;
    };
    // The same key that signs less now was announced by somebody else: a notice can be copied.
    let is_less = known.place.is_some() && told.is_some_and(|it| it.place.is_none());
    if !is_less && told.is_some_and(|it| it.signer == known.signer) {
        return met;
    }
    let alarm = Alarm::SignerLost {
        signer: known.signer.clone(),
    };
    let is_told = |open: &AlarmSnapshot| open.alarm == alarm;
    if !recorder.world().open_alarms().any(is_told) {
        met.lost = Some(alarm);
    }
    if told.is_none() {
        let change = SigningChange::On { notice: known };
        met.goes_on = Some(signing_entry(recorder, Party::System, &change));
    }
    met
}

/// The operator was to sign, and this key was in the place of the one that signs: an alarm, unless
/// it was raised already.
pub(in crate::daemon) fn meet_key<T>(recorder: &Recorder<T>, found: Signer) -> Option<Alarm> {
    let world = recorder.world();
    let signer = world.signing.as_ref()?.notice.signer.clone();
    let is_other = signer != found;
    let alarm = Alarm::SignerReplaced { signer, found };
    let is_told = world.open_alarms().any(|open| open.alarm == alarm);
    (is_other && !is_told).then_some(alarm)
}

/// Has the key known outside of the project, or forgotten there. Why it could not be. Blocking.
pub(in crate::daemon) fn keep_signer(
    user: &UserDirs,
    instance_id: &str,
    notice: Option<&SigningNotice>,
) -> Option<String> {
    let written = signer::write(user, instance_id, notice);
    let error = written.err()?;
    Some(format!(
        "which key signs the decisions could not be kept: {error}"
    ))
}

fn signing_entry<T>(recorder: &Recorder<T>, by: Party, change: &SigningChange) -> Entry {
    let event = LifecycleEvent::SigningChanged;
    let mut entry = recorder.entry(by, None, event, change.text(), None);
    entry.meta.insert(META.to_owned(), change.to_value());
    entry
}
