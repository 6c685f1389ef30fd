//! [`Ladder`]: the ways to one Claude process, best first, and by which of them each message has
//! been offered.
//!
//! An offer is no proof: a pushed notification is dropped silently where channels are off (Claude
//! Code 2.1.330, observed). Proof is that a hook added the message to a turn, that it was fetched,
//! or that it was acknowledged. Without proof an offer descends by one rung after one whole turn,
//! or after some idle time; the doorbell rings once more before. Without a doorbell, the stop hook
//! of that very turn carries what was pushed, because nothing wakes Claude after it. After a turn
//! that brought proof of anything the doorbell rings again for the rest, since nothing else would
//! wake Claude. After its proof a message is never offered unasked.

#[cfg(test)]
mod afresh;
mod carried;
mod deadlines;
mod hooked;
mod input;
mod offering;
mod ringing;
mod rung_message;
mod timeouts;

pub use input::{DeliveryMode, HookPoint, LadderInput};
use ringing::Ringing;
pub use rung_message::RungMessage;
pub use timeouts::LadderTimeouts;

use super::{Backlog, Delivery, DeliveryEffect, DeliveryState, DeliveryWay, Moment, Rung, Shown};
use crate::agent::Agent;
use crate::entry::DeliveryResult;
use crate::id::{EntryId, RuntimeSession, Seq};

/// The bridge that gets the deliveries.
#[derive(Debug, Clone, Copy)]
struct Bridge {
    id: u64,
    process: Option<u32>,
    mode: DeliveryMode,
    /// Until then a doorbell may still come.
    bell_due: i64,
}

/// The ways to the Claude of one pair.
#[derive(Debug)]
pub struct Ladder {
    timeouts: LadderTimeouts,
    pair: RuntimeSession,
    bridge: Option<Bridge>,
    /// The Claude whose bridge came last; it may be there without its bridge.
    process: Option<u32>,
    /// The Claude that worked with the daemon before, until one comes.
    recalled: Option<u32>,
    /// The last Claude has ended. What its last hook handed over may be told behind that.
    has_ended: bool,
    bell: Option<u64>,
    /// The doorbell that the daemon before has rung has not come yet.
    awaits_bell: bool,
    ringing: Ringing,
    /// Since when no turn runs, ms; `None` while one runs: as [`super::ClaudeState`] says.
    idle_since: Option<i64>,
    /// Since when its context is compacted, ms: as that says.
    compacts_since: Option<i64>,
    /// It was told to rest because of a usage limit. It does so for longer than the limit holds: until
    /// what died of it is recorded as sent again, which goes first.
    rests_at_limit: bool,
    /// The way that last proved itself for this process.
    proven: Option<Rung>,
    /// A push to this process brought no proof: where channels are off they stay off for as long
    /// as it lives, and trying again would cost each message the idle time.
    is_deaf: bool,
    /// A hook of the turn that runs had no room for what waits up to here.
    left_over: Option<Seq>,
    /// Claude has to fetch this: no hook has room for it.
    to_fetch: Option<EntryId>,
    /// Something arrived since the last turn ended.
    has_progressed: bool,
    retry_at: Option<i64>,
}

impl Ladder {
    /// A pair without a Claude.
    pub fn new(pair: RuntimeSession, timeouts: LadderTimeouts, rests_at_limit: bool) -> Self {
        Self {
            timeouts,
            pair,
            bridge: None,
            process: None,
            recalled: None,
            has_ended: false,
            bell: None,
            awaits_bell: false,
            ringing: Ringing::default(),
            idle_since: Some(0),
            compacts_since: None,
            rests_at_limit,
            proven: None,
            is_deaf: false,
            left_over: None,
            to_fetch: None,
            has_progressed: false,
            retry_at: None,
        }
    }

    /// Takes something in, and says what is to be done: first what follows from it, then what is
    /// to be offered now.
    pub fn apply(
        &mut self,
        backlog: &mut Backlog,
        input: LadderInput,
        at: &Moment,
    ) -> Vec<DeliveryEffect> {
        let mut effects = Vec::new();
        self.take(backlog, input, at, &mut effects);
        backlog.end_unwanted(Agent::Claude, &mut effects);
        self.offer(backlog, at, &mut effects);
        effects
    }

    /// How long things may take from now on.
    pub fn set_timeouts(&mut self, timeouts: LadderTimeouts) {
        self.timeouts = timeouts;
    }

