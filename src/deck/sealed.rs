//! [`SealedSessions`]: search and entries of sessions that have ended, read from the disk.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ctxrelay_ui::Msg;
use ctxrelay_ui::model::{EntryPlace, FoundEntries, Level};
use serde_json::Value;
use tokio::sync::{Mutex, mpsc};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::found::{listed, nothing_found};
use super::model::{Model, entry};
use super::perform::FOUND_MAX;
use super::present;
use crate::core::id::SessionId;
use crate::wire::search::{SearchPage, SearchParams};

/// Who types on is not searched for: each search reads all of the files.
const TYPED: Duration = Duration::from_millis(200);

/// Searches all of them but the current one; slow.
pub type SearchSealed = Arc<dyn Fn(SearchParams) -> Result<SearchPage, String> + Send + Sync>;

/// Reads one entry, by its line; slow where the session is long.
pub type ReadSealed = Arc<dyn Fn(&SessionId, u64) -> Result<Value, String> + Send + Sync>;

/// The sessions that have ended.
#[derive(Clone)]
pub struct SealedSessions {
    search: SearchSealed,
    read: ReadSealed,
    /// One search at a time: it keeps a core and the disk busy.
    busy: Arc<Mutex<()>>,
}

impl fmt::Debug for SealedSessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealedSessions")
    }
}

impl SealedSessions {
    /// Those that are searched and read so.
    pub fn new(search: SearchSealed, read: ReadSealed) -> Self {
        Self {
            search,
            read,
            busy: Arc::default(),
        }
    }

    /// Searches them. Dropped, it begins nothing; one that has begun ends by itself.
    pub(super) async fn search(self, words: String, number: u64, answers: mpsc::Sender<Msg>) {
        sleep(TYPED).await;
        let busy = Arc::clone(&self.busy).lock_owned().await;
        let params = SearchParams {
            words: words.clone(),
            limit: Some(FOUND_MAX),
            ..SearchParams::default()
        };
        let search = self.search;
        let found = spawn_blocking(move || {
            let found = search(params);
            drop(busy);
            found
        });
        let found: FoundEntries = match found.await {
            Ok(Ok(page)) => listed(number, words, page),
            Ok(Err(why)) => nothing_found(number, words, why),
            Err(_) => nothing_found(number, words, "they cannot be searched".to_owned()),
        };
        // Nobody waits for it where the deck was left.
        let _ = answers.send(Msg::Found(Box::new(found))).await;
    }

    /// One of their entries, whole.
    pub(super) async fn open(&self, model: &Model, place: EntryPlace) -> Option<Msg> {
        let read = Arc::clone(&self.read);
        let (session, line) = (SessionId::new(place.session.clone()), place.line);
        let value = spawn_blocking(move || read(&session, line)).await;
        let value = match value {
            Ok(Ok(value)) => value,
            Ok(Err(why)) => return Some(Msg::Notice(Level::Warn, why)),
            Err(_) => return None,
        };
        let raw = serde_json::to_string_pretty(&value).unwrap_or_default();
        let entry = entry(value, Some(line))?;
        Some(Msg::EntryText {
            place,
            detail: present::detail(model, &entry),
            text: entry.content,
            raw,
        })
    }
}
