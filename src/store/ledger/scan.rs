//! [`scan`]: one pass over a ledger, or over what follows a checkpoint.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Seek as _, SeekFrom};
use std::ops::ControlFlow;
use std::sync::Arc;

use ctxrelay_core::alarm::Alarm;
use ctxrelay_core::entry::Entry;
use ctxrelay_core::fold::fold;
use ctxrelay_core::id::{Seq, SessionId};
use ctxrelay_core::snapshot::Snapshot;
use ctxrelay_core::wire::line::{ParsedLine, parse};

use super::Stored;
use super::belief::{Belief, Border, JudgedLine, Judgement, lost};
use super::check::Checker;
use super::checkpoint::Checkpoint;
use super::index::EntryIndex;
use super::lines::Lines;
use super::progress::ReadProgress;
use super::shared::load;
use super::stamp::Stamp;
use super::walk::{Walked, walk};

/// How many of the last entries are handed out by [`open`](fn@super::open).
pub const RECENT_MAX: usize = 1000;

/// How a file ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    Whole,
    NoNewline,
    Torn { offset: u64 },
}

/// The result of one pass over a file.
pub(super) struct Scan {
    pub checker: Checker,
    pub index: EntryIndex,
    pub snapshot: Snapshot,
    /// The last entries, oldest first, [`RECENT_MAX`] at most.
    pub recent: VecDeque<Arc<Stored>>,
    pub bytes: u64,
    pub end: End,
    /// A later version wrote some of it.
    pub is_newer: bool,
    /// Every line was read, or none has changed since a run that read them.
    pub is_read: bool,
    /// The last entry that a checkpoint spared reading.
    pub spared_to: Seq,
    /// The file after [`Self::bytes`] is not believed: nothing of it is in here.
    pub is_cut_short: bool,
    /// The head outside belongs to an entry that is not in the file.
    pub lost: Option<Alarm>,
}

/// Reads a whole ledger; its writer may be anybody.
pub(super) fn scan(file: &File) -> io::Result<Scan> {
    scan_to(file, None, &ReadProgress::default())
}

fn nothing(foreign_through: Seq) -> Scan {
    Scan {
        checker: Checker::new(),
        index: EntryIndex::default(),
        snapshot: Snapshot::believing_after(foreign_through),
        recent: VecDeque::new(),
        bytes: 0,
        end: End::Whole,
        is_newer: false,
        is_read: true,
        spared_to: Seq(0),
        is_cut_short: false,
        lost: None,
    }
}

/// Reads a whole ledger up to where it is believed.
fn scan_to(file: &File, border: Option<&Border>, progress: &ReadProgress) -> io::Result<Scan> {
    let Some(border) = border else {
        let begun = nothing(Seq(0));
        return go_on(file, begun, Belief::new(None), progress).map(|(scan, _)| scan);
    };
    let mut border = border.clone();
    let mut missing = None;
    loop {
        let begun = nothing(border.foreign_through());
        let (mut scan, judgement) = go_on(file, begun, Belief::new(Some(&border)), progress)?;
        match judgement {
            Judgement::Again(next) => {
                missing =
                    missing.or_else(|| border.head().filter(|_| next.head().is_none()).map(lost));
                border = next;
            }
            Judgement::Stands => {
                // What comes from here on is ours.
                let world = &mut scan.snapshot;
                world.foreign_through = world.foreign_through.min(world.seq);
                scan.lost = missing;
                return Ok(scan);
            }
        }
    }
}

/// Reads what follows a checkpoint, or everything when there is none that fits; up to where it is
/// believed.
pub(super) fn scan_after(
    file: &File,
    session: &SessionId,
    checkpoint: Option<Checkpoint>,
    border: Option<&Border>,
    progress: &ReadProgress,
) -> io::Result<Scan> {
    let fits = |checkpoint: &Checkpoint| {
        checkpoint.fits(session, file) && checkpoint.is_believed(file, border)
    };
    let Some(checkpoint) = checkpoint.filter(fits) else {
        return scan_to(file, border, progress);
    };
    match resume(file, checkpoint, border, progress) {
        // The index names places where there is nothing of the kind.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
            ) =>
        {
            scan_to(file, border, progress)
        }
        Ok(Some(scan)) => Ok(scan),
        Ok(None) => scan_to(file, border, progress),
        Err(error) => Err(error),
    }
}