    /// The rung on which a message of now begins; `None` without bridge and doorbell.
    ///
    /// A channel that never proved itself is passed over where a doorbell hangs: trying it first
    /// would cost each message the idle time. A doorbell whose bridge died still reaches Claude,
    /// which never starts a dead bridge again by itself (Claude Code 2.1.330, observed).
    pub fn first_rung(&self) -> Option<Rung> {
        let Some(bridge) = self.bridge else {
            return self.bell.map(|_| Rung::Doorbell);
        };
        Some(match bridge.mode {
            DeliveryMode::Pull => Rung::Pull,
            DeliveryMode::Push => Rung::Channel,
            DeliveryMode::Auto if self.proven == Some(Rung::Channel) => Rung::Channel,
            DeliveryMode::Auto if self.bell.is_some() => Rung::Doorbell,
            DeliveryMode::Auto if self.is_deaf => Rung::Hooks,
            DeliveryMode::Auto => Rung::Channel,
        })
    }

    /// The rung that last proved itself for this process.
    pub fn proven(&self) -> Option<Rung> {
        self.proven
    }

    /// Whether it rests because of a usage limit.
    pub fn rests_at_limit(&self) -> bool {
        self.rests_at_limit
    }

    /// The bridge that gets the deliveries.
    pub fn receiver(&self) -> Option<u64> {
        self.bridge.map(|bridge| bridge.id)
    }

    /// The doorbell that is rung.
    pub fn bell(&self) -> Option<u64> {
        self.bell
    }

    /// Whether it goes by a turn that runs.
    #[cfg(test)]
    pub fn is_in_turn(&self) -> bool {
        self.idle_since.is_none()
    }

    /// Whether pushes to this process have brought no proof.
    #[cfg(test)]
    pub fn is_deaf(&self) -> bool {
        self.is_deaf
    }

    /// Whether no other Claude than this one is known to have come last.
    pub fn is_last(&self, process: u32) -> bool {
        let last = self.process.or(self.recalled);
        last.is_none_or(|last| last == process)
    }

    /// Whether a hook is one of the Claude that gets the deliveries. A second Claude of the same
    /// pair gets none, and what it does is not what the first one does.
    pub fn is_receivers(&self, process: Option<u32>) -> bool {
        match (self.bridge.and_then(|bridge| bridge.process), process) {
            (Some(receiver), Some(process)) => receiver == process,
            // Without a bridge the hook is the only way there is.
            _ => true,
        }
    }

    /// Whether what was to be pushed once its row is written still is: meanwhile it may have been
    /// proven, or the bridge may have gone.
    pub fn may_leave(&self, backlog: &Backlog, bridge: u64, id: &EntryId) -> bool {
        let is_unproven = backlog.get(id).is_some_and(Delivery::is_on_its_way);
        is_unproven && !backlog.is_recording(id) && self.receiver() == Some(bridge)
    }

    /// What waits unproven for this pair, oldest first.
    fn waiting<'a>(&'a self, backlog: &'a Backlog) -> impl Iterator<Item = &'a Delivery> {
        let lane = backlog.of_pair(&self.pair);
        lane.filter(|row| backlog.may_be_offered(row))
    }

