//! [`hold`]: the process between an owner and its child.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::thread;

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, wait, waitpgid};
use tokio::signal::unix::{self, SignalKind, signal};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};

use super::process::{GRACE, LOOK, everybody, group_exists, pid, signal_group, stat};
use super::{Report, WITH_ALL};

/// The shell's codes for "cannot be executed" and "not found".
const CANNOT_EXECUTE: i32 = 126;
const NOT_FOUND: i32 = 127;

/// Runs `ctxrelay hold -- CMD ARGS…` to its end and returns the exit code: the child's own, or
/// 128 plus the signal that ended it, as a shell has it.
///
/// `args` are those behind `hold`; a leading `--` is taken off. The child gets an empty standard
/// input and shares the other two. At the end of our standard input, and at SIGTERM, SIGINT or
/// SIGHUP, the child's whole group gets SIGTERM and two seconds later SIGKILL. What is left of
/// the group when the child exits by itself ends in the same way; with [`WITH_ALL`], so does what
/// left the group. Prints nothing.
///
/// It begins a session, in which nobody has a terminal: neither does a ctrl-c in the owner's reach
/// the child, nor can the child read what is typed there, write over a deck or type into it. That
/// fails for the leader of a group alone, as which no owner starts it.
pub fn hold(args: Vec<OsString>) -> i32 {
    let _ = rustix::process::setsid();
    let mut args = args.into_iter().peekable();
    args.next_if(|arg| arg == "--");
    let ends_all = args.next_if(|arg| arg == WITH_ALL).is_some();
    let Some(program) = args.next() else {
        report(&Report::Failed("no command was given".to_owned()));
        return NOT_FOUND;
    };
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            report(&Report::Failed(format!("no runtime: {error}")));
            return CANNOT_EXECUTE;
        }
    };
    let code = runtime.block_on(async {
        let code = keep(program, args.collect()).await;
        if ends_all {
            end_strays().await;
        }
        code
    });
    report(&Report::Ended(code));
    code
}

async fn keep(program: OsString, args: Vec<OsString>) -> i32 {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).process_group(0);
    // What a killed wrapper, or a command of the child, leaves behind then becomes ours and can be
    // waited for. Only Linux has it; elsewhere the first process of the system reaps them.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));

    // The handlers stand before the child does, so that no signal falls into a gap.
    let ending = ending();
    let mut ended = match signal(SignalKind::child()) {
        Ok(ended) => ended,
        Err(error) => {
            report(&Report::Failed(error.to_string()));
            return CANNOT_EXECUTE;
        }
    };
    let child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            let code = match error.kind() {
                io::ErrorKind::NotFound => NOT_FOUND,
                _ => CANNOT_EXECUTE,
            };
            report(&Report::Failed(error.to_string()));
            return code;
        }
    };
    let Some(group) = pid(child.id()) else {
        return CANNOT_EXECUTE;
    };
    report(&Report::Pid(group.as_raw_nonzero().get().unsigned_abs()));

    let exited = tokio::select! {
        status = exit_of(group, &mut ended) => Some(status),
        () = ending => None,
    };
    end_group(&mut ended, exited, group).await
}

/// Completes when the owner is gone or somebody wants us to end.
fn ending() -> impl Future<Output = ()> {
    let (gone, owner_gone) = oneshot::channel();
    // A thread, because standard input may be anything: a socket, a pipe, a terminal, a file. It
    // is never joined; the process ends with `hold`.
    thread::spawn(move || {
        let mut ignored = [0_u8; 256];
        let mut stdin = io::stdin().lock();
        loop {
            match stdin.read(&mut ignored) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        let _ = gone.send(());
    });
    let signals = [
        SignalKind::terminate(),
        SignalKind::interrupt(),
        SignalKind::hangup(),
    ]
    .map(signal);
    async move {
        let [mut terminate, mut interrupt, mut hangup] = signals.map(Result::ok);
        tokio::select! {
            _ = owner_gone => {}
            () = received(&mut terminate) => {}
            () = received(&mut interrupt) => {}
            () = received(&mut hangup) => {}
        }
    }
}

async fn received(signal: &mut Option<unix::Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// SIGTERM, grace, SIGKILL: until no member of the group is left.
async fn end_group(
    ended: &mut unix::Signal,
    mut exited: Option<io::Result<WaitStatus>>,
    group: Pid,
) -> i32 {
    let deadline = Instant::now() + GRACE;
    signal_group(group, Signal::TERM);
    if exited.is_none() {
        exited = timeout(GRACE, exit_of(group, ended)).await.ok();
    }
    // The child's id stays taken while its group has a member, so this cannot hit a stranger.
    while exited.is_some() && remains(group) && Instant::now() < deadline {
        sleep(LOOK).await;
    }
    if exited.is_none() || remains(group) {
        signal_group(group, Signal::KILL);
    }
    let status = match exited {
        Some(status) => status,
        None => exit_of(group, ended).await,
    };
    match status {
        Ok(status) => status
            .exit_status()
            .unwrap_or_else(|| 128 + status.terminating_signal().unwrap_or_default()),
        Err(_) => CANNOT_EXECUTE,
    }
}

/// Kills what left the group. All of it is ours by now, or becomes so when its parent is killed:
/// handed on to the first process of the system, it would be nobody's, and could pass for the
/// operator's. What forks faster than it is killed is given up on after the grace.
async fn end_strays() {
    let deadline = Instant::now() + GRACE;
    let own = std::process::id();
    while Instant::now() < deadline {
        match wait(WaitOptions::NOHANG) {
            // It would be found again.
            Ok(Some(_)) => continue,
            Err(rustix::io::Errno::CHILD) => return,
            Ok(None) | Err(_) => {}
        }
        for stray in everybody().filter(|it| stat(*it).is_some_and(|it| it.parent == own)) {
            if let Some(stray) = pid(stray) {
                let _ = kill_process(stray, Signal::KILL);
            }
        }
        sleep(LOOK).await;
    }
}

/// Waits for the child. Orphans that end meanwhile are reaped: they would stay in the table of
/// processes for as long as an app-server lives, whose commands may leave many behind.
async fn exit_of(child: Pid, ended: &mut unix::Signal) -> io::Result<WaitStatus> {
    loop {
        while let Some((pid, status)) = wait(WaitOptions::NOHANG)? {
            if pid == child {
                return Ok(status);
            }
        }
        // A child that ended in between has left its signal.
        ended.recv().await;
    }
}

/// Whether the group has a living member besides the child, which has been waited for.
fn remains(group: Pid) -> bool {
    // Orphans that were handed to us would stay in the group as zombies.
    while matches!(waitpgid(group, WaitOptions::NOHANG), Ok(Some(_))) {}
    group_exists(group)
}

/// Tells the owner, if standard input leads to one that listens.
fn report(report: &Report) {
    let Ok(mut line) = serde_json::to_vec(report) else {
        return;
    };
    line.push(b'\n');
    // Standard input is only writable when it is the owner's socket; by hand it is a pipe or a
    // terminal. A terminal must not be written to.
    let stdin = io::stdin();
    if rustix::net::sockopt::socket_type(stdin.as_fd()).is_err() {
        return;
    }
    if let Ok(stdin) = stdin.as_fd().try_clone_to_owned() {
        let _ = File::from(stdin).write_all(&line);
    }
}
