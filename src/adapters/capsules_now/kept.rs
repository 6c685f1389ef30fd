//! What was kept of a task, held against the record: agents can write where it lies. And masked
//! again, by rules that are newer than it.

use std::io;

use super::{CapsuleFault, CapsulesNow, budget, how};
use crate::core::capsule::{
    Capsule, CapsuleMask, CapsuleRun, CapsuleStatement, LineRef, StatementAuthor,
};
use crate::core::entry::Entry;
use crate::core::snapshot::TaskSnapshot;
use crate::wire::capsule::{check_lines, write};

/// A capsule that today's rules mask more in.
#[derive(Debug)]
pub struct Remasked {
    /// The capsule.
    pub capsule: Capsule,
    /// Its bytes, of another digest.
    pub bytes: Vec<u8>,
    /// The names of the rules, as their marks have them.
    pub rules: Vec<String>,
}

impl CapsulesNow {
    /// Whether a kept capsule says of its task just what the record says: all that was said and asked
    /// for it and nothing else, and no run that was not. Where the work tree stood, and what reviews
    /// found by then, the record does not tell.
    ///
    /// # Errors
    ///
    /// When the record cannot be read.
    pub fn tells_of(&self, kept: &Capsule, task: &TaskSnapshot) -> io::Result<bool> {
        let place = self.place();
        let mask = place.mask(&self.redactor);
        let mut told = self.full(task, kept.git.clone(), &Default::default());
        mask.mask(&mut told);
        let mut kept = kept.clone();
        mask.mask(&mut kept);
        // What has no room in the one has none in the other.
        let how = how(&task.id);
        let told = budget(&how).fit(Capsule {
            touched: kept.touched.clone(),
            verification: kept.verification.clone(),
            not_run: kept.not_run.clone(),
            findings: kept.findings.clone(),
            ..told
        });
        let is_same = told.id == kept.id
            && told.title == kept.title
            && told.status == kept.status
            && told.created_at == kept.created_at
            && told.updated_at == kept.updated_at
            && said(&told).eq(said(&kept))
            && asked(&told).eq(asked(&kept));
        Ok(is_same && self.ran_all(&kept, &mask)?)
    }

    /// Whether the record of the session that a kept capsule names has the capsule's head and every
    /// statement and run in it.
    ///
    /// # Errors
    ///
    /// As [`Self::tells_of`].
    pub fn has_all(&self, kept: &Capsule) -> io::Result<bool> {
        let place = self.place();
        let mask = place.mask(&self.redactor);
        let mut kept = kept.clone();
        mask.mask(&mut kept);
        let head = (self.read)(kept.origin.head.seq)?;
        let is_head = head.is_some_and(|head| {
            head.entry.session_id == kept.origin.session
                && head.hash == kept.origin.head.hash
                && head.entry.task().as_ref() == Some(&kept.id)
        });
        if !is_head {
            return Ok(false);
        }
        for (kind, _, said) in kept.stated() {
            let Some(entry) = self.cited(said.line.as_ref())? else {
                return Ok(false);
            };
            let filled = CapsuleStatement::filled(&entry, &kept.id, kind);
            let is_said = filled.is_some_and(|filled| {
                let text = masked(&mask, &filled.text);
                (text, filled.by, filled.at) == (said.text.clone(), said.by.clone(), said.at)
            });
            if !is_said {
                return Ok(false);
            }
        }
        self.ran_all(&kept, &mask)
    }

    /// Whether the record has every run of a masked capsule.
    fn ran_all(&self, kept: &Capsule, mask: &CapsuleMask<'_>) -> io::Result<bool> {
        let tree = kept.git.as_ref().and_then(|git| git.tree.as_deref());
        for run in &kept.verification {
            let Some(entry) = self.cited(run.line.as_ref())? else {
                return Ok(false);
            };
            let is_run = CapsuleRun::filled(&entry, &kept.id, tree).is_some_and(|mut filled| {
                filled.name = masked(mask, &filled.name);
                filled.cmd = filled.cmd.map(|cmd| masked(mask, &cmd));
                run.is_as(filled)
            });
            if !is_run {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The entry of the record that is cited, where it is that one.
    fn cited(&self, line: Option<&LineRef>) -> io::Result<Option<Entry>> {
        let Some(line) = line else {
            return Ok(None);
        };
        let stored = (self.read)(line.seq)?.filter(|stored| {
            stored.entry.session_id == line.session
                && stored.entry.id == line.id
                && stored.hash == line.hash
        });
        Ok(stored.map(|stored| stored.entry))
    }

    /// A kept capsule with what the rules of today mask in it, cited lines left out among them. None
    /// when they mask nothing more.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn remasked(&self, kept: &Capsule) -> Result<Option<Remasked>, CapsuleFault> {
        let place = self.place();
        let mask = place.mask(&self.redactor);
        let mut capsule = kept.clone();
        mask.mask(&mut capsule);
        let lines = capsule.origin.lines.len();
        capsule.origin.lines.retain(|line| {
            let line = serde_json::from_str(line);
            line.is_ok_and(|line| !mask.masks_line(&line))
        });
        let rules = capsule.redaction.rules.clone();
        capsule.redaction.rules.clone_from(&kept.redaction.rules);
        if capsule == *kept {
            return Ok(None);
        }
        let before = |name: &String| kept.redaction.rules.get(name).copied().unwrap_or(0);
        let more = rules.iter().filter(|(name, count)| **count > before(name));
        let named = more.map(|(name, _)| name.clone()).collect();
        capsule.redaction.rules = rules;
        if check_lines(&capsule).is_err() {
            capsule.origin.lines.clear();
        }
        let how = how(&capsule.id);
        let missing = lines - capsule.origin.lines.len();
        budget(&how).count_lines(&mut capsule, missing);
        let (bytes, digest) = write(&capsule)?;
        capsule.digest = digest;
        Ok(Some(Remasked {
            capsule,
            bytes,
            rules: named,
        }))
    }
}

fn masked(mask: &CapsuleMask<'_>, text: &str) -> String {
    mask.masked(text).unwrap_or_else(|| text.to_owned())
}

/// What was said, below which heading, by whom and when, and what came of it.
fn said(capsule: &Capsule) -> impl Iterator<Item = (&str, &str, &StatementAuthor, i64)> {
    let stated = capsule.stated();
    let stated = stated.map(|(kind, _, said)| (kind.as_str(), &*said.text, &said.by, said.at));
    let outcome = capsule.outcome.iter();
    stated.chain(outcome.map(|said| ("outcome", &*said.text, &said.by, said.at)))
}

/// What was handed over, and not how far that is.
fn asked(capsule: &Capsule) -> impl Iterator<Item = (&str, &str, &str, &str)> {
    let handoffs = capsule.handoffs.iter();
    handoffs.map(|it| (it.id.as_str(), &*it.from, &*it.to, &*it.ask))
}
