//! How the record of one session is followed by that of the next, on the disk.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{Pending, Recorder, refusals};
use crate::core::entry::{Entry, Fate, Predecessor};
use crate::core::id::SessionId;
use crate::core::snapshot::Snapshot;
use crate::store::head::Kept;
use crate::store::ledger::{self, CheckpointPause, Ledger, LedgerError, Stored, WriterEvent};
use crate::store::session;

/// Makes the channel by which a ledger's writer reports to the loop; a new one for each session.
pub(in crate::daemon) type WriterEvents = Box<dyn Fn() -> Box<dyn Fn(WriterEvent) + Send> + Send>;

/// Why a session did not begin; the previous one goes on.
#[derive(Debug, thiserror::Error)]
pub(in crate::daemon) enum NotBegun {
    /// Its ledger did not take its first entries.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// `current` could not be made to name it.
    #[error(transparent)]
    Current(#[from] io::Error),
}

impl NotBegun {
    /// The way on.
    pub(in crate::daemon) fn hint(&self) -> String {
        match self {
            // Something of it may be recorded.
            Self::Ledger(LedgerError::Late(_)) => {
                "the disk is slow: see in `ctxrelay ledger list` what it took, and try again"
                    .to_owned()
            }
            Self::Ledger(error) => refusals::of_error(error).hint,
            Self::Current(_) => "see that the project folder can be written".to_owned(),
        }
    }
}

impl<T> Recorder<T> {
    /// Appends and folds at once. Everybody waits with the caller, at most until the deadline.
    ///
    /// # Errors
    ///
    /// When the disk refuses, or is too late; then the entries count as pending until their writer
    /// says what became of them, and `late` goes on with that.
    pub(in crate::daemon) fn append_and_wait(
        &mut self,
        entries: Vec<Entry>,
        at_most: Duration,
        late: T,
    ) -> Result<Vec<Arc<Stored>>, LedgerError> {
        let token = self.take_token();
        let appended = self
            .ledger
            .append_and_wait(token, self.round, entries, at_most);
        match &appended {
            Ok(stored) => self.take_in(stored),
            Err(LedgerError::Late(_)) => {
                self.pending.insert(token, Pending::of(Some(late), None));
            }
            Err(_) => {}
        }
        appended
    }

    /// This session, as the next one names it.
    pub(in crate::daemon) fn as_predecessor(&self, fate: Fate) -> Predecessor {
        let stats = self.ledger.stats();
        let (_, head) = stats.head.unwrap_or_default();
        Predecessor {
            session_id: self.session_id.clone(),
            entries: stats.entries,
            head,
            fate,
            // An archived file says so itself.
            earlier: match fate {
                Fate::Archived => None,
                Fate::Compacted | Fate::Discarded => {
                    // Somebody else's archives do not become ours with the next session.
                    let before = self.world.believed_predecessor();
                    before.and_then(Predecessor::archived)
                }
            },
        }
    }

    /// Goes on with the record of another session, which begins with these entries. The world
    /// that the one before ended with, and the entries as they lie on the disk, folded.
    ///
    /// # Errors
    ///
    /// When it did not begin: this session goes on.
    pub(in crate::daemon) fn go_on_as(
        &mut self,
        next: SessionId,
        head: String,
        mut first: Vec<Entry>,
        at_most: Duration,
    ) -> Result<(Arc<Snapshot>, Vec<Arc<Stored>>), NotBegun> {
        for entry in &mut first {
            entry.session_id = next.clone();
        }
        let kept = self.keepers.heads.heads().kept();
        let (opened, stored) = self.begin(&next, head, first, at_most)?;
        if let Err(error) = session::write_current(&self.dirs, &next) {
            opened.close();
            // It may have failed behind the step that gave the file its name, and must not go on
            // naming what is removed here.
            if let Err(error) = self.name_current() {
                tracing::error!(%error, "`current` could not be put back");
            }
            self.take_back(kept, &next);
            return Err(error.into());
        }
        // From here on there is no way back: `current` names the new session. The old writer has
        // answered everything.
        std::mem::replace(&mut self.ledger, opened).end();
        self.keepers
            .search
            .follow(self.ledger.clone(), next.clone());
        let world = std::mem::take(&mut self.world);
        self.session_id = next;
        self.recent.clear();
        self.lost_texts.clear();
        self.take_in(&stored);
        Ok((world, stored))
    }

