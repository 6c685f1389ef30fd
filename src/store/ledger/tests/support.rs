//! A ledger in a temporary project, and entries of every kind.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tempfile::TempDir;

use crate::dirs::ProjectDirs;
use crate::ledger::file::LedgerFile;
use crate::ledger::open::open_file;
use crate::ledger::{
    Ledger, LedgerError, OpenOptions, OpenReport, OpenedLedger, ReadProgress, Stored, WriterEvent,
    open,
};
use ctxrelay_core::agent::Party;
use ctxrelay_core::alarm::Alarm;
use ctxrelay_core::entry::{Entry, EntryKind, NoteKind};
use ctxrelay_core::fold::fold;
use ctxrelay_core::id::{EntryId, RuntimeSession, SessionId};
use ctxrelay_core::redact::Redactor;
use ctxrelay_core::snapshot::Snapshot;

/// How long a test waits for the writer. Generous: only a broken writer takes so long.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// One for all: its rules take longer to compile than a ledger takes to open.
static REDACTOR: LazyLock<Arc<Redactor>> = LazyLock::new(|| Arc::new(Redactor::new()));

/// A project with an empty `.contextrelay`.
pub struct Project {
    pub dirs: ProjectDirs,
    pub session: SessionId,
    _dir: TempDir,
}

impl Project {
    pub fn new() -> Self {
        Self::below(&std::env::temp_dir())
    }

    /// In memory where the system has such a folder: for tests that open and append thousands of
    /// times and do not ask what a sync does.
    pub fn quick() -> Self {
        let memory = Path::new("/dev/shm");
        if tempfile::tempdir_in(memory).is_ok() {
            Self::below(memory)
        } else {
            Self::new()
        }
    }

    fn below(folder: &Path) -> Self {
        let dir = tempfile::tempdir_in(folder).unwrap();
        let dirs = ProjectDirs::new(dir.path().canonicalize().unwrap(), None);
        dirs.create().unwrap();
        Self {
            dirs,
            session: SessionId::new("session_1795000000000_a1b2c3d4"),
            _dir: dir,
        }
    }

    pub fn path(&self) -> PathBuf {
        self.dirs.ledger(&self.session)
    }

    pub fn bytes(&self) -> Vec<u8> {
        fs::read(self.path()).unwrap()
    }

    pub fn lines(&self) -> Vec<Vec<u8>> {
        let bytes = self.bytes();
        bytes
            .split_inclusive(|byte| *byte == b'\n')
            .map(<[u8]>::to_vec)
            .collect()
    }

    pub fn write(&self, bytes: &[u8]) {
        fs::write(self.path(), bytes).unwrap();
    }

    pub fn options(&self) -> OpenOptions {
        OpenOptions {
            dirs: self.dirs.clone(),
            session: self.session.clone(),
            prev_head: None,
            redactor: Arc::clone(&REDACTOR),
            checkpoint: None,
            outside: None,
            space: None,
        }
    }

    pub fn open(&self) -> Open {
        self.try_open().unwrap()
    }

    pub fn try_open(&self) -> Result<Open, LedgerError> {
        let (sender, events) = channel();
        let sink = Box::new(move |event| drop(sender.send(event)));
        Ok(Open::new(open(self.options(), sink)?, events))
    }

    pub fn open_with(&self, options: OpenOptions) -> Open {
        let (sender, events) = channel();
        let sink = Box::new(move |event| drop(sender.send(event)));
        Open::new(open(options, sink).unwrap(), events)
    }

    /// A ledger with so many notes, closed again.
    pub fn with_notes(count: usize) -> Self {
        let project = Self::new();
        let mut open = project.open();
        for n in 1..=count {
            let note = project.note(&format!("n{n}"), &format!("text {n}"));
            open.append(vec![note]).unwrap();
        }
        open.close();
        project
    }

    /// Files beside the ledger whose names hold a word, with their bytes.
    pub fn aside(&self, word: &str) -> Vec<Vec<u8>> {
        fs::read_dir(self.dirs.sessions())
            .unwrap()
            .map(|file| file.unwrap().path())
            .filter(|path| path.to_str().unwrap().contains(word))
            .map(|path| fs::read(path).unwrap())
            .collect()
    }

    pub fn open_on(&self, file: Box<dyn LedgerFile>) -> Open {
        self.try_open_on(file).unwrap()
    }

    pub fn try_open_on(&self, file: Box<dyn LedgerFile>) -> Result<Open, LedgerError> {
        let (sender, events) = channel();
        let sink = Box::new(move |event| drop(sender.send(event)));
        let progress = ReadProgress::default();
        let opened = open_file(self.options(), file, &progress, sink)?;
        Ok(Open::new(opened, events))
    }

    pub fn note(&self, id: &str, text: &str) -> Entry {
        Entry {
            id: EntryId::new(id),
            timestamp_ms: 1_795_000_000_000,
            session_id: self.session.clone(),
            content: text.to_owned(),
            runtime_session: Some(RuntimeSession::default()),
            ..Entry::new(Party::Human, EntryKind::note(NoteKind::Plan))
        }
    }
}

/// An open ledger with the live fold that a daemon would keep.
pub struct Open {
    pub ledger: Ledger,
    pub live: Snapshot,
    pub report: OpenReport,
    pub events: Receiver<WriterEvent>,
    pub recovered: usize,
    /// What others wrote, as far as it was told.
    pub foreign: Vec<Alarm>,
    token: u64,
}

impl Open {
    fn new(opened: OpenedLedger, events: Receiver<WriterEvent>) -> Self {
        Self {
            ledger: opened.ledger,
            live: opened.snapshot,
            report: opened.report,
            events,
            recovered: 0,
            foreign: Vec::new(),
            token: 0,
        }
    }

    /// Appends and waits for the answer.
    pub fn append(&mut self, entries: Vec<Entry>) -> Result<Vec<Arc<Stored>>, LedgerError> {
        self.token += 1;
        let token = self.token;
        self.ledger.append(token, entries).unwrap();
        loop {
            match self.events.recv_timeout(DEADLINE).unwrap() {
                WriterEvent::Durable { token: of, entries } => {
                    assert_eq!(of, token);
                    for stored in &entries {
                        fold(&mut self.live, &stored.entry);
                        self.live.note_hash(&stored.entry.id, &stored.hash);
                    }
                    return Ok(entries);
                }
                WriterEvent::Failed { token: of, error } => {
                    assert_eq!(of, token);
                    return Err(error);
                }
                WriterEvent::Recovered => self.recovered += 1,
                WriterEvent::Foreign(alarm) => self.foreign.push(alarm),
                WriterEvent::Gone(error) => return Err(error),
            }
        }
    }

    /// The ids of the last entries that were there when it was opened, oldest first.
    pub fn found(&self) -> Vec<String> {
        let recent = self.report.recent.iter();
        recent
            .map(|stored| stored.entry.id.as_str().to_owned())
            .collect()
    }

    pub fn close(self) {
        self.ledger.close();
    }
}
