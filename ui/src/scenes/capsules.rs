//! Tasks that can travel: fresh, stale, closed, from elsewhere, and one whose file has changed.

use crate::model::{
    AlikeTo, CapsuleLine, CapsulePart, CapsuleRows, CapsuleStanding, CapsuleView, FoundSnippet,
};
use crate::msg::Msg;

fn row(id: &str, title: &str, standing: CapsuleStanding, bytes: u64) -> CapsuleLine {
    CapsuleLine {
        id: id.to_owned(),
        title: title.to_owned(),
        is_open: true,
        file: format!(
            "../{}.ctxcapsule.json",
            title.to_lowercase().replace(' ', "-")
        ),
        standing,
        bytes,
        ..CapsuleLine::default()
    }
}

fn rows() -> Vec<CapsuleLine> {
    use CapsuleStanding::{Foreign, Fresh, Moved, Touched, Unknown};
    vec![
        CapsuleLine {
            is_current: true,
            findings: 2,
            ..row(
                "cap_3f9a61c07b2e",
                "Single-flight token refresh",
                Fresh,
                11_462,
            )
        },
        CapsuleLine {
            findings: 1,
            ..row(
                "cap_90be12aa41d7",
                "Rate limits per tenant",
                Touched,
                18_204,
            )
        },
        row("cap_77c0d1e2f3a4", "Move the e2e tests to CI", Moved, 6_011),
        CapsuleLine {
            is_open: false,
            ..row("cap_1b2c3d4e5f60", "Session table grows", Unknown, 9_940)
        },
        CapsuleLine {
            is_foreign: true,
            ..row(
                "cap_5e5e5e5e5e5e",
                "Port the CLI to Windows",
                Foreign,
                7_350,
            )
        },
        CapsuleLine {
            broken: Some("the capsule is not what it was: digest".to_owned()),
            ..row("cap_badbadbadbad", "", Unknown, 0)
        },
    ]
}

pub(super) fn listed() -> Msg {
    Msg::Capsules(Ok(rows().into()))
}

pub(super) fn none() -> Msg {
    Msg::Capsules(Ok(Vec::new().into()))
}

/// Of more than are listed.
pub(super) fn many() -> Msg {
    let rows = rows();
    let total = 1_312;
    Msg::Capsules(Ok(CapsuleRows { rows, total }))
}

/// What was said before, hostile words among it.
pub(super) fn alike() -> Msg {
    said_before(AlikeTo::Task(rows().swap_remove(0).id))
}

/// The same, by words.
pub(super) fn alike_words() -> Msg {
    said_before(AlikeTo::Words("Rotate tokens".to_owned()))
}

fn said_before(to: AlikeTo) -> Msg {
    let said = |text: &str, cited: &str| FoundSnippet {
        text: text.to_owned(),
        cited: cited.to_owned(),
    };
    Msg::Alike {
        to,
        found: Ok(vec![
            said(
                "tokens live for one hour; a refresh that fails is tried once more",
                "cap_1b2c3d4e5f60, session_1795300000000_0a1b2c3d, entry 41, claude",
            ),
            said(
                "the lock is held\u{1b}[2J over the request, so that callers wait",
                "session_1795300000000_0a1b2c3d, entry 77, untrusted text of a review by ann",
            ),
        ]),
    }
}

fn part(title: &str, rows: &[&str]) -> CapsulePart {
    CapsulePart {
        title: title.to_owned(),
        rows: rows.iter().map(|row| (*row).to_owned()).collect(),
    }
}

fn opened(at: usize, why: &str) -> CapsuleView {
    CapsuleView {
        row: rows().swap_remove(at),
        why: why.to_owned(),
        parts: vec![
            part(
                "Goal",
                &["[human] one refresh request however many callers wait"],
            ),
            part(
                "Constraints",
                &[
                    "[human] no new dependency",
                    "[claude] the old token is dropped on rotation",
                ],
            ),
            part("Decisions", &["[codex] std mutex, not parking_lot"]),
            part("Next steps", &["[codex] zeroize the old token"]),
            part(
                "Verification",
                &[
                    "test: green (verified)",
                    "bench: green (claimed, on another tree)",
                ],
            ),
            part("Not run", &["lint"]),
            part(
                "Files",
                &[
                    "src/auth/refresh.rs (edit by codex)",
                    "src/auth/lock.rs (write by claude)",
                ],
            ),
            part(
                "Left out",
                &["3 of questions: ctxrelay capsule log cap_3f9a61c07b2e --all --json"],
            ),
        ],
        origin: "acme-api, session session_1795900000000_319f31c2, entry 1 204".to_owned(),
        digest: "7d1a54127b222502f5b79b5fb0803061152a44f92b37e23c6527baf665d4da9a".to_owned(),
        draft: "title: Single-flight token refresh\n".to_owned(),
    }
}

fn read(view: CapsuleView) -> Msg {
    Msg::Capsule {
        id: view.row.id.clone(),
        read: Ok(Box::new(view)),
    }
}

pub(super) fn fresh() -> Msg {
    read(opened(0, "the work tree is the one that it was made on"))
}

pub(super) fn exported() -> Msg {
    let lines = [
        "../single-flight-token-refresh.ctxcapsule.json",
        "sha256 4c1d2e0f9a3b4c1d2e0f9a3b4c1d2e0f9a3b4c1d2e0f9a3b4c1d2e0f9a3b4c1d",
        "with a patch of 2 files",
        "left out, something in it would be masked: deploy.sh",
    ];
    Msg::Exported {
        id: rows().swap_remove(0).id,
        lines: lines.map(str::to_owned).to_vec(),
    }
}

pub(super) fn stale() -> Msg {
    let mut view = opened(1, "2 of its files changed since");
    let changed = ["src/auth/refresh.rs (by claude)", "src/auth/lock.rs"];
    view.parts.insert(0, part("Changed since", &changed));
    read(view)
}

/// The commit that it was made on was amended since.
pub(super) fn diverged() -> Msg {
    let why = "1 commit here that it does not know, 1 commit of its own that are not here";
    let mut view = opened(1, why);
    view.row.standing = CapsuleStanding::Diverged;
    read(view)
}

pub(super) fn foreign() -> Msg {
    read(opened(4, "it is of another repository"))
}

pub(super) fn tampered() -> Msg {
    Msg::Capsule {
        id: "cap_badbadbadbad".to_owned(),
        read: Err("the capsule is not what it was: digest".to_owned()),
    }
}
