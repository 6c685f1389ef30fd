//! [`Opened`]: the record can be written and what is to be delivered is known; nobody was told.

use std::collections::VecDeque;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::channel::Channel;
use super::choice::SessionChoice;
use super::claimed::Claimed;
use super::first_words::FirstWords;
use super::{Builder, StartError};
use crate::core::agent::Agent;
use crate::core::fold::forget_deliveries;
use crate::core::id::{SessionId, ThreadId, TurnId};
use crate::core::redact::Redactor;
use crate::core::snapshot::Snapshot;
use crate::daemon::agents::codex_lane::CodexLane;
use crate::daemon::base::clock::now_ms;
use crate::daemon::base::identity::Identity;
use crate::daemon::base::recorder::{Keepers, Recorder, RecorderParts};
use crate::daemon::deliveries::outbox::Outbox;
use crate::daemon::owners::Daemon;
use crate::store::disk_space::DiskSpace;
use crate::store::head::{HeadKeeper, Heads, Kept};
use crate::store::ledger::{self, CheckpointKeeper, Ledger, Stored};
use crate::store::mend::mend;
use crate::store::search::Search;
use crate::store::session;

/// A project whose record is open.
#[derive(Debug)]
pub(in crate::daemon) struct Opened {
    writing: Writing,
    search: Search,
    space: Arc<DiskSpace>,
    heads: HeadKeeper,
    checkpoints: CheckpointKeeper,
    session: SessionId,
    world: Snapshot,
    recent: VecDeque<Arc<Stored>>,
    outbox: Outbox,
    pub(super) redactor: Arc<Redactor>,
    /// Every line was read.
    is_read: bool,
    /// Set once the project's folder is not where it was.
    disowned: Arc<AtomicBool>,
    first_words: FirstWords,
    pub(super) channel: Channel,
    pub(super) claimed: Claimed,
}

/// The ledger's writer. Closed, and waited for, unless a loop goes on with it: the lock must not be
/// free while it has the file open.
#[derive(Debug)]
struct Writing {
    ledger: Ledger,
    goes_on: bool,
}

impl Drop for Writing {
    fn drop(&mut self) {
        if !self.goes_on {
            self.ledger.clone().close();
        }
    }
}

/// A loop before its first word, with what it stands on. In a box from here on: the stages and the
/// task that it goes through would each hold 20 kB for it, on their stack too.
pub(super) struct Assembled {
    pub(super) daemon: Box<Daemon>,
    pub(super) first_words: FirstWords,
    pub(super) channel: Channel,
    pub(super) claimed: Claimed,
}

impl Claimed {
    /// Chooses the session, mends its record where a crash left it torn, and opens it.
    pub(in crate::daemon) fn open(self) -> Result<Opened, StartError> {
        let Builder {
            dirs, user_dirs, ..
        } = &self.builder;
        let state_failed = |source| self.builder.state_failed(source);
        let redactor = Arc::new(Redactor::with(self.loaded.rules.clone()));
        let programs = self.builder.program_look();
        let channel = Channel::new(dirs.root.clone(), programs, Arc::clone(&redactor));
        let registry_failed = |source| self.builder.registry_failed(source);
        let heads = Heads::of_project(user_dirs, dirs).map_err(registry_failed)?;
        let kept = heads.kept();
        let believed_after = kept.as_ref().map_or(0, |kept| kept.foreign_through);
        let SessionChoice {
            session,
            is_new,
            missing,
            lost,
            left_over,
        } = SessionChoice::of(dirs, kept.as_ref())?;
        if let Some(lost) = &lost {
            // Opening the next session replaces the head that tells of it, and this start may fail.
            heads
                .raise(slice::from_ref(lost))
                .map_err(registry_failed)?;
        }
        let has_no_end = |kept: Kept| kept.head.session_id == session && !kept.clean;
        let is_open = kept.is_some_and(has_no_end) && self.inherited.is_none() && !self.is_clone;
        let mended = mend(dirs, &session);
        let space = Arc::new(DiskSpace::new(dirs, self.loaded.config.storage));
        let mut opened = ledger::open_watched(
            ledger::OpenOptions {
                dirs: dirs.clone(),
                session: session.clone(),
                prev_head: None,
                redactor: Arc::clone(&redactor),
                checkpoint: ledger::read_checkpoint(dirs, user_dirs),
                outside: Some(ledger::Outside {
                    heads: heads.clone(),
                    origin: if self.is_clone {
                        ledger::Origin::Elsewhere
                    } else {
                        ledger::Origin::Known
                    },
                }),
                space: Some(Arc::clone(&space)),
            },
            &self.builder.reading,
            channel.writer_events()(),
        )?;
        let writing = Writing {
            ledger: opened.ledger,
            goes_on: false,
        };
        session::write_current(dirs, &session)
            .map_err(|source| self.builder.folder_failed(dirs.current(), source))?;
        let report = opened.report;
        // Entries and no chain: nobody of ours has written here yet.
        let is_adopted = report.entries > 0 && report.head.is_none();
        if is_adopted {
            forget_deliveries(&mut opened.snapshot);
        }
        let (queue, queue_was_older) = Outbox::queue_of(dirs, user_dirs)?;
        let (mut outbox, unknowable) =
            Outbox::open(queue, &opened.snapshot, channel.queue_events())?;
        // Before anything is offered.
        let answers_max = self.loaded.config.relay.answers_max();
        outbox.hold_answers(answers_max, &opened.snapshot, now_ms());
        let heads = HeadKeeper::start(heads, channel.head_events()).map_err(state_failed)?;
        let from = report.spared_to.0;
        let checkpoints = CheckpointKeeper::start(dirs, user_dirs, from).map_err(state_failed)?;
        let search = Search::start(
            dirs,
            Arc::clone(&redactor),
            writing.ledger.clone(),
            session.clone(),
            // The index of a clone is somebody else's word about our record.
            self.is_clone,
        )
        .map_err(state_failed)?;
        let first_words = FirstWords {
            is_new: is_new || report.entries == 0,
            adopted: is_adopted.then(|| (report.entries, self.unread())),
            is_clone: self.is_clone,
            // A start that failed before its first entry is no daemon that ended.
            was_killed: is_open && report.entries > 0,
            has_foreign_history: if self.is_clone {
                !is_new
            } else {
                opened.snapshot.foreign_through.0 > believed_after && !is_adopted
            },
            missing,
            mended,
            torn: report.torn,
            lost,
            left_over,
            alarms: report.alarms,
            unknowable,
            queue_was_older,
        };
        Ok(Opened {
            writing,
            search,
            space,
            heads,
            checkpoints,
            session,
            world: opened.snapshot,
            recent: report.recent,
            outbox,
            redactor,
            is_read: report.is_read,
            disowned: Arc::default(),
            first_words,
            channel,
            claimed: self,
        })
    }
}

