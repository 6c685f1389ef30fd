//! [`HandoffDedup`]: a handoff that is requested twice is one handoff.

use crate::core::agent::{Agent, Party};
use crate::core::delivery::{Admission, Admissions};
use crate::core::id::{EntryId, RuntimeSession};
use crate::core::snapshot::Snapshot;
use crate::daemon::reply::{ReplySender, answer};
use crate::wire::control::{Refusal, Reply, Sent};

/// A handoff with the same words within this time is the same handoff, in ms.
const SAME_FOR_MS: i64 = 5 * 60 * 1000;

/// How many may wait for what becomes of the first one. An agent that repeats itself faster than a
/// disk writes is refused.
const DEDUP_MAX: usize = 64;

/// The part of a handoff by which two count as the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    pub from: Party,
    pub to: Agent,
    pub runtime_session: RuntimeSession,
    folded: String,
}

impl Ask {
    /// Case and spacing do not make another handoff.
    pub fn new(from: Party, to: Agent, runtime_session: RuntimeSession, ask: &str) -> Self {
        Self {
            from,
            to,
            runtime_session,
            folded: folded(ask),
        }
    }
}

/// The handoffs of the last minutes.
#[derive(Debug)]
pub struct HandoffDedup {
    admissions: Admissions<Ask>,
    /// Requests that arrived while the first was being recorded: they get the same answer.
    duplicates: Vec<(EntryId, ReplySender)>,
}

impl HandoffDedup {
    /// Remembers what the record says of the last minutes: a restart in between does not make a
    /// repeated handoff a new one. `now_ms` is the clock that is asked with later.
    pub fn of(world: &Snapshot, now_ms: i64) -> Self {
        let mut admissions = Admissions::new(SAME_FOR_MS);
        let mut recent: Vec<_> = world
            .open_handoffs
            .values()
            .filter(|handoff| now_ms - handoff.at_ms < SAME_FOR_MS)
            .filter(|handoff| stands(world, &[], &handoff.id))
            // A snapshot holds only the beginning of a long text, which is not the same text.
            .filter(|handoff| handoff.ask.len() < crate::core::kept_text::TEXT_CHARS_MAX)
            .collect();
        recent.sort_by_key(|handoff| handoff.seq);
        for handoff in recent {
            let Some(to) = handoff.to.as_ref().and_then(Party::agent) else {
                continue;
            };
            let pair = handoff.runtime_session.clone().unwrap_or_default();
            let ask = Ask::new(handoff.from.clone(), to, pair, &handoff.ask);
            // What lies in the future by a clock that jumped is of now.
            admissions.restore(ask, handoff.id.clone(), handoff.at_ms.min(now_ms));
        }
        Self {
            admissions,
            duplicates: Vec::new(),
        }
    }

    /// Whether it is new. `id` is what it gets then.
    pub fn ask(&mut self, ask: Ask, id: &EntryId, now_ms: i64) -> Admission {
        self.admissions.ask(ask, id, now_ms)
    }

    /// Somebody waits for what becomes of the first one.
    pub fn wait(&mut self, first: EntryId, reply: ReplySender) {
        if self.duplicates.len() < DEDUP_MAX {
            return self.duplicates.push((first, reply));
        }
        let refusal = Refusal::in_flight(
            format!("the same handoff, {first}, is just being recorded"),
            "ask again in a moment; it will not be recorded twice",
        );
        answer(reply, Err(refusal));
    }

    /// The first one was recorded, or was not.
    pub fn decided(&mut self, id: &EntryId, outcome: Result<&Sent, &Refusal>) {
        match outcome {
            Ok(_) => self.admissions.admitted(id),
            Err(_) => self.admissions.refused(id),
        }
        let (now, later) = std::mem::take(&mut self.duplicates)
            .into_iter()
            .partition(|(first, _)| first == id);
        self.duplicates = later;
        for (_, reply) in now {
            let said = outcome.cloned().map_err(Refusal::clone).map(|sent| {
                Reply::Sent(Sent {
                    duplicate: true,
                    ..sent
                })
            });
            answer(reply, said);
        }
    }

    /// Whether the same was recorded a moment ago, or is being recorded.
    pub fn knows(&self, ask: &Ask, now_ms: i64) -> bool {
        self.admissions.knows(ask, now_ms)
    }

    /// A handoff was recorded that no call asked for.
    pub fn recorded(&mut self, ask: Ask, id: EntryId, now_ms: i64) {
        self.admissions.restore(ask, id, now_ms);
    }

    /// It does not stand any more: asked again it is another one.
    pub fn forget(&mut self, id: &EntryId) {
        self.admissions.refused(id);
    }

    /// What is closed, answered or cut off, or reaches nobody any more, does not stand: asked again it
    /// is another one. `cut_off`: what Claude had in turns that failed.
    pub fn forget_what_is_over(&mut self, world: &Snapshot, cut_off: &[EntryId]) {
        self.admissions.retain(|id| stands(world, cut_off, id));
    }
}

/// Whether a handoff is open, and its receiver is at work on it or will be. `cut_off`: as in
/// [`HandoffDedup::forget_what_is_over`].
fn stands(world: &Snapshot, cut_off: &[EntryId], id: &EntryId) -> bool {
    let Some(handoff) = world.open_handoffs.get(id) else {
        return false;
    };
    let waits = world.unsettled.get(id);
    // What Codex says before its turn ends may be a word on its way.
    let is_at_work =
        world.in_turn.contains_key(id) || waits.is_some_and(|message| message.to == Agent::Codex);
    let mut of_codex = world.cut_off.get(id).into_iter();
    let is_cut_off = cut_off.contains(id) || of_codex.any(|message| !message.will_be_sent_again);
    (handoff.delivered || waits.is_some())
        && !is_cut_off
        && (handoff.answer.is_none() || is_at_work)
}

fn folded(ask: &str) -> String {
    ask.split_whitespace()
        .map(str::to_lowercase)
        .collect::<Vec<_>>()
        .join(" ")
}
