//! [`Checker`]: follows the chain from line to line and reports what is wrong with each.
//!
//! Pure: opening and verifying feed it the same lines and draw their own conclusions.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

use ctxrelay_core::entry::EntryKind;
use ctxrelay_core::hex::hex;
use ctxrelay_core::wire::line::{BadLine, ChainLink, GENESIS, parse};

/// A fault in a chained ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainFault {
    /// The first entry that differs from what was written.
    pub seq: u64,
    /// The physical line where it shows, counted from 1.
    pub line: u64,
    /// What happened there.
    pub reason: Reason,
}

/// What happened to a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reason {
    /// The entry's text does not match its hash.
    Edited,
    /// The entry does not continue the one before it: one of the two was rewritten together with
    /// its hash.
    Unlinked,
    /// Entries are missing.
    Missing,
    /// A line is here that was not written here.
    Inserted,
    /// Entries are in another order.
    Swapped,
    /// The end is missing: the head kept outside the project is ahead of the file.
    Truncated,
    /// No entry where there was one.
    NotAnEntry,
    /// The unchained part, written by an older version, was changed after the chain began.
    PrefixChanged,
    /// The entry is unchanged, but the long text that it names is missing.
    BlobMissing,
    /// The entry is unchanged, but the file of its long text contains something else.
    BlobAltered,
}

impl Reason {
    /// The word in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Edited => "edited",
            Self::Unlinked => "unlinked",
            Self::Missing => "missing",
            Self::Inserted => "inserted",
            Self::Swapped => "swapped",
            Self::Truncated => "truncated",
            Self::NotAnEntry => "not-an-entry",
            Self::PrefixChanged => "prefix-changed",
            Self::BlobMissing => "blob-missing",
            Self::BlobAltered => "blob-altered",
        }
    }
}

#[derive(Debug)]
pub(super) enum LineVerdict {
    /// An entry of the record, also one whose link is broken.
    Entry {
        /// Its place in this file.
        seq: u64,
        /// The hash on it; empty in an unchained prefix.
        hash: String,
    },
    /// Not part of the record.
    Bad(String),
}

/// The current end of the chain.
#[derive(Debug, Clone)]
enum Tip {
    /// No chained line yet; the digest of all bytes so far.
    Prefix(Sha256),
    /// The last chained line.
    At { seq: u64, hash: String },
}

impl Serialize for Tip {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::At { seq, hash } => (seq, hash).serialize(to),
            Self::Prefix(_) => Err(serde::ser::Error::custom(
                "a digest that is not finished cannot be kept",
            )),
        }
    }
}

impl<'de> Deserialize<'de> for Tip {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let (seq, hash) = Deserialize::deserialize(from)?;
        Ok(Self::At { seq, hash })
    }
}

/// Checks a ledger line by line. Can be stored once the chain has begun.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Checker {
    tip: Tip,
    /// Physical lines so far.
    lines: u64,
    /// Lines before the first chained one.
    prefix: u64,
    /// The first line of the prefix that is not an entry.
    prefix_bad: Option<u64>,
    /// Entries on chained lines.
    chained: u64,
    entries: u64,
    bad: u64,
    fault: Option<ChainFault>,
    /// The numbers that are skipped at the fault.
    gap: std::ops::Range<u64>,
    /// From this entry on, each is intact and continues the previous one: the last one vouches for
    /// them, and for nothing earlier.
    linked_from: u64,
}

impl Checker {
    pub(super) fn new() -> Self {
        Self {
            tip: Tip::Prefix(Sha256::new()),
            lines: 0,
            prefix: 0,
            prefix_bad: None,
            chained: 0,
            entries: 0,
            bad: 0,
            fault: None,
            gap: 0..0,
            linked_from: 0,
        }
    }

    /// The first entry that the last one vouches for by its hash. The lines before the chain are
    /// vouched for by its first entry, which is number 1 here then.
    pub(super) fn linked_from(&self) -> u64 {
        self.linked_from
    }

