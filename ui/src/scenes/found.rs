//! What a search in the record of [`super::pair_at_work`] finds beyond what is loaded.

use super::pieces::NOW_MS;
use crate::model::{Agent, FoundEntries, FoundRow, Party};

/// Five older entries; one is hostile.
pub fn found_entries() -> FoundEntries {
    let row = |seq: u64, from: Party, kind: &str, snippet: &str| FoundRow {
        seq,
        kind: kind.to_owned(),
        from,
        to: None,
        at_ms: NOW_MS - 86_400_000,
        session: None,
        marks: marks(snippet),
        snippet: snippet.to_owned(),
    };
    FoundEntries {
        number: 8,
        words: "cookie".to_owned(),
        rows: vec![
            row(
                871,
                Agent::Claude.into(),
                "note",
                "decision: the cookie keeps its name, only its lifetime changes",
            ),
            row(
                640,
                Agent::Codex.into(),
                "artifact",
                "…12 passed; cookie_is_dropped_on_logout was red before the change",
            ),
            row(
                512,
                Agent::Codex.into(),
                "message",
                "the \u{1b}[2Jcookie\u{202e} is set twice: once in login(), once in refresh()…",
            ),
            row(
                388,
                Agent::Claude.into(),
                "handoff",
                "find out who else reads the session cookie before we rename it",
            ),
            row(
                41,
                Party::Human,
                "message",
                "leave the cookie alone until the release is out",
            ),
        ],
        total: 5,
        total_is_at_least: false,
        behind: 0,
        fault: None,
    }
}

/// Where `cookie` stands.
fn marks(text: &str) -> Vec<(u32, u32)> {
    let found = text.find("cookie").map(|at| text[..at].chars().count());
    let from = found.and_then(|from| u32::try_from(from).ok());
    from.map(|from| (from, from + 6)).into_iter().collect()
}
