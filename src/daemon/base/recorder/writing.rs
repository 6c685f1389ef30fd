//! Appending, and the writer's reports; what becomes of facts while the disk refuses.

use std::time::Duration;

use tokio::time::Instant;

use super::lost_facts::{LostFacts, is_first};
use super::refusals;
use super::{Pending, Recorder, RecorderAction, Unwritten};
use crate::core::agent::{Agent, Party};
use crate::core::entry::{AgentChanged, Entry, EntryKind, ErrorCode};
use crate::core::id::RuntimeSession;
use crate::store::ledger::{LedgerError, NotTaken, WriterEvent};
use crate::wire::control::{Refusal, RefusalCode};

/// After the disk refused what has happened already, it is asked again this often.
const WRITE_AGAIN: Duration = Duration::from_secs(1);

/// How many facts are kept while the disk refuses. Codex gets nothing new meanwhile, so that few
/// can come.
pub(super) const UNWRITTEN_MAX: usize = 256;

/// How many of these places are for what [`is_first`]: a batch of it.
pub(super) const UNWRITTEN_RESERVED: usize = 64;

/// What is said once more has happened than is kept.
const LOSING: &str = "the record cannot be written, and more has happened meanwhile than is kept: what happens \
                      now is lost";

impl<T> Recorder<T> {
    /// Appends. Who waits goes on once it is durable, or has failed; never before this returns.
    pub(in crate::daemon) fn append(&mut self, entries: Vec<Entry>, then: T) {
        self.give_entries(entries, Some(then));
    }

    /// As [`Self::append`], of what may stand in the record only behind every fact before it. Not
    /// where some wait for the disk already.
    pub(in crate::daemon) fn append_behind_facts(&mut self, entries: Vec<Entry>, then: T) {
        let then = Some(then);
        self.give(entries, Pending::of(then, None), Some(self.round));
    }

    /// Appends what nobody waits for and nothing goes by, or what is told again by itself: while the
    /// disk refuses it is lost.
    pub(in crate::daemon) fn mention_entry(&mut self, entry: Entry) {
        self.give_entries(vec![entry], None);
    }

    /// As [`Self::mention_entry`], of now.
    pub(in crate::daemon) fn mention(
        &mut self,
        source: Party,
        kind: impl Into<EntryKind>,
        content: impl Into<String>,
    ) {
        let entry = self.entry(source, None, kind, content, None);
        self.mention_entry(entry);
    }

    /// Appends what has happened already. While the disk refuses it is kept and tried again: it
    /// cannot be undone, and nobody else would tell it a second time. Who waits goes on when it is
    /// durable, or was given up for good.
    pub(in crate::daemon) fn keep_then(&mut self, entries: Vec<Entry>, then: T) {
        self.give_fact(entries, Some(then));
    }

    /// As [`Self::keep_then`], and nothing follows from it.
    pub(in crate::daemon) fn keep_entry(&mut self, entry: Entry) {
        self.give_fact(vec![entry], None);
    }

    /// As [`Self::keep_entry`], of now.
    pub(in crate::daemon) fn keep(
        &mut self,
        source: Party,
        kind: impl Into<EntryKind>,
        content: impl Into<String>,
    ) {
        let entry = self.entry(source, None, kind, content, None);
        self.keep_entry(entry);
    }

    fn give_entries(&mut self, entries: Vec<Entry>, then: Option<T>) {
        self.give(entries, Pending::of(then, None), None);
    }

    fn give_fact(&mut self, entries: Vec<Entry>, then: Option<T>) {
        let fact = Some(entries.clone());
        self.give_pending_fact(entries, Pending::of(then, fact));
    }

    fn give_pending_fact(&mut self, entries: Vec<Entry>, pending: Pending<T>) {
        if !self.has_unwritten() {
            return self.give(entries, pending, Some(self.round));
        }
        // Behind what waits already: the record tells things in their order. Where too many wait it
        // is given up, and does not overtake them.
        let token = self.take_token();
        if pending.is_again || self.has_place(&entries) {
            self.hold_back(token, entries, pending.then);
        } else {
            self.refuse(token, pending, refusals::overloaded());
        }
    }

