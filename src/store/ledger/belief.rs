//! [`Border`]: up to where a ledger is believed.
//!
//! The chain has no key: anybody who can write to the project can extend it. So the border is the
//! head that is kept outside the project. After the head of an orderly end there can be nothing of
//! ours. After the head of a crash there may be entries of the last second, but none that speaks
//! for the operator, whose word is acknowledged only once the head outside covers it. What the head
//! vouches for by its hash is believed entirely; of anything else, nothing that speaks for the
//! operator is believed.

use std::path::Path;

use crate::head::{Head, Kept};
use ctxrelay_core::agent::Party;
use ctxrelay_core::alarm::Alarm;
use ctxrelay_core::entry::Entry;
use ctxrelay_core::id::{Seq, SessionId};
use ctxrelay_core::wire::line::parse;
use sha2::Digest as _;

use super::check::{Checker, LineVerdict};
use super::walk::{Linked, Walked};

/// The position up to which a ledger is believed.
#[derive(Debug, Clone)]
pub struct Border {
    /// Hashes of our entries, as kept outside, oldest first. An empty one is the beginning of the
    /// file.
    marks: Vec<String>,
    /// The last of them, if the file has to contain it.
    head: Option<Head>,
    clean: bool,
    foreign_through: u64,
}

impl Border {
    /// Of the ledger of a session, at `path`. `kept` is what is kept of its project, and `is_known` whether
    /// the project lies where it was registered. Where it does not, all that is there is somebody
    /// else's word, also what it continues.
    pub fn new(kept: Option<&Kept>, session: &SessionId, is_known: bool, path: &Path) -> Self {
        let kept = kept.filter(|kept| kept.head.session_id == *session);
        let Some(kept) = kept.map(|kept| kept.clone().met_in(path)) else {
            return Self {
                marks: Vec::new(),
                head: None,
                clean: false,
                foreign_through: u64::MAX,
            };
        };
        let earlier = kept.anchors.iter().filter(|(seq, _)| *seq < kept.head.seq);
        let mut marks: Vec<_> = earlier.map(|(_, hash)| hash.clone()).collect();
        marks.push(kept.head.hash.clone());
        Self {
            marks,
            head: Some(kept.head.clone()),
            clean: kept.clean,
            foreign_through: if is_known {
                kept.foreign_through
            } else {
                u64::MAX
            },
        }
    }

    /// The head that the file has to have.
    pub(super) fn head(&self) -> Option<&Head> {
        self.head.as_ref().filter(|head| head.seq > 0)
    }

    pub(super) fn foreign_through(&self) -> Seq {
        Seq(self.foreign_through)
    }

    /// The border of a file without the head, which has this mark: as after a crash. Without a
    /// mark nothing in it is vouched for.
    fn without_head(&self, mark: Option<usize>) -> Self {
        Self {
            marks: mark.map_or_else(Vec::new, |mark| self.marks[..=mark].to_vec()),
            head: None,
            clean: false,
            foreign_through: mark.map_or(u64::MAX, |_| self.foreign_through),
        }
    }

    /// The same, of a file whose head vouches for nothing up to this entry.
    fn foreign_up_to(&self, seq: u64) -> Self {
        Self {
            foreign_through: self.foreign_through.max(seq),
            ..self.clone()
        }
    }
}

/// Follows a ledger line by line, from its beginning or from the position of the head.
#[derive(Debug)]
pub(super) struct Belief<'a> {
    border: Option<&'a Border>,
    /// The last of the marks that is in the file.
    found: Option<usize>,
    /// The entry from which on the last mark vouches.
    linked_from: u64,
}

/// What a line means for the record.
#[derive(Debug)]
pub(super) enum JudgedLine {
    Entry {
        /// Its place in this file.
        seq: u64,
        /// The hash on it; empty in an unchained prefix.
        hash: String,
    },
    /// Not an entry, with the reason.
    Bad(String),
    /// The last line, if it was not written to its end.
    Torn,
    /// Not ours, and neither is anything after it.
    Foreign,
}

/// What to do about a file that was read to its end.
#[derive(Debug)]
pub(super) enum Judgement {
    /// The file is correct up to where it is believed.
    Stands,
    /// Read the file again, with this border.
    Again(Border),
}

impl<'a> Belief<'a> {
    pub(super) fn new(border: Option<&'a Border>) -> Self {
        let begins =
            border.is_some_and(|border| border.marks.first().is_some_and(String::is_empty));
        Self {
            border,
            found: begins.then_some(0),
            linked_from: 0,
        }
    }

    /// Begins where the head is still to come, and what was read before is ours.
    pub(super) fn ahead(border: &'a Border) -> Self {
        Self {
            border: Some(border),
            found: None,
            linked_from: 0,
        }
    }

