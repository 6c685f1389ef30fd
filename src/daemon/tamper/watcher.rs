//! [`TamperWatch`]: the handle to the watcher's thread.

use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::events::{self, Signs};
use super::fact::{FileVerdict, Touch, WatchFact};
use super::inspect::LedgerLook;
use crate::core::id::SessionId;
use crate::core::lock::lock;
use crate::daemon::event::Event;
use crate::daemon::supervise::supervised_thread;
use crate::store::config;
use crate::store::dirs::{ProjectDirs, UserDirs};
use crate::store::head;
use crate::store::ledger::{Ledger, verify};
use crate::store::owner::{LockPlace, LockState};
use crate::store::session;
use crate::wire::config::changed_keys;

/// How long to wait after a sign: an editor writes, renames and sets permissions in one go.
const SETTLE: Duration = Duration::from_millis(150);

/// How long between two looks when all that happened is that a ledger was written to, which mostly
/// was us.
const WRITTEN_GAP: Duration = Duration::from_secs(1);

/// How often to look without a sign: network file systems give none for what others do.
const SLOW_POLL: Duration = Duration::from_secs(60);

/// How often to look where the system gives no signs at all.
const BLIND_POLL: Duration = Duration::from_secs(2);

/// How long between two verifications, and so between two alarms. A verification reads the whole
/// file, and a file that is touched again and again must not make us do that without end.
pub(super) const ALARM_GAP: Duration = Duration::from_secs(2);

/// The same, when there is no more than a suspicion.
const SUSPICION_GAP: Duration = Duration::from_secs(10);

/// How many times as long as a verification took nothing is verified at least.
const IDLE_TIMES: u32 = 10;

/// Watches a project until it is dropped.
#[derive(Debug)]
pub(in crate::daemon) struct TamperWatch {
    requests: Arc<WatchRequests>,
}

/// What the thread is told by others. Nobody ever waits for it: it may be reading a large file, or
/// waiting for the loop.
#[derive(Debug)]
struct WatchRequests {
    signs: Signs,
    /// The session and the ledger to be watched from now on.
    follow: Mutex<Option<(SessionId, Ledger)>>,
    /// How often the operator trusted `config.json`.
    trusts: AtomicU64,
    /// Wakes the thread. Has one place: who finds it taken knows that the thread will wake.
    wake: SyncSender<()>,
}

impl WatchRequests {
    fn tell(&self, signs: u8) {
        if self.signs.add(signs) {
            let _ = self.wake.try_send(());
        }
    }
}

/// What is watched, and from where.
#[derive(Debug)]
pub(in crate::daemon) struct WatchedFiles {
    pub dirs: ProjectDirs,
    pub user: UserDirs,
    pub session: SessionId,
    pub ledger: Ledger,
    /// Where the owner's lock is; `None` when that is not known.
    pub place: Option<LockPlace>,
    /// A part of the ledger was not read when it was opened, and was perhaps changed before.
    pub suspect: bool,
    /// `config.json` as the daemon has it; `None` when it could not be taken.
    pub config: Option<Map<String, Value>>,
    /// What is trusted could not be read then.
    pub is_trust_lost: bool,
}

struct Watcher {
    watched: WatchedFiles,
    look: LedgerLook,
    requests: Arc<WatchRequests>,
    events: mpsc::WeakSender<Event>,
    /// What is trusted could not be read when it was last looked at.
    is_trust_lost: bool,
    /// Ends the system's signs when it is dropped; `None` when there are none.
    source: Option<RecommendedWatcher>,
    looked: Instant,
    /// There is something to be looked at, not before this.
    due: Option<Instant>,
    /// What was done to the ledger and not said yet.
    touches: BTreeSet<Touch>,
    /// It may have been edited: its content is still to be looked at.
    suspect: bool,
    /// Whether the file was last said to be whole.
    is_whole: bool,
    /// A touch was told, and not that it is over.
    is_told: bool,
    /// When the last verification ended, and how long it took.
    verified: Option<(Instant, Duration)>,
    /// The last `config.json` that could be taken.
    config: Map<String, Value>,
    /// What `current` was last said to name.
    current: Option<Option<SessionId>>,
    /// Why there are no signs; until it was said.
    blind: Option<String>,
}

impl TamperWatch {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// When the system gives no thread.
    pub(in crate::daemon) fn start(
        watched: WatchedFiles,
        events: mpsc::WeakSender<Event>,
    ) -> io::Result<Self> {
        let (wake, waking) = sync_channel(1);
        let requests = Arc::new(WatchRequests {
            signs: Signs::default(),
            follow: Mutex::new(None),
            trusts: AtomicU64::new(0),
            wake,
        });
        // Here and not on the thread: from now on nothing goes unseen.
        let watcher = Watcher::new(watched, Arc::clone(&requests), events);
        thread::Builder::new()
            .name("watcher".to_owned())
            .spawn(move || {
                let events = watcher.events.clone();
                supervised_thread(&events, || watcher.run(&waking));
            })?;
        Ok(Self { requests })
    }

