//! [`RuleInForce`]: a rule as it is reported, with its source.

use serde::{Deserialize, Serialize};

use super::{Permission, PermissionRule, PolicyRules};
use crate::agent::Agent;
use crate::entry::RuleName;

/// Why a rule for Claude is enforced.
const BY_HOOK: &str = "the plugin's hook judges each call of a tool before Claude runs it";

/// Why it is not.
const NO_HOOK: &str =
    "not every Claude here is known to run it: start Claude anew with `ctxrelay claude`";

/// Whether the hook judges what Claude does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaudeHooks {
    /// A Claude is here, and it judges the calls of each that is.
    Judge,
    /// Of one nobody has seen it.
    NotSeen,
    /// They are switched off.
    Off {
        /// The file that says so.
        file: String,
        /// By an administrator of the machine.
        is_managed: bool,
    },
}

impl ClaudeHooks {
    /// Why a rule is enforced, or what to do about it.
    fn why(&self) -> String {
        match self {
            Self::Judge => BY_HOOK.to_owned(),
            Self::NotSeen => NO_HOOK.to_owned(),
            Self::Off {
                file,
                is_managed: true,
            } => format!("hooks are switched off in {file}, for all of this machine"),
            Self::Off { file, .. } => format!(
                "hooks are switched off in {file} (`disableAllHooks`): take that out, or start \
                 Claude anew with `ctxrelay claude`, which runs them all the same"
            ),
        }
    }
}

/// Why a rule for Codex is none.
const OF_CODEX: &str = "Codex runs what its own sandbox and approvals allow; its requests show the \
                        rule, and you answer them";

/// A rule against something that an agent could do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleInForce {
    pub rule: RuleName,
    /// Whom it restricts.
    pub agent: Agent,
    pub comes_to: PermissionRule,
    /// Something keeps the agent from what the rule is against. Else the rule is ADVISORY.
    pub enforced: bool,
    /// What, or why nothing does.
    pub why: String,
}

impl RuleInForce {
    /// ENFORCED or ADVISORY.
    pub fn mark(&self) -> &'static str {
        match self.enforced {
            true => "ENFORCED",
            false => "ADVISORY",
        }
    }
}

impl PolicyRules {
    /// Every rule that restricts an agent.
    pub fn in_force(&self, claude: &ClaudeHooks) -> Vec<RuleInForce> {
        let told = |rule: RuleName, agent, comes_to| {
            let (enforced, why) = match agent {
                Agent::Claude => (*claude == ClaudeHooks::Judge, claude.why()),
                Agent::Codex => (false, OF_CODEX.to_owned()),
            };
            RuleInForce {
                rule,
                agent,
                comes_to,
                enforced,
                why,
            }
        };
        let mut rules = Vec::new();
        for agent in Agent::ALL {
            if self.leaves_git(agent).is_some() {
                rules.push(told(RuleName::Coordinator, agent, PermissionRule::Deny));
            }
            for permission in Permission::ALL {
                let comes_to = self.rule(agent, permission);
                if comes_to != PermissionRule::Allow {
                    rules.push(told(permission.as_str().into(), agent, comes_to));
                }
            }
        }
        rules
    }
}
