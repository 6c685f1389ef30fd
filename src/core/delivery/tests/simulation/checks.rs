//! [`Checks`]: what must hold in every world, watched from outside of the machines.

use std::collections::{BTreeMap, BTreeSet};

use super::world::World;
use crate::agent::Agent;
use crate::delivery::{CodexInput, HeldEffect, Watched};
use crate::entry::{DeliveryResult, OnBusy, Outcome, TurnStatus};
use crate::id::{EntryId, TurnId};

/// How a message is offered by a line of the doorbell.
pub const RUNG: &str = "rung";

/// A message comes before a model's eyes.
#[derive(Debug, Clone)]
pub struct Showing {
    pub id: EntryId,
    pub repeat: bool,
    /// The row says that all of it has left for the model.
    pub counts: bool,
}

/// What was seen, and the first thing that was wrong.
#[derive(Debug, Default)]
pub struct Checks {
    pub wrong: Option<String>,
    /// What was shown, and whether its row says so.
    pub shown: BTreeMap<EntryId, bool>,
    /// Bodies that left for Claude's model.
    pub left: BTreeSet<EntryId>,
    /// The daemon died, or its disk refused, between a row and its body: nobody knows whether the
    /// body left.
    pub unknown: BTreeSet<EntryId>,
    /// What senders were told is recorded.
    pub accepted: Vec<EntryId>,
    /// What each bridge's Claude was told of, by any way.
    pub announced: BTreeSet<(u64, EntryId)>,
    /// Codex got them because it asked: whatever becomes of that, others may come before them.
    pub fetched: BTreeSet<EntryId>,
    /// The operator took them back. A crash may forget that; then they come later.
    pub taken_back: BTreeSet<EntryId>,
    /// The disk says so of these since before this daemon began: no app-server of it begins a turn with
    /// them.
    pub over_before_start: BTreeSet<EntryId>,
    /// Sent again after their turn ended early, and not shown since.
    pub owed: BTreeSet<EntryId>,
    /// What died of Claude's limit, which is over, and is not recorded as sent again yet.
    pub died: BTreeSet<EntryId>,
    /// Of these Claude's context holds the beginning.
    pub begun: BTreeSet<EntryId>,
    /// What left the daemon towards its receiver, ever.
    offered: BTreeSet<EntryId>,
    /// Turns of whose end it was told.
    ended: BTreeSet<TurnId>,
    /// The daemon was told of a usage limit, and of no turn that worked since.
    told_limited: bool,
    /// What the watchdog showed when the turn began to wait for the human.
    waiting: Option<Watched>,
}

impl Checks {
    pub fn fail(&mut self, what: String) {
        self.wrong.get_or_insert(what);
    }

    pub fn daemon_began(&mut self) {
        self.told_limited = false;
        self.ended.clear();
        self.died.clear();
        self.waiting = None;
    }

    /// Something reaches the machine of Codex, of which this is the app-server that counts.
    pub fn hears(&mut self, input: &CodexInput, current: u64) {
        if let CodexInput::TurnEnded {
            life,
            turn,
            status,
            limited,
            ..
        } = input
            && *life >= current
            && self.ended.insert(turn.clone())
        {
            if *limited {
                self.told_limited = true;
            } else if *status == TurnStatus::Completed {
                self.told_limited = false;
            }
        }
    }

    /// Codex's turn waits for the human, or no longer.
    pub fn waits(&mut self, waits: bool, watched: Watched) {
        match (waits, self.waiting) {
            (true, None) => self.waiting = Some(watched),
            (true, Some(_)) => self.watched(watched),
            (false, _) => self.waiting = None,
        }
    }

    /// What the watchdog shows.
    pub fn watched(&mut self, watched: Watched) {
        if let Some(before) = self.waiting
            && watched > before
        {
            self.fail(format!(
                "the watchdog went from {before:?} to {watched:?} while a human was asked"
            ));
        }
    }

    /// A page with it was asked for: what comes later does not overtake it.
    pub fn asked_for(&mut self, id: &EntryId) {
        self.offered.insert(id.clone());
    }

    fn show(&mut self, showing: &Showing) {
        let counted = self.shown.entry(showing.id.clone()).or_default();
        let is_again = std::mem::replace(counted, *counted || showing.counts);
        if is_again && !showing.repeat {
            let id = &showing.id;
            self.fail(format!("{id} was shown again as if it were new"));
        }
    }
}

