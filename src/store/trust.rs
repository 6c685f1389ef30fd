//! [`Trusted`]: what the operator last trusted of a project's `config.json`. Lies outside of the
//! project, where what a sandboxed agent runs cannot write.
//!
//! ENFORCED against whoever can write the project only; ADVISORY against another process of the
//! same user.

use std::io;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::dirs::{UserDirs, make_private_dir, read_private, remove_if_there, write_private};
use ctxrelay_core::wire::config::digest;

/// More than any trusted configuration is long.
const TRUST_BYTES_MAX: u64 = 1024 * 1024;

/// What the operator said yes to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct Trusted {
    /// When, ms since the epoch.
    pub at: i64,
    /// SHA-256 of `keys`; a file that was changed by hand counts as none.
    pub digest: String,
    /// The keys with power, dotted, with their values.
    pub keys: Map<String, Value>,
}

/// What is trusted of a project; nothing when there is no file, or none that is whole.
pub fn read(user: &UserDirs, instance_id: &str) -> Trusted {
    let path = user.trust(instance_id);
    let text = match read_private(&path, TRUST_BYTES_MAX) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Trusted::default(),
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "what was trusted cannot be read");
            return Trusted::default();
        }
    };
    match serde_json::from_slice::<Trusted>(&text) {
        Ok(trusted) if trusted.digest == digest(&trusted.keys) => trusted,
        _ => {
            tracing::warn!(path = %path.display(), "is not what the operator trusted: ignored");
            Trusted::default()
        }
    }
}

/// Trusts these keys and nothing else.
///
/// # Errors
///
/// When the file cannot be written; what was trusted before is then still so.
pub fn write(
    user: &UserDirs,
    instance_id: &str,
    keys: Map<String, Value>,
    now_ms: i64,
) -> io::Result<()> {
    let path = user.trust(instance_id);
    if let Some(dir) = path.parent() {
        make_private_dir(dir)?;
    }
    let trusted = Trusted {
        at: now_ms,
        digest: digest(&keys),
        keys,
    };
    write_private(&path, &serde_json::to_vec(&trusted)?)
}

/// Trusts nothing any more: the project is not the one that was trusted.
///
/// # Errors
///
/// When the file cannot be removed.
pub fn forget(user: &UserDirs, instance_id: &str) -> io::Result<()> {
    remove_if_there(&user.trust(instance_id))
}
