//! [`Head`]: the end of a ledger, kept outside the project, and [`HeadKeeper`], which keeps it.
//!
//! Who can write the project can cut its ledger; the head outside shows that. It is written at
//! most once a second, so that up to a second of cutting stays invisible.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::core::id::SessionId;

use super::dirs::{UserDirs, make_private_dir, read_private, write_private};
use super::latest::Latest;

/// How long between two writes at least: each costs two syncs on the disk that the ledger needs.
pub const WRITE_INTERVAL: Duration = Duration::from_secs(1);

/// More than any head is long.
const HEAD_BYTES_MAX: u64 = 4096;

/// The last entry of a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Head {
    /// Its number.
    pub seq: u64,
    /// Its hash.
    pub hash: String,
    /// Its ledger.
    pub session_id: SessionId,
}

/// Reads the head of a project; `None` when none was kept.
///
/// # Errors
///
/// When there is one that cannot be read.
pub fn read(user: &UserDirs, instance_id: &str) -> io::Result<Option<Head>> {
    match read_private(&user.head(instance_id), HEAD_BYTES_MAX) {
        Ok(text) => Ok(Some(serde_json::from_slice(&text)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Replaces the head of a project, 0600.
///
/// # Errors
///
/// When the registry's folder cannot be written.
pub fn write(user: &UserDirs, instance_id: &str, head: &Head) -> io::Result<()> {
    let path = user.head(instance_id);
    make_private_dir(&user.registry)?;
    make_private_dir(&user.registry.join("heads"))?;
    let mut text = serde_json::to_vec(head)?;
    text.push(b'\n');
    write_private(&path, &text)
}

/// Keeps the head of one project up to date on a thread of its own.
#[derive(Debug)]
pub struct HeadKeeper {
    heads: Arc<Latest<Head>>,
    thread: Option<JoinHandle<()>>,
}

impl HeadKeeper {
    /// Begins to keep the head of a project.
    ///
    /// # Errors
    ///
    /// When the system gives no thread.
    pub fn start(user: &UserDirs, instance_id: &str) -> io::Result<Self> {
        let heads = Arc::new(Latest::default());
        let pending = Arc::clone(&heads);
        let (user, instance_id) = (user.clone(), instance_id.to_owned());
        let thread = thread::Builder::new()
            .name("head-writer".to_owned())
            .spawn(move || keep(&pending, &user, &instance_id))?;
        Ok(Self {
            heads,
            thread: Some(thread),
        })
    }

    /// Takes a new head, to be written within [`WRITE_INTERVAL`]. Never blocks on the disk.
    pub fn set(&self, head: Head) {
        self.heads.put(head);
    }

    /// Writes what is not written yet, and ends.
    pub fn close(mut self) {
        self.finish();
    }

    /// Ends without what is not written yet: another owner's head may lie there by now.
    pub fn abandon(self) {
        self.heads.abandon();
    }

    fn finish(&mut self) {
        self.heads.close();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the writer of the outside head panicked");
        }
    }
}

impl Drop for HeadKeeper {
    fn drop(&mut self) {
        self.finish();
    }
}

fn keep(heads: &Latest<Head>, user: &UserDirs, instance_id: &str) {
    while let Some(head) = heads.take() {
        if let Err(error) = write(user, instance_id, &head) {
            let path: PathBuf = user.head(instance_id);
            tracing::warn!(%error, path = %path.display(), "the outside head was not written");
        }
        heads.rest(WRITE_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::store::testing::{Place, mode};

    fn head(seq: u64) -> Head {
        Head {
            seq,
            hash: "ab".repeat(32),
            session_id: SessionId::new("session_1795000000000_a1b2c3d4"),
        }
    }

    #[test]
    fn a_head_is_read_back_and_nobody_else_may_read_it() {
        let place = Place::new();
        assert_eq!(read(&place.user, "ctx_1").unwrap(), None);
        write(&place.user, "ctx_1", &head(7)).unwrap();
        assert_eq!(read(&place.user, "ctx_1").unwrap(), Some(head(7)));
        assert_eq!(read(&place.user, "ctx_2").unwrap(), None);
        assert_eq!(mode(&place.user.head("ctx_1")), 0o600);
    }

    #[test]
    fn a_head_that_is_none_is_an_error_and_not_an_absent_one() {
        let place = Place::new();
        write(&place.user, "ctx_1", &head(7)).unwrap();
        std::fs::write(place.user.head("ctx_1"), "{}").unwrap();
        assert!(read(&place.user, "ctx_1").is_err());
    }

    #[test]
    fn the_keeper_has_written_the_last_head_when_it_is_closed() {
        let place = Place::new();
        let keeper = HeadKeeper::start(&place.user, "ctx_1").unwrap();
        for seq in 1..=100 {
            keeper.set(head(seq));
        }
        keeper.close();
        assert_eq!(read(&place.user, "ctx_1").unwrap(), Some(head(100)));
    }
}
