//! [`Publisher`]: publishes on the disk that a daemon runs and where, and removes that again.
//!
//! `state/ports.json` is for our own clients; the other files are what scripts around ContextRelay
//! 3 read, in its formats: `state/daemon.pid`, `state/status.json`, and `sessions.json`, both where
//! that product documents it and where it really is. All exist exactly while a daemon owns the
//! project, 0600, without secrets, replaced whole. Only the first is read back.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::dirs::{ProjectDirs, write_fleeting, write_private};
use super::latest::Latest;
use super::latest_thread::LatestThread;
use super::owner::{LockPlace, LockState};
use super::published::{Places, Published};
use super::session::began_ms;
use ctxrelay_core::agent::Agent;
use ctxrelay_core::id::{RuntimeSession, SessionId};

/// How long between two times that files are written at least.
const WRITE_INTERVAL: Duration = Duration::from_secs(1);

/// What is shown and does not change in a daemon's life.
#[derive(Debug, Clone)]
pub struct Imprint {
    /// Where our own clients find it.
    pub published: Published,
    /// A prefix of a digest of its identity.
    pub fingerprint: String,
    pub program: PathBuf,
    /// The session that it goes on with: says when the first pair began.
    pub session: SessionId,
}

/// What is shown and changes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PublishedState {
    /// The app-server's port, while one runs.
    pub app_server_port: Option<u16>,
    /// Who is there, by pair.
    pub participants: BTreeSet<(RuntimeSession, Agent)>,
}

/// Where the loop puts what is to be shown. Never waits for the disk.
#[derive(Debug, Default)]
pub struct Board {
    latest: Arc<Latest<PublishedState>>,
    shown: PublishedState,
}

impl Board {
    /// Shows it from now on, if it is news.
    pub fn set(&mut self, shown: PublishedState) {
        if shown != self.shown {
            self.latest.put(shown.clone());
            self.shown = shown;
        }
    }
}

/// Owns what a daemon shows of itself; takes it back when it is dropped.
#[derive(Debug)]
pub struct Publisher {
    place: Place,
    thread: Option<LatestThread<PublishedState>>,
    /// Another owner takes it back.
    is_left: bool,
}

/// Where it is shown, as long as that is the owner's.
#[derive(Debug, Clone)]
struct Place {
    dirs: ProjectDirs,
    lock: LockPlace,
}

impl Publisher {
    /// Shows a daemon whose lock lies in `lock`, and goes on to show what is put on the board. As
    /// an heir it takes nothing back before [`Self::take_on`]: the owner before it may go on.
    /// `guarded` runs what is done on its thread.
    ///
    /// # Errors
    ///
    /// When it cannot be shown where the daemon is. What only scripts read keeps nobody from
    /// running.
    pub fn start(
        dirs: &ProjectDirs,
        lock: LockPlace,
        imprint: Imprint,
        is_heir: bool,
        guarded: impl FnOnce(Box<dyn FnOnce()>) + Send + 'static,
    ) -> io::Result<(Self, Board)> {
        let place = Place {
            dirs: dirs.clone(),
            lock,
        };
        let ports = serde_json::to_vec(&imprint.published)?;
        if let Err(error) = write_private(&Places::of(dirs).ports, &ports) {
            // One that goes on in its own process is where that said that it is.
            let shown = Published::read(dirs).filter(|_| is_heir);
            if !shown.is_some_and(|shown| shown.leads_to(&imprint.published)) {
                return Err(error);
            }
        }
        // From here on dropping it takes the first one back.
        let mut publisher = Self {
            place: place.clone(),
            thread: None,
            is_left: is_heir,
        };
        let mut writer = Writer::new(place, imprint);
        writer.write(&PublishedState::default());
        let thread = LatestThread::start("publisher", move |latest| {
            guarded(Box::new(move || writer.keep(&latest)));
        })?;
        let board = Board {
            latest: Arc::clone(thread.latest()),
            shown: PublishedState::default(),
        };
        publisher.thread = Some(thread);
        Ok((publisher, board))
    }

    /// What it left is ours: nobody else takes back what is shown.
    pub fn take_on(&mut self) {
        self.is_left = false;
    }

    /// Leaves it to the process that shows itself in the same place.
    pub fn leave(mut self) {
        self.is_left = true;
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        if let Some(thread) = &mut self.thread {
            thread.abandon();
        }
        if !self.is_left && self.place.is_ours() {
            Places::of(&self.place.dirs).clear();
        }
    }
}

impl Place {
    /// Whether what lies there is still the owner's. In a folder that was removed and created again
    /// it is the next owner's.
    fn is_ours(&self) -> bool {
        self.lock.look(&self.dirs) == LockState::Held
    }
}

