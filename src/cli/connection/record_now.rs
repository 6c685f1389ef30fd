//! [`RecordNow`]: the current record, for reading a few of its lines: from the daemon, which has
//! all of it in memory, or from the disk if no daemon can be asked.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::cli::connection::connect::Live;
use crate::cli::connection::dialed::Dialed;
use crate::cli::exit::Failure;
use crate::cli::offline::disk;
use crate::core::id::Seq;
use crate::core::snapshot::Snapshot;
use crate::host::ProjectContext;
use crate::store::ledger::{Reading, Stored};
use crate::wire::control::{Command, Reply};

/// How long the daemon may take for a line, which it has in memory.
const LINE_WAIT: Duration = Duration::from_secs(2);

/// How many lines are asked for at once: far fewer than a connection may ask for.
const AT_ONCE: usize = 16;

/// How many lines are fetched before one of them is read: a capsule has no room for more.
const FETCHED_MAX: usize = 256;

/// The folded world of the current session, and its lines.
pub(in crate::cli) struct RecordNow {
    world: Arc<Snapshot>,
    path: PathBuf,
    /// `None` once it does not answer: each line would wait for it again.
    daemon: RefCell<Option<Rc<Dialed>>>,
    /// What it said already.
    fetched: RefCell<BTreeMap<Seq, Stored>>,
    /// Opened when it is needed: without a checkpoint beside it all of it is read.
    file: OnceCell<Option<Reading>>,
    project: ProjectContext,
}

impl RecordNow {
    /// Of this project; an empty one while there is none.
    ///
    /// # Errors
    ///
    /// When neither the daemon nor the disk tells.
    pub(in crate::cli) fn open(project: &ProjectContext) -> Result<Self, Failure> {
        Self::open_by(project, &Dialed::dial(project)?)
    }

    /// As [`Self::open`], by the daemon that was looked for before.
    pub(in crate::cli) fn open_by(
        project: &ProjectContext,
        dialed: &Rc<Dialed>,
    ) -> Result<Self, Failure> {
        let path = disk::current(project)?.map(|(_, path)| path);
        let live = dialed.live();
        let asked = live.and_then(|live| dialed.wait_for(live.snapshot()).ok());
        let (world, daemon, file) = match asked {
            Some(world) => (world, Some(Rc::clone(dialed)), OnceCell::new()),
            None => {
                let reading = disk::current_reading(project)?;
                let world = reading.as_ref().map(Reading::snapshot).cloned();
                (world.unwrap_or_default(), None, OnceCell::from(reading))
            }
        };
        Ok(Self {
            world: Arc::new(world),
            path: path.unwrap_or_default(),
            daemon: RefCell::new(daemon),
            fetched: RefCell::default(),
            file,
            project: project.clone(),
        })
    }

    /// The fold of all entries.
    pub(in crate::cli) fn world(&self) -> &Arc<Snapshot> {
        &self.world
    }

    /// The file; empty while there is none.
    pub(in crate::cli) fn path(&self) -> &Path {
        &self.path
    }

    /// One entry by its number.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or no longer has the entry where it was.
    pub(in crate::cli) fn read(&self, seq: Seq) -> io::Result<Option<Stored>> {
        match self.asked(seq) {
            None => match self.file()? {
                Some(reading) => reading.read(seq),
                None => Ok(None),
            },
            found => Ok(found),
        }
    }

    /// These will be read: the daemon is asked for them at once, where one after the other each would
    /// wait for the way there and back.
    pub(in crate::cli) fn fetch(&self, seqs: impl Iterator<Item = Seq>) {
        let daemon = self.daemon.borrow();
        let Some((dialed, live)) = daemon.as_deref().and_then(|it| Some((it, it.live()?))) else {
            return;
        };
        let is_new = |seq: &Seq| !self.fetched.borrow().contains_key(seq);
        let mut seqs = seqs.filter(is_new).take(FETCHED_MAX);
        dialed.wait_for(async {
            let mut asked = JoinSet::new();
            loop {
                while asked.len() < AT_ONCE
                    && let Some(seq) = seqs.next()
                {
                    let live = live.clone();
                    asked.spawn(async move { (seq, ask(&live, seq).await) });
                }
                // What is not answered is asked for when it is read.
                let Some(Ok((seq, Ok(said)))) = asked.join_next().await else {
                    return;
                };
                if let Some(stored) = said.and_then(|line| self.believed(seq, line)) {
                    self.fetched.borrow_mut().insert(seq, stored);
                }
            }
        });
    }

    /// What the daemon says.
    fn asked(&self, seq: Seq) -> Option<Stored> {
        if let Some(stored) = self.fetched.borrow().get(&seq) {
            return Some(stored.clone());
        }
        let mut daemon = self.daemon.borrow_mut();
        let dialed = daemon.as_deref()?;
        match dialed.wait_for(ask(dialed.live()?, seq)) {
            Ok(said) => self.believed(seq, said?),
            Err(()) => {
                *daemon = None;
                None
            }
        }
    }

    /// A line is taken only where it is, to the byte, the one that its hash was made of, and of this
    /// session, which may have been sealed in the meantime.
    fn believed(&self, seq: Seq, line: Value) -> Option<Stored> {
        let stored: Stored = serde_json::from_value(line).ok()?;
        let entry = &stored.entry;
        let is_here = entry.seq == seq && Some(&entry.session_id) == self.world.session_id.as_ref();
        (is_here && stored.is_of(&stored.hash)).then_some(stored)
    }

    fn file(&self) -> io::Result<Option<&Reading>> {
        if self.file.get().is_none() {
            let session = self.world.session_id.as_ref();
            let opened = session.map(|session| disk::reading(&self.project, session.as_str()));
            let opened = opened
                .transpose()
                .map_err(|failure| io::Error::other(failure.message))?;
            let _ = self.file.set(opened);
        }
        Ok(self.file.get().and_then(Option::as_ref))
    }
}

/// A line as the daemon says it, if it does; an error where it does not answer.
async fn ask(live: &Live, seq: Seq) -> Result<Option<Value>, ()> {
    let show = Command::LedgerShow {
        entry: seq.to_string(),
        full: false,
        placed: false,
    };
    match timeout(LINE_WAIT, live.ask(show)).await {
        Ok(Ok(Reply::Entry(line))) => Ok(Some(line.into_value())),
        Ok(Ok(_)) => Ok(None),
        Ok(Err(_)) | Err(_) => Err(()),
    }
}
