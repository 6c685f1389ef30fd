//! The composition root: the only place that knows every room, and the only one that builds a
//! daemon.

use std::env;
use std::future::ready;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::Command;
use std::sync::Arc;

use axum::Router;

use crate::adapters::claude::hooks_switch::keeps_hooks;
use crate::adapters::program_search::ProgramSearch;
use crate::bridge;
use crate::client::{Client, forget_agent};
use crate::core::agent::Agent;
use crate::core::id::RuntimeSession;
pub use crate::daemon::fault::DaemonFault;
use crate::daemon::handle::DaemonHandle;
pub use crate::daemon::running::Running;
use crate::daemon::start::Builder;
pub use crate::daemon::start::StartError;
pub use crate::daemon::takeover::give_takeover::TakeoverOutcome;
use crate::daemon::takeover::give_takeover::give_takeover;
pub use crate::daemon::takeover::next_daemon::PreviousDaemon;
pub use crate::daemon::takeover::next_daemon_error::NextDaemonError;
pub use crate::daemon::takeover::{Replacement, Takeover, TakeoverError};
use crate::store::dirs::{ProjectDirs, UserDirs};
use crate::store::ledger::ReadProgress;
use crate::store::registry::Ports;
use crate::wire::control::{DeliveryMode, Hello, Refusal, Role};

/// What is settled before anything runs: the project, the user's folders, what the environment
/// says.
#[derive(Debug, Clone)]
pub struct ProjectContext {
    pub dirs: ProjectDirs,
    /// What an agent's client waits for before it starts a daemon: it is there once somebody has
    /// begun to work with us in this folder.
    pub begun: PathBuf,
    /// The user's folders, outside of the project.
    pub user_dirs: UserDirs,
    /// `CONTEXTRELAY_PORT_BASE`.
    pub port_base: u16,
    /// All three ports, named by the user.
    pub ports: Option<Ports>,
    /// `CONTEXTRELAY_RUNTIME_SESSION`.
    pub runtime_session: RuntimeSession,
    /// `CONTEXTRELAY_MODE`.
    pub mode: DeliveryMode,
    /// `CONTEXTRELAY_WORKER=1`: never start a daemon.
    pub worker: bool,
    /// A `claude -p` runs us.
    pub in_print_mode: bool,
    pub codex_program: ProgramSearch,
    pub claude_program: ProgramSearch,
    /// Our own binary.
    pub own_program: PathBuf,
}

/// How a bridge tells where it runs, as a whole path, and whether no text can. The project's own
/// folder needs none.
fn told_folder(here: Option<&Path>, root: &Path) -> (Option<String>, bool) {
    let told = here.and_then(Path::to_str).map(str::to_owned);
    let is_unnamed = told.is_none() && here != Some(root);
    (told, is_unnamed)
}

impl ProjectContext {
    /// Who we are, on a connection.
    pub fn hello(&self, role: Role, agent_pid: Option<u32>) -> Hello {
        // A bridge runs where its Claude was started (`facts/claude-code.md` §2).
        let (folder, folder_unnamed) = match role {
            Role::Claude => told_folder(env::current_dir().ok().as_deref(), &self.dirs.root),
            _ => (None, false),
        };
        Hello {
            agent_pid,
            runtime_session_id: self.runtime_session.clone(),
            mode: self.mode,
            in_print_mode: self.in_print_mode,
            keeps_hooks: role == Role::Claude && agent_pid.is_some_and(keeps_hooks),
            folder,
            folder_unnamed,
            ..Hello::of(role, std::process::id())
        }
    }

    /// Starts the daemon in this process, on the current runtime. That one was ended on purpose does
    /// not keep it.
    ///
    /// # Errors
    ///
    /// See [`StartError`].
    pub async fn start_daemon(&self) -> Result<Running, StartError> {
        self.start_daemon_watched(false, true, ReadProgress::default())
            .await
    }

    /// As [`Self::start_daemon`]; tells meanwhile how far the reading of the record is.
    ///
    /// # Errors
    ///
    /// See [`StartError`].
    pub async fn start_daemon_watched(
        &self,
        detached: bool,
        clears_kill: bool,
        reading: ReadProgress,
    ) -> Result<Running, StartError> {
        self.start(None, ready(true), detached, clears_kill, reading)
            .await
    }

