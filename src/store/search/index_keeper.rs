//! [`IndexKeeper`]: the indexing thread. Opens the index, checks that it belongs to the ledger, and
//! keeps it up to date.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::batch::Batch;
use super::capsules::follow_capsules;
use super::error::SearchError;
use super::follow_sealed::follow_sealed;
use super::index::{Mark, SearchIndex, discard};
use super::indexer::{SharedIndexer, Target};
use crate::dirs::{ProjectDirs, exists};
use crate::erase::sealed_sessions;
use crate::ledger::{EntryFilter, Stored};
use ctxrelay_core::id::{Seq, SessionId};

/// How long entries are gathered before they go into the index: a write per second costs nothing,
/// and searches look through what is not in it yet.
const GATHER: Duration = Duration::from_secs(1);

/// After the disk refused, the index is tried again so much later.
const TRY_AGAIN: Duration = match cfg!(test) {
    true => Duration::from_millis(50),
    false => Duration::from_secs(10),
};

/// How many entries are read from the ledger at once; they may be large.
const PAGE: usize = 16;

/// Keeps the index up, on a thread of its own.
pub(super) struct IndexKeeper {
    shared: Arc<SharedIndexer>,
}

impl IndexKeeper {
    pub(super) fn new(shared: Arc<SharedIndexer>) -> Self {
        Self { shared }
    }

    /// The indexing thread.
    pub(super) fn run(&self) {
        step_back();
        let mut index: Option<SearchIndex> = None;
        let mut done = 0;
        // For which wish the sealed sessions are in: others come only with another one.
        let mut sealed = 0;
        let mut failures = 0;
        while let Some((target, wish, fresh)) = self.next(done) {
            let kept = index.take().filter(|_| done == wish);
            let advanced = catch_unwind(AssertUnwindSafe(|| {
                self.advance(kept, &target, wish, fresh, &mut sealed)
            }));
            match advanced.unwrap_or(Err(SearchError::Failed)) {
                Ok(open) => {
                    done = wish;
                    failures = 0;
                    index = Some(open);
                }
                Err(error) => {
                    tracing::warn!(%error, "the search index stands still");
                    self.failed(fresh, &error);
                    done = 0;
                    failures += 1;
                    // What is damaged is thrown away and tried again at once, but not for ever.
                    if failures > 1 || !error.is_damage() {
                        self.pause(wish);
                    }
                }
            }
        }
    }

    /// Waits for something to do. Growth alone is answered late, so that one transaction takes
    /// all that comes meanwhile.
    fn next(&self, done: u64) -> Option<(Target, u64, bool)> {
        let mut indexer = self.shared.indexer();
        loop {
            if indexer.closed {
                return None;
            }
            if indexer.wish != done || indexer.grown {
                break;
            }
            indexer = self
                .shared
                .changed
                .wait(indexer)
                .unwrap_or_else(PoisonError::into_inner);
        }
        let until = Instant::now() + GATHER;
        while indexer.wish == done && !indexer.closed {
            let Some(left) = until.checked_duration_since(Instant::now()) else {
                break;
            };
            indexer = self.shared.wait(indexer, left);
        }
        if indexer.closed {
            return None;
        }
        indexer.grown = false;
        let fresh = std::mem::take(&mut indexer.fresh);
        Some((indexer.target.clone(), indexer.wish, fresh))
    }

    /// Takes the index, or opens it, and brings it to the end of the ledger.
    fn advance(
        &self,
        kept: Option<SearchIndex>,
        target: &Target,
        wish: u64,
        fresh: bool,
        sealed: &mut u64,
    ) -> Result<SearchIndex, SearchError> {
        let mut index = match kept {
            Some(index) => index,
            None => {
                *sealed = 0;
                self.open(target, fresh)?
            }
        };
        let from = index.mark()?.map_or(0, |mark| mark.seq);
        // Who waits for the entries has the tasks too.
        if target.ledger.has_room_to_grow() {
            let goes_on = || !self.is_called(wish);
            follow_capsules(
                &mut index,
                &self.shared.dirs,
                &self.shared.redactor,
                goes_on,
            )?;
        }
        self.reached(wish, from);
        let fault = match self.index(&mut index, target, wish, from) {
            Ok(()) => None,
            // What is sealed lies in other files.
            Err(error @ SearchError::Ledger { .. }) => Some(error),
            Err(error) => return Err(error),
        };
        if *sealed != wish && !self.is_called(wish) && target.ledger.has_room_to_grow() {
            let session = &target.session;
            let all = follow_sealed(
                &mut index,
                &self.shared.dirs,
                session,
                &self.shared.redactor,
                |index| self.meanwhile(index, target, wish),
            )?;
            *sealed = if all { wish } else { 0 };
        }
        match fault {
            Some(fault) => Err(fault),
            None => Ok(index),
        }
    }

