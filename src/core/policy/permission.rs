//! [`Permission`] and [`PermissionRule`].

use std::fmt;

use serde::{Deserialize, Serialize};

/// Something that an agent's tools do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// Reads files.
    Read,
    /// Changes files.
    Write,
    /// Runs commands.
    Shell,
    /// Reaches beyond this machine.
    Network,
    /// Writes to git.
    Git,
    /// Names a file in which keys, tokens or passwords usually lie.
    Secrets,
    /// Drives a browser.
    Browser,
    /// Uses a tool of another MCP server.
    ExternalApi,
}

impl Permission {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 8] = [
        Self::Read,
        Self::Write,
        Self::Shell,
        Self::Network,
        Self::Git,
        Self::Secrets,
        Self::Browser,
        Self::ExternalApi,
    ];

    /// The name in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Shell => "shell",
            Self::Network => "network",
            Self::Git => "git",
            Self::Secrets => "secrets",
            Self::Browser => "browser",
            Self::ExternalApi => "external_api",
        }
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a permission comes to. The later one is the stricter one.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Default,
)]
#[serde(rename_all = "lowercase")]
pub enum PermissionRule {
    /// As the agent's own settings have it: nothing is allowed that they do not allow.
    #[default]
    Allow,
    /// The agent asks the operator first.
    Ask,
    /// No.
    Deny,
}

impl PermissionRule {
    /// The name in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl fmt::Display for PermissionRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
