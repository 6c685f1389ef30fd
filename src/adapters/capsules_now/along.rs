//! [`Along`]: what a capsule carries besides what was said: uncommitted changes, and the output of
//! gates.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;

use super::{CapsulesNow, GitNeed};
use crate::adapters::git::anchor::NotInPatch;
use crate::core::capsule::{
    Capsule, CapsuleLeftOut, CapsuleMask, CapsuleOutput, CapsulePatch, CapsuleRedaction,
    CapsuleSection, patch_files,
};
use crate::core::id::EntryId;
use crate::core::redact::mark_names;
use crate::wire::capsule::{OUTPUTS_BYTES_MAX, PATCH_BYTES_MAX};

/// The longest patch, in bytes: as base64 it has room in [`PATCH_BYTES_MAX`].
const PATCH_MAX: usize = PATCH_BYTES_MAX / 4 * 3 - 2;

/// What the mark in a shortened output takes at most, and less than which none is worth the room, in
/// bytes.
const SHORTENED_MIN: usize = 64;

/// Of how many outputs that are left out the command is told.
const OUTPUTS_NAMED_MAX: u64 = 10;

/// How tracked files are seen that differ from the commit.
const CHANGED_FILES: &str = "git diff HEAD";

/// How files are seen that git does not know.
pub const UNKNOWN_FILES: &str = "git ls-files --others --exclude-standard";

/// How files are seen that a filter may rewrite.
pub const FILTERED_FILES: &str = "git ls-files | git check-attr --stdin filter";

/// How files are seen that git is told to pass over, by the letter before each.
pub const PASSED_OVER_FILES: &str = "git ls-files -v";

/// How files are seen that differ outside of the project.
pub const OUTSIDE_FILES: &str = "git diff --stat HEAD -- :/ ':!.'";

/// What somebody asked to go along.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Along {
    /// The tracked files that differ from the commit, new ones too, as a patch.
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
        let git = self.git(GitNeed::Stand);
        let Some(git) = git.filter(|git| git.stand().is_some()) else {
            return;
        };
        let git = git.anchor();
        let (mut patch, mut files) = (Vec::new(), Vec::new());
        let mut masked = CapsuleRedaction::default();
        let none = |how: &str| CapsuleLeftOut::new(CapsuleSection::Patch, 0, how);
        let mut left = none(CHANGED_FILES);
        let mut filtered = none(FILTERED_FILES);
        let mut passed_over = none(PASSED_OVER_FILES);
        let mut unnamed = CapsuleLeftOut {
            masked: Some(true),
            ..left.clone()
        };
        let told = git.tracked_changes(|change| {
            let leave = |left: &mut CapsuleLeftOut| {
                left.count += 1;
                left.push_name(&mask.masked_name(&change.path));
            };
            let content = match change.content {
                Ok(content) => content,
                Err(NotInPatch::Form) => return leave(&mut left),
                Err(NotInPatch::Filtered) => return leave(&mut filtered),
                Err(NotInPatch::PassedOver) => return leave(&mut passed_over),
            };
            let [before, after] = &content.sides;
            let has_marks = mask.masks(&change.path)
                || mask.masks(&String::from_utf8_lossy(&content.diff))
                || [before, after]
                    .iter()
                    .any(|side| is_masked(|text| mask.masks(text), side));
            if has_marks {
                if !masked.push_file(&mask.masked_name(&change.path)) {
                    leave(&mut unnamed);
                }
            } else if patch.len() + content.diff.len() <= PATCH_MAX
                // Of another file nothing was looked at for what is masked.
                && patch_files(&content.diff).is_ok_and(|told| told == [change.path.as_str()])
            {
                patch.extend(content.diff);
                files.push(change.path);
            } else {
                leave(&mut left);
            }
        });
        // Its receiver looks at it so, and would refuse the whole capsule.
        if patch_files(&patch).as_deref() != Ok(files.as_slice()) {
            left.count += files.len() as u64;
            let names = files.iter().map(|path| mask.masked_name(path));
            names.for_each(|name| left.push_name(&name));
            patch.clear();
        }
        left.inexact = (!told.is_some_and(|told| told.is_all)).then_some(true);
        let (mut unknown, mut outside) = (none(UNKNOWN_FILES), none(OUTSIDE_FILES));
        if let Some(told) = told {
            unknown.count = told.unknown;
            unknown.inexact = (!told.knows_excluded).then_some(true);
            outside.count = told.outside;
        }
        capsule.redaction.files = masked.files;
        if let Some(base) = git.commit().filter(|_| !patch.is_empty()) {
            capsule.patch = Some(CapsulePatch::new(base.to_owned(), &patch));
        }
        for left in [unnamed, left, filtered, passed_over, outside, unknown] {
            count(capsule, left);
        }
    }

    fn take_outputs(&self, capsule: &mut Capsule, mask: &CapsuleMask<'_>) -> io::Result<()> {
        let masked = |text: &str| mask.masked(text).unwrap_or_else(|| text.to_owned());
        let mut room = OUTPUTS_BYTES_MAX / 4 * 3;
        let mut left = CapsuleLeftOut::new(CapsuleSection::Outputs, 0, "");
        let mut leave = |run: &EntryId| {
            left.count += 1;
            if left.count <= OUTPUTS_NAMED_MAX {
                let before = if left.count > 1 { "; " } else { "" };
                left.how
                    .push_str(&format!("{before}ctxrelay ledger show {run} --full"));
            }
        };
        let gates = &self.world.gates;
        for (at, gate) in gates.values().enumerate() {
            let stored = (self.read)(gate.seq)?.filter(|stored| stored.entry.id == gate.id);
            let Some(stored) = stored else {
                leave(&gate.id);
                continue;
            };
            let entry = stored.entry;
            let whole = match &entry.whole {
                Some(whole) => (self.whole)(&whole.sha256),
                None => Some(entry.content.clone()),
            };
            // What is not there any more has its beginning in the line.
            let is_there = whole.is_some();
            let text = masked(&whole.unwrap_or(entry.content));
            // None takes all of the room from those behind it.
            let share = room / (gates.len() - at);
            let Some(shown) = shortened(&text, share) else {
                leave(&gate.id);
                continue;
            };
            if !is_there || shown.len() < text.len() {
                leave(&gate.id);
            }
            room = room.saturating_sub(shown.len().next_multiple_of(3));
            let name = masked(&gate.run.gate);
            capsule.outputs.push(CapsuleOutput::new(name, &shown));
        }
        count(capsule, left);
        Ok(())
    }
}

