//! [`Limit`]: one agent's usage limit, from the turn that hit it to the one that works again.
//!
//! While it holds, the agent's lane rests. It is over when a turn works, or when the vendor or the
//! operator says so. Where nobody can be asked, the time that the vendor named is taken at its
//! word: the next message is the test, and if it dies of the limit the next wait is longer.
//!
//! Knows nothing of what the messages say, nor who wrote them: the caller chooses what is to be
//! sent again.

use std::collections::BTreeSet;

use crate::id::EntryId;
use crate::word::words;

/// How many messages are remembered as sent again once. More than a lane loses to limits.
const RESENT_MAX: usize = 1_000;

words! {
    /// What is done about a limit besides holding the lane.
    #[derive(Default)]
    pub closed enum LimitMode {
        /// Nothing is said.
        Off = "off",
        /// It is shown.
        #[default]
        Notify = "notify",
        /// What died of it is sent again, once.
        Resume = "resume",
    }
}

/// What is done about a usage limit, and its waiting times, ms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitPolicy {
    /// What is done about it.
    pub mode: LimitMode,
    /// Added to the time that the vendor named: its clock and ours differ.
    pub slack_ms: i64,
    /// The first wait if there is no such time, or after a failed try. Each further wait is twice
    /// as long.
    pub first_ms: i64,
    /// The longest wait.
    pub longest_ms: i64,
    /// How many tries are made in a row, before the operator has to make them.
    pub tries_max: u32,
    /// How long the vendor may take to answer; after that it counts as not asked.
    pub answer_ms: i64,
    /// A message that died longer ago is not sent again: the work has gone on without it.
    pub stale_ms: i64,
}

impl Default for LimitPolicy {
    fn default() -> Self {
        Self {
            mode: LimitMode::default(),
            slack_ms: 2_000,
            first_ms: 60_000,
            longest_ms: 30 * 60_000,
            tries_max: 6,
            answer_ms: 15_000,
            stale_ms: 48 * 60 * 60_000,
        }
    }
}

/// The vendor's answer about a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checked {
    /// Work is allowed again.
    Over,
    /// It is not.
    Holds {
        /// The end of the limit, ms, if the vendor names it.
        until_ms: Option<i64>,
    },
    /// The vendor could not be asked, or did not say.
    Unknown,
    /// There is nobody to ask: the next turn is the test.
    NotAsked,
}

/// The inputs of [`Limit`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LimitInput {
    /// A turn ended at the limit.
    Hit {
        /// When the limit ends, ms, as far as the vendor has said.
        until_ms: Option<i64>,
        /// The messages that died with the turn and may be sent again.
        died: Vec<EntryId>,
    },
    /// The limit held when the previous process ended.
    Recalled {
        /// Since when, ms.
        since_ms: i64,
        /// When it ends, ms, as far as the vendor has said.
        until_ms: Option<i64>,
    },
    /// A turn ended normally.
    Worked,
    /// The answer of the vendor.
    Checked(Checked),
    /// Time has passed.
    Tick,
    /// The clock was set back.
    SetBack,
    /// The operator wants another try now.
    TryNow,
    /// The operator wants no tries but their own.
    Cancel,
    /// The configuration says this now.
    Mode(LimitMode),
}

/// What has to be done, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LimitStep {
    /// The limit holds from now on.
    Begins,
    /// Ask the vendor whether it still does.
    Ask,
    /// The limit is over: the lane goes on, and these messages are sent again.
    Over {
        /// Oldest first.
        again: Vec<EntryId>,
    },
    /// These are not sent again after all.
    NotAgain {
        /// Oldest first.
        ids: Vec<EntryId>,
    },
}

/// The state of a limit, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spoken {
    /// Since when it holds, ms.
    pub since_ms: i64,
    /// When it ends, ms, as far as the vendor has said.
    pub until_ms: Option<i64>,
    /// When the next try is made by itself, ms.
    pub try_at_ms: Option<i64>,
    /// How many tries were made since a turn last worked.
    pub tries: u32,
    /// The operator makes the tries from now on.
    pub is_cancelled: bool,
    /// How many messages will be sent again.
    pub again: usize,
}

/// A limit that holds.
#[derive(Debug)]
struct Slot {
    since_ms: i64,
    until_ms: Option<i64>,
    try_at: Option<i64>,
    /// The vendor was asked and may answer until then.
    asked_until: Option<i64>,
    /// It has answered before.
    answers: bool,
    is_cancelled: bool,
}

/// Why a try is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TryReason {
    /// The limit is over.
    LimitOver,
    /// It may hold: a message that dies of it again may be sent once more. The number of such tries
    /// is bounded.
    MayHold,
}

