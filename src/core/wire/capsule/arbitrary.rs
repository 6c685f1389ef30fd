//! Capsules of every shape, for property tests.

use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::capsule::{
    Capsule, CapsuleFinding, CapsuleGit, CapsuleHandoff, CapsuleLeftOut, CapsuleOutput,
    CapsulePatch, CapsuleRun, CapsuleSection, CapsuleStatement, CapsuleTouched, DiffStat, LineRef,
    StatementAuthor,
};
use crate::id::{CapsuleId, EntryId, Seq, SessionId};
use crate::wire::line::{GENESIS, arbitrary::entry, seal, serialize};
use crate::word::OpenWord;

/// What a reader sees.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[ -~]{0,60}",
        1 => Just("line\n\tof \"two\" \\ é漢🦀".to_owned()),
        1 => Just("password=hunter2hunter2 in /home/somebody/.netrc".to_owned()),
        1 => "[a-z ]{200,900}",
    ]
}

fn line_text() -> impl Strategy<Value = String> {
    "[ -~é漢]{0,60}"
}

fn path() -> impl Strategy<Value = String> {
    "[a-z]{1,9}(/[a-zA-Z0-9_ .-]{0,3}[a-z]){0,3}"
}

/// Members of another version.
fn more() -> impl Strategy<Value = Map<String, Value>> {
    let value = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        line_text().prop_map(Value::from),
        line_text().prop_map(|text| json!({"b": [text, {}], "a": []})),
    ];
    let members = prop::collection::vec(("x[A-Z][a-z]{0,5}", value), 0..2);
    members.prop_map(|members| members.into_iter().collect())
}

fn line() -> impl Strategy<Value = LineRef> {
    (0..9u64, "[0-9a-f]{64}", more()).prop_map(|(seq, hash, more)| LineRef {
        session: SessionId::new("session_1795000000000_a1b2c3d4"),
        seq: Seq(seq),
        id: EntryId::new(format!("e{seq}")),
        hash,
        more,
    })
}

fn statement() -> impl Strategy<Value = CapsuleStatement> {
    let by = "claude|codex|human|import|later";
    let when = (any::<i64>(), option::of(any::<bool>()));
    (text(), by, when, option::of(line()), more()).prop_map(|(text, by, (at, cut), line, more)| {
        CapsuleStatement {
            text,
            by: StatementAuthor::from(by),
            at,
            cut,
            line,
            more,
        }
    })
}

fn statements() -> impl Strategy<Value = Vec<CapsuleStatement>> {
    prop::collection::vec(statement(), 0..6)
}

fn handoff() -> impl Strategy<Value = CapsuleHandoff> {
    let asked = (text(), option::of(any::<bool>()));
    ("e[0-9]", asked, "open|blocked|answered", more()).prop_map(|(id, (ask, cut), state, more)| {
        CapsuleHandoff {
            id: EntryId::new(id),
            from: "claude".to_owned(),
            to: "codex".to_owned(),
            ask,
            cut,
            state: state.into(),
            more,
        }
    })
}

fn touched() -> impl Strategy<Value = CapsuleTouched> {
    let sha256 = option::of("[0-9a-f]{64}");
    (
        path(),
        "write|read",
        sha256,
        option::of(any::<[bool; 2]>()),
        option::of(any::<u64>()),
        more(),
    )
        .prop_map(|(path, op, sha256, unread, added, more)| CapsuleTouched {
            path,
            op: op.into(),
            sha256,
            unread: unread.map(|[unread, _]| unread),
            masked: unread.map(|[_, masked]| masked),
            by: "codex".to_owned(),
            added,
            removed: added,
            more,
        })
}

fn run() -> impl Strategy<Value = CapsuleRun> {
    let about = (
        option::of(text()),
        option::of(any::<i64>()),
        option::of(line()),
    );
    let told = (line_text(), "passed|failed", any::<bool>());
    (told, about, more()).prop_map(|((name, status, verified), (cmd, exit_code, line), more)| {
        CapsuleRun {
            name,
            cmd,
            status: OpenWord::of(status),
            verified,
            exit_code,
            duration_ms: Some(12),
            tree: None,
            current: !verified,
            flaky: verified.then_some(true),
            output_sha256: None,
            line,
            more,
        }
    })
}