    /// The digest of all bytes so far, for as long as there is no chain. The caller puts the
    /// next line's bytes in and hands it to [`Self::line`]: only the line itself tells whether it
    /// still belongs to the prefix.
    pub(super) fn digest(&self) -> Option<Sha256> {
        match &self.tip {
            Tip::Prefix(digest) => Some(digest.clone()),
            Tip::At { .. } => None,
        }
    }

    /// Judges the next line by what is said of its link: `Err` when it is no entry, `None` when
    /// it has no place in a chain. `is_intact` says whether its bytes give the hash on it. `text`
    /// is needed for lines with a link only; `after` is the digest with this line's bytes in it,
    /// needed while there is no chain.
    pub(super) fn line(
        &mut self,
        text: &[u8],
        link: Result<Option<ChainLink>, BadLine>,
        is_intact: bool,
        after: Option<Sha256>,
    ) -> LineVerdict {
        self.lines += 1;
        let verdict = match (&self.tip, link) {
            (Tip::Prefix(_), Ok(None)) => {
                self.stay_in_prefix(after);
                LineVerdict::Entry {
                    seq: self.lines,
                    hash: String::new(),
                }
            }
            (Tip::Prefix(_), Err(bad)) => {
                self.prefix_bad.get_or_insert(self.lines);
                self.stay_in_prefix(after);
                LineVerdict::Bad(bad.to_string())
            }
            (Tip::Prefix(digest), Ok(Some(link))) => {
                let prefix = hex(&digest.clone().finalize());
                self.begin(text, link, is_intact, &prefix)
            }
            (Tip::At { seq, .. }, Ok(None)) => {
                let expected = seq + 1;
                self.report(expected, Reason::Inserted);
                LineVerdict::Bad("an entry without a place in the chain".to_owned())
            }
            (Tip::At { seq, .. }, Err(bad)) => {
                let expected = seq + 1;
                self.report(expected, Reason::NotAnEntry);
                LineVerdict::Bad(bad.to_string())
            }
            (Tip::At { seq, hash }, Ok(Some(link))) => {
                let (expected, prev) = (seq + 1, hash.clone());
                self.go_on(link, is_intact, expected, &prev)
            }
        };
        match &verdict {
            LineVerdict::Entry { hash, .. } => {
                self.entries += 1;
                self.chained += u64::from(!hash.is_empty());
            }
            LineVerdict::Bad(_) => self.bad += 1,
        }
        verdict
    }

    fn stay_in_prefix(&mut self, after: Option<Sha256>) {
        self.prefix += 1;
        if let Some(digest) = after {
            self.tip = Tip::Prefix(digest);
        }
    }

    fn begin(&mut self, line: &[u8], link: ChainLink, intact: bool, prefix: &str) -> LineVerdict {
        let expected = self.prefix + 1;
        let follows = if self.prefix == 0 {
            link.prev == GENESIS || names_predecessor(line, &link.prev)
        } else {
            link.prev == prefix
        };
        if !intact {
            self.report(expected, Reason::Edited);
        } else if let (false, Some(bad)) = (follows, self.prefix_bad) {
            // A line before the chain is no entry, and the chain did not grow from it as it is:
            // it was an entry, or the end of the prefix, when the chain began.
            self.report(bad, Reason::NotAnEntry);
        } else if link.seq > expected {
            self.report(expected, Reason::Missing);
            self.gap = expected..link.seq;
        } else if link.seq < expected {
            // The chain says that it began earlier: what stands before it was put there, or was
            // an entry of the chain and is none any more.
            self.report(link.seq, Reason::PrefixChanged);
        } else if !follows {
            let reason = if self.prefix == 0 {
                Reason::Unlinked
            } else {
                Reason::PrefixChanged
            };
            self.report(1, reason);
        }
        let seq = if intact {
            link.seq.max(expected)
        } else {
            expected
        };
        let is_first = intact && follows && link.seq == expected;
        self.linked_from = if is_first {
            1
        } else {
            seq + u64::from(!intact)
        };
        self.accept(seq, link.hash)
    }