/// Writes what only scripts read.
struct Writer {
    place: Place,
    imprint: Imprint,
    entry: Value,
    /// Since when each pair is there and when it last changed, ms since the epoch, and who is in it.
    pairs: BTreeMap<RuntimeSession, (i64, i64, BTreeSet<Agent>)>,
}

impl Writer {
    fn new(place: Place, imprint: Imprint) -> Self {
        let entry = program(&imprint.program);
        let began = began_ms(&imprint.session);
        let first = (began, began, BTreeSet::new());
        Self {
            place,
            imprint,
            entry,
            pairs: BTreeMap::from([(RuntimeSession::default(), first)]),
        }
    }

    fn keep(mut self, latest: &Latest<PublishedState>) {
        loop {
            latest.rest(WRITE_INTERVAL);
            let Some(shown) = latest.take() else { return };
            self.write(&shown);
        }
    }

    fn write(&mut self, shown: &PublishedState) {
        if !self.place.is_ours() {
            return;
        }
        self.meet(&shown.participants);
        let places = Places::of(&self.place.dirs);
        let pid = format!("{}\n", self.imprint.published.pid);
        put(&places.pid, pid.as_bytes());
        put_json(&places.status, &self.status(shown));
        let sessions = self.sessions();
        for path in &places.sessions {
            put_json(path, &sessions);
        }
    }

    /// Takes in who is there. A pair of which nobody is left is forgotten, but for the first.
    fn meet(&mut self, participants: &BTreeSet<(RuntimeSession, Agent)>) {
        let now = Timestamp::now().as_millisecond();
        let mut there: BTreeMap<&RuntimeSession, BTreeSet<Agent>> = BTreeMap::new();
        for (pair, agent) in participants {
            there.entry(pair).or_default().insert(*agent);
        }
        self.pairs
            .retain(|pair, _| there.contains_key(pair) || *pair == RuntimeSession::default());
        for (pair, (_, seen, agents)) in &mut self.pairs {
            let found = there.remove(pair).unwrap_or_default();
            if *agents != found {
                (*seen, *agents) = (now, found);
            }
        }
        for (pair, agents) in there {
            self.pairs.insert(pair.clone(), (now, now, agents));
        }
    }

    fn status(&self, shown: &PublishedState) -> Value {
        let url = |port: u16| format!("ws://127.0.0.1:{port}");
        let (dirs, published) = (&self.place.dirs, &self.imprint.published);
        json!({
            "instanceId": dirs.instance_id(),
            "projectRoot": dirs.root,
            "stateDir": dirs.state,
            "proxyUrl": url(published.proxy_port),
            "appServerUrl": shown.app_server_port.map(url),
            "controlPort": published.control_port,
            "pid": published.pid,
            "daemonIdentity": self.imprint.fingerprint,
            "daemonEntry": self.entry,
        })
    }

    fn sessions(&self) -> Value {
        let pairs = self.pairs.iter().map(|(pair, (since, seen, agents))| {
            let participants = agents
                .iter()
                .map(|agent| json!({"agentId": agent.as_str(), "role": "driver"}));
            let about = json!({
                "id": pair,
                "label": pair,
                "lifecycle": "active",
                "createdAt": iso(*since),
                "lastSeenAt": iso(*seen),
                "participants": participants.collect::<Vec<_>>(),
            });
            (pair.as_str().to_owned(), about)
        });
        json!({
            "version": 1,
            "instanceId": self.place.dirs.instance_id(),
            "activeSessionId": RuntimeSession::default(),
            "sessions": pairs.collect::<serde_json::Map<_, _>>(),
        })
    }
}

/// Which program runs, so that a script sees that it was updated.
fn program(path: &Path) -> Value {
    let found = fs::metadata(path).ok();
    let changed = found.as_ref().and_then(|found| found.modified().ok());
    let changed = changed.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    json!({
        "path": path,
        "realpath": path.canonicalize().ok(),
        "size": found.map(|found| found.len()),
        "mtimeMs": changed.map(|since| since.as_millis() as u64),
    })
}

fn iso(ms: i64) -> String {
    let at = Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH);
    format!("{at:.3}")
}

fn put_json(path: &Path, value: &Value) {
    put(path, format!("{value}\n").as_bytes());
}

fn put(path: &Path, bytes: &[u8]) {
    if let Err(error) = write_fleeting(path, bytes) {
        tracing::warn!(%error, path = %path.display(), "what the daemon shows was not written");
    }
}

#[cfg(test)]
mod tests;
