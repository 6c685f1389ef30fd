//! [`LedgerLook`]: compares the ledger on the disk with what its writer says of it.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::events;
use super::fact::{FileVerdict, Touch};
use crate::store::ledger::{ChainFault, Ledger, Stats};

/// The permission bits that count.
const MODE: u32 = 0o777;

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Inspection {
    /// Sure signs, and new ones.
    pub touches: Vec<Touch>,
    /// It may have been edited in place: only its content tells.
    pub suspect: bool,
}

/// Follows one ledger.
#[derive(Debug)]
pub(super) struct LedgerLook {
    ledger: Ledger,
    path: PathBuf,
    before: Option<LastLook>,
    /// How often others were at it so far.
    others: u64,
    /// The permissions that it had first.
    own_mode: Option<u32>,
    /// What was said already and still holds.
    standing: BTreeSet<Touch>,
    /// How many bytes behind the end a look has told of that the writer has not moved away.
    told_bytes: u64,
    /// The first fault in the content, as far as it is known.
    known_bad: Option<Option<ChainFault>>,
}

/// How it was at the last look.
#[derive(Debug, Clone)]
struct LastLook {
    identity: (u64, u64),
    len: u64,
    mode: u32,
    written: (i64, i64),
    stats: Stats,
}

impl LedgerLook {
    pub(super) fn new(ledger: Ledger) -> Self {
        let mut look = Self {
            path: ledger.path().to_path_buf(),
            before: None,
            others: ledger.touches(),
            own_mode: None,
            ledger,
            standing: BTreeSet::new(),
            told_bytes: 0,
            known_bad: None,
        };
        let stats = look.ledger.stats();
        if stats.chain_ok {
            look.known_bad = Some(None);
        }
        if let Ok(found) = look.path.symlink_metadata() {
            look.is_as(&found, stats);
        }
        look
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Looks once: a `stat` and the writer's figures.
    pub(super) fn look(&mut self, signs: u8) -> Inspection {
        // The writer's figures on both sides of the look: an append of ours that was under way
        // makes the file longer than the one and not longer than the other.
        let earlier = self.ledger.stats();
        let found = self.path.symlink_metadata();
        let later = self.ledger.stats();
        let mut now = BTreeSet::new();
        let mut suspect = false;
        let found = match found {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                now.insert(Touch::Removed);
                return self.news(now, suspect);
            }
            // Who may not look cannot tell.
            Err(_) => return Inspection::default(),
        };
        let Some(before) = self.before.clone() else {
            self.is_as(&found, later);
            return Inspection::default();
        };
        // As above: a file that cannot be looked at is not another one.
        let Ok(is_ledger) = self.ledger.is_in(&found) else {
            return Inspection::default();
        };
        if !found.is_file() || !is_ledger {
            now.insert(Touch::Replaced);
            return self.news(now, suspect);
        }
        // The writer goes on in its copy: said once, whether it did before this look or after one.
        let is_other = (found.dev(), found.ino()) != before.identity;
        if is_other && !self.standing.contains(&Touch::Replaced) {
            now.insert(Touch::Replaced);
        }
        let mode = found.mode() & MODE;
        if self.own_mode != Some(mode) {
            if mode != before.mode {
                // Said once for each change.
                self.standing.remove(&Touch::PermissionsChanged);
            }
            now.insert(Touch::PermissionsChanged);
        }
        if found.len() < earlier.bytes || (before.stats.chain_ok && !later.chain_ok) {
            now.insert(Touch::Truncated);
        }
        // The writer moved bytes of others out of its way: said of those that no look has told of.
        let moved = later
            .foreign_bytes
            .saturating_sub(before.stats.foreign_bytes);
        if moved > self.told_bytes {
            self.standing.remove(&Touch::Appended);
            now.insert(Touch::Appended);
        }
        self.told_bytes = self.told_bytes.saturating_sub(moved);
        // One of ours that fails closes the file as well: the writer opens it again.
        let closed = signs & events::CLOSED != 0;
        let ours = later.bytes + later.ahead.max(earlier.ahead);
        if closed && found.len() > ours {
            now.insert(Touch::Appended);
            // What comes behind bytes that were told of and still stand there is told once it is moved.
            if !self.standing.contains(&Touch::Appended) {
                // It may have stood there before the writer moved it away, and its figures are later
                // ones.
                self.told_bytes = (found.len() - ours).saturating_sub(moved);
            }
        }
        // Another hand took them away. The writer counts what it moved only after it has cut the
        // file: at one look alone that is the same.
        if found.len() <= earlier.bytes && before.len <= before.stats.bytes {
            self.told_bytes = 0;
        }
        // Written to, and not by us: somebody closed it, or it did not grow.
        let written = (found.mtime(), found.mtime_nsec());
        let grew = later.bytes != before.stats.bytes || found.len() > later.bytes;
        suspect |= closed || (!grew && written != before.written);
        // Nor does it hide what others did that we write meanwhile.
        let others = self.ledger.touches();
        suspect |= std::mem::replace(&mut self.others, others) < others;
        self.is_as(&found, later);
        self.news(now, suspect)
    }

    /// So it was at this look.
    fn is_as(&mut self, found: &Metadata, stats: Stats) {
        let look = LastLook::new(found, stats);
        self.own_mode.get_or_insert(look.mode);
        self.before = Some(look);
    }

    /// Whether the file with the ledger's name is the ledger, as far as the last look tells.
    pub(super) fn is_in_place(&self) -> bool {
        let lost = [Touch::Removed, Touch::Replaced, Touch::Truncated];
        !lost.iter().any(|touch| self.standing.contains(touch))
    }

    /// Whether nothing that was said still holds, as far as the last look tells.
    pub(super) fn is_untouched(&self) -> bool {
        self.standing.is_empty()
    }

    fn news(&mut self, now: BTreeSet<Touch>, mut suspect: bool) -> Inspection {
        let touches = now.difference(&self.standing).copied().collect();
        // What was taken away is back: only its content tells whether all of it is.
        suspect |= !self.standing.is_subset(&now);
        self.standing = now;
        Inspection { touches, suspect }
    }

    /// Takes in what the content tells; returns whether something is wrong now that was not wrong
    /// before.
    pub(super) fn is_worse(&mut self, verdict: &FileVerdict) -> bool {
        let FileVerdict::Report(report) = verdict else {
            return false;
        };
        let known = self.known_bad.replace(report.first_bad.clone());
        match known {
            Some(known) => report.first_bad.is_some() && report.first_bad != known,
            // It was broken when it was opened, and this is the first time that it is said where.
            None => false,
        }
    }
}

impl LastLook {
    fn new(found: &Metadata, stats: Stats) -> Self {
        Self {
            identity: (found.dev(), found.ino()),
            len: found.len(),
            mode: found.mode() & MODE,
            written: (found.mtime(), found.mtime_nsec()),
            stats,
        }
    }
}