/// One agent's usage limit.
#[derive(Debug, Default)]
pub struct Limit {
    policy: LimitPolicy,
    slot: Option<Slot>,
    /// Tries since a turn last worked.
    tries: u32,
    /// The messages that died of it, and when. Kept during a try, which may end at the limit again.
    died: Vec<(EntryId, i64)>,
    /// Messages that were already sent again. Once is enough if it was known that work is allowed.
    resent: BTreeSet<EntryId>,
}

impl Limit {
    /// An agent of which no limit is known.
    pub fn new(policy: LimitPolicy) -> Self {
        Self {
            policy,
            ..Self::default()
        }
    }

    /// Whether it holds: the agent is at it.
    pub fn is_active(&self) -> bool {
        self.slot.is_some()
    }

    /// What is done about it.
    pub fn mode(&self) -> LimitMode {
        self.policy.mode
    }

    /// What is shown; `None` while no limit holds.
    pub fn spoken(&self, now_ms: i64) -> Option<Spoken> {
        let slot = self.slot.as_ref()?;
        Some(Spoken {
            since_ms: slot.since_ms,
            until_ms: slot.until_ms,
            try_at_ms: slot.try_at,
            tries: self.tries,
            is_cancelled: slot.is_cancelled,
            again: self.again(now_ms).count(),
        })
    }

    /// Whether a message that dies of it now is sent again once it is over.
    pub fn will_have_again(&self, id: &EntryId) -> bool {
        let is_cancelled = self.slot.as_ref().is_some_and(|slot| slot.is_cancelled);
        self.policy.mode == LimitMode::Resume && !is_cancelled && !self.resent.contains(id)
    }

    /// Whether its end has something sent again.
    pub fn sends_again(&self, now_ms: i64) -> bool {
        let spoken = self.spoken(now_ms);
        spoken.is_some_and(|limit| limit.again > 0 && !limit.is_cancelled)
    }

    /// Whether a lane that rests goes on doing so when a turn has worked: what died of the limit
    /// goes before what has come since, and is to be sent again, or is being recorded as that.
    pub fn rests_after_work(&self, now_ms: i64) -> bool {
        !self.is_active() || self.sends_again(now_ms)
    }

    /// When something happens by itself, ms.
    pub fn next_ms(&self) -> Option<i64> {
        let slot = self.slot.as_ref()?;
        slot.try_at.into_iter().chain(slot.asked_until).min()
    }

    /// Takes something in, and says what is to be done.
    pub fn apply(&mut self, input: LimitInput, now_ms: i64) -> Vec<LimitStep> {
        match input {
            LimitInput::Hit { until_ms, died } => self.hit(until_ms, died, now_ms),
            LimitInput::Recalled { since_ms, until_ms } => {
                let steps = self.hit(until_ms, Vec::new(), now_ms);
                if let Some(slot) = &mut self.slot {
                    slot.since_ms = since_ms;
                }
                steps
            }
            LimitInput::Worked => {
                self.tries = 0;
                self.over(TryReason::LimitOver, now_ms)
            }
            LimitInput::Checked(checked) => self.checked(checked, now_ms),
            LimitInput::Tick => self.tick(now_ms),
            LimitInput::SetBack => {
                // How long a wait is that began by the clock before says nobody any more.
                self.plan(now_ms);
                Vec::new()
            }
            LimitInput::TryNow if self.is_active() => {
                self.tries = 0;
                self.over(TryReason::MayHold, now_ms)
            }
            LimitInput::TryNow => Vec::new(),
            LimitInput::Cancel => self.cancel(),
            LimitInput::Mode(mode) => self.set_mode(mode, now_ms),
        }
    }

    fn cancel(&mut self) -> Vec<LimitStep> {
        let Some(slot) = &mut self.slot else {
            return Vec::new();
        };
        slot.is_cancelled = true;
        slot.try_at = None;
        slot.asked_until = None;
        let died = std::mem::take(&mut self.died);
        not_again(died, self.policy.mode)
    }

    fn set_mode(&mut self, mode: LimitMode, now_ms: i64) -> Vec<LimitStep> {
        let before = std::mem::replace(&mut self.policy.mode, mode);
        if before == mode {
            return Vec::new();
        }
        self.plan(now_ms);
        not_again(self.died.clone(), before)
    }

    fn hit(&mut self, until_ms: Option<i64>, died: Vec<EntryId>, now_ms: i64) -> Vec<LimitStep> {
        for id in died {
            if !self.resent.contains(&id) && !self.died.iter().any(|(known, _)| *known == id) {
                self.died.push((id, now_ms));
            }
        }
        // A time that has passed says nothing about a limit that holds now.
        let until_ms = until_ms.filter(|until| *until > now_ms);
        match &mut self.slot {
            Some(slot) => {
                // Another turn ran into the same limit; the human's, or one that was on its way.
                if until_ms.is_some() && slot.until_ms != until_ms {
                    slot.until_ms = until_ms;
                    slot.asked_until = None;
                    self.plan(now_ms);
                }
                Vec::new()
            }
            None => {
                self.slot = Some(Slot {
                    since_ms: now_ms,
                    until_ms,
                    try_at: None,
                    asked_until: None,
                    answers: false,
                    is_cancelled: false,
                });
                self.plan(now_ms);
                vec![LimitStep::Begins]
            }
        }
    }