    /// Whether these can be kept.
    fn has_place(&self, entries: &[Entry]) -> bool {
        let places = match entries.iter().any(is_first) {
            true => UNWRITTEN_MAX,
            false => UNWRITTEN_MAX - UNWRITTEN_RESERVED,
        };
        self.unwritten.len() < places
    }

    pub(super) fn take_token(&mut self) -> u64 {
        let token = self.next_token;
        self.next_token += 1;
        token
    }

    /// `round`: of what must not be recorded before an earlier fact.
    fn give(&mut self, entries: Vec<Entry>, pending: Pending<T>, round: Option<u64>) {
        let token = self.take_token();
        if self.is_disowned() {
            return self.refuse(token, pending, refusals::folder_lost());
        }
        let given = match round {
            Some(round) => self.ledger.append_fact(token, round, entries),
            None => self.ledger.append(token, entries),
        };
        match given {
            Ok(()) => {
                self.pending.insert(token, pending);
            }
            Err(NotTaken::WriterGone) => {
                let path = self.ledger.path().to_path_buf();
                let refusal = refusals::writer_gone(&LedgerError::WriterGone(path));
                self.is_writer_gone = true;
                self.actions.push_back(RecorderAction::WriterGone);
                self.refuse(token, pending, refusal);
            }
            Err(NotTaken::Full) => self.refuse(token, pending, refusals::overloaded()),
        }
    }

    /// Nothing of it was recorded: a fact is kept, and a caller hears why.
    fn refuse(&mut self, token: u64, pending: Pending<T>, refusal: Refusal) {
        let Pending {
            then,
            fact,
            is_again,
        } = pending;
        let Some(entries) = fact else {
            match then {
                Some(then) => {
                    let refused = RecorderAction::Refused { then, refusal };
                    self.actions.push_back(refused);
                }
                None => tracing::warn!(code = %refusal.code, "a fact could not be recorded"),
            }
            return;
        };
        let has_place = is_again || self.has_place(&entries);
        let is_kept =
            refusal.code != RefusalCode::EntryRefused && !self.is_writer_gone && has_place;
        self.actions.push_back(RecorderAction::FactRefused {
            entries: entries.clone(),
            refusal: refusal.clone(),
            is_kept,
        });
        if is_kept {
            if refusal.code == RefusalCode::HeadUnwritable {
                // The ledger takes all else, so that nothing else says why this one waits.
                self.tell_outage(&format!(
                    "what has happened is not recorded yet, because of a file outside of the \
                     project: {}",
                    refusal.message
                ));
            }
            self.hold_back(token, entries, then);
            self.ask_again_soon();
        } else {
            tracing::error!(code = %refusal.code, "a fact could not be recorded");
            if !has_place {
                self.lose(&entries);
            }
            let refused = then.map(|then| RecorderAction::Refused { then, refusal });
            self.actions.extend(refused);
        }
    }

    fn lose(&mut self, entries: &[Entry]) {
        let before = self.lost;
        self.lost = LostFacts::and(before, entries);
        if before.is_none() && self.lost.is_some() && self.has_unwritten() {
            let losing = RecorderAction::FactsLost(LOSING.to_owned());
            self.actions.push_back(losing);
        }
    }

    /// Has a fact wait in its place: another one that came later may have been refused before it.
    fn hold_back(&mut self, token: u64, entries: Vec<Entry>, then: Option<T>) {
        let at = self.unwritten.partition_point(|kept| kept.token < token);
        let fact = Unwritten {
            token,
            entries,
            then,
        };
        self.unwritten.insert(at, fact);
    }

    fn ask_again_soon(&mut self) {
        self.write_again_at
            .get_or_insert_with(|| Instant::now() + WRITE_AGAIN);
    }

