//! [`verify`]: reads a ledger once and says whether it is as it was written.
//!
//! The chain is not keyed: a file that was rewritten from some entry to its end, hashes included,
//! can only be detected with a head that was kept elsewhere.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use crate::dirs::open_private;
use crate::head::{Head, Kept};
use ctxrelay_core::alarm::{Alarm, acknowledged_by};
use ctxrelay_core::entry::Entry;
use ctxrelay_core::id::{EntryId, Seq, SessionId};
use ctxrelay_core::wire::line::{parse, parse_link};
use ctxrelay_core::word::words;

use super::aside::measure;
use super::belief::{Belief, Border, JudgedLine};
use super::check::{ChainFault, Checker, Reason};
use super::lines::Lines;
use super::verify_blobs::{BlobCheck, BlobReport};
use super::verify_signing::{SignedEntry, SigningCheck};
use super::walk::walk;

/// The findings of [`verify`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifyReport {
    /// Nothing is wrong.
    pub ok: bool,
    /// Entries of the record.
    pub entries: u64,
    /// The chained ones among them.
    pub chained: u64,
    /// Lines of an older, unchained ledger at the beginning. All that is known of them is that they
    /// have not changed since the chain began.
    pub prefix: u64,
    /// Lines that are no entries.
    pub bad_lines: u64,
    /// The first fault.
    pub first_bad: Option<ChainFault>,
    /// The chain is intact, whatever else is wrong.
    pub is_whole: bool,
    /// Bytes of a last line that was not written to its end: the trace of a crash or of a write
    /// under way, and no tampering.
    pub torn_bytes: u64,
    /// The last chained entry and its hash.
    pub head: Option<(u64, String)>,
    /// How the head kept outside the project compares.
    pub outside_head: OutsideHead,
    /// The long texts kept beside it.
    pub blobs: BlobReport,
    /// What somebody else did to it: what the record already mentions, and what it does not yet.
    pub alarms: Vec<AlarmReport>,
    /// The decisions that are signed, oldest first.
    pub signed: Vec<SignedEntry>,
}

/// An alarm, also about lines that still stand in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlarmReport {
    /// Its entry; `None` while the record does not mention it.
    pub id: Option<EntryId>,
    /// What was done. For lines that are still in the file, it names the file itself.
    pub alarm: Alarm,
    /// The operator has acknowledged it.
    pub acknowledged: bool,
}

impl VerifyReport {
    /// Whether there are lines in the file that are not believed and not moved away yet.
    pub fn has_foreign_lines(&self) -> bool {
        let waiting = |alarm: &AlarmReport| alarm.id.is_none();
        let mut waiting = self.alarms.iter().filter(|alarm| waiting(alarm));
        waiting.any(|report| matches!(report.alarm, Alarm::ForeignLines { .. }))
    }
}

words! {
    /// How the head kept outside the project compares with the file, as a word in reports.
    pub closed enum OutsideHead {
        /// It is the file's last entry.
        Match = "match",
        /// It is an earlier entry: it is written at most once a second.
        Behind = "behind",
        /// The file does not have it: the file was cut or rewritten.
        Differs = "differs",
        /// There is none, or it is another session's.
        None = "none",
    }
}

/// Reads a ledger from its beginning to its end, in bounded memory.
///
/// # Errors
///
/// When the file cannot be read. What is wrong in it is no error but in the report.
pub fn verify(path: &Path, outside: Option<&Kept>) -> io::Result<VerifyReport> {
    verify_with(path, outside, |_, _| {})
}

/// As [`verify`]; says after each line how many bytes are checked, and of an entry its number and its
/// line.
///
/// # Errors
///
/// As [`verify`].
pub fn verify_with(
    path: &Path,
    outside: Option<&Kept>,
    on_line: impl FnMut(u64, Option<(Seq, &[u8])>),
) -> io::Result<VerifyReport> {
    let blobs = Some(BlobCheck::new(path));
    verify_file(&open_private(path)?, path, outside, blobs, on_line)
}

/// As [`verify_with`], of a sealed session whose file is open at its beginning, and lay at `path` then:
/// of its chain alone. What lies under the name of a long text is held against its hash where it is
/// read.
///
/// # Errors
///
/// As [`verify`].
pub fn verify_chain(
    file: &File,
    path: &Path,
    on_line: impl FnMut(u64, Option<(Seq, &[u8])>),
) -> io::Result<VerifyReport> {
    verify_file(file, path, None, None, on_line)
}

