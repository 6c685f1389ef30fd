//! [`FirstWords`]: the first entries of a daemon: what it found while it started.

use std::path::PathBuf;

use super::claimed::Claimed;
use crate::core::agent::{Agent, Party};
use crate::core::alarm::Alarm;
use crate::core::entry::{DeliveryResult, ErrorCode, Fate, LifecycleEvent};
use crate::core::id::{EntryId, SessionId};
use crate::daemon::base::foreign::say_alarms;
use crate::daemon::decisions::decision_messages::{track_told, untold_messages};
use crate::daemon::decisions::signing::{self, SignerMet};
use crate::daemon::owners::Daemon;
use crate::daemon::sessions::adopt;
use crate::daemon::sessions::mended::finish_mending;
use crate::store::contextrelay3::{self, Unread};
use crate::store::dirs::UserDirs;
use crate::store::failed;
use crate::store::head::Head;
use crate::store::mend::Mended;

/// What was found, and is to be said once the loop is put together.
#[derive(Debug)]
pub(super) struct FirstWords {
    /// The session begins.
    pub(super) is_new: bool,
    /// How many entries ContextRelay 3 left, and what Claude never fetched from it.
    pub(super) adopted: Option<(u64, Unread)>,
    pub(super) is_clone: bool,
    /// The daemon before did not come to an orderly end.
    pub(super) was_killed: bool,
    /// Entries are somebody else's word.
    pub(super) has_foreign_history: bool,
    /// What `current` named in vain.
    pub(super) missing: Option<SessionId>,
    pub(super) mended: Mended,
    /// Where the bytes of a torn line are.
    pub(super) torn: Option<PathBuf>,
    pub(super) lost: Option<Alarm>,
    /// The head of a record that went with another folder at this path.
    pub(super) left_over: Option<Head>,
    pub(super) alarms: Vec<Alarm>,
    /// Messages of which nobody knows what became of them.
    pub(super) unknowable: Vec<EntryId>,
    /// The queue is an older copy of itself.
    pub(super) queue_was_older: bool,
}

impl Claimed {
    /// What Claude never fetched from ContextRelay 3. Of a clone nothing: its queue is somebody
    /// else's.
    pub(super) fn unread(&self) -> Unread {
        if self.is_clone {
            return Unread::default();
        }
        contextrelay3::unread(&self.builder.dirs).unwrap_or_else(|error| {
            tracing::warn!(%error, "the queue of ContextRelay 3 cannot be read");
            Unread::default()
        })
    }
}

impl FirstWords {
    /// Says it, before anything is sent. `server_runs_on`: the app-server is the one of the daemon
    /// before.
    pub(super) fn say(self, daemon: &mut Daemon, claimed: &mut Claimed, server_runs_on: bool) {
        let is_clone = self.is_clone;
        self.say_found(daemon, claimed);
        let failed = failed::take(&daemon.base.dirs);
        self.say_began(daemon, server_runs_on, failed.is_some());
        self.say_lost(daemon, failed);
        daemon.base.note_trust_cut_short(&claimed.builder.user_dirs);
        go_on(daemon, is_clone);
        let adopted = std::mem::replace(&mut claimed.adopted, Ok(None));
        daemon.base.note_adopted_config(adopted);
    }

    /// What the record began with, and what was set aside before it was ours.
    fn say_found(&self, daemon: &mut Daemon, claimed: &Claimed) {
        if self.is_new {
            daemon.base.start_session();
        }
        meet_signer(daemon, &claimed.builder.user_dirs);
        if let Some((entries, unread)) = &self.adopted {
            record_adoption(daemon, *entries, unread);
        }
        if let Some(aside) = &claimed.foreign_queue {
            let said = adopt::queue_set_aside(aside);
            daemon
                .base
                .recorder
                .keep(Party::System, ErrorCode::ForeignQueue, said);
        }
        if self.queue_was_older {
            daemon.base.note_older_queue();
        }
    }

    /// That the daemon started or goes on, behind what it says of the one before. `has_failed`: that
    /// one left its mark.
    fn say_began(&self, daemon: &mut Daemon, server_runs_on: bool, has_failed: bool) {
        let (event, said, ends) = if server_runs_on {
            let said = "the daemon goes on in another process";
            let told = daemon.base.nothing_came_after_a_start();
            (LifecycleEvent::DaemonTakenOver, said, told)
        } else {
            let asked = match self.is_clone {
                true => None,
                false => daemon.return_to_unended_turn(),
            };
            let ends = daemon.base.note_unfinished(self.is_clone, asked.as_ref());
            // One that failed has left its mark, and an entry of its own.
            let said = match self.was_killed && !has_failed {
                true => "the daemon started; the one before this one ended without a word",
                false => "the daemon started",
            };
            (LifecycleEvent::DaemonStarted, said, ends)
        };
        let began = daemon
            .base
            .recorder
            .entry(Party::System, None, event, said, None)
            .with_prompts_recorded();
        let began = std::iter::once(began).chain(ends).collect();
        // Without it the approvals and turns of a daemon that is gone would stand in the world.
        let recorder = &mut daemon.base.recorder;
        recorder.keep_then(began, Box::new(track_told));
    }