    /// Has `current` name this session.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub(in crate::daemon) fn name_current(&self) -> io::Result<()> {
        session::write_current(&self.dirs, &self.session_id)
    }

    /// The head outside is that of this session again, and the file of the one that did not begin
    /// goes. Where there is no room for the head that file may make some; else the next heads are
    /// tried.
    fn take_back(&self, kept: Option<Kept>, next: &SessionId) {
        let keeper = &self.keepers.heads;
        let put_back = kept.clone().map(|kept| keeper.heads().replace(kept));
        let _ = std::fs::remove_file(self.dirs.ledger(next));
        if let (Some(kept), Some(Err(_))) = (kept, put_back)
            && let Err(error) = keeper.heads().put_back(kept)
        {
            tracing::error!(%error, "the head outside could not be put back");
        }
        // Meanwhile it was no news.
        self.try_head();
    }

    /// Makes the ledger of a session and writes its first entries. On an error there is no such
    /// session, and nothing is heard of it.
    pub(in crate::daemon) fn begin(
        &self,
        next: &SessionId,
        head: String,
        first: Vec<Entry>,
        at_most: Duration,
    ) -> Result<(Ledger, Vec<Arc<Stored>>), LedgerError> {
        let begun = Arc::new(AtomicBool::new(false));
        let kept = self.keepers.heads.heads().kept();
        let opened = ledger::open(
            ledger::OpenOptions {
                dirs: self.dirs.clone(),
                session: next.clone(),
                prev_head: Some(head),
                redactor: Arc::clone(&self.redactor),
                checkpoint: None,
                outside: Some(ledger::Outside {
                    heads: self.keepers.heads.heads().clone(),
                    origin: ledger::Origin::Begun,
                }),
                space: Some(Arc::clone(&self.keepers.space)),
            },
            self.events_once(&begun),
        );
        let first_entries =
            opened.and_then(
                |opened| match opened.ledger.append_and_wait(0, 0, first, at_most) {
                    Ok(stored) => Ok((opened.ledger, stored)),
                    Err(error) => {
                        opened.ledger.close();
                        Err(error)
                    }
                },
            );
        match &first_entries {
            Ok(_) => begun.store(true, Ordering::Release),
            // An empty session, or half of one, must not be found at the next start.
            Err(_) => self.take_back(kept, next),
        }
        first_entries
    }

    /// What a writer says, once its session has begun. Until then the answer to the only append is
    /// waited for, and what comes after the deadline is of a session that is being taken back: the
    /// loop would fold it into the world of the old one. It would also wait for a place in the
    /// queue of this very loop, which waits for the writer's end.
    fn events_once(&self, begun: &Arc<AtomicBool>) -> Box<dyn Fn(WriterEvent) + Send> {
        let (begun, say) = (Arc::clone(begun), (self.writer_events)());
        Box::new(move |event: WriterEvent| {
            if begun.load(Ordering::Acquire) {
                say(event);
            } else {
                tracing::warn!("the disk was too late for a session that is taken back");
            }
        })
    }

    /// Moves the file of a session that has ended to the archives. Where it lies then.
    ///
    /// # Errors
    ///
    /// When it stays where it was.
    pub(in crate::daemon) fn archive(&self, old: &SessionId) -> io::Result<PathBuf> {
        ledger::seal(&self.dirs, old)
    }

    /// Has nobody write down once more what is about to be deleted; `None` where no checkpoints are
    /// written any more.
    pub(in crate::daemon) fn pause_checkpoints(&mut self) -> Option<CheckpointPause> {
        let paused = self.keepers.checkpoints.begin_anew();
        paused
            .inspect_err(|error| tracing::warn!(%error, "no checkpoints are written any more"))
            .ok()
    }
}
