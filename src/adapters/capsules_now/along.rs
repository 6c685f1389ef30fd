//! [`Along`]: what a capsule takes along besides what was said: changes that no commit has, and what
//! gates printed.

use std::collections::BTreeMap;
use std::io;

use super::CapsulesNow;
use crate::core::capsule::{
    Capsule, CapsuleLeftOut, CapsuleMask, CapsuleOutput, CapsulePatch, patch_files,
};
use crate::core::redact::mark_names;
use crate::wire::capsule::{OUTPUTS_BYTES_MAX, PATCH_BYTES_MAX};

/// The longest patch, in bytes: as base64 it has room in [`PATCH_BYTES_MAX`].
const PATCH_MAX: usize = PATCH_BYTES_MAX / 4 * 3 - 2;

/// How many files are named that were left out.
const NAMED_MAX: usize = 50;

/// The longest name of such a file, in bytes.
const NAME_BYTES_MAX: usize = 200;

/// What somebody asked to go along.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Along {
    /// The tracked files that differ from the commit, as a patch.
    pub patch: bool,
    /// What the latest run of each gate printed, as the record has it.
    pub outputs: bool,
}

impl CapsulesNow {
    /// Puts that into a capsule which has no budget yet. A file in which anything would be masked
    /// is left out and named.
    pub(super) fn take_along(
        &self,
        capsule: &mut Capsule,
        mask: &CapsuleMask<'_>,
        along: Along,
    ) -> io::Result<()> {
        if along.patch {
            self.take_patch(capsule, mask);
        }
        if along.outputs {
            self.take_outputs(capsule, mask)?;
        }
        Ok(())
    }

    fn take_patch(&self, capsule: &mut Capsule, mask: &CapsuleMask<'_>) {
        let Some(git) = self.git().filter(|git| git.stand().is_some()) else {
            return;
        };
        let git = git.anchor();
        let (mut patch, mut named, mut left) = (Vec::new(), Vec::new(), 0);
        let told = git.tracked_changes(|change| {
            let Some(content) = change.content else {
                left += 1;
                return;
            };
            let [before, after] = &content.sides;
            let is_masked = mask.masks(&change.path)
                || [before, after, &content.diff]
                    .iter()
                    .any(|bytes| mask.masks(&String::from_utf8_lossy(bytes)));
            if is_masked {
                match named.len() < NAMED_MAX && change.path.len() <= NAME_BYTES_MAX {
                    true => named.push(change.path),
                    false => left += 1,
                }
            } else if patch.len() + content.diff.len() <= PATCH_MAX
                && patch_files(&content.diff).is_ok()
            {
                patch.extend(content.diff);
            } else {
                left += 1;
            }
        });
        if told.is_none() {
            left += 1;
        }
        capsule.redaction.files = named;
        if let Some(base) = git.commit().filter(|_| !patch.is_empty()) {
            capsule.patch = Some(CapsulePatch::new(base.to_owned(), &patch));
        }
        count(capsule, "patch", left, "git diff HEAD");
    }

    fn take_outputs(&self, capsule: &mut Capsule, mask: &CapsuleMask<'_>) -> io::Result<()> {
        let (mut room, mut left) = (OUTPUTS_BYTES_MAX, 0);
        for gate in self.world.gates.values() {
            let stored = (self.read)(gate.seq)?.filter(|stored| stored.entry.id == gate.id);
            let Some(stored) = stored else {
                left += 1;
                continue;
            };
            let masked = |text: &str| mask.masked(text).unwrap_or_else(|| text.to_owned());
            let output = masked(&stored.entry.content);
            let output = CapsuleOutput::new(masked(&gate.run.gate), &output);
            match room.checked_sub(output.data.len()) {
                Some(rest) => {
                    room = rest;
                    capsule.outputs.push(output);
                }
                None => left += 1,
            }
        }
        count(capsule, "outputs", left, "ctxrelay gates");
        Ok(())
    }
}

/// Adds the marks in what gates printed to the report of them.
pub(super) fn count_marks(capsule: &mut Capsule) {
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    for bytes in capsule.outputs.iter().filter_map(CapsuleOutput::bytes) {
        for name in mark_names(&String::from_utf8_lossy(&bytes)) {
            *found.entry(name.to_owned()).or_default() += 1;
        }
    }
    for (name, count) in found {
        *capsule.redaction.rules.entry(name).or_default() += count;
    }
}

fn count(capsule: &mut Capsule, what: &str, count: u64, how: &str) {
    if count > 0 {
        capsule.left_out.push(CapsuleLeftOut {
            what: what.to_owned(),
            count,
            how: how.to_owned(),
            more: serde_json::Map::new(),
        });
    }
}
