//! The record of a child process that the daemon owns: `state/codex-app-server.json`.
//!
//! Written when the child starts, so that the next daemon can end what a killed one left behind.
//! The adapter gives the contents their meaning; this only keeps them.

use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::dirs::{ProjectDirs, read_private, remove_if_there, write_private};

/// The largest record that is read, in bytes: one has a few hundred.
const RECORD_BYTES_MAX: u64 = 16 * 1024;

const NAME: &str = "codex-app-server.json";

/// The record that the last daemon left, when it is readable.
pub fn read<T: DeserializeOwned>(dirs: &ProjectDirs) -> Option<T> {
    let bytes = read_private(&dirs.state_file(NAME), RECORD_BYTES_MAX).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Keeps a record.
///
/// # Errors
///
/// When the state folder cannot be written.
pub fn write<T: Serialize>(dirs: &ProjectDirs, record: &T) -> io::Result<()> {
    write_private(&dirs.state_file(NAME), &serde_json::to_vec(record)?)
}

/// Forgets the record.
///
/// # Errors
///
/// When the state folder cannot be written.
pub fn remove(dirs: &ProjectDirs) -> io::Result<()> {
    remove_if_there(&dirs.state_file(NAME))
}
