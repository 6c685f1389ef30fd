//! The settings are read, a change of them is recorded, and then it is written and counts.

use crate::daemon::configuring::failed;
use crate::daemon::event::Event;
use crate::daemon::owners::{Base, Daemon};
use crate::daemon::reply::{ReplySender, answer};
use crate::daemon::settings::{SettingsChange, SettingsKept, SettingsRead, SettingsWritten};
use crate::daemon::signing::keep_signer;
use crate::daemon::under_way::WorkBeside;
use crate::store::config;

impl Base {
    /// Has the settings read for a change of them.
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
            SettingsChange::Policy(change) => self.append_policy(change, user, &loaded, reply),
            SettingsChange::Trust {
                params,
                is_signer_forgotten,
            } => self.append_trust(*params, is_signer_forgotten, user, &loaded, reply),
        }
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
        match kept {
            SettingsWritten::Policy(kept) => self.policy_kept(kept, reply),
            SettingsWritten::Trust(kept) => self.trust_kept(kept, reply),
        }
    }
}
