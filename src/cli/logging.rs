//! [`start`]: the log of the long-running verbs, in `state/contextrelay.log`.
//!
//! The file is 0600, never opened through a link, and bounded: above [`LOG_BYTES_MAX`] it becomes
//! `contextrelay.log.1`, which replaces the previous one.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::PathBuf;

use tracing::{Level, Metadata};
use tracing_appender::non_blocking::WorkerGuard;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::{LevelFilter, filter_fn};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::core::panicked::Panicked;
use crate::host::ProjectContext;

/// The longest that the log gets, in bytes; with the one before it, twice that on disk.
const LOG_BYTES_MAX: u64 = 10 * 1024 * 1024;

/// Lines that may wait for the disk; more are dropped and counted, because logging must never
/// hold the daemon up. Their places are held in memory from the beginning, 32 bytes each.
const LINES_MAX: usize = 1024;

/// The same where somebody asked for more than the usual.
const ASKED_LINES_MAX: usize = 8192;

/// What is logged when `CONTEXTRELAY_LOG` says nothing, or nothing that can be read.
const FILTER: &str = "warn,ctxrelay=info";

/// Whether somebody said what is to be logged.
pub fn is_asked_for() -> bool {
    std::env::var_os("CONTEXTRELAY_LOG").is_some_and(|filter| !filter.is_empty())
}

/// Why what somebody wants to have logged is not, if it is not.
pub fn complaint(var: impl Fn(&str) -> Option<OsString>) -> Option<String> {
    const NAME: &str = "CONTEXTRELAY_LOG";
    let said = var(NAME).filter(|filter| !filter.is_empty())?;
    let said = said.to_string_lossy();
    if let Err(error) = EnvFilter::try_new(&*said) {
        return Some(format!(
            "{NAME} is `{said}`, which cannot be read ({error}): the usual is logged, `{FILTER}`"
        ));
    }
    // A word of its own is a level, or names a part of a program.
    let is_known =
        |word: &&str| word.parse::<LevelFilter>().is_ok() || word.starts_with("ctxrelay");
    let words = said.split(',').map(str::trim);
    let mut words = words.filter(|word| !word.is_empty() && !word.contains(['=', '[']));
    let unknown = words.find(|word| !is_known(word))?;
    Some(format!(
        "{NAME} is `{said}`: `{unknown}` is no level (off, error, warn, info, debug, trace) and no part \
         of ctxrelay, so that nothing of ctxrelay is logged by it"
    ))
}

/// Begins to log. Keep the guard: what still waits is written when it is dropped.
///
/// `None` when this process logs already.
pub fn start(project: &ProjectContext) -> Option<WorkerGuard> {
    let file = LogFile::new(project.dirs.state_file("contextrelay.log"));
    let lines_max = if is_asked_for() {
        ASKED_LINES_MAX
    } else {
        LINES_MAX
    };
    let (writer, guard) = tracing_appender::non_blocking::NonBlockingBuilder::default()
        .buffered_lines_limit(lines_max)
        .finish(file);
    let filter = std::env::var("CONTEXTRELAY_LOG")
        .ok()
        .filter(|filter| !filter.is_empty())
        .and_then(|filter| EnvFilter::try_new(filter).ok())
        .unwrap_or_else(|| EnvFilter::new(FILTER));
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(writer)
        .with_ansi(false)
        .finish()
        .with(filter_fn(is_discreet));
    #[cfg(debug_assertions)]
    let subscriber = subscriber.with(super::panic_on_order::PanicOnOrder::from_env());
    subscriber.try_init().ok()?;
    log_panics();
    Some(guard)
}

/// What libraries say below a warning may quote what they carry: messages, and tokens.
fn is_discreet(metadata: &Metadata<'_>) -> bool {
    *metadata.level() <= Level::WARN || metadata.target().starts_with("ctxrelay")
}

/// Has the log tell of each panic as well, wherever else it is told.
fn log_panics() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        tracing::error!("{}", Panicked::of(info));
        report(info);
    }));
}

/// A log that is opened with its first line, and only in a folder that is there: who logs must
/// not make `.contextrelay/`, because a project without one is a new project.
#[derive(Debug)]
struct LogFile {
    path: PathBuf,
    file: Option<File>,
}

impl LogFile {
    fn new(path: PathBuf) -> Self {
        Self { path, file: None }
    }

