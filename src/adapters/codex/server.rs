//! [`AppServer`]: the app-server as a child process, from its spawn to its end.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::net::unix::pipe;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::launch::{
    LaunchEnv, ServerLaunch, Unavailable, cannot_start, held, invalid_configuration, mark,
};
use crate::adapters::hold::{ChildRecord, HeldChild, PassedChild, spawn_held};
use crate::core::hex::hex;

/// From the spawn to the banner. 0.3 s on a free machine; node and a cold disk can take long.
const BANNER_WAIT: Duration = Duration::from_secs(20);

/// Longer lines of standard error are cut.
const LINE_BYTES_MAX: u64 = 8 * 1024;

/// How much of the last line is kept for the reason of an end.
const REASON_CHARS_MAX: usize = 200;

/// Where the app-server is, for the terminal's proxy. The token is no one else's business.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Upstream {
    /// On 127.0.0.1.
    pub(super) port: u16,
    /// Its own token.
    pub(super) token: String,
}

impl std::fmt::Debug for Upstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upstream")
            .field("port", &self.port)
            .finish_non_exhaustive()
    }
}

/// A running app-server.
#[derive(Debug)]
pub(super) struct AppServer {
    child: HeldChild,
    upstream: Upstream,
    last_words: Arc<Mutex<String>>,
    /// The pipe that it writes standard error to; somebody has to read it as long as it runs.
    stderr: OwnedFd,
    listening: AbortHandle,
}

/// An app-server that goes on under another owner.
#[derive(Debug)]
pub(super) struct PassedServer {
    /// Its process.
    pub(super) child: PassedChild,
    /// Where it is.
    pub(super) upstream: Upstream,
    /// Its standard error.
    pub(super) stderr: OwnedFd,
}

impl PassedServer {
    /// The descriptors, in the order in which [`AppServer::take_over`]'s caller takes them.
    pub(super) fn descriptors(&self) -> [BorrowedFd<'_>; 2] {
        [self.child.lifeline(), self.stderr.as_fd()]
    }
}

enum Start {
    Listening(Box<AppServer>),
    PortTaken,
}

impl AppServer {
    /// Starts one on the preferred port, or on a free one when that is taken.
    pub(super) async fn start(
        surroundings: &LaunchEnv,
        launch: &ServerLaunch,
        preferred_port: u16,
    ) -> Result<Self, Unavailable> {
        // Spares a start that is bound to fail; that the port is free now is no promise.
        let free = std::net::TcpListener::bind(("127.0.0.1", preferred_port)).is_ok();
        for port in [preferred_port, 0].into_iter().skip(usize::from(!free)) {
            match Self::start_on(surroundings, launch, port).await? {
                Start::Listening(server) => return Ok(*server),
                Start::PortTaken => {}
            }
        }
        Err(launch.failed("the app-server found no free port".to_owned()))
    }

    async fn start_on(
        surroundings: &LaunchEnv,
        launch: &ServerLaunch,
        port: u16,
    ) -> Result<Start, Unavailable> {
        let token = fresh_token();
        let digest = hex(&Sha256::digest(token.as_bytes()));
        let mut command = held(surroundings, &launch.program);
        command
            .args(launch.arguments(port, surroundings, &digest))
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = spawn_held(command, &mark(surroundings))
            .await
            .map_err(|error| cannot_start(&launch.program, &error))?;
        let Some(stderr) = child.take_stderr() else {
            return Err(launch.failed("the app-server's standard error is missing".to_owned()));
        };
        let again = stderr.as_fd().try_clone_to_owned();
        let Ok(again) = again else {
            child.end().await;
            return Err(launch.failed("no descriptor is left".to_owned()));
        };
        let mut stderr = BufReader::new(stderr);
        let mut last = String::new();
        let listening = timeout(BANNER_WAIT, banner(&mut stderr, &mut last)).await;
        match listening {
            Ok(Banner::Listening(port)) => {
                // The banner is our child's own word for what it bound: nobody else can answer
                // there.
                let last_words = Arc::new(Mutex::new(String::new()));
                let listening = tokio::spawn(listen(stderr, Arc::clone(&last_words)));
                Ok(Start::Listening(Box::new(Self {
                    child,
                    upstream: Upstream { port, token },
                    last_words,
                    stderr: again,
                    listening: listening.abort_handle(),
                })))
            }
            Ok(Banner::PortTaken) => {
                child.end().await;
                Ok(Start::PortTaken)
            }
            Ok(Banner::InvalidConfiguration) => {
                child.end().await;
                Err(invalid_configuration())
            }
            Ok(Banner::Ended) => {
                child.end().await;
                let said = if last.is_empty() {
                    "it said nothing".to_owned()
                } else {
                    last
                };
                Err(launch.failed(format!("codex app-server ended at its start: {said}")))
            }
            Err(_) => {
                child.end().await;
                Err(launch.failed(format!(
                    "codex app-server did not come up within {} s",
                    BANNER_WAIT.as_secs()
                )))
            }
        }
    }

