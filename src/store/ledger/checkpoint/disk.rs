//! The files of a checkpoint: `state/checkpoint`, a JSON header with the snapshot;
//! `state/checkpoint.slots`, the offset index, which only grows; and outside the project the
//! digests of the valid headers.

use std::borrow::Cow;
use std::env::current_exe;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::super::aside::measure;
use super::super::check::Checker;
use super::super::index::{EntryIndex, SlotWords, hash_probe};
use super::super::slots::{SLOT_BYTES, Slot, Slots};
use super::super::stamp::Stamp;
use super::Checkpoint;
use crate::dirs::{ProjectDirs, UserDirs, open_private, read_private};
use ctxrelay_core::hex::hex;
use ctxrelay_core::id::SessionId;
use ctxrelay_core::snapshot::Snapshot;

/// Raised when the files change their shape, or what the fold makes of the same entries.
pub(super) const VERSION: u32 = 4;

/// How many slots one digest covers: so many are hashed again for the next checkpoint.
pub(super) const BLOCK_SLOTS: usize = 4096;

/// The longest header that is read. Its size follows what is open, not the ledger's length.
const HEADER_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// More than two digests are long.
const DIGESTS_BYTES_MAX: u64 = 1024;

/// Everything except the slots. Written from a shared world, which may be large.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Header<'a> {
    pub version: u32,
    /// The program that folded: another one may fold differently.
    pub build: Build,
    /// Whether ids still hash as they did.
    pub id_probe: u32,
    pub session_id: SessionId,
    pub slots: usize,
    /// The SHA-256 of each block of slots; the last block may not be full.
    pub blocks: Vec<String>,
    pub words: SlotWords,
    pub checker: Checker,
    pub stamp: Option<Stamp>,
    pub snapshot: Cow<'a, Snapshot>,
}

/// A program file, as the file system describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Build {
    version: String,
    len: u64,
    modified_s: i64,
    modified_ns: i64,
}

impl Build {
    /// This program. `None` where the system does not tell, and there are no checkpoints then.
    pub(super) fn own() -> Option<Self> {
        let found = current_exe().ok()?.metadata().ok()?;
        Some(Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            len: found.len(),
            modified_s: found.mtime(),
            modified_ns: found.mtime_nsec(),
        })
    }
}

/// The digests of the valid headers: the last one, and the one that is being written.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct OutsideDigests {
    pub digests: Vec<String>,
}

/// The digest of a header, as it is kept outside.
pub(super) fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Reads the checkpoint of a project; `None` when there is none that can be trusted.
pub fn read(dirs: &ProjectDirs, user: &UserDirs) -> Option<Checkpoint> {
    match try_read(dirs, user) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            tracing::info!(%error, "the checkpoint is not taken");
            None
        }
    }
}

fn try_read(dirs: &ProjectDirs, user: &UserDirs) -> io::Result<Option<Checkpoint>> {
    let text = read_header(dirs, user)?;
    let header: Header<'_> = serde_json::from_slice(&text)?;
    if header.version != VERSION
        || Some(&header.build) != Build::own().as_ref()
        || header.id_probe != hash_probe()
        || !header.words.are_sound()
    {
        return Err(refused("another version wrote it"));
    }
    let file = open_private(&dirs.state_file("checkpoint.slots"))?;
    let slots = read_slots(file, header.slots, &header.blocks)?;
    let index = EntryIndex::from_slots(slots, header.words)
        .ok_or_else(|| refused("its index is too long"))?;
    Ok(Some(Checkpoint {
        session: header.session_id,
        snapshot: header.snapshot.into_owned(),
        checker: header.checker,
        index,
        stamp: header.stamp,
    }))
}

/// The header's text, if it is one that counts.
fn read_header(dirs: &ProjectDirs, user: &UserDirs) -> io::Result<Vec<u8>> {
    let text = read_private(&dirs.state_file("checkpoint"), HEADER_BYTES_MAX)?;
    if !those_that_count(dirs, user)?.contains(&digest(&text)) {
        return Err(refused("it is not the one that was written last"));
    }
    Ok(text)
}

/// The digest of the header that counts now.
pub(super) fn own_digest(dirs: &ProjectDirs, user: &UserDirs) -> Option<String> {
    let file = open_private(&dirs.state_file("checkpoint")).ok()?;
    let (_, own) = measure(&file, 0, |_| Ok(())).ok()?;
    let counting = those_that_count(dirs, user).ok()?;
    counting.contains(&own).then_some(own)
}

fn those_that_count(dirs: &ProjectDirs, user: &UserDirs) -> io::Result<Vec<String>> {
    let outside = read_private(&user.checkpoint(&dirs.instance_id()), DIGESTS_BYTES_MAX)?;
    let outside: OutsideDigests = serde_json::from_slice(&outside)?;
    Ok(outside.digests)
}

fn read_slots(mut file: File, count: usize, blocks: &[String]) -> io::Result<Slots> {
    let mut left = count;
    let mut slots = Slots::default();
    let mut bytes = vec![0; BLOCK_SLOTS * SLOT_BYTES];
    for block in blocks {
        let bytes = &mut bytes[..left.min(BLOCK_SLOTS) * SLOT_BYTES];
        file.read_exact(bytes)?;
        if digest(bytes) != *block {
            return Err(refused("its index was changed"));
        }
        let (each, _) = bytes.as_chunks::<SLOT_BYTES>();
        for slot in each.iter().map(Slot::from_bytes) {
            let last = slots.last();
            if last.is_some_and(|last| slot.seq <= last.seq || slot.offset < last.end()) {
                return Err(refused("its index is not in order"));
            }
            slots.push(slot);
        }
        left -= each.len();
    }
    if left > 0 {
        return Err(refused("its index is not whole"));
    }
    Ok(slots)
}

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
