//! Changes of the settings: read, then recorded, then written and put into force.

use tokio::sync::oneshot;

use super::policy::{keep, policy_entry};
use super::trust::{TrustStep, TrustToRecord, keep_trust, trust_step};
use crate::core::entry::Entry;
use crate::core::id::Seq;
use crate::core::instructions::managed_instructions;
use crate::core::policy::{PolicyChange, PolicyRules};
use crate::daemon::base::configuring::failed;
use crate::daemon::base::managed_blocks::{RewrittenBlocks, rewrite};
use crate::daemon::base::settings::{
    KeptPolicy, KeptTrust, SettingsChange, SettingsKept, SettingsRead, SettingsWritten,
};
use crate::daemon::base::under_way::WorkBeside;
use crate::daemon::decisions::signing::keep_signer;
use crate::daemon::event::Event;
use crate::daemon::owners::{Base, Daemon};
use crate::daemon::reply::{ReplySender, answer};
use crate::store::config;
use crate::store::dirs::{ProjectDirs, UserDirs};
use crate::wire::control::{PolicySet, Recorded, Refusal, Reply};

impl Base {
    pub(super) fn read_settings(&mut self, change: SettingsChange, reply: ReplySender) {
        let Some(user) = self.configuration.user().cloned() else {
            return answer(reply, Err(failed("this daemon has no configuration")));
        };
        let forgets = match &change {
            SettingsChange::Trust {
                params,
                is_signer_forgotten: true,
            } => Some(params.digest.clone()),
            _ => None,
        };
        let signing = self.recorder.world().signing.as_ref();
        let signer = signing.map(|state| state.notice.clone());
        let (dirs, id) = (self.dirs.clone(), self.dirs.instance_id());
        self.beside_in_order(WorkBeside::Settings, move |under_way| {
            let mut not_kept = forgets.as_ref().and_then(|_| keep_signer(&user, &id, None));
            let loaded = config::load(&dirs, &user);
            if let (Some(shown), Some(signer)) = (forgets, signer)
                && (loaded.digest != shown || loaded.file.is_none())
            {
                // It was changed in between, so that nothing comes of it: the key signs on.
                not_kept = keep_signer(&user, &id, Some(&signer));
            }
            Event::SettingsRead(Box::new(SettingsRead {
                change,
                user,
                loaded,
                not_kept,
                reply,
                under_way,
            }))
        });
    }

    /// They were read: what is to be changed is recorded first.
    pub(in crate::daemon) fn on_settings_read(&mut self, read: SettingsRead) {
        let SettingsRead {
            change,
            user,
            loaded,
            not_kept,
            reply,
            under_way: _heard,
        } = read;
        if let Some(why) = not_kept {
            self.note_not_kept(why);
        }
        if self.operations.is_stopping() {
            return answer(reply, Err(self.operations.refusal()));
        }
        match change {
            SettingsChange::Policy(change) => match policy_entry(&self.recorder, change, &loaded) {
                Ok(entry) => self.append_policy(change, entry, user, reply),
                Err(refusal) => answer(reply, Err(refusal)),
            },
            SettingsChange::Trust {
                params,
                is_signer_forgotten,
            } => {
                let step = trust_step(
                    &self.recorder,
                    &self.configuration,
                    &self.dirs,
                    params,
                    is_signer_forgotten,
                    &loaded,
                );
                match step {
                    Ok(TrustStep::Record(trust)) => self.append_trust(trust, user, reply),
                    Ok(TrustStep::ForgetSigner(params)) => {
                        let change = SettingsChange::Trust {
                            params,
                            is_signer_forgotten: true,
                        };
                        self.read_settings(change, reply);
                    }
                    Err(refusal) => answer(reply, Err(refusal)),
                }
            }
        }
    }

