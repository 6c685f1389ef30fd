//! The operator changes a rule for the agents: whether that is allowed, how it is written, and what
//! is in force.

use serde_json::Map;

use crate::core::agent::{Agent, Party};
use crate::core::entry::{Entry, LifecycleEvent};
use crate::core::policy::{PolicyChange, PolicyRules, SignOffMode};
use crate::daemon::agents::claude_processes::ClaudeProcesses;
use crate::daemon::base::clients::Clients;
use crate::daemon::base::clock::now_ms;
use crate::daemon::base::configuration::Configuration;
use crate::daemon::base::recorder::Recorder;
use crate::store::config::{self, Loaded};
use crate::store::dirs::{ProjectDirs, UserDirs};
use crate::store::trust;
use crate::wire::config::{keys_of, trusted_policy};
use crate::wire::control::{HookParams, Refusal, RefusalCode};
use crate::wire::status::PolicyStatus;

/// How much of the reason for a refused call is recorded, in characters.
const WHY_CHARS_MAX: usize = 500;

/// The entry of a change, which counts once that is durable and the file is written.
pub(super) fn policy_entry<T>(
    recorder: &Recorder<T>,
    change: PolicyChange,
    loaded: &Loaded,
) -> Result<Entry, Refusal> {
    if loaded.file.is_none() {
        return Err(Refusal::new(
            RefusalCode::TrustFailed,
            "config.json cannot be read as a JSON object, so that nothing can be set in it",
            "mend it: `ctxrelay config show` says what is wrong",
        ));
    }
    let is_auto = matches!(
        change,
        PolicyChange::SignOff {
            mode: SignOffMode::Auto
        }
    );
    if is_auto && recorder.world().signing.is_some() {
        return Err(Refusal::gates_cannot_sign());
    }
    let event = match change {
        PolicyChange::Coordinator { .. } => LifecycleEvent::CoordinatorChanged,
        _ => LifecycleEvent::PermissionsChanged,
    };
    Ok(recorder.entry(Party::Human, None, event, change.to_string(), None))
}

/// A hook of Claude's kept it from a call: the record says so.
pub(super) fn note_refused_tool<T>(recorder: &mut Recorder<T>, params: &HookParams) {
    let why = params.text.as_deref().unwrap_or_default();
    let why: String = why.chars().take(WHY_CHARS_MAX).collect();
    let text = format!("{} was kept from a call: {why}", Agent::Claude.title());
    recorder.mention(Party::System, LifecycleEvent::ToolRefused, text);
}

/// The rules, and whether each is enforced.
pub(in crate::daemon) fn policy_status<T>(
    configuration: &Configuration,
    recorder: &Recorder<T>,
    clients: &Clients,
    claude_processes: &ClaudeProcesses,
) -> PolicyStatus {
    let rules = configuration.policy();
    // With a second one that goes free the rule is not enforced.
    let hooks = claude_processes.hooks_of(clients.all_bridges().map(|it| &it.hello));
    PolicyStatus {
        coordinator: rules.coordinator,
        read_only: recorder.is_read_only(),
        tools_read_only: rules.read_only,
        rules: rules.in_force(&hooks),
    }
}

/// Trusts the rules with the change, and writes them into the file. What else waits for trust waits
/// on; rules in the file that nobody trusted give way.
pub(super) fn keep(
    dirs: &ProjectDirs,
    user: &UserDirs,
    change: PolicyChange,
) -> std::io::Result<PolicyRules> {
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