    /// The facts that the disk has not taken yet, in their order.
    pub(in crate::daemon) fn facts_on_the_way(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        let given = self.pending.iter();
        let given = given.filter_map(|(token, given)| Some((*token, given.fact.as_ref()?)));
        let waiting = self.unwritten.iter();
        let waiting = waiting.map(|kept| (kept.token, &kept.entries));
        let mut facts: Vec<_> = given.chain(waiting).collect();
        facts.sort_unstable_by_key(|(token, _)| *token);
        facts.into_iter().flat_map(|(_, entries)| entries)
    }

    /// What those of them say of an agent, of one pair's.
    pub(in crate::daemon) fn said_on_the_way(
        &self,
        agent: Agent,
        pair: RuntimeSession,
    ) -> impl DoubleEndedIterator<Item = &AgentChanged> {
        self.facts_on_the_way().filter_map(move |entry| {
            let EntryKind::AgentChanged(said) = &entry.kind else {
                return None;
            };
            (said.agent == agent && entry.pair() == pair).then_some(said)
        })
    }

    /// What the loop has to do next, until there is nothing.
    pub(in crate::daemon) fn next_action(&mut self) -> Option<RecorderAction<T>> {
        self.actions.pop_front()
    }

    /// When the disk is asked again.
    pub(in crate::daemon) fn next_deadline(&self) -> Option<Instant> {
        self.write_again_at
    }

    /// Asks the disk again, when it is time to and the writer has answered every fact that it was
    /// given: one that fails only later would be recorded behind what came after it, which a new
    /// round does not keep back. It is given no other one meanwhile, so that it answers the last.
    pub(in crate::daemon) fn write_again(&mut self) {
        if self.write_again_at.is_none_or(|at| Instant::now() < at) {
            return;
        }
        if self.has_facts_at_writer() {
            self.write_again_at = Some(Instant::now() + WRITE_AGAIN);
        } else {
            self.give_unwritten();
        }
    }

    /// Gives what waits for the disk once more, and behind it the last words of this daemon.
    pub(in crate::daemon) fn end_with(&mut self, last_words: Entry) {
        self.last_words = Some(last_words);
        self.give_last_words();
    }

    /// As [`Self::write_again`], not before the writer has answered the facts that it was given.
    fn give_last_words(&mut self) {
        let is_asked_again = self.has_unwritten();
        if is_asked_again && self.has_facts_at_writer() {
            return;
        }
        if let Some(last_words) = self.last_words.take() {
            if is_asked_again {
                self.give_unwritten();
            }
            self.mention_entry(last_words);
        }
    }

    /// How much of what has happened is not recorded.
    pub(in crate::daemon) fn unrecorded_count(&self) -> u64 {
        let waiting = self.unwritten.iter().map(|kept| kept.entries.len() as u64);
        waiting.sum::<u64>() + self.lost.map_or(0, LostFacts::count)
    }

    fn has_facts_at_writer(&self) -> bool {
        self.pending.values().any(|given| given.fact.is_some())
    }

    fn give_unwritten(&mut self) {
        self.write_again_at = None;
        self.round += 1;
        for kept in std::mem::take(&mut self.unwritten) {
            let Unwritten {
                mut entries, then, ..
            } = kept;
            // The session that they were of may be sealed by now.
            for entry in &mut entries {
                entry.session_id = self.session_id.clone();
            }
            let pending = Pending {
                is_again: true,
                ..Pending::of(then, Some(entries.clone()))
            };
            self.give_pending_fact(entries, pending);
        }
        self.tried_again = self.asked();
    }

    /// It is time to ask the disk again.
    #[cfg(test)]
    pub(in crate::daemon) fn write_again_now(&mut self) {
        self.write_again_at = Some(Instant::now() - WRITE_AGAIN);
    }

