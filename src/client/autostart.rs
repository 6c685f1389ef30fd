//! [`Autostart`]: how a client starts a detached daemon when none answers.
//!
//! Knows processes and the port, and nothing of the protocol. It does not matter here whether two
//! daemons start at the same time: the one without the project's lock ends by itself.

use std::ffi::OsString;
use std::fmt::Display;
use std::io::Read as _;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde::Deserialize;
use tokio::sync::Notify;

use crate::core::agent::is_agents_own;
use crate::core::lock::lock;
use crate::store::dirs::{self, ProjectDirs};
use crate::wire::control::Refusal;

/// At most one start in this time: a daemon that cannot come up must not be forked for ever.
const START_EVERY: Duration = Duration::from_secs(5);

/// How long the port may take to accept; on loopback it does so at once or never.
const PROBE_WAIT: Duration = Duration::from_millis(250);

/// More than what such a program says at its end.
const SAID_BYTES_MAX: u64 = 64 * 1024;

/// How to start a daemon.
#[derive(Debug, Clone)]
pub struct Autostart {
    /// The program, absolute.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Variables that it gets beside our own.
    pub env: Vec<(OsString, OsString)>,
    /// Nothing is started before this is there: an agent that merely runs in a folder makes no
    /// project of it.
    pub begun: PathBuf,
}

impl Autostart {
    /// `PROGRAM --json daemon --detach --project ROOT`, once `begun` is there.
    pub fn detached(program: PathBuf, dirs: &ProjectDirs, begun: PathBuf) -> Self {
        let args = ["--json", "daemon", "--detach", "--project"]
            .into_iter()
            .map(OsString::from)
            .chain([dirs.root.clone().into_os_string()])
            .collect();
        Self {
            program,
            args,
            env: Vec::new(),
            begun,
        }
    }
}

/// Starts it now and then.
pub(super) struct Starter {
    autostart: Autostart,
    last: Mutex<Option<Instant>>,
    /// There was a project when it was looked at before.
    was_begun: AtomicBool,
    /// Why the last start that is over came to nothing, as the program said it.
    refused: Arc<Mutex<Option<String>>>,
    is_over: Arc<Notify>,
}

impl Starter {
    /// A start that is over, because the daemon answers or cannot, is told there.
    pub(super) fn new(autostart: Autostart, is_over: Arc<Notify>) -> Self {
        Self {
            autostart,
            last: Mutex::new(None),
            was_begun: AtomicBool::new(false),
            refused: Arc::default(),
            is_over,
        }
    }

    /// Whether there is a project to start a daemon for.
    pub(super) fn is_begun(&self) -> bool {
        let is_begun = dirs::exists(&self.autostart.begun);
        self.was_begun.fetch_or(is_begun, Ordering::Relaxed);
        is_begun
    }

    /// Whether there was one.
    pub(super) fn was_begun(&self) -> bool {
        self.was_begun.load(Ordering::Relaxed)
    }

    /// Whether somebody accepts connections on this port of ours.
    pub(super) fn answers(&self, port: u16) -> bool {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        TcpStream::connect_timeout(&address, PROBE_WAIT).is_ok()
    }

    /// Starts a daemon unless one was started just now. Says what was done, as a sentence.
    pub(super) fn start(&self, dirs: &ProjectDirs) -> String {
        let mut last = lock(&self.last);
        let so_far = if last.is_some_and(|at| at.elapsed() < START_EVERY) {
            "a daemon was started and does not answer yet"
        } else {
            *last = Some(Instant::now());
            match self.spawn(dirs) {
                Ok(pid) => tracing::info!(pid, "started a detached daemon"),
                Err(error) => {
                    tracing::warn!(%error, "cannot start a daemon");
                    // Kept as well: nothing was started that could be waited for.
                    let program = self.autostart.program.display();
                    *lock(&self.refused) = Some(format!("{program}: {error}"));
                }
            }
            "a daemon is starting"
        };
        // Also while another start is under way: that is a moment, and most likely ends the same.
        let refused = lock(&self.refused);
        refused
            .as_ref()
            .map_or_else(|| so_far.to_owned(), not_started)
    }

    /// In a process group of its own, so that a signal to the agent's group does not reach it.
    fn spawn(&self, dirs: &ProjectDirs) -> std::io::Result<u32> {
        let mut command = Command::new(&self.autostart.program);
        command
            .args(&self.autostart.args)
            .current_dir(&dirs.root)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0);
        forget_agent(&mut command);
        let env = self.autostart.env.iter();
        command.envs(env.map(|(name, value)| (name, value)));
        let child = command.spawn()?;
        let pid = child.id();
        // Somebody has to take its exit status, or it stays as a zombie while we live.
        let (refused, is_over) = (Arc::clone(&self.refused), Arc::clone(&self.is_over));
        std::thread::Builder::new()
            .name("reap-daemon".to_owned())
            .spawn(move || {
                *lock(&refused) = refusal(child);
                is_over.notify_one();
            })?;
        Ok(pid)
    }
}

fn not_started(why: impl Display) -> String {
    format!("no daemon runs, and none can be started: {why}")
}

/// What a program says as it ends: why it could not do its work.
#[derive(Deserialize)]
struct LastWords {
    error: Refusal,
}

/// Waits for its end; `None` unless it says why it could not start the daemon.
fn refusal(mut child: Child) -> Option<String> {
    let mut said = Vec::new();
    let stdout = child.stdout.take();
    let read = stdout.map(|stdout| stdout.take(SAID_BYTES_MAX).read_to_end(&mut said));
    // What cannot be read is no reason.
    let _ = (read, child.wait());
    let LastWords { error } = serde_json::from_slice(&said).ok()?;
    Some(format!("{} ({})", error.message, error.hint))
}

/// Takes out of a command's environment what a Claude process put into ours about itself.
pub fn forget_agent(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if is_agents_own(&name.to_string_lossy()) {
            command.env_remove(name);
        }
    }
}
