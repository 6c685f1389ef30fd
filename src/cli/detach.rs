//! [`start`] and [`ensure`]: a daemon in the background.
//!
//! The child says on its standard output, in one line of JSON, that it is ready or why it cannot
//! be; nothing has to be guessed from its being alive.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde::Deserialize;
use tokio::time::timeout;

use super::connect::{self, Found, Live};
use super::exit::{ExitKind, Failure};
use crate::client::{Connection, WebsocketOptions, connect as dial, forget_agent, project_dial};
use crate::host::Setting;
use crate::store::dirs::Published;
use crate::wire::control::Role;

/// How long a daemon may take to be ready. It takes milliseconds, on a long ledger some more.
const READY_WAIT: Duration = Duration::from_secs(30);

/// How long another daemon, which took the lock before ours did, may take to answer.
const OTHER_WAIT: Duration = Duration::from_secs(10);

/// More than the child's one line is long.
const LINE_BYTES_MAX: u64 = 64 * 1024;

/// What the child says.
#[derive(Debug, Deserialize)]
struct Said {
    #[serde(default)]
    error: Option<SaidError>,
}

#[derive(Debug, Deserialize)]
struct SaidError {
    code: String,
    message: String,
    hint: String,
}

/// Starts a daemon in the background and waits until it answers; takes the one that runs if
/// there is one.
///
/// # Errors
///
/// When none can be started, with the child's own reason.
pub fn start(setting: &Setting, clears_kill: bool) -> Result<Published, Failure> {
    match spawn(setting, clears_kill) {
        Ok(()) => {}
        Err(failure) if failure.code == "already_running" => {}
        Err(failure) => return Err(failure),
    }
    connect::runtime()?.block_on(answering(setting))?;
    Published::read(&setting.dirs).ok_or_else(Failure::no_daemon)
}

/// The running daemon, or a new one in the background: an explicit start by a person.
///
/// # Errors
///
/// As [`start`]; and when something that is no daemon of ours answers.
pub fn ensure(setting: &Setting) -> Result<(), Failure> {
    match connect::runtime()?.block_on(connect::control(setting)) {
        Found::Live(_) => Ok(()),
        Found::Nobody => start(setting, true).map(drop),
        unfit @ Found::Unfit(_) => connect::needed(unfit).map(drop),
    }
}

/// Waits for a daemon that is about to answer.
async fn answering(setting: &Setting) -> Result<Live, Failure> {
    let client = dial(WebsocketOptions {
        dial: project_dial(setting.dirs.clone(), None),
        hello: setting.hello(Role::Cli, None),
        on_connect: Vec::new(),
    });
    let mut connection = client.connection();
    let state = {
        let settled = connection.wait_for(|state| !matches!(state, Connection::Connecting { .. }));
        match timeout(OTHER_WAIT, settled).await {
            Ok(Ok(state)) => state.clone(),
            _ => return Err(Failure::no_daemon()),
        }
    };
    match state {
        Connection::Connected(welcome) => Ok(Live { client, welcome }),
        _ => Err(Failure::unavailable(
            "killed",
            "the daemon of this project was killed by the operator",
            "start it with `ctxrelay` or `ctxrelay daemon`",
        )),
    }
}

fn spawn(setting: &Setting, clears_kill: bool) -> Result<(), Failure> {
    let mut command = Command::new(&setting.own_program);
    command
        .args(["--json", "daemon", "--detached-child"])
        .args((!clears_kill).then_some("--unless-killed"))
        .arg("--project")
        .arg(&setting.dirs.root)
        .current_dir(&setting.dirs.root)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    forget_agent(&mut command);
    let mut child = command
        .spawn()
        .map_err(|error| Failure::internal("start the daemon", error))?;
    let said = child
        .stdout
        .take()
        .and_then(|stdout| first_line(stdout, READY_WAIT));
    let Some(said) = said.and_then(|line| serde_json::from_str::<Said>(&line).ok()) else {
        // It hangs, or ended without a word. A hanging one must not come up later unasked.
        let _ = child.kill();
        let _ = child.wait();
        return Err(Failure::unavailable(
            "daemon_silent",
            format!(
                "the daemon did not get ready within {} s",
                READY_WAIT.as_secs()
            ),
            "see .contextrelay/state/contextrelay.log",
        ));
    };
    match said.error {
        None => Ok(()),
        Some(error) => {
            let code = child.wait().ok().and_then(|status| status.code());
            Err(Failure::new(
                kind(code),
                &error.code,
                error.message,
                error.hint,
            ))
        }
    }
}

/// The child's exit code is the kind of its failure.
fn kind(code: Option<i32>) -> ExitKind {
    [
        ExitKind::Usage,
        ExitKind::State,
        ExitKind::Unavailable,
        ExitKind::Refused,
    ]
    .into_iter()
    .find(|kind| code == Some(kind.code().into()))
    .unwrap_or(ExitKind::Internal)
}

fn first_line(stdout: ChildStdout, wait: Duration) -> Option<String> {
    let (said, line) = mpsc::channel();
    // A read of a pipe has no deadline, so it gets a thread that nobody has to join.
    std::thread::Builder::new()
        .name("await-daemon".to_owned())
        .spawn(move || {
            let mut line = String::new();
            let read = BufReader::new(stdout.take(LINE_BYTES_MAX)).read_line(&mut line);
            // Nobody waits any more: the deadline has passed.
            let _ = said.send(read.ok().map(|_| line));
        })
        .ok()?;
    line.recv_timeout(wait).ok().flatten()
}