impl World {
    /// A body or a mention leaves unasked.
    pub fn check_offer(&mut self, id: &EntryId, how: &str) {
        let Some(fate) = self.disk.fates.get(id) else {
            return self
                .checks
                .fail(format!("{id} was {how} before it was recorded"));
        };
        if fate.is_proven() || fate.is_over() {
            let results = &fate.results;
            return self
                .checks
                .fail(format!("{id} was {how} unasked, and is {results:?}"));
        }
        if fate.is_ambiguous() {
            return self.checks.fail(format!(
                "{id} was {how} by itself while nobody knows its fate"
            ));
        }
        let (to, seq, steers) = (fate.to, fate.seq, fate.on_busy == OnBusy::Steer);
        if to == Agent::Codex && self.checks.told_limited {
            return self
                .checks
                .fail(format!("{id} was {how} in spite of a usage limit"));
        }
        // What died of the limit goes first.
        let died = self.checks.died.iter();
        let died = died.filter(|died| *died != id && to == Agent::Claude);
        let mut earlier =
            died.filter(|died| self.disk.fates.get(*died).is_some_and(|it| it.seq < seq));
        if let Some(earlier) = earlier.next() {
            let wrong = format!("{id} was {how} before {earlier}, which died of the usage limit");
            return self.checks.fail(wrong);
        }
        // A steer overtakes, nothing else does.
        if !steers {
            let overtaken = self.disk.fates.iter().find(|(earlier, fate)| {
                fate.to == to
                    && fate.seq < seq
                    && fate.on_busy != OnBusy::Steer
                    && fate.results.is_empty()
                    && !self.checks.offered.contains(*earlier)
                    && !self.is_being_settled(earlier)
                    && !(how == RUNG && self.is_being_pushed(earlier))
            });
            if let Some((earlier, _)) = overtaken {
                let wrong = format!("{id} was {how} before {earlier}, which was sent earlier");
                return self.checks.fail(wrong);
            }
        }
        self.checks.offered.insert(id.clone());
        if let Some(bridge) = self.daemon.as_ref().and_then(|d| d.ladder.receiver()) {
            self.checks.announced.insert((bridge, id.clone()));
        }
    }

    /// Something about it is on its way to the disk.
    fn is_being_settled(&self, id: &EntryId) -> bool {
        self.daemon.as_ref().is_none_or(|daemon| {
            daemon.backlog.get(id).is_none() || daemon.backlog.is_recording(id)
        })
    }

    /// Its push waits for its row. A line of the doorbell, which needs none, may come before it: it
    /// says that something waits, and all that waits is given in its order.
    fn is_being_pushed(&self, id: &EntryId) -> bool {
        self.daemon.as_ref().is_some_and(|daemon| {
            let mut held = daemon.held.of_lane(Agent::Claude);
            held.any(|held| match held {
                HeldEffect::Leave(effect) => effect.leaves() == Some(id),
                HeldEffect::Then(_) => false,
            })
        })
    }

    /// It came before Codex's eyes.
    pub fn shown_to_codex(&mut self, showing: Showing) {
        let first = !self.checks.shown.contains_key(&showing.id);
        if let (Some(fate), true) = (self.disk.fates.get(&showing.id), first)
            && fate.on_busy != OnBusy::Steer
            && !self.checks.fetched.contains(&showing.id)
        {
            let (seq, id) = (fate.seq, &showing.id);
            let overtaken = self.disk.fates.iter().find(|(earlier, fate)| {
                fate.to == Agent::Codex
                    && fate.seq < seq
                    // That one was refused may be forgotten by a crash; then it comes later.
                    && fate.on_busy == OnBusy::Queue
                    && fate.results.is_empty()
                    && !self.checks.shown.contains_key(*earlier)
                    && !self.checks.fetched.contains(*earlier)
                    && !self.checks.taken_back.contains(*earlier)
            });
            // What nobody knows the fate of is passed by, and so is what the operator asked for
            // again; what the disk has not heard of yet neither.
            if let Some((earlier, _)) = overtaken
                && fate.results.is_empty()
                && !self.is_being_settled(earlier)
            {
                let wrong = format!("codex saw {id} before {earlier}, which was sent earlier");
                self.checks.fail(wrong);
            }
        }
        self.checks.owed.remove(&showing.id);
        self.checks.show(&showing);
    }

