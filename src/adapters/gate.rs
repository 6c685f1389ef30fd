//! [`run`]: runs one gate of the project and returns its result.
//!
//! It runs in the project, or in a clean work tree of the commit that is made for it. The command
//! runs under a hold, in its own process group, without a terminal and without the variables of an
//! agent in our environment; its time is limited, and what it leaves behind ends with it. It is the
//! project's own code, and an agent may have written it, so that no process below it counts as the
//! operator's (see [`GateFact::Began`]).
//!
//! Knows nothing of records and proposals.

mod capture;
mod file_stamps;
mod isolated_tree;
mod not_covered;

use std::ffi::OsStr;
use std::io::{self, PipeReader};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};

use super::hold::{self, HeldChild, HoldError, spawn_held};
use crate::adapters::git::command::POINTERS;
use crate::adapters::git::found::is_unreadable;
use crate::adapters::git::work_tree::TreeReading;
use crate::core::agent::{AGENT_VARIABLE, is_agents_own};
use crate::core::entry::{ArtifactStatus, GateRun, IsolatedRun, RewrittenFiles, WorkTree};
use crate::core::id::Seq;
use crate::core::redact::Redactor;
use crate::wire::config::Gate;
use capture::Capture;
use file_stamps::FileStamps;
use isolated_tree::{IsolatedTree, WaitLimit};

pub use isolated_tree::sweep;

/// How often the last lines are told while it prints.
const TOLD_EVERY: Duration = Duration::from_millis(250);

/// How long the rest of an output may take once everything has ended: somebody who left the group
/// may hold the pipe open.
pub(in crate::adapters) const REST_WAIT: Duration = Duration::from_millis(500);

/// How much of an output is kept where there is no room for more, in characters.
const BRIEF_CHARS: usize = 8_000;

/// What is no longer than this, in characters, fits on a line of the record with what is said of it,
/// and takes no room elsewhere.
const LONG_CHARS: usize = 10_000;

/// How much is told of why it came to nothing, in characters.
const WHY_CHARS: usize = 300;

/// How much is read at once, in bytes.
const READ_BYTES: usize = 64 * 1024;

/// A gate, and where it runs.
#[derive(Debug, Clone)]
pub struct GateOrder {
    /// What to run.
    pub gate: Gate,
    /// The project.
    pub root: PathBuf,
    /// The last entry of the record by now.
    pub began_after: Seq,
    /// The registry in which the project stands.
    pub registry: PathBuf,
    /// Where work trees are made for gates that want one, outside of the project.
    pub worktrees: PathBuf,
    /// Our own program, which holds it.
    pub hold_program: PathBuf,
}

/// What is told of a gate while it runs.
#[derive(Debug)]
pub enum GateFact {
    /// It runs, under this hold.
    Began {
        /// Its process, which leads its group.
        pid: u32,
        /// The hold.
        keeper: u32,
    },
    /// The end of what it printed so far, as it was printed.
    Printed(String),
    /// It is over.
    Ended(Box<GateOutcome>),
}

/// What a gate came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateOutcome {
    /// In a word: `passed`, `failed`, `timed_out`, `skipped` when it was stopped, `blocked` when it
    /// could not begin.
    pub status: ArtifactStatus,
    /// How it went.
    pub run: GateRun,
    /// What it printed, beginning and end; or all of why it could not begin, where the run has only the
    /// first line.
    pub output: String,
}

impl GateOutcome {
    /// With no more of the output than its end, for where there is no room for all of it; `None`
    /// when it is no longer than a line of the record takes anyway. It is masked before it is cut: the
    /// end of a secret looks like none.
    pub fn brief(mut self, redactor: &Redactor) -> Option<Self> {
        if self.output.chars().count() <= LONG_CHARS {
            return None;
        }
        let (masked, _) = redactor.redact_text(&self.output);
        let left_out = masked.chars().count().saturating_sub(BRIEF_CHARS);
        let end: String = masked.chars().skip(left_out).collect();
        self.output = format!("[… {left_out} characters could not be kept …]\n{end}");
        Some(self)
    }
}

/// What is said of a gate of whose end nobody tells.
const KEEPER_LOST: &str = "its keeper was killed or does not answer: nobody knows what it came to, \
                           and what it began may run on";

