//! [`Successor`]: the process that goes on in place of this one, seen from here; and [`Before`]:
//! the process before this one, seen from the other side.
//!
//! They speak over a Unix socket that is the successor's standard input: it greets with the form
//! of estate that it takes, gets the estate, and says in one line that its daemon runs or why not.
//! Only after that line is the estate its alone. No secret is in an argument, in the environment or
//! on the disk.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::exit::{ExitKind, Failure};
use crate::client::forget_agent;
use crate::daemon::build::StartError;
use crate::daemon::estate::FORMAT;
use crate::host::{Estate, Setting};

/// The code of a program that does not know how to take over from this one.
pub const CANNOT_TAKE_OVER: &str = "cannot_take_over";

/// From a successor's start to its greeting. It takes milliseconds.
const GREET_WAIT: Duration = Duration::from_secs(10);

/// How long a successor may take to have its daemon run: milliseconds, on a long ledger more.
const READY_WAIT: Duration = Duration::from_secs(30);

/// How long the daemon before may take to come to a halt. Above its own deadlines together.
const ESTATE_WAIT: Duration = Duration::from_secs(30);

/// More than a line between the two is long.
const LINE_BYTES_MAX: u64 = 64 * 1024;

/// The successor's first line.
#[derive(Debug, Serialize, Deserialize)]
struct Greeting {
    /// The form of estate that it takes.
    format: u32,
    version: String,
}

/// The successor's last line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Word {
    /// Its daemon runs.
    Ready,
    /// It does not.
    Failed { code: String, message: String },
}

/// A process that waits to go on.
#[derive(Debug)]
pub struct Successor {
    child: Child,
    socket: UnixStream,
}

impl Successor {
    /// Starts a program as the successor, and waits for its greeting. Blocks.
    ///
    /// # Errors
    ///
    /// With the code [`CANNOT_TAKE_OVER`] when the program is of a version that cannot; nothing is
    /// left of it then.
    pub fn start(setting: &Setting, program: &Path) -> Result<Self, Failure> {
        let failed = |error: io::Error| Failure::internal("start the next daemon", error);
        let (socket, theirs) = UnixStream::pair().map_err(failed)?;
        let mut command = Command::new(program);
        command
            .args(["--json", "daemon", "--take-over", "--project"])
            .arg(&setting.dirs.root)
            .current_dir(&setting.dirs.root)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        forget_agent(&mut command);
        let child = command.spawn().map_err(failed)?;
        // The command has the other end, and would keep the socket open after the child's end.
        drop(command);
        let successor = Self { child, socket };
        let greeting: Option<Greeting> = successor.line(GREET_WAIT);
        match greeting {
            Some(greeting) if greeting.format == FORMAT => Ok(successor),
            greeting => {
                successor.dismiss();
                let version = greeting.map_or_else(
                    || "of a version that does not know how".to_owned(),
                    |greeting| format!("version {}, which keeps other books", greeting.version),
                );
                Err(Failure::unavailable(
                    CANNOT_TAKE_OVER,
                    format!("{} cannot take over: it is {version}", program.display()),
                    "stop the daemon and start the new one",
                ))
            }
        }
    }

    /// Gives it the estate, and waits until its daemon runs. Blocks.
    ///
    /// # Errors
    ///
    /// With the estate, when the successor failed; it is certain then that nobody else has it.
    pub fn give(mut self, estate: Estate) -> Result<(), (Box<Estate>, Failure)> {
        let given = self
            .socket
            .set_write_timeout(Some(READY_WAIT))
            .and_then(|()| estate.send(&self.socket));
        let why = match given {
            Err(error) => error.to_string(),
            Ok(()) => match self.line(READY_WAIT) {
                Some(Word::Ready) => {
                    estate.leave();
                    return Ok(());
                }
                Some(Word::Failed { code, message }) => format!("{message} ({code})"),
                None => "it ended without a word, or did not get ready in time".to_owned(),
            },
        };
        // Two must never write the same files.
        self.end();
        let failure = Failure::unavailable(
            "successor_failed",
            format!("the next daemon did not come up: {why}"),
            "see .contextrelay/state/contextrelay.log",
        );
        Err((Box::new(estate), failure))
    }

    /// Sends it away.
    pub fn dismiss(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Its next line, unless it takes too long or says something else.
    fn line<T: for<'de> Deserialize<'de>>(&self, wait: Duration) -> Option<T> {
        self.socket.set_read_timeout(Some(wait)).ok()?;
        let mut line = String::new();
        BufReader::new((&self.socket).take(LINE_BYTES_MAX))
            .read_line(&mut line)
            .ok()?;
        serde_json::from_str(&line).ok()
    }
}

/// The process before this one.
#[derive(Debug)]
pub struct Before {
    socket: UnixStream,
}

impl Before {
    /// Greets it over our standard input, and takes what it leaves. Blocks.
    ///
    /// # Errors
    ///
    /// When standard input leads to no such process, or it gives nothing.
    pub fn estate(setting: &Setting) -> Result<(Self, Estate), Failure> {
        let nobody = |error: io::Error| {
            Failure::new(
                ExitKind::Usage,
                "nothing_to_take_over",
                format!("there is no daemon on standard input: {error}"),
                "this is how one daemon starts the next; use `ctxrelay daemon`",
            )
        };
        let stdin = io::stdin().as_fd().try_clone_to_owned().map_err(nobody)?;
        // Anything but a socket fails here, before something is written to it.
        let socket = UnixStream::from(stdin);
        socket
            .set_read_timeout(Some(ESTATE_WAIT))
            .and_then(|()| socket.set_write_timeout(Some(ESTATE_WAIT)))
            .map_err(nobody)?;
        let before = Self { socket };
        before
            .say(&Greeting {
                format: FORMAT,
                version: env!("CARGO_PKG_VERSION").to_owned(),
            })
            .map_err(nobody)?;
        let estate = Estate::receive(&before.socket, &setting.dirs).map_err(|error| {
            tracing::error!(%error, "nothing was taken over");
            Failure::internal("take over", error)
        })?;
        Ok((before, estate))
    }

    /// Tells it how our daemon's start went. One that has died meanwhile needs no answer.
    pub fn tell(self, failed: Option<&StartError>) {
        let word = match failed {
            None => Word::Ready,
            Some(error) => Word::Failed {
                code: error.code().to_owned(),
                message: error.to_string(),
            },
        };
        if let Err(error) = self.say(&word) {
            tracing::warn!(%error, "the daemon before this one is gone already");
        }
    }

    fn say(&self, what: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(what)?;
        line.push(b'\n');
        (&self.socket).write_all(&line)
    }
}
