//! The kept copy of a task: masked again by rules that are newer than it, and whether the record
//! contains what a capsule cites.

use std::io;

use super::along::mask_output;
use super::{CapsuleFault, CapsulesNow};
use crate::adapters::file_digest::FileState;
use crate::core::capsule::{CAPSULE_BUDGET, Capsule};
use crate::wire::capsule::{check_lines, write};
use crate::wire::line::parse;

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
    /// Whether the record itself wrote every line that a capsule cites with its text, and it cites one.
    ///
    /// # Errors
    ///
    /// When the record cannot be read.
    pub fn has_lines(&self, capsule: &Capsule) -> io::Result<bool> {
        for text in &capsule.origin.lines {
            let Ok(line) = parse(text.as_bytes()) else {
                return Ok(false);
            };
            let seq = line.entry.seq;
            let stored = (self.read)(seq)?.filter(|stored| stored.line == *text);
            if stored.is_none() || self.world.is_foreign(seq) {
                return Ok(false);
            }
        }
        Ok(!capsule.origin.lines.is_empty())
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
