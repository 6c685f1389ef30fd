//! [`Rollover`]: how one session ends and the next begins. A crash between any two of the steps can
//! be repaired:
//!
//! ```text
//! 1 the old ledger gets its last entries        a crash: the old session goes on, and says so
//! 2 the new ledger gets its first entries       a crash: the new file is set aside at the start
//!   the head outside is the new ledger's        from here on it is the new one
//! 3 `current` names the new session             a crash before: done at the start
//! 4 the old file is archived, or deleted        a crash: done at the start
//! ```
//!
//! All steps happen in one turn of the loop, so that nothing is recorded in between, except for the
//! deletion, which is carried out beside it.

use std::sync::Arc;
use std::time::Duration;

use crate::core::agent::{Agent, AgentState, Party};
use crate::core::delivery::LaterInput;
use crate::core::entry::{
    AgentChanged, ApprovalStep, DeliveryResult, Entry, EntryKind, ErrorCode, Fate, Predecessor,
    TurnRecord, TurnStatus,
};
use crate::core::id::{EntryId, RuntimeSession, SessionId, ThreadId};
use crate::core::signing::ActSignature;
use crate::core::snapshot::Snapshot;
use crate::daemon::base::clock::{now_ms, rand_u32};
use crate::daemon::base::foreign::open_alarms;
use crate::daemon::base::recorder::NotBegun;
use crate::daemon::decisions::signing::signing_as_it_is;
use crate::daemon::owners::continuation::Then;
use crate::daemon::owners::{Base, Daemon, Deliveries};
use crate::daemon::sessions::deletion::Deletion;
use crate::store::erase::KeptTexts;
use crate::store::ledger::LedgerError;
use crate::store::session;
use crate::wire::control::{Refusal, RefusalCode};
use crate::wire::status::KeptOpen;

/// How long the loop waits for the disk at each of the two appends; everybody waits with it.
const APPEND: Duration = crate::daemon::stop::STEP;

/// How a session ends.
#[derive(Debug)]
pub(in crate::daemon) struct Rollover {
    /// What becomes of the old file.
    pub fate: Fate,
    /// The long texts that stay when it is deleted.
    pub texts: Option<KeptTexts>,
    /// The old session's last entries.
    pub closing: Vec<Entry>,
    /// What the new session takes over, after its first entry and before the agents.
    pub carried: Vec<Entry>,
    /// The operator's signature, where the operator's acts are signed.
    pub signature: Option<ActSignature>,
}

/// A session that has ended, and the one that goes on.
#[derive(Debug)]
pub(in crate::daemon) struct RolledOver {
    /// What was sealed.
    pub before: Predecessor,
    /// The world that it ended with.
    pub world: Arc<Snapshot>,
    /// Where its file lies; `None` when it was deleted.
    pub archive: Option<String>,
    /// The deletion, when it was to be deleted.
    pub deletion: Option<Deletion>,
}

/// Something waits for the disk.
pub(in crate::daemon) fn being_written() -> Refusal {
    Refusal::in_flight(
        "what has just happened is being written to the disk",
        "nothing was changed; try again in a moment",
    )
}

/// Somebody has had it end already.
pub(in crate::daemon) fn ends_already() -> Refusal {
    Refusal::in_flight(
        "the session is being ended already",
        "this one changed nothing; look again in a moment",
    )
}

impl Daemon {
    /// Refuses unless this session can end, at the latest once what is appended to it is on the disk.
    pub(in crate::daemon) fn may_end(&self, named: Option<&SessionId>) -> Result<(), Refusal> {
        if let Some(named) = named.filter(|named| *named != self.base.recorder.session_id()) {
            return Err(Refusal::new(
                RefusalCode::StaleSession,
                format!("{named} is not the current session"),
                "look again: somebody cleared it already",
            ));
        }
        // The start that is to finish it knows only of the one before the current one.
        if self.base.operations.is_deleting() {
            return Err(Refusal::new(
                RefusalCode::InFlight,
                "the session before this one is still being deleted",
                "nothing was changed; try again in a moment; where that does not help, stop the \
                 daemon: the next one deletes the rest",
            ));
        }
        // What has happened to a message would be recorded behind that it was taken back.
        if self.base.recorder.has_unwritten() {
            return Err(Refusal::new(
                RefusalCode::LedgerUnwritable,
                "what has happened already is not recorded yet",
                "nothing was changed; `ctxrelay status` says why",
            ));
        }
        if let Some(KeptOpen { message, hint }) = self.on_its_way() {
            let hint = format!("nothing was changed; {hint}");
            return Err(Refusal::in_flight(message, hint));
        }
        if !self.deliveries.held.is_empty() {
            return Err(being_written());
        }
        Ok(())
    }