fn finding() -> impl Strategy<Value = CapsuleFinding> {
    (option::of(path()), text(), more()).prop_map(|(path, title, more)| CapsuleFinding {
        external_id: "gh:rc:42".to_owned(),
        severity: "high".to_owned(),
        state: "open".to_owned(),
        path,
        start_line: Some(3),
        line: Some(7),
        title,
        url: None,
        more,
    })
}

fn git() -> impl Strategy<Value = CapsuleGit> {
    let names = (option::of(line_text()), option::of(path()));
    ("[0-9a-f]{40}", names, more()).prop_map(|(commit, (branch, folder), more)| CapsuleGit {
        tree: Some(commit.clone()),
        commit: Some(commit),
        branch,
        changed: 3,
        ahead: None,
        behind: Some(1),
        diff_stat: DiffStat::default(),
        remote: None,
        root: None,
        folder,
        late: None,
        more,
    })
}

fn left_out() -> impl Strategy<Value = Vec<CapsuleLeftOut>> {
    let names = prop::collection::vec(path(), 0..40);
    let marks = (option::of(any::<bool>()), option::of(any::<bool>()));
    (names, marks, more()).prop_map(|(names, (inexact, masked), more)| {
        let decisions = CapsuleLeftOut::new(CapsuleSection::Decisions, 2, "elsewhere");
        let patch = CapsuleLeftOut {
            names,
            inexact,
            masked,
            more,
            ..CapsuleLeftOut::new(CapsuleSection::Patch, 40, "git diff HEAD")
        };
        vec![decisions, patch]
    })
}

/// Changes of up to two files.
fn patch() -> impl Strategy<Value = CapsulePatch> {
    let files =
        prop::collection::btree_map("src/[a-z]{1,9}[.]rs", (line_text(), line_text()), 1..3);
    ("[0-9a-f]{40}", files, more()).prop_map(|(base, files, more)| {
        let files = files.into_iter().map(|(name, (old, new))| {
            let head = format!("diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n");
            format!("{head}@@ -1 +1 @@\n-{old}\n+{new}\n")
        });
        CapsulePatch {
            more,
            ..CapsulePatch::new(base, files.collect::<String>().as_bytes())
        }
    })
}

fn output() -> impl Strategy<Value = CapsuleOutput> {
    (line_text(), any::<String>(), more()).prop_map(|(name, output, more)| CapsuleOutput {
        more,
        ..CapsuleOutput::new(name, &output)
    })
}

/// Ledger lines, of which none is cited.
fn lines() -> impl Strategy<Value = Vec<String>> {
    let line = (entry(), 1..9_u64)
        .prop_filter_map("a line", |(entry, seq)| {
            seal(serialize(&entry), seq, GENESIS).ok()
        })
        .prop_map(|sealed| sealed.line);
    prop::collection::vec(line, 0..3)
}

/// A capsule of any content, without a digest.
pub fn capsule() -> impl Strategy<Value = Capsule> {
    let head = ("[0-9a-f]{12}", line_text(), any::<i64>());
    let single = (
        option::of(statement()),
        option::of(statement()),
        statements(),
    );
    let said = (
        statements(),
        statements(),
        statements(),
        statements(),
        statements(),
    );
    let work = (
        prop::collection::vec(handoff(), 0..4),
        prop::collection::vec(touched(), 0..6),
        prop::collection::vec(run(), 0..4),
        prop::collection::vec(line_text(), 0..3),
        prop::collection::vec(finding(), 0..4),
        (option::of(git()), left_out()),
    );
    let along = (
        option::of(patch()),
        prop::collection::vec(output(), 0..3),
        lines(),
    );
    let all = (head, single, said, work, along, more());
    all.prop_map(|(head, single, said, work, along, more)| {
        let (hex, title, at) = head;
        let mut capsule = Capsule::new(CapsuleId::new(format!("cap_{hex}")), title, at);
        (capsule.goal, capsule.hypothesis, capsule.agent_goals) = single;
        let (constraints, decisions, assumptions, questions, next) = said;
        capsule.constraints = constraints;
        capsule.decisions = decisions;
        capsule.assumptions = assumptions;
        capsule.questions = questions;
        capsule.next = next;
        let (handoffs, touched, verification, not_run, findings, (git, left_out)) = work;
        capsule.handoffs = handoffs;
        capsule.touched = touched;
        capsule.verification = verification;
        capsule.not_run = not_run;
        capsule.findings = findings;
        capsule.git = git;
        capsule.left_out = left_out;
        (capsule.patch, capsule.outputs, capsule.origin.lines) = along;
        capsule.more = more;
        capsule
    })
}
