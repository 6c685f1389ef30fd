//! The operator trusts what `config.json` says now.

use crate::core::agent::Party;
use crate::core::entry::{Entry, LifecycleEvent};
use crate::core::id::Seq;
use crate::core::policy::PolicyChange;
use crate::core::signing::{OperatorAct, TRUSTED};
use crate::daemon::clock::now_ms;
use crate::daemon::event::Event;
use crate::daemon::owners::{Base, Daemon};
use crate::daemon::reply::{ReplySender, answer};
use crate::daemon::settings::{KeptTrust, SettingsChange, SettingsKept, SettingsWritten};
use crate::daemon::signing::{check_act, keep_signer, signing_change};
use crate::daemon::under_way::WorkBeside;
use crate::store::config::{self, Loaded};
use crate::store::dirs::UserDirs;
use crate::store::trust;
use crate::wire::config::{SigningMode, signing_mode, trusted_policy};
use crate::wire::control::{Recorded, Refusal, RefusalCode, Reply, TrustParams};

impl Base {
    /// Recorded first; what is trusted counts once the entry is durable.
    pub(super) fn append_trust(
        &mut self,
        params: TrustParams,
        is_signer_forgotten: bool,
        user: UserDirs,
        loaded: &Loaded,
        reply: ReplySender,
    ) {
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
        let signing = match signing_change(
            &self.recorder,
            &self.dirs,
            signing_mode(&power),
            params.signing.clone(),
        ) {
            Ok(signing) => signing,
            Err(refusal) => return answer(reply, Err(refusal)),
        };
        let changes_signing = signing.is_some();
        let is_off = changes_signing && signing_mode(&power) == SigningMode::Off;
        // What switches signing off is signed itself.
        let signature = params.signature.clone().filter(|_| !is_off);
        if !is_off {
            let act = OperatorAct::Trust;
            if let Err(refusal) = check_act(
                &self.recorder,
                act,
                signature.as_ref(),
                &loaded.digest,
                TRUSTED,
            ) {
                return answer(reply, Err(refusal));
            }
        }
        if is_off && !is_signer_forgotten {
            // Before it is recorded: after a crash the record says what is so.
            let change = SettingsChange::Trust {
                params: Box::new(params),
                is_signer_forgotten: true,
            };
            return self.read_settings(change, reply);
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
        let mut entry = self.recorder.entry(
            Party::Human,
            None,
            LifecycleEvent::ConfigTrusted,
            text,
            None,
        );
        if let Some(signature) = signature {
            signature.put_on(&mut entry);
        }
        let entry_id = entry.id.clone();
        let rules = trusted_policy(&power);
        let names_another = rules.coordinator != self.configuration.policy().coordinator;
        let renews = names_another.then_some(rules);
        let coordinator = renews.as_ref().map(|rules| {
            let to = rules.coordinator;
            let text = PolicyChange::Coordinator { to }.to_string();
            let event = LifecycleEvent::CoordinatorChanged;
            self.recorder.entry(Party::Human, None, event, text, None)
        });
        let mut entries: Vec<Entry> = std::iter::once(entry).chain(signing).collect();
        // Each is judged by what stands before it: signed up to the end, and from the beginning on.
        if is_off {
            entries.reverse();
        }
        entries.extend(coordinator);
        self.recorder.append(
            entries,
            Box::new(move |daemon, result| {
                let stored = match result {
                    Ok(stored) => stored,
                    Err(refusal) => return answer(reply, Err(refusal.clone())),
                };
                let trusted = stored.iter().find(|stored| stored.entry.id == entry_id);
                let seq = trusted.map_or(Seq(0), |stored| stored.entry.seq);
                let recorded = Recorded { entry_id, seq };
                let state = daemon.base.recorder.world().signing.as_ref();
                let notice = state.map(|state| state.notice.clone());
                let notice = notice.filter(|_| changes_signing);
                let (dirs, id) = (daemon.base.dirs.clone(), daemon.base.dirs.instance_id());
                daemon
                    .base
                    .beside_in_order(WorkBeside::Settings, move |under_way| {
                        let signer = notice.and_then(|it| keep_signer(&user, &id, Some(&it)));
                        let kept = trust::write(&user, &id, power, now_ms())
                            .map(|()| (renews, config::load(&dirs, &user)))
                            .map_err(|error| {
                                format!("what was trusted could not be kept: {error}")
                            });
                        let kept = SettingsWritten::Trust(KeptTrust {
                            recorded,
                            signer,
                            kept,
                        });
                        Event::SettingsKept(Box::new(SettingsKept {
                            kept,
                            reply,
                            under_way,
                        }))
                    });
            }),
        );
    }
}

impl Daemon {
    /// What is trusted was written: it counts.
    pub(super) fn trust_kept(&mut self, kept: KeptTrust, reply: ReplySender) {
        let KeptTrust {
            recorded,
            signer,
            kept,
        } = kept;
        if let Some(why) = signer {
            self.base.note_not_kept(why);
        }
        let renews = match self.settings_count(kept) {
            Ok(renews) => renews,
            Err(refusal) => return answer(reply, Err(refusal)),
        };
        if let Some(rules) = renews {
            self.base
                .renew_blocks(&rules, recorded.entry_id.clone(), recorded.seq);
        }
        answer(reply, Ok(Reply::Recorded(recorded)));
    }
}
