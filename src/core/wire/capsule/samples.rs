//! Capsules with parts that a reader compares with each other: cited lines, runs, a patch and
//! outputs. For the tests of the reader.
#![allow(clippy::unwrap_used, reason = "tests")]

use serde_json::{Map, Value, json};

use super::{DIGEST, canonical, digest};
use crate::capsule::{
    Capsule, CapsuleOutput, CapsulePatch, CapsuleRun, CapsuleStatement, LineRef, StatementAuthor,
};
use crate::entry::{Artifact, ArtifactStatus, Entry, EntryKind, GateRun, NoteKind, TASK, TaskStep};
use crate::id::{CapsuleId, EntryId, Seq, SessionId};
use crate::wire::line::{GENESIS, seal, serialize};

const TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

pub(super) fn small() -> Capsule {
    let mut capsule = Capsule::new(CapsuleId::new("cap_0123456789ab"), "Fix the login", 7);
    capsule.goal = Some(said("nobody is logged out by a restart"));
    capsule
}

pub(super) fn said(text: &str) -> CapsuleStatement {
    CapsuleStatement {
        text: text.to_owned(),
        by: StatementAuthor::Claude,
        at: 7,
        cut: None,
        line: None,
        more: Map::new(),
    }
}

/// The file of an object that somebody made by hand, with the digest that it should have.
///
/// # Panics
///
/// When it is no object.
pub fn forged(mut value: Value) -> Vec<u8> {
    let members = value.as_object_mut().unwrap();
    let digest = digest(members);
    members.insert(DIGEST.to_owned(), digest.into());
    canonical(&value).into_bytes()
}

/// Something that was decided for the task, as an entry.
pub(super) fn entry(text: &str) -> Entry {
    Entry {
        id: EntryId::new("01997b2e"),
        timestamp_ms: 7,
        session_id: SessionId::new("session_1795000000000_a1b2c3d4"),
        content: text.to_owned(),
        meta: Map::from_iter([(TASK.to_owned(), json!("cap_0123456789ab"))]),
        seq: Seq(4),
        ..Entry::new(
            "claude".to_owned().into(),
            EntryKind::note(NoteKind::Decision),
        )
    }
}

/// A line that somebody said, as the ledger holds it.
pub(super) fn line(text: &str) -> (String, LineRef) {
    let entry = entry(text);
    let sealed = seal(serialize(&entry), 4, GENESIS).unwrap();
    let cited = LineRef {
        session: entry.session_id,
        seq: entry.seq,
        id: entry.id,
        hash: sealed.hash,
        more: Map::new(),
    };
    (sealed.line, cited)
}

pub(super) fn citing(text: &str, line: String, cited: LineRef) -> Capsule {
    let mut capsule = small();
    capsule.decisions = vec![CapsuleStatement {
        line: Some(cited),
        ..said(text)
    }];
    capsule.origin.lines = vec![line];
    capsule
}

/// A cited line, a patch and two outputs. All of it ASCII, so that a byte is a character.
pub fn exported() -> Capsule {
    let (text, cited) = line("tokens live for one hour");
    let mut capsule = citing("tokens live for one hour", text, cited);
    let patch = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b\n";
    capsule.patch = Some(CapsulePatch::new("0".repeat(40), patch.as_bytes()));
    let output = |name: &str, text: &str| CapsuleOutput::new(name.to_owned(), text);
    capsule.outputs = vec![output("unit", "red\n"), output("lint", "1 warning\n")];
    capsule
}

/// An entry of the task, as the ledger holds it.
fn sealed(seq: u64, source: &str, content: &str, kind: EntryKind) -> (String, LineRef) {
    let entry = Entry {
        source: source.to_owned().into(),
        content: content.to_owned(),
        seq: Seq(seq),
        id: EntryId::new(format!("01997b2e{seq}")),
        kind,
        ..entry(content)
    };
    let sealed = seal(serialize(&entry), seq, GENESIS).unwrap();
    let cited = LineRef {
        session: entry.session_id,
        seq: entry.seq,
        id: entry.id,
        hash: sealed.hash,
        more: Map::new(),
    };
    (sealed.line, cited)
}

fn note(note: NoteKind) -> EntryKind {
    EntryKind::note(note)
}

fn artifact(title: &str, status: ArtifactStatus, verified: Option<GateRun>) -> EntryKind {
    EntryKind::Artifact(Artifact {
        kind: "test".into(),
        title: title.to_owned(),
        status,
        verified,
        ..Artifact::default()
    })
}

fn gate() -> GateRun {
    serde_json::from_value(json!({
        "gate": "unit", "cmd": "cargo test", "spec": "0123456789abcdef", "exitCode": 101,
        "durationMs": 1_200, "tree": {"commit": null, "tree": TREE, "changed": 0},
        "outputBytes": 9, "outputSha256": "ab".repeat(32),
    }))
    .unwrap()
}

/// Every sort of thing that is cited, each by its line.
pub fn cited_all() -> Capsule {
    let long = "a rule that goes on. ".repeat(200);
    let lines = [
        sealed(
            4,
            "claude",
            "tokens live for one hour",
            note(NoteKind::Decision),
        ),
        sealed(5, "codex", &long, note(NoteKind::Constraint)),
        sealed(
            6,
            "system",
            "",
            artifact("gate unit", ArtifactStatus::Failed, Some(gate())),
        ),
        sealed(
            7,
            "claude",
            "",
            artifact("by  hand", ArtifactStatus::Passed, None),
        ),
        sealed(8, "human", "fixed in 1.4", TaskStep::Closed.of(small().id)),
    ];
    let [decision, constraint, unit, by_hand, end] = lines.clone().map(|(_, cited)| Some(cited));
    let mut capsule = small();
    capsule.goal = None;
    let git = json!({
        "commit": null, "branch": "main", "tree": TREE, "changed": 0, "ahead": null,
        "behind": null, "diffStat": {"files": 0, "added": 0, "removed": 0}, "remote": null,
    });
    capsule.git = Some(serde_json::from_value(git).unwrap());
    capsule.decisions = vec![CapsuleStatement {
        line: decision,
        ..said("tokens live for one hour")
    }];
    capsule.constraints = vec![CapsuleStatement {
        line: constraint,
        by: StatementAuthor::Codex,
        // As much of it as is kept of a statement.
        ..said(&long[..2_000])
    }];
    capsule.outcome = Some(CapsuleStatement {
        line: end,
        by: StatementAuthor::Human,
        ..said("fixed in 1.4")
    });
    let run: CapsuleRun = serde_json::from_value(json!({
        "name": "unit", "cmd": "cargo test", "status": "failed", "verified": true,
        "exitCode": 101, "durationMs": 1_200, "tree": TREE, "current": true,
        "outputSha256": "ab".repeat(32),
    }))
    .unwrap();
    let claim: CapsuleRun = serde_json::from_value(json!({
        "name": "by hand", "cmd": null, "status": "passed", "verified": false,
        "exitCode": null, "durationMs": null, "tree": null, "current": false,
        "outputSha256": null,
    }))
    .unwrap();
    capsule.verification = vec![
        CapsuleRun { line: unit, ..run },
        CapsuleRun {
            line: by_hand,
            ..claim
        },
    ];
    capsule.origin.lines = lines.map(|(line, _)| line).into();
    capsule
}