    /// Bodies that were handed over, and of which nobody knows yet whether they arrived. That may take
    /// as long as a turn of Codex.
    pub(in crate::daemon) fn on_its_way(&self) -> Option<KeptOpen> {
        let codex = &self.agents.codex;
        let is_claimed = self.deliveries.outbox.backlog().has_claims();
        if codex.is_quiet() && !is_claimed {
            return None;
        }
        let mut message = "a message is on its way".to_owned();
        let mut hint = "try again in a moment".to_owned();
        if !codex.is_quiet() && (codex.is_paused() || !codex.is_awaited()) {
            hint = "Codex does not take it now: let it go on (`ctxrelay doctor` says what keeps \
                    it), or give it up with `ctxrelay queue rebuild --apply`: what else waits is \
                    then sent only by your `ctxrelay queue retry ID --apply`"
                .to_owned();
        } else if let Some(turn) = codex.running_turn().filter(|_| !codex.is_quiet()) {
            message.push_str(&format!(" to Codex, whose turn {turn} runs"));
            hint =
                "Codex takes it when that turn ends: try again then, or stop the turn in the deck"
                    .to_owned();
        }
        Some(KeptOpen { message, hint })
    }

    /// Ends the session and begins the next. On an error the old one goes on.
    pub(in crate::daemon) fn roll_over(
        &mut self,
        rollover: Rollover,
    ) -> Result<RolledOver, Refusal> {
        let Rollover {
            fate,
            texts,
            closing,
            carried,
            signature,
        } = rollover;
        let ending = taken_back(&closing);
        let stored = match self
            .base
            .recorder
            .append_and_wait(closing, APPEND, late(&ending))
        {
            Ok(stored) => stored,
            Err(error) if matches!(error, LedgerError::Late(_)) => {
                // Nobody gets them while it may be recorded yet that they are taken back.
                for id in &ending {
                    self.deliveries
                        .outbox
                        .mark_recording(id, DeliveryResult::Cancelled);
                }
                return Err(failed(&error.into(), &once_recorded(ending.len())));
            }
            Err(error) => return Err(failed(&error.into(), "")),
        };
        self.base.publish(&stored);
        self.deliveries
            .forget_taken_back(&mut self.agents.codex, &stored);

        let before = self.base.recorder.as_predecessor(fate);
        let next = session::new_id(now_ms(), rand_u32());
        let mut begins = self.base.session_entry(&next, Some(before.clone()));
        if let Some(signature) = &signature {
            signature.put_on(&mut begins);
        }
        let mut first = vec![begins];
        // Before what is carried on: of that, too, only what is signed counts.
        first.extend(signing_as_it_is(&self.base.recorder));
        first.extend(carried);
        first.extend(open_alarms(&self.base.recorder));
        first.extend(self.base.agents_as_they_are(fate));
        let head = before.head.clone();
        if texts.is_some() {
            self.base.recorder.space().sweep().begin();
        }
        let (world, stored) = match self.base.recorder.go_on_as(next, head, first, APPEND) {
            Ok(begun) => begun,
            Err(error) => {
                self.base.recorder.space().sweep().end();
                self.base.keep_not_sealed(&error);
                return Err(failed(&error, &without(ending.len())));
            }
        };
        self.base.watch_session(&mut self.files);
        self.base.renderings.begin_anew();
        self.agents.reminders.session_began(&world);
        self.agents.inferences.session_began();
        self.base.publish(&stored);
        self.deliveries
            .forget_taken_back(&mut self.agents.codex, &stored);
        let (archive, deletion) = match texts {
            Some(texts) => (None, Some(self.deliveries.deletion(&mut self.base, texts))),
            None => (Some(self.base.put_away(&before.session_id)), None),
        };
        Ok(RolledOver {
            before,
            world,
            archive,
            deletion,
        })
    }
}

impl Base {
    /// The record says already that the operator ends it.
    fn keep_not_sealed(&mut self, error: &dyn std::fmt::Display) {
        self.recorder.keep(
            Party::System,
            ErrorCode::NotSealed,
            format!("this session could not be sealed and goes on: {error}"),
        );
    }

    /// Archives the old file; where it lies. It is not the current one any more, so that nothing
    /// here can fail the rollover.
    fn put_away(&mut self, old: &SessionId) -> String {
        let path = self.recorder.archive(old).unwrap_or_else(|error| {
            self.recorder.keep(
                Party::System,
                ErrorCode::NotArchived,
                format!("the old session stays where it was, it could not be moved: {error}"),
            );
            self.dirs.ledger(old)
        });
        path.display().to_string()
    }