/// How a gate ended.
enum End {
    Exited(i32),
    TimedOut,
    Stopped,
    /// It could not begin; why.
    Blocked(String),
    KeeperLost,
}

/// Where a gate runs.
struct Place {
    /// What its folder is relative to.
    root: PathBuf,
    /// As it lay there before.
    before: Option<WorkTree>,
    /// Made for it.
    isolated: Option<IsolatedTree>,
}

/// A gate that is under way.
struct GateInProgress {
    order: GateOrder,
    /// When its time is over.
    until: Instant,
    stop: oneshot::Receiver<()>,
    told: mpsc::Sender<GateFact>,
    capture: Capture,
    /// Its setup was not done yet.
    is_setup: bool,
}

/// Runs a gate to its end, tells what happens meanwhile, and looks at the work tree before and
/// after. Stops when `stop` is sent or dropped.
pub async fn run(order: GateOrder, stop: oneshot::Receiver<()>, told: mpsc::Sender<GateFact>) {
    // Taken between the first look at the tree and the gate, and again behind the second look: what a
    // file holds at the second one it held all the time where its stamp is the same.
    let (stands, stamps) = match order.gate.isolation {
        None => stamped(&order.root).await.unzip(),
        Some(_) => (reading(&order.root, &order.root).await, None),
    };
    let before = stands.as_ref().map(|stands| stands.tree.clone());
    // What nobody can read is the tree of no proposal.
    let was_unreadable = is_unreadable(&order.root, stands.as_ref());
    let began = Instant::now();
    let mut gate = GateInProgress {
        until: began + Duration::from_secs(order.gate.timeout_s.get()),
        is_setup: order.gate.setup.is_some(),
        order,
        stop,
        told,
        capture: Capture::default(),
    };
    let (ended, place) = match gate.place(stands).await {
        Ok(place) => (gate.commands(&place).await, Some(place)),
        Err(end) => (end, None),
    };
    let duration = began.elapsed();
    let (tree, stale, isolated, rewritten) = match place {
        Some(place) => {
            let after = reading(&place.root, &gate.order.root).await;
            let is_unreadable = was_unreadable || is_unreadable(&place.root, after.as_ref());
            let after = after.map(|after| after.tree);
            let is_another = WorkTree::pin(place.before.as_ref()) != WorkTree::pin(after.as_ref());
            let stale = is_another || is_unreadable;
            let rewritten = rewritten(stamps.filter(|_| !stale)).await;
            let isolated = remove(place.isolated).await;
            (place.before, stale, isolated, rewritten)
        }
        None => (before, false, None, None),
    };
    let (status, exit_code) = match &ended {
        End::Exited(0) => (ArtifactStatus::Passed, Some(0)),
        End::Exited(code) => (ArtifactStatus::Failed, Some(*code)),
        End::TimedOut => (ArtifactStatus::TimedOut, None),
        End::Stopped => (ArtifactStatus::Skipped, None),
        End::Blocked(_) | End::KeeperLost => (ArtifactStatus::Blocked, None),
    };
    let (order, capture) = (gate.order, gate.capture);
    let outcome = GateOutcome {
        status,
        run: GateRun {
            gate: order.gate.name.clone(),
            cmd: order.gate.cmd.clone(),
            spec: order.gate.spec(),
            exit_code,
            why: match &ended {
                End::Blocked(why) => why.lines().next().map(in_a_line),
                End::KeeperLost => Some(KEEPER_LOST.to_owned()),
                _ => None,
            },
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            stale,
            rewritten,
            setup_failed: gate.is_setup && matches!(ended, End::Exited(_) | End::TimedOut),
            isolated,
            tree,
            began_after: Some(order.began_after),
            output_bytes: capture.bytes(),
            output_sha256: capture.sha256(),
        },
        output: match ended {
            End::Blocked(why) if why.lines().nth(1).is_some() => why,
            _ => capture.into_text(),
        },
    };
    let _ = gate.told.send(GateFact::Ended(Box::new(outcome))).await;
}

fn in_a_line(why: &str) -> String {
    let shown = why.chars().filter(|c| !c.is_control());
    shown.take(WHY_CHARS).collect()
}

