//! [`read`]: all entries of a ledger file that somebody else may be writing.
//!
//! Takes no lock and repairs nothing.

use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::ops::ControlFlow;
use std::path::Path;

use super::Stored;
use super::check::{Checker, LineVerdict};
use super::lines::Lines;
use super::shared::Stats;
use super::walk::walk;
use crate::dirs::open_private;
use ctxrelay_core::id::Seq;
use ctxrelay_core::wire::line::parse;

/// Reads a ledger from its beginning and hands every entry to `each`, in the order of the file,
/// until it says that it has enough. One line is held at a time.
///
/// A last line that is not written to its end is left out: it is being written now, or a crash
/// tore it.
///
/// # Errors
///
/// When the file cannot be read, or is a link.
pub fn read(path: &Path, each: impl FnMut(Stored) -> ControlFlow<()>) -> io::Result<Stats> {
    read_to(path, u64::MAX, each)
}

/// As [`read`], as if the file ended at `end`, in bytes.
///
/// # Errors
///
/// As [`read`].
pub fn read_to(
    path: &Path,
    end: u64,
    mut each: impl FnMut(Stored) -> ControlFlow<()>,
) -> io::Result<Stats> {
    read_placed(path, end, |stored, _| each(stored))
}

/// As [`read_to`], each with the place where its line begins, in bytes.
pub(crate) fn read_placed(
    path: &Path,
    end: u64,
    mut each: impl FnMut(Stored, u64) -> ControlFlow<()>,
) -> io::Result<Stats> {
    let lines = Lines::new(open_private(path)?.take(end), 0);
    let mut checker = Checker::new();
    let bytes = walk(lines, &mut checker, parse, |checker, walked| {
        if !walked.complete {
            return ControlFlow::Break(());
        }
        let is_intact = walked.made.is_intact;
        let (entry, link) = walked.made.split();
        let verdict = checker.line(walked.text, link, is_intact, walked.after);
        if let (LineVerdict::Entry { seq, hash }, Some(mut entry)) = (verdict, entry) {
            entry.seq = Seq(seq);
            let stored = Stored {
                entry,
                line: String::from_utf8_lossy(walked.text).into_owned(),
                hash,
            };
            return each(stored, walked.offset);
        }
        ControlFlow::Continue(())
    })?;
    Ok(Stats {
        entries: checker.entries(),
        bytes,
        ahead: 0,
        bad_lines: checker.bad(),
        head: checker.head(),
        chain_ok: checker.fault().is_none(),
        foreign_bytes: 0,
    })
}

/// The entry whose line begins at a place of a ledger, in bytes; none where no whole one does.
///
/// # Errors
///
/// When the file cannot be read, or is a link.
pub(crate) fn line_at(path: &Path, offset: u64) -> io::Result<Option<Stored>> {
    let mut file = open_private(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut lines = Lines::new(file, offset);
    let line = lines.next(|_| {})?;
    let text = line.and_then(|line| line.text.filter(|_| line.complete));
    let parsed = text.and_then(|text| Some((text, parse(text).ok()?)));
    Ok(parsed.map(|(text, parsed)| Stored {
        line: String::from_utf8_lossy(text).into_owned(),
        hash: parsed.link.map_or_else(String::new, |link| link.hash),
        entry: parsed.entry,
    }))
}
