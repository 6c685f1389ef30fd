//! [`PolicyKeys`]: the operator's rules for the agents, as `config.json` has them.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::keys::Config;
use super::read::read;
use crate::agent::Agent;
use crate::delivery::LimitMode;
use crate::policy::{
    Coordinator, Permission, PermissionRule, PermissionRules, PolicyRules, SignOffMode,
};

/// Keys of `collaboration`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct CollaborationKeys {
    /// Who alone writes to git: `ctxrelay coordinator`. `null`: everybody may.
    pub coordinator: Option<Coordinator>,
}

/// Keys of `finality`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct FinalityKeys {
    /// Who says that work is done: the operator, or the required gates. Counts only as the
    /// operator last trusted it; `ctxrelay finality mode` sets it.
    pub mode: SignOffMode,
}

/// Keys of `permissions`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct PolicyKeys {
    /// Nobody's tools change files or git.
    pub read_only: bool,
    /// For both agents.
    #[serde(flatten)]
    pub both: PermissionKeys,
    /// For one agent; they count before those for both.
    pub agents: AgentPolicyKeys,
}

/// Keys of `permissions.agents`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
pub struct AgentPolicyKeys {
    /// For Claude.
    pub claude: PermissionKeys,
    /// For Codex.
    pub codex: PermissionKeys,
}

/// What permissions come to: `allow` (as the agent's own settings have it), `ask` or `deny`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
pub struct PermissionKeys {
    /// Reading files.
    pub read: Option<PermissionRule>,
    /// Changing files.
    pub write: Option<PermissionRule>,
    /// Running commands.
    pub shell: Option<PermissionRule>,
    /// Reaching beyond this machine.
    pub network: Option<PermissionRule>,
    /// Writing to git.
    pub git: Option<PermissionRule>,
    /// Naming files in which secrets usually lie.
    pub secrets: Option<PermissionRule>,
    /// Driving a browser.
    pub browser: Option<PermissionRule>,
    /// Using the tools of other MCP servers.
    pub external_api: Option<PermissionRule>,
}

/// The schema of types with an `ALL` and an `as_str`. `policy` and `delivery` know no format.
macro_rules! schema_of_words {
    ($($name:ident),+) => {$(
        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": "string", "enum": Self::ALL.map(Self::as_str)})
            }
        }
    )+};
}

schema_of_words!(Coordinator, LimitMode, PermissionRule, SignOffMode);

impl PermissionKeys {
    fn key(&mut self, permission: Permission) -> &mut Option<PermissionRule> {
        match permission {
            Permission::Read => &mut self.read,
            Permission::Write => &mut self.write,
            Permission::Shell => &mut self.shell,
            Permission::Network => &mut self.network,
            Permission::Git => &mut self.git,
            Permission::Secrets => &mut self.secrets,
            Permission::Browser => &mut self.browser,
            Permission::ExternalApi => &mut self.external_api,
        }
    }

    fn rules(mut self) -> PermissionRules {
        let rules = Permission::ALL.into_iter();
        rules
            .filter_map(|permission| Some((permission, (*self.key(permission))?)))
            .collect()
    }

    fn of(rules: &PermissionRules) -> Self {
        let mut keys = Self::default();
        for (permission, rule) in rules {
            *keys.key(*permission) = Some(*rule);
        }
        keys
    }
}

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