    /// Another session from now on.
    pub(in crate::daemon) fn follow(&self, session: SessionId, ledger: Ledger) {
        let mut follow = lock(&self.requests.follow);
        *follow = Some((session, ledger));
        self.requests.tell(events::FOLLOW);
    }

    /// Has `config.json` told once more, as it counts by what is trusted now, for so many times: a
    /// reading that is older tells a smaller number.
    pub(in crate::daemon) fn trusted(&self, trusts: u64) {
        self.requests.trusts.store(trusts, Ordering::Release);
        self.requests.tell(events::TRUSTED);
    }
}

impl Drop for TamperWatch {
    fn drop(&mut self) {
        // Not joined: it may be reading a large file, and has nothing to leave in order.
        self.requests.tell(events::END);
    }
}

impl Watcher {
    fn new(
        watched: WatchedFiles,
        requests: Arc<WatchRequests>,
        events: mpsc::WeakSender<Event>,
    ) -> Self {
        let look = LedgerLook::new(watched.ledger.clone());
        let now = Instant::now();
        let mut watcher = Self {
            look,
            requests,
            events,
            is_trust_lost: watched.is_trust_lost,
            source: None,
            looked: now,
            due: None,
            touches: BTreeSet::new(),
            suspect: watched.suspect,
            is_whole: true,
            is_told: false,
            verified: None,
            config: watched.config.clone().unwrap_or_default(),
            current: None,
            blind: None,
            watched,
        };
        match watcher.source() {
            Ok(source) => watcher.source = Some(source),
            Err(error) => {
                tracing::warn!(%error, "the system gives no signs of changed files");
                watcher.blind = Some(error.to_string());
            }
        }
        // What changed between the start of the daemon and now gave no sign.
        watcher.requests.signs.add(events::ALL);
        watcher
    }

    fn source(&self) -> notify::Result<RecommendedWatcher> {
        let relay = self.watched.dirs.relay.clone();
        let requests = Arc::clone(&self.requests);
        let mut source = notify::recommended_watcher({
            let relay = relay.clone();
            move |event: notify::Result<notify::Event>| {
                requests.tell(event.map_or(events::ALL, |event| events::of_event(&event, &relay)));
            }
        })?;
        source.watch(&relay, RecursiveMode::NonRecursive)?;
        source.watch(&self.watched.dirs.sessions(), RecursiveMode::NonRecursive)?;
        Ok(source)
    }

    fn run(mut self, waking: &Receiver<()>) {
        if let Some(why) = self.blind.take() {
            self.say(WatchFact::Degraded { why });
        }
        loop {
            let poll = if self.source.is_some() {
                SLOW_POLL
            } else {
                BLIND_POLL
            };
            if self.due.is_none() && self.requests.signs.any() {
                self.due = Some(Instant::now() + SETTLE);
            }
            let poll_at = self.looked + poll;
            let mut wake_at = self.due.unwrap_or(poll_at);
            if let Some(at) = self.verify_at() {
                wake_at = wake_at.min(at);
            }
            let wait = wake_at.saturating_duration_since(Instant::now());
            if waking.recv_timeout(wait).is_ok() {
                if self.requests.signs.has(events::END) {
                    return;
                }
                self.take_follow();
                continue;
            }
            self.take_follow();
            let now = Instant::now();
            let mut signs = self.requests.signs.take();
            if signs & events::END != 0 {
                return;
            }
            if now >= poll_at {
                signs |= events::ALL;
            }
            self.due = None;
            tracing::debug!("looking at the project's files");
            self.look_at(signs);
        }
    }

    fn take_follow(&mut self) {
        let Some((session, ledger)) = lock(&self.requests.follow).take() else {
            return;
        };
        self.look = LedgerLook::new(ledger.clone());
        self.watched.session = session;
        self.watched.ledger = ledger;
        self.touches.clear();
        self.suspect = false;
        self.is_whole = true;
        self.is_told = false;
        self.current = None;
    }

    fn look_at(&mut self, signs: u8) {
        self.looked = Instant::now();
        let place = self.watched.place;
        if place.is_some_and(|place| place.look(&self.watched.dirs) == LockState::FolderLost) {
            // What lies there is not ours to judge, and what was ours is out of reach.
            return;
        }
        if signs & (events::CONFIG | events::TRUSTED) != 0 {
            self.look_at_config(signs & events::TRUSTED != 0);
        }
        if signs & events::CURRENT != 0 {
            self.look_at_current();
        }
        let others = !(events::CONFIG | events::TRUSTED | events::CURRENT);
        if signs & others != 0 || self.verify_at().is_some() {
            self.look_at_ledger(signs);
        }
        self.looked = Instant::now();
        // Written to again at once, and nothing else: that is us at work.
        if self.requests.signs.any() {
            self.due = Some(self.looked + WRITTEN_GAP);
        }
    }

