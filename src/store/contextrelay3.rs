//! What ContextRelay 3 (3.13.4, observed) left in `state/queue.db`: [`set_aside`] moves the file
//! out of our queue's way, [`unread`] returns the messages that nobody ever fetched.
//!
//! Its queue is written by its bridge, unredacted; ours is written by the daemon and has other
//! tables. The old file is removed when the person deletes a session for good.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ctxrelay_core::plain_value::PlainValue;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

use super::dirs::{ProjectDirs, exists, free_name, if_there};

/// What the other product's queue is called from then on.
pub(super) const ASIDE: &str = "queue.db.contextrelay-3";

/// How many unread messages are taken over, the youngest ones. More than one person would read;
/// the rest stays in the file, and its number is told.
pub const UNREAD_MAX: usize = 100;

/// The largest payload that is looked at, in bytes: a message text of 1,000,000 characters may
/// need 4 bytes each, and escapes.
const PAYLOAD_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The files of one database.
const LOGS: [&str; 3] = ["", "-wal", "-shm"];

/// Messages that no Claude fetched.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unread {
    /// The youngest of them, oldest first.
    pub messages: Vec<UnreadMessage>,
    /// How many there are altogether.
    pub total: u64,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadMessage {
    /// Its id over there.
    pub id: String,
    /// The text, as it was sent.
    pub content: String,
    /// When, ms since the epoch.
    pub at_ms: i64,
    /// It was shown to Claude's bridge, which proves nothing.
    pub pushed: bool,
}

/// Moves a queue of ContextRelay 3 to `state/queue.db.contextrelay-3`, and says where it is now;
/// `None` when there is none, or it is ours or nobody's.
///
/// # Errors
///
/// When it cannot be moved.
pub fn set_aside(dirs: &ProjectDirs) -> io::Result<Option<PathBuf>> {
    let path = dirs.state_file("queue.db");
    if !exists(&path) || !is_contextrelay_3(&path).unwrap_or(false) {
        return Ok(None);
    }
    let aside = free_name(&dirs.state, ASIDE);
    // The logs first: a database without its log is whole but old, a log without its database is
    // nothing. After a crash in between, the next start goes on.
    for log in LOGS.iter().rev() {
        if_there(fs::rename(with(&path, log), with(&aside, log)))?;
    }
    fs::File::open(&dirs.state)?.sync_all()?;
    Ok(Some(aside))
}

/// What was never fetched, of the queue that was set aside first; nothing when there is none.
///
/// # Errors
///
/// When it cannot be read.
pub fn unread(dirs: &ProjectDirs) -> rusqlite::Result<Unread> {
    let path = dirs.state_file(ASIDE);
    if !exists(&path) {
        return Ok(Unread::default());
    }
    let db = open(&path)?;
    let total: i64 = db.query_row(
        "SELECT count(*) FROM messages WHERE drained_at IS NULL AND acked_at IS NULL",
        [],
        |row| row.get(0),
    )?;
    let mut rows = db.prepare(
        "SELECT id, payload, created_at, pushed_at IS NOT NULL FROM messages
         WHERE drained_at IS NULL AND acked_at IS NULL AND length(payload) <= ?1
         ORDER BY created_at DESC, rowid DESC LIMIT ?2",
    )?;
    let limits = [PAYLOAD_BYTES_MAX as i64, UNREAD_MAX as i64];
    let mut messages = rows
        .query_map(limits, |row| {
            let id: String = row.get(0)?;
            let payload: String = row.get(1)?;
            Ok(UnreadMessage {
                id,
                content: content(&payload),
                at_ms: row.get::<_, Option<i64>>(2).ok().flatten().unwrap_or(0),
                pushed: row.get(3)?,
            })
        })?
        .collect::<Result<Vec<_>, _>>()?;
    messages.retain(|message| !message.content.is_empty());
    messages.reverse();
    Ok(Unread {
        messages,
        total: u64::try_from(total).unwrap_or(0),
    })
}

fn content(payload: &str) -> String {
    let payload = PlainValue::of(payload).unwrap_or_default();
    let content = payload.get("content").and_then(Value::as_str);
    content.unwrap_or_default().to_owned()
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    // SQLite refuses a link in any part of the path, and the folder may be reached by one.
    let real = path
        .parent()
        .and_then(|dir| dir.canonicalize().ok())
        .zip(path.file_name())
        .map_or_else(|| path.to_path_buf(), |(dir, name)| dir.join(name));
    // For writing, because a log that was left behind has to be taken in before it can be read.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    Connection::open_with_flags(real, flags)
}

