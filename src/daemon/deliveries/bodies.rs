//! [`Body`]: what a message is given from. [`BodyReads`]: the bodies that are read beside the loop.
//!
//! Most messages are given from memory: from their line, which was recorded just now. The disk is
//! read for older or longer ones, and for the commit of the work tree where a message comes late. A
//! flow that finds that its message is not in memory has it read and starts over with the result;
//! whatever happened in between is taken into account then.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io;
use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::core::id::{EntryId, Seq};
use crate::core::line_hash::LineHash;
use crate::daemon::base::under_way::UnderWay;
use crate::store::blobs::{BlobError, Blobs};
use crate::store::ledger::{Ledger, Stored};

/// How many bodies one read has at most: one longer than a line may be as long as a page of the
/// reader.
pub(in crate::daemon) const READ_AT_ONCE: usize = 16;

/// How many reads may be under way or wait; who asks for one more is refused.
const READS_MAX: usize = 256;

/// How many of them have a thread at once.
const THREADS: usize = 4;

/// What the text of a message is made from.
#[derive(Debug, Clone)]
pub struct Body {
    /// Its line, as it was recorded.
    pub stored: Arc<Stored>,
    /// Its text, if the line does not contain all of it.
    pub text: Option<String>,
    /// The commit that the work tree is on, if requested and known.
    pub commit: Option<String>,
}

/// Bodies that were read; `None` for a message that cannot be given.
pub type ReadBodies = HashMap<EntryId, Option<Body>>;

/// The body is not in memory: the disk has to be read first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::daemon) struct NotRead;

/// A line in the file that is not the recorded one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::daemon) struct AlteredLine;

/// A request to read one body.
#[derive(Debug)]
pub(in crate::daemon) struct BodyOrder {
    pub(in crate::daemon) id: EntryId,
    pub(in crate::daemon) seq: Seq,
    /// The hash that its line must have, if known.
    pub(in crate::daemon) hash: Option<LineHash>,
    /// Its line, if it is in memory.
    pub(in crate::daemon) recent: Option<Arc<Stored>>,
    /// The text names the commit of the work tree.
    pub(in crate::daemon) wants_commit: bool,
}

/// A text that should exist and does not.
#[derive(Debug)]
pub struct LostText {
    /// The entry whose text it is.
    pub entry: EntryId,
    /// Why it cannot be read.
    pub error: BlobError,
}

/// Bodies that were read for a waiting flow, as an event.
#[derive(Debug)]
pub struct BodiesRead {
    /// The number under which the flow waits for them.
    pub number: u64,
    /// All bodies that the flow has now.
    pub bodies: ReadBodies,
    /// The messages whose line is not the recorded one.
    pub altered: Vec<EntryId>,
    /// The texts that could not be read.
    pub lost: Vec<LostText>,
    /// Kept until the loop has taken this event.
    pub under_way: UnderWay,
}

impl BodyOrder {
    /// Reads it. Blocking.
    pub(in crate::daemon) fn read(
        self,
        ledger: &Ledger,
        commit: Option<&String>,
        into: &mut BodiesRead,
    ) {
        let line = as_recorded(ledger, self.recent, self.seq, self.hash);
        let body = match line {
            Ok(stored) => stored.map(|stored| {
                let whole = whole_text(&stored, ledger).map(|text| {
                    text.unwrap_or_else(|(instead, lost)| {
                        into.lost.push(lost);
                        instead
                    })
                });
                Body {
                    stored,
                    text: whole,
                    commit: commit.cloned(),
                }
            }),
            Err(AlteredLine) => {
                into.altered.push(self.id.clone());
                None
            }
        };
        into.bodies.insert(self.id, body);
    }
}

/// An entry whose line gives this hash, if one is known; nothing where it cannot be read.
///
/// # Errors
///
/// When another line stands in its place.
pub(in crate::daemon) fn as_recorded(
    ledger: &Ledger,
    recent: Option<Arc<Stored>>,
    seq: Seq,
    hash: Option<LineHash>,
) -> Result<Option<Arc<Stored>>, AlteredLine> {
    let stored = match recent {
        Some(stored) => stored,
        None => match ledger.read(seq) {
            Ok(Some(stored)) => Arc::new(stored),
            Ok(None) => return Ok(None),
            // Where the entry was stands something else.
            Err(error)
                if hash.is_some()
                    && matches!(
                        error.kind(),
                        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
                    ) =>
            {
                return Err(AlteredLine);
            }
            Err(error) => {
                tracing::warn!(%error, %seq, "an entry could not be read");
                return Ok(None);
            }
        },
    };
    if hash.is_none_or(|hash| stored.is_of(&hash.to_string())) {
        Ok(Some(stored))
    } else {
        Err(AlteredLine)
    }
}

/// All of an entry's text, where its line has not all of it. When it cannot be had, its beginning
/// under a line that says so: nobody must take a part for the whole.
fn whole_text(stored: &Stored, ledger: &Ledger) -> Option<Result<String, (String, LostText)>> {
    let whole = stored.entry.whole.as_ref()?;
    let text = Blobs::of_ledger(ledger.path()).get(&whole.sha256);
    Some(text.map_err(|error| {
        let instead = format!(
            "[ctxrelay: only the beginning of this text can be handed over. All of it ({} \
             characters) was kept in a file of its own, and {error}. Ask the sender again, and \
             tell your operator.]\n{}",
            whole.units, stored.entry.content
        );
        let entry = stored.entry.id.clone();
        (instead, LostText { entry, error })
    }))
}

/// The reads that are under way. `T` is the continuation with the bodies that were read.
pub(in crate::daemon) struct BodyReads<T> {
    waiting: BTreeMap<u64, T>,
    next: u64,
    threads: Arc<Semaphore>,
    /// A waiting call found no room, and was not refused.
    has_waiting: bool,
}

impl<T> Default for BodyReads<T> {
    fn default() -> Self {
        Self {
            waiting: BTreeMap::new(),
            next: 0,
            threads: Arc::new(Semaphore::new(THREADS)),
            has_waiting: false,
        }
    }
}

impl<T> fmt::Debug for BodyReads<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BodyReads")
            .field("waiting", &self.waiting.len())
            .finish_non_exhaustive()
    }
}

impl<T> BodyReads<T> {
    /// Whether somebody who can be refused may have something read. A lane always may: it has one
    /// read at a time.
    pub(in crate::daemon) fn has_room(&self) -> bool {
        self.waiting.len() < READS_MAX
    }

    /// Somebody found no room, and waits for it.
    pub(in crate::daemon) fn wait_for_room(&mut self) {
        self.has_waiting = true;
    }

    /// Whether somebody waited for room, and there is some now; told once.
    pub(in crate::daemon) fn has_room_again(&mut self) -> bool {
        self.has_room() && std::mem::take(&mut self.has_waiting)
    }

    /// Something is to be read. The number under which it is waited for.
    pub(in crate::daemon) fn begin(&mut self, then: T) -> u64 {
        let number = self.next;
        self.next += 1;
        self.waiting.insert(number, then);
        number
    }

    /// It was read: how to go on.
    pub(in crate::daemon) fn take(&mut self, number: u64) -> Option<T> {
        self.waiting.remove(&number)
    }

    /// Who reads takes one of these.
    pub(in crate::daemon) fn threads(&self) -> Arc<Semaphore> {
        Arc::clone(&self.threads)
    }
}
