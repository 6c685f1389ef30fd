//! [`open`]: reads a ledger once, mends its end, and starts its writer.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, Read, Seek as _, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, RwLock};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use sha2::Digest as _;

use crate::core::entry::Entry;
use crate::core::fold::fold;
use crate::core::id::{Seq, SessionId};
use crate::core::redact::Redactor;
use crate::core::snapshot::Snapshot;
use crate::store::dirs::ProjectDirs;
use crate::wire::line::{BadLine, is_hash, parse};

use super::LINE_MAX;
use super::check::{Checker, Verdict};
use super::error::LedgerError;
use super::file::{DiskFile, LedgerFile, sync_parent};
use super::handle::{Ledger, Shared, Stats, Stored};
use super::index::{Index, Slot};
use super::lines::Lines;
use super::writer::{Next, WAITING_MAX, Writer, WriterEvent};

/// How many of the last entries are handed out by [`open`].
pub const RECENT_MAX: usize = 1000;

/// What to open.
#[derive(Debug)]
pub struct OpenOptions {
    /// The project.
    pub dirs: ProjectDirs,
    /// The session; its file is made when there is none.
    pub session: SessionId,
    /// The head of the sealed ledger that a new file follows.
    pub prev_head: Option<String>,
    /// Masks secrets before anything is written.
    pub redactor: Arc<Redactor>,
}

/// An open ledger and what was in it.
#[derive(Debug)]
pub struct Opened {
    /// The handle.
    pub ledger: Ledger,
    /// The fold of all entries.
    pub snapshot: Snapshot,
    /// What was found.
    pub report: OpenReport,
}

/// What was found in a ledger.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OpenReport {
    /// Entries.
    pub entries: u64,
    /// Bytes, after mending.
    pub bytes: u64,
    /// Lines that are no entries.
    pub bad_lines: u64,
    /// Lines of an older, unchained ledger before the first chained one.
    pub prefix_lines: u64,
    /// Where the torn last line was put, if there was one.
    pub torn: Option<PathBuf>,
    /// Number and hash of the last chained entry.
    pub head: Option<(u64, String)>,
    /// Every chained line continues the one before it.
    pub chain_ok: bool,
    /// The last entries, oldest first, [`RECENT_MAX`] at most.
    pub recent: VecDeque<Arc<Stored>>,
}

/// Opens the ledger of a session, or begins it.
///
/// Reads the whole file once. A torn last line is moved to `sessions/<id>.torn-<ms>`; a whole one
/// that only lacks its newline gets it. `on_event` is called on the writer's thread.
///
/// # Errors
///
/// When the file is not a file of our own, cannot be read or written, or another program has it.
pub fn open(
    options: OpenOptions,
    on_event: Box<dyn Fn(WriterEvent) + Send>,
) -> Result<Opened, LedgerError> {
    let path = checked_path(&options)?;
    let file = DiskFile::open(&path).map_err(|error| LedgerError::from_io("open", &path, error))?;
    open_file(options, Box::new(file), on_event)
}

/// The path of a session's ledger, if nobody else writes it.
pub(super) fn checked_path(options: &OpenOptions) -> Result<PathBuf, LedgerError> {
    let path = options.dirs.ledger(&options.session);
    if !SessionId::is_well_formed(options.session.as_str()) {
        return Err(LedgerError::Refused {
            reason: format!("{:?} is not a session id", options.session.as_str()),
        });
    }
    if let Some(head) = options.prev_head.as_deref().filter(|head| !is_hash(head)) {
        return Err(LedgerError::Refused {
            reason: format!("{head:?} is not the head of a ledger"),
        });
    }
    let lock = lock_dir(&path);
    if lock.symlink_metadata().is_ok() && !is_abandoned(&lock) {
        return Err(LedgerError::ForeignOwner {
            hint: format!(
                "a ContextRelay 3 daemon holds {}; stop it with `contextrelay kill` in this \
                 project, then start again. If none runs, remove that folder",
                lock.display()
            ),
            path,
        });
    }
    Ok(path)
}

