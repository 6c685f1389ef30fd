//! [`Identity`]: what never changes while a daemon runs.

use std::path::{Path, PathBuf};

use crate::daemon::base::clock::now_ms;
use crate::store::registry::Ports;

/// What never changes while a daemon runs.
#[derive(Debug, Clone)]
pub struct Identity {
    instance_id: String,
    fingerprint: String,
    started_ms: i64,
    ports: Ports,
    is_detached: bool,
    own_program: PathBuf,
}

impl Identity {
    /// One that starts now. `fingerprint`: a prefix of the SHA-256 of the secret identity.
    pub(in crate::daemon) fn new(
        instance_id: String,
        fingerprint: String,
        ports: Ports,
        is_detached: bool,
        own_program: PathBuf,
    ) -> Self {
        Self {
            instance_id,
            fingerprint,
            started_ms: now_ms(),
            ports,
            is_detached,
            own_program,
        }
    }

    /// The project's instance.
    pub(in crate::daemon) fn instance_id(&self) -> &str {
        &self.instance_id
    }

    /// A prefix of the SHA-256 of the secret identity.
    pub(in crate::daemon) fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// When it started, ms since the epoch.
    pub(in crate::daemon) fn started_ms(&self) -> i64 {
        self.started_ms
    }

    pub(in crate::daemon) fn control_port(&self) -> u16 {
        self.ports.control
    }

    pub(in crate::daemon) fn proxy_port(&self) -> u16 {
        self.ports.proxy
    }

    /// Whether it ends by itself when nothing is attached.
    pub(in crate::daemon) fn is_detached(&self) -> bool {
        self.is_detached
    }

    /// Our own program, which holds what we start.
    pub(in crate::daemon) fn own_program(&self) -> &Path {
        &self.own_program
    }

    #[cfg(test)]
    pub(in crate::daemon) fn detach(&mut self) {
        self.is_detached = true;
    }
}
