//! How Codex continues after its context was compacted, and how it begins: what the record holds of
//! its work is injected into its thread.
//!
//! It is injected, and not given as `developerInstructions` of the threads that we make: these stay
//! as they were for as long as the thread is loaded, whatever changes in the files. After a restart
//! of the app-server the next compaction drops them, and others named in `thread/resume` count only
//! from then on (0.169.0, observed).
//!
//! It is recorded first, then injected; it is *given* once the thread's rollout is seen to hold it
//! and the model has answered after that.

use crate::core::agent::{Agent, Party};
use crate::core::continuity::{
    ContinuityState, PACKET_CHARS_MAX, SHORT_CHARS_MAX, markers_of_turn,
};
use crate::core::delivery::CodexInput;
use crate::core::entry::{
    Compaction, CompactionTrigger, ContinuityFact, Reload, ReloadCause, ReloadStep, ReloadWay,
    TurnFiles,
};
use crate::core::id::{EntryId, RuntimeSession, TurnId};
use crate::daemon::agents::metering::codex_was_compacted;
use crate::daemon::agents::reloads::{RecordedPacket, ReloadOrder};
use crate::daemon::owners::{Agents, Base, Daemon, HeldByRows};

/// What Codex was given last.
enum LatestPacket {
    /// It is not known yet whether its thread holds it.
    Open,
    /// It is the last thing in its thread.
    Unread,
    /// A turn came after it, its thread has it not, or there is none.
    Other,
}

impl Daemon {
    /// Codex's context was compacted, by us or by anybody else.
    pub(in crate::daemon) fn codex_compacted(&mut self, turn_id: &TurnId, in_turn: bool) {
        tracing::info!(%turn_id, "codex's context was compacted");
        codex_was_compacted(&mut self.agents.contexts, self.base.clock.now_ms());
        self.base.clients.status_changed();
        let trigger = if self.agents.codex.is_compaction_asked() {
            CompactionTrigger::Manual
        } else if in_turn {
            CompactionTrigger::Auto
        } else {
            // Somebody asked elsewhere, or it was full when the next turn began.
            CompactionTrigger::Unknown
        };
        let life = self.agents.codex.life();
        self.codex_input(CodexInput::Compacted { life });
        let before = self.agents.contexts.take_before(Agent::Codex);
        let now = self.agents.contexts.used(Agent::Codex);
        let compaction = Compaction {
            trigger,
            tokens_before: before,
            // The figure of after it may come later than this.
            tokens_after: now.filter(|now| before.is_some_and(|before| *now < before)),
        };
        let fact = ContinuityFact::Compacted(compaction).of(Agent::Codex);
        let codex = Party::Agent(Agent::Codex);
        // Codex has one thread, whatever pairs there are.
        let pair = RuntimeSession::default();
        let entry = self.base.recorder.entry(codex, None, fact, "", Some(pair));
        self.agents.codex.compaction_began();
        // Behind what the turn did until now: the packet is to hold it.
        self.base
            .recorder
            .keep_then(vec![entry], Box::new(|daemon, _| daemon.packet_is_due()));
    }

    /// Messages go out again.
    pub(in crate::daemon) fn compaction_is_over(&mut self) {
        let life = self.agents.codex.life();
        self.codex_input(CodexInput::CompactionOver { life });
        self.base.clients.status_changed();
    }
}

impl Agents {
    /// Puts the packet of a compaction into the thread.
    pub(in crate::daemon) fn inject_after_compaction(
        &mut self,
        base: &mut Base,
        held: &mut HeldByRows,
    ) {
        // The hook has no other one to give.
        self.settle_hook_packet();
        let then = |daemon: &mut Daemon, packet: Option<RecordedPacket>| {
            if let Some(packet) = packet {
                daemon.agents.give_codex(&mut daemon.base, packet, false);
            }
            // What is asked of the adapter from here on is done behind the packet.
            daemon.compaction_is_over();
        };
        self.reload_compacted(base, held, ReloadWay::Inject, then);
    }

