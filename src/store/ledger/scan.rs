//! [`scan`]: one pass over a ledger, or over what follows a checkpoint.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Seek as _, SeekFrom};
use std::sync::Arc;

use sha2::Digest as _;

use crate::core::entry::Entry;
use crate::core::fold::fold;
use crate::core::id::{Seq, SessionId};
use crate::core::snapshot::Snapshot;
use crate::wire::line::{BadLine, parse};

use super::LINE_MAX;
use super::check::{Checker, Verdict};
use super::checkpoint::{Checkpoint, Stamp};
use super::handle::Stored;
use super::index::Index;
use super::lines::Lines;
use super::open::RECENT_MAX;
use super::shared::load;

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
        is_read,
    };
    go_on(file, begun)
}

fn go_on(file: &File, mut scan: Scan) -> io::Result<Scan> {
    let mut reader = file;
    reader.seek(SeekFrom::Start(scan.bytes))?;
    let mut lines = Lines::new(reader, scan.bytes);
    loop {
        let mut after = scan.checker.digest();
        let next = lines.next(|piece| {
            if let Some(digest) = &mut after {
                digest.update(piece);
            }
        })?;
        let Some(line) = next else { break };
        let parsed = line.text.map_or(Err(BadLine::TooLong(LINE_MAX)), parse);
        let (entry, link) = match parsed {
            Ok(parsed) => (Some(parsed.entry), Ok(parsed.link)),
            Err(bad) => (None, Err(bad)),
        };
        let text = line.text.unwrap_or_default();
        if line.complete {
            let verdict = scan.checker.line(text, link, after);
            scan.take(verdict, entry, line.offset, text);
            continue;
        }
        // The last line, without its newline: taken only if nothing of it is missing.
        if let Some(digest) = &mut after {
            digest.update(b"\n");
        }
        let mut tried = scan.checker.clone();
        let verdict = tried.line(text, link, after);
        let faulty = tried.fault() != scan.checker.fault();
        if matches!(verdict, Verdict::Entry { .. }) && !faulty {
            scan.checker = tried;
            scan.take(verdict, entry, line.offset, text);
            scan.end = End::NoNewline;
        } else {
            scan.end = End::Torn {
                offset: line.offset,
            };
        }
    }
    scan.bytes = lines.offset();
    let tail = scan.index.tail(RECENT_MAX).iter();
    scan.recent = tail
        .map(|slot| load(file, *slot).map(Arc::new))
        .collect::<io::Result<_>>()?;
    Ok(scan)
}

impl Scan {
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