    fn look_at_config(&mut self, is_trusted: bool) {
        let trusts = self.requests.trusts.load(Ordering::Acquire);
        let loaded = config::load(&self.watched.dirs, &self.watched.user);
        // It may be back without a sign: what failed was perhaps the reading.
        let is_lost = loaded.trust_lost.is_some();
        let was_lost = std::mem::replace(&mut self.is_trust_lost, is_lost);
        if !is_trusted && was_lost == is_lost && loaded.file == self.watched.config {
            return;
        }
        self.watched.config.clone_from(&loaded.file);
        if let Err(error) = config::keep_rules(&self.watched.dirs, &loaded) {
            tracing::warn!(%error, "the redaction rules are not kept for a start without config.json");
        }
        // What counted until now was the last file that could be taken.
        let changed = match &loaded.file {
            Some(file) => {
                let before = std::mem::replace(&mut self.config, file.clone());
                changed_keys(&before, file)
            }
            None => Vec::new(),
        };
        self.say(WatchFact::Config {
            loaded: Box::new(loaded),
            changed,
            trusts,
        });
    }

    fn look_at_current(&mut self) {
        // A link, or a folder: it names nothing.
        let found = session::read_current(&self.watched.dirs).unwrap_or(None);
        if found.as_ref() == Some(&self.watched.session) {
            self.current = None;
            return;
        }
        if self.current.as_ref() != Some(&found) {
            self.current = Some(found.clone());
            self.say(WatchFact::Current { found });
        }
    }

    fn look_at_ledger(&mut self, signs: u8) {
        let found = self.look.look(signs);
        self.touches.extend(found.touches);
        self.suspect |= found.suspect;
        if self.verify_at().is_none_or(|at| Instant::now() < at) {
            return;
        }
        let begin = Instant::now();
        let touches = self.watched.ledger.touches();
        let verdict = self.verify();
        self.verified = Some((Instant::now(), begin.elapsed()));
        self.suspect = false;
        let is_whole = verdict.is_whole() && self.look.is_in_place();
        self.watched.ledger.read_over(touches, is_whole);
        if std::mem::replace(&mut self.is_whole, is_whole) != is_whole {
            let session = self.watched.session.clone();
            self.say(WatchFact::Chain { session, is_whole });
        }
        let is_worse = self.look.is_worse(&verdict);
        let mut touches = std::mem::take(&mut self.touches);
        // Of a file that was cut or replaced the reason is known already.
        if touches.is_empty() && is_worse {
            touches.insert(Touch::Edited);
        }
        if touches.is_empty() {
            if is_whole && self.look.is_untouched() && std::mem::take(&mut self.is_told) {
                let session = self.watched.session.clone();
                self.say(WatchFact::TouchOver { session });
            }
            return;
        }
        self.is_told = true;
        // It may be over already: that is told with the next reading, and not at once.
        self.suspect = is_whole;
        self.say(WatchFact::Ledger {
            session: self.watched.session.clone(),
            touches: touches.into_iter().collect(),
            verdict,
        });
    }

    /// When the ledger is to be verified, if it is.
    fn verify_at(&self) -> Option<Instant> {
        let gap = match (self.touches.is_empty(), self.suspect) {
            (false, _) => ALARM_GAP,
            (true, true) => SUSPICION_GAP,
            (true, false) => return None,
        };
        Some(match self.verified {
            Some((at, took)) => at + gap.max(took * IDLE_TIMES),
            None => Instant::now(),
        })
    }

    fn verify(&self) -> FileVerdict {
        let once = || {
            let outside = head::read(&self.watched.user, &self.watched.dirs.instance_id());
            let outside = outside.unwrap_or(None);
            verify(self.look.path(), outside.as_ref())
        };
        // The operator's word stands in the file for a moment before the head outside has it.
        let verdict = once().and_then(|report| match report.has_foreign_lines() {
            true => once(),
            false => Ok(report),
        });
        match verdict {
            Ok(report) => FileVerdict::Report(report),
            Err(error) => FileVerdict::Unreadable(error.to_string()),
        }
    }

    fn say(&self, fact: WatchFact) {
        // The loop may take its time; it reads until it ends, and then this is an error.
        if let Some(events) = self.events.upgrade() {
            drop(events.blocking_send(Event::Watch(fact)));
        }
    }
}
