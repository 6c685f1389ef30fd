//! The operator trusts what `config.json` says now.

use crate::core::agent::Party;
use crate::core::entry::{ErrorCode, LifecycleEvent};
use crate::core::policy::PolicyChange;
use crate::daemon::clock::now_ms;
use crate::daemon::owners::Daemon;
use crate::daemon::reply::{ReplySender, answer};
use crate::store::{config, trust};
use crate::wire::config::{SigningMode, signing_mode, trusted_policy};
use crate::wire::control::{Recorded, Refusal, RefusalCode, Reply, TrustParams};

impl Daemon {
    /// Recorded first; what is trusted counts once the entry is durable.
    pub(super) fn trust(&mut self, params: &TrustParams, reply: ReplySender) {
        let Some(user) = self.configuration.user().cloned() else {
            return answer(reply, Err(failed("this daemon has no configuration")));
        };
        // Small and bounded, and read here so that nothing else happens in between.
        let loaded = config::load(&self.dirs, &user);
        if loaded.digest != params.digest || loaded.file.is_none() {
            return answer(
                reply,
                Err(Refusal::new(
                    RefusalCode::StaleConfig,
                    "config.json is no longer what was shown",
                    "nothing was trusted; look again: `ctxrelay trust --show`",
                )),
            );
        }
        let power = loaded.power();
        let signing = match self.signing_change(signing_mode(&power), params.signing.clone()) {
            Ok(signing) => signing,
            Err(refusal) => return answer(reply, Err(refusal)),
        };
        let changes_signing = signing.is_some();
        if changes_signing && signing_mode(&power) == SigningMode::Off {
            // Before it is recorded: after a crash the record says what is so.
            self.keep_signer(&user, None);
        }
        let keys: Vec<&str> = power.keys().map(String::as_str).collect();
        let text = if keys.is_empty() {
            "nothing in config.json is trusted any more".to_owned()
        } else {
            format!(
                "config.json is trusted as it is: {} (digest {})",
                keys.join(", "),
                &loaded.digest[..12]
            )
        };
        let entry = self.entry(
            Party::Human,
            None,
            LifecycleEvent::ConfigTrusted,
            text,
            None,
        );
        let entry_id = entry.id.clone();
        let rules = trusted_policy(&power);
        let names_another = rules.coordinator != self.configuration.policy().coordinator;
        let coordinator = names_another.then(|| {
            let to = rules.coordinator;
            let text = PolicyChange::Coordinator { to }.to_string();
            let event = LifecycleEvent::CoordinatorChanged;
            self.entry(Party::Human, None, event, text, None)
        });
        self.record(
            std::iter::once(entry)
                .chain(signing)
                .chain(coordinator)
                .collect(),
            Box::new(move |daemon, result| {
                let stored = match result {
                    Ok(stored) => stored,
                    Err(refusal) => return answer(reply, Err(refusal.clone())),
                };
                let seq = stored[0].entry.seq;
                let state = daemon.recorder.world().signing.as_ref();
                let notice = state.map(|state| state.notice.clone());
                if changes_signing && notice.is_some() {
                    daemon.keep_signer(&user, notice.as_ref());
                }
                let id = daemon.dirs.instance_id();
                if let Err(error) = trust::write(&user, &id, power, now_ms()) {
                    let why = format!("what was trusted could not be kept: {error}");
                    daemon.note_fact(Party::System, ErrorCode::TrustNotKept, why.clone());
                    return answer(reply, Err(failed(&why)));
                }
                let loaded = config::load(&daemon.dirs, &user);
                daemon.reconfigure(loaded, &[]);
                daemon.alarms.trusted();
                if names_another {
                    daemon.renew_blocks(&rules, entry_id.clone(), seq);
                }
                answer(reply, Ok(Reply::Recorded(Recorded { entry_id, seq })));
            }),
        );
    }
}

fn failed(why: &str) -> Refusal {
    Refusal::new(
        RefusalCode::TrustFailed,
        why,
        "see that the registry's folder outside the project can be written",
    )
}
