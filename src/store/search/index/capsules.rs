//! The words of capsules in the index, by the file that each is in.

use std::collections::{HashMap, HashSet};

use rusqlite::params;

use super::SearchIndex;
use crate::capsules::{CapsuleOwner, KeptCapsule};
use crate::search::error::SearchError;
use crate::search::query::Query;
use ctxrelay_core::id::CapsuleId;

/// A file whose words are in.
#[derive(Debug)]
pub(in crate::search) struct CapsuleMark {
    number: i64,
    /// As it was then.
    pub(in crate::search) stamp: String,
}

impl CapsuleMark {
    /// Whether its words are among these.
    pub(in crate::search) fn is_in(&self, numbers: &HashSet<i64>) -> bool {
        numbers.contains(&self.number)
    }
}

/// A file's words, ready to be put in.
#[derive(Debug)]
pub(in crate::search) struct CapsuleWords {
    pub(in crate::search) file: KeptCapsule,
    /// Empty when nothing can be found in it.
    pub(in crate::search) folded: String,
}

impl SearchIndex {
    /// The files whose words are in.
    pub(in crate::search) fn capsules(
        &self,
    ) -> Result<HashMap<(CapsuleOwner, CapsuleId), CapsuleMark>, SearchError> {
        let read = || -> rusqlite::Result<_> {
            let sql = "SELECT number, is_foreign, id, stamp FROM capsules";
            let mut marks = self.db.prepare_cached(sql)?;
            let marks = marks.query_map([], |row| {
                let owner = match row.get::<_, bool>(1)? {
                    true => CapsuleOwner::Foreign,
                    false => CapsuleOwner::Project,
                };
                let id = CapsuleId::new(row.get::<_, String>(2)?);
                let (number, stamp) = (row.get(0)?, row.get(3)?);
                Ok(((owner, id), CapsuleMark { number, stamp }))
            })?;
            marks.collect()
        };
        read().map_err(|source| self.failed(source))
    }

    /// The numbers of all words of capsules that match.
    pub(in crate::search) fn find_capsules(
        &self,
        query: &Query,
    ) -> Result<HashSet<i64>, SearchError> {
        let find = || -> rusqlite::Result<_> {
            let sql = "SELECT rowid FROM capsule_words WHERE capsule_words MATCH ?1";
            let mut numbers = self.db.prepare_cached(sql)?;
            let numbers = numbers.query_map(params![query.to_fts()], |row| row.get(0))?;
            numbers.collect()
        };
        find().map_err(|source| self.failed(source))
    }

    /// Puts files in, each in the place of the one before, and takes others out; all or nothing.
    pub(in crate::search) fn change_capsules(
        &mut self,
        put: &[CapsuleWords],
        gone: &[CapsuleMark],
    ) -> Result<(), SearchError> {
        self.run(|db| {
            let change = db.transaction()?;
            for mark in gone {
                change.execute("DELETE FROM capsules WHERE number = ?1", [mark.number])?;
            }
            for words in put {
                let file = &words.file;
                let is_foreign = file.owner == CapsuleOwner::Foreign;
                change.execute(
                    "INSERT OR REPLACE INTO capsules (is_foreign, id, stamp) VALUES (?1, ?2, ?3)",
                    params![is_foreign, file.id.as_str(), file.stamp],
                )?;
                if !words.folded.is_empty() {
                    let number = change.last_insert_rowid();
                    change.execute(
                        "INSERT INTO capsule_words (rowid, text) VALUES (?1, ?2)",
                        params![number, words.folded],
                    )?;
                }
            }
            change.commit()
        })
    }
}
