//! Records what a crash between two sessions left behind.

use serde_json::Value;

use crate::core::entry::{EntryKind, ErrorCode, LifecycleEvent};
use crate::core::id::Seq;
use crate::daemon::base::recorder::Recorder;
use crate::daemon::deliveries::outbox::Outbox;
use crate::daemon::sessions::rollover::without;
use crate::daemon::stop::STEP;
use crate::store::mend::Mended;

/// How each text begins of an end that did not come.
const CUT_SHORT: &str = "a crash cut the end of this session short";

/// The key of the `meta` of the operator's word that ends a session, with how many messages were taken
/// back for that.
pub(in crate::daemon) const TAKEN_BACK: &str = "takenBack";

/// Finishes what only an open queue can, and says what was mended. Blocking: the loop does not run
/// yet.
pub(in crate::daemon) fn finish_mending<T>(
    outbox: &Outbox,
    recorder: &Recorder<T>,
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
    let cut_short = end_cut_short(recorder);
    if let Some((seq, taken_back)) = cut_short
        && mended.aborted.is_empty()
    {
        told.push((
            ErrorCode::ClearCutShort.into(),
            format!(
                "{CUT_SHORT}: whatever entry {seq} says, it goes on{}; clear or compact again if \
                 you still want to",
                without(taken_back)
            ),
        ));
    }
    let without = cut_short.map_or_else(String::new, |(_, taken_back)| without(taken_back));
    for (id, path) in mended.aborted {
        told.push((
            ErrorCode::ClearCutShort.into(),
            format!(
                "{CUT_SHORT}: it goes on{without}; {id} never began, and its file is kept as {}; \
                 clear or compact again if you still want to",
                path.file_name().unwrap_or_default().display()
            ),
        ));
    }
    told
}

/// The operator's word that ends this session, where nothing behind it says that it goes on all the
/// same; and how many messages were taken back for that, as it says itself.
fn end_cut_short<T>(recorder: &Recorder<T>) -> Option<(Seq, usize)> {
    let recent = recorder.recent().iter().rev();
    let mut latest_first = recent.map(|stored| &stored.entry);
    let word = latest_first.find(|entry| {
        matches!(
            &entry.kind,
            EntryKind::Error {
                code: ErrorCode::NotSealed | ErrorCode::ClearCutShort
            } | EntryKind::Lifecycle {
                event: LifecycleEvent::SessionCleared | LifecycleEvent::SessionCompacted
            }
        )
    })?;
    let is_end = matches!(&word.kind, EntryKind::Lifecycle { .. });
    let taken_back = word.meta.get(TAKEN_BACK).and_then(Value::as_u64);
    let taken_back = taken_back.map_or(0, |count| usize::try_from(count).unwrap_or_default());
    (is_end && !recorder.world().is_foreign(word.seq)).then_some((word.seq, taken_back))
}
