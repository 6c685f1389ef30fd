//! [`Ready`]: the loop is assembled, has taken over inherited state and has written its first
//! entries. It does not run yet, and no client was answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sha2::{Digest as _, Sha256};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::mpsc;

use super::Builder;
use super::bound::{Bound, Left};
use super::channel::Channel;
use super::claimed::Claimed;
use super::opened::Assembled;
use crate::adapters::codex::adapter::{self as codex, CodexOptions};
use crate::adapters::codex::compaction_hook::CompactionHook;
use crate::adapters::codex::fact::CodexFact;
use crate::daemon::agents::codex_lane::CodexLane;
use crate::daemon::base::identity::Identity;
use crate::daemon::owners::Daemon;
use crate::daemon::takeover::{Endpoints, Listeners, LoopState, Replacement};
use crate::store::child;
use crate::store::config::Loaded;
use crate::store::dirs::ProjectDirs;
use crate::store::owner::OwnerLock;
use crate::store::publisher::Board;
use crate::store::secrets::Secrets;

/// The lane to Codex, and what its adapter tells.
pub(in crate::daemon) type StartedCodex = (CodexLane, mpsc::Receiver<CodexFact>);

/// A loop that can run.
pub(in crate::daemon) struct Ready {
    pub(in crate::daemon) daemon: Box<Daemon>,
    pub(in crate::daemon) channel: Channel,
    pub(in crate::daemon) ground: Ground,
}

/// What a loop stands on. The lock goes last.
pub(in crate::daemon) struct Ground {
    pub(super) builder: Builder,
    pub(super) secrets: Secrets,
    pub(super) loaded: Loaded,
    /// Every line of the record was read.
    pub(super) is_read: bool,
    pub(super) facts: mpsc::Receiver<CodexFact>,
    pub(super) next_daemons: mpsc::Receiver<Replacement>,
    pub(super) control: TcpListener,
    pub(super) operator: UnixListener,
    pub(in crate::daemon) endpoints: Endpoints,
    pub(in crate::daemon) lock: OwnerLock,
}

impl Bound {
    /// As what the daemon shows itself.
    pub(in crate::daemon) fn identity(&self) -> Identity {
        let Claimed {
            builder, secrets, ..
        } = &self.opened.claimed;
        Identity::new(
            builder.dirs.instance_id(),
            fingerprint(&secrets.identity),
            self.endpoints.ports,
            builder.detached,
            builder.own_program.clone(),
        )
    }

    /// Takes on what was left, and has the loop say what was found on the way. From here on nothing
    /// of the start is undone. `board`: where it shows itself. `start_codex` starts the adapter.
    pub(in crate::daemon) fn take_on(
        self,
        identity: Identity,
        board: Board,
        start_codex: impl FnOnce(CodexOptions) -> StartedCodex,
    ) -> Ready {
        let Self {
            listeners,
            endpoints,
            socket_name,
            left,
            opened,
        } = self;
        socket_name.keep();
        let (codex_left, known) = match left {
            Some(Left {
                loop_state,
                publisher,
            }) => {
                if let Some(before) = publisher {
                    before.leave();
                }
                let LoopState { codex, known } = loop_state;
                (Some(codex), Some(known))
            }
            None => (None, None),
        };
        let server_runs_on = codex_left.as_ref().is_some_and(|left| left.has_server());
        let terminal_stays = codex_left.as_ref().is_some_and(|left| left.has_terminal());
        let Listeners {
            control,
            proxy,
            operator,
        } = listeners;
        let builder = &opened.claimed.builder;
        let hook = CompactionHook::of(&builder.own_program);
        hook.want(opened.claimed.loaded.config.continuity.codex_hook);
        let (lane, facts) = start_codex(CodexOptions {
            project_root: builder.dirs.root.clone(),
            program: builder.codex_program.clone(),
            preferred_port: endpoints.ports.codex,
            control_port: endpoints.ports.control,
            mcp_token: endpoints.mcp_token.clone(),
            proxy_listener: proxy,
            proxy_token: opened.claimed.secrets.proxy.clone(),
            resume_thread: opened.thread(),
            unended_turn: opened.unended_turn(),
            inherited: codex_left,
            hook,
            redactor: Arc::clone(&opened.redactor),
            hold_program: builder.own_program.clone(),
            instance_id: identity.instance_id().to_owned(),
            record_child: record_child(builder.dirs.clone(), opened.disowned()),
        });
        let is_read = opened.is_read();
        let Assembled {
            mut daemon,
            first_words,
            channel,
            mut claimed,
        } = opened.assemble(identity, lane);
        let claudes = match known {
            Some(known) => daemon
                .agents
                .take_over(known, server_runs_on, terminal_stays),
            None => {
                daemon.recall_stop();
                Vec::new()
            }
        };
        let (ask_next_daemon, next_daemons) = mpsc::channel(1);
        daemon
            .base
            .operations
            .takeover_mut()
            .take_next_daemons(ask_next_daemon);
        daemon.base.board = board;
        // Before the record says that nobody is here.
        daemon.recall_claudes(claudes);
        first_words.say(&mut daemon, &mut claimed, server_runs_on);
        let Claimed {
            builder,
            secrets,
            loaded,
            registration,
            lifted_kill,
            lock,
            ..
        } = claimed;
        registration.keep();
        lifted_kill.keep();
        Ready {
            daemon,
            channel,
            ground: Ground {
                builder,
                secrets,
                loaded,
                is_read,
                facts,
                next_daemons,
                control,
                operator,
                endpoints,
                lock,
            },
        }
    }
}

/// Keeps a record of the app-server for a daemon that comes after a crash.
fn record_child(dirs: ProjectDirs, disowned: Arc<AtomicBool>) -> codex::RecordChild {
    Box::new(move |record| {
        // What lies there then is the next owner's.
        if disowned.load(Ordering::Acquire) {
            return;
        }
        let done = match record {
            Some(record) => child::write(&dirs, &record),
            None => child::remove(&dirs),
        };
        if let Err(error) = done {
            tracing::warn!(%error, "the app-server's record could not be written");
        }
    })
}

fn fingerprint(secret: &str) -> String {
    Sha256::digest(secret.as_bytes())
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
