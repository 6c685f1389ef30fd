//! What happens when `config.json` is read, and read again.

use std::io;

use crate::core::agent::Party;
use crate::core::entry::{EntryKind, ErrorCode, LifecycleEvent};
use crate::daemon::base::configuration::Configuration;
use crate::daemon::base::disk_space::space_changed;
use crate::daemon::owners::{Agents, Base, Daemon};
use crate::store::config::{Adopted, Loaded};
use crate::store::dirs::UserDirs;
use crate::store::trust;
use crate::wire::config::Config;
use crate::wire::control::{Refusal, RefusalCode};
use crate::wire::status::NoticeKey;

/// How many changed keys are named in an entry.
const NAMED_MAX: usize = 20;

/// How much of a key's name is told, in characters: the file's writer chooses it.
const NAME_CHARS_MAX: usize = 60;

impl Daemon {
    /// Takes the configuration that the daemon starts with; its rules are in use already.
    pub(in crate::daemon) fn configure(&mut self, user: UserDirs, loaded: &Loaded) {
        self.base.configuration = Configuration::new(user, loaded);
        self.agents.set_delivery_timeouts(&self.base);
        self.base.note_configuration(loaded);
        if loaded.file.is_none() && !loaded.are_rules_of_before {
            let said = "config.json could not be read when the daemon started, and no redaction rules \
                of before are kept: what only a rule of yours masks is recorded as it is until you mend \
                the file";
            self.base.notices.set(NoticeKey::RulesUnread, said);
        }
        self.apply_configuration(&loaded.config);
    }

    /// What of it the loop keeps elsewhere.
    fn apply_configuration(&mut self, config: &Config) {
        self.agents.set_silences(&mut self.base, config);
        self.set_limit_mode(config);
        let warn_percent = config.continuity.warn_percent.into();
        self.agents
            .contexts
            .warn_from(warn_percent, self.base.clock.now_ms());
        self.agents
            .want_codex_hook(&mut self.base, config.continuity.codex_hook);
        if config.continuity.extract.every_turns.get() == 0 {
            self.agents.inferences.end();
        }
        self.base.clients.status_changed();
        self.base.recorder.space().set_limits(config.storage);
        space_changed(
            self.base.recorder.space(),
            &mut self.base.notices,
            &self.base.clients,
        );
    }

    /// Takes what the file says now. A file that cannot be taken at all changes nothing: it may be
    /// half written, and rules that masked must not be lost by a missing brace. As little does what
    /// is trusted where it cannot be read: gates and rules that counted go on counting.
    pub(in crate::daemon) fn reconfigure(&mut self, loaded: Loaded, changed: &[String]) {
        self.base.note_configuration(&loaded);
        if loaded.file.is_none() || loaded.trust_lost.is_some() {
            return;
        }
        self.base.recorder.redactor().replace(loaded.rules);
        self.base.notice_over(&NoticeKey::RulesUnread);
        self.apply_configuration(&loaded.config);
        self.base.configuration.replace(loaded.config);
        self.agents.set_delivery_timeouts(&self.base);
        self.deliveries.hold_answers(&self.base);
        self.base.note_reloaded(changed);
    }

    /// What was written counts from now on. Where it could not be written the record says so, and it
    /// is refused.
    pub(in crate::daemon) fn settings_count<T>(
        &mut self,
        kept: Result<(T, Loaded), String>,
    ) -> Result<T, Refusal> {
        let (written, loaded) = kept.map_err(|why| {
            let refusal = failed(&why);
            self.base.note_not_kept(why);
            refusal
        })?;
        self.reconfigure(loaded, &[]);
        self.files.trusted();
        Ok(written)
    }
}

impl Base {
    /// The file says something else under these keys.
    pub(in crate::daemon) fn note_reloaded(&mut self, changed: &[String]) {
        if changed.is_empty() {
            return;
        }
        self.recorder.mention(
            Party::System,
            LifecycleEvent::ConfigReloaded,
            format!("config.json changed and was read again: {}", named(changed)),
        );
    }

