//! [`search_file`] and [`rebuild_file`]: search while no daemon runs.
//!
//! The current session's index is used if it belongs to exactly this file, and is extended to the
//! file's end in memory; everything else is read from the beginning. Sealed sessions in the index
//! are found by [`super::SealedIndex`].

use std::collections::VecDeque;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use super::batch::Batch;
use super::capsules::follow_capsules;
use super::error::SearchError;
use super::find::{Collector, LIMIT_MAX, SearchRequest, TOTAL_MAX, hit};
use super::follow_sealed::follow_sealed;
use super::index::{SearchIndex, discard};
use super::text::Text;
use crate::dirs::ProjectDirs;
use crate::ledger::{self, EntryFilter, Reading, Stored, UnreadLines};
use ctxrelay_core::id::{Seq, SessionId};
use ctxrelay_core::redact::Redactor;
use ctxrelay_core::wire::search::{SearchHit, SearchPage};

/// The most entries past the end of the index that are taken into memory; with more of them the
/// file is read as a whole.
const PAST_MAX: usize = 2_000;

/// How far a rebuild is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Entries in the index.
    pub entries: u64,
    /// The number of the last one.
    pub last: u64,
    /// Bytes read of the ledger.
    pub bytes: u64,
}

/// Searches a ledger file that nobody has open here. `current` is its session and its reading when
/// it is the current one of a project whose `state` folder can be believed; only then its index is
/// used. Nothing is found behind `end`, in bytes.
///
/// # Errors
///
/// When the file cannot be read, or is a link.
pub fn search_file(
    dirs: &ProjectDirs,
    current: Option<(&SessionId, &Reading)>,
    path: &Path,
    end: u64,
    redactor: &Redactor,
    request: &SearchRequest,
) -> Result<SearchPage, SearchError> {
    if let Some((session, reading)) = current {
        match by_index(dirs, session, reading, redactor, request) {
            Ok(Some(found)) => return Ok(found),
            Ok(None) => {}
            Err(error) => tracing::debug!(%error, "the index is of no use: reading the file"),
        }
    }
    scan(path, end, redactor, request).map_err(|source| SearchError::Ledger {
        path: path.to_path_buf(),
        source,
    })
}

/// By the index, if it is of this file.
fn by_index(
    dirs: &ProjectDirs,
    session: &SessionId,
    reading: &Reading,
    redactor: &Redactor,
    request: &SearchRequest,
) -> Result<Option<SearchPage>, SearchError> {
    let unreadable = |source| SearchError::Ledger {
        path: reading.path().to_path_buf(),
        source,
    };
    let Some(index) = SearchIndex::open_to_read(dirs)? else {
        return Ok(None);
    };
    index.at_one_moment(|index| {
        let Some(mark) = index.mark()?.filter(|mark| mark.session == *session) else {
            return Ok(None);
        };
        let last = reading.read(Seq(mark.seq)).map_err(unreadable)?;
        if !last.is_some_and(|last| mark.is_at(&last)) {
            return Ok(None);
        }
        let all = EntryFilter::default();
        let past = reading
            .page(&all, Some(mark.seq), true, PAST_MAX)
            .map_err(unreadable)?;
        if past.next.is_some() {
            return Ok(None);
        }
        let mut collector = Collector::new(request, redactor);
        collector.note_unread(past.unread_lines().len());
        past.entries
            .iter()
            .rev()
            .for_each(|stored| collector.look_at(stored));
        let rows = index.find(
            &request.query,
            request.before,
            collector.wanted(),
            TOTAL_MAX,
        )?;
        let mut unread = UnreadLines::default();
        for seq in &rows.seqs {
            let read = match reading.read(Seq(*seq)).transpose() {
                // The file is not what the index was made of.
                Some(Err(error)) if error.kind() == io::ErrorKind::InvalidData => {
                    return Err(unreadable(error));
                }
                Some(read) => read,
                None => return Ok(None),
            };
            match unread.take(*seq, read).map_err(unreadable)? {
                Some(stored) => collector.take(&stored),
                None => collector.leave_out(),
            }
        }
        let left_out = unread.end().map_err(unreadable)?;
        collector.note_unread(left_out.lines.len());
        collector.count(&rows);
        Ok(Some(collector.finish(mark.seq, 0)))
    })
}

/// By reading the file from its beginning to its end, one line at a time.
fn scan(
    path: &Path,
    end: u64,
    redactor: &Redactor,
    request: &SearchRequest,
) -> io::Result<SearchPage> {
    let limit = request.limit.clamp(1, LIMIT_MAX);
    let mut found = SearchPage::default();
    // The last ones so far; one more than wanted tells that there is another page.
    let mut newest: VecDeque<SearchHit> = VecDeque::new();
    ledger::read_to(path, end, |stored| {
        let text = Text::of(&stored.entry, redactor);
        if request.query.matches(&text.folded()) {
            found.total += 1;
            if request
                .before
                .is_none_or(|before| stored.entry.seq.0 < before)
            {
                if newest.len() > limit {
                    newest.pop_front();
                }
                newest.push_back(hit(&stored, &text, &request.query));
            }
        }
        ControlFlow::Continue(())
    })?;
    found.hits = newest.into_iter().rev().collect();
    if found.hits.len() > limit {
        found.hits.truncate(limit);
        found.cursor = found.hits.last().map(|hit| hit.seq.to_string());
    }
    Ok(found)
}

/// Throws the index away and builds it from a ledger file up to `end`, in bytes. Only for the holder of the owner's
/// lock. `tell` hears now and then how far it is.
///
/// # Errors
///
/// When the ledger cannot be read or the index not written; what was built so far is then bound
/// to its place in the ledger, and a daemon goes on from there.
pub fn rebuild_file(
    dirs: &ProjectDirs,
    session: &SessionId,
    path: &Path,
    end: u64,
    redactor: &Redactor,
    mut tell: impl FnMut(Progress),
) -> Result<Progress, SearchError> {
    discard(dirs).map_err(|source| SearchError::Io {
        path: dirs.state.clone(),
        source,
    })?;
    let mut index = SearchIndex::open(dirs)?;
    let mut batch = Batch::new(session, redactor);
    let mut progress = Progress::default();
    let mut failed = None;
    let mut put = |batch: &mut Batch<'_>, progress: Progress| {
        let put = batch.put(&mut index);
        tell(progress);
        put.map(drop)
    };
    let read = ledger::read_to(path, end, |stored: Stored| {
        progress.entries += 1;
        progress.last = stored.entry.seq.0;
        progress.bytes += stored.line.len() as u64 + 1;
        if batch.push(&stored)
            && let Err(error) = put(&mut batch, progress)
        {
            failed = Some(error);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    read.map_err(|source| SearchError::Ledger {
        path: path.to_path_buf(),
        source,
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    put(&mut batch, progress)?;
    follow_capsules(&mut index, dirs, redactor, || true)?;
    follow_sealed(&mut index, dirs, session, redactor, |_| Ok(true))?;
    Ok(progress)
}
