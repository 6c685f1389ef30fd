//! [`PolicyVerdict`]: the verdict of the rules on one call of a tool.

/// What the rules make of a call. A larger one counts more.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum PolicyVerdict {
    /// No rule is against it. The agent's own settings count as they would without ctxrelay.
    Allowed,
    /// The operator is asked; why, for them and the agent.
    Ask(String),
    /// No; why, and what the agent can do instead.
    Denied(String),
}
