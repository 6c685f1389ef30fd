//! [`spawn_held`], [`HeldChild`] and [`PassedChild`]: the owner's side.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::process::{Child, ChildStderr, ChildStdout, Command};
use tokio::time::timeout;

use super::process::GRACE;
use super::reap::{ChildRecord, end_marked, reap};
use super::{MARK_VARIABLE, Report, WITH_ALL};
use crate::adapters::process::started;

/// How long a hold may take to start its child; it only has to start a process.
const REPORT_WAIT: Duration = Duration::from_secs(10);

/// A report is one short line.
const REPORT_BYTES_MAX: u64 = 4096;

/// A hold that was inherited says one thing: that it ends.
const HEARD_BYTES_MAX: usize = 4096;

/// How long a hold may take to end its group: the grace, and some for a loaded machine.
const END_WAIT: Duration = Duration::from_secs(GRACE.as_secs() + 2);

/// Why a held child could not be started.
#[derive(Debug, thiserror::Error)]
pub enum HoldError {
    /// The hold itself could not be started.
    #[error("starting the hold: {0}")]
    Start(#[source] io::Error),
    /// The hold did not say which process it started; what it started was ended.
    #[error("its keeper did not say in time that it runs, or was killed")]
    Silent,
    /// The hold could not start the command.
    #[error("{0}")]
    Command(String),
}

/// A command that runs `program` under the hold of `hold_program`, our own binary. The caller adds
/// arguments, environment, folder and the two outputs; standard input is taken.
pub fn command(hold_program: &Path, program: &OsStr) -> Command {
    let mut command = Command::new(hold_program);
    command.arg("hold").arg("--").arg(program);
    command
}

/// As [`command`], for one after which nothing may be left that it started, whatever group and
/// environment it has by then.
pub fn command_with_all(hold_program: &Path, program: &OsStr) -> Command {
    let mut command = Command::new(hold_program);
    command.args(["hold", "--", WITH_ALL]).arg(program);
    command
}

/// Starts a command made by [`command`], with `mark` in its environment, and waits until the hold
/// has named its process.
///
/// # Errors
///
/// When the hold or its command cannot be started.
pub async fn spawn_held(mut command: Command, mark: &str) -> Result<HeldChild, HoldError> {
    let (ours, theirs) = UnixStream::pair().map_err(HoldError::Start)?;
    let theirs = theirs.into_std().map_err(HoldError::Start)?;
    theirs.set_nonblocking(false).map_err(HoldError::Start)?;
    let mut hold = command
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .env(MARK_VARIABLE, mark)
        // In our group: who leads one cannot begin a session, as the hold does first of all.
        .spawn()
        .map_err(HoldError::Start)?;
    // The command keeps its end of the socket open; the hold must hold the only one.
    drop(command);

    let mut lifeline = BufReader::new(ours);
    let mut line = String::new();
    let mut bounded = (&mut lifeline).take(REPORT_BYTES_MAX);
    let read = timeout(REPORT_WAIT, bounded.read_line(&mut line)).await;
    let report = match read {
        Ok(Ok(_)) => serde_json::from_str(&line).ok(),
        Ok(Err(_)) | Err(_) => None,
    };
    let pid = match report {
        Some(Report::Pid(pid)) => pid,
        Some(Report::Failed(why)) => return Err(HoldError::Command(why)),
        Some(Report::Ended(_)) | None => {
            let _ = hold.start_kill();
            // It may have started the child all the same, and nobody else knows of that one.
            let mark = mark.to_owned();
            let _ = tokio::task::spawn_blocking(move || end_marked(&mark)).await;
            return Err(HoldError::Silent);
        }
    };
    let record = ChildRecord {
        owner: std::process::id(),
        hold: hold.id().unwrap_or_default(),
        pid,
        // Gone already: then there is nothing to find again, and the empty text matches nothing.
        started: started(pid).unwrap_or_default(),
        mark: mark.to_owned(),
    };
    Ok(HeldChild {
        record,
        hold: Hold::Child(hold),
        lifeline: lifeline.into_inner(),
        heard: Vec::new(),
    })
}

/// A child under a hold. Dropping it ends the child's group, in the hold's own time.
#[derive(Debug)]
pub struct HeldChild {
    record: ChildRecord,
    hold: Hold,
    lifeline: UnixStream,
    /// What the hold of an earlier owner has said since.
    heard: Vec<u8>,
}

/// Whose child the hold is.
#[derive(Debug)]
enum Hold {
    /// Ours.
    Child(Child),
    /// An earlier owner's: its end is the end of the socket.
    Inherited,
}

/// A child that goes on to another owner. Dropping the last copy of the descriptor ends its group.
#[derive(Debug)]
pub struct PassedChild {
    record: ChildRecord,
    lifeline: OwnedFd,
}

impl PassedChild {
    /// From what the earlier owner sent.
    pub fn new(record: ChildRecord, lifeline: OwnedFd) -> Self {
        Self { record, lifeline }
    }