    /// Makes the packet of a compaction; `then` gets it.
    pub(in crate::daemon) fn reload_compacted(
        &mut self,
        base: &mut Base,
        held: &mut HeldByRows,
        way: ReloadWay,
        then: impl FnOnce(&mut Daemon, Option<RecordedPacket>) + Send + 'static,
    ) {
        let order = ReloadOrder {
            agent: Agent::Codex,
            pair: RuntimeSession::default(),
            cause: ReloadCause::Compacted,
            way,
            chars_max: PACKET_CHARS_MAX,
            between_turns: false,
        };
        self.reload(base, held, order, Box::new(then));
    }

    /// Codex begins, is in another conversation than before, or goes on with the one that it was in
    /// under an earlier daemon: before its next turn it is told in short what the record holds of its
    /// work, and the rules that it does not read by itself.
    pub(in crate::daemon) fn tell_codex_at_start(
        &mut self,
        base: &mut Base,
        held: &mut HeldByRows,
    ) {
        let untold = self
            .codex
            .untold()
            .filter(|_| self.codex.is_between_turns());
        let cause = match untold {
            None => return,
            // A full one that was put off to the end of a turn waits as `Compacted`.
            Some(ReloadCause::Resumed | ReloadCause::Compacted) => match base.latest_packet() {
                // What it was given last may be in its thread: that is being looked up.
                LatestPacket::Open => return,
                LatestPacket::Unread => {
                    self.codex.take_untold();
                    return;
                }
                LatestPacket::Other => self.cause_of_going_on(base),
            },
            Some(cause) => cause.clone(),
        };
        self.codex.take_untold();
        if cause == ReloadCause::Started {
            let now_ms = base.clock.outside_ms();
            self.costs.conversation_began(Agent::Codex, now_ms);
        }
        let order = ReloadOrder {
            agent: Agent::Codex,
            pair: RuntimeSession::default(),
            chars_max: match cause {
                ReloadCause::Compacted => PACKET_CHARS_MAX,
                _ => SHORT_CHARS_MAX,
            },
            cause,
            way: ReloadWay::Inject,
            between_turns: true,
        };
        let then = |daemon: &mut Daemon, packet: Option<RecordedPacket>| {
            if let Some(packet) = packet {
                daemon.agents.give_codex(&mut daemon.base, packet, false);
            }
        };
        self.reload(base, held, order, Box::new(then));
    }

    /// Why a thread that is gone on with is told of its work: where the packet of its compaction was
    /// lost with an earlier daemon its context holds nothing of it, so that one is made once more in
    /// full.
    fn cause_of_going_on(&mut self, base: &Base) -> ReloadCause {
        let world = base.recorder.world();
        let state = world.state_of(Agent::Codex, &RuntimeSession::default());
        let is_lost = state.is_some_and(ContinuityState::has_lost_packet);
        let is_put_off = self.codex.untold() == Some(&ReloadCause::Compacted);
        if is_lost && (is_put_off || self.reloads.tries_again()) {
            ReloadCause::Compacted
        } else {
            ReloadCause::Resumed
        }
    }

    /// What a turn touched that ends or is compacted, and what it said of its work.
    pub(in crate::daemon) fn codex_touched(
        &mut self,
        base: &mut Base,
        mut files: TurnFiles,
        said: &[String],
        is_over: bool,
    ) {
        let pair = RuntimeSession::default();
        for path in &mut files.written {
            if let Some(below) = base.in_project(path) {
                *path = below;
            }
        }
        if !files.is_empty() {
            let fact = ContinuityFact::TurnFiles(files).of(Agent::Codex);
            let codex = Party::Agent(Agent::Codex);
            let entry = base
                .recorder
                .entry(codex, None, fact, "", Some(pair.clone()));
            base.recorder.keep_entry(entry);
        }
        self.hear(
            base,
            Agent::Codex,
            &pair,
            said,
            markers_of_turn(said),
            is_over,
        );
        self.look_at_rules(base);
    }

