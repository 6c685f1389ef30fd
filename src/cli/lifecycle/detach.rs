//! [`start`] and [`ensure`]: a daemon in the background.
//!
//! The child reports on its standard output, in one line of JSON, that it is ready or why it cannot
//! be; nothing has to be inferred from the fact that it runs.

use std::io::{self, BufRead as _, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde::Deserialize;
use tokio::time::sleep;

use crate::cli::connection::connect::{self, DaemonFound, Live};
use crate::cli::connection::lock_owner;
use crate::cli::connection::operator;
use crate::cli::connection::state_elsewhere::StateElsewhere;
use crate::cli::context::CliContext;
use crate::cli::exit::{ExitKind, Failure};
use crate::cli::text::gauge::Gauge;
use crate::client::{
    ClientError, Connection, WebsocketOptions, connect as dial, forget_agent, project_dial,
};
use crate::host::ProjectContext;
use crate::store::owner::is_held;
use crate::store::published::Published;
use crate::store::shown_reading::ShownReading;
use crate::wire::control::{ProgramCode, Refusal, RefusalCode, Role};

/// How long a daemon may take to be ready, or to read on. It takes milliseconds, on a long ledger
/// some more.
const READY_WAIT: Duration = Duration::from_secs(30);

/// How long another daemon, which took the lock before ours did, may take to answer.
const OTHER_WAIT: Duration = Duration::from_secs(10);

/// How often it is started where others take the lock first and end: more than start at once.
const STARTS_MAX: usize = 8;

/// How often it is looked meanwhile whether that one still has the lock.
const FREE_LOOK: Duration = Duration::from_millis(20);

/// From the end of a child's output to its own end, which mostly are one.
const EXIT_WAIT: Duration = Duration::from_secs(2);

/// How often it is looked how far a child is that reads.
const READING_LOOK: Duration = Duration::from_millis(100);

/// How often a child is looked at that is about to end.
const EXIT_LOOK: Duration = Duration::from_millis(10);

/// More than the child's one line is long.
const LINE_BYTES_MAX: u64 = 64 * 1024;

/// What the child says.
#[derive(Debug, Deserialize)]
struct Said {
    error: Option<Refusal>,
}

/// What came of waiting for the child's line.
#[derive(Debug, PartialEq, Eq)]
enum Heard {
    Line(String),
    /// The child's output ended without one.
    End,
    /// Nothing in time.
    Nothing,
}

/// Starts a daemon in the background and waits until it answers, with the gauge while it reads a
/// long record; takes the one that runs if there is one.
///
/// # Errors
///
/// When none can be started, with the child's own reason.
pub fn start(context: &CliContext, clears_kill: bool) -> Result<Published, Failure> {
    let gauge = Gauge::of_reading(context.out.is_json());
    start_with(&context.project, clears_kill, gauge)
}

/// As [`start`] by a person who had a daemon of this project, where the terminal is not ours to write
/// to. Where the record is not there any more, none is begun in its place.
///
/// # Errors
///
/// As [`start`], and when the project is not where it was.
pub fn start_again_unseen(project: &ProjectContext) -> Result<Published, Failure> {
    if !project.dirs.relay.is_dir() {
        return Err(gone(project));
    }
    start_with(project, true, Gauge::of_reading(true))
}

fn gone(project: &ProjectContext) -> Failure {
    Failure::state(
        RefusalCode::FolderLost,
        ClientError::ProjectGone(project.dirs.root.clone()).to_string(),
        "run `ctxrelay` where it is now, or move it back",
    )
}

fn start_with(
    project: &ProjectContext,
    clears_kill: bool,
    mut gauge: Gauge,
) -> Result<Published, Failure> {
    if let Some(elsewhere) = StateElsewhere::of(project) {
        return Err(elsewhere.failure());
    }
    if !project.dirs.root.is_dir() {
        return Err(gone(project));
    }
    if clears_kill {
        // The child looks again: there may be a mark by then.
        operator::lifts_kill(project)?;
    }
    for _ in 0..STARTS_MAX {
        match spawn(project, clears_kill, &mut gauge) {
            Ok(()) => {}
            Err(failure) if failure.code == ProgramCode::AlreadyRunning.into() => {}
            Err(failure) => return Err(failure),
        }
        // Else the one that had the lock was ending, or could not start: a start of our own says why.
        if connect::wait_for(answering(project))?.is_some() {
            return Published::read(&project.dirs).ok_or_else(Failure::no_daemon);
        }
    }
    Err(Failure::no_daemon())
}

/// The running daemon, or a new one in the background: an explicit start by a person.
///
/// # Errors
///
/// As [`start`]; and when something that is no daemon of ours answers.
pub fn ensure(context: &CliContext) -> Result<(), Failure> {
    match connect::runtime()?.block_on(connect::control(&context.project)) {
        DaemonFound::Live(_) => Ok(()),
        DaemonFound::Nobody => start(context, true).map(drop),
        unfit @ DaemonFound::Unfit(_) => connect::needed(&context.project, unfit).map(drop),
    }
}

/// Waits for a daemon that is about to answer; `None` once nobody has the project any more.
async fn answering(project: &ProjectContext) -> Result<Option<Live>, Failure> {
    let client = dial(WebsocketOptions {
        dial: project_dial(project.dirs.clone(), Role::Cli, None),
        hello: project.hello(Role::Cli, None),
        on_connect: Vec::new(),
    });
    let mut connection = client.connection();
    let state = {
        let settled = connection.wait_for(|state| match state {
            Connection::Connecting { refusal, .. } => refusal
                .as_ref()
                .is_some_and(Refusal::is_of_another_protocol),
            _ => true,
        });
        let free = async {
            while is_held(&project.dirs) {
                sleep(FREE_LOOK).await;
            }
        };
        tokio::select! {
            Ok(state) = settled => state.clone(),
            () = free => return Ok(None),
            () = sleep(OTHER_WAIT) => return Err(holds_and_is_silent(project)),
        }
    };
    match state {
        Connection::Connected(welcome) => Ok(Some(Live { client, welcome })),
        Connection::Connecting { why, .. } => {
            connect::needed(project, DaemonFound::Unfit(why)).map(Some)
        }
        _ => Err(Failure::unavailable(
            ProgramCode::Killed,
            "the daemon of this project was killed by the operator",
            "start it with `ctxrelay` or `ctxrelay daemon`",
        )),
    }
}

fn holds_and_is_silent(project: &ProjectContext) -> Failure {
    let pid = lock_owner::owner(&project.dirs)
        .map_or_else(String::new, |pid| format!(", process {}", pid.as_raw_pid()));
    Failure::unavailable(
        RefusalCode::DaemonUnreachable,
        format!("the daemon of this project runs (holds the lock{pid}) but does not answer"),
        "stop it with `ctxrelay kill`, then start it again",
    )
}

fn spawn(project: &ProjectContext, clears_kill: bool, gauge: &mut Gauge) -> Result<(), Failure> {
    let mut command = Command::new(&project.own_program);
    command
        .args(["--json", "daemon", "--detached-child"])
        .args((!clears_kill).then_some("--unless-killed"))
        .arg("--project")
        .arg(&project.dirs.root)
        .current_dir(&project.dirs.root)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    forget_agent(&mut command);
    let child = command
        .spawn()
        .map_err(|error| Failure::internal("start the daemon", error))?;
    let mut before = None;
    ready(child, READY_WAIT, || {
        let Some(so_far) = ShownReading::read(&project.dirs) else {
            return false;
        };
        gauge.tell_reading(so_far);
        before.replace(so_far.bytes) != Some(so_far.bytes)
    })
}

/// Waits until the child says that it is ready; `goes_on`: whether it is further than it was when
/// that was asked before, for then it is waited for as long once more.
fn ready(mut child: Child, wait: Duration, goes_on: impl FnMut() -> bool) -> Result<(), Failure> {
    let heard = match child.stdout.take() {
        Some(stdout) => first_line(stdout, wait, goes_on),
        None => Ok(Heard::End),
    };
    let failure = match heard {
        Ok(Heard::Line(line)) => match serde_json::from_str::<Said>(&line) {
            Ok(Said { error: None }) => return Ok(()),
            Ok(Said { error: Some(error) }) => {
                let code = child.wait().ok().and_then(|status| status.code());
                return Err(Failure::new(
                    kind(code),
                    // As a word: a failure knows the codes of programs too, and a refusal's does not.
                    error.code.to_string(),
                    error.message,
                    error.hint,
                ));
            }
            Err(_) => silent("the daemon did not say that it is ready, but something else"),
        },
        Ok(Heard::End) => match exit(&mut child) {
            Some(status) => died(status),
            None => silent("the daemon closed its output before it was ready"),
        },
        Ok(Heard::Nothing) => silent(format!(
            "the daemon did not get ready within {} s",
            wait.as_secs()
        )),
        Err(error) => Failure::internal("wait for the daemon", error),
    };
    // A hanging one must not come up later unasked.
    let _ = child.kill();
    let _ = child.wait();
    Err(failure)
}

fn silent(message: impl Into<String>) -> Failure {
    Failure::unavailable(
        ProgramCode::DaemonSilent,
        message,
        "see .contextrelay/state/contextrelay.log",
    )
}

/// It ended at once and did not say why: it was killed, or panicked.
fn died(status: ExitStatus) -> Failure {
    Failure::unavailable(
        ProgramCode::DaemonDied,
        format!("the daemon ended before it was ready ({status})"),
        "see .contextrelay/state/contextrelay.log; `ctxrelay daemon` starts it in this terminal",
    )
}

/// How a child ended whose output has ended; `None` when it lives on without.
fn exit(child: &mut Child) -> Option<ExitStatus> {
    let deadline = Instant::now() + EXIT_WAIT;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(EXIT_LOOK),
            Ok(None) | Err(_) => return None,
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

fn first_line(
    stdout: impl Read + Send + 'static,
    wait: Duration,
    mut goes_on: impl FnMut() -> bool,
) -> io::Result<Heard> {
    let (said, line) = mpsc::channel();
    // A read of a pipe has no deadline, so it gets a thread that nobody has to join.
    std::thread::Builder::new()
        .name("await-daemon".to_owned())
        .spawn(move || {
            let mut line = String::new();
            let read = BufReader::new(stdout.take(LINE_BYTES_MAX)).read_line(&mut line);
            let heard = match read {
                Ok(0) => Ok(Heard::End),
                Ok(_) => Ok(Heard::Line(line)),
                Err(error) => Err(error),
            };
            // Nobody waits any more: the deadline has passed.
            let _ = said.send(heard);
        })?;
    let mut deadline = Instant::now() + wait;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match line.recv_timeout(left.min(READING_LOOK)) {
            Ok(heard) => return heard,
            Err(_) if goes_on() => deadline = Instant::now() + wait,
            Err(_) if left.is_zero() => return Ok(Heard::Nothing),
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Far above what a shell takes.
    const LONG: Duration = Duration::from_secs(20);

    fn child(script: &str) -> Child {
        Command::new("/bin/sh")
            .args(["-c", script])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    #[test]
    fn an_output_without_a_line_is_told_from_one_that_stays_open() {
        let heard = |text: &'static str| first_line(text.as_bytes(), LONG, || false).unwrap();
        assert_eq!(heard(""), Heard::End);
        assert_eq!(heard("one\ntwo\n"), Heard::Line("one\n".to_owned()));
        let (open, _writer) = io::pipe().unwrap();
        let heard = first_line(open, Duration::from_millis(20), || false).unwrap();
        assert_eq!(heard, Heard::Nothing);
    }

    #[test]
    fn a_daemon_that_dies_at_once_is_reported_with_how_it_ended() {
        for (script, how) in [("exit 7", "exit status: 7"), ("kill -9 $$", "signal: 9")] {
            let failure = ready(child(script), LONG, || false).unwrap_err();
            assert_eq!(failure.code, ProgramCode::DaemonDied.into(), "{failure}");
            assert_eq!(failure.kind.code(), 4);
            assert!(failure.message.contains(how), "{failure}");
        }
    }

    #[test]
    fn a_daemon_that_hangs_or_babbles_is_ended() {
        let failure =
            ready(child("exec sleep 60"), Duration::from_millis(50), || false).unwrap_err();
        assert_eq!(failure.code, ProgramCode::DaemonSilent.into());
        assert!(failure.message.contains("did not get ready within"));
        let failure = ready(child("echo hello; exec sleep 60"), LONG, || false).unwrap_err();
        assert_eq!(failure.code, ProgramCode::DaemonSilent.into());
        assert!(failure.message.contains("something else"), "{failure}");
    }

    #[test]
    fn a_daemon_that_is_ready_or_says_why_not_is_taken_at_its_word() {
        assert_eq!(
            ready(child(r#"echo '{"ready":true}'"#), LONG, || false),
            Ok(())
        );
        let refused = r#"echo '{"error":{"code":"killed","message":"m","hint":"h"}}'; exit 4"#;
        let failure = ready(child(refused), LONG, || false).unwrap_err();
        assert_eq!(
            failure,
            Failure::new(ExitKind::Unavailable, ProgramCode::Killed, "m", "h")
        );
    }
}
