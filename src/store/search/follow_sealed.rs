//! [`follow_sealed`]: adds the words of sealed sessions to the index; and [`find_in_sealed`]: finds
//! them there. What is shown comes from a session's file; an index that says something else, or
//! belongs to another file, is not believed.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use super::error::SearchError;
use super::find::{Collector, SearchRequest, TOTAL_MAX};
use super::index::{Rows, SealedMark, SealedRow, SearchIndex};
use super::text::Text;
use crate::dirs::ProjectDirs;
use crate::erase::sealed_sessions;
use crate::file_stamp::FileStamp;
use crate::ledger::{line_at, read_placed};
use ctxrelay_core::id::{Seq, SessionId};
use ctxrelay_core::redact::Redactor;
use ctxrelay_core::wire::search::SearchPage;

/// The most entries that go in at once, as of the current session.
const ROWS_MAX: usize = 4_096;

/// The most text that is held for it, in bytes.
const BYTES_MAX: usize = 4 * 1024 * 1024;

/// Tells a session's file from any other in its place, and from itself once it was written to; none
/// where there is no plain file.
pub(super) fn stamp_of(path: &Path) -> Option<String> {
    let found = path
        .symlink_metadata()
        .ok()
        .filter(|found| found.is_file())?;
    Some(FileStamp::from(&found).to_string())
}

/// Brings the words of all sessions but the current one into the index, youngest first. `between` is
/// asked after each part whether it goes on, and may put something else in. Whether all are in.
pub(super) fn follow_sealed(
    index: &mut SearchIndex,
    dirs: &ProjectDirs,
    current: &SessionId,
    redactor: &Redactor,
    mut between: impl FnMut(&mut SearchIndex) -> Result<bool, SearchError>,
) -> Result<bool, SearchError> {
    let sessions = sealed_sessions(dirs, current);
    let sessions = sessions.map_err(|(path, source)| SearchError::Ledger { path, source })?;
    let mut marks = index.sealed()?;
    for (session, path) in &sessions {
        let mark = marks.remove(session);
        let Some(stamp) = stamp_of(path) else {
            continue;
        };
        let mark = match mark.filter(|mark| mark.stamp == stamp) {
            Some(mark) if mark.is_whole => continue,
            Some(mark) => mark,
            None => index.begin_sealed(session, &stamp)?,
        };
        if !follow_one(index, path, mark, redactor, &mut between)? {
            return Ok(false);
        }
    }
    // What else is in is of files that are gone, and stays named until the index is thrown away:
    // taken out, its words would still be there, and nothing would tell.
    Ok(true)
}

fn follow_one(
    index: &mut SearchIndex,
    path: &Path,
    mut mark: SealedMark,
    redactor: &Redactor,
    between: &mut impl FnMut(&mut SearchIndex) -> Result<bool, SearchError>,
) -> Result<bool, SearchError> {
    let (mut rows, mut bytes, mut skipped) = (Vec::new(), 0, 0);
    let mut goes_on = Ok(true);
    let read = read_placed(path, u64::MAX, |stored, at| {
        let seq = stored.entry.seq.0;
        if seq <= mark.upto {
            // In since the last start.
            skipped += 1;
        } else {
            let folded = Text::of(&stored.entry, redactor).folded();
            bytes += folded.len();
            rows.push(SealedRow { seq, at, folded });
            mark.upto = seq;
        }
        if rows.len() + skipped < ROWS_MAX && bytes < BYTES_MAX {
            return ControlFlow::Continue(());
        }
        goes_on = index.add_sealed(&rows, &mark).and_then(|()| between(index));
        rows.clear();
        (bytes, skipped) = (0, 0);
        match goes_on {
            Ok(true) => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    });
    if !goes_on? {
        return Ok(false);
    }
    if let Err(error) = read {
        // One that an agent put there hides none of the others; a search says that it cannot be read.
        tracing::debug!(%error, path = %path.display(), "a sealed session is not indexed");
        return Ok(true);
    }
    mark.is_whole = true;
    index.add_sealed(&rows, &mark)?;
    between(index)
}

/// Searches a sealed session by the index; none where that is not of this very file.
pub(super) fn find_in_sealed(
    index: &SearchIndex,
    mark: &SealedMark,
    path: &Path,
    redactor: &Redactor,
    request: &SearchRequest,
) -> Result<Option<SearchPage>, SearchError> {
    if !mark.is_whole || stamp_of(path).is_none_or(|stamp| stamp != mark.stamp) {
        return Ok(None);
    }
    let mut collector = Collector::new(request, redactor);
    let rows = index.find_sealed(
        mark,
        &request.query,
        request.before,
        collector.wanted(),
        TOTAL_MAX,
    )?;
    for (seq, at) in rows.places {
        let line = line_at(path, at).map_err(|source: io::Error| SearchError::Ledger {
            path: path.to_path_buf(),
            source,
        })?;
        let Some(mut stored) = line else {
            return Ok(None);
        };
        if stored.hash.is_empty() {
            // It has no number of its own.
            stored.entry.seq = Seq(seq);
        }
        if stored.entry.seq.0 != seq {
            return Ok(None);
        }
        collector.take(&stored);
    }
    collector.count(&Rows {
        total: rows.total,
        ..Rows::default()
    });
    Ok(Some(collector.finish(mark.upto, 0)))
}