    fn take(
        &mut self,
        backlog: &mut Backlog,
        input: LadderInput,
        at: &Moment,
        effects: &mut Vec<DeliveryEffect>,
    ) {
        match input {
            LadderInput::News => {}
            LadderInput::Tick => self.tick(backlog, at, effects),
            LadderInput::Attached {
                bridge,
                process,
                mode,
            } => {
                let bridge = Bridge {
                    id: bridge,
                    process,
                    mode,
                    bell_due: at.now_ms + self.timeouts.bell_ms,
                };
                self.attached(backlog, bridge, effects);
            }
            // The next process has not read what this one was given.
            LadderInput::Recalled { process: None } => self.forget_context(backlog, effects),
            LadderInput::Recalled { process } => self.recalled = process,
            LadderInput::WasRung { rung } => self.was_rung(backlog, rung),
            LadderInput::Left { bridge } => {
                if self.bridge.is_some_and(|known| known.id == bridge) {
                    self.bridge = None;
                    self.forget_offers(backlog);
                }
            }
            LadderInput::Ended { process } => {
                if self.is_last(process) {
                    self.has_ended = true;
                    self.forget_context(backlog, effects);
                }
            }
            LadderInput::BellHung { bell } => {
                let is_new = self.bell.replace(bell) != Some(bell);
                if std::mem::take(&mut self.awaits_bell) {
                    self.forget_unrung(backlog);
                } else if is_new && self.proven != Some(Rung::Channel) {
                    self.forget_offers(backlog);
                }
            }
            LadderInput::BellGone { bell } => {
                if self.bell == Some(bell) {
                    self.bell = None;
                }
            }
            LadderInput::NewContext => {
                self.forget_context(backlog, effects);
                self.forget_offers(backlog);
            }
            LadderInput::Compacts => self.compacts_since = Some(at.now_ms),
            LadderInput::CompactionOver => self.hears_again(at),
            LadderInput::Compacted => self.compacted(backlog, at),
            LadderInput::TurnBegan => {
                self.idle_since = None;
                self.has_ended = false;
                backlog.turn_began(&self.pair, true);
            }
            LadderInput::TurnRuns => {
                self.idle_since = None;
                backlog.turn_began(&self.pair, false);
            }
            LadderInput::TurnStops => self.turn_stops(backlog, at),
            LadderInput::TurnWorked { rests, is_read } => {
                if !rests {
                    self.rest_at_limit(false, effects);
                }
                self.turn_came_to_its_end(backlog, true, at);
                if is_read {
                    backlog.were_read(&backlog.in_turn(&self.pair), effects);
                }
            }
            LadderInput::TurnEnded { limited } => self.turn_ended(backlog, at, limited, effects),
            LadderInput::TurnLost => {
                if std::mem::take(&mut self.awaits_bell) {
                    self.forget_offers(backlog);
                }
                self.turn_over(at);
            }
            LadderInput::TurnStopped if self.rests_at_limit => self.turn_over(at),
            LadderInput::TurnStopped => self.turn_ended(backlog, at, false, effects),
            LadderInput::LimitHolds => self.rest_at_limit(true, effects),
            LadderInput::LimitOver => self.rest_at_limit(false, effects),
            LadderInput::HandedOut { whole, head } => {
                // A head is no copy that another one could cross: it is there at once.
                let whole = whole
                    .iter()
                    .map(|id| (id, Shown::Whole, self.timeouts.claim_ms));
                let head = head.iter().map(|id| (id, Shown::Head, 0));
                for (id, shown, claim_ms) in whole.chain(head) {
                    let is_head = shown == Shown::Head;
                    self.has_progressed |=
                        is_head && backlog.get(id).is_some_and(|row| row.shown < shown);
                    backlog.claim(id, shown, &at.attempt, claim_ms, at.now_ms, effects);
                }
            }
            LadderInput::LeftOver { upto, to_fetch } => {
                self.left_over = Some(upto);
                self.to_fetch = to_fetch;
            }
            LadderInput::Proven { ids, rung } => {
                self.proven_by(backlog, &ids, &rung, effects);
                if self.has_ended {
                    self.forget_context(backlog, effects);
                }
            }
            LadderInput::Acknowledged { ids } => {
                let before = effects.len();
                for id in &ids {
                    if !backlog.can_be_acknowledged(id) {
                        continue;
                    }
                    self.learn(backlog, id, effects);
                    backlog.mark_recording(id, DeliveryResult::Acknowledged, None, None, effects);
                }
                self.has_progressed |= effects.len() > before;
            }
            LadderInput::OutletFull { id } | LadderInput::NotStored { id } => {
                // Nothing has left, and nothing leaves before it is asked again.
                backlog.take_back(&id, at.now_ms, effects);
                backlog.set_offer(&id, None);
                self.retry_at = Some(at.now_ms + self.timeouts.outlet_ms);
            }
            LadderInput::Durable { id, result } => {
                backlog.durable(&id, result, at.now_ms, effects);
                if backlog
                    .get(&id)
                    .is_none_or(|row| row.state == DeliveryState::Confirmed)
                {
                    backlog.set_offer(&id, None);
                }
            }
            LadderInput::NotDurable { id, result } => backlog.refuse_end(&id, result),
        }
    }

    fn attached(
        &mut self,
        backlog: &mut Backlog,
        bridge: Bridge,
        effects: &mut Vec<DeliveryEffect>,
    ) {
        self.bridge = Some(bridge);
        self.has_ended = false;
        let recalled = self.recalled.take();
        if recalled.is_some() && recalled == bridge.process {
            self.forget_unrung(backlog);
        } else {
            self.awaits_bell = false;
            self.forget_offers(backlog);
        }
        let before = std::mem::replace(&mut self.process, bridge.process);
        if before.is_none() || before != bridge.process {
            // Another Claude: what proved itself there proves nothing here.
            self.proven = None;
            self.is_deaf = false;
            let had = before.or(recalled);
            if had.is_some() && had != bridge.process {
                self.forget_context(backlog, effects);
            }
            self.ringing = Ringing::default();
        }
    }

