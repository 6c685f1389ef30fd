//! What a crash between two sessions left, as the record is told of it.

use crate::core::entry::{EntryKind, ErrorCode, LifecycleEvent};
use crate::daemon::deliveries::outbox::Outbox;
use crate::daemon::stop::STEP;
use crate::store::mend::Mended;

/// Finishes what only an open queue can, and says what was mended. Blocking: the loop does not run
/// yet.
pub(in crate::daemon) fn finish_mending(
    outbox: &Outbox,
    mended: Mended,
) -> Vec<(EntryKind, String)> {
    let mut told: Vec<(EntryKind, String)> = Vec::new();
    if let Some((old, sealed)) = mended.archived {
        told.push(match sealed {
            Ok(_) => (
                LifecycleEvent::SessionArchived.into(),
                format!("{old} was sealed before a crash, and is in the archives now"),
            ),
            Err(error) => (
                ErrorCode::NotArchived.into(),
                format!("{old} is sealed, and stays where it was: {error}"),
            ),
        });
    }
    if let Some((old, mut erased)) = mended.erased {
        if let Err(error) = outbox.scrub().and_then(|done| done.wait(STEP)) {
            erased.left.push(error.to_string());
        }
        told.push(if erased.left.is_empty() {
            (
                LifecycleEvent::SessionDeleted.into(),
                format!("what a crash had left of {old} is deleted now"),
            )
        } else {
            let left = erased.left.join("; ");
            (
                ErrorCode::NotDeleted.into(),
                format!("not everything of {old} could be deleted: {left}"),
            )
        });
    }
    for (id, path) in mended.aborted {
        told.push((
            ErrorCode::ClearCutShort.into(),
            format!(
                "a crash cut the end of this session short: it goes on, {id} never began, and its \
                 file is kept as {}; clear or compact again if you still want to",
                path.file_name().unwrap_or_default().display()
            ),
        ));
    }
    told
}