    /// What was lost, or is somebody else's, since the last daemon. `failed`: the mark that it left if
    /// it failed.
    fn say_lost(self, daemon: &mut Daemon, failed: Option<String>) {
        if let Some(missing) = &self.missing {
            daemon.base.recorder.keep(
                Party::System,
                ErrorCode::LedgerMissing,
                format!(
                    ".contextrelay/current named {missing}, whose record does not exist: this \
                     session goes on in its place"
                ),
            );
        }
        if let Some(head) = &self.left_over {
            daemon.base.recorder.keep(
                Party::System,
                ErrorCode::LedgerMissing,
                format!(
                    "a record with entries up to {} (session {}) was known of another folder at \
                     this path, and went with that folder: nothing of it is in this record",
                    head.seq, head.session_id
                ),
            );
        }
        let is_cut =
            |alarm: &Alarm| matches!(alarm, Alarm::RecordCut { .. } | Alarm::RecordGone { .. });
        let is_whole = !self.lost.iter().chain(&self.alarms).any(is_cut);
        daemon.base.note_failed(failed, is_whole);
        for (kind, said) in finish_mending(
            &daemon.deliveries.outbox,
            &daemon.base.recorder,
            self.mended,
        ) {
            daemon.base.recorder.keep(Party::System, kind, said);
        }
        if let Some(torn) = &self.torn {
            daemon.base.recorder.keep(
                Party::System,
                ErrorCode::TornTail,
                format!(
                    "the last line was torn by a crash; its bytes are kept in {}",
                    torn.file_name().unwrap_or_default().display()
                ),
            );
        }
        let lost = self.lost.filter(|lost| !self.alarms.contains(lost));
        for alarm in lost.into_iter().chain(self.alarms) {
            daemon.base.raise_alarm(&alarm);
        }
        say_alarms(&daemon.base.recorder, &mut daemon.base.notices);
        if self.has_foreign_history {
            daemon.base.recorder.keep(
                Party::System,
                ErrorCode::ForeignHistory,
                foreign_history(self.is_clone, daemon),
            );
        }
        for id in self.unknowable {
            if let Some(to) = daemon.deliveries.outbox.get(&id).map(|row| row.to) {
                let entry = daemon.deliveries.delivery_entry(
                    &daemon.base,
                    &id,
                    to,
                    DeliveryResult::Ambiguous,
                    None,
                    None,
                );
                // Where it is refused, the next start finds it like this and says it again.
                daemon.base.recorder.mention_entry(entry);
            }
        }
    }
}

/// Goes on with what was under way. With messages only where the record is no clone's.
fn go_on(daemon: &mut Daemon, is_clone: bool) {
    // What of the agents' files could not be deleted with the session before goes when they are made
    // again.
    let before = daemon.base.recorder.world().predecessor.as_ref();
    if before.is_some_and(|before| before.fate == Fate::Discarded) {
        daemon.base.renderings.changed();
    }
    daemon.base.lose_claudes_packets();
    daemon.recall_limits();
    if !is_clone {
        let messages = untold_messages(&daemon.base.recorder, &daemon.base.commit);
        if !messages.is_empty() {
            daemon.base.append_messages(messages);
        }
        // The daemon before may have died between the sender's word, or the operator's, and what
        // follows from it.
        let unsettled = daemon.base.recorder.world().unsettled.keys();
        let unsettled: Vec<EntryId> = unsettled.cloned().collect();
        daemon.take_back_closed(unsettled);
    }
    daemon.recover_codex();
}

fn meet_signer(daemon: &mut Daemon, user: &UserDirs) {
    let SignerMet {
        lost,
        goes_on,
        not_kept,
    } = signing::meet_signer(&daemon.base.recorder, &daemon.base.dirs, user);
    if let Some(why) = not_kept {
        daemon
            .base
            .recorder
            .mention(Party::System, ErrorCode::TrustNotKept, why);
    }
    if let Some(lost) = lost {
        daemon.base.raise_alarm(&lost);
    }
    if let Some(entry) = goes_on {
        daemon.base.recorder.keep_entry(entry);
    }
}

/// The record of ContextRelay 3 goes on as ours.
pub(in crate::daemon) fn record_adoption(daemon: &mut Daemon, entries: u64, unread: &Unread) {
    let (first, carried) = adopt::adopted(&daemon.base.recorder, entries, unread);
    let mut batch = vec![first];
    for entry in carried {
        let (to, result) = (Agent::Claude, DeliveryResult::Ambiguous);
        let unsure =
            daemon
                .deliveries
                .delivery_entry(&daemon.base, &entry.id, to, result, None, None);
        batch.extend([entry, unsure]);
    }
    daemon.base.recorder.keep_then(
        batch,
        Box::new(|daemon, result| match result {
            Ok(recorded) => adopt::take_up(
                &daemon.base.recorder,
                &mut daemon.deliveries.outbox,
                recorded,
            ),
            // Given up for good. Where nothing else was recorded, the next start finds the prefix as
            // it was and does it again.
            Err(refusal) => {
                tracing::error!(code = %refusal.code, "the record could not be taken over");
            }
        }),
    );
}

fn foreign_history(is_clone: bool, daemon: &Daemon) -> String {
    if is_clone {
        return "this .contextrelay/ was not made here: it got new tokens and an empty queue; \
                entries before this one are somebody else's word"
            .to_owned();
    }
    format!(
        "nothing outside of the project vouches for the entries up to {}: they are somebody else's \
         word, and no decision or message of yours in them counts",
        daemon.base.recorder.world().foreign_through
    )
}