    fn turn_ended(
        &mut self,
        backlog: &mut Backlog,
        at: &Moment,
        limited: bool,
        effects: &mut Vec<DeliveryEffect>,
    ) {
        self.rest_at_limit(limited, effects);
        if limited {
            // A turn that could not work shows nothing about the way that began it. What it had was
            // not read, and is left to be sent again.
            self.turn_over(at);
            backlog.out_of_turn(&self.pair, effects);
        } else {
            self.turn_came_to_its_end(backlog, false, at);
        }
    }

    /// `worked`: its model read what there was, so that a push of which it said nothing was not heard.
    fn turn_came_to_its_end(&mut self, backlog: &mut Backlog, worked: bool, at: &Moment) {
        self.turn_over(at);
        let has_progressed = std::mem::take(&mut self.has_progressed);
        if has_progressed && self.first_rung() == Some(Rung::Doorbell) {
            // Claude works through what waits: the doorbell rings for the rest as for news. Each
            // time something less is left.
            backlog.change_offers(&self.pair, |_, offer| {
                !offer.turn_began && offer.rung < Rung::Hooks
            });
        }
        let rings_again = self.bell.is_some() && !self.waits_for_a_fetch(backlog);
        backlog.change_offers(&self.pair, |id, offer| {
            if std::mem::take(&mut offer.turn_began) {
                self.is_deaf |= worked && offer.rung == Rung::Channel;
                if rings_again && offer.is_ring_sent_once() {
                    offer.ring_again();
                } else {
                    offer.descend(id, at);
                }
            }
            true
        });
    }

    fn turn_over(&mut self, at: &Moment) {
        self.idle_since = Some(at.now_ms);
        self.left_over = None;
    }

    fn rest_at_limit(&mut self, rests: bool, effects: &mut Vec<DeliveryEffect>) {
        if std::mem::replace(&mut self.rests_at_limit, rests) != rests {
            effects.push(DeliveryEffect::Limit(rests));
        }
    }

    /// Messages are in the agent's hands.
    fn proven_by(
        &mut self,
        backlog: &mut Backlog,
        ids: &[EntryId],
        rung: &DeliveryWay,
        effects: &mut Vec<DeliveryEffect>,
    ) {
        for id in ids {
            let unproven = backlog.get(id).is_some_and(|row| {
                row.to == Agent::Claude
                    && row.state != DeliveryState::Confirmed
                    && row.can_be_proven()
            });
            if unproven {
                self.learn(backlog, id, effects);
                self.has_progressed = true;
                backlog.handed_into_turn(id, *rung == DeliveryWay::Hook);
                let by = Some(rung.clone());
                backlog.mark_recording(id, DeliveryResult::Confirmed, by, None, effects);
            }
        }
    }

    /// The way that the message was offered by has reached this process.
    fn learn(&mut self, backlog: &mut Backlog, id: &EntryId, effects: &mut Vec<DeliveryEffect>) {
        let Some(row) = backlog.get(id) else { return };
        match backlog.offer(id) {
            // Known by its text, which left by no other way.
            Some(offer) if offer.was_pushed && row.shown == Shown::Nothing => {
                self.proven = Some(Rung::Channel);
                backlog.pushes_arrived(&self.pair, effects);
                if std::mem::take(&mut self.is_deaf) {
                    // What was not even pushed does not let later ones pass.
                    backlog.change_offers(&self.pair, |_, offer| offer.rung < Rung::Hooks);
                }
            }
            Some(offer) if matches!(offer.rung, Rung::Doorbell | Rung::Hooks) => {
                self.proven = Some(offer.rung);
            }
            _ => {}
        }
    }

    /// Its context is a new one. Claude keeps a ring that comes while it compacts, and hears it
    /// afterwards (2.1.330, observed): another one would be another turn for the same message.
    fn compacted(&mut self, backlog: &mut Backlog, at: &Moment) {
        let since = self.compacts_since;
        self.hears_again(at);
        self.retry_at = None;
        backlog.change_offers(&self.pair, |_, offer| {
            let is_rung = offer.rung == Rung::Doorbell && offer.is_told;
            is_rung && since.is_some_and(|since| since <= offer.at_ms)
        });
    }

    /// Its context is compacted no more: what it does not hear counts from here on.
    fn hears_again(&mut self, at: &Moment) {
        self.compacts_since = None;
        self.idle_since = self.idle_since.map(|_| at.now_ms);
    }

    /// Since when it does nothing and would hear what is offered, ms.
    fn idles_since(&self) -> Option<i64> {
        self.idle_since.filter(|_| self.compacts_since.is_none())
    }
}
