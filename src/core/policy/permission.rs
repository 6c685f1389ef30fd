//! [`Permission`] and [`PermissionRule`].

use crate::word::words;

words! {
    /// Something that an agent's tools do.
    #[derive(PartialOrd, Ord)]
    pub closed enum Permission {
        /// Reads files.
        Read = "read",
        /// Changes files.
        Write = "write",
        /// Runs commands.
        Shell = "shell",
        /// Reaches beyond this machine.
        Network = "network",
        /// Writes to git.
        Git = "git",
        /// Names a file in which keys, tokens or passwords usually lie.
        Secrets = "secrets",
        /// Drives a browser.
        Browser = "browser",
        /// Uses a tool of another MCP server.
        ExternalApi = "external_api",
    }
}

words! {
    /// What a permission comes to. The later one is the stricter one.
    #[derive(PartialOrd, Ord, Default)]
    pub closed enum PermissionRule {
        /// As the agent's own settings have it: nothing is allowed that they do not allow.
        #[default]
        Allow = "allow",
        /// The agent asks the operator first.
        Ask = "ask",
        /// No.
        Deny = "deny",
    }
}