    /// Decides when the next try is made by itself.
    fn plan(&mut self, now_ms: i64) {
        let Some(slot) = &mut self.slot else { return };
        if slot.is_cancelled || slot.asked_until.is_some() {
            return;
        }
        slot.try_at = match (slot.until_ms, self.policy.mode) {
            _ if self.tries >= self.policy.tries_max => None,
            (Some(until), _) => Some(until + self.policy.slack_ms),
            // Asking costs nothing.
            (None, _) if slot.answers => Some(now_ms + self.policy.longest_ms),
            // Only who wants the work resumed wants it tried without knowing when.
            (None, LimitMode::Resume) => {
                let doubled = self.policy.first_ms << self.tries.min(16);
                Some(now_ms + doubled.min(self.policy.longest_ms))
            }
            (None, LimitMode::Off | LimitMode::Notify) => None,
        };
    }

    fn tick(&mut self, now_ms: i64) -> Vec<LimitStep> {
        let Some(slot) = &mut self.slot else {
            return Vec::new();
        };
        if slot.asked_until.is_some_and(|until| until <= now_ms) {
            return self.checked(Checked::Unknown, now_ms);
        }
        if slot.try_at.is_some_and(|at| at <= now_ms) {
            slot.try_at = None;
            slot.asked_until = Some(now_ms + self.policy.answer_ms);
            return vec![LimitStep::Ask];
        }
        Vec::new()
    }

    fn checked(&mut self, checked: Checked, now_ms: i64) -> Vec<LimitStep> {
        // An answer that nobody waits for any more is about another limit.
        let asked = self.slot.as_mut().and_then(|slot| slot.asked_until.take());
        let Some(slot) = self.slot.as_mut().filter(|_| asked.is_some()) else {
            return Vec::new();
        };
        match checked {
            Checked::Holds { until_ms } => {
                slot.until_ms = until_ms.filter(|until| *until > now_ms);
                slot.answers = true;
                self.plan(now_ms);
                Vec::new()
            }
            Checked::Over | Checked::Unknown | Checked::NotAsked => {
                let known = match (checked, slot.until_ms) {
                    (Checked::NotAsked, None) => TryReason::MayHold,
                    _ => TryReason::LimitOver,
                };
                self.tries += 1;
                self.over(known, now_ms)
            }
        }
    }

    fn over(&mut self, reason: TryReason, now_ms: i64) -> Vec<LimitStep> {
        let Some(slot) = self.slot.take() else {
            return Vec::new();
        };
        let again: Vec<EntryId> = match (self.policy.mode, slot.is_cancelled) {
            (LimitMode::Resume, false) => self.again(now_ms).cloned().collect(),
            _ => Vec::new(),
        };
        let mut left = std::mem::take(&mut self.died);
        left.retain(|(id, _)| !again.contains(id));
        if reason == TryReason::LimitOver {
            if self.resent.len() + again.len() > RESENT_MAX {
                // Of the oldest nobody speaks any more: their ids begin with their time.
                self.resent = self.resent.split_off(&self.middle());
            }
            self.resent.extend(again.iter().cloned());
        }
        let mut steps = vec![LimitStep::Over { again }];
        steps.extend(not_again(left, self.policy.mode));
        steps
    }

    fn middle(&self) -> EntryId {
        let middle = self.resent.iter().nth(self.resent.len() / 2);
        middle.cloned().unwrap_or_else(|| EntryId::new(""))
    }

    /// What is to be sent again once it is over.
    fn again(&self, now_ms: i64) -> impl Iterator<Item = &EntryId> {
        let oldest_ms = now_ms - self.policy.stale_ms;
        self.died
            .iter()
            .filter(move |(_, at_ms)| *at_ms >= oldest_ms)
            .filter(|_| self.policy.mode == LimitMode::Resume)
            .map(|(id, _)| id)
    }
}

/// What died is not sent again, though the mode was to do that.
fn not_again(died: Vec<(EntryId, i64)>, mode: LimitMode) -> Vec<LimitStep> {
    if died.is_empty() || mode != LimitMode::Resume {
        return Vec::new();
    }
    let ids = died.into_iter().map(|(id, _)| id).collect();
    vec![LimitStep::NotAgain { ids }]
}