/// Whether anything in a file would be masked. In UTF-16 and UTF-32 each letter of a secret has zero
/// bytes beside it, and git takes such a file for no text.
pub(super) fn is_masked(masks: impl Fn(&str) -> bool, bytes: &[u8]) -> bool {
    if masks(&String::from_utf8_lossy(bytes)) {
        return true;
    }
    if !bytes.contains(&0) {
        return false;
    }
    let bare: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != 0).collect();
    let utf16 = |read: fn([u8; 2]) -> u16| {
        let pairs = bytes.chunks_exact(2);
        let units = pairs.map(|pair| read([pair[0], pair[1]]));
        let letters = char::decode_utf16(units);
        letters
            .map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect::<String>()
    };
    masks(&String::from_utf8_lossy(&bare))
        || [u16::from_le_bytes, u16::from_be_bytes]
            .into_iter()
            .any(|read| masks(&utf16(read)))
}

/// Masks what a gate printed, where that was written elsewhere.
pub(super) fn mask_output(output: &mut CapsuleOutput, mask: &CapsuleMask<'_>) {
    let name = mask.masked(&output.name);
    let name = name.unwrap_or_else(|| output.name.clone());
    let bytes = output.bytes().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    // What is masked in letters of more bytes alone would still be there among the others.
    let is_plain = !bytes.contains(&0) || !is_masked(|text| mask.masks(text), &bytes);
    let text = match is_plain {
        true => mask.masked(&text),
        false => Some("[REDACTED_TEXT]".to_owned()),
    };
    match text {
        Some(text) => {
            let more = std::mem::take(&mut output.more);
            *output = CapsuleOutput {
                more,
                ..CapsuleOutput::new(name, &text)
            };
        }
        None => output.name = name,
    }
}

/// A text that is longer than there is room for, in bytes, as its beginning and its end, where it
/// says what failed. None where even that is too long.
fn shortened(text: &str, room: usize) -> Option<Cow<'_, str>> {
    if text.len() <= room {
        return Some(Cow::Borrowed(text));
    }
    let room = room.checked_sub(SHORTENED_MIN)?;
    let before = text.floor_char_boundary(room / 4);
    let after = text.ceil_char_boundary(text.len() - (room - room / 4));
    let left = after - before;
    let (before, after) = (&text[..before], &text[after..]);
    Some(Cow::Owned(format!(
        "{before}\n[… {left} bytes left out …]\n{after}"
    )))
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

/// Of nothing it is said only where that is not known.
fn count(capsule: &mut Capsule, left: CapsuleLeftOut) {
    if left.count > 0 || left.inexact == Some(true) {
        capsule.left_out.push(left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_output_the_beginning_and_the_end_go_along_with_what_is_between_counted() {
        assert_eq!(shortened("red", 3).as_deref(), Some("red"));
        assert_eq!(shortened("red and more", 11), None);
        let text = format!("it begins\n{}it is red", "é".repeat(5_000));
        for room in 100..200 {
            let shown = shortened(&text, room).unwrap_or_default();
            assert!(shown.len() <= room, "{room}: {shown}");
            assert!(shown.starts_with("it begi"), "{room}: {shown}");
            assert!(shown.ends_with("it is red"), "{room}: {shown}");
            let left = shown
                .split_once("[… ")
                .and_then(|(_, rest)| rest.split_once(" bytes"));
            let left: usize = left.and_then(|(left, _)| left.parse().ok()).unwrap_or(0);
            let mark = format!("\n[… {left} bytes left out …]\n").len();
            assert_eq!(shown.len() - mark + left, text.len());
        }
    }
}