    /// Takes on an app-server that an earlier owner left running.
    pub(super) fn take_over(passed: PassedServer) -> std::io::Result<Self> {
        let stderr = pipe::Receiver::from_owned_fd(passed.stderr.try_clone()?)?;
        let last_words = Arc::new(Mutex::new(String::new()));
        let words = Arc::clone(&last_words);
        Ok(Self {
            child: HeldChild::take_over(passed.child)?,
            upstream: passed.upstream,
            last_words,
            listening: tokio::spawn(listen(BufReader::new(stderr), words)).abort_handle(),
            stderr: passed.stderr,
        })
    }

    /// Leaves it running for another owner.
    pub(super) fn pass(self) -> std::io::Result<PassedServer> {
        // What it says from now on is for the next to read.
        self.listening.abort();
        Ok(PassedServer {
            child: self.child.pass()?,
            upstream: self.upstream,
            stderr: self.stderr,
        })
    }

    /// Where it is.
    pub(super) fn upstream(&self) -> &Upstream {
        &self.upstream
    }

    /// What is needed to find it again.
    pub(super) fn record(&self) -> &ChildRecord {
        self.child.record()
    }

    /// Waits until it is gone and says why. May be dropped and called again.
    pub(super) async fn gone(&mut self) -> String {
        let how = match self.child.gone().await {
            Ok(Some(0)) => "it ended by itself".to_owned(),
            Ok(Some(code)) if code > 128 => format!("signal {}", code - 128),
            Ok(Some(code)) => format!("exit code {code}"),
            Ok(None) => "its hold was killed".to_owned(),
            Err(error) => error.to_string(),
        };
        match self.last_words() {
            said if said.is_empty() => format!("the app-server is gone: {how}"),
            said => format!("the app-server is gone: {how}, after: {said}"),
        }
    }

    fn last_words(&self) -> String {
        match self.last_words.lock() {
            Ok(words) => words.clone(),
            Err(poisoned) => poisoned.into_inner().clone(),
        }
    }

    /// Ends it: SIGTERM, two seconds, SIGKILL.
    pub(super) async fn end(self) {
        self.child.end().await;
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Banner {
    Listening(u16),
    PortTaken,
    InvalidConfiguration,
    Ended,
}

/// Reads standard error up to the banner. The complaint about the configuration stands before it
/// (Codex 0.169.0, observed).
async fn banner(stderr: &mut (impl AsyncBufRead + Unpin), last: &mut String) -> Banner {
    while let Some(line) = next_line(stderr).await {
        if line.contains("Invalid configuration") {
            return Banner::InvalidConfiguration;
        }
        if line.contains("Address in use") || line.contains("Address already in use") {
            return Banner::PortTaken;
        }
        if let Some(port) = line
            .split_once("listening on: ws://")
            .and_then(|(_, address)| address.trim().rsplit_once(':'))
            .and_then(|(_, port)| port.parse().ok())
        {
            return Banner::Listening(port);
        }
        let words = plain(&line);
        // What is wrong with its arguments stands first, and how to get help last.
        if !words.is_empty() && !last.starts_with("error") {
            *last = words;
        }
    }
    Banner::Ended
}

/// Reads on for ever: a full pipe would stop the app-server.
async fn listen(mut stderr: impl AsyncBufRead + Unpin, last_words: Arc<Mutex<String>>) {
    while let Some(line) = next_line(&mut stderr).await {
        // Warnings about the surroundings are no reason for an end; errors may be.
        if let (true, Ok(mut words)) = (
            line.starts_with("Error") || line.contains("panicked"),
            last_words.lock(),
        ) {
            *words = plain(&line);
        }
    }
}

async fn next_line(stderr: &mut (impl AsyncBufRead + Unpin)) -> Option<String> {
    let mut line = Vec::new();
    let read = stderr
        .take(LINE_BYTES_MAX)
        .read_until(b'\n', &mut line)
        .await;
    match read {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(String::from_utf8_lossy(&line).into_owned()),
    }
}

/// A line for people: without control characters, and not long.
fn plain(line: &str) -> String {
    line.trim()
        .chars()
        .filter(|c| !c.is_control())
        .take(REASON_CHARS_MAX)
        .collect()
}

/// 64 hex digits from the operating system's generator.
fn fresh_token() -> String {
    format!(
        "{}{}",
        uuid::Uuid::new_v4().simple(),
        uuid::Uuid::new_v4().simple()
    )
}

#[cfg(test)]
#[path = "tests/server.rs"]
mod tests;