    /// A long session takes its time, and who waits for the entries of now does not wait for it.
    fn meanwhile(
        &self,
        index: &mut SearchIndex,
        target: &Target,
        wish: u64,
    ) -> Result<bool, SearchError> {
        if std::mem::take(&mut self.shared.indexer().grown) {
            let from = index.mark()?.map_or(0, |mark| mark.seq);
            self.index(index, target, wish, from)?;
        }
        Ok(!self.is_called(wish) && target.ledger.has_room_to_grow())
    }

    /// Opens the index of this ledger; throws away one that is not, or is damaged.
    fn open(&self, target: &Target, fresh: bool) -> Result<SearchIndex, SearchError> {
        if !fresh {
            let opened = SearchIndex::open(&self.shared.dirs).and_then(|mut index| {
                let mark = index.mark()?;
                // Begun and not gone on with: what is in may be deleted by now.
                if mark.is_none() && index.is_begun()? {
                    return Ok(None);
                }
                // Deleted for good, and a crash came before the index was thrown away.
                if index
                    .sealed()?
                    .keys()
                    .any(|it| !is_there(&self.shared.dirs, it))
                {
                    return Ok(None);
                }
                let is_of_it = mark.as_ref().map(|mark| is_of(mark, target)).transpose()?;
                if is_of_it.unwrap_or(true) {
                    return Ok(Some(index));
                }
                // What it goes up to is sealed by now, and all else in it stays. Of a session that
                // was or is being deleted nothing does, not even in a free part of the file.
                let sealed = sealed_sessions(&self.shared.dirs, &target.session)
                    .map_err(|(path, source)| SearchError::Ledger { path, source })?;
                if !mark.is_some_and(|mark| sealed.iter().any(|(it, _)| *it == mark.session)) {
                    return Ok(None);
                }
                index.begin_anew()?;
                self.shared.indexer().state.rebuilds += 1;
                Ok(Some(index))
            });
            match opened {
                Ok(Some(index)) => return Ok(index),
                Ok(None) => tracing::info!("the search index is not of this ledger: built anew"),
                Err(error @ SearchError::NotWal { .. }) => return Err(error),
                Err(error) if error.is_damage() || matches!(error, SearchError::Io { .. }) => {
                    tracing::warn!(%error, "the search index is thrown away and built anew");
                }
                Err(error) => return Err(error),
            }
        }
        let _alone = self
            .shared
            .gate
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        discard(&self.shared.dirs).map_err(|source| SearchError::Io {
            path: self.shared.dirs.state.clone(),
            source,
        })?;
        self.shared.indexer().state.rebuilds += 1;
        SearchIndex::open(&self.shared.dirs)
    }