    /// Takes what the writer says.
    pub(in crate::daemon) fn on_writer(&mut self, event: WriterEvent) {
        match event {
            WriterEvent::Durable { token, entries } => {
                // What only waits behind others says nothing of the file.
                self.is_ledger_gone &= entries.is_empty();
                self.take_in(&entries);
                let pending = self.pending.remove(&token);
                self.actions.push_back(RecorderAction::Recorded {
                    entries,
                    then: pending.and_then(|pending| pending.then),
                });
            }
            WriterEvent::Failed { token, error } => {
                let refusal = refusals::of_error(&error);
                match &error {
                    LedgerError::Refused(_) => {}
                    LedgerError::HeadUnwritable { .. } => self.try_head(),
                    LedgerError::NoRoom(_) => self.actions.push_back(RecorderAction::SpaceChanged),
                    error => self.refuses(error, &refusal.message),
                }
                if let Some(pending) = self.pending.remove(&token) {
                    self.refuse(token, pending, refusal);
                }
            }
            WriterEvent::Foreign(alarm) => self.actions.push_back(RecorderAction::Foreign(alarm)),
            WriterEvent::Gone(error) => {
                let refusal = refusals::writer_gone(&error);
                self.is_writer_gone = true;
                self.actions.push_back(RecorderAction::WriterGone);
                for (token, pending) in std::mem::take(&mut self.pending) {
                    self.refuse(token, pending, refusal.clone());
                }
            }
            WriterEvent::Recovered => {
                self.is_refusing = false;
            }
        }
        self.look_for_end_of_outage();
        self.give_last_words();
    }

    /// The disk takes nothing, perhaps only for a moment.
    fn refuses(&mut self, error: &LedgerError, why: &str) {
        let begins = !std::mem::replace(&mut self.is_outage_noted, true);
        self.is_refusing = true;
        self.is_ledger_gone = matches!(error, LedgerError::Gone(_));
        self.tell_outage(why);
        // A file that was taken away stays so until somebody puts it back or ends the daemon.
        if begins && !self.is_ledger_gone {
            self.append_outage(why);
        }
    }

    fn tell_outage(&mut self, why: &str) {
        self.is_outage_told = true;
        self.actions
            .push_back(RecorderAction::Unwritable(why.to_owned()));
    }

    /// An outage is over once the disk has all that it refused, not once it takes something: a fact
    /// that it refuses each time would have the record tell of another outage every second.
    fn look_for_end_of_outage(&mut self) {
        let is_over = !self.is_refusing
            && !self.is_writer_gone
            && self.unwritten.is_empty()
            && self.has_answered(self.tried_again);
        if !is_over {
            return;
        }
        if std::mem::take(&mut self.is_outage_told) {
            self.is_outage_noted = false;
            self.outage_ended_at = Some(Instant::now());
            self.actions.push_back(RecorderAction::Writable);
        }
        if let Some(lost) = self.lost.take() {
            let text = lost.text();
            self.keep(Party::System, ErrorCode::FactsLost, text.clone());
            self.actions.push_back(RecorderAction::FactsLost(text));
        }
    }

    /// Has the record say that it could not be written. Asking the disk again and again with this
    /// very entry is what finds out that it works again, though nobody else writes. It may stand
    /// before the facts that failed, and is not refused on their account.
    ///
    /// Where the disk took everything only a moment ago it waits its turn like a fact: a disk that
    /// refuses every other write would take this entry each time, and who was refused would ask again
    /// at once.
    fn append_outage(&mut self, why: &str) {
        let code = ErrorCode::LedgerUnwritable;
        let entry = self.entry(Party::System, None, code, why, None);
        let ended = self.outage_ended_at;
        if ended.is_some_and(|ended| ended.elapsed() < WRITE_AGAIN) {
            let token = self.take_token();
            self.hold_back(token, vec![entry], None);
            self.ask_again_soon();
            return;
        }
        let fact = Some(vec![entry.clone()]);
        self.give(vec![entry], Pending::of(None, fact), None);
    }
}
