//! [`open`]: reads a ledger, repairs its end, and starts its writer.

use std::collections::VecDeque;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, RwLock};
use std::thread;

use crate::dirs::ProjectDirs;
use crate::disk_space::DiskSpace;
use crate::head::Heads;
use ctxrelay_core::alarm::Alarm;
use ctxrelay_core::id::{Seq, SessionId};
use ctxrelay_core::plain_value::PlainValue;
use ctxrelay_core::redact::Redactor;
use ctxrelay_core::snapshot::Snapshot;
use ctxrelay_core::wire::line::is_hash;

use super::Stored;
use super::aside::{Aside, set_aside};
use super::belief::Border;
use super::checkpoint::Checkpoint;
use super::error::LedgerError;
use super::file::{DiskFile, LedgerFile};
use super::handle::Ledger;
use super::left_file::LeftFile;
use super::progress::ReadProgress;
use super::scan::{End, Scan, scan_after};
use super::settle::settle;
use super::shared::{LedgerHealth, SharedLedger};
use super::stamp::Stamp;
use super::writer::{Next, WAITING_MAX, Writer, WriterEvent};

#[derive(Debug)]
pub struct OpenOptions {
    pub dirs: ProjectDirs,
    /// The session; its file is created if there is none.
    pub session: SessionId,
    /// The head of the sealed ledger that a new file follows.
    pub prev_head: Option<String>,
    /// Masks secrets before anything is written.
    pub redactor: Arc<Redactor>,
    /// What is known of the file already; not taken when it does not fit.
    pub checkpoint: Option<Checkpoint>,
    /// What is known of it outside the project. `None`: everything in it is believed.
    pub outside: Option<Outside>,
    /// Refuses long texts if there is no space. `None`: only the disk does.
    pub space: Option<Arc<DiskSpace>>,
}

/// The border of belief, and its keeper.
#[derive(Debug, Clone)]
pub struct Outside {
    /// Written before the operator's word is acknowledged.
    pub heads: Heads,
    /// Whose entries are in the file.
    pub origin: Origin,
}

/// Whose entries are in a file, before it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The project lies where it was registered: ours, up to the border.
    Known,
    /// Somebody else's, because the project was moved, copied or cloned.
    Elsewhere,
    /// Nobody's: a new session, which has no head before its first entry.
    Begun,
}

/// An open ledger and its content.
#[derive(Debug)]
pub struct OpenedLedger {
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
    pub entries: u64,
    /// Bytes, after repair.
    pub bytes: u64,
    /// Lines that are not entries.
    pub bad_lines: u64,
    /// Lines of an older, unchained ledger before the first chained one.
    pub prefix_lines: u64,
    /// Where the torn last line was moved, if there was one.
    pub torn: Option<PathBuf>,
    /// Number and hash of the last chained entry.
    pub head: Option<(u64, String)>,
    /// Every chained line continues the one before it.
    pub chain_ok: bool,
    /// Every line was read, or none has changed since a run that read them. If not, only
    /// [`super::verify()`] can tell whether the part that the checkpoint covers is unchanged.
    pub is_read: bool,
    /// The last entry that the checkpoint spared reading.
    pub spared_to: Seq,
    /// The last entries, oldest first, [`RECENT_MAX`](super::RECENT_MAX) at most.
    pub recent: VecDeque<Arc<Stored>>,
    /// What somebody else did to it, as far as the record does not say so itself.
    pub alarms: Vec<Alarm>,
}

/// Opens the ledger of a session, or begins it.
///
/// Reads the file from its checkpoint on, or the whole of it, up to where it is believed. What
/// stands behind that is moved to `sessions/<id>.foreign-<ms>`. A torn last line is moved to `sessions/<id>.torn-<ms>`; a whole one
/// that only lacks its newline gets it. `on_event` is called on the writer's thread.
///
/// # Errors
///
/// When the file is not a file of our own, cannot be read or written, or another program has it.
pub fn open(
    options: OpenOptions,
    on_event: Box<dyn Fn(WriterEvent) + Send>,
) -> Result<OpenedLedger, LedgerError> {
    open_watched(options, &ReadProgress::default(), on_event)
}

/// As [`open`]; says meanwhile how far the reading is.
///
/// # Errors
///
/// As [`open`].
pub fn open_watched(
    options: OpenOptions,
    progress: &ReadProgress,
    on_event: Box<dyn Fn(WriterEvent) + Send>,
) -> Result<OpenedLedger, LedgerError> {
    let path = checked_path(&options)?;
    let failed = |error| LedgerError::from_io("open", &path, error);
    let file = DiskFile::open(&path).map_err(failed)?;
    if file.reader().metadata().map_err(failed)?.nlink() > 1 {
        return Err(LedgerError::HardLink(path));
    }
    open_file(options, Box::new(file), progress, on_event)
}

