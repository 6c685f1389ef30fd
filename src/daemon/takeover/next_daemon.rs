//! [`NextDaemon`]: the process that takes this one's place, seen from here; and [`PreviousDaemon`]:
//! the process before this one, seen from the other side.
//!
//! They talk over a Unix socket that is the next process's standard input: it greets with the
//! takeover format that it knows, gets a copy of the takeover, and says in one line that its daemon
//! can run or why not. Then this process lets go and says so, or carries on with what it has; the
//! next process has touched nothing until then. No secret is in an argument, in the environment or
//! on the disk.
//!
//! ```text
//!  previous                            next
//!         <──────────── greeting, or failed
//!    comes to a halt
//!         takeover ──────────────────>
//!                                       opens what is in the files
//!         <──────────── ready, or failed
//!         commit ("yours") ──────────>  serves; an end of the socket means the same, because then
//!    ends                               nobody else is left
//! ```

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;

use super::next_daemon_error::NextDaemonError;
use super::{FORMAT, Takeover, TakeoverError};
use crate::daemon::start_error::StartError;
use crate::store::dirs::ProjectDirs;
use crate::store::write_probe::write_probe;

/// From the start of the next process to its greeting. It takes milliseconds.
const GREET_WAIT: Duration = Duration::from_secs(10);

/// How long the next process may take to have its daemon run: milliseconds, on a long ledger more.
const READY_WAIT: Duration = Duration::from_secs(30);

/// How long the daemon before may take to come to a halt. Above its own deadlines together.
const TAKEOVER_WAIT: Duration = Duration::from_secs(30);

/// From the last line of the next process to the commit of the previous one, which waits for it.
const COMMIT_WAIT: Duration = Duration::from_secs(10);

/// More than a line between the two is long.
const LINE_BYTES_MAX: u64 = 64 * 1024;

/// The first line of the next process.
#[derive(Debug, Serialize, Deserialize)]
struct Greeting {
    /// The form of takeover that it knows.
    format: u32,
    version: String,
}

/// The last line of the next process.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Word {
    /// Its daemon can run.
    Ready,
    /// It cannot.
    Failed { code: String, message: String },
}

impl Word {
    /// Why its daemon cannot run.
    fn why_not(self) -> String {
        match self {
            Self::Failed { code, message } => format!("{message} ({code})"),
            Self::Ready => "it said that it was ready before it had anything".to_owned(),
        }
    }
}

/// What the next process says first.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum FirstLine {
    Greeting(Greeting),
    /// It knows already that its daemon cannot run.
    Word(Word),
}

/// The last line of the previous process.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum LastWord {
    /// What was sent belongs to the next process.
    #[serde(rename = "yours")]
    Commit,
}

/// A process that waits to go on.
#[derive(Debug)]
pub struct NextDaemon {
    child: Child,
    socket: UnixStream,
}

impl NextDaemon {
    /// Starts the program of a command as the next process, and waits for its greeting. Blocks.
    ///
    /// # Errors
    ///
    /// [`NextDaemonError::OtherVersion`] when the program is of a version that cannot; nothing is
    /// left of it then.
    pub fn start(mut command: Command) -> Result<Self, NextDaemonError> {
        let program = PathBuf::from(command.get_program());
        let not_started = |source| NextDaemonError::NotStarted {
            program: program.clone(),
            source,
        };
        let (socket, theirs) = UnixStream::pair().map_err(not_started)?;
        command
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = command.spawn().map_err(not_started)?;
        // The command has the other end, and would keep the socket open after the child's end.
        drop(command);
        let next = Self { child, socket };
        let version = match next.line(GREET_WAIT) {
            Some(FirstLine::Greeting(greeting)) if greeting.format == FORMAT => return Ok(next),
            Some(FirstLine::Greeting(greeting)) => {
                format!("version {}, which keeps other books", greeting.version)
            }
            Some(FirstLine::Word(word)) => {
                next.dismiss();
                return Err(NextDaemonError::NotUp(word.why_not()));
            }
            None => "of a version that does not know how".to_owned(),
        };
        next.dismiss();
        Err(NextDaemonError::OtherVersion { program, version })
    }