    /// Recorded first; the rule counts once the entry is durable, and the instruction files follow.
    fn append_policy(
        &mut self,
        change: PolicyChange,
        entry: Entry,
        user: UserDirs,
        reply: ReplySender,
    ) {
        let entry_id = entry.id.clone();
        self.recorder.append(
            vec![entry],
            Box::new(move |daemon, result| {
                let stored = match result {
                    Ok(stored) => stored,
                    Err(refusal) => return answer(reply, Err(refusal.clone())),
                };
                let set = PolicySet {
                    entry_id,
                    seq: stored[0].entry.seq,
                    rewritten: Vec::new(),
                    left: Vec::new(),
                };
                daemon.base.keep_settings(reply, move |dirs| {
                    let kept = keep(dirs, &user, change)
                        .map(|rules| (rules, config::load(dirs, &user)))
                        .map_err(|error| format!("the rule could not be kept: {error}"));
                    SettingsWritten::Policy(KeptPolicy { change, set, kept })
                });
            }),
        );
    }

    /// Recorded first; what is trusted counts once the entry is durable.
    fn append_trust(&mut self, trust: TrustToRecord, user: UserDirs, reply: ReplySender) {
        let TrustToRecord {
            entries,
            entry_id,
            changes_signing,
            power,
        } = trust;
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
                let signer = state.map(|state| state.notice.clone());
                let signer = signer.filter(|_| changes_signing);
                daemon.base.keep_settings(reply, move |dirs| {
                    let kept = keep_trust(dirs, &user, power, signer.as_ref(), recorded);
                    SettingsWritten::Trust(kept)
                });
            }),
        );
    }

    /// Has the settings written, which are recorded.
    fn keep_settings(
        &mut self,
        reply: ReplySender,
        write: impl FnOnce(&ProjectDirs) -> SettingsWritten + Send + 'static,
    ) {
        let dirs = self.dirs.clone();
        self.beside_in_order(WorkBeside::Settings, move |under_way| {
            Event::SettingsKept(Box::new(SettingsKept {
                kept: write(&dirs),
                reply,
                under_way,
            }))
        });
    }

    /// Has the instruction files say who writes to git. Files are read and written beside the loop.
    fn rewrite_blocks(&self, rules: &PolicyRules, mut set: PolicySet, reply: ReplySender) {
        let root = self.dirs.root.clone();
        let body = managed_instructions(rules.coordinator);
        self.beside(WorkBeside::ManagedBlocks, move |under_way| {
            let RewrittenBlocks { changed, left } = rewrite(&root, &body);
            set.rewritten = changed;
            set.left = left;
            Event::BlocksRewritten {
                set: Box::new(set),
                reply,
                under_way,
            }
        });
    }

    /// The same, where nobody waits for what came of it.
    fn renew_blocks(&self, rules: &PolicyRules, recorded: &Recorded) {
        let (nobody, _) = oneshot::channel();
        let set = PolicySet {
            entry_id: recorded.entry_id.clone(),
            seq: recorded.seq,
            rewritten: Vec::new(),
            left: Vec::new(),
        };
        self.rewrite_blocks(rules, set, nobody);
    }
}

impl Daemon {
    /// A change was written: it counts.
    pub(in crate::daemon) fn on_settings_kept(&mut self, kept: SettingsKept) {
        let SettingsKept {
            kept,
            reply,
            under_way: _heard,
        } = kept;
        let done = match kept {
            SettingsWritten::Policy(kept) => return self.policy_kept(kept, reply),
            SettingsWritten::Trust(kept) => self.trust_kept(kept),
        };
        answer(reply, done);
    }

    /// The rule was written: it counts.
    fn policy_kept(&mut self, kept: KeptPolicy, reply: ReplySender) {
        let KeptPolicy { change, set, kept } = kept;
        let rules = match self.settings_count(kept) {
            Ok(rules) => rules,
            Err(refusal) => return answer(reply, Err(refusal)),
        };
        self.base.clients.status_changed();
        match change {
            PolicyChange::Coordinator { .. } => self.base.rewrite_blocks(&rules, set, reply),
            _ => answer(reply, Ok(Reply::PolicySet(set))),
        }
    }

    /// What is trusted was written: it counts.
    fn trust_kept(&mut self, kept: KeptTrust) -> Result<Reply, Refusal> {
        let KeptTrust {
            recorded,
            signer,
            kept,
        } = kept;
        if let Some(why) = signer {
            self.base.note_not_kept(why);
        }
        if let Some(rules) = self.settings_count(kept)? {
            self.base.renew_blocks(&rules, &recorded);
        }
        Ok(Reply::Recorded(recorded))
    }
}