/// The path of a session's ledger, if nobody else writes it.
pub(super) fn checked_path(options: &OpenOptions) -> Result<PathBuf, LedgerError> {
    let path = options.dirs.ledger(&options.session);
    if !SessionId::is_well_formed(options.session.as_str()) {
        return Err(LedgerError::Refused(format!(
            "{:?} is not a session id",
            options.session.as_str()
        )));
    }
    if let Some(head) = options.prev_head.as_deref().filter(|head| !is_hash(head)) {
        return Err(LedgerError::Refused(format!(
            "{head:?} is not the head of a ledger"
        )));
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
    progress: &ReadProgress,
    on_event: Box<dyn Fn(WriterEvent) + Send>,
) -> Result<OpenedLedger, LedgerError> {
    let path = options.dirs.ledger(&options.session);
    let failed = |error| LedgerError::from_io("read", &path, error);
    let judged = options.outside.as_ref();
    let judged = judged.filter(|outside| outside.origin != Origin::Begun);
    let border = judged.map(|outside| {
        let kept = outside.heads.kept();
        let is_known = outside.origin == Origin::Known;
        Border::new(kept.as_ref(), &options.session, is_known, &path)
    });
    let reader = file.reader();
    let before = Stamp::of(&reader);
    let session = &options.session;
    let border = border.as_ref();
    let mut found =
        scan_after(&reader, session, options.checkpoint, border, progress).map_err(failed)?;
    // Who wrote meanwhile wrote perhaps what was read before.
    found.is_read &= Stamp::of(&reader) == before;
    if found.is_newer {
        return Err(LedgerError::NewerSchema(path));
    }
    if !is_on_disk(judged, &found) {
        file.sync()
            .map_err(|error| LedgerError::from_io("sync", &path, error))?;
    }
    let mut alarms = Vec::new();
    if let Some(outside) = judged {
        alarms = settle(&outside.heads, file.as_mut(), &path, session, &mut found)?;
    }
    let torn = match found.end {
        End::Whole => None,
        End::NoNewline => {
            file.append(b"\n")
                .and_then(|_| file.sync())
                .map_err(|error| LedgerError::from_io("mend the last line of", &path, error))?;
            found.bytes += 1;
            None
        }
        End::Torn { offset } => {
            let failed = |error| LedgerError::from_io("set the torn end aside of", &path, error);
            let Aside { path: torn, .. } =
                set_aside(file.as_mut(), &path, "torn", offset).map_err(failed)?;
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
        is_read: found.is_read,
        spared_to: found.spared_to,
        recent: found.recent,
        alarms,
    };
    let (seq, prev) = found.checker.next();
    let next = Next {
        seq,
        prev: prev.or(options.prev_head),
    };
    let mut health = LedgerHealth::new(found.checker, report.bytes);
    let after = Stamp::of(&file.reader());
    // Another length: its end was mended, by us.
    let is_mended = |after: &Stamp| before.as_ref().is_none_or(|it| it.len != after.len);
    let left = after.filter(is_mended).or(before);
    health.left = LeftFile::new(left, report.is_read);
    let shared = Arc::new(SharedLedger {
        path: path.clone(),
        index: RwLock::new(found.index),
        file: RwLock::new(file.reader()),
        space: options.space,
        health: Mutex::new(health),
    });
    let (jobs, waiting) = sync_channel(WAITING_MAX);
    let writer = Writer::new(
        file,
        Arc::clone(&shared),
        options.redactor,
        options.outside.map(|outside| outside.heads),
        on_event,
        next,
        found.bytes,
    );
    let thread = thread::Builder::new()
        .name("ledger-writer".to_owned())
        .spawn(move || writer.run(waiting))
        .map_err(|error| LedgerError::from_io("start the writer of", &path, error))?;
    let mut snapshot = found.snapshot;
    snapshot.pack();
    Ok(OpenedLedger {
        ledger: Ledger {
            shared,
            jobs,
            thread: Arc::new(Mutex::new(Some(thread))),
        },
        snapshot,
        report,
    })
}

/// Whether no loss of power can take what was read: nobody is to go by what is not on the disk yet,
/// least of all the head outside, which would tell of lines that nobody has seen then. Behind a crash
/// the last lines may stand in memory alone.
fn is_on_disk(judged: Option<&Outside>, found: &Scan) -> bool {
    let kept = judged.and_then(|outside| outside.heads.kept());
    let ended = kept.filter(|kept| kept.clean).map(|kept| kept.head);
    let is_end = |(seq, hash)| ended.is_some_and(|head| (head.seq, head.hash) == (seq, hash));
    found.bytes == 0 || found.checker.head().is_some_and(is_end)
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
    crate::dirs::open_private(path)
        .ok()?
        .take(PID_FILE_MAX)
        .read_to_string(&mut text)
        .ok()?;
    let is_pid_file = path.file_name().is_some_and(|name| name == "pid");
    let pid = if is_pid_file {
        text.trim().parse().ok()?
    } else {
        let object = PlainValue::of(&text).ok()?;
        i32::try_from(object.get("pid")?.as_i64()?).ok()?
    };
    rustix::process::Pid::from_raw(pid)
}