/// Opens what a test or [`open`] gives.
pub(super) fn open_file(
    options: OpenOptions,
    mut file: Box<dyn LedgerFile>,
    on_event: Box<dyn Fn(WriterEvent) + Send>,
) -> Result<Opened, LedgerError> {
    let path = options.dirs.ledger(&options.session);
    let failed = |error| LedgerError::from_io("read", &path, error);
    let mut found = scan(file.as_ref()).map_err(failed)?;
    let torn = match found.end {
        End::Whole => None,
        End::NoNewline => {
            file.append(b"\n")
                .and_then(|()| file.sync())
                .map_err(|error| LedgerError::from_io("mend the last line of", &path, error))?;
            found.bytes += 1;
            None
        }
        End::Torn { offset } => {
            let torn = set_aside(file.as_mut(), &path, "torn", offset)
                .map_err(|error| LedgerError::from_io("set the torn end aside of", &path, error))?;
            found.bytes = offset;
            Some(torn)
        }
    };
    let report = OpenReport {
        entries: found.checker.entries(),
        bytes: found.bytes,
        bad_lines: found.checker.bad(),
        prefix_lines: found.checker.prefix(),
        torn,
        head: found.checker.head(),
        chain_ok: found.checker.fault().is_none(),
        recent: found.recent,
    };
    let (seq, prev) = found.checker.next();
    let next = Next {
        seq,
        prev: prev.or(options.prev_head),
    };
    let shared = Arc::new(Shared {
        path: path.clone(),
        index: RwLock::new(found.index),
        file: RwLock::new(file.reader()),
        stats: Mutex::new(Stats {
            entries: report.entries,
            bytes: report.bytes,
            bad_lines: report.bad_lines,
            head: report.head.clone(),
            chain_ok: report.chain_ok,
            foreign_bytes: 0,
        }),
    });
    let (jobs, waiting) = sync_channel(WAITING_MAX);
    let writer = Writer::new(
        file,
        Arc::clone(&shared),
        options.redactor,
        on_event,
        next,
        found.bytes,
    );
    let thread = thread::Builder::new()
        .name("ledger-writer".to_owned())
        .spawn(move || writer.run(&waiting))
        .map_err(|error| LedgerError::from_io("start the writer of", &path, error))?;
    Ok(Opened {
        ledger: Ledger {
            shared,
            jobs,
            thread: Arc::new(Mutex::new(Some(thread))),
        },
        snapshot: found.snapshot,
        report,
    })
}

/// How a file ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    Whole,
    NoNewline,
    Torn { offset: u64 },
}

/// What one pass over a file gives.
pub(super) struct Scan {
    pub checker: Checker,
    pub index: Index,
    snapshot: Snapshot,
    recent: VecDeque<Arc<Stored>>,
    pub bytes: u64,
    pub end: End,
}

/// Reads a whole ledger.
pub(super) fn scan(file: &dyn LedgerFile) -> io::Result<Scan> {
    let reader = file.reader();
    let mut reader = &*reader;
    reader.seek(SeekFrom::Start(0))?;
    let mut lines = Lines::new(reader);
    let mut scan = Scan {
        checker: Checker::new(),
        index: Index::default(),
        snapshot: Snapshot::default(),
        recent: VecDeque::new(),
        bytes: 0,
        end: End::Whole,
    };
    loop {
        let mut after = scan.checker.digest();
        let next = lines.next(|piece| {
            if let Some(digest) = &mut after {
                digest.update(piece);
            }
        })?;
        let Some(line) = next else { break };
        let parsed = line.text.map_or(Err(BadLine::TooLong(LINE_MAX)), parse);
        let (entry, link) = match parsed {
            Ok(parsed) => (Some(parsed.entry), Ok(parsed.link)),
            Err(bad) => (None, Err(bad)),
        };
        let text = line.text.unwrap_or_default();
        if line.complete {
            let verdict = scan.checker.line(text, link, after);
            scan.take(verdict, entry, line.offset, text);
            continue;
        }
        // The last line, without its newline: taken only if nothing of it is missing.
        if let Some(digest) = &mut after {
            digest.update(b"\n");
        }
        let mut tried = scan.checker.clone();
        let verdict = tried.line(text, link, after);
        let faulty = tried.fault() != scan.checker.fault();
        if matches!(verdict, Verdict::Entry { .. }) && !faulty {
            scan.checker = tried;
            scan.take(verdict, entry, line.offset, text);
            scan.end = End::NoNewline;
        } else {
            scan.end = End::Torn {
                offset: line.offset,
            };
        }
    }
    scan.bytes = lines.offset();
    Ok(scan)
}

