//! [`settle`]: handles a ledger of which not everything is believed.

use std::path::Path;

use super::aside::{Aside, copy_aside};
use super::error::LedgerError;
use super::file::LedgerFile;
use super::scan::{End, Scan};
use crate::dirs::exists;
use crate::head::{Head, Heads, Kept};
use ctxrelay_core::alarm::Alarm;
use ctxrelay_core::id::SessionId;

/// Puts what is not believed out of the way, and has the head outside be that of what is left.
/// Returns the alarms of which the record does not tell yet.
///
/// A crash between any two steps leaves them known outside, and what was to be moved where the
/// next start finds it: the mark of an orderly end stays until the ledger grows, so that a start
/// that fails leaves it too.
pub(super) fn settle(
    heads: &Heads,
    file: &mut dyn LedgerFile,
    path: &Path,
    session: &SessionId,
    found: &mut Scan,
) -> Result<Vec<Alarm>, LedgerError> {
    let unwritable = |source| LedgerError::head_unwritable(heads, source);
    let kept = heads.kept().map(|kept| kept.met_in(path));
    let mut alarms = kept
        .as_ref()
        .map_or_else(Vec::new, |kept| kept.alarms.clone());
    if let Some(lost) = found.lost.take().filter(|lost| !alarms.contains(lost)) {
        alarms.push(lost);
    }
    if found.is_cut_short {
        let failed = |error| LedgerError::from_io("set foreign lines aside of", path, error);
        let aside = copy_aside(file, path, "foreign", found.bytes).map_err(failed)?;
        if is_kept(&alarms, &aside) {
            // By a start that did not come to its end.
            std::fs::remove_file(&aside.path).map_err(failed)?;
        } else {
            alarms.push(aside.alarm());
        }
        heads.raise(&alarms).map_err(unwritable)?;
        file.truncate(found.bytes)
            .and_then(|()| file.sync())
            .map_err(failed)?;
        found.end = End::Whole;
    }
    let told = &found.snapshot.alarms;
    alarms.retain(|alarm| !told.iter().any(|told| told.alarm == *alarm));
    let foreign_through = found.snapshot.foreign_through.0;
    let mut next = Kept {
        foreign_through,
        alarms: alarms.clone(),
        ..Kept::of_nothing(session.clone())
    };
    let Some((seq, hash)) = found.checker.head() else {
        if found.checker.lines() == 0 {
            heads.replace(next).map_err(unwritable)?;
        } else {
            // Lines without a chain have no head to be known by.
            next.anchors.clear();
            heads.begin(next);
        }
        return Ok(alarms);
    };
    let ended_here = |kept: &Kept| kept.clean && (kept.head.seq, &kept.head.hash) == (seq, &hash);
    next.clean = kept.as_ref().is_some_and(ended_here);
    next.anchors = kept
        .filter(|kept| kept.head.session_id == *session && foreign_through == kept.foreign_through)
        .map_or_else(Vec::new, |kept| kept.anchors)
        .into_iter()
        .filter(|(at, _)| *at <= seq)
        .collect();
    next.head = Head {
        seq,
        hash,
        session_id: session.clone(),
    };
    if next.anchors.is_empty() {
        next.anchors.push((seq, next.head.hash.clone()));
    }
    heads.replace(next).map_err(unwritable)?;
    Ok(alarms)
}

/// Whether the same lines lie aside already.
fn is_kept(alarms: &[Alarm], aside: &Aside) -> bool {
    alarms.iter().any(|alarm| match alarm {
        Alarm::ForeignLines { file, sha256, .. } => {
            *sha256 == aside.sha256 && exists(&aside.path.with_file_name(file))
        }
        _ => false,
    })
}