    /// Gives it the takeover, once its daemon can run. Blocks.
    ///
    /// # Errors
    ///
    /// With the takeover, when the next process failed; it is certain then that nobody else has it.
    pub fn give(mut self, takeover: Takeover) -> Result<(), (Box<Takeover>, NextDaemonError)> {
        let given = self
            .socket
            .set_write_timeout(Some(READY_WAIT))
            .and_then(|()| takeover.send(&self.socket));
        let why = match given {
            Err(error) => error.to_string(),
            Ok(()) => match self.line(READY_WAIT) {
                Some(Word::Ready) => match say(&self.socket, &LastWord::Commit) {
                    Ok(()) => {
                        takeover.leave();
                        return Ok(());
                    }
                    Err(error) => format!("it ended before it began: {error}"),
                },
                Some(word) => word.why_not(),
                None => "it ended without a word, or did not get ready in time".to_owned(),
            },
        };
        // Two must never write the same files.
        self.end();
        Err((Box::new(takeover), NextDaemonError::NotUp(why)))
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
pub struct PreviousDaemon {
    socket: UnixStream,
}

impl PreviousDaemon {
    /// Greets it over our standard input, and takes what it leaves. Blocks.
    ///
    /// # Errors
    ///
    /// When standard input leads to no such process, or it gives nothing.
    pub fn takeover(dirs: &ProjectDirs) -> Result<(Self, Takeover), TakeoverError> {
        let nobody = TakeoverError::Nobody;
        let stdin = io::stdin().as_fd().try_clone_to_owned().map_err(nobody)?;
        // Anything but a socket fails here, before something is written to it.
        let socket = UnixStream::from(stdin);
        socket
            .set_read_timeout(Some(TAKEOVER_WAIT))
            .and_then(|()| socket.set_write_timeout(Some(TAKEOVER_WAIT)))
            .map_err(nobody)?;
        let before = Self { socket };
        // Said now, while the one before has stopped nothing yet.
        if let Err(source) = write_probe(&dirs.state) {
            let path = dirs.state.clone();
            let error = StartError::unwritten(path, source, None);
            before.refuse(&error);
            return Err(error.into());
        }
        let greeting = Greeting {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        say(&before.socket, &greeting).map_err(nobody)?;
        let takeover = Takeover::receive(&before.socket, dirs)
            .inspect_err(|error| tracing::error!(%error, "nothing was taken over"))?;
        Ok((before, takeover))
    }

    /// Says that our daemon can run, and waits until what was sent is ours; whether it is.
    ///
    /// Ours it is as well when the other process is gone: then nobody else has it. Not so when it is
    /// silent, for it may go on with it yet.
    pub async fn commit(self: Arc<Self>) -> bool {
        spawn_blocking(move || self.committed_within(COMMIT_WAIT))
            .await
            .unwrap_or(false)
    }

    fn committed_within(&self, wait: Duration) -> bool {
        if let Err(error) = say(&self.socket, &Word::Ready) {
            tracing::warn!(%error, "the daemon before this one is gone already");
            return error.kind() == io::ErrorKind::BrokenPipe;
        }
        let mut said = Vec::new();
        let mut socket = (&self.socket).take(LINE_BYTES_MAX);
        let heard = self
            .socket
            .set_read_timeout(Some(wait))
            .and_then(|()| BufReader::new(&mut socket).read_until(b'\n', &mut said));
        match heard {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => {
                tracing::error!(%error, "the daemon before this one does not let go");
                // From here on its word does not reach us, and it hears of that when it says it.
                // One that came in the last moment counts.
                let _ = self.socket.shutdown(Shutdown::Read);
                let _ = socket.read_to_end(&mut said);
            }
        }
        serde_json::from_slice(&said).is_ok_and(|word: LastWord| word == LastWord::Commit)
    }

    /// Says that our daemon cannot run. One that has died meanwhile needs no answer.
    pub fn refuse(&self, error: &StartError) {
        let word = Word::Failed {
            code: error.code().to_string(),
            message: error.to_string(),
        };
        if let Err(error) = say(&self.socket, &word) {
            tracing::warn!(%error, "the daemon before this one is gone already");
        }
    }
}

fn say(mut socket: &UnixStream, what: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    socket.write_all(&line)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(20);

    fn sockets() -> (UnixStream, PreviousDaemon) {
        let (theirs, socket) = UnixStream::pair().unwrap();
        (theirs, PreviousDaemon { socket })
    }

    #[test]
    fn the_takeover_is_ours_when_it_is_said_so() {
        let (theirs, before) = sockets();
        say(&theirs, &LastWord::Commit).unwrap();
        assert!(before.committed_within(SOON));
        let mut said = String::new();
        BufReader::new(&theirs).read_line(&mut said).unwrap();
        assert!(matches!(serde_json::from_str(&said), Ok(Word::Ready)));
    }

    #[test]
    fn the_takeover_is_ours_when_the_other_died_before_or_after_our_word() {
        let (theirs, before) = sockets();
        drop(theirs);
        // A process that another test begins has a copy of it until its program takes its place.
        assert!(before.committed_within(COMMIT_WAIT));
        let (theirs, before) = sockets();
        let dying = std::thread::spawn(move || {
            let mut said = String::new();
            BufReader::new(&theirs).read_line(&mut said).unwrap();
        });
        assert!(before.committed_within(COMMIT_WAIT));
        dying.join().unwrap();
    }

    #[test]
    fn one_that_is_silent_keeps_it_and_hears_that_it_was_too_late() {
        let (theirs, before) = sockets();
        assert!(!before.committed_within(SOON));
        let late = say(&theirs, &LastWord::Commit).unwrap_err();
        assert_eq!(late.kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn one_that_cannot_run_says_so_before_anything_is_given_to_it() {
        let mut command = Command::new("sh");
        let word = r#"{"failed":{"code":"unwritable","message":"the disk is full"}}"#;
        command.args(["-c", &format!("echo '{word}' >&0")]);
        let error = NextDaemon::start(command).unwrap_err().to_string();
        assert!(error.contains("the disk is full (unwritable)"), "{error}");
    }

    #[test]
    fn another_word_is_no_yes() {
        for word in ["\n", "no\n", "{}\n"] {
            let (mut theirs, before) = sockets();
            theirs.write_all(word.as_bytes()).unwrap();
            assert!(!before.committed_within(SOON), "{word:?}");
        }
    }
}
