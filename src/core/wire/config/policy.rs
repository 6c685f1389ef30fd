//! [`policy`]: the rules of a configuration, and rules as its keys.

use serde_json::{Map, Value, json};

use super::keys::Config;
use super::policy_keys::{AgentPolicyKeys, PermissionKeys, PolicyKeys};
use super::read::read;
use crate::agent::Agent;
use crate::policy::{PermissionRules, PolicyRules, SignOffMode};

/// The rules of a configuration.
pub fn policy(config: &Config) -> PolicyRules {
    let agents = config.permissions.agents;
    let own = [(Agent::Claude, agents.claude), (Agent::Codex, agents.codex)];
    let own = own.map(|(agent, keys)| (agent, keys.rules()));
    PolicyRules {
        coordinator: config.collaboration.coordinator,
        read_only: config.permissions.read_only,
        sign_off: config.finality.mode,
        both: config.permissions.both.rules(),
        own: own
            .into_iter()
            .filter(|(_, rules)| !rules.is_empty())
            .collect(),
    }
}

/// Puts these rules in the place of a configuration's own.
pub(super) fn set_policy(config: &mut Config, rules: &PolicyRules) {
    let of = |agent| rules.own.get(&agent).map(PermissionKeys::of);
    config.collaboration.coordinator = rules.coordinator;
    config.finality.mode = rules.sign_off;
    config.permissions = PolicyKeys {
        read_only: rules.read_only,
        both: PermissionKeys::of(&rules.both),
        agents: AgentPolicyKeys {
            claude: of(Agent::Claude).unwrap_or_default(),
            codex: of(Agent::Codex).unwrap_or_default(),
        },
    };
}

/// The rules that the operator trusts, from the trusted keys.
pub fn trusted_policy(trusted: &Map<String, Value>) -> PolicyRules {
    let mut file = Map::new();
    if let Some(coordinator) = trusted.get("collaboration.coordinator") {
        let group = json!({"coordinator": coordinator});
        file.insert("collaboration".to_owned(), group);
    }
    if let Some(permissions) = trusted.get("permissions") {
        file.insert("permissions".to_owned(), permissions.clone());
    }
    if let Some(finality) = trusted.get("finality") {
        file.insert("finality".to_owned(), finality.clone());
    }
    match file.is_empty() {
        true => PolicyRules::default(),
        false => policy(&read(&file).0),
    }
}

/// The rules as keys of the file, dotted, as the operator trusts them; `None` where nothing is to
/// stand.
pub fn keys_of(rules: &PolicyRules) -> [(&'static str, Option<Value>); 3] {
    let of = |rules: &PermissionRules| {
        let pairs = rules.iter();
        pairs
            .map(|(permission, rule)| (permission.to_string(), json!(rule)))
            .collect::<Map<String, Value>>()
    };
    let mut permissions = of(&rules.both);
    if rules.read_only {
        permissions.insert("readOnly".to_owned(), json!(true));
    }
    if !rules.own.is_empty() {
        let own = rules.own.iter();
        let own: Map<String, Value> = own
            .map(|(agent, rules)| (agent.to_string(), Value::Object(of(rules))))
            .collect();
        permissions.insert("agents".to_owned(), Value::Object(own));
    }
    let permissions = Some(permissions).filter(|permissions| !permissions.is_empty());
    [
        (
            "collaboration.coordinator",
            rules.coordinator.map(|it| json!(it)),
        ),
        ("permissions", permissions.map(Value::Object)),
        (
            "finality",
            (rules.sign_off != SignOffMode::Manual).then(|| json!({"mode": rules.sign_off})),
        ),
    ]
}