impl Opened {
    /// Which session goes on.
    pub(super) fn session(&self) -> &SessionId {
        &self.session
    }

    /// The record is about to grow: its last end is no orderly one any more. In a takeover it was
    /// none.
    pub(super) fn take_mark(&self) -> Result<(), StartError> {
        let heads = self.heads.heads();
        heads
            .take_mark()
            .map_err(|source| StartError::unwritten(heads.path(), source, None))
    }

    /// Codex's thread, as far as the record knows it.
    pub(super) fn thread(&self) -> Option<ThreadId> {
        self.world.agent(Agent::Codex).thread_id.clone()
    }

    /// The turn of Codex whose end the record does not have, with its thread. Of a clone's none: it ran
    /// elsewhere.
    pub(super) fn unended_turn(&self) -> Option<(ThreadId, TurnId)> {
        let unended = &self.world.agent(Agent::Codex).unended_turn;
        unended.clone().filter(|_| !self.claimed.is_clone)
    }

    /// Set once the project's folder is not where it was: what lies there then is not ours.
    pub(super) fn disowned(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.disowned)
    }

    /// Every line of the record was read, or none was changed since a run that read them.
    pub(super) fn is_read(&self) -> bool {
        self.is_read
    }

    /// Puts the loop together. From here on it closes what was opened.
    pub(super) fn assemble(self, identity: Identity, codex: CodexLane) -> Assembled {
        let mut writing = self.writing;
        writing.goes_on = true;
        let (weak, writer_events) = (self.channel.weak(), self.channel.writer_events());
        let recorder = Recorder::new(RecorderParts {
            dirs: self.claimed.builder.dirs.clone(),
            ledger: writing.ledger.clone(),
            redactor: self.redactor,
            keepers: Keepers {
                heads: self.heads,
                checkpoints: self.checkpoints,
                search: self.search,
                space: self.space,
            },
            session_id: self.session,
            world: self.world,
            recent: self.recent,
            writer_events,
            disowned: self.disowned,
        });
        let shown = self.claimed.builder.shown.clone();
        let mut daemon = Box::new(Daemon::new(
            self.claimed.builder.dirs.clone(),
            identity,
            recorder,
            self.outbox,
            codex,
            self.channel.handle.commit().clone(),
            weak,
        ));
        let programs = self.channel.handle.programs().find_programs();
        daemon.base.programs.looked(programs);
        daemon.agents.costs.shows(shown);
        daemon
            .agents
            .costs
            .go_on(&daemon.base.dirs, daemon.base.clock.outside_ms());
        Assembled {
            daemon,
            first_words: self.first_words,
            channel: self.channel,
            claimed: self.claimed,
        }
    }
}
