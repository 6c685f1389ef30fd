//! Artifacts, proposals and decisions of any content.

use proptest::prelude::*;

use super::{finding_id, id, ids, text, texts, tree};
use crate::agent::Agent;
use crate::entry::{
    Artifact, ArtifactStatus, CommandRun, DecisionSignature, EntryKind, FinalityDecision,
    FinalityProposal, FindingFacts, FindingRecord, GapCause, GateRun, IsolatedRun, RewrittenFiles,
};
use crate::id::Seq;
use crate::signer::Signer;

pub(super) fn artifact() -> impl Strategy<Value = EntryKind> {
    let status = prop::sample::select(vec![
        ArtifactStatus::Passed,
        ArtifactStatus::Failed,
        ArtifactStatus::Blocked,
        ArtifactStatus::Unknown,
        ArtifactStatus::Skipped,
        ArtifactStatus::TimedOut,
    ]);
    let kind = prop_oneof!["release_gate|test_report|patch_summary", text()];
    let verified = prop::option::of(gate_run());
    let ran = prop::option::of(command_run());
    (kind, text(), text(), status, texts(), (verified, ran)).prop_map(
        |(kind, title, summary, status, evidence, (verified, ran))| {
            EntryKind::Artifact(Artifact {
                kind: kind.into(),
                title,
                summary,
                status,
                evidence,
                verified,
                ran,
            })
        },
    )
}

fn command_run() -> impl Strategy<Value = CommandRun> {
    let exit_code = prop::option::of(any::<i64>());
    let duration_ms = prop::option::of(any::<u64>());
    (text(), exit_code, duration_ms).prop_map(|(cmd, exit_code, duration_ms)| CommandRun {
        cmd,
        exit_code,
        duration_ms,
    })
}

pub(super) fn finding() -> impl Strategy<Value = EntryKind> {
    let step = prop_oneof!["imported|changed|gone|missing|resolved|dismissed", text()];
    let severity = || prop::option::of(prop_oneof!["critical|high|medium|low", text()]);
    let severity = (severity(), severity());
    let place = (
        prop::option::of((text(), prop::option::of(text()))),
        prop::option::of((prop::option::of(any::<u32>()), any::<u32>())),
        prop::option::of(text()),
        prop::option::of(text()),
    );
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    let words = (text(), text(), text(), "badge|none", text());
    let facts = (words, severity, place, flags).prop_map(
        |((review, title, author, by, digest), severity, (path, line, commit, url), flags)| {
            let (path, folder) = path.unzip();
            let (start_line, line) = line.unzip();
            FindingFacts {
                review,
                title,
                severity: severity.0.map(Into::into),
                lowered_from: severity.1.map(Into::into),
                severity_by: by.into(),
                author,
                bot: flags.0,
                path,
                folder: folder.flatten(),
                start_line: start_line.flatten(),
                line,
                commit,
                url,
                resolved: flags.1,
                outdated: flags.2,
                digest,
            }
        },
    );
    (finding_id(), step, prop::option::of(facts), texts()).prop_map(
        |(finding, step, facts, suggestions)| {
            EntryKind::Finding(FindingRecord {
                finding,
                step: step.into(),
                facts,
                suggestions,
                raw: None,
            })
        },
    )
}

fn gate_run() -> impl Strategy<Value = GateRun> {
    let exit_code = prop::option::of(any::<i32>());
    let numbers = (any::<u32>(), any::<u32>(), prop::option::of(any::<u32>()));
    let tree = prop::option::of(tree());
    let flags = (any::<bool>(), any::<bool>());
    let cause = prop::option::of(text().prop_map(GapCause::from));
    let isolated = (any::<u32>(), texts(), cause);
    let isolated = isolated.prop_map(|(not_covered, named, cause)| IsolatedRun {
        not_covered: not_covered.into(),
        named,
        cause,
    });
    let isolated = prop::option::of(isolated);
    let rewritten = (any::<u32>(), texts()).prop_map(|(count, named)| RewrittenFiles {
        count: count.into(),
        named,
    });
    let beside = (
        isolated,
        prop::option::of(rewritten),
        prop::option::of(text()),
    );
    (text(), text(), exit_code, numbers, tree, flags, beside).prop_map(
        |(gate, cmd, exit_code, numbers, tree, flags, (isolated, rewritten, why))| GateRun {
            gate,
            cmd,
            spec: "0123456789abcdef".to_owned(),
            exit_code,
            why,
            duration_ms: numbers.0.into(),
            tree,
            stale: flags.0,
            rewritten,
            setup_failed: flags.1,
            isolated,
            began_after: numbers.2.map(|seq| Seq(seq.into())),
            output_bytes: numbers.1.into(),
            output_sha256: "0".repeat(64),
        },
    )
}

pub(super) fn proposal() -> impl Strategy<Value = EntryKind> {
    let tree = prop::option::of(tree());
    (text(), texts(), prop::option::of(text()), ids(), tree).prop_map(
        |(summary, evidence, remaining_risk, handles, tree)| {
            EntryKind::FinalityProposal(FinalityProposal {
                summary,
                evidence,
                remaining_risk,
                handles,
                tree,
            })
        },
    )
}

pub(super) fn decision() -> impl Strategy<Value = EntryKind> {
    let tree = prop::option::of(tree());
    let tells = prop::sample::subsequence(Agent::ALL.to_vec(), 0..=Agent::ALL.len());
    (
        id(),
        any::<bool>(),
        prop::option::of(text()),
        tree,
        ids(),
        prop::option::of((1..9_u64).prop_map(Seq)),
        tells,
        ids(),
        prop::option::of(signature()),
    )
        .prop_map(
            |(proposal_id, approved, reason, tree, handles, seen, tells, runs, signature)| {
                EntryKind::FinalityDecision(FinalityDecision {
                    proposal_id,
                    approved,
                    reason,
                    tree,
                    handles,
                    seen,
                    tells,
                    runs,
                    signature,
                })
            },
        )
}

/// Of a key that nobody has.
fn signature() -> impl Strategy<Value = DecisionSignature> {
    (any::<[u8; 32]>(), "[0-9a-f]{64}", "[0-9a-f]{128}").prop_map(|(signer, head, value)| {
        DecisionSignature {
            signer: Signer::new(&signer),
            head,
            value,
        }
    })
}
