//! [`read`]: all entries of a ledger file that somebody else may be writing.
//!
//! Takes no lock and mends nothing.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use sha2::Digest as _;

use super::LINE_MAX;
use super::check::{Checker, Verdict};
use super::handle::{Stats, Stored};
use super::lines::Lines;
use crate::core::id::Seq;
use crate::store::dirs::open_private;
use crate::wire::line::{BadLine, parse};

/// Reads a ledger from its beginning and hands every entry to `each`, in the order of the file,
/// until it says that it has enough. One line is held at a time.
///
/// A last line that is not written to its end is left out: it is being written now, or a crash
/// tore it.
///
/// # Errors
///
/// When the file cannot be read, or is a link.
pub fn read(path: &Path, mut each: impl FnMut(Stored) -> ControlFlow<()>) -> io::Result<Stats> {
    let mut lines = Lines::new(open_private(path)?, 0);
    let mut checker = Checker::new();
    loop {
        let mut after = checker.digest();
        let next = lines.next(|piece| {
            if let Some(digest) = &mut after {
                digest.update(piece);
            }
        })?;
        let Some(line) = next else { break };
        if !line.complete {
            break;
        }
        let parsed = line.text.map_or(Err(BadLine::TooLong(LINE_MAX)), parse);
        let (entry, link) = match parsed {
            Ok(parsed) => (Some(parsed.entry), Ok(parsed.link)),
            Err(bad) => (None, Err(bad)),
        };
        let text = line.text.unwrap_or_default();
        let verdict = checker.line(text, link, after);
        if let (Verdict::Entry { seq, hash }, Some(mut entry)) = (verdict, entry) {
            entry.seq = Seq(seq);
            let stored = Stored {
                entry,
                line: String::from_utf8_lossy(text).into_owned(),
                hash,
            };
            if each(stored).is_break() {
                break;
            }
        }
    }
    Ok(Stats {
        entries: checker.entries(),
        bytes: lines.offset(),
        bad_lines: checker.bad(),
        head: checker.head(),
        chain_ok: checker.fault().is_none(),
        foreign_bytes: 0,
    })
}
