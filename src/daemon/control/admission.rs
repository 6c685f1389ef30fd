//! [`HelloAdmission`]: what a connection has shown, and the role in which it may say hello.

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

    fn admits(self, role: Role) -> bool {
        match self {
            Self::Claude => matches!(role, Role::Claude | Role::Hook),
            Self::Codex => role == Role::Codex,
            Self::Reader | Self::Operator => matches!(role, Role::Deck | Role::Cli),
        }
    }
}

#[cfg(test)]
mod tests {
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
}
