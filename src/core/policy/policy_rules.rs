//! [`PolicyRules`]: what the operator allows the agents.

use std::collections::BTreeMap;

use super::need::{Certainty, Need};
use super::needs::{ToolUse, needs};
use super::{Coordinator, Permission, PermissionRule, PolicyChange, PolicyVerdict, SignOffMode};
use crate::agent::Agent;

/// What each permission comes to; one that is not named is allowed.
pub type PermissionRules = BTreeMap<Permission, PermissionRule>;

/// The operator's rules of a project.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PolicyRules {
    /// Who alone writes to git.
    pub coordinator: Option<Coordinator>,
    /// Nobody's tools change files or git.
    pub read_only: bool,
    /// Who says that work is done.
    pub sign_off: SignOffMode,
    /// For both agents.
    pub both: PermissionRules,
    /// For one agent; they count before those for both.
    pub own: BTreeMap<Agent, PermissionRules>,
}

impl PolicyRules {
    /// For where nobody knows the operator's rules: nothing is done unasked.
    pub fn all_asked() -> Self {
        let both = Permission::ALL.iter();
        Self {
            both: both.map(|one| (*one, PermissionRule::Ask)).collect(),
            ..Self::default()
        }
    }

    /// What a permission of an agent comes to. The switch is stricter than every rule.
    pub fn rule(&self, agent: Agent, permission: Permission) -> PermissionRule {
        let own = self.own.get(&agent).and_then(|own| own.get(&permission));
        let said = own.or_else(|| self.both.get(&permission));
        let changes = matches!(permission, Permission::Write | Permission::Git);
        match self.read_only && changes {
            true => PermissionRule::Deny,
            false => said.copied().unwrap_or_default(),
        }
    }

    /// Whether an agent has to leave git's writes to somebody else.
    pub fn leaves_git(&self, agent: Agent) -> Option<Coordinator> {
        self.coordinator
            .filter(|coordinator| coordinator.agent() != Some(agent))
    }

    /// Whether any rule is against something that an agent could do.
    pub fn restricts(&self, agent: Agent) -> bool {
        self.leaves_git(agent).is_some()
            || Permission::ALL
                .iter()
                .any(|permission| self.rule(agent, *permission) != PermissionRule::Allow)
    }

    /// What the rules make of a call of a tool.
    pub fn judge(&self, agent: Agent, call: &ToolUse<'_>) -> PolicyVerdict {
        if !self.restricts(agent) {
            return PolicyVerdict::Allowed;
        }
        let needs = needs(call);
        let verdicts = needs.iter().map(|need| self.of_need(agent, need));
        verdicts.fold(PolicyVerdict::Allowed, PolicyVerdict::max)
    }

    fn of_need(&self, agent: Agent, need: &Need) -> PolicyVerdict {
        let by_coordinator = match (need.permission, self.leaves_git(agent)) {
            (Permission::Git, Some(coordinator)) => of_coordinator(coordinator, need),
            _ => PolicyVerdict::Allowed,
        };
        let permission = need.permission;
        let what = &need.what;
        let by_rule = match (self.rule(agent, permission), &need.certainty) {
            (PermissionRule::Allow, _) => PolicyVerdict::Allowed,
            (PermissionRule::Deny, Certainty::Certain) => PolicyVerdict::Denied(format!(
                "ctxrelay: {what}, and your operator does not allow `{permission}` here{}. Work \
                 without it, or say in your answer what you need and why.",
                self.by_switch(permission)
            )),
            (PermissionRule::Deny, Certainty::Unclear) => PolicyVerdict::Ask(format!(
                "ctxrelay: {what}, and `{permission}` is not allowed here{}",
                self.by_switch(permission)
            )),
            (PermissionRule::Ask, _) => PolicyVerdict::Ask(format!(
                "ctxrelay: {what}; `{permission}` is asked for here"
            )),
        };
        by_coordinator.max(by_rule)
    }

    fn by_switch(&self, permission: Permission) -> &'static str {
        match permission {
            Permission::Write | Permission::Git if self.read_only => " (read only is on)",
            _ => "",
        }
    }

    /// The rules with one change.
    #[must_use]
    pub fn with(mut self, change: PolicyChange) -> Self {
        match change {
            PolicyChange::Coordinator { to } => self.coordinator = to,
            PolicyChange::ReadOnly { on } => self.read_only = on,
            PolicyChange::SignOff { mode } => self.sign_off = mode,
            PolicyChange::Permission {
                permission,
                agent,
                rule,
            } => {
                let rules = match agent {
                    Some(agent) => self.own.entry(agent).or_default(),
                    None => &mut self.both,
                };
                match rule {
                    Some(rule) => rules.insert(permission, rule),
                    None => rules.remove(&permission),
                };
            }
        }
        self.own.retain(|_, rules| !rules.is_empty());
        self
    }
}

fn of_coordinator(coordinator: Coordinator, need: &Need) -> PolicyVerdict {
    let what = &need.what;
    let (whose, instead) = match coordinator.agent() {
        Some(agent) => (
            format!("{}'s alone here, by your operator's rule", agent.title()),
            "Hand it off with the contextrelay tool `handoff`: which files, what it does and the \
             message",
        ),
        None => (
            "your operator's alone here".to_owned(),
            "Say in your answer what is to be run and why",
        ),
    };
    match need.certainty {
        Certainty::Certain => PolicyVerdict::Denied(format!(
            "ctxrelay: {what}, and writing to git is {whose}. {instead}. Reading (git status, diff, \
             log) is free."
        )),
        Certainty::Unclear => {
            PolicyVerdict::Ask(format!("ctxrelay: {what}, and writing to git is {whose}"))
        }
    }
}
