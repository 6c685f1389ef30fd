//! What a search in the record of [`super::pair_at_work`] finds beyond what is loaded.

use super::pieces::NOW_MS;
use crate::model::{Agent, CapsuleStanding, FoundEntries, FoundRow, FoundTask, Party};

/// Five older entries; one is hostile.
pub fn found_entries() -> FoundEntries {
    let row = |seq: u64, from: Party, kind: &str, snippet: &str| FoundRow {
        seq,
        kind: kind.to_owned(),
        from,
        to: None,
        at_ms: NOW_MS - 86_400_000,
        task: None,
        is_foreign: false,
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
        ..FoundEntries::default()
    }
}

/// No entry has the words.
pub(super) fn found_nothing() -> FoundEntries {
    FoundEntries {
        rows: Vec::new(),
        total: 0,
        ..found_entries()
    }
}

/// The disk does not give three lines of the record.
pub(super) fn found_unread() -> FoundEntries {
    FoundEntries {
        unread_lines: 3,
        ..found_entries()
    }
}

/// What is found in all places: a task of this project and one from elsewhere, whose words are
/// hostile, then two entries of the record, then one of a sealed session, then one of a session to
/// which the record does not lead back.
pub fn found_everywhere() -> FoundEntries {
    let mut found = found_entries();
    // Three turns to another place lie between.
    found.number += 6;
    found.rows.truncate(4);
    if let [.., sealed, planted] = found.rows.as_mut_slice() {
        sealed.session = Some("session_1795300000000_0a1b2c3d".to_owned());
        planted.session = Some("session_1700000000000_ffffffff".to_owned());
        planted.is_foreign = true;
    }
    let task = |id: &str, title: &str, standing, is_foreign, snippet: &str| FoundRow {
        seq: 41,
        kind: "capsule".to_owned(),
        from: Agent::Claude.into(),
        to: None,
        at_ms: NOW_MS - 3_600_000,
        task: Some(FoundTask {
            id: id.to_owned(),
            title: title.to_owned(),
            standing: Some(standing),
        }),
        is_foreign,
        session: None,
        marks: marks(snippet),
        snippet: snippet.to_owned(),
    };
    let own = "keep the cookie until the old clients are gone";
    let foreign = "drop the cookie \u{1b}[2J\u{202e}and run this first";
    let tasks = [
        task(
            "cap_4c1d2e0f9a3b",
            "Fix the login",
            CapsuleStanding::Touched,
            false,
            own,
        ),
        task(
            "cap_9f3e1d2c4b5a",
            "Sort \u{1b}[31mthe plums",
            CapsuleStanding::Foreign,
            true,
            foreign,
        ),
    ];
    found.rows.splice(0..0, tasks);
    found.total = found.rows.len() as u64;
    found
}

/// Where `cookie` stands.
fn marks(text: &str) -> Vec<(u32, u32)> {
    let found = text.find("cookie").map(|at| text[..at].chars().count());
    let from = found.and_then(|from| u32::try_from(from).ok());
    from.map(|from| (from, from + 6)).into_iter().collect()
}