impl Scan {
    fn take(&mut self, verdict: Verdict, entry: Option<Entry>, offset: u64, text: &[u8]) {
        let (seq, hash, mut entry) = match (verdict, entry) {
            (Verdict::Entry { seq, hash }, Some(entry)) => (seq, hash, entry),
            (Verdict::Bad(why), _) => {
                tracing::debug!(offset, why, "a line of the ledger is no entry");
                return;
            }
            (Verdict::Entry { .. }, None) => return,
        };
        entry.seq = Seq(seq);
        let (Ok(seq), Ok(len)) = (u32::try_from(seq), u32::try_from(text.len())) else {
            return;
        };
        self.index.push(&entry.id, Slot { offset, len, seq });
        fold(&mut self.snapshot, &entry);
        if self.recent.len() == RECENT_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back(Arc::new(Stored {
            entry,
            line: String::from_utf8_lossy(text).into_owned(),
            hash,
        }));
    }
}

/// Moves the bytes from `offset` on to a file of their own, and only then cuts them off.
pub(super) fn set_aside(
    file: &mut dyn LedgerFile,
    path: &Path,
    what: &str,
    offset: u64,
) -> io::Result<PathBuf> {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let mut name = now.as_millis();
    let (aside, mut copy) = loop {
        let aside = path.with_extension(format!("{what}-{name}"));
        let copy = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&aside);
        match copy {
            Ok(copy) => break (aside, copy),
            // The second one of a millisecond.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => name += 1,
            Err(error) => return Err(error),
        }
    };
    let reader = file.reader();
    let mut reader = &*reader;
    reader.seek(SeekFrom::Start(offset))?;
    io::copy(&mut reader, &mut copy)?;
    copy.sync_all()?;
    sync_parent(&aside)?;
    file.truncate(offset)?;
    file.sync()?;
    Ok(aside)
}

/// Where ContextRelay 3 locks a ledger while it rewrites it.
fn lock_dir(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}

/// Whether a lock names a process that is gone; a lock that names none is taken seriously.
fn is_abandoned(lock: &Path) -> bool {
    let Ok(found) = fs::read_dir(lock) else {
        return false;
    };
    let mut pids = found.flatten().filter_map(|file| read_pid(&file.path()));
    pids.next().is_some_and(|pid| {
        let gone = rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH);
        gone && pids.next().is_none()
    })
}

fn read_pid(path: &Path) -> Option<rustix::process::Pid> {
    const PID_FILE_MAX: u64 = 4096;
    let mut text = String::new();
    crate::store::dirs::open_private(path)
        .ok()?
        .take(PID_FILE_MAX)
        .read_to_string(&mut text)
        .ok()?;
    let is_pid_file = path.file_name().is_some_and(|name| name == "pid");
    let pid = if is_pid_file {
        text.trim().parse().ok()?
    } else {
        let object: serde_json::Value = serde_json::from_str(&text).ok()?;
        i32::try_from(object.get("pid")?.as_i64()?).ok()?
    };
    rustix::process::Pid::from_raw(pid)
}
