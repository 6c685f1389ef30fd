//! `ctxrelay statusline` (hidden): what Claude runs for the person's status line. Never fails.

use std::path::PathBuf;
use std::pin::pin;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;
use tokio::time::timeout;

use crate::bridge::hook::{HookCaller, status_line};
use crate::cli::agents::bridge;
use crate::cli::agents::doorbell::claude_pid;
use crate::cli::connection::connect::runtime;
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, ExitKind};
use crate::cli::output::Output;
use crate::cli::settings::environment;
use crate::cli::text::words::short;
use crate::core::plain_value::PlainValue;
use crate::wire::control::Role;

/// The most that Claude tells, and that the person's line may say, in bytes.
const BYTES_MAX: u64 = 256 * 1024;

/// How long what the person's command printed may take to be read once it has ended.
const REST_WAIT: Duration = Duration::from_millis(100);

/// How long Claude may take to say it.
const INPUT_WAIT: Duration = Duration::from_secs(1);

/// How long the person's own command may take. Ours waits for it, and Claude for nobody.
const AROUND_WAIT: Duration = Duration::from_secs(3);

/// The width that is taken where none is told, in columns.
const COLUMNS: u16 = 80;

/// Arguments of `statusline`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The person's own status line, which runs first
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true)]
    pub around: Option<String>,
}

pub fn run(context: &CliContext, args: &Args) -> CliOutcome {
    show(&context.out, args, async |input| {
        let caller = HookCaller {
            pid: claude_pid(),
            has_monitors: true,
            is_judged: false,
        };
        let client = bridge::client(&context.project, Role::Hook, caller.pid, Vec::new(), None);
        status_line(input, caller, columns(), client).await
    })
}

/// The project that Claude runs in, as it tells its status line (2.1.330, observed).
pub fn project() -> Option<PathBuf> {
    let folder = environment("CLAUDE_PROJECT_DIR").map(PathBuf::from);
    folder.filter(|folder| folder.is_absolute())
}

/// Where there is no project the person's own line is all there is.
pub fn without_project(out: &Output, args: &Args) -> CliOutcome {
    show(out, args, async |_| None)
}

fn show(out: &Output, args: &Args, ours: impl AsyncFnOnce(&Value) -> Option<String>) -> CliOutcome {
    if let Ok(runtime) = runtime() {
        let said = runtime.block_on(async {
            let mut input = Vec::new();
            let _ = timeout(INPUT_WAIT, read(tokio::io::stdin(), &mut input)).await;
            let PlainValue(value) = serde_json::from_slice(&input).unwrap_or_default();
            let theirs = async {
                match &args.around {
                    Some(command) => around(command, &input, AROUND_WAIT).await,
                    None => Vec::new(),
                }
            };
            let (mut said, ours) = tokio::join!(theirs, ours(&value));
            if let Some(line) = ours.filter(|line| !line.is_empty()) {
                said.extend_from_slice(line.as_bytes());
                said.push(b'\n');
            }
            said
        });
        // Nobody who reads is no fault.
        let _ = out.raw(&said);
        // Otherwise it would wait for a read of standard input that may still block.
        runtime.shutdown_background();
    }
    std::process::exit(ExitKind::Ok.code().into());
}

/// What the person's command prints, as it is: their terminal and their colours. It ends with a line
/// end, if it says anything. One that takes too long is ended, with all that it started.
async fn around(command: &str, input: &[u8], wait: Duration) -> Vec<u8> {
    let child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => return format!("your status line did not start: {error}\n").into_bytes(),
    };
    let group = child
        .id()
        .and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let feed = async {
        if let Some(mut stdin) = stdin {
            // It need not read.
            let _ = stdin.write_all(input).await;
        }
    };
    let mut said = Vec::new();
    let ended = timeout(wait, async {
        let listen = async {
            if let Some(stdout) = stdout {
                read(stdout, &mut said).await;
            }
        };
        let talk = async { tokio::join!(feed, listen) };
        let mut talk = pin!(talk);
        tokio::select! {
            _ = &mut talk => {}
            // What it leaves running may hold its output open. What it printed is there by now.
            _ = child.wait() => {
                let _ = timeout(REST_WAIT, talk).await;
            }
        }
    });
    if ended.await.is_err() {
        if let Some(group) = group {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let (command, seconds) = (short(command, 40), wait.as_secs());
        let line = format!("your status line took over {seconds} s and was ended: {command}");
        said = line.replace(char::is_control, " ").into_bytes();
    }
    if said.last().is_some_and(|last| *last != b'\n') {
        said.push(b'\n');
    }
    said
}

