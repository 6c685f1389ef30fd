//! [`PolicyChange`]: one change of the rules, as the operator asks for it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Coordinator, Permission, PermissionRule, SignOffMode};
use crate::agent::Agent;

/// One change of the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    tag = "change"
)]
pub enum PolicyChange {
    /// Who alone writes to git; `None`: everybody may.
    Coordinator { to: Option<Coordinator> },
    /// The switch with which nobody's tools change anything.
    ReadOnly { on: bool },
    /// Who says that work is done.
    SignOff { mode: SignOffMode },
    /// What a permission comes to.
    Permission {
        permission: Permission,
        /// For one agent; `None`: for both, where there is nothing of its own.
        agent: Option<Agent>,
        /// What it comes to; `None`: nothing is said of it here any more.
        rule: Option<PermissionRule>,
    },
}

/// As it stands in the record.
impl fmt::Display for PolicyChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Coordinator { to: Some(to) } => write!(f, "coordinator: {to}"),
            Self::Coordinator { to: None } => f.write_str("coordinator: nobody"),
            Self::ReadOnly { on: true } => f.write_str("read only: on"),
            Self::ReadOnly { on: false } => f.write_str("read only: off"),
            Self::SignOff { mode } => write!(f, "finality mode: {mode}"),
            Self::Permission {
                permission,
                agent,
                rule,
            } => {
                write!(f, "permission {permission}")?;
                if let Some(agent) = agent {
                    write!(f, " of {}", agent.title())?;
                }
                match rule {
                    Some(rule) => write!(f, ": {rule}"),
                    None => f.write_str(": no rule"),
                }
            }
        }
    }
}
