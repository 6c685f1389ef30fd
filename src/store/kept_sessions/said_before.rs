//! [`SaidBefore`]: what sessions said of capsules, remembered for the life of the process.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{LazyLock, Mutex, PoisonError};

use crate::file_stamp::FileStamp;
use ctxrelay_core::capsule::KeptSays;

/// More than a project keeps capsules; beyond that they are all asked for anew.
const REMEMBERED_MAX: usize = 10_000;

/// A sealed session is read whole for an answer, and the deck lists its tasks again and again.
static SAID: LazyLock<Mutex<HashMap<SaidBefore, KeptSays>>> = LazyLock::new(Mutex::default);

/// A capsule, and the file of a session as it stands on the disk.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct SaidBefore {
    digest: String,
    file: FileStamp,
}

impl SaidBefore {
    /// None where there is no such file.
    pub(super) fn of(digest: &str, file: &Path) -> Option<Self> {
        let found = file.metadata().ok()?;
        Some(Self {
            digest: digest.to_owned(),
            file: FileStamp::from(&found),
        })
    }

    /// Of one that names a place in a record which is as it says: what stands before that stays.
    pub(super) fn of_chain(digest: &str) -> Self {
        Self {
            digest: digest.to_owned(),
            file: FileStamp::default(),
        }
    }

    /// What the session says of the capsule: `ask` where that was not asked before. Something else
    /// where it cannot be read, which is not remembered.
    pub(super) fn or_ask(self, ask: impl FnOnce() -> Option<KeptSays>) -> KeptSays {
        let said = || SAID.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(says) = said().get(&self).copied() {
            return says;
        }
        let Some(says) = ask() else {
            return KeptSays::Else;
        };
        let mut said = said();
        if said.len() >= REMEMBERED_MAX {
            said.clear();
        }
        said.insert(self, says);
        says
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_session_is_asked_once_for_each_capsule_until_its_file_changes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("session.jsonl");
        assert_eq!(SaidBefore::of("a digest of this test", &file), None);
        std::fs::write(&file, "1\n").unwrap();
        let says = |digest: &str, says: Option<KeptSays>| {
            let asked = SaidBefore::of(digest, &file).unwrap();
            asked.or_ask(|| says)
        };
        let first = "a digest of this test";
        assert_eq!(says(first, None), KeptSays::Else);
        assert_eq!(says(first, Some(KeptSays::Same)), KeptSays::Same);
        assert_eq!(says(first, Some(KeptSays::Else)), KeptSays::Same);
        assert_eq!(says("another", Some(KeptSays::Else)), KeptSays::Else);
        std::fs::write(&file, "1\n2\n").unwrap();
        assert_eq!(says(first, Some(KeptSays::Else)), KeptSays::Else);
    }
}
