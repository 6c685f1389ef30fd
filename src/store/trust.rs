//! [`Trusted`]: what the operator last trusted of a project's `config.json`. It lies outside the
//! project, where processes in an agent's sandbox cannot write.
//!
//! ENFORCED against those that can write only the project; ADVISORY against another process of the
//! same user.

use std::fs;
use std::io;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::dirs::{
    UserDirs, if_there, make_private_dir, read_private, remove_if_there, write_private,
};
use ctxrelay_core::wire::config::digest;

/// More than any trusted configuration is long.
const TRUST_BYTES_MAX: u64 = 1024 * 1024;

/// What the operator said yes to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct Trusted {
    /// When, ms since the epoch.
    pub at: i64,
    /// SHA-256 of `keys`: a file that was changed by hand does not count.
    pub digest: String,
    /// The keys with power, dotted, with their values.
    pub keys: Map<String, Value>,
}

/// What is trusted of a project; nothing when there is no file.
///
/// # Errors
///
/// When it cannot be read, or is not what was written there: what is trusted is not known then, and
/// that is not nothing.
pub fn read(user: &UserDirs, instance_id: &str) -> io::Result<Trusted> {
    let path = user.trust(instance_id);
    let Some(text) = if_there(read_private(&path, TRUST_BYTES_MAX))? else {
        return Ok(Trusted::default());
    };
    match serde_json::from_slice::<Trusted>(&text) {
        Ok(trusted) if trusted.digest == digest(&trusted.keys) => Ok(trusted),
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "it is damaged, or was changed by hand",
        )),
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

/// Trusts nothing any more: the project is perhaps not the one that was trusted. What was is kept
/// beside, for the operator who knows better.
///
/// # Errors
///
/// When the file cannot be moved.
pub fn set_aside(user: &UserDirs, instance_id: &str, now_ms: i64) -> io::Result<()> {
    let path = user.trust(instance_id);
    let aside = path.with_extension(format!("json.before-{now_ms}"));
    if_there(fs::rename(path, aside)).map(|_| ())
}

/// Trusts nothing any more: the project is gone.
///
/// # Errors
///
/// When the file cannot be removed.
pub fn forget(user: &UserDirs, instance_id: &str) -> io::Result<()> {
    remove_if_there(&user.trust(instance_id))
}
