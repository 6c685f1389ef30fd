//! What was kept of a task, held against the record: agents can write where it lies. And masked
//! again, by rules that are newer than it.

use std::io;
use std::sync::Arc;

use super::along::mask_output;
use super::masked_elsewhere::KeptWords;
use super::{CapsuleFault, CapsulesNow};
use crate::adapters::file_digest::FileState;
use crate::core::capsule::{
    CAPSULE_BUDGET, Capsule, CapsuleMask, CapsuleOrigin, CapsuleRun, CapsuleSection,
    EARLIER_BUDGET, KeptSays, LineRef,
};
use crate::core::entry::Entry;
use crate::core::id::Seq;
use crate::core::snapshot::{Snapshot, TaskSnapshot};
use crate::wire::capsule::{check_lines, write};
use crate::wire::line::{Stored, parse};

/// A capsule that today's rules mask more in.
#[derive(Debug)]
pub struct Remasked {
    pub capsule: Capsule,
    /// Its bytes, of another digest.
    pub bytes: Vec<u8>,
    /// The names of the rules, as their marks have them.
    pub rules: Vec<String>,
    /// Rules mask something; else only lines with what gates printed are left out.
    pub by_rules: bool,
}

impl CapsulesNow {
    /// Whether a kept capsule says of its task just what the record says: all that was said and asked
    /// for it and nothing else, and no run that was not. Where the work tree stood, how far handoffs
    /// were, and what reviews found by then, the record does not tell.
    ///
    /// # Errors
    ///
    /// When the record cannot be read.
    pub fn tells_of(&self, kept: &Capsule, task: &TaskSnapshot) -> io::Result<KeptSays> {
        let says = self.tells_as_read(kept, task)?;
        if says != KeptSays::Else || !kept.agent_goals.is_empty() {
            return Ok(says);
        }
        // It may have been kept while an agent's goal took the place of the operator's.
        match task.with_one_goal() {
            Some(task) => self.tells_as_read(kept, &task),
            None => Ok(says),
        }
    }

    /// As [`Self::tells_of`], of a task in just this reading.
    fn tells_as_read(&self, kept: &Capsule, task: &TaskSnapshot) -> io::Result<KeptSays> {
        let mask = self.mask();
        let words = self.words(&mask);
        let mut raw = self.full(task, kept.git.clone(), &Default::default());
        if kept.stated().any(|(_, _, said)| said.is_cut()) {
            self.mark_cut(&mut raw)?;
        }
        let mut told = raw.clone();
        mask.mask(&mut told);
        let redaction = kept.redaction.clone();
        let mut kept = kept.clone();
        mask.mask(&mut kept);
        let is_same = told.id == kept.id
            && told.status == kept.status
            && told.created_at == kept.created_at
            && told.updated_at == kept.updated_at
            && told.outcome.is_some() == kept.outcome.is_some();
        if !is_same {
            return Ok(KeptSays::Else);
        }
        let mut says = words.says(&raw.title, &kept.title);
        for (raw, kept) in raw.outcome.iter().zip(&kept.outcome) {
            // Of earlier versions it cites nothing.
            let seq = |line: &LineRef| line.seq;
            let is_cited = kept.line.is_none()
                || self.cited(kept.line.as_ref())?.map(|entry| entry.seq)
                    == raw.line.as_ref().map(seq);
            let is_its = (&raw.by, raw.at) == (&kept.by, kept.at) && is_cited;
            says = says.min(words.says(&raw.text, &kept.text).only(is_its));
        }
        says = says.min(asked(&words, task, &raw, &kept));
        says = says.min(self.ran_all(&kept, &words)?);
        // What has no room in the one has none in the other.
        let full = Capsule {
            touched: kept.touched.clone(),
            verification: kept.verification.clone(),
            not_run: kept.not_run.clone(),
            findings: kept.findings.clone(),
            handoffs: kept.handoffs.clone(),
            origin: CapsuleOrigin {
                lines: Vec::new(),
                ..kept.origin.clone()
            },
            ..told
        };
        let as_then = Capsule {
            redaction,
            ..full.clone()
        };
        let mut best = self.said(&words, &raw, &full, &kept)?;
        for budget in [CAPSULE_BUDGET, EARLIER_BUDGET] {
            for full in [&as_then, &full] {
                if best < KeptSays::Same {
                    let fitted = budget.fit(full.clone());
                    best = best.max(self.said(&words, &raw, &fitted, &kept)?);
                }
            }
        }
        Ok(says.min(best))
    }

