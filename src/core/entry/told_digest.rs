//! [`ToldDigest`]: the digest of a capsule's file, as an entry on a task names it in a sentence.
//!
//! The line of such an entry has no other place for it: every version of the daemon learns from the
//! sentence which file was imported or kept. So these sentences are part of the line's format: they
//! are written and read only here, and are not reworded.

use super::{Entry, EntryKind, TaskStep};
use crate::agent::Party;
use crate::id::CapsuleId;

/// What stands before the digest of a capsule from elsewhere.
const IMPORTED: &str = "a capsule from elsewhere is kept, its digest is ";

/// What stands before the digest of a capsule that is kept here.
const KEPT: &str = "what is kept of it has the digest ";

/// The digest of a capsule's file: the SHA-256 in lower-case hex.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToldDigest<'a> {
    /// Of the file from elsewhere that was kept.
    Imported(&'a str),
    /// Of what is kept here of a task.
    Kept(&'a str),
}

impl<'a> ToldDigest<'a> {
    /// The sentence of an entry that tells it.
    pub fn written(self) -> String {
        match self {
            Self::Imported(digest) => format!("{IMPORTED}{digest}"),
            Self::Kept(digest) => format!("{KEPT}{digest}"),
        }
    }

    /// What an entry on this step tells by its content. Of an export that is what is kept here
    /// since then: of what went out nothing needs to be known.
    pub fn read(step: &TaskStep, content: &'a str) -> Option<Self> {
        let told = match step {
            TaskStep::Imported => Self::Imported(content.strip_prefix(IMPORTED)?),
            TaskStep::Exported | TaskStep::Kept => Self::Kept(content.rsplit_once(KEPT)?.1),
            _ => return None,
        };
        let (Self::Imported(digest) | Self::Kept(digest)) = told;
        is_digest(digest).then_some(told)
    }

    /// Whether the line of an entry may tell what is kept, or that a task is closed: few do, and
    /// parsing all takes long.
    pub fn may_tell_kept(line: &str) -> bool {
        line.contains(KEPT) || line.contains(TaskStep::Closed.as_str())
    }
}

impl Entry {
    /// The task of which the operator's program kept a capsule, and its digest, where the entry
    /// tells that.
    pub fn kept_capsule(&self) -> Option<(&CapsuleId, &str)> {
        let EntryKind::Task(record) = &self.kind else {
            return None;
        };
        match ToldDigest::read(&record.step, &self.content)? {
            ToldDigest::Kept(digest) if self.source == Party::Human => Some((&record.task, digest)),
            _ => None,
        }
    }
}

/// What the entry of an export says: the digest of the file, what went along, and what is kept here
/// since then, where anything is.
pub fn exported_words(digest: &str, along: &[&str], kept: Option<&str>) -> String {
    let along = match along.is_empty() {
        true => String::new(),
        false => format!(" with {}", along.join(" and ")),
    };
    let kept = kept.map(|digest| format!("; {}", ToldDigest::Kept(digest).written()));
    let kept = kept.unwrap_or_default();
    format!("its capsule went out{along}, the digest is {digest}{kept}")
}

fn is_digest(text: &str) -> bool {
    let mut letters = text.bytes();
    text.len() == 64 && letters.all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_comes_back_from_the_sentence_that_tells_it_under_its_own_steps_alone() {
        let (one, two) = ("0a".repeat(32), "b".repeat(64));
        let (imported, kept) = (ToldDigest::Imported(&one), ToldDigest::Kept(&one));
        // As they stand in records.
        let import = format!("a capsule from elsewhere is kept, its digest is {one}");
        let keeps = format!("what is kept of it has the digest {one}");
        assert_eq!(imported.written(), import);
        assert_eq!(kept.written(), keeps);
        let exported = exported_words(&two, &["a patch", "outputs"], Some(&one));
        let not_kept = exported_words(&one, &[], None);
        for step in TaskStep::ALL {
            let is_kept = matches!(step, TaskStep::Exported | TaskStep::Kept);
            let of_kept = is_kept.then_some(kept);
            let of_import = (*step == TaskStep::Imported).then_some(imported);
            for (content, told) in [
                (&import, of_import),
                (&keeps, of_kept),
                (&exported, of_kept),
                (&not_kept, None),
            ] {
                let read = ToldDigest::read(step, content);
                assert_eq!(read, told, "{step}: {content}");
            }
        }
        assert!(ToldDigest::may_tell_kept(&exported));
        assert!(!ToldDigest::may_tell_kept(&import));
    }

    #[test]
    fn what_is_no_digest_is_not_read_as_one() {
        let upper = "B".repeat(64);
        for digest in ["", "b", "none", &"g".repeat(64), &upper, &"b".repeat(65)] {
            for (step, told) in [
                (TaskStep::Imported, ToldDigest::Imported(digest)),
                (TaskStep::Kept, ToldDigest::Kept(digest)),
            ] {
                let written = told.written();
                assert_eq!(ToldDigest::read(&step, &written), None, "{written}");
            }
        }
    }
}