    /// Begins behind the head, up to which everything was read before.
    pub(super) fn behind(border: &'a Border, checker: &Checker) -> Self {
        Self {
            border: Some(border),
            found: border.marks.len().checked_sub(1),
            linked_from: checker.linked_from(),
        }
    }

    /// Whether the last mark was passed.
    fn is_behind(&self) -> bool {
        let marks = self.border.map_or(0, |border| border.marks.len());
        marks > 0 && self.found == Some(marks - 1)
    }

    /// Whether nothing of ours can come any more, whatever it is.
    fn is_over(&self) -> bool {
        self.is_behind() && self.border.is_some_and(|border| border.clean)
    }

    /// Takes in the next line of the file. The checker does not learn of one that is torn or not
    /// ours. Gives back the entry too, where it was read.
    pub(super) fn line<T: Linked>(
        &mut self,
        checker: &mut Checker,
        walked: Walked<'_, T>,
    ) -> (JudgedLine, Option<Entry>) {
        if self.is_over() {
            return (JudgedLine::Foreign, None);
        }
        let Walked { text, complete, .. } = walked;
        let (mut after, is_intact) = (walked.after, walked.made.is_intact);
        let (entry, link) = walked.made.split();
        if let (Some(digest), false) = (&mut after, complete) {
            digest.update(b"\n");
        }
        let linked_from = checker.linked_from();
        let before = (!complete || self.is_behind()).then(|| checker.clone());
        let verdict = checker.line(text, link, is_intact, after);
        if let Some(before) = before {
            // The last line, without its newline, is taken only if nothing of it is missing.
            let is_bad = matches!(verdict, LineVerdict::Bad(_));
            let is_torn = !complete && (is_bad || checker.fault() != before.fault());
            let links = (linked_from, checker.linked_from());
            if is_torn || self.is_foreign(links, &verdict, entry.as_ref(), text) {
                *checker = before;
                let judged = if is_torn {
                    JudgedLine::Torn
                } else {
                    JudgedLine::Foreign
                };
                return (judged, None);
            }
        }
        match verdict {
            LineVerdict::Bad(why) => (JudgedLine::Bad(why), None),
            LineVerdict::Entry { seq, hash } => {
                self.passed((seq, &hash), checker);
                (JudgedLine::Entry { seq, hash }, entry)
            }
        }
    }

    /// Whether a line is not ours, and with it all that follows. `before` and `after`: from where
    /// on the chain was and is linked. `entry` is read from `text` where only the link was.
    fn is_foreign(
        &self,
        (before, after): (u64, u64),
        verdict: &LineVerdict,
        entry: Option<&Entry>,
        text: &[u8],
    ) -> bool {
        if !self.is_behind() {
            return false;
        }
        let read = entry.is_none().then(|| parse(text).ok()).flatten();
        let entry = entry.or(read.as_ref().map(|parsed| &parsed.entry));
        let is_linked = match verdict {
            LineVerdict::Bad(_) => false,
            // It continues the one before it, and starts no second chain.
            LineVerdict::Entry { hash, .. } => {
                let is_first = before == 0 && after == 1;
                !hash.is_empty() && (is_first || before == after)
            }
        };
        // Nobody of ours writes in another name.
        let is_ours = entry.is_some_and(|entry| {
            !entry.is_of_operator() && !matches!(entry.source, Party::Other(_))
        });
        !is_linked || !is_ours
    }

    /// Takes note of an entry that is read.
    fn passed(&mut self, (seq, hash): (u64, &str), checker: &Checker) {
        let Some(border) = self.border.filter(|_| !self.is_behind()) else {
            return;
        };
        // A hash on a line that does not give it is a claim.
        if checker.linked_from() > seq {
            return;
        }
        let ahead = self.found.map_or(0, |found| found + 1);
        if let Some(at) = border.marks[ahead..].iter().position(|mark| mark == hash) {
            self.found = Some(ahead + at);
            self.linked_from = checker.linked_from();
        }
    }

    /// What follows for the whole file.
    pub(super) fn judge(&self) -> Judgement {
        let Some(border) = self.border else {
            return Judgement::Stands;
        };
        if border.marks.is_empty() {
            return Judgement::Stands;
        }
        if !self.is_behind() {
            return Judgement::Again(border.without_head(self.found));
        }
        let unvouched = self.linked_from.saturating_sub(1);
        if unvouched > border.foreign_through {
            return Judgement::Again(border.foreign_up_to(unvouched));
        }
        Judgement::Stands
    }
}

/// The alarm about a file that lacks its head.
pub(super) fn lost(head: &Head) -> Alarm {
    Alarm::RecordCut {
        seq: head.seq,
        sha256: head.hash.clone(),
    }
}
