//! [`KeptWords`]: the words of a kept capsule, held against those of the record.

use crate::core::capsule::{CapsuleMask, KeptSays};
use crate::core::redact::Redactor;

/// What stands for a place or a name.
const MARKS: [&str; 3] = ["[REDACTED_PATH]", "[REDACTED_USER]", "[REDACTED_HOST]"];

/// Compares texts of the record with masked ones.
#[derive(Debug)]
pub(super) struct KeptWords<'a> {
    pub(super) mask: &'a CapsuleMask<'a>,
    pub(super) redactor: &'a Redactor,
}

impl KeptWords<'_> {
    /// Of a text of the record, and of one that today's rules masked.
    pub(super) fn says(&self, record: &str, kept: &str) -> KeptSays {
        let now = self.mask.masked(record);
        let now = now.as_deref().unwrap_or(record);
        if now == kept {
            return KeptSays::Same;
        }
        let plain = self.redactor.redact_text(record).0;
        match is_masked_elsewhere(&plain, now, kept) {
            true => KeptSays::Masked,
            false => KeptSays::Else,
        }
    }
}

/// Word by word the same, but for marks and for folders that are left away.
fn is_masked_elsewhere(record: &str, now: &str, kept: &str) -> bool {
    let words = |text| str::split(text, char::is_whitespace);
    if words(record).count() != words(kept).count() {
        return false;
    }
    let has_now = words(now).count() == words(kept).count();
    let now = words(now).map(|word| has_now.then_some(word));
    let now = now.chain(std::iter::repeat(None));
    let mut pairs = words(record).zip(now).zip(words(kept));
    pairs.all(|((record, now), kept)| {
        record == kept
            || now == Some(kept)
            || is_marked(record, kept).is_some()
            || is_below(record, kept)
    })
}

/// Something stands in the record for each mark, and all else is the same.
fn is_marked(record: &str, kept: &str) -> Option<()> {
    let mut plain = kept.to_owned();
    for mark in MARKS {
        plain = plain.replace(mark, "\0");
    }
    let pieces: Vec<&str> = plain.split('\0').collect();
    let (first, others) = pieces.split_first()?;
    let (last, middle) = others.split_last()?;
    let mut rest = record.strip_prefix(first)?.strip_suffix(last)?;
    for piece in middle {
        let masked = rest.chars().next()?.len_utf8();
        let at = masked + rest[masked..].find(piece)?;
        rest = &rest[at + piece.len()..];
    }
    (!rest.is_empty()).then_some(())
}

/// A path of the record stands there as one below the folder that the project was in.
fn is_below(record: &str, kept: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || "._~/%-".contains(letter);
    record.match_indices('/').any(|(at, _)| {
        let (before, path) = record.split_at(at);
        let below = kept.strip_prefix(before);
        let Some(below) = below.filter(|_| !before.ends_with(is_part)) else {
            return false;
        };
        let is_folder = |folder: &str| folder.len() > 1 && folder.ends_with('/');
        let itself = below.strip_prefix('.');
        path.strip_suffix(below).is_some_and(is_folder)
            || itself.is_some_and(|end| path.strip_suffix(end).is_some_and(|it| it.len() > 1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_and_folders_that_are_left_away_change_nothing_and_words_do() {
        for (record, kept) in [
            ("ann wrote it", "[REDACTED_USER] wrote it"),
            ("see /home/ann/x.txt, and", "see [REDACTED_PATH], and"),
            ("(ann@box7)", "([REDACTED_USER]@[REDACTED_HOST])"),
            ("in /work/api/src/a.rs:7", "in src/a.rs:7"),
            ("in (/work/api)", "in (.)"),
        ] {
            assert!(is_masked_elsewhere(record, record, kept), "{kept}");
        }
        for (record, kept) in [
            ("tokens live for one hour", "tokens live for ever"),
            ("tokens live for one hour", "[REDACTED_USER]"),
            ("ann wrote it", "[REDACTED_USER] broke it"),
            ("ann wrote it", "[REDACTED_TOKEN] wrote it"),
            ("ann", "ann[REDACTED_USER]"),
            ("in src/a/b.rs", "in src/b.rs"),
            ("in /work/api/src/a.rs", "in src/b.rs"),
        ] {
            assert!(!is_masked_elsewhere(record, record, kept), "{kept}");
        }
    }
}
