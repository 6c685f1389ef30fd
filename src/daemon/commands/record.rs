//! Notes and artifacts.

use super::checks::{check_handles, check_length, check_may_close, check_standing, check_text};
use super::pending::check_withdrawal;
use super::review::claim_finding;
use super::sender;
use super::to_record::ToRecord;
use crate::core::entry::{Artifact, EntryKind, NoteKind};
use crate::core::id::RuntimeSession;
use crate::daemon::base::recorder::Recorder;
use crate::daemon::decisions::approvals::Approvals;
use crate::daemon::decisions::pending_decisions::PendingDecisions;
use crate::wire::control::{ArtifactParams, NoteParams, Refusal};

/// A note, which may take back what its author asked or proposed.
pub(super) fn append_note<T>(
    recorder: &Recorder<T>,
    deciding: &PendingDecisions,
    approvals: &Approvals,
    session: RuntimeSession,
    params: NoteParams,
) -> Result<ToRecord, Refusal> {
    let from = sender(params.agent);
    let world = recorder.world();
    check_text("text", &params.text)?;
    check_handles(recorder, &params.handles)?;
    if params.kind == NoteKind::Blocker {
        let lift = "lift those that are over: a note of kind `done` names one";
        check_standing(&from, "blocker notes", world.open_blockers.len(), lift)?;
    } else {
        check_may_close(recorder, &from, &session, &params.handles)?;
    }
    check_withdrawal(world, deciding, approvals, &from, params.withdraws.as_ref())?;
    // Questions that wait are counted in `status`.
    let takes_back = params.withdraws.is_some();
    let mut entry = recorder.entry(
        from,
        None,
        EntryKind::Note {
            note: params.kind,
            handles: params.handles,
            withdraws: params.withdraws,
        },
        params.text,
        Some(session),
    );
    if let Some(finding) = &params.finding {
        claim_finding(world, &mut entry, finding)?;
    }
    Ok(ToRecord::one(entry).for_status(takes_back))
}

/// A result with its evidence.
pub(super) fn append_artifact<T>(
    recorder: &Recorder<T>,
    session: RuntimeSession,
    params: ArtifactParams,
) -> Result<ToRecord, Refusal> {
    check_text("kind", &params.kind)?;
    check_text("title", &params.title)?;
    check_length("summary", &params.summary)?;
    check_length("evidence", &params.evidence.concat())?;
    let from = params.agent.into();
    let world = recorder.world();
    // What failed before and fails again is one failure still.
    let stands = world.failed_artifacts().any(|claim| {
        let said = &claim.artifact;
        claim.by == from && said.kind.as_str() == params.kind && said.title == params.title
    });
    if params.status.is_failure() && !stands {
        let failures = world.failed_artifacts().count();
        let mend = "take back those that are over: record the same kind and title as passed";
        check_standing(&from, "failures", failures, mend)?;
    }
    let content = format!(
        "{} · {} · {}\n{}",
        params.kind,
        params.status.as_str(),
        params.title,
        params.summary
    );
    let entry = recorder.entry(
        from,
        None,
        EntryKind::Artifact(Artifact {
            kind: params.kind.into(),
            title: params.title,
            summary: params.summary,
            status: params.status,
            evidence: params.evidence,
            ..Artifact::default()
        }),
        content,
        Some(session),
    );
    Ok(ToRecord::one(entry))
}