    /// Whether a masked capsule has what was said as `told` has it, which `raw` has unmasked.
    fn said(
        &self,
        words: &KeptWords<'_>,
        raw: &Capsule,
        told: &Capsule,
        kept: &Capsule,
    ) -> io::Result<KeptSays> {
        if told.stated().count() != kept.stated().count() {
            return Ok(KeptSays::Else);
        }
        let mut says = KeptSays::Same;
        for ((kind, _, told), (kept_kind, _, kept)) in told.stated().zip(kept.stated()) {
            let is_its =
                kind.as_str() == kept_kind.as_str() && (&told.by, told.at) == (&kept.by, kept.at);
            let mut raw = raw.stated().filter(|(other, ..)| *other == kind);
            let raw = raw.find(|(_, _, raw)| raw.line == told.line);
            let raw = raw.map_or(&told.text, |(_, _, raw)| &raw.text);
            let mut one = words.says(raw, &kept.text).only(is_its);
            if one == KeptSays::Masked {
                // Another text is believed only where it is cited.
                let seq = told.line.as_ref().map(|line| line.seq);
                let is_cited = self.cited(kept.line.as_ref())?.map(|entry| entry.seq) == seq;
                one = one.only(is_cited);
            }
            says = says.min(one);
        }
        Ok(says)
    }

    /// How far a kept capsule says what a session says: all of what it cites, and nothing else of its
    /// task. `lines`: those of a session that is not the record's own.
    ///
    /// # Errors
    ///
    /// As [`Self::tells_of`].
    pub fn holds(
        &self,
        kept: &Capsule,
        task: Option<&TaskSnapshot>,
        lines: Option<impl Fn(Seq) -> Option<Stored> + 'static>,
    ) -> io::Result<KeptSays> {
        let Some(lines) = lines else {
            let says = self.has_all(kept)?;
            return match task.filter(|_| says != KeptSays::Else) {
                Some(task) => Ok(says.min(self.tells_of(kept, task)?)),
                None => Ok(KeptSays::Else),
            };
        };
        let world = Snapshot {
            session_id: Some(kept.origin.session.clone()),
            ..Snapshot::default()
        };
        let session = Self {
            places: self.places.clone(),
            ..Self::new(
                self.root.clone(),
                Arc::new(world),
                Vec::new(),
                Arc::clone(&self.redactor),
                move |seq| Ok(lines(seq)),
            )
        };
        session.holds(kept, task, None::<fn(Seq) -> Option<Stored>>)
    }

    /// Whether the record of the session that a kept capsule names has the capsule's head and every
    /// statement and run in it.
    fn has_all(&self, kept: &Capsule) -> io::Result<KeptSays> {
        let mask = self.mask();
        let words = self.words(&mask);
        let mut kept = kept.clone();
        mask.mask(&mut kept);
        let head = (self.read)(kept.origin.head.seq)?;
        let is_head = head.is_some_and(|head| {
            head.entry.session_id == kept.origin.session
                && head.hash == kept.origin.head.hash
                && head.entry.task().as_ref() == Some(&kept.id)
        });
        let mut says = KeptSays::Same.only(is_head);
        for (kind, _, said) in kept.stated() {
            if says == KeptSays::Else {
                return Ok(says);
            }
            let entry = self.cited(said.line.as_ref())?;
            let filled = entry.and_then(|entry| said.filled_alike(&entry, &kept.id, kind));
            let one = filled.map_or(KeptSays::Else, |filled| {
                let is_its = (&filled.by, filled.at) == (&said.by, said.at);
                words.says(&filled.text, &said.text).only(is_its)
            });
            says = says.min(one);
        }
        Ok(says.min(self.ran_all(&kept, &words)?))
    }

    /// Whether the record itself wrote every line that a capsule cites with its text, and it cites one.
    ///
    /// # Errors
    ///
    /// As [`Self::tells_of`].
    pub fn has_lines(&self, capsule: &Capsule) -> io::Result<bool> {
        for text in &capsule.origin.lines {
            let Ok(line) = parse(text.as_bytes()) else {
                return Ok(false);
            };
            let seq = line.entry.seq;
            let stored = (self.read)(seq)?.filter(|stored| stored.line == *text);
            if stored.is_none() || seq <= self.world.foreign_through {
                return Ok(false);
            }
        }
        Ok(!capsule.origin.lines.is_empty())
    }

    /// Whether the record has every run of a masked capsule.
    fn ran_all(&self, kept: &Capsule, words: &KeptWords<'_>) -> io::Result<KeptSays> {
        let tree = kept.git.as_ref().and_then(|git| git.tree.as_deref());
        let mut says = KeptSays::Same;
        for run in &kept.verification {
            let entry = self.cited(run.line.as_ref())?;
            let filled = entry.and_then(|entry| CapsuleRun::filled(&entry, &kept.id, tree));
            let Some(mut filled) = filled else {
                return Ok(KeptSays::Else);
            };
            says = says.min(words.says(&filled.name, &run.name));
            filled.name.clone_from(&run.name);
            if let (Some(filled), Some(cmd)) = (&mut filled.cmd, &run.cmd) {
                says = says.min(words.says(filled, cmd));
                filled.clone_from(cmd);
            }
            says = says.only(run.is_as(filled));
        }
        Ok(says)
    }