    fn open(&self) -> io::Result<File> {
        let open = || {
            OpenOptions::new()
                .append(true)
                .create(true)
                .mode(0o600)
                .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
                .open(&self.path)
        };
        let file = open()?;
        if self.takes(&file)? {
            return Ok(file);
        }
        // Of several who find it full one puts it aside: a second would put aside what the first began.
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            return Ok(file);
        }
        if self.is_in_place(&file)? {
            let mut before = self.path.clone().into_os_string();
            before.push(".1");
            std::fs::rename(&self.path, before)?;
        }
        open()
    }

    /// Whether this is the log, and has room. Every process of the project writes to it, and any of
    /// them, or the person, may have put it aside or taken it away since the last line.
    fn takes(&self, file: &File) -> io::Result<bool> {
        Ok(self.is_in_place(file)? && file.metadata()?.len() < LOG_BYTES_MAX)
    }

    fn is_in_place(&self, file: &File) -> io::Result<bool> {
        let (ours, there) = (file.metadata()?, std::fs::symlink_metadata(&self.path)?);
        Ok((ours.dev(), ours.ino()) == (there.dev(), there.ino()))
    }
}

impl Write for LogFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let is_open = |file: &File| self.takes(file).unwrap_or(false);
        // In a folder that was moved or removed it goes on where it is: it may say why it ends.
        if !self.file.as_ref().is_some_and(is_open)
            && let Ok(file) = self.open()
        {
            self.file = Some(file);
        }
        // A log that cannot be written must not trouble the one who works.
        if let Some(file) = &mut self.file
            && file.write_all(line).is_err()
        {
            self.file = None;
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn what_is_wanted_of_the_log_and_cannot_be_had_is_told() {
        let complaint = |filter: &str| complaint(|_| Some(filter.into()));
        for good in [
            "",
            "debug",
            "warn,ctxrelay=info",
            "ctxrelay::daemon",
            "off,hyper=trace",
        ] {
            assert_eq!(complaint(good), None, "{good}");
        }
        let told = complaint("info,ctxrelay=loud").unwrap();
        assert!(
            told.contains("cannot be read") && told.contains(FILTER),
            "{told}"
        );
        let told = complaint("verbose").unwrap();
        assert!(told.contains("`verbose` is no level"), "{told}");
    }

    #[test]
    fn the_log_is_private_bounded_and_makes_no_folder() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state/contextrelay.log");
        let mut log = LogFile::new(path.clone());
        log.write_all(b"lost\n").unwrap();
        assert!(!path.exists(), "no folder, no log");

        std::fs::create_dir(dir.path().join("state")).unwrap();
        log.write_all(b"first\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "first\n");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);

        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(LOG_BYTES_MAX)
            .unwrap();
        let mut next = LogFile::new(path.clone());
        next.write_all(b"second\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "second\n");
        assert_eq!(
            path.with_extension("log.1").metadata().unwrap().len(),
            LOG_BYTES_MAX
        );
    }

    #[test]
    fn a_log_that_somebody_put_aside_or_took_away_is_begun_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("contextrelay.log");
        let text = || std::fs::read_to_string(&path).unwrap();
        let (mut one, mut other) = (LogFile::new(path.clone()), LogFile::new(path.clone()));
        other.write_all(b"before\n").unwrap();
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(LOG_BYTES_MAX)
            .unwrap();
        one.write_all(b"one\n").unwrap();
        other.write_all(b"other\n").unwrap();
        assert_eq!(text(), "one\nother\n");

        let moved = dir.path().with_extension("moved");
        std::fs::rename(dir.path(), &moved).unwrap();
        other.write_all(b"last words\n").unwrap();
        let there = std::fs::read_to_string(moved.join("contextrelay.log")).unwrap();
        assert_eq!(there, "one\nother\nlast words\n");
        std::fs::rename(&moved, dir.path()).unwrap();

        std::fs::remove_file(&path).unwrap();
        one.write_all(b"again\n").unwrap();
        other.write_all(b"and again\n").unwrap();
        assert_eq!(text(), "again\nand again\n");
    }

    #[test]
    fn a_link_in_the_logs_place_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (target, link) = (
            dir.path().join("target"),
            dir.path().join("contextrelay.log"),
        );
        std::fs::write(&target, "untouched").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        LogFile::new(link).write_all(b"line\n").unwrap();
        assert_eq!(std::fs::read_to_string(target).unwrap(), "untouched");
    }
}
