//! The words of sealed sessions in the index, by the file that each is in.

use std::collections::HashMap;

use rusqlite::{OptionalExtension as _, params};

use super::{SearchIndex, number};
use crate::search::error::SearchError;
use crate::search::query::Query;
use ctxrelay_core::id::SessionId;

/// Entries of one session stand at `its number * SESSION + their own`: the ledger gives none above
/// 32 bits.
const SESSION: i64 = 1 << 32;

/// A session whose words are in, or on their way.
#[derive(Debug, Clone)]
pub(in crate::search) struct SealedMark {
    number: i64,
    /// Its file, as it was then.
    pub(in crate::search) stamp: String,
    /// Its last entry that is in.
    pub(in crate::search) upto: u64,
    /// All of them are.
    pub(in crate::search) is_whole: bool,
}

/// An entry's words, ready to be put in.
#[derive(Debug)]
pub(in crate::search) struct SealedRow {
    pub(in crate::search) seq: u64,
    /// Where its line begins in the file, in bytes.
    pub(in crate::search) at: u64,
    /// Empty when nothing can be found in it.
    pub(in crate::search) folded: String,
}

/// What a look into the index found.
#[derive(Debug, Default)]
pub(in crate::search) struct SealedRows {
    /// Numbers of entries with the place of each, highest first.
    pub(in crate::search) places: Vec<(u64, u64)>,
    /// How many there are in all; at most the number asked for.
    pub(in crate::search) total: u64,
}

impl SearchIndex {
    /// The sessions that are in.
    pub(in crate::search) fn sealed(&self) -> Result<HashMap<SessionId, SealedMark>, SearchError> {
        let read = || -> rusqlite::Result<_> {
            let sql = "SELECT session, number, stamp, upto, is_whole FROM sealed";
            let mut marks = self.db.prepare_cached(sql)?;
            let marks = marks.query_map([], |row| {
                let mark = SealedMark {
                    number: row.get(1)?,
                    stamp: row.get(2)?,
                    upto: row.get::<_, i64>(3)?.unsigned_abs(),
                    is_whole: row.get(4)?,
                };
                Ok((SessionId::new(row.get::<_, String>(0)?), mark))
            })?;
            marks.collect()
        };
        read().map_err(|source| self.failed(source))
    }

    /// Whether words of a session or a capsule were ever put in, be they taken out since.
    pub(in crate::search) fn is_begun(&self) -> Result<bool, SearchError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_sequence WHERE seq > 0)";
        let begun = self.db.query_row(sql, [], |row| row.get(0));
        begun.map_err(|source| self.failed(source))
    }

    /// Begins with a session, in the place of what was in of it.
    pub(in crate::search) fn begin_sealed(
        &mut self,
        session: &SessionId,
        stamp: &str,
    ) -> Result<SealedMark, SearchError> {
        self.forget_sealed(session)?;
        let mut begun = 0;
        self.run(|db| {
            let sql = "INSERT INTO sealed (session, stamp, upto, is_whole) VALUES (?1, ?2, 0, 0)";
            db.execute(sql, params![session.as_str(), stamp])?;
            begun = db.last_insert_rowid();
            Ok(())
        })?;
        Ok(SealedMark {
            number: begun,
            stamp: stamp.to_owned(),
            upto: 0,
            is_whole: false,
        })
    }

    /// Takes a session out. Its words stay under a number that names nothing.
    fn forget_sealed(&mut self, session: &SessionId) -> Result<(), SearchError> {
        self.run(|db| {
            let change = db.transaction()?;
            let sql = "DELETE FROM sealed WHERE session = ?1 RETURNING number";
            let number: Option<i64> = change
                .query_row(sql, [session.as_str()], |row| row.get(0))
                .optional()?;
            if let Some(number) = number {
                // By its own lines alone: those of all sessions are millions.
                let from = number.saturating_mul(SESSION);
                change.execute(
                    "DELETE FROM sealed_lines WHERE place >= ?1 AND place < ?2",
                    params![from, from.saturating_add(SESSION)],
                )?;
            }
            change.commit()
        })
    }

    /// Puts entries of a session in, all or none; afterwards it is in as the mark says. Their numbers
    /// rise from row to row and from call to call.
    pub(in crate::search) fn add_sealed(
        &mut self,
        rows: &[SealedRow],
        mark: &SealedMark,
    ) -> Result<(), SearchError> {
        self.run(|db| {
            let batch = db.transaction()?;
            {
                let sql = "INSERT INTO sealed_words (rowid, text) VALUES (?1, ?2)";
                let mut words = batch.prepare_cached(sql)?;
                let sql = "INSERT INTO sealed_lines (place, at) VALUES (?1, ?2)";
                let mut lines = batch.prepare_cached(sql)?;
                for row in rows.iter().filter(|row| !row.folded.is_empty()) {
                    let place = mark.place(row.seq);
                    words.execute(params![place, row.folded])?;
                    lines.execute(params![place, number(row.at)])?;
                }
            }
            batch.execute(
                "UPDATE sealed SET upto = ?2, is_whole = ?3 WHERE number = ?1",
                params![mark.number, number(mark.upto), mark.is_whole],
            )?;
            batch.commit()
        })
    }

    /// As [`SearchIndex::find`], in one session.
    pub(in crate::search) fn find_sealed(
        &self,
        mark: &SealedMark,
        query: &Query,
        before: Option<u64>,
        limit: usize,
        total_max: u64,
    ) -> Result<SealedRows, SearchError> {
        let fts = query.to_fts();
        let newest = |before: u64, max: u64| -> rusqlite::Result<Vec<i64>> {
            let mut newest = self.db.prepare_cached(
                "SELECT rowid FROM sealed_words WHERE sealed_words MATCH ?1 \
                 AND rowid >= ?2 AND rowid < ?3 ORDER BY rowid DESC LIMIT ?4",
            )?;
            let (from, to) = (mark.place(0), mark.place(before));
            let found = newest.query_map(params![fts, from, to, number(max)], |row| row.get(0))?;
            found.collect()
        };
        let find = || -> rusqlite::Result<SealedRows> {
            let mut places = newest(u64::MAX, total_max.max(limit as u64))?;
            let total = (places.len() as u64).min(total_max);
            if let Some(before) = before {
                places = newest(before, limit as u64)?;
            }
            places.truncate(limit);
            let mut at = self
                .db
                .prepare_cached("SELECT at FROM sealed_lines WHERE place = ?1")?;
            let places = places.into_iter().map(|place| {
                let at: i64 = at.query_row([place], |row| row.get(0))?;
                let seq = place - mark.place(0);
                Ok((seq.unsigned_abs(), at.unsigned_abs()))
            });
            let places = places.collect::<rusqlite::Result<_>>()?;
            Ok(SealedRows { places, total })
        };
        find().map_err(|source| self.failed(source))
    }
}

impl SealedMark {
    /// Where an entry stands in the index.
    fn place(&self, seq: u64) -> i64 {
        let seq = number(seq).min(SESSION - 1);
        self.number.saturating_mul(SESSION).saturating_add(seq)
    }
}
