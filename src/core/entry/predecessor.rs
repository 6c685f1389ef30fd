//! [`Predecessor`]: the session before, and what became of it.

use serde::{Deserialize, Serialize};

use crate::id::SessionId;
use crate::word::words;

/// The sealed ledger that a session follows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Predecessor {
    pub session_id: SessionId,
    /// How many lines it had.
    pub entries: u64,
    /// The hash of its last entry.
    pub head: String,
    /// What became of it.
    #[serde(default, skip_serializing_if = "Fate::is_archived")]
    pub fate: Fate,
    /// The archived session that it, or what it was compacted from, followed: known here where no
    /// file may be left to say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<SealedSession>,
}

/// A session that was put away, by the hash that its last entry had then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SealedSession {
    pub session_id: SessionId,
    /// The hash of its last entry.
    pub head: String,
}

impl Predecessor {
    /// The latest archived session, as one that follows this can name it.
    pub fn archived(&self) -> Option<SealedSession> {
        match self.fate {
            Fate::Archived => Some(self.sealed()),
            Fate::Compacted | Fate::Discarded => self.earlier.clone(),
        }
    }

    /// The session whose file is next on the way back from here.
    pub fn next_back(&self) -> Option<SealedSession> {
        match self.fate {
            Fate::Archived | Fate::Compacted => Some(self.sealed()),
            Fate::Discarded => self.earlier.clone(),
        }
    }

    fn sealed(&self) -> SealedSession {
        SealedSession {
            session_id: self.session_id.clone(),
            head: self.head.clone(),
        }
    }
}

words! {
    /// What becomes of a session that is sealed.
    #[derive(Default)]
    pub closed enum Fate {
        /// It is kept in the archives.
        #[default]
        Archived = "archived",
        /// It is kept in the archives, and what was open in it was carried into its successor.
        Compacted = "compacted",
        /// It is deleted; its number of entries and its head are all that is left.
        Discarded = "discarded",
    }
}

impl Fate {
    fn is_archived(&self) -> bool {
        *self == Self::Archived
    }
}
