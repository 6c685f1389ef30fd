//! [`KeptWords`]: the words of a kept capsule, held against those of the record.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::core::capsule::{CapsuleMask, KeptSays};
use crate::core::redact::Redactor;

/// What stands for a place, which may be several words.
const PATH: &str = "[REDACTED_PATH]";

/// What stands for a place or a name.
const MARKS: [&str; 3] = [PATH, "[REDACTED_USER]", "[REDACTED_HOST]"];

/// So many blanks of paths can be masked in one text: each is tried at every mark.
const MASKED_BLANKS_MAX: usize = 64;

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

/// Word by word the same, but for marks, of which one stands for all of a path with blanks, and for
/// folders that are left away.
fn is_masked_elsewhere(record: &str, now: &str, kept: &str) -> bool {
    let places = word_places(record);
    let kept: Vec<&str> = kept.split(char::is_whitespace).collect();
    let more = places.len().checked_sub(kept.len());
    let Some(more) = more.filter(|more| *more <= MASKED_BLANKS_MAX) else {
        return false;
    };
    let now: Vec<&str> = now.split(char::is_whitespace).collect();
    let has_now = more == 0 && now.len() == kept.len();
    // How many words of the record those so far can stand for.
    let mut ends = BTreeSet::from([0]);
    for (at, kept) in kept.into_iter().enumerate() {
        let now = now.get(at).copied().filter(|_| has_now);
        let mut next = BTreeSet::new();
        for start in ends {
            let last = match kept.contains(PATH) {
                true => at + more,
                false => start,
            };
            let words = &places[start..=last];
            for (others, word) in words.iter().enumerate() {
                let said = &record[words[0].start..word.end];
                let is_same = match others {
                    0 => {
                        said == kept
                            || now == Some(kept)
                            || is_marked(said, kept).is_some()
                            || is_below(said, kept)
                    }
                    _ => is_marked(said, kept).is_some(),
                };
                if is_same {
                    next.insert(start + others + 1);
                }
            }
        }
        ends = next;
    }
    ends.contains(&places.len())
}

/// Where the words of a text are.
fn word_places(text: &str) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    let mut start = 0;
    for (end, blank) in text.match_indices(char::is_whitespace) {
        places.push(start..end);
        start = end + blank.len();
    }
    places.push(start..text.len());
    places
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
        if !is_one(&rest[..at]) {
            return None;
        }
        rest = &rest[at + piece.len()..];
    }
    (!rest.is_empty() && is_one(rest)).then_some(())
}

/// Whether one mark can stand for this: a word, or a path with blanks, as long as its words are parts
/// of a path. Words without are a sentence that somebody may want to hide.
fn is_one(masked: &str) -> bool {
    let words: Vec<&str> = masked.split(' ').collect();
    if words.len() == 1 {
        return !masked.contains(char::is_whitespace);
    }
    let is_path = masked.starts_with(['/', '~']) || masked.get(1..3) == Some(":\\");
    let goes_on = |pair: &[&str]| pair[0].ends_with('\\') || pair[1].contains(['/', '\\']);
    is_path && !masked.contains('\n') && words.windows(2).all(goes_on)
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
            ("in /srv/api/src/a.rs:7", "in src/a.rs:7"),
            ("in (/srv/api)", "in (.)"),
            (
                "copy /tmp/schema.sql db/schema.sql now",
                "copy [REDACTED_PATH] now",
            ),
            (
                "'/data/my notes/b':'/data/x' is",
                "'[REDACTED_PATH]':'[REDACTED_PATH]' is",
            ),
            ("rm /tmp/a\\ b, and", "rm [REDACTED_PATH], and"),
        ] {
            assert!(is_masked_elsewhere(record, record, kept), "{kept}");
        }
        for (record, kept) in [
            ("tokens live for one hour", "tokens live for ever"),
            ("tokens live for one hour", "[REDACTED_USER]"),
            ("tokens live for one hour", "[REDACTED_PATH]"),
            ("see /tmp/a and never push", "see [REDACTED_PATH]"),
            ("'/tmp/a' and 'b'", "'[REDACTED_PATH]'"),
            (
                "'/deploy is for the operator' was said",
                "'[REDACTED_PATH]' was said",
            ),
            ("'/tmp/a\nand b'", "'[REDACTED_PATH]'"),
            ("ann wrote it", "[REDACTED_USER] broke it"),
            ("ann wrote it", "[REDACTED_TOKEN] wrote it"),
            ("ann", "ann[REDACTED_USER]"),
            ("in src/a/b.rs", "in src/b.rs"),
            ("in /srv/api/src/a.rs", "in src/b.rs"),
        ] {
            assert!(!is_masked_elsewhere(record, record, kept), "{kept}");
        }
    }
}