/// What was read by then is kept where nobody waits any longer.
async fn read(from: impl AsyncRead + Unpin, bytes: &mut Vec<u8>) {
    let mut from = from.take(BYTES_MAX);
    while let Ok(1..) = from.read_buf(bytes).await {}
}

/// Claude tells how wide its terminal is (2.1.330, observed).
fn columns() -> u16 {
    let told = std::env::var("COLUMNS").ok();
    told.and_then(|told| told.parse().ok()).unwrap_or(COLUMNS)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn said(command: &str, input: &[u8]) -> String {
        String::from_utf8(around(command, input, Duration::from_secs(60)).await).unwrap()
    }

    #[tokio::test]
    async fn the_persons_command_reads_what_claude_says_and_is_shown_as_it_is() {
        assert_eq!(said("cat", b"{\"a\":1}").await, "{\"a\":1}\n");
        assert_eq!(said("printf '\\033[31mred'", b"").await, "\u{1b}[31mred\n");
        assert_eq!(said("exit 3", b"x").await, "");
        // It reads nothing of more than a pipe holds.
        assert_eq!(
            said("echo one; echo two", &[b' '; 200_000]).await,
            "one\ntwo\n"
        );
    }

    #[tokio::test]
    async fn what_it_leaves_running_by_itself_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let (go, done) = (folder.path().join("go"), folder.path().join("done"));
        let wait = format!("while ! test -e '{}'; do sleep 0.01; done", go.display());
        let command = format!(
            "({wait}; echo later > '{}') >/dev/null 2>&1 </dev/null & echo now",
            done.display()
        );
        assert_eq!(said(&command, b"").await, "now\n");
        std::fs::write(&go, "").unwrap();
        timeout(Duration::from_secs(30), async {
            while !done.exists() {
                tokio::task::yield_now().await;
            }
        })
        .await
        .unwrap();
    }

    #[tokio::test]
    async fn what_it_leaves_running_may_hold_its_output_open() {
        let folder = tempfile::tempdir().unwrap();
        let pid = folder.path().join("pid");
        let command = format!("sleep 600 & echo $! > '{}'; echo now", pid.display());
        assert_eq!(said(&command, b"").await, "now\n");
        let pid = std::fs::read_to_string(pid).unwrap();
        let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
        rustix::process::kill_process(pid, Signal::KILL).unwrap();
    }

    #[tokio::test]
    async fn one_that_hangs_is_ended_with_its_children_and_said() {
        let folder = tempfile::tempdir().unwrap();
        let pid = folder.path().join("pid");
        let command = format!("sleep 600 & echo $! > '{}'; wait", pid.display());
        let mut wait = Duration::from_millis(300);
        let pid: i32 = loop {
            let hung = around(&command, b"", wait).await;
            let hung = String::from_utf8(hung).unwrap();
            assert!(hung.starts_with("your status line took over"), "{hung}");
            assert!(hung.ends_with('\n'));
            // On a busy machine it may be ended before it has a child.
            let begun = std::fs::read_to_string(&pid).unwrap_or_default();
            if let Ok(pid) = begun.trim().parse() {
                break pid;
            }
            wait *= 4;
            assert!(wait < Duration::from_secs(120), "it has no child");
        };
        let is_there = || {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            !stat.is_empty() && !stat.contains(") Z ")
        };
        timeout(Duration::from_secs(30), async {
            while is_there() {
                tokio::task::yield_now().await;
            }
        })
        .await
        .unwrap();
    }
}
