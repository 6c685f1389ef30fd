//! [`scan`]: one pass over a ledger, or over what follows a checkpoint.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Seek as _, SeekFrom};
use std::ops::ControlFlow;
use std::sync::Arc;

use sha2::Digest as _;

use crate::core::entry::Entry;
use crate::core::fold::fold;
use crate::core::id::{Seq, SessionId};
use crate::core::snapshot::Snapshot;
use crate::wire::line::{ParsedLine, parse};

use super::check::{Checker, Verdict};
use super::checkpoint::{Checkpoint, Stamp};
use super::handle::Stored;
use super::index::Index;
use super::lines::Lines;
use super::open::RECENT_MAX;
use super::shared::load;
use super::walk::{Made, Walked, walk};

/// How a file ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    Whole,
    NoNewline,
    Torn { offset: u64 },
}

/// What one pass over a file gives.
pub(super) struct Scan {
    pub checker: Checker,
    pub index: Index,
    pub snapshot: Snapshot,
    /// The last entries, oldest first, [`RECENT_MAX`] at most.
    pub recent: VecDeque<Arc<Stored>>,
    pub bytes: u64,
    pub end: End,
    /// A later version wrote some of it.
    pub is_newer: bool,
    /// Every line was read, or none was changed since a run that read them.
    pub is_read: bool,
}

/// Reads a whole ledger.
pub(super) fn scan(file: &File) -> io::Result<Scan> {
    let nothing = Scan {
        checker: Checker::new(),
        index: Index::default(),
        snapshot: Snapshot::default(),
        recent: VecDeque::new(),
        bytes: 0,
        end: End::Whole,
        is_newer: false,
        is_read: true,
    };
    go_on(file, nothing)
}

/// Reads what follows a checkpoint, or everything when there is none that fits.
pub(super) fn scan_after(
    file: &File,
    session: &SessionId,
    checkpoint: Option<Checkpoint>,
) -> io::Result<Scan> {
    let Some(checkpoint) = checkpoint.filter(|checkpoint| checkpoint.fits(session, file)) else {
        return scan(file);
    };
    match resume(file, checkpoint) {
        // The index names places where there is nothing of the kind.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
            ) =>
        {
            scan(file)
        }
        result => result,
    }
}

fn resume(file: &File, checkpoint: Checkpoint) -> io::Result<Scan> {
    let is_read = Stamp::of(file).is_some_and(|stamp| checkpoint.stamp == Some(stamp));
    let begun = Scan {
        bytes: checkpoint.bytes(),
        checker: checkpoint.checker,
        index: checkpoint.index,
        snapshot: checkpoint.snapshot,
        recent: VecDeque::new(),
        end: End::Whole,
        // No checkpoint is made of such a ledger: nothing is appended to it.
        is_newer: false,
        is_read,
    };
    go_on(file, begun)
}

fn go_on(mut file: &File, mut scan: Scan) -> io::Result<Scan> {
    file.seek(SeekFrom::Start(scan.bytes))?;
    let lines = Lines::new(file, scan.bytes);
    let mut checker = scan.checker.clone();
    scan.bytes = walk(lines, &mut checker, parse, |checker, walked| {
        scan.line(checker, walked);
        ControlFlow::Continue(())
    })?;
    scan.checker = checker;
    let tail = scan.index.tail(RECENT_MAX).iter();
    scan.recent = tail
        .map(|slot| load(file, *slot).map(Arc::new))
        .collect::<io::Result<_>>()?;
    Ok(scan)
}

impl Scan {
    fn line(&mut self, checker: &mut Checker, walked: Walked<'_, ParsedLine>) {
        let Walked { offset, text, .. } = walked;
        let Made { line, is_intact } = walked.made;
        let (entry, link) = match line {
            Ok(parsed) => {
                self.is_newer |= parsed.is_newer;
                (Some(parsed.entry), Ok(parsed.link))
            }
            Err(bad) => (None, Err(bad)),
        };
        if walked.complete {
            let verdict = checker.line(text, link, is_intact, walked.after);
            return self.take(verdict, entry, offset, text);
        }
        // The last line, without its newline: taken only if nothing of it is missing.
        let mut after = walked.after;
        if let Some(digest) = &mut after {
            digest.update(b"\n");
        }
        let mut tried = checker.clone();
        let verdict = tried.line(text, link, is_intact, after);
        let faulty = tried.fault() != checker.fault();
        if matches!(verdict, Verdict::Entry { .. }) && !faulty {
            *checker = tried;
            self.take(verdict, entry, offset, text);
            self.end = End::NoNewline;
        } else {
            self.end = End::Torn { offset };
        }
    }

    fn take(&mut self, verdict: Verdict, entry: Option<Entry>, offset: u64, text: &[u8]) {
        let (seq, mut entry) = match (verdict, entry) {
            (Verdict::Entry { seq, .. }, Some(entry)) => (seq, entry),
            (Verdict::Bad(why), _) => {
                tracing::debug!(offset, why, "a line of the ledger is no entry");
                return;
            }
            (Verdict::Entry { .. }, None) => return,
        };
        entry.seq = Seq(seq);
        let (Ok(seq), Ok(len)) = (u32::try_from(seq), u32::try_from(text.len())) else {
            return;
        };
        self.index.push(&entry, offset, len, seq);
        fold(&mut self.snapshot, &entry);
    }
}
