//! [`Check`]: a sentence, and the next step if there is one.

use serde::Serialize;

/// What one check found.
#[derive(Debug, Serialize)]
pub(super) struct Check {
    pub id: &'static str,
    pub ok: bool,
    /// A line for each thing that was found.
    pub message: String,
    pub hint: String,
}

pub(super) fn good(id: &'static str, message: impl Into<String>) -> Check {
    Check {
        id,
        ok: true,
        message: message.into(),
        hint: String::new(),
    }
}

/// Nothing is broken, and there is something to know.
pub(super) fn note(id: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Check {
    Check {
        id,
        ok: true,
        message: message.into(),
        hint: hint.into(),
    }
}

pub(super) fn bad(id: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Check {
    Check {
        id,
        ok: false,
        message: message.into(),
        hint: hint.into(),
    }
}
