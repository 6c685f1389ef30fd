//! [`CheckpointKeeper`]: writes checkpoints on a thread of its own, each time only what is new.

use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, IntoInnerError};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use super::super::check::Checker;
use super::super::handle::Ledger;
use super::super::index::{SlotWords, hash_probe};
use super::super::slots::{SLOT_BYTES, Slot};
use super::super::stamp::Stamp;
use super::disk::{BLOCK_SLOTS, Build, Header, OutsideDigests, VERSION, digest, own_digest};
use crate::derived::discard_checkpoint;
use crate::dirs::{ProjectDirs, UserDirs, make_private_dir, sweep_unplaced, write_private};
use crate::hashed_file::HashedFile;
use crate::latest::Latest;
use crate::latest_thread::LatestThread;
use ctxrelay_core::id::{Seq, SessionId};
use ctxrelay_core::snapshot::Snapshot;

/// How long between two checkpoints at least: they cost the disk some syncs that the ledger
/// needs as well.
const WRITE_INTERVAL: Duration = Duration::from_secs(5);

/// How many entries may follow a checkpoint before the next one is worth its cost: they are read
/// again after a crash, within some ten ms.
const ENTRIES_BETWEEN: u64 = 2_048;

/// Keeps the checkpoint of one project.
#[derive(Debug)]
pub struct CheckpointKeeper {
    dirs: ProjectDirs,
    user: UserDirs,
    writer: LatestThread<Offer>,
    offered: u64,
    /// Ends the pause.
    resume: Option<Sender<()>>,
}

#[derive(Debug)]
struct Offer {
    ledger: Ledger,
    session: SessionId,
    world: Arc<Snapshot>,
    hash: String,
    /// Nothing more will be written to the ledger.
    last: bool,
}

impl CheckpointKeeper {
    /// Begins. `from` is the last entry that the checkpoint there spared reading: of a long record
    /// without one the first is written with the next entry.
    ///
    /// # Errors
    ///
    /// When the system gives no thread.
    pub fn start(dirs: &ProjectDirs, user: &UserDirs, from: u64) -> io::Result<Self> {
        Self::start_behind(dirs, user, from, || {})
    }

    /// As [`Self::start`], once `before` is over.
    fn start_behind(
        dirs: &ProjectDirs,
        user: &UserDirs,
        from: u64,
        before: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let (of, by) = (dirs.clone(), user.clone());
        let writer = LatestThread::start("checkpoint-writer", move |offers| {
            before();
            Files::new(&of, &by).keep(&offers);
        })?;
        Ok(Self {
            dirs: dirs.clone(),
            user: user.clone(),
            writer,
            offered: from,
            resume: None,
        })
    }

    /// Goes on without anything of what was offered so far, once what is being written has its end
    /// and the pause is dropped. Waits for no disk, unless the system gives no thread.
    ///
    /// # Errors
    ///
    /// When the system gives no thread; no checkpoints are written then.
    pub fn begin_anew(&mut self) -> io::Result<CheckpointPause> {
        // Else what waits is written as well, behind what is being written.
        let last = self.writer.abandon();
        let (ended, end) = channel();
        let (resume, resumed) = channel();
        let before = move || {
            drop(last);
            drop(ended);
            // Who would end the pause is there, or it is over.
            let _ = resumed.recv();
        };
        *self = Self::start_behind(&self.dirs, &self.user, 0, before)?;
        self.resume = Some(resume.clone());
        Ok(CheckpointPause { end, resume })
    }

    /// Takes note that the world has come to this entry, and writes it down if the last
    /// checkpoint is far enough behind. Never blocks on the disk.
    pub fn moved(
        &mut self,
        ledger: &Ledger,
        session: &SessionId,
        world: &Arc<Snapshot>,
        hash: &str,
    ) {
        let seq = world.seq.0;
        // A new session counts from one again.
        if seq < self.offered {
            self.offered = 0;
        }
        if seq - self.offered >= ENTRIES_BETWEEN {
            self.offered = seq;
            self.writer.latest().put(Offer {
                ledger: ledger.clone(),
                session: session.clone(),
                world: Arc::clone(world),
                hash: hash.to_owned(),
                last: false,
            });
        }
    }

