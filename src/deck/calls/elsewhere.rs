//! [`Elsewhere`]: searches tasks and ended sessions, and reads the entries of these sessions.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ctxrelay_ui::Msg;
use ctxrelay_ui::model::{EntryPlace, FoundEntries, Level, SearchScope};
use tokio::sync::{Mutex, mpsc};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

use crate::core::id::{Seq, SessionId};
use crate::deck::calls::found::{listed, nothing_found};
use crate::deck::calls::search::{FOUND_MAX, SEARCH_AGAIN, SearchAsked};
use crate::deck::followed::model::{Model, entry};
use crate::deck::followed::row_detail::detail;
use crate::deck::followed::rows::row;
use crate::wire::control::EntryLine;
use crate::wire::search::FoundPage;

/// Who types on is not searched for: each search reads files, and asks git.
const TYPED: Duration = Duration::from_millis(200);

/// A search that is made again waits for so many times as long as the last one took.
const RESTS: u32 = 4;

/// Up to so many hits for words in a place, after those of the page before; slow.
pub type SearchElsewhere = Arc<
    dyn Fn(SearchScope, String, u32, Option<String>) -> Result<FoundPage, String> + Send + Sync,
>;

/// Reads one entry, by its line; slow where the session is long.
pub type ReadSealed = Arc<dyn Fn(&SessionId, u64) -> Result<EntryLine, String> + Send + Sync>;

/// What is not read by way of the daemon's record: tasks, and sessions that have ended.
#[derive(Clone)]
pub struct Elsewhere {
    search: SearchElsewhere,
    read: ReadSealed,
    /// One search at a time: it keeps a core and the disk busy.
    busy: Arc<Mutex<()>>,
}

impl fmt::Debug for Elsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Elsewhere")
    }
}

impl Elsewhere {
    /// What is searched and read so.
    pub fn new(search: SearchElsewhere, read: ReadSealed) -> Self {
        Self {
            search,
            read,
            busy: Arc::default(),
        }
    }

    /// Searches a place. Dropped, it begins nothing; one that has begun ends by itself.
    pub(in crate::deck) async fn search(self, asked: SearchAsked, answers: mpsc::Sender<Msg>) {
        let SearchAsked {
            place,
            words,
            number,
            after,
            ..
        } = asked;
        sleep(TYPED).await;
        let mut left = u64::MAX;
        loop {
            let busy = Arc::clone(&self.busy).lock_owned().await;
            let begun = Instant::now();
            let (search, asked) = (Arc::clone(&self.search), words.clone());
            let from = after.clone();
            let found = spawn_blocking(move || {
                let found = search(place, asked, FOUND_MAX, from);
                drop(busy);
                found
            });
            let mut found: FoundEntries = match found.await {
                Ok(Ok(page)) => listed(number, words.clone(), page),
                Ok(Err(why)) => nothing_found(number, words.clone(), why),
                Err(_) => nothing_found(number, words.clone(), "it cannot be searched".to_owned()),
            };
            found.goes_on = after.is_some();
            let behind = found.behind;
            let told = answers.send(Msg::Found(Box::new(found))).await;
            // Nobody waits for it where the deck was left, and what goes no further is not asked for.
            if told.is_err() || behind == 0 || behind >= left || after.is_some() {
                return;
            }
            left = behind;
            // It reads all archives again where these are searched too.
            sleep(SEARCH_AGAIN.max(begun.elapsed() * RESTS)).await;
        }
    }

    /// An entry of a session that has ended, whole.
    pub(in crate::deck) async fn open(&self, model: &Model, place: EntryPlace) -> Option<Msg> {
        let read = Arc::clone(&self.read);
        let (session, line) = (SessionId::new(place.session.clone()), place.line);
        let found = spawn_blocking(move || read(&session, line)).await;
        let found = match found {
            Ok(Ok(found)) => found,
            Ok(Err(why)) => return Some(Msg::Notice(Level::Warn, why)),
            Err(_) => return None,
        };
        let entry = entry(found.clone(), Some(line))?;
        let raw = serde_json::to_string_pretty(&found.into_value()).unwrap_or_default();
        // What the record of now tells, of signatures as of deliveries, says nothing of that one.
        let mut nothing = Model::new(model.link().clone(), model.about.clone());
        // Nor that anybody vouches for it.
        nothing.world.foreign_through = Seq(u64::MAX);
        let facts = nothing.row_facts();
        Some(Msg::EntryText {
            place,
            row: Box::new(row(&facts, &entry, false)),
            detail: detail(&facts, &entry),
            refs: Vec::new(),
            text: entry.content,
            raw,
        })
    }
}