    /// A body leaves for Claude's model. A mark on a first copy would lose it.
    pub fn check_repeat(&mut self, showing: &Showing) {
        let id = &showing.id;
        let is_first = self.checks.left.insert(id.clone());
        let was_unconfirmed = self.checks.unknown.contains(id)
            || self.disk.fates.get(id).is_some_and(|fate| {
                let unconfirmed = [DeliveryResult::Ambiguous, DeliveryResult::Requeued];
                fate.results
                    .iter()
                    .any(|result| unconfirmed.contains(result))
            });
        if is_first && showing.repeat && !was_unconfirmed {
            let wrong = format!("the first copy of {id} is called a repeat");
            self.checks.fail(wrong);
        }
    }

    /// It came before Claude's eyes.
    pub fn shown_to_claude(&mut self, showing: &Showing) {
        self.checks.owed.remove(&showing.id);
        self.checks.show(showing);
    }

    /// A hook brings it before Claude's eyes.
    pub fn handed_to_claude(&mut self, showing: &Showing) {
        let seq = self.disk.fates.get(&showing.id).map(|fate| fate.seq);
        let overtaken = self.checks.begun.iter().find(|cut| {
            let fate = self.disk.fates.get(*cut);
            let is_open = fate.is_some_and(|fate| fate.results.is_empty());
            is_open && fate.map(|fate| fate.seq) < seq && !self.checks.shown.contains_key(*cut)
        });
        if let Some(cut) = overtaken.cloned()
            && !self.is_being_settled(&cut)
        {
            let wrong = format!("{} was handed over while {cut} is shown cut", showing.id);
            self.checks.fail(wrong);
        }
    }

    /// The record says that what was taken back came after all, however often the daemon died since.
    pub fn check_proof(&mut self, id: &EntryId) {
        let is_withdrawn =
            self.disk.is_taken_back(id) && self.disk.rows.get(id).is_some_and(|row| row.withdrawn);
        let is_promised = is_withdrawn || self.checks.over_before_start.contains(id);
        let mut daemon = self.daemon.iter();
        let is_known = daemon.any(|daemon| daemon.backlog.is_unwanted(id));
        if is_promised && !is_known {
            let wrong = format!("{id} is confirmed as if nobody had taken it back");
            self.checks.fail(wrong);
        }
    }

    /// What a sender is told is so.
    pub fn check_receipt(&mut self, id: &EntryId, outcome: Outcome) {
        let shown = self.checks.shown.contains_key(id);
        let claims = matches!(
            outcome,
            Outcome::JoinedActiveWork | Outcome::StartedNewTurn | Outcome::DeliveredLive
        );
        if claims && !shown {
            self.checks.fail(format!(
                "the sender of {id} was told {outcome:?}; nobody saw it"
            ));
        }
    }

    /// What must hold when everything has worked for long.
    pub fn check_end(&mut self) {
        let end = self
            .daemon
            .as_ref()
            .map(|daemon| format!("{:?}\n{:?}", daemon.flow, daemon.ladder));
        self.note(|| end.unwrap_or_default());
        for id in std::mem::take(&mut self.checks.accepted) {
            if !self.disk.fates.contains_key(&id) {
                self.checks
                    .fail(format!("the sender of {id} was told that it is recorded"));
            }
        }
        let fates = std::mem::take(&mut self.disk.fates);
        for (id, fate) in &fates {
            let shown = self.checks.shown.contains_key(id);
            if fate.is_proven() && !shown {
                self.checks
                    .fail(format!("{id} is confirmed and was never shown"));
            }
            let at_an_end = fate.is_proven() || fate.is_over() || fate.is_ambiguous();
            if !at_an_end {
                let state = self
                    .daemon
                    .as_ref()
                    .and_then(|daemon| Some(daemon.backlog.get(id)?.state));
                let wrong = match state {
                    None => format!("{id} is neither settled nor in the backlog"),
                    Some(state) => format!("{id} stays {} though all works", state.as_str()),
                };
                self.checks.fail(wrong);
            }
            let requeued = fate.results.last() == Some(&DeliveryResult::Requeued);
            let seen = self.disk.world.unsettled.contains_key(id);
            if requeued && !seen {
                self.checks
                    .fail(format!("{id} was asked for again and is gone"));
            }
        }
        self.disk.fates = fates;
    }
}
