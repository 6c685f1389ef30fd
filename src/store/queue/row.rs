//! A [`Delivery`] as a row of `queue.db`.

use rusqlite::{Connection, Row, params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use ctxrelay_core::agent::Agent;
use ctxrelay_core::delivery::{Delivery, DeliveryState};
use ctxrelay_core::id::{AttemptId, EntryId, RuntimeSession, Seq, ThreadId};

/// Writes a delivery, new or changed.
pub(super) fn put(db: &Connection, delivery: &Delivery) -> rusqlite::Result<()> {
    let mut put = db.prepare_cached(
        "INSERT INTO deliveries (id, seq, receiver, runtime_session, on_busy, state,
                                 attempts, attempt, changed_ms, shown, lost_turn,
                                 thread, withdrawn)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
         ON CONFLICT (id) DO UPDATE SET
            seq = ?2, receiver = ?3, runtime_session = ?4, on_busy = ?5, state = ?6,
            attempts = ?7, attempt = ?8, changed_ms = ?9, shown = ?10, lost_turn = ?11,
            thread = ?12, withdrawn = ?13",
    )?;
    put.execute(params![
        delivery.id.as_str(),
        to_sql(delivery.seq.0),
        delivery.to.as_str(),
        delivery.runtime_session.as_str(),
        delivery.on_busy.as_str(),
        delivery.state.as_str(),
        delivery.attempts,
        delivery.attempt.as_ref().map(AttemptId::as_str),
        delivery.changed_ms,
        delivery.shown.as_str(),
        delivery.lost_turn,
        delivery.thread.as_ref().map(ThreadId::as_str),
        delivery.withdrawn,
    ])?;
    Ok(())
}

/// The delivery of a row with all columns, in the order in which they are written.
pub(super) fn delivery(row: &Row<'_>) -> rusqlite::Result<Delivery> {
    let state: String = row.get(5)?;
    Ok(Delivery {
        id: EntryId::new(row.get::<_, String>(0)?),
        seq: Seq(u64::try_from(row.get::<_, i64>(1)?).unwrap_or(0)),
        to: word::<Agent>(row, 2)?,
        runtime_session: RuntimeSession::new(row.get::<_, String>(3)?),
        on_busy: word(row, 4)?,
        // A state that this version does not know: nobody can say whether it arrived.
        state: DeliveryState::parse(&state).unwrap_or(DeliveryState::Ambiguous),
        attempts: row.get(6)?,
        attempt: row.get::<_, Option<String>>(7)?.map(AttemptId::new),
        changed_ms: row.get(8)?,
        shown: word(row, 9)?,
        in_turn: false,
        lost_turn: row.get(10)?,
        thread: row.get::<_, Option<String>>(11)?.map(ThreadId::new),
        withdrawn: row.get(12)?,
        cut_off_in: Vec::new(),
    })
}

/// A column that holds the word of an enum.
fn word<T: DeserializeOwned + Serialize>(row: &Row<'_>, at: usize) -> rusqlite::Result<T> {
    let word: String = row.get(at)?;
    serde_json::from_value(Value::String(word)).map_err(|error| {
        let kind = rusqlite::types::Type::Text;
        rusqlite::Error::FromSqlConversionFailure(at, kind, Box::new(error))
    })
}

/// SQLite's integers are signed; no ledger is that long.
pub(super) fn to_sql(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