    /// Writes the last checkpoint, of a ledger that is closed already, and ends.
    pub fn close(self, ledger: Ledger, session: SessionId, world: Arc<Snapshot>, hash: String) {
        self.writer.latest().put(Offer {
            ledger,
            session,
            world,
            hash,
            last: true,
        });
    }
}

/// While it exists no checkpoint begins, unless the keeper ends.
#[derive(Debug)]
pub struct CheckpointPause {
    end: Receiver<()>,
    resume: Sender<()>,
}

impl CheckpointPause {
    /// Waits until the one that was being written has its end; whether it has.
    pub fn wait(&self, at_most: Duration) -> bool {
        self.end.recv_timeout(at_most) == Err(RecvTimeoutError::Disconnected)
    }
}

impl Drop for CheckpointPause {
    fn drop(&mut self) {
        let _ = self.resume.send(());
    }
}

impl Drop for CheckpointKeeper {
    fn drop(&mut self) {
        if let Some(resume) = self.resume.take() {
            let _ = resume.send(());
        }
    }
}

/// What is on the disk already.
struct Files {
    dirs: ProjectDirs,
    user: UserDirs,
    build: Option<Build>,
    slots: Option<SlotsFile>,
    last_digest: Option<String>,
}

/// The growing file of slots, of one session.
struct SlotsFile {
    file: File,
    session: SessionId,
    written: usize,
    blocks: Vec<String>,
}

impl Files {
    fn new(dirs: &ProjectDirs, user: &UserDirs) -> Self {
        Self {
            dirs: dirs.clone(),
            user: user.clone(),
            build: Build::own(),
            slots: None,
            last_digest: own_digest(dirs, user),
        }
    }

    fn keep(&mut self, offers: &Latest<Offer>) {
        sweep_unplaced(&self.dirs.state);
        while let Some(offer) = offers.take() {
            let written = catch_unwind(AssertUnwindSafe(|| self.write(&offer)));
            match written {
                Ok(Ok(())) => {}
                // The old one still serves, or none: opening takes longer, and that is all.
                Ok(Err(error)) => {
                    tracing::warn!(%error, "no checkpoint was written");
                    self.slots = None;
                }
                // It is in the log.
                Err(_) => self.slots = None,
            }
            offers.rest(WRITE_INTERVAL);
        }
    }

    fn write(&mut self, offer: &Offer) -> io::Result<()> {
        let stamp = offer.last.then(|| offer.ledger.stamp());
        if stamp == Some(None) {
            // The next start is to read all of it, and so is who looks before.
            return discard_checkpoint(&self.dirs).map(drop);
        }
        let Some(build) = self.build.clone() else {
            return Ok(());
        };
        if !offer.ledger.has_room_to_grow() {
            return Ok(());
        }
        let Some(taken) = offer.ledger.take_checkpoint(&offer.world, &offer.hash) else {
            return Ok(());
        };
        let blocks = self.write_slots(offer, &taken)?;
        let header = Header {
            version: VERSION,
            build,
            id_probe: hash_probe(),
            session_id: offer.session.clone(),
            slots: taken.entries,
            blocks,
            words: taken.words,
            checker: taken.checker,
            stamp: stamp.flatten(),
            snapshot: Cow::Borrowed(&offer.world),
        };
        // Piece by piece: as one text it would be the largest thing in memory.
        let mut file = BufWriter::new(HashedFile::begin(&self.dirs.state_file("checkpoint"))?);
        serde_json::to_writer(&mut file, &header)?;
        let file = file.into_inner().map_err(IntoInnerError::into_error)?;
        // Both count until the next time, so that a crash between the two files costs nothing.
        let own = file.digest();
        let digests = self.last_digest.iter().cloned().chain([own.clone()]);
        let outside = OutsideDigests {
            digests: digests.collect(),
        };
        let path = self.user.checkpoint(&self.dirs.instance_id());
        make_private_dir(&self.user.registry)?;
        make_private_dir(&self.user.registry.join("heads"))?;
        write_private(&path, &serde_json::to_vec(&outside)?)?;
        file.commit()?;
        self.last_digest = Some(own);
        Ok(())
    }