    /// Puts in what comes after `from`, to the end of the ledger or until something else is wanted.
    /// Not beyond a line that the disk does not give: it is asked for again, and until then everything
    /// from there on is looked through by each search.
    fn index(
        &self,
        index: &mut SearchIndex,
        target: &Target,
        wish: u64,
        from: u64,
    ) -> Result<(), SearchError> {
        let mut batch = Batch::new(&target.session, &self.shared.redactor);
        let mut cursor = Some(from);
        let unreadable = |source| SearchError::Ledger {
            path: target.ledger.path().to_path_buf(),
            source,
        };
        loop {
            let page = target
                .ledger
                .page(&EntryFilter::default(), cursor, true, PAGE);
            let page = match page {
                Ok(page) => page,
                Err(source) => {
                    self.put(&mut batch, index, target, wish)?;
                    return Err(unreadable(source));
                }
            };
            let not_given = page.left_out.not_given;
            let is_before =
                |stored: &&Stored| not_given.is_none_or(|line| stored.entry.seq.0 < line);
            for stored in page.entries.iter().take_while(is_before) {
                if batch.push(stored) {
                    self.put(&mut batch, index, target, wish)?;
                }
            }
            if let Some(line) = not_given {
                self.put(&mut batch, index, target, wish)?;
                let why = format!("the disk does not give entry {line}, which is tried again");
                return Err(unreadable(io::Error::other(why)));
            }
            if self.is_called(wish) {
                return Ok(());
            }
            // Behind what somebody made unreadable, too.
            cursor = page.next;
            if cursor.is_none() {
                self.put(&mut batch, index, target, wish)?;
                return Ok(());
            }
        }
    }

    fn put(
        &self,
        batch: &mut Batch<'_>,
        index: &mut SearchIndex,
        target: &Target,
        wish: u64,
    ) -> Result<(), SearchError> {
        // Of a new session a beginning is put in all the same: that is what tells that the index
        // of a deleted one is gone.
        if !target.ledger.has_room_to_grow() && index.mark()?.is_some() {
            return Err(SearchError::LowDisk);
        }
        if let Some(seq) = batch.put(index)? {
            tracing::debug!(seq, "indexed");
            self.reached(wish, seq);
        }
        Ok(())
    }

    /// Whether something else is wanted.
    fn is_called(&self, wish: u64) -> bool {
        let indexer = self.shared.indexer();
        indexer.closed || indexer.wish != wish
    }

    fn reached(&self, wish: u64, seq: u64) {
        let mut indexer = self.shared.indexer();
        if indexer.wish == wish {
            indexer.state.indexed_to = seq;
            indexer.state.fault = None;
            self.shared.changed.notify_all();
        }
    }

    fn failed(&self, fresh: bool, error: &SearchError) {
        let mut indexer = self.shared.indexer();
        indexer.grown = true;
        indexer.fresh |= fresh || error.is_damage();
        indexer.state.fault = Some(error.to_string());
        if error.is_damage() {
            indexer.state.indexed_to = 0;
        }
        self.shared.changed.notify_all();
    }

    /// Waits before the disk is tried again, or until something else is wanted.
    fn pause(&self, wish: u64) {
        let until = Instant::now() + TRY_AGAIN;
        let mut indexer = self.shared.indexer();
        while !indexer.closed && indexer.wish == wish {
            let Some(left) = until.checked_duration_since(Instant::now()) else {
                return;
            };
            indexer = self.shared.wait(indexer, left);
        }
    }
}

/// Has the thread give way to those that somebody waits for. Where the priority is the whole
/// process's (not on Linux) it stays as it is.
fn step_back() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, 10) {
        tracing::debug!(%error, "the indexing thread keeps its priority");
    }
}

/// Whether a session has a file.
fn is_there(dirs: &ProjectDirs, session: &SessionId) -> bool {
    let name = format!("{session}.jsonl");
    let folders = [dirs.sessions(), dirs.archives()];
    SessionId::is_well_formed(session.as_str())
        && folders.iter().any(|folder| exists(&folder.join(&name)))
}

/// Whether the index ends at an entry of this ledger. That the disk does not give the entry is no
/// answer: the index would be thrown away for it.
fn is_of(mark: &Mark, target: &Target) -> Result<bool, SearchError> {
    if mark.session != target.session {
        return Ok(false);
    }
    match target.ledger.read(Seq(mark.seq)) {
        Ok(stored) => Ok(stored.is_some_and(|stored| mark.is_at(&stored))),
        Err(error) if is_of_content(&error) => Ok(false),
        Err(source) => Err(SearchError::Ledger {
            path: target.ledger.path().to_path_buf(),
            source,
        }),
    }
}

/// Whether what is in the file is the fault, and not the disk.
fn is_of_content(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, UnexpectedEof};
    matches!(error.kind(), InvalidData | UnexpectedEof)
}