    fn go_on(&mut self, link: ChainLink, intact: bool, expected: u64, prev: &str) -> LineVerdict {
        if !intact {
            // Nothing on it can be trusted, so it is taken for the entry whose place it has.
            self.report(expected, Reason::Edited);
            // The chain starts again at the next one.
            self.linked_from = expected + 1;
            return self.accept(expected, link.hash);
        }
        if link.prev == prev {
            // It follows by its hash, and that is what counts: the numbers of a whole chain are
            // off when somebody put a line before its first one.
            if link.seq != expected {
                self.report(expected, Reason::Unlinked);
            }
            return self.accept(expected, link.hash);
        }
        if link.seq == expected {
            self.linked_from = expected;
            self.report(expected, Reason::Unlinked);
            return self.accept(expected, link.hash);
        }
        if link.seq > expected {
            if self.fault.is_none() {
                self.gap = expected..link.seq;
            }
            self.report(expected, Reason::Missing);
            self.linked_from = link.seq;
            return self.accept(link.seq, link.hash);
        }
        if self.gap.contains(&link.seq)
            && let Some(fault) = &mut self.fault
            && fault.reason == Reason::Missing
        {
            fault.reason = Reason::Swapped;
        }
        self.report(expected, Reason::Inserted);
        LineVerdict::Bad(format!("entry {} again, or too late", link.seq))
    }

    fn accept(&mut self, seq: u64, hash: String) -> LineVerdict {
        if u32::try_from(seq).is_err() {
            // A number that only a forger writes. Going on from it would leave no room.
            return LineVerdict::Bad(format!("entry number {seq} is out of range"));
        }
        self.tip = Tip::At {
            seq,
            hash: hash.clone(),
        };
        LineVerdict::Entry { seq, hash }
    }

    /// Takes in a line that our own writer put there.
    pub(super) fn grow(&mut self, seq: u64, hash: &str) {
        self.lines += 1;
        self.entries += 1;
        self.chained += 1;
        self.tip = Tip::At {
            seq,
            hash: hash.to_owned(),
        };
    }

    /// How it stood so many lines of our own writer ago, at this entry.
    pub(super) fn before(&self, lines: u64, seq: u64, hash: &str) -> Self {
        Self {
            tip: Tip::At {
                seq,
                hash: hash.to_owned(),
            },
            lines: self.lines - lines,
            entries: self.entries - lines,
            chained: self.chained - lines,
            ..self.clone()
        }
    }

    fn report(&mut self, seq: u64, reason: Reason) {
        let line = self.lines;
        self.fault.get_or_insert(ChainFault { seq, line, reason });
    }

    /// The last chained entry.
    pub(super) fn head(&self) -> Option<(u64, String)> {
        match &self.tip {
            Tip::Prefix(_) => None,
            Tip::At { seq, hash } => Some((*seq, hash.clone())),
        }
    }

    /// The next number and what its `prev` has to be; no `prev` in an empty file, where it is
    /// the caller's to say.
    pub(super) fn next(&self) -> (u64, Option<String>) {
        match &self.tip {
            Tip::At { seq, hash } => (seq + 1, Some(hash.clone())),
            Tip::Prefix(_) if self.lines == 0 => (1, None),
            Tip::Prefix(digest) => (self.lines + 1, Some(hex(&digest.clone().finalize()))),
        }
    }

    pub(super) fn fault(&self) -> Option<&ChainFault> {
        self.fault.as_ref()
    }

    pub(super) fn entries(&self) -> u64 {
        self.entries
    }

    pub(super) fn chained(&self) -> u64 {
        self.chained
    }

    pub(super) fn prefix(&self) -> u64 {
        self.prefix
    }

    pub(super) fn bad(&self) -> u64 {
        self.bad
    }

    pub(super) fn lines(&self) -> u64 {
        self.lines
    }
}

/// Whether the first entry of a session says itself that it follows the ledger with this head.
fn names_predecessor(line: &[u8], head: &str) -> bool {
    parse(line).is_ok_and(|parsed| {
        matches!(
            parsed.entry.kind,
            EntryKind::SessionStarted { predecessor: Some(before) } if before.head == head
        )
    })
}