/// Of a project, or of a copy of it.
async fn reading(root: &Path, project: &Path) -> Option<TreeReading> {
    let (root, project) = (root.to_owned(), project.to_owned());
    let read = tokio::task::spawn_blocking(move || TreeReading::of_copy(&root, &project));
    read.await.ok().flatten()
}

async fn stamped(root: &Path) -> Option<(TreeReading, FileStamps)> {
    let root = root.to_owned();
    let read = tokio::task::spawn_blocking(move || FileStamps::of(&root));
    read.await.ok().flatten()
}

async fn rewritten(stamps: Option<FileStamps>) -> Option<RewrittenFiles> {
    let stamps = stamps?;
    let read = tokio::task::spawn_blocking(move || stamps.rewritten());
    read.await.ok().flatten()
}

/// Removes what was made for a run, and says what it did not have of the project.
async fn remove(isolated: Option<IsolatedTree>) -> Option<IsolatedRun> {
    let isolated = isolated?;
    let run = isolated.run.clone();
    let _ = tokio::task::spawn_blocking(move || isolated.remove()).await;
    Some(run)
}

impl GateInProgress {
    /// Where it runs: in the project, or in a work tree that is made now.
    async fn place(&mut self, stands: Option<TreeReading>) -> Result<Place, End> {
        if self.order.gate.isolation.is_none() {
            return Ok(Place {
                root: self.order.root.clone(),
                before: stands.map(|stands| stands.tree),
                isolated: None,
            });
        }
        let limit = Arc::new(WaitLimit::until(self.until.into_std()));
        let (root, under) = (self.order.root.clone(), self.order.worktrees.clone());
        let mut making = tokio::task::spawn_blocking({
            let limit = Arc::clone(&limit);
            move || IsolatedTree::make(&root, stands.as_ref(), &under, &limit)
        });
        tokio::select! {
            made = &mut making => {
                let made = made.unwrap_or_else(|error| Err(error.to_string()));
                return self.placed(made);
            }
            _ = &mut self.stop => limit.end(),
        }
        if let Ok(Ok(made)) = making.await {
            remove(Some(made)).await;
        }
        Err(End::Stopped)
    }

    fn placed(&self, made: Result<IsolatedTree, String>) -> Result<Place, End> {
        match made {
            Ok(made) => Ok(Place {
                root: made.root.clone(),
                before: made.tree.clone(),
                isolated: Some(made),
            }),
            Err(_) if Instant::now() >= self.until => Err(End::TimedOut),
            Err(why) => Err(End::Blocked(format!(
                "could not begin: a work tree of its own could not be made: {why}"
            ))),
        }
    }

    /// Runs its setup, and then the gate itself.
    async fn commands(&mut self, place: &Place) -> End {
        if let Some(setup) = self.order.gate.setup.clone() {
            match self.command(place, &setup).await {
                End::Exited(0) => self.is_setup = false,
                end => return end,
            }
        }
        let cmd = self.order.gate.cmd.clone();
        self.command(place, &cmd).await
    }

    async fn command(&mut self, place: &Place, cmd: &str) -> End {
        let mark = uuid::Uuid::new_v4().simple().to_string();
        // Below its keeper all is nobody's operator. A command can kill that one: then it is ours, and
        // is found below us.
        hold::adopt_orphans();
        let begun = tokio::select! {
            begun = begin(&self.order, place, cmd, &mark) => begun,
            () = sleep_until(self.until) => Err(End::TimedOut),
            _ = &mut self.stop => Err(End::Stopped),
        };
        let (end, is_whole) = match begun {
            Ok((child, output)) => {
                let record = child.record();
                let (pid, keeper) = (record.pid, record.hold);
                let _ = self.told.send(GateFact::Began { pid, keeper }).await;
                self.follow(child, output).await
            }
            Err(end) => {
                // The keeper is among them: one that is stopped does not hear that nobody waits for it.
                end_marked(mark).await;
                let is_whole = matches!(end, End::Blocked(_));
                (end, is_whole)
            }
        };
        hold::release_orphans(is_whole);
        end
    }