    /// `by_hook`: our hook waits for the packet, and gives it.
    pub(in crate::daemon) fn give_codex(
        &mut self,
        base: &mut Base,
        packet: RecordedPacket,
        by_hook: bool,
    ) {
        let RecordedPacket { id, text } = packet;
        if self.codex.inject(id.clone(), text, by_hook).is_none() {
            let why = "the app-server was gone before the packet could be put into its thread";
            let why = why.to_owned();
            self.settle_codex_packet(base, &id, ReloadStep::NotGiven { why });
        }
    }

    /// A previous daemon may have ended between the record and the thread.
    pub(in crate::daemon) fn find_codex_packet(&self, base: &Base) {
        let Some((reload, sha256)) = base.open_codex_packet() else {
            return;
        };
        self.codex.find_packet(reload.packet_id, sha256);
    }

    /// A packet was found in the thread that is gone on with, and this turn had it.
    pub(in crate::daemon) fn codex_has_what_it_goes_on_with(&mut self) {
        if self.codex.untold() == Some(&ReloadCause::Resumed) {
            self.codex.take_untold();
        }
    }

    /// Codex has a packet. `is_put_in`: also where our hook was to give it.
    pub(in crate::daemon) fn codex_packet_given(
        &mut self,
        base: &mut Base,
        id: &EntryId,
        is_put_in: bool,
    ) {
        let way = is_put_in.then_some(ReloadWay::Inject);
        self.settle_packet(base, id, ReloadStep::Given, way);
    }

    /// It is known what became of a packet.
    pub(in crate::daemon) fn settle_codex_packet(
        &mut self,
        base: &mut Base,
        id: &EntryId,
        step: ReloadStep,
    ) {
        self.settle_packet(base, id, step, None);
    }

    fn settle_packet(
        &mut self,
        base: &mut Base,
        id: &EntryId,
        step: ReloadStep,
        way: Option<ReloadWay>,
    ) {
        let pair = RuntimeSession::default();
        self.reloads.settle_that(Agent::Codex, &pair, id);
        let open = base.open_codex_packet().map(|(reload, _)| reload);
        let Some(mut reload) = open.filter(|reload| reload.packet_id == *id) else {
            return;
        };
        reload.way = way.unwrap_or(reload.way);
        let entry = base.reload_entry(Agent::Codex, &pair, reload, step);
        // A thread that is gone on with may have waited for this.
        base.recorder.keep_then(
            vec![entry],
            Box::new(|daemon, _| {
                daemon
                    .agents
                    .tell_codex_at_start(&mut daemon.base, &mut daemon.deliveries.held)
            }),
        );
    }
}

impl Base {
    /// How what Codex was given last stands to the turns since.
    fn latest_packet(&self) -> LatestPacket {
        let world = self.recorder.world();
        let state = world.state_of(Agent::Codex, &RuntimeSession::default());
        let packet = state.and_then(|state| Some((state.packet.as_ref()?, state.turns)));
        match packet {
            Some((packet, _)) if matches!(packet.step, ReloadStep::Offered { .. }) => {
                LatestPacket::Open
            }
            Some((packet, turns)) => match packet.step {
                ReloadStep::NotGiven { .. } => LatestPacket::Other,
                _ if packet.turn == turns => LatestPacket::Unread,
                _ => LatestPacket::Other,
            },
            None => LatestPacket::Other,
        }
    }

    /// The packet of which the record does not say whether Codex has it, and its SHA-256.
    fn open_codex_packet(&self) -> Option<(Reload, String)> {
        let world = self.recorder.world();
        let state = world.state_of(Agent::Codex, &RuntimeSession::default())?;
        let packet = state.packet.as_ref()?;
        let ReloadStep::Offered { sha256 } = &packet.step else {
            return None;
        };
        Some((packet.as_reload(), sha256.clone()))
    }
}
