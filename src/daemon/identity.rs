//! [`Identity`]: what does not change in a daemon's life.

use std::path::{Path, PathBuf};

use super::clock::now_ms;
use crate::store::registry::Ports;

/// What does not change in a daemon's life.
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
    pub(super) fn new(
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
    pub(super) fn instance_id(&self) -> &str {
        &self.instance_id
    }

    /// A prefix of the SHA-256 of the secret identity.
    pub(super) fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// When it started, ms since the epoch.
    pub(super) fn started_ms(&self) -> i64 {
        self.started_ms
    }

    pub(super) fn control_port(&self) -> u16 {
        self.ports.control
    }

    pub(super) fn proxy_port(&self) -> u16 {
        self.ports.proxy
    }

    /// Whether it ends by itself when nothing is attached.
    pub(super) fn is_detached(&self) -> bool {
        self.is_detached
    }

    /// Our own program, which holds what we start.
    pub(super) fn own_program(&self) -> &Path {
        &self.own_program
    }

    #[cfg(test)]
    pub(super) fn detach(&mut self) {
        self.is_detached = true;
    }
}
