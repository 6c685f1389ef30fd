//! [`spawn_held`] and [`HeldChild`]: the owner's side.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::process::{Child, ChildStderr, ChildStdout, Command};
use tokio::time::timeout;

use super::process::{GRACE, started};
use super::reap::{ChildRecord, reap};
use super::{MARK_VARIABLE, Report};

/// How long a hold may take to start its child; it only has to start a process.
const REPORT_WAIT: Duration = Duration::from_secs(10);

/// A report is one short line.
const REPORT_BYTES_MAX: u64 = 4096;

/// How long a hold may take to end its group: the grace, and some for a loaded machine.
const END_WAIT: Duration = Duration::from_secs(GRACE.as_secs() + 2);

/// Why a held child could not be started.
#[derive(Debug, thiserror::Error)]
pub enum HoldError {
    /// The hold itself could not be started.
    #[error("starting the hold: {0}")]
    Start(#[source] io::Error),
    /// The hold did not say which process it started.
    #[error("the hold did not report in time")]
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
        // Out of our terminal's group: a ctrl-c there is for us to decide about.
        .process_group(0)
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
        None => {
            let _ = hold.start_kill();
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
        hold,
        lifeline: Some(lifeline.into_inner()),
    })
}

/// A child under a hold. Dropping it ends the child's group, in the hold's own time.
#[derive(Debug)]
pub struct HeldChild {
    record: ChildRecord,
    hold: Child,
    /// `None` once the end was asked for.
    lifeline: Option<UnixStream>,
}

impl HeldChild {
    /// What is needed to find the child again.
    pub fn record(&self) -> &ChildRecord {
        &self.record
    }

    /// The child's standard output, once, if it was piped.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.hold.stdout.take()
    }

    /// The child's standard error, once, if it was piped.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.hold.stderr.take()
    }

    /// Waits until the child is gone, and makes sure that its group is. May be dropped and called
    /// again.
    ///
    /// # Errors
    ///
    /// When the operating system does not tell about the hold.
    pub async fn gone(&mut self) -> io::Result<ExitStatus> {
        let status = self.hold.wait().await?;
        if status.code().is_none() {
            // Somebody killed the hold, so nobody ended the group.
            self.reap().await;
        }
        Ok(status)
    }

    /// Ends the child and its group: SIGTERM, two seconds, SIGKILL. Returns when they are gone, at
    /// the latest after some seven seconds.
    pub async fn end(mut self) {
        self.lifeline = None;
        match timeout(END_WAIT, self.hold.wait()).await {
            Ok(Ok(status)) if status.code().is_some() => {}
            _ => {
                let _ = self.hold.start_kill();
                self.reap().await;
            }
        }
    }

    async fn reap(&self) {
        let record = self.record.clone();
        // Blocks for up to three seconds.
        let _ = tokio::task::spawn_blocking(move || reap(&record)).await;
    }
}