    /// The agents are still who they are and do what they did. The new record says so itself, for
    /// a later start knows nothing but the new record.
    fn agents_as_they_are(&self, fate: Fate) -> Vec<Entry> {
        // Texts of a session that is deleted stay in it.
        let is_kept = fate != Fate::Discarded;
        // First, for they keep their times: that of the last entry tells how old the record is.
        let mut entries = self.approvals_as_they_are(is_kept);
        for (agent, was) in &self.recorder.world().agents {
            let now_ms = self.clock.outside_ms();
            let limit = was.limit.filter(|limit| limit.is_believed(now_ms));
            let first = RuntimeSession::default();
            // Codex works on in its thread, whatever becomes of the record. A conversation of Claude's is
            // taken up by the record alone: a cleared one leaves it behind.
            let thread = |pair: &RuntimeSession| match agent {
                Agent::Codex => was.thread_id.as_ref(),
                Agent::Claude if fate == Fate::Compacted => was.conversation(pair),
                Agent::Claude => None,
            };
            let is_here = |pair: &RuntimeSession| was.status(pair).state != AgentState::Offline;
            let tells_limit =
                |pair: &RuntimeSession| limit.is_some() && (*pair == first || is_here(pair));
            let mut pairs = was.known_pairs();
            pairs.retain(|pair| is_here(pair) || tells_limit(pair) || thread(pair).is_some());
            if pairs.is_empty() {
                continue;
            }
            // One that rests would say that a limit is over.
            pairs.sort_by_key(|pair| was.status(pair).state != AgentState::Idle);
            for pair in &pairs {
                let status = was.status(pair);
                // One that is gone, or tries it, does not say that it is at its limit.
                let says_limit = matches!(status.state, AgentState::Idle | AgentState::Limited);
                let limited = !says_limit && tells_limit(pair);
                let limited = limited.then_some(AgentState::Limited);
                for state in limited.into_iter().chain([status.state]) {
                    let who = agent.title_in(pair);
                    let text = format!("{who} is {} as before", state.as_str());
                    let changed = AgentChanged {
                        pid: status.pid,
                        thread_id: thread(pair).cloned(),
                        why: status.why.clone().filter(|_| is_kept),
                        until_ms: was.limit.and_then(|limit| limit.until_ms),
                        ..AgentChanged::of(*agent, state)
                    };
                    entries.push(self.entry_of_agent(pair, changed, text));
                }
            }
            if let (Some(turn_id), Some(text)) = (&was.turn_id, &was.turn_text) {
                entries.push(self.recorder.entry(
                    Party::Agent(*agent),
                    None,
                    EntryKind::Turn(TurnRecord {
                        thread_id: was.thread_id.clone().unwrap_or_else(ThreadId::unknown),
                        turn_id: turn_id.clone(),
                        status: TurnStatus::InProgress,
                        started_by: Party::System,
                        stopped_by: None,
                    }),
                    if is_kept {
                        text.clone()
                    } else {
                        "a turn that began before this session".to_owned()
                    },
                    None,
                ));
            }
            if let Some(turn_id) = &was.stopped_turn {
                entries.push(self.recorder.entry(
                    Party::Agent(*agent),
                    None,
                    EntryKind::Turn(TurnRecord {
                        thread_id: was.thread_id.clone().unwrap_or_else(ThreadId::unknown),
                        turn_id: turn_id.clone(),
                        status: TurnStatus::Interrupted,
                        started_by: Party::System,
                        stopped_by: Some(Party::Human),
                    }),
                    "a turn was stopped before this session".to_owned(),
                    None,
                ));
            }
        }
        entries
    }

    /// What the agents ask still waits, for an answer or for the end behind one. A question of
    /// `ask_user` of which no word is kept nobody could answer; what a vendor asks has to be answered
    /// all the same. Each keeps the time at which it was asked and answered.
    fn approvals_as_they_are(&self, is_kept: bool) -> Vec<Entry> {
        let open = self.recorder.world().open_approvals.values();
        let open = open.filter(|asked| is_kept || !asked.request.is_user_question());
        let asked = open.flat_map(|asked| {
            let mut request = asked.request.clone();
            let mut text = asked.text.clone();
            // What is cut off here only the earlier entry has.
            request.cut |= asked.rest().is_some();
            if !is_kept {
                text = "a request that was made before this session".to_owned();
                request = request.without_words(text.clone());
            }
            let by = Party::Agent(asked.agent);
            let kind = ApprovalStep::Asked(Box::new(request)).of(asked.id.clone(), asked.agent);
            let pair = asked.runtime_session.clone();
            let mut again =
                self.recorder
                    .entry(by.clone(), Some(Party::Human), kind, text, pair.clone());
            again.timestamp_ms = asked.at_ms;
            // What was answered waits for its end alone, in the next session as well.
            let given = asked.given.as_ref().map(|(choice, at_ms)| {
                let given = ApprovalStep::Given {
                    choice: choice.clone(),
                    note: None,
                };
                let kind = given.of(asked.id.clone(), asked.agent);
                let text = "it was answered before this session";
                let given = self
                    .recorder
                    .entry(Party::Human, Some(by), kind, text, pair);
                Entry {
                    timestamp_ms: *at_ms,
                    ..given
                }
            });
            [again].into_iter().chain(given)
        });
        asked.collect()
    }

