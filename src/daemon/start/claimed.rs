//! [`Claimed`]: the project belongs to this process, and nothing of it has been opened yet.

use std::io;
use std::path::PathBuf;

use super::lifted_kill::LiftedKill;
use super::{Builder, StartError};
use crate::adapters::claude::inference;
use crate::adapters::{gate, hold};
use crate::daemon::base::clock::now_ms;
use crate::daemon::takeover::{Endpoints, LoopState, Takeover};
use crate::store::child;
use crate::store::config::{self, Adopted, Loaded};
use crate::store::contextrelay3;
use crate::store::dirs::{ProjectDirs, UserDirs, exists};
use crate::store::owner::OwnerLock;
use crate::store::publisher::Publisher;
use crate::store::queue::Queue;
use crate::store::registry::{self, Ports};
use crate::store::secrets::{self, Secrets};
use crate::store::state_owner::mark_state;
use crate::store::trust;

/// A project of which this process is the owner. The lock goes last.
#[derive(Debug)]
pub(in crate::daemon) struct Claimed {
    pub(super) builder: Builder,
    pub(super) secrets: Secrets,
    pub(super) loaded: Loaded,
    /// What became of a `config.json` of ContextRelay 3.
    pub(super) adopted: io::Result<Option<Adopted>>,
    /// Where the queue of ContextRelay 3 lies now.
    pub(super) foreign_queue: Option<PathBuf>,
    /// It was not made here.
    pub(super) is_clone: bool,
    pub(super) ports: Ports,
    pub(super) inherited: Option<Inherited>,
    pub(super) registration: Registration,
    pub(super) lifted_kill: LiftedKill,
    pub(super) lock: OwnerLock,
}

/// What the owner before left, untouched.
#[derive(Debug)]
pub(super) struct Inherited {
    pub(super) endpoints: Endpoints,
    pub(super) loop_state: LoopState,
    /// In the same process.
    pub(super) publisher: Option<Publisher>,
}

impl Inherited {
    fn has_server(&self) -> bool {
        self.loop_state.codex.has_server()
    }
}

/// That the registry knows the project. A start that fails takes it back from a copy, of which the
/// next one would not know any more that it is one; and the ports that were named for this run.
#[derive(Debug)]
pub(super) struct Registration {
    user: UserDirs,
    dirs: ProjectDirs,
    is_new_copy: bool,
    has_named_ports: bool,
}

impl Registration {
    /// The start has not failed.
    pub(super) fn keep(mut self) {
        self.is_new_copy = false;
        self.has_named_ports = false;
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let taken_back = match (self.is_new_copy, self.has_named_ports) {
            (true, _) => registry::forget(&self.user, &self.dirs),
            (false, true) => registry::give_back(&self.user, &self.dirs),
            (false, false) => Ok(()),
        };
        if let Err(error) = taken_back {
            tracing::warn!(%error, "what a start that failed has registered stays");
        }
    }
}

impl Claimed {
    /// Takes the lock, or the one of the takeover, and clears away what an owner that died left.
    pub(in crate::daemon) async fn claim(
        builder: Builder,
        takeover: Option<Takeover>,
    ) -> Result<Self, StartError> {
        let (dirs, user) = (builder.dirs.clone(), builder.user_dirs.clone());
        let registry_failed = |source| builder.registry_failed(source);
        let state_failed = |source| builder.state_failed(source);
        let was_there = takeover.is_none() && exists(&dirs.sessions());
        dirs.create()
            .map_err(|source| builder.folder_failed(dirs.relay.clone(), source))?;
        let (lock, inherited) = match takeover {
            Some(Takeover {
                lock,
                publisher,
                endpoints,
                loop_state,
                ..
            }) => {
                let inherited = Inherited {
                    endpoints,
                    loop_state,
                    publisher,
                };
                (lock, Some(inherited))
            }
            None => {
                let lock = OwnerLock::try_acquire(&dirs).map_err(state_failed)?;
                (lock.ok_or(StartError::Owned)?, None)
            }
        };
        // To be asked before the ports are allocated, which registers the project; and with the lock:
        // another start, which failed since, may have made the folder.
        let is_clone = was_there && !registry::is_known(&user, &dirs).map_err(registry_failed)?;
        mark_state(&dirs).map_err(state_failed)?;
        let lifted_kill = LiftedKill::lift(&builder)?;
        // What a daemon that died left behind; nothing here depends on it any more.
        let server_runs_on = inherited.as_ref().is_some_and(Inherited::has_server);
        let record = child::read::<hold::ChildRecord>(&dirs);
        if let Some(record) = record.filter(|_| !server_runs_on) {
            let reaped = tokio::task::spawn_blocking(move || hold::reap(&record)).await;
            tracing::info!(?reaped, "looked for what an earlier daemon left");
            child::remove(&dirs).map_err(state_failed)?;
        }
        if inherited.is_none() {
            gate::sweep(&user.worktrees(&dirs.instance_id()));
            inference::sweep(&user.inference(&dirs.instance_id()));
        }
        config::close_to_others(&dirs);
        let adopted = config::adopt(&dirs);
        if is_clone {
            trust::set_aside(&user, &dirs.instance_id(), now_ms()).map_err(registry_failed)?;
        }
        let loaded = config::load(&dirs, &user);
        if let Err(error) = config::keep_rules(&dirs, &loaded) {
            tracing::warn!(%error, "the redaction rules are not kept for a start without config.json");
        }
        let secrets = secrets::ensure(&dirs, is_clone).map_err(state_failed)?;
        let foreign_queue = contextrelay3::set_aside(&dirs).map_err(state_failed)?;
        if is_clone {
            // Whose it was is not known: it may be the operator's own after all.
            Queue::set_aside(&dirs).map_err(|error| state_failed(io::Error::other(error)))?;
        }
        let ports = match &inherited {
            Some(inherited) => inherited.endpoints.ports,
            None => registry::allocate(&user, &dirs, builder.port_base, builder.ports)
                .map_err(registry_failed)?,
        };
        let has_named_ports = inherited.is_none() && builder.ports.is_some();
        Ok(Self {
            builder,
            secrets,
            loaded,
            adopted,
            foreign_queue,
            is_clone,
            ports,
            inherited,
            registration: Registration {
                user,
                dirs,
                is_new_copy: is_clone,
                has_named_ports,
            },
            lifted_kill,
            lock,
        })
    }
}
