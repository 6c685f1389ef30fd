//! [`HelloAdmission`]: what a connection has shown, and as which role it may say hello.

use crate::wire::control::{Refusal, RefusalCode, Role};

/// What a connection has shown before it says hello.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HelloAdmission {
    /// Claude's token: its bridge, hooks and doorbell.
    Claude,
    /// Codex's token.
    Codex,
    /// The readers' token, or the operator's socket from a process that is not the operator's:
    /// never an agent's commands, never the operator's.
    Reader,
    /// The operator's socket, from a process that is no agent's.
    Operator,
}

impl HelloAdmission {
    /// Refuses a role that is not the shown token's.
    pub(super) fn check(self, role: Role) -> Result<(), Refusal> {
        if self.admits(role) {
            return Ok(());
        }
        if self.is_outdated(role) {
            return Err(outdated(role));
        }
        let owner = match self {
            Self::Claude => "Claude's token",
            Self::Codex => "Codex's token",
            Self::Reader => "the readers' token",
            Self::Operator => "the operator's socket",
        };
        Err(Refusal::new(
            RefusalCode::WrongRole,
            format!("{owner} lets nobody in as `{}`", role.as_str()),
            "each role has a token of its own in .contextrelay/state: claude-token, codex-token, \
             and token for `deck` and `cli`",
        ))
    }

    /// Whether this is how an agent comes that was started before each role had its own token:
    /// then one token, which is the readers' now, served all of them.
    pub(super) fn is_outdated(self, role: Role) -> bool {
        self == Self::Reader && !self.admits(role)
    }

    fn admits(self, role: Role) -> bool {
        match self {
            Self::Claude => matches!(role, Role::Claude | Role::Hook),
            Self::Codex => role == Role::Codex,
            Self::Reader | Self::Operator => matches!(role, Role::Deck | Role::Cli),
        }
    }
}

/// The step stands in the message: clients of that time show their agent nothing else.
fn outdated(role: Role) -> Refusal {
    let message = match role {
        Role::Claude => {
            "this Claude's bridge was started before ctxrelay was updated and may no longer speak \
             for Claude: in Claude type /mcp, choose contextrelay, then Reconnect"
        }
        Role::Hook => {
            "this Claude's monitor was started before ctxrelay was updated and can no longer wake \
             it: quit this Claude and start it again"
        }
        _ => {
            "this Codex's MCP server was started before ctxrelay was updated and may no longer \
             speak for Codex: quit this Codex and start it again"
        }
    };
    Refusal::new(
        RefusalCode::OutdatedAgent,
        message,
        "nothing was carried out; messages wait until it has reconnected",
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn each_token_admits_its_own_roles_and_no_other() {
        use Role::{Claude, Cli, Codex, Deck, Hook};
        for (admission, admitted) in [
            (HelloAdmission::Claude, &[Claude, Hook][..]),
            (HelloAdmission::Codex, &[Codex]),
            (HelloAdmission::Reader, &[Deck, Cli]),
            (HelloAdmission::Operator, &[Deck, Cli]),
        ] {
            for role in [Claude, Codex, Deck, Cli, Hook] {
                let checked = admission.check(role);
                assert_eq!(
                    checked.is_ok(),
                    admitted.contains(&role),
                    "{admission:?} {role:?}"
                );
            }
        }
    }

    #[test]
    fn an_agent_of_before_the_update_is_told_the_step_in_the_sentence_itself() {
        let refused = |admission: HelloAdmission, role| admission.check(role).unwrap_err();
        let claude = refused(HelloAdmission::Reader, Role::Claude);
        assert_eq!(claude.code, RefusalCode::OutdatedAgent);
        assert!(claude.message.contains("/mcp"), "{}", claude.message);
        assert!(claude.message.contains("Reconnect"), "{}", claude.message);
        let codex = refused(HelloAdmission::Reader, Role::Codex);
        assert!(
            codex.message.contains("start it again"),
            "{}",
            codex.message
        );
        // Codex's own token with another role is no matter of age.
        assert_eq!(
            refused(HelloAdmission::Codex, Role::Claude).code,
            RefusalCode::WrongRole
        );
        assert_eq!(
            refused(HelloAdmission::Operator, Role::Claude).code,
            RefusalCode::WrongRole
        );
    }
}