    /// Goes on in place of a daemon that left, in this process, on the current runtime.
    ///
    /// # Errors
    ///
    /// See [`StartError`].
    pub async fn take_over(
        &self,
        takeover: Takeover,
        detached: bool,
    ) -> Result<Running, StartError> {
        let reading = ReadProgress::default();
        self.start(Some(takeover), ready(true), detached, false, reading)
            .await
    }

    /// Goes on in place of the daemon of another process, once that lets go; that is told where it
    /// cannot be. Tells meanwhile how far the reading of the record is.
    ///
    /// # Errors
    ///
    /// See [`StartError`]; our copy of what was left is given up then, and nothing of it was touched.
    pub async fn take_over_from(
        &self,
        before: PreviousDaemon,
        takeover: Takeover,
        reading: ReadProgress,
    ) -> Result<Running, StartError> {
        let before = Arc::new(before);
        let (yielded, detached) = (Arc::clone(&before).commit(), takeover.detached);
        let started = self.start(Some(takeover), yielded, detached, false, reading);
        let started = started.await;
        if let Err(error) = &started {
            before.refuse(error);
        }
        started
    }

    /// Has a program of ours go on in place of this process: see
    /// [`crate::daemon::takeover::give_takeover`].
    pub async fn give_takeover(
        &self,
        running: Running,
        program: &Path,
        detached: bool,
        begun: impl FnOnce(Result<(), Refusal>),
    ) -> TakeoverOutcome {
        let mut next = Command::new(program);
        next.args(["--json", "daemon", "--take-over", "--project"])
            .arg(&self.dirs.root)
            .current_dir(&self.dirs.root);
        forget_agent(&mut next);
        let go_on = async |takeover, detached| self.take_over(takeover, detached).await;
        give_takeover(running, next, detached, begun, go_on).await
    }

    async fn start(
        &self,
        takeover: Option<Takeover>,
        yielded: impl Future<Output = bool> + Send,
        detached: bool,
        clears_kill: bool,
        reading: ReadProgress,
    ) -> Result<Running, StartError> {
        let builder = Builder {
            dirs: self.dirs.clone(),
            user_dirs: self.user_dirs.clone(),
            port_base: self.port_base,
            ports: self.ports,
            detached,
            codex_program: self.codex_program.clone(),
            claude_program: self.claude_program.clone(),
            own_program: self.own_program.clone(),
            clears_kill,
            shown: Agent::ALL
                .map(|agent| (agent, bridge::shown_chars(agent)))
                .into(),
            reading,
        };
        let hello = Hello {
            runtime_session_id: RuntimeSession::default(),
            ..self.hello(Role::Codex, None)
        };
        // Each caller would hold all of a start in its own future, and move it from place to place.
        let mcp = move |daemon| mcp_service(daemon, hello);
        on_heap(move || builder.start(takeover, yielded, mcp)).await
    }
}

/// Makes a large future on the heap, in a stack frame that is gone when the future runs: a process
/// keeps the memory of its stack as deep as it once was.
#[inline(never)]
pub(crate) fn on_heap<F: Future>(make: impl FnOnce() -> F) -> Pin<Box<F>> {
    Box::pin(make())
}

/// The tools for Codex behind `/mcp`, served by a client in the daemon's own process.
async fn mcp_service(daemon: DaemonHandle, hello: Hello) -> Router {
    match Client::in_process(daemon, hello, false).await {
        Ok(client) => Router::new().nest_service("/mcp", bridge::http::service(client)),
        // Only a daemon that ends at once refuses; there is nothing to serve then.
        Err(_) => Router::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    #[test]
    fn a_bridge_says_so_where_no_text_names_the_folder_of_its_claude() {
        let folder = |bytes: &'static [u8]| Path::new(OsStr::from_bytes(bytes));
        let (root, other) = (folder(b"/p"), folder(b"/p\xff"));
        let named = (Some("/p/web".to_owned()), false);
        assert_eq!(told_folder(Some(folder(b"/p/web")), root), named);
        assert_eq!(told_folder(Some(folder(b"/p/\xff")), root), (None, true));
        assert_eq!(told_folder(None, root), (None, true));
        assert_eq!(told_folder(Some(other), other), (None, false));
    }
}
