//! [`Need`]: a permission that a call needs, and the part of the call that needs it.

use super::Permission;
use super::hint::Hint;

/// The longest name of a tool or a path that a sentence has, in characters.
const NAMED_CHARS_MAX: usize = 120;

/// Whether the call would surely do it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Certainty {
    Certain,
    /// Its text does not say.
    Unclear,
}

/// One permission that a call needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Need {
    pub(super) permission: Permission,
    pub(super) certainty: Certainty,
    /// What of the call needs it, as the beginning of a sentence.
    pub(super) what: Hint,
}

impl Need {
    pub(super) fn certain(permission: Permission, what: impl Into<Hint>) -> Self {
        Self {
            permission,
            certainty: Certainty::Certain,
            what: what.into(),
        }
    }

    pub(super) fn unclear(permission: Permission, what: impl Into<Hint>) -> Self {
        Self {
            permission,
            certainty: Certainty::Unclear,
            what: what.into(),
        }
    }
}

/// As much of a name as a sentence has room for, in one line.
pub(super) fn named(text: &str) -> String {
    let line = text
        .chars()
        .map(|it| if it.is_control() { ' ' } else { it });
    line.take(NAMED_CHARS_MAX).collect()
}