    fn words<'a>(&'a self, mask: &'a CapsuleMask<'a>) -> KeptWords<'a> {
        KeptWords {
            mask,
            redactor: &self.redactor,
        }
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

    /// A capsule with what the rules of today mask in it, cited lines left out among them, and what
    /// gates printed. None when they mask nothing more.
    pub fn masked_texts(&self, kept: &Capsule) -> Option<Capsule> {
        let mask = self.mask();
        let mut capsule = kept.clone();
        mask.mask(&mut capsule);
        for output in &mut capsule.outputs {
            mask_output(output, &mask);
        }
        capsule.origin.lines.retain(|line| {
            let line = serde_json::from_str(line);
            line.is_ok_and(|line| !mask.masks_line(&line))
        });
        let rules = std::mem::replace(&mut capsule.redaction.rules, kept.redaction.rules.clone());
        if capsule == *kept {
            return None;
        }
        capsule.redaction.rules = rules;
        Some(capsule)
    }

    /// As [`Self::masked_texts`], as a file, without the lines that tell what gates printed: earlier
    /// versions cited them whether outputs were asked for or not.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn remasked(&self, kept: &Capsule) -> Result<Option<Remasked>, CapsuleFault> {
        let masked = self.masked_texts(kept);
        let mut by_rules = masked.is_some();
        let mut capsule = masked.unwrap_or_else(|| kept.clone());
        by_rules |= self.mask_digests(&mut capsule);
        if capsule.outputs.is_empty() {
            let lines = &mut capsule.origin.lines;
            lines
                .retain(|line| parse(line.as_bytes()).is_ok_and(|line| !line.entry.tells_output()));
        }
        let lost = kept.origin.lines.len() - capsule.origin.lines.len();
        if !by_rules && lost == 0 {
            return Ok(None);
        }
        let rules = &capsule.redaction.rules;
        let before = |name: &String| kept.redaction.rules.get(name).copied().unwrap_or(0);
        let more = rules.iter().filter(|(name, count)| **count > before(name));
        let named = more.map(|(name, _)| name.clone()).collect();
        if check_lines(&capsule).is_err() {
            capsule.origin.lines.clear();
        }
        let missing = kept.origin.lines.len() - capsule.origin.lines.len();
        CAPSULE_BUDGET.count_lines(&mut capsule, missing);
        let (bytes, digest) = write(&capsule)?;
        capsule.digest = digest;
        Ok(Some(Remasked {
            capsule,
            bytes,
            rules: named,
            by_rules,
        }))
    }
}

impl CapsulesNow {
    /// Takes out the digests of files in which something would be masked today. Of one that is another
    /// file by now nobody can tell what stood in it. Whether there were any.
    fn mask_digests(&self, capsule: &mut Capsule) -> bool {
        let mut has_masked = false;
        for file in &mut capsule.touched {
            let Some(then) = &file.sha256 else { continue };
            let looked = self.look(&file.path);
            if looked.is_masked && looked.state == FileState::Plain(then.clone()) {
                file.sha256 = None;
                (file.unread, file.masked) = (Some(true), Some(true));
                has_masked = true;
            }
        }
        has_masked
    }
}

/// Whether each handoff of a masked capsule was one, however far it is now, and whether all are told
/// or counted as left out. Of one by which the task was told earlier versions have what was told.
fn asked(words: &KeptWords<'_>, task: &TaskSnapshot, raw: &Capsule, kept: &Capsule) -> KeptSays {
    let count = |capsule: &Capsule| {
        let left = capsule.left_out.iter();
        let left = left.filter(|left| left.what == CapsuleSection::Handoffs);
        let there = u64::try_from(capsule.handoffs.len()).unwrap_or(u64::MAX);
        left.fold(there, |all, left| all.saturating_add(left.count))
    };
    let each = kept.handoffs.iter().map(|kept| {
        let raw = raw.handoffs.iter().find(|raw| raw.id == kept.id);
        raw.map_or(KeptSays::Else, |raw| {
            let is_its = (&raw.from, &raw.to) == (&kept.from, &kept.to);
            let mut told = task.handoffs.iter().filter(|told| told.id == kept.id);
            let as_then = told.next().map(|told| words.says(&told.ask, &kept.ask));
            let says = words.says(&raw.ask, &kept.ask);
            says.max(as_then.unwrap_or(says)).only(is_its)
        })
    });
    let each = each.min().unwrap_or(KeptSays::Same);
    each.only(count(raw) == count(kept))
}