    /// What is needed to find the child again.
    pub fn record(&self) -> &ChildRecord {
        &self.record
    }

    /// What keeps the child alive.
    pub fn lifeline(&self) -> BorrowedFd<'_> {
        self.lifeline.as_fd()
    }
}

impl HeldChild {
    /// Takes on a child of an earlier owner.
    ///
    /// # Errors
    ///
    /// When the descriptor is no socket; the child ends then.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn take_over(passed: PassedChild) -> io::Result<Self> {
        let lifeline = StdUnixStream::from(passed.lifeline);
        lifeline.set_nonblocking(true)?;
        Ok(Self {
            record: ChildRecord {
                owner: std::process::id(),
                ..passed.record
            },
            hold: Hold::Inherited,
            lifeline: UnixStream::from_std(lifeline)?,
            heard: Vec::new(),
        })
    }

    /// Leaves the child to another owner.
    ///
    /// # Errors
    ///
    /// When the runtime does not give the socket back; the child ends then.
    pub fn pass(self) -> io::Result<PassedChild> {
        Ok(PassedChild {
            record: self.record,
            lifeline: self.lifeline.into_std()?.into(),
        })
    }

    /// What is needed to find the child again.
    pub fn record(&self) -> &ChildRecord {
        &self.record
    }

    /// The child's standard output, once, if it was piped.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        match &mut self.hold {
            Hold::Child(hold) => hold.stdout.take(),
            Hold::Inherited => None,
        }
    }

    /// The child's standard error, once, if it was piped.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        match &mut self.hold {
            Hold::Child(hold) => hold.stderr.take(),
            Hold::Inherited => None,
        }
    }

    /// Waits until the child is gone, and makes sure that its group is. Returns its exit code, 128
    /// and more for a signal; `None` when the hold was killed and nobody knows. May be dropped and
    /// called again.
    ///
    /// # Errors
    ///
    /// When the operating system does not tell about the hold.
    pub async fn gone(&mut self) -> io::Result<Option<i32>> {
        let code = self.hold_gone().await?;
        if code.is_none() {
            // Somebody killed the hold, so nobody ended the group.
            self.reap().await;
        }
        Ok(code)
    }

    /// Ends the child and its group: SIGTERM, two seconds, SIGKILL. Returns when they are gone, at
    /// the latest after some seven seconds. Whether the hold did that, and not we in its place.
    pub async fn end(mut self) -> bool {
        // The hold reads this as our end, and can still tell of its own.
        let _ = self.lifeline.shutdown().await;
        let ended = timeout(END_WAIT, self.hold_gone()).await;
        let is_by_hold = matches!(ended, Ok(Ok(Some(_))));
        if !is_by_hold {
            if let Hold::Child(hold) = &mut self.hold {
                let _ = hold.start_kill();
            }
            self.reap().await;
        }
        is_by_hold
    }

    /// Waits for the end of the hold. Safe to cancel.
    async fn hold_gone(&mut self) -> io::Result<Option<i32>> {
        match &mut self.hold {
            Hold::Child(hold) => Ok(hold.wait().await?.code()),
            Hold::Inherited => {
                let mut some = [0; 256];
                loop {
                    match self.lifeline.read(&mut some).await {
                        Ok(0) => break,
                        Ok(read) if self.heard.len() < HEARD_BYTES_MAX => {
                            self.heard.extend_from_slice(&some[..read]);
                        }
                        Ok(_) => {}
                        // What the hold did not read when it ended.
                        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => break,
                        Err(error) => return Err(error),
                    }
                }
                Ok(exit_code(&self.heard))
            }
        }
    }

    async fn reap(&self) {
        let record = self.record.clone();
        // Blocks for up to three seconds.
        let _ = tokio::task::spawn_blocking(move || reap(&record)).await;
    }
}

/// The exit code that a hold told last.
fn exit_code(heard: &[u8]) -> Option<i32> {
    let last = heard.strip_suffix(b"\n")?.rsplit(|byte| *byte == b'\n');
    match serde_json::from_slice(last.into_iter().next()?) {
        Ok(Report::Ended(code)) => Some(code),
        _ => None,
    }
}