    /// Tells what became of a `config.json` of ContextRelay 3.
    pub(in crate::daemon) fn note_adopted_config(&mut self, adopted: io::Result<Option<Adopted>>) {
        match adopted {
            Ok(None) => {}
            Ok(Some(Adopted { migrated, backup })) => self.recorder.keep(
                Party::System,
                LifecycleEvent::ConfigMigrated,
                format!(
                    "config.json of ContextRelay 3 was taken over; kept: {}; left out: {}; as it \
                     was it is in {}",
                    named(&migrated.kept),
                    named(&migrated.dropped),
                    backup.file_name().unwrap_or_default().display()
                ),
            ),
            Err(error) => self.recorder.mention(
                Party::System,
                ErrorCode::ConfigNotMigrated,
                format!(
                    "config.json of ContextRelay 3 was read and could not be rewritten: {error}"
                ),
            ),
        }
    }

    /// What the operator trusts could not be kept, or read.
    pub(in crate::daemon) fn note_not_kept(&mut self, why: String) {
        self.recorder
            .mention(Party::System, ErrorCode::TrustNotKept, why);
    }

    /// At a start: a daemon that was killed behind the entry that trusts `config.json` has not kept
    /// that. A rule that the operator set behind it is kept in the same file.
    pub(in crate::daemon) fn note_trust_cut_short(&mut self, user: &UserDirs) {
        let trusted = EntryKind::from(LifecycleEvent::ConfigTrusted);
        let not_kept = EntryKind::from(ErrorCode::TrustNotKept);
        let recent = self.recorder.recent().iter().rev();
        let last = recent
            .map(|stored| &stored.entry)
            .find(|entry| entry.kind == trusted || entry.kind == not_kept);
        let world = self.recorder.world();
        if let Some(entry) = last.filter(|entry| entry.kind == trusted)
            && !world.is_foreign(entry.seq)
            && let Ok(kept) = trust::read(user, &self.dirs.instance_id())
            && kept.at < entry.timestamp_ms
        {
            let why = format!(
                "what entry {} says of trust in config.json is not in force, as after a crash right \
                 behind it: what was trusted before counts on; say it again with `ctxrelay trust`",
                entry.seq
            );
            self.note_not_kept(why);
        }
    }

    fn note_configuration(&mut self, loaded: &Loaded) {
        let mut changed = false;
        let lost = loaded
            .trust_lost
            .as_ref()
            .and_then(|_| loaded.trust_notice());
        if let Some(lost) = lost
            && !self.notices.lines().contains(&lost)
        {
            // The notice names a file below the operator's home, and the record is exported and read
            // by agents.
            let why = "what is trusted of config.json cannot be read: `ctxrelay status` says why";
            self.note_not_kept(why.to_owned());
        }
        for (key, line) in [
            (NoticeKey::Config, loaded.problem_notice()),
            (NoticeKey::ConfigTrust, loaded.trust_notice()),
        ] {
            changed |= match line {
                Some(line) => self.notices.set(key, line),
                None => self.notices.clear(&key),
            };
        }
        if changed {
            self.clients.status_changed();
        }
    }
}

impl Agents {
    fn set_delivery_timeouts(&mut self, base: &Base) {
        let timeouts = base.configuration.delivery_timeouts();
        self.claude
            .set_timeouts(timeouts.idle_ms, timeouts.expiry_ms);
        self.codex.set_expiry(timeouts.expiry_ms);
    }
}

/// Names of keys, in one line.
fn named(keys: &[String]) -> String {
    if keys.is_empty() {
        return "nothing".to_owned();
    }
    let mut names: Vec<String> = keys
        .iter()
        .take(NAMED_MAX)
        .map(|name| name.chars().take(NAME_CHARS_MAX).collect())
        .collect();
    if keys.len() > NAMED_MAX {
        names.push(format!("{} more", keys.len() - NAMED_MAX));
    }
    names.join(", ")
}

/// The settings cannot be changed.
pub(in crate::daemon) fn failed(why: &str) -> Refusal {
    Refusal::new(
        RefusalCode::TrustFailed,
        why,
        "see that config.json and the registry's folder outside the project can be written",
    )
}