fn is_contextrelay_3(path: &Path) -> rusqlite::Result<bool> {
    let db = open(path)?;
    let count = |sql: &str| db.query_row(sql, [], |row| row.get::<_, i64>(0));
    let theirs = count(
        "SELECT count(*) FROM pragma_table_info('messages')
         WHERE name IN ('content_hash', 'drained_at', 'payload')",
    )?;
    let ours = count("SELECT count(*) FROM sqlite_master WHERE name = 'deliveries'")?;
    Ok(theirs == 3 && ours == 0)
}

fn with(path: &Path, log: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(log);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Queue;
    use crate::testing::Place;

    /// A queue in the other product's shape, with its log not taken in.
    fn theirs(place: &Place) -> Connection {
        let db = Connection::open(place.dirs.state_file("queue.db")).unwrap();
        db.execute_batch(
            "PRAGMA journal_mode = WAL;
             CREATE TABLE messages (
                id TEXT PRIMARY KEY, chat_id TEXT, content_hash TEXT, payload TEXT,
                created_at INTEGER, pushed_at INTEGER, push_attempted_at INTEGER, push_error TEXT,
                acked_at INTEGER, drained_at INTEGER, status_class TEXT);",
        )
        .unwrap();
        db
    }

    fn put(db: &Connection, id: &str, at: i64, state: &str) {
        let payload = format!(r#"{{"id":"{id}","source":"codex","content":"text of {id}"}}"#);
        db.execute(
            &format!(
                "INSERT INTO messages (id, chat_id, content_hash, payload, created_at{}) \
                 VALUES (?1, 'c', ?1, ?2, ?3{})",
                if state.is_empty() {
                    String::new()
                } else {
                    format!(", {state}")
                },
                if state.is_empty() { "" } else { ", 5" },
            ),
            rusqlite::params![id, payload, at],
        )
        .unwrap();
    }

    #[test]
    fn a_foreign_queue_is_set_aside_and_what_was_never_fetched_is_told() {
        let place = Place::new();
        let db = theirs(&place);
        put(&db, "read", 1, "drained_at");
        put(&db, "acked", 2, "acked_at");
        put(&db, "young", 9, "");
        put(&db, "old", 3, "pushed_at");
        db.execute("INSERT INTO messages (id, payload) VALUES ('odd', '[')", [])
            .unwrap();
        // As after a crash: the log is beside it.
        std::mem::forget(db);

        let aside = set_aside(&place.dirs).unwrap().unwrap();
        assert!(exists(&aside));
        assert!(!exists(&place.dirs.state_file("queue.db")));
        assert_eq!(set_aside(&place.dirs).unwrap(), None);
        let found = unread(&place.dirs).unwrap();
        assert_eq!(found.total, 3);
        let ids: Vec<_> = found
            .messages
            .iter()
            .map(|m| (m.id.as_str(), m.pushed))
            .collect();
        assert_eq!(ids, [("old", true), ("young", false)]);
        assert_eq!(found.messages[0].content, "text of old");

        let queue = Queue::open(&place.dirs).unwrap();
        assert!(queue.is_new());
        drop(queue);
        assert_eq!(set_aside(&place.dirs).unwrap(), None);
    }

    #[test]
    fn our_own_queue_and_what_is_none_stay() {
        let place = Place::new();
        drop(Queue::open(&place.dirs).unwrap());
        assert_eq!(set_aside(&place.dirs).unwrap(), None);
        for log in LOGS {
            let _ = fs::remove_file(with(&place.dirs.state_file("queue.db"), log));
        }
        fs::write(place.dirs.state_file("queue.db"), "no database at all").unwrap();
        assert_eq!(set_aside(&place.dirs).unwrap(), None);
        assert_eq!(unread(&place.dirs).unwrap(), Unread::default());
    }

    #[test]
    fn a_second_one_does_not_take_the_firsts_place() {
        let place = Place::new();
        drop(theirs(&place));
        let first = set_aside(&place.dirs).unwrap().unwrap();
        drop(theirs(&place));
        let second = set_aside(&place.dirs).unwrap().unwrap();
        assert_ne!(first, second);
        assert!(exists(&first) && exists(&second));
    }

    #[test]
    fn no_more_than_a_person_reads_is_taken_over() {
        let place = Place::new();
        let db = theirs(&place);
        for n in 0..250 {
            put(&db, &format!("m{n:03}"), n, "");
        }
        drop(db);
        set_aside(&place.dirs).unwrap();
        let found = unread(&place.dirs).unwrap();
        assert_eq!((found.total, found.messages.len()), (250, UNREAD_MAX));
        assert_eq!(found.messages[0].id, "m150");
        assert_eq!(found.messages[UNREAD_MAX - 1].id, "m249");
    }
}