/// `None` when the file has to be read from its beginning.
fn resume(
    file: &File,
    checkpoint: Checkpoint,
    border: Option<&Border>,
    progress: &ReadProgress,
) -> io::Result<Option<Scan>> {
    let belief = match border {
        // The checkpoint has passed the head.
        Some(border) if checkpoint.has_passed(border) => {
            Belief::behind(border, &checkpoint.checker)
        }
        Some(border) => Belief::ahead(border),
        None => Belief::new(None),
    };
    let is_read = Stamp::of(file).is_some_and(|stamp| checkpoint.stamp == Some(stamp));
    let begun = Scan {
        bytes: checkpoint.bytes(),
        checker: checkpoint.checker,
        index: checkpoint.index,
        spared_to: checkpoint.snapshot.seq,
        snapshot: checkpoint.snapshot,
        recent: VecDeque::new(),
        end: End::Whole,
        // No checkpoint is made of such a ledger: nothing is appended to it.
        is_newer: false,
        is_read,
        is_cut_short: false,
        lost: None,
    };
    let (scan, judgement) = go_on(file, begun, belief, progress)?;
    Ok(matches!(judgement, Judgement::Stands).then_some(scan))
}

fn go_on(
    mut file: &File,
    mut scan: Scan,
    mut belief: Belief<'_>,
    progress: &ReadProgress,
) -> io::Result<(Scan, Judgement)> {
    progress.begins(file.metadata()?.len());
    file.seek(SeekFrom::Start(scan.bytes))?;
    let lines = Lines::new(file, scan.bytes);
    let mut checker = scan.checker.clone();
    let mut foreign_from = None;
    let end = walk(lines, &mut checker, parse, |checker, walked| {
        let (offset, end) = (walked.offset, walked.end);
        if scan.line(checker, walked, &mut belief) {
            progress.reaches(end, checker.entries());
            return ControlFlow::Continue(());
        }
        foreign_from = Some(offset);
        ControlFlow::Break(())
    })?;
    scan.bytes = foreign_from.unwrap_or(end);
    scan.is_cut_short = foreign_from.is_some();
    scan.checker = checker;
    let tail = scan.index.tail(RECENT_MAX);
    scan.recent = tail
        .map(|slot| load(file, slot).map(Arc::new))
        .collect::<io::Result<_>>()?;
    Ok((scan, belief.judge()))
}

impl Scan {
    /// Takes a line in; says whether it is believed.
    fn line(
        &mut self,
        checker: &mut Checker,
        walked: Walked<'_, ParsedLine>,
        belief: &mut Belief<'_>,
    ) -> bool {
        let Walked {
            offset,
            text,
            complete,
            ..
        } = walked;
        let is_newer = walked.made.line.as_ref().is_ok_and(|line| line.is_newer);
        let (judged, entry) = belief.line(checker, walked);
        match judged {
            JudgedLine::Foreign => return false,
            JudgedLine::Torn => {
                self.end = End::Torn { offset };
                return true;
            }
            JudgedLine::Bad(why) => {
                tracing::debug!(offset, why, "a line of the ledger is no entry");
            }
            JudgedLine::Entry { seq, hash } => {
                if let Some(entry) = entry {
                    self.take((seq, &hash), entry, offset, text);
                }
            }
        }
        self.is_newer |= is_newer;
        if !complete {
            self.end = End::NoNewline;
        }
        true
    }

    fn take(&mut self, (seq, hash): (u64, &str), mut entry: Entry, offset: u64, text: &[u8]) {
        entry.seq = Seq(seq);
        let (Ok(seq), Ok(len)) = (u32::try_from(seq), u32::try_from(text.len())) else {
            return;
        };
        self.index.push(&entry, offset, len, seq);
        fold(&mut self.snapshot, &entry);
        self.snapshot.note_hash(&entry.id, hash);
    }
}