    /// Appends the slots that are not there yet, and returns the digests of all blocks.
    fn write_slots(&mut self, offer: &Offer, taken: &Taken) -> io::Result<Vec<String>> {
        if self.slots.as_ref().is_none_or(|slots| {
            slots.session != offer.session || slots.written > taken.entries || slots.is_removed()
        }) {
            self.slots = None;
        }
        let slots = match &mut self.slots {
            Some(slots) => slots,
            None => self
                .slots
                .insert(SlotsFile::create(&self.dirs, &offer.session)?),
        };
        // The last block is written and hashed again unless it was full.
        let full = slots.written / BLOCK_SLOTS;
        slots.blocks.truncate(full);
        let mut from = full * BLOCK_SLOTS;
        while from < taken.entries {
            let to = (from + BLOCK_SLOTS).min(taken.entries);
            let bytes = offer.ledger.slot_bytes(from, to);
            slots
                .file
                .write_all_at(&bytes, (from * SLOT_BYTES) as u64)?;
            slots.blocks.push(digest(&bytes));
            from = to;
        }
        slots.written = taken.entries;
        Ok(slots.blocks.clone())
    }
}

impl SlotsFile {
    /// Somebody threw it away, as everybody may.
    fn is_removed(&self) -> bool {
        self.file.metadata().is_ok_and(|found| found.nlink() == 0)
    }

    fn create(dirs: &ProjectDirs, session: &SessionId) -> io::Result<Self> {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            // Of the same session, the same bytes are written once more, so that the checkpoint
            // there is stays whole; of another one they count no more.
            .truncate(false)
            .mode(0o600)
            .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
            .open(dirs.state_file("checkpoint.slots"))?;
        Ok(Self {
            file,
            session: session.clone(),
            written: 0,
            blocks: Vec::new(),
        })
    }
}

/// The part of a checkpoint that is taken under the ledger's locks; the slots that are not on the
/// disk yet are copied later.
struct Taken {
    checker: Checker,
    words: SlotWords,
    /// How many entries it covers.
    entries: usize,
}

impl Ledger {
    /// The state at the entry that a snapshot ends with. `None` when that is not an entry which
    /// this run wrote, or when somebody else cut the file.
    fn take_checkpoint(&self, world: &Snapshot, hash: &str) -> Option<Taken> {
        let index = self.shared.index();
        let health = self.shared.health();
        if health.was_cut || world.seq.0 < health.first_own? {
            return None;
        }
        let entries = index.count_to(world.seq)?;
        let (head, _) = health.checker.head()?;
        let later = (index.count_to(Seq(head))? - entries) as u64;
        Some(Taken {
            checker: health.checker.before(later, world.seq.0, hash),
            words: index.words().clone(),
            entries,
        })
    }

    /// The slots from one place to another, as they lie in a file.
    fn slot_bytes(&self, from: usize, to: usize) -> Vec<u8> {
        let index = self.shared.index();
        let slots = index.between(from, to);
        slots.flat_map(Slot::to_bytes).collect()
    }

    /// The stamp of a file that is as it was written, by this process to its end. `None`: somebody
    /// else was at it, or it was broken before. Of a broken one no checkpoint is kept, which would not
    /// notice that it is put back.
    fn stamp(&self) -> Option<Stamp> {
        let file = self.shared.file();
        let mut health = self.shared.health();
        let stamp = health.left.stamp(&file);
        stamp.filter(|_| health.stats().chain_ok)
    }
}
