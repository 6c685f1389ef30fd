//! [`find`]: one search in the open ledger, in the index and beyond its end.

use std::collections::BTreeSet;
use std::io;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::error::SearchError;
use super::index::{Rows, SearchIndex};
use super::query::Query;
use super::snippet::Snippet;
use super::text::Text;
use crate::ledger::{EntryFilter, Ledger, Stored, UnreadLines};
use ctxrelay_core::entry::EntryKind;
use ctxrelay_core::id::{Seq, SessionId};
use ctxrelay_core::redact::Redactor;
use ctxrelay_core::wire::search::{SearchHit, SearchPage};
use ctxrelay_core::wire::window::RowQuery;
use ctxrelay_core::word::OpenWord;

/// The most hits of one search.
pub const LIMIT_MAX: usize = 1_000;

/// Up to how many matches are counted: a word that is everywhere is not counted to its end.
pub const TOTAL_MAX: u64 = 10_000;

/// How long entries that are not in the index yet are looked through, newest first: in ordinary
/// work these are the ones of the last second; while the index is built it is all but some. And how
/// long those that are wanted are looked for among the matches of the index, since the next search
/// waits for that.
pub(super) const LOOK: Duration = match cfg!(test) {
    true => Duration::from_secs(60),
    false => Duration::from_millis(300),
};

/// How many entries are read from the ledger at once. They may be large, and few of them are
/// needed.
const PAGE: usize = 16;

#[derive(Debug, Clone)]
pub struct SearchRequest {
    /// The words.
    pub query: Query,
    /// Only entries below this number.
    pub before: Option<u64>,
    /// At most this many hits, [`LIMIT_MAX`] at most.
    pub limit: usize,
    /// Only rows of the timeline that are wanted.
    pub rows: RowQuery,
    /// The lines of what waits for somebody, where that is asked for.
    pub waiting: BTreeSet<u64>,
}

impl SearchRequest {
    /// The newest entries with these words.
    pub fn new(query: Query, limit: usize) -> Self {
        Self {
            query,
            before: None,
            limit,
            rows: RowQuery::default(),
            waiting: BTreeSet::new(),
        }
    }
}

/// What is told of an entry that was found.
pub(super) fn hit(stored: &Stored, text: &Text, query: &Query) -> SearchHit {
    let entry = &stored.entry;
    let snippet = Snippet::of(text, query);
    SearchHit {
        seq: entry.seq.0,
        id: entry.id.clone(),
        session: None,
        entry_type: OpenWord::of(entry.kind.type_name()),
        source: entry.source.as_str().to_owned(),
        target: entry.target.as_ref().map(|to| to.as_str().to_owned()),
        at: entry.timestamp_ms,
        review: entry.review_author().map(str::to_owned),
        finding: match &entry.kind {
            EntryKind::Finding(record) => Some(record.finding.clone()),
            _ => None,
        },
        snippet: snippet.text,
        marks: snippet.marks,
        apart: entry.is_carried_foreign(),
        tells_task: entry.tells_task(),
    }
}

/// Collects hits from the newest entry on.
#[derive(Debug)]
pub(super) struct Collector<'a> {
    request: &'a SearchRequest,
    redactor: &'a Redactor,
    limit: usize,
    found: SearchPage,
    /// Below this number the index was not asked.
    stopped_at: Option<u64>,
}

impl<'a> Collector<'a> {
    pub(super) fn new(request: &'a SearchRequest, redactor: &'a Redactor) -> Self {
        Self {
            request,
            redactor,
            limit: request.limit.clamp(1, LIMIT_MAX),
            found: SearchPage::default(),
            stopped_at: None,
        }
    }

    /// How many hits the index has to give: one more tells that there is another page.
    pub(super) fn wanted(&self) -> usize {
        (self.limit + 1).saturating_sub(self.found.hits.len())
    }

    /// Looks at an entry that is not in the index, newest first.
    pub(super) fn look_at(&mut self, stored: &Stored) {
        if let Some(hit) = self.matching(stored) {
            self.found.total += 1;
            if self.request.before.is_none_or(|before| hit.seq < before) && self.wanted() > 0 {
                self.found.hits.push(hit);
            }
        }
    }

    /// Takes an entry that the index named. What is shown comes from the ledger, and an index
    /// that says something else is not believed.
    pub(super) fn take(&mut self, stored: &Stored) {
        match self.matching(stored) {
            Some(hit) => self.found.hits.push(hit),
            // The codes of the ledger's index may not tell.
            None if !self.request.rows.is_empty() => {
                self.found.total = self.found.total.saturating_sub(1);
            }
            None => tracing::warn!(
                seq = stored.entry.seq.0,
                "the search index names an entry that does not match"
            ),
        }
    }

    /// Leaves out an entry that the index named, and that cannot be read any more.
    pub(super) fn leave_out(&mut self) {
        self.found.total = self.found.total.saturating_sub(1);
    }

    /// Notes lines that could not be read.
    pub(super) fn note_unread(&mut self, lines: usize) {
        self.found.unread_lines += lines as u64;
    }

