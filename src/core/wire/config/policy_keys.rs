//! [`PolicyKeys`]: the operator's rules for the agents, as set in `config.json`.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::delivery::LimitMode;
use crate::policy::{Coordinator, Permission, PermissionRule, PermissionRules, SignOffMode};

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

    pub(super) fn rules(mut self) -> PermissionRules {
        let rules = Permission::ALL.into_iter();
        rules
            .filter_map(|permission| Some((permission, (*self.key(permission))?)))
            .collect()
    }

    pub(super) fn of(rules: &PermissionRules) -> Self {
        let mut keys = Self::default();
        for (permission, rule) in rules {
            *keys.key(*permission) = Some(*rule);
        }
        keys
    }
}
