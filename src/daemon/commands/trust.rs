//! The operator trusts the current `config.json`: whether that is allowed, what is recorded of it,
//! and how it is kept.

use serde_json::{Map, Value};

use crate::core::agent::Party;
use crate::core::entry::{Entry, LifecycleEvent};
use crate::core::id::EntryId;
use crate::core::policy::{PolicyChange, PolicyRules};
use crate::core::signing::{OperatorAct, SigningNotice, TRUSTED};
use crate::daemon::base::clock::now_ms;
use crate::daemon::base::configuration::Configuration;
use crate::daemon::base::recorder::Recorder;
use crate::daemon::base::settings::KeptTrust;
use crate::daemon::decisions::signing::{check_act, keep_signer, signing_change};
use crate::store::config::{self, Loaded};
use crate::store::dirs::{ProjectDirs, UserDirs};
use crate::store::trust;
use crate::wire::config::{SigningMode, signing_mode, trusted_policy};
use crate::wire::control::{Recorded, Refusal, RefusalCode, TrustParams};

/// What trusting it needs next.
pub(super) enum TrustStep {
    /// The signer's key is forgotten outside of the project, before it is recorded: after a crash the
    /// record says what is so.
    ForgetSigner(Box<TrustParams>),
    /// It is recorded; what is trusted counts once that is durable and kept.
    Record(TrustToRecord),
}

/// What is recorded, and what is kept behind it.
pub(super) struct TrustToRecord {
    pub(super) entries: Vec<Entry>,
    /// The one of them that says what is trusted.
    pub(super) entry_id: EntryId,
    pub(super) changes_signing: bool,
    pub(super) power: TrustedPower,
}

/// What is trusted from then on.
pub(super) struct TrustedPower {
    keys: Map<String, Value>,
    /// The rules, where they name another coordinator.
    renews: Option<PolicyRules>,
}

/// Whether the file may be trusted as it was read, and what comes of it.
pub(super) fn trust_step<T>(
    recorder: &Recorder<T>,
    configuration: &Configuration,
    dirs: &ProjectDirs,
    params: Box<TrustParams>,
    is_signer_forgotten: bool,
    loaded: &Loaded,
) -> Result<TrustStep, Refusal> {
    if loaded.digest != params.digest || loaded.file.is_none() {
        return Err(Refusal::new(
            RefusalCode::StaleConfig,
            "config.json is no longer what was shown",
            "nothing was trusted; look again: `ctxrelay trust --show`",
        ));
    }
    let keys = loaded.power();
    let mode = signing_mode(&keys);
    let signing = signing_change(recorder, dirs, mode, params.signing.clone())?;
    let changes_signing = signing.is_some();
    let is_off = changes_signing && mode == SigningMode::Off;
    // What switches signing off is signed itself.
    let signature = params.signature.clone().filter(|_| !is_off);
    if !is_off {
        let act = OperatorAct::Trust;
        check_act(recorder, act, signature.as_ref(), &loaded.digest, TRUSTED)?;
    }
    if is_off && !is_signer_forgotten {
        return Ok(TrustStep::ForgetSigner(params));
    }
    let names: Vec<&str> = keys.keys().map(String::as_str).collect();
    let text = if names.is_empty() {
        "nothing in config.json is trusted any more".to_owned()
    } else {
        format!(
            "config.json is trusted as it is: {} (digest {})",
            names.join(", "),
            &loaded.digest[..12]
        )
    };
    let event = LifecycleEvent::ConfigTrusted;
    let mut entry = recorder.entry(Party::Human, None, event, text, None);
    if let Some(signature) = signature {
        signature.put_on(&mut entry);
    }
    let entry_id = entry.id.clone();
    let rules = trusted_policy(&keys);
    let names_another = rules.coordinator != configuration.policy().coordinator;
    let renews = names_another.then_some(rules);
    let coordinator = renews.as_ref().map(|rules| {
        let to = rules.coordinator;
        let text = PolicyChange::Coordinator { to }.to_string();
        let event = LifecycleEvent::CoordinatorChanged;
        recorder.entry(Party::Human, None, event, text, None)
    });
    let mut entries: Vec<Entry> = std::iter::once(entry).chain(signing).collect();
    // Each is judged by what stands before it: signed up to the end, and from the beginning on.
    if is_off {
        entries.reverse();
    }
    entries.extend(coordinator);
    Ok(TrustStep::Record(TrustToRecord {
        entries,
        entry_id,
        changes_signing,
        power: TrustedPower { keys, renews },
    }))
}

/// Keeps what is trusted, and the signer's key where that changed, outside of the project.
pub(super) fn keep_trust(
    dirs: &ProjectDirs,
    user: &UserDirs,
    power: TrustedPower,
    signer: Option<&SigningNotice>,
    recorded: Recorded,
) -> KeptTrust {
    let id = dirs.instance_id();
    let signer = signer.and_then(|notice| keep_signer(user, &id, Some(notice)));
    let kept = trust::write(user, &id, power.keys, now_ms())
        .map(|()| (power.renews, config::load(dirs, user)))
        .map_err(|error| format!("what was trusted could not be kept: {error}"));
    KeptTrust {
        recorded,
        signer,
        kept,
    }
}
