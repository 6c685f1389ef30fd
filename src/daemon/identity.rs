//! [`Identity`]: what does not change in a daemon's life.

use std::path::PathBuf;

/// What does not change in a daemon's life.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The project's instance.
    pub instance_id: String,
    /// A prefix of the SHA-256 of the secret identity.
    pub fingerprint: String,
    /// When it started, ms since the epoch.
    pub started_ms: i64,
    pub control_port: u16,
    pub proxy_port: u16,
    /// It ends by itself when nothing is attached.
    pub detached: bool,
    /// Claude's program, where it was found.
    pub claude_program: Option<PathBuf>,
    /// Codex's program was found.
    pub codex_installed: bool,
    /// Our own program, which holds what we start.
    pub own_program: PathBuf,
}