    /// The first entry of a session.
    fn session_entry(&self, session: &SessionId, predecessor: Option<Predecessor>) -> Entry {
        let (source, text) = match &predecessor {
            Some(before) => {
                let how = match before.fate {
                    Fate::Archived => "is sealed",
                    Fate::Compacted => "is sealed, and what was open in it is carried on",
                    Fate::Discarded => "is deleted for good",
                };
                (
                    Party::Human,
                    format!(
                        "session {session} started; {} with {} entries {how}, its head is {}",
                        before.session_id, before.entries, before.head
                    ),
                )
            }
            None => (Party::System, format!("session {session} started")),
        };
        let kind = EntryKind::SessionStarted { predecessor };
        let first = self.recorder.entry(source, None, kind, text, None);
        first.with_prompts_recorded()
    }

    /// Begins the record of a session that follows none.
    pub(in crate::daemon) fn start_session(&mut self) {
        let first = self.session_entry(self.recorder.session_id(), None);
        self.recorder.keep_entry(first);
    }
}

impl Deliveries {
    /// The entries that take back what nobody has settled, and their messages.
    pub(in crate::daemon) fn take_back_all(&self, base: &Base) -> (Vec<EntryId>, Vec<Entry>) {
        let mut unsettled: Vec<_> = base.recorder.world().unsettled.iter().collect();
        unsettled.sort_by_key(|(_, message)| message.seq);
        unsettled
            .into_iter()
            .map(|(id, message)| {
                let entry = self.delivery_entry(
                    base,
                    id,
                    message.to,
                    DeliveryResult::Cancelled,
                    None,
                    None,
                );
                (id.clone(), entry)
            })
            .unzip()
    }
}

/// The messages that these entries take back.
fn taken_back(closing: &[Entry]) -> Vec<EntryId> {
    let ends = closing.iter().filter_map(|entry| match &entry.kind {
        EntryKind::Delivery(end) if end.result == DeliveryResult::Cancelled => {
            Some(end.message_id.clone())
        }
        _ => None,
    });
    ends.collect()
}

/// What follows where the disk was too late for a session's last entries and has them, or not.
pub(in crate::daemon) fn late(ending: &[EntryId]) -> Then {
    let ending = ending.to_vec();
    Box::new(move |daemon, result| {
        for id in &ending {
            let outbox = &mut daemon.deliveries.outbox;
            outbox.unmark_recording(id, DeliveryResult::Cancelled);
        }
        match result {
            Ok(stored) => {
                daemon
                    .deliveries
                    .forget_taken_back(&mut daemon.agents.codex, stored);
                for id in &ending {
                    daemon.deliveries.handoff_dedup.forget(id);
                }
                daemon.base.answer_receipts_of(&ending);
                // It says that the operator ended it.
                daemon
                    .base
                    .keep_not_sealed(&"the disk was too late for its end");
            }
            // They may be given out again.
            Err(_) => daemon.base.later.push(LaterInput::News),
        }
    })
}

/// What a session that goes on lacks, because messages were taken back for its end.
pub(in crate::daemon) fn without(taken_back: usize) -> String {
    match taken_back {
        0 => String::new(),
        1 => " without the message that waited: it is taken back".to_owned(),
        many => format!(" without the {many} messages that waited: they are taken back"),
    }
}

/// The same, where nobody knows yet whether the disk takes that.
pub(in crate::daemon) fn once_recorded(waiting: usize) -> String {
    match waiting {
        0 => String::new(),
        1 => "; if that is recorded, the message that waited is taken back".to_owned(),
        many => format!("; if that is recorded, the {many} messages that waited are taken back"),
    }
}

/// The session goes on; `with`: what becomes of messages in it.
pub(in crate::daemon) fn failed(error: &NotBegun, with: &str) -> Refusal {
    Refusal::new(
        RefusalCode::ClearFailed,
        format!("the session could not be sealed: {error}"),
        format!("the current session goes on{with}; {}", error.hint()),
    )
}
