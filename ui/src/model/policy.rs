//! [`PolicyView`]: the operator's rules for the agents.

use super::agent::Party;

/// The rules in force.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PolicyView {
    /// Who alone writes to git; `None`: everybody may.
    pub coordinator: Option<Party>,
    /// Each rule that restricts an agent, as a line with its mark: ENFORCED or ADVISORY.
    pub rules: Vec<String>,
}