    /// Whether its keeper ended all of it as well.
    async fn follow(&mut self, mut child: HeldChild, mut output: pipe::Receiver) -> (End, bool) {
        let mark = child.record().mark.clone();
        let mut late = pin!(sleep_until(self.until));
        let mut tick = interval(TOLD_EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut buffer = vec![0; READ_BYTES];
        let (mut is_open, mut is_news) = (true, false);
        let end = loop {
            tokio::select! {
                read = output.read(&mut buffer), if is_open => match read {
                    Ok(0) | Err(_) => is_open = false,
                    Ok(read) => {
                        self.capture.take(&buffer[..read]);
                        is_news = true;
                    }
                },
                gone = child.gone() => break match gone.ok().flatten() {
                    Some(code) => End::Exited(code),
                    None => End::KeeperLost,
                },
                () = &mut late => break End::TimedOut,
                _ = &mut self.stop => break End::Stopped,
                _ = tick.tick(), if is_news => {
                    is_news = false;
                    // Nobody waits for what is only shown.
                    let _ = self.told.try_send(GateFact::Printed(self.capture.last_lines()));
                }
            }
        };
        let is_whole = child.end().await;
        end_marked(mark).await;
        let rest = async {
            while let Ok(read @ 1..) = output.read(&mut buffer).await {
                self.capture.take(&buffer[..read]);
            }
        };
        if is_open {
            let _ = timeout(REST_WAIT, rest).await;
        }
        (end, is_whole)
    }
}

/// Starts a command; its two outputs are one pipe, so that their lines stay in order.
async fn begin(
    order: &GateOrder,
    place: &Place,
    cmd: &str,
    mark: &str,
) -> Result<(HeldChild, pipe::Receiver), End> {
    let not_begun = |why: String| End::Blocked(format!("could not begin: {why}"));
    let folder = folder(&place.root, order.gate.cwd.as_deref()).map_err(not_begun)?;
    let (output, [stdout, stderr]) =
        outputs().map_err(|error| not_begun(format!("no pipe: {error}")))?;
    let mut command = hold::command_with_all(&order.hold_program, OsStr::new("sh"));
    command
        .arg("-c")
        .arg(cmd)
        .current_dir(folder)
        .stdout(stdout)
        .stderr(stderr);
    for (name, _) in std::env::vars_os() {
        if is_left_out(&name.to_string_lossy()) {
            command.env_remove(name);
        }
    }
    // What it runs may ask us to decide something: a worker is nobody's operator, and nor is
    // what it starts without its environment, also for a daemon that does not know this gate.
    command
        .env("CONTEXTRELAY_WORKER", "1")
        .env(AGENT_VARIABLE, &order.registry)
        .env("TERM", "dumb");
    let child = spawn_held(command, mark)
        .await
        .map_err(|error| match error {
            HoldError::Silent => End::KeeperLost,
            error => not_begun(format!("the command could not be started: {error}")),
        })?;
    let output = pipe::Receiver::from_owned_fd(output.into())
        .map_err(|error| not_begun(format!("its output cannot be read: {error}")))?;
    Ok((child, output))
}

async fn end_marked(mark: String) {
    let ended = tokio::task::spawn_blocking(move || hold::end_marked(&mark));
    let _ = ended.await;
}

/// Whether a variable is an agent's, one of our own settings, or would point git at another
/// repository.
pub(in crate::adapters) fn is_left_out(name: &str) -> bool {
    is_agents_own(name)
        || POINTERS.contains(&name)
        || name.starts_with("CONTEXTRELAY_")
        || name.starts_with("CODEX_")
}

/// The folder that the gate runs in. A link that leads out of where it belongs is followed nowhere.
fn folder(root: &Path, cwd: Option<&str>) -> Result<PathBuf, String> {
    let root = real(root)?;
    let Some(cwd) = cwd else {
        return Ok(root);
    };
    let folder = real(&root.join(cwd))?;
    match folder.starts_with(&root) && folder.is_dir() {
        true => Ok(folder),
        false => Err(format!("{cwd} is no folder of the project")),
    }
}

fn real(path: &Path) -> Result<PathBuf, String> {
    path.canonicalize()
        .map_err(|error| format!("{}: {error}", path.display()))
}

fn outputs() -> io::Result<(PipeReader, [io::PipeWriter; 2])> {
    let (reader, writer) = io::pipe()?;
    let again = writer.try_clone()?;
    Ok((reader, [writer, again]))
}

#[cfg(test)]
mod tests;
