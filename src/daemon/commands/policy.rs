//! The operator changes a rule for the agents.

use serde_json::Map;
use tokio::sync::oneshot;

use crate::core::agent::{Agent, Party};
use crate::core::entry::LifecycleEvent;
use crate::core::id::{EntryId, Seq};
use crate::core::instructions::managed_instructions;
use crate::core::policy::{PolicyChange, PolicyRules, SignOffMode};
use crate::daemon::clock::now_ms;
use crate::daemon::configuring::failed;
use crate::daemon::event::Event;
use crate::daemon::managed_blocks::{RewrittenBlocks, rewrite};
use crate::daemon::owners::{Agents, Base, Daemon};
use crate::daemon::reply::{ReplySender, answer};
use crate::daemon::settings::{KeptPolicy, SettingsKept, SettingsWritten};
use crate::daemon::under_way::WorkBeside;
use crate::store::config::{self, Loaded};
use crate::store::dirs::{ProjectDirs, UserDirs};
use crate::store::trust;
use crate::wire::config::{keys_of, trusted_policy};
use crate::wire::control::{HookParams, PolicySet, Reply};
use crate::wire::status::PolicyStatus;

/// How much of the reason for a refused call is recorded, in characters.
const WHY_CHARS_MAX: usize = 500;

impl Base {
    /// Recorded first; the rule counts once the entry is durable, and the instruction files follow.
    pub(super) fn append_policy(
        &mut self,
        change: PolicyChange,
        user: UserDirs,
        loaded: &Loaded,
        reply: ReplySender,
    ) {
        if loaded.file.is_none() {
            let why = "config.json is no JSON object, so that nothing can be set in it";
            return answer(reply, Err(failed(why)));
        }
        let is_auto = matches!(
            change,
            PolicyChange::SignOff {
                mode: SignOffMode::Auto
            }
        );
        if is_auto && self.recorder.world().signing.is_some() {
            let why = "decisions are signed here, and the gates have no key";
            return answer(reply, Err(failed(why)));
        }
        let event = match change {
            PolicyChange::Coordinator { .. } => LifecycleEvent::CoordinatorChanged,
            _ => LifecycleEvent::PermissionsChanged,
        };
        let entry = self
            .recorder
            .entry(Party::Human, None, event, change.to_string(), None);
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
                let dirs = daemon.base.dirs.clone();
                daemon
                    .base
                    .beside_in_order(WorkBeside::Settings, move |under_way| {
                        let kept = keep(&dirs, &user, change)
                            .map(|rules| (rules, config::load(&dirs, &user)))
                            .map_err(|error| format!("the rule could not be kept: {error}"));
                        let kept = SettingsWritten::Policy(KeptPolicy { change, set, kept });
                        Event::SettingsKept(Box::new(SettingsKept {
                            kept,
                            reply,
                            under_way,
                        }))
                    });
            }),
        );
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
    pub(super) fn renew_blocks(&self, rules: &PolicyRules, entry_id: EntryId, seq: Seq) {
        let (nobody, _) = oneshot::channel();
        let set = PolicySet {
            entry_id,
            seq,
            rewritten: Vec::new(),
            left: Vec::new(),
        };
        self.rewrite_blocks(rules, set, nobody);
    }

    /// A hook of Claude's kept it from a call: the record says so.
    pub(super) fn note_refused_tool(&mut self, params: &HookParams) {
        let why = params.text.as_deref().unwrap_or_default();
        let why: String = why.chars().take(WHY_CHARS_MAX).collect();
        let text = format!("{} was kept from a call: {why}", Agent::Claude.title());
        self.recorder
            .note_fact(Party::System, LifecycleEvent::ToolRefused, text);
    }
}

impl Daemon {
    /// The rule was written: it counts.
    pub(super) fn policy_kept(&mut self, kept: KeptPolicy, reply: ReplySender) {
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
}

impl Agents {
    /// The rules, and whether each is enforced.
    pub(in crate::daemon) fn policy_status(&self, base: &Base) -> PolicyStatus {
        let rules = base.configuration.policy();
        // With a second one that goes free the rule is not enforced.
        let mut claudes = base.clients.bridges().map(|(_, it)| it.hello.agent_pid);
        let is_here = base.clients.bridges().next().is_some();
        let claude_asks =
            is_here && claudes.all(|it| it.is_some_and(|it| self.claude_processes.is_judged(it)));
        PolicyStatus {
            coordinator: rules.coordinator,
            read_only: base.recorder.is_read_only(),
            tools_read_only: rules.read_only,
            rules: rules.in_force(claude_asks),
        }
    }
}

/// Trusts the rules with the change, and writes them into the file. What else waits for trust waits
/// on; rules in the file that nobody trusted give way.
fn keep(dirs: &ProjectDirs, user: &UserDirs, change: PolicyChange) -> std::io::Result<PolicyRules> {
    let id = dirs.instance_id();
    // Else the one rule would be all that is trusted from then on.
    let mut keys = trust::read(user, &id)
        .map_err(|error| {
            let why = format!("what is trusted cannot be read ({error}): `ctxrelay trust` first");
            std::io::Error::new(error.kind(), why)
        })?
        .keys;
    let rules = trusted_policy(&keys).with(change);
    let wanted = keys_of(&rules);
    for (key, value) in wanted.clone() {
        match value {
            Some(value) => keys.insert(key.to_owned(), value),
            None => keys.remove(key),
        };
    }
    // What cannot be read now is not written over.
    let file = config::load(dirs, user).file;
    let mut file =
        file.ok_or_else(|| std::io::Error::other("config.json is no JSON object now"))?;
    let before = file.clone();
    for (key, value) in wanted {
        set(&mut file, key, value);
    }
    // Trusted last: in the file alone the rule has no power, so that one that is refused is not in
    // force.
    config::save(dirs, &file)?;
    if let Err(error) = trust::write(user, &id, keys, now_ms()) {
        if let Err(error) = config::save(dirs, &before) {
            tracing::warn!(%error, "config.json has a rule that is not in force");
        }
        return Err(error);
    }
    Ok(rules)
}

/// Sets a dotted key of at most two parts.
fn set(file: &mut Map<String, serde_json::Value>, key: &str, value: Option<serde_json::Value>) {
    let (group, name) = match key.split_once('.') {
        Some((group, name)) => {
            let group = file
                .entry(group)
                .or_insert_with(|| Map::new().into())
                .as_object_mut();
            match group {
                Some(group) => (group, name),
                // Something else stands where the group would.
                None => return,
            }
        }
        None => (file, key),
    };
    match value {
        Some(value) => group.insert(name.to_owned(), value),
        None => group.remove(name),
    };
}

#[cfg(test)]
mod tests;