fn verify_file(
    file: &File,
    path: &Path,
    outside: Option<&Kept>,
    mut blobs: Option<BlobCheck>,
    mut on_line: impl FnMut(u64, Option<(Seq, &[u8])>),
) -> io::Result<VerifyReport> {
    let session = path.file_stem().and_then(|stem| stem.to_str());
    let kept = outside.filter(|kept| session == Some(kept.head.session_id.as_str()));
    let kept = kept.map(|kept| kept.clone().met_in(path));
    let kept = kept.as_ref();
    let outside = kept.map(|kept| &kept.head);
    let border = kept.map(|kept| {
        let session: &SessionId = &kept.head.session_id;
        Border::new(Some(kept), session, true, path)
    });
    let mut belief = Belief::new(border.as_ref());
    let lines = Lines::new(file, 0);
    let mut checker = Checker::new();
    let mut alarms = Alarms::new(kept);
    let mut signing = SigningCheck::default();
    let mut torn_bytes = 0;
    let mut seen_outside = outside.is_some_and(|head| head.seq == 0);
    let mut foreign_from = None;
    walk(lines, &mut checker, parse_link, |checker, walked| {
        let (offset, end, text) = (walked.offset, walked.end, walked.text);
        let (judged, _) = belief.line(checker, walked);
        let mut entry = None;
        match judged {
            JudgedLine::Foreign => {
                foreign_from = Some(offset);
                return ControlFlow::Break(());
            }
            JudgedLine::Torn => {
                torn_bytes = end - offset;
                return ControlFlow::Continue(());
            }
            JudgedLine::Bad(_) => {}
            JudgedLine::Entry { seq, hash } => {
                if let Some(blobs) = &mut blobs {
                    blobs.line(text, seq, checker.lines());
                }
                alarms.line(text, seq);
                if Seq(seq) > alarms.foreign_through
                    && let Some((id, alarm)) = signing.line(text, seq, &hash)
                {
                    alarms.raised(id, alarm);
                }
                seen_outside |= outside.is_some_and(|head| seq == head.seq && hash == head.hash);
                entry = Some((Seq(seq), text));
            }
        }
        on_line(end, entry);
        ControlFlow::Continue(())
    })?;
    if let Some(offset) = foreign_from {
        let (lines, sha256) = measure(file, offset, |_| Ok(()))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        alarms.standing(Alarm::ForeignLines {
            file: name.into_owned(),
            lines,
            sha256,
        });
    }

    let head = checker.head();
    let outside_head = match (outside, &head) {
        (None, _) => OutsideHead::None,
        (Some(out), Some((seq, hash))) if out.seq == *seq && out.hash == *hash => {
            OutsideHead::Match
        }
        (Some(out), None) if out.seq == 0 => OutsideHead::Match,
        (Some(_), _) if seen_outside => OutsideHead::Behind,
        (Some(_), _) => OutsideHead::Differs,
    };
    let mut first_bad = checker.fault().cloned();
    if foreign_from.is_some() {
        first_bad.get_or_insert(ChainFault {
            seq: checker.next().0,
            line: checker.lines() + 1,
            reason: Reason::Inserted,
        });
    }
    if first_bad.is_none()
        && outside_head == OutsideHead::Differs
        && let Some(outside) = outside
    {
        first_bad = Some(missing_end(outside, &checker));
    }
    let is_whole = first_bad.is_none();
    let (blobs, first_bad) = match blobs {
        Some(blobs) => blobs.finish(first_bad)?,
        None => (BlobReport::default(), first_bad),
    };
    let alarms = alarms.reports;
    Ok(VerifyReport {
        ok: first_bad.is_none() && alarms.iter().all(|alarm| alarm.acknowledged),
        entries: checker.entries(),
        chained: checker.chained(),
        prefix: checker.prefix(),
        bad_lines: checker.bad(),
        first_bad,
        is_whole,
        torn_bytes,
        head,
        outside_head,
        blobs,
        alarms,
        signed: signing.signed,
    })
}

fn entry(text: &[u8]) -> Option<Entry> {
    parse(text).ok().map(|parsed| parsed.entry)
}

/// How the field of an alarm begins on a line: see `verify_blobs`.
const ALARM: &str = "\"alarm\":";

/// Collects alarms, line by line.
struct Alarms {
    reports: Vec<AlarmReport>,
    /// Up to here, no entry counts as the operator's.
    foreign_through: Seq,
}

impl Alarms {
    fn new(kept: Option<&Kept>) -> Self {
        let waiting = kept.into_iter().flat_map(|kept| &kept.alarms);
        let waiting = waiting.map(|alarm| AlarmReport {
            id: None,
            alarm: alarm.clone(),
            acknowledged: false,
        });
        Self {
            reports: waiting.collect(),
            foreign_through: Seq(kept.map_or(0, |kept| kept.foreign_through)),
        }
    }

    fn line(&mut self, text: &[u8], seq: u64) {
        let is_there = std::str::from_utf8(text).is_ok_and(|text| text.contains(ALARM));
        let Some(entry) = is_there.then(|| entry(text)).flatten() else {
            return;
        };
        if let Some(alarm) = Alarm::of(&entry) {
            self.reports
                .retain(|report| report.id.is_some() || report.alarm != alarm);
            self.reports.push(AlarmReport {
                id: Some(entry.id.clone()),
                alarm,
                acknowledged: false,
            });
        }
        if let Some(id) = acknowledged_by(&entry).filter(|_| Seq(seq) > self.foreign_through) {
            for report in &mut self.reports {
                report.acknowledged |= report.id.as_ref() == Some(&id);
            }
        }
    }

    /// An entry that is an alarm by what it lacks.
    fn raised(&mut self, id: EntryId, alarm: Alarm) {
        self.reports.push(AlarmReport {
            id: Some(id),
            alarm,
            acknowledged: false,
        });
    }

    /// Takes lines in that still stand in the file, unless they are copied away already.
    fn standing(&mut self, alarm: Alarm) {
        let digest = |alarm: &Alarm| match alarm {
            Alarm::ForeignLines { sha256, .. } => Some(sha256.clone()),
            _ => None,
        };
        let is_known =
            |report: &AlarmReport| report.id.is_none() && digest(&report.alarm) == digest(&alarm);
        if !self.reports.iter().any(is_known) {
            self.reports.push(AlarmReport {
                id: None,
                alarm,
                acknowledged: false,
            });
        }
    }
}

/// The fault of a file that is a chain, but not the one that the outside head belongs to.
fn missing_end(outside: &Head, checker: &Checker) -> ChainFault {
    let (next, _) = checker.next();
    let (seq, reason) = if outside.seq >= next {
        (next, Reason::Truncated)
    } else {
        // The numbers are all there, so that some entry up to this one was rewritten.
        (outside.seq, Reason::Unlinked)
    };
    ChainFault {
        seq,
        line: checker.lines() + 1,
        reason,
    }
}