    pub(super) fn count(&mut self, rows: &Rows) {
        self.found.total += rows.total;
        self.stopped_at = rows.stopped_at;
    }

    pub(super) fn finish(mut self, indexed_to: u64, behind: u64) -> SearchPage {
        let mut next = self.stopped_at;
        if self.found.hits.len() > self.limit {
            self.found.hits.truncate(self.limit);
            next = self.found.hits.last().map(|hit| hit.seq);
        }
        self.found.cursor = next.map(|seq| seq.to_string());
        // Of what is narrowed the matches above a page are not sieved once more.
        let is_behind_a_page = !self.request.rows.is_empty() && self.request.before.is_some();
        self.found.total_is_at_least = self.found.total >= TOTAL_MAX
            || behind > 0
            || self.stopped_at.is_some()
            || is_behind_a_page;
        self.found.total = self.found.total.min(TOTAL_MAX);
        self.found.indexed_to = indexed_to;
        self.found.behind = behind;
        self.found
    }

    fn matching(&self, stored: &Stored) -> Option<SearchHit> {
        let line = stored.entry.seq.0;
        let waits = || self.request.waiting.contains(&line);
        if !self.request.rows.takes(&stored.entry, waits) {
            return None;
        }
        let text = Text::of(&stored.entry, self.redactor);
        self.request
            .query
            .matches(&text.folded())
            .then(|| hit(stored, &text, &self.request.query))
    }
}

/// Searches an open ledger. An index that is of another session counts as none. What is narrowed is
/// looked for in the index `until` then.
pub(super) fn find(
    index: Option<&SearchIndex>,
    redactor: &Redactor,
    ledger: &Ledger,
    session: &SessionId,
    request: &SearchRequest,
    until: Instant,
) -> Result<SearchPage, SearchError> {
    let unreadable = |source| SearchError::Ledger {
        path: ledger.path().to_path_buf(),
        source,
    };
    // The index first: what is appended meanwhile is past its end, and looked through.
    let mut collector = Collector::new(request, redactor);
    let (indexed_to, rows) = match index {
        Some(index) => index.at_one_moment(|index| {
            let Some(mark) = index.mark()?.filter(|mark| mark.session == *session) else {
                return Ok((0, Rows::default()));
            };
            let wanted = collector.wanted();
            let rows = match request.rows.is_empty() {
                true => index.find(&request.query, request.before, wanted, TOTAL_MAX)?,
                false => narrowed(index, ledger, request, wanted, until)?,
            };
            Ok((mark.seq, rows))
        })?,
        None => (0, Rows::default()),
    };
    let behind = look_past(ledger, indexed_to, &mut collector).map_err(unreadable)?;
    collector.count(&rows);
    let mut unread = UnreadLines::default();
    for seq in rows.seqs {
        if collector.wanted() == 0 {
            break;
        }
        let Some(read) = ledger.read(Seq(seq)).transpose() else {
            continue;
        };
        match unread.take(seq, read).map_err(unreadable)? {
            Some(stored) => collector.take(&stored),
            None => collector.leave_out(),
        }
    }
    let left_out = unread.end().map_err(unreadable)?;
    collector.note_unread(left_out.lines.len());
    Ok(SearchPage {
        session: Some(session.clone()),
        ..collector.finish(indexed_to, behind)
    })
}

/// The matches that are wanted of those below the page: as many as `wanted` or some more, and fewer
/// only where there are no more, or the time was over. A page that ends for that says where, and the
/// next one goes on behind it: one block is always looked at.
fn narrowed(
    index: &SearchIndex,
    ledger: &Ledger,
    request: &SearchRequest,
    wanted: usize,
    until: Instant,
) -> Result<Rows, SearchError> {
    let sieve = ledger.sieve(&request.rows, &request.waiting);
    let (mut seqs, mut lowest) = (Vec::new(), None);
    let take = |mut block: Vec<u64>| {
        lowest = block.last().copied();
        sieve(&mut block);
        seqs.append(&mut block);
        match seqs.len() >= wanted || Instant::now() >= until {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let is_all = index.walk(&request.query, request.before, TOTAL_MAX as usize, take)?;
    Ok(Rows {
        total: seqs.len() as u64,
        stopped_at: lowest.filter(|_| !is_all),
        seqs,
    })
}

/// Looks through what the index does not have, newest first, for as long as [`LOOK`] lasts.
/// Returns how many entries remain.
fn look_past(ledger: &Ledger, indexed_to: u64, collector: &mut Collector<'_>) -> io::Result<u64> {
    let until = Instant::now() + LOOK;
    let mut from = None;
    loop {
        let page = ledger.page(&EntryFilter::default(), from, false, PAGE)?;
        let unread = page.unread_lines().iter();
        collector.note_unread(unread.filter(|seq| **seq > indexed_to).count());
        for stored in &page.entries {
            let seq = stored.entry.seq.0;
            if seq <= indexed_to {
                return Ok(0);
            }
            if Instant::now() >= until {
                return Ok(seq - indexed_to);
            }
            collector.look_at(stored);
        }
        from = page.next;
        if from.is_none() {
            return Ok(0);
        }
    }
}
