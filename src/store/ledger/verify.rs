//! [`verify`]: reads a ledger once and says whether it is as it was written.
//!
//! The chain is not keyed: whoever rewrites the file from some entry to its end, hashes included,
//! is found only by a head that was kept elsewhere.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use crate::store::dirs::open_private;
use crate::store::head::Head;
use crate::wire::line::parse_link;

use super::check::{Checker, Fault, Reason, Verdict};
use super::lines::Lines;
use super::verify_blobs::{BlobCheck, BlobReport};
use super::walk::{Made, walk};

/// What [`verify`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifyReport {
    /// Nothing is wrong.
    pub ok: bool,
    /// Entries of the record.
    pub entries: u64,
    /// Those of them that are chained.
    pub chained: u64,
    /// Lines of an older, unchained ledger at the beginning. Nothing can be said about them but
    /// that they have not changed since the chain began.
    pub prefix: u64,
    /// Lines that are no entries.
    pub bad_lines: u64,
    /// The first thing that is wrong.
    pub first_bad: Option<Fault>,
    /// Bytes of a last line that was not written to its end: the mark of a crash or of a write
    /// that is going on, and no tampering.
    pub torn_bytes: u64,
    /// The last chained entry and its hash.
    pub head: Option<(u64, String)>,
    /// How the head kept outside the project compares.
    pub outside_head: OutsideHead,
    /// The long texts kept beside it.
    pub blobs: BlobReport,
}

/// How the head kept outside the project compares with the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutsideHead {
    /// It is the file's last entry.
    Match,
    /// It is an earlier entry: it is written at most once a second.
    Behind,
    /// The file does not have it: the file was cut or rewritten.
    Differs,
    /// There is none, or it is another session's.
    None,
}

impl OutsideHead {
    /// The word in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Match => "match",
            Self::Behind => "behind",
            Self::Differs => "differs",
            Self::None => "none",
        }
    }
}

/// Reads a ledger from its beginning to its end, in bounded memory.
///
/// # Errors
///
/// When the file cannot be read. What is wrong in it is no error but in the report.
pub fn verify(path: &Path, outside: Option<&Head>) -> io::Result<VerifyReport> {
    verify_with(path, outside, |_| {})
}

/// As [`verify`]; says after each line how many bytes are checked.
///
/// # Errors
///
/// As [`verify`].
pub fn verify_with(
    path: &Path,
    outside: Option<&Head>,
    mut on_bytes: impl FnMut(u64),
) -> io::Result<VerifyReport> {
    let session = path.file_stem().and_then(|stem| stem.to_str());
    let outside = outside.filter(|head| session == Some(head.session_id.as_str()));
    let lines = Lines::new(open_private(path)?, 0);
    let mut checker = Checker::new();
    let mut blobs = BlobCheck::new(path);
    let mut torn_bytes = 0;
    let mut seen_outside = false;
    walk(lines, &mut checker, parse_link, |checker, walked| {
        let Made { line, is_intact } = walked.made;
        let before = (!walked.complete).then(|| checker.clone());
        let verdict = checker.line(walked.text, line, is_intact, walked.after);
        if let Some(before) = before
            && (checker.fault() != before.fault() || matches!(verdict, Verdict::Bad(_)))
        {
            *checker = before;
            torn_bytes = walked.end - walked.offset;
            return ControlFlow::Continue(());
        }
        if let Verdict::Entry { seq, .. } = &verdict {
            blobs.line(walked.text, *seq, checker.lines());
        }
        if let (Verdict::Entry { seq, hash }, Some(head)) = (&verdict, outside) {
            seen_outside |= *seq == head.seq && *hash == head.hash;
        }
        on_bytes(walked.end);
        ControlFlow::Continue(())
    })?;

    let head = checker.head();
    let outside_head = match (outside, &head) {
        (None, _) => OutsideHead::None,
        (Some(out), Some((seq, hash))) if out.seq == *seq && out.hash == *hash => {
            OutsideHead::Match
        }
        (Some(_), _) if seen_outside => OutsideHead::Behind,
        (Some(_), _) => OutsideHead::Differs,
    };
    let mut first_bad = checker.fault().cloned();
    if first_bad.is_none()
        && outside_head == OutsideHead::Differs
        && let Some(outside) = outside
    {
        first_bad = Some(missing_end(outside, &checker));
    }
    let (blobs, first_bad) = blobs.finish(first_bad)?;
    Ok(VerifyReport {
        ok: first_bad.is_none(),
        entries: checker.entries(),
        chained: checker.chained(),
        prefix: checker.prefix(),
        bad_lines: checker.bad(),
        first_bad,
        torn_bytes,
        head,
        outside_head,
        blobs,
    })
}

/// The fault of a file that is a chain, but not the one that the outside head belongs to.
fn missing_end(outside: &Head, checker: &Checker) -> Fault {
    let (next, _) = checker.next();
    let (seq, reason) = if outside.seq >= next {
        (next, Reason::Truncated)
    } else {
        // The numbers are all there, so that some entry up to this one was rewritten.
        (outside.seq, Reason::Unlinked)
    };
    Fault {
        seq,
        line: checker.lines() + 1,
        reason,
    }
}
