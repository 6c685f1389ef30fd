//! The packet after a compaction, through our hook in Codex. It arrives before the first request if
//! the user has reviewed the hook; if not, or if the hook gave nothing, it is injected into the
//! thread.

use crate::core::agent::Agent;
use crate::core::entry::ReloadWay;
use crate::core::id::RuntimeSession;
use crate::daemon::agents::codex_lane::PacketDue;
use crate::daemon::agents::reloads::RecordedPacket;
use crate::daemon::owners::{Agents, Base, Daemon, HeldByRows};
use crate::daemon::reply::{ReplySender, answer};
use crate::wire::control::{HookParams, HookReply, Reply};
use crate::wire::status::{HookReview, NoticeKey};

/// What the person can do about a hook that Codex leaves out.
const UNREVIEWED: &str = "Codex leaves out the hook of `continuity.codexHook` until you review it: \
    `/hooks` in Codex's terminal; until then a compaction is made good one request later";

impl Agents {
    /// `continuity.codexHook` says this now.
    pub(in crate::daemon) fn want_codex_hook(&mut self, base: &mut Base, is_wanted: bool) {
        self.codex.want_hook(is_wanted);
        self.tell_of_codex_hook(base);
    }

    /// Codex says what it thinks of our hook.
    pub(in crate::daemon) fn codex_hook_reviewed(
        &mut self,
        base: &mut Base,
        review: Option<HookReview>,
    ) {
        self.codex.hook_reviewed(review);
        self.tell_of_codex_hook(base);
    }

    fn tell_of_codex_hook(&self, base: &mut Base) {
        match self.codex.hook_review() {
            Some(HookReview::Unreviewed) => {
                base.notice(NoticeKey::CodexHook, UNREVIEWED);
            }
            _ => base.notice_over(&NoticeKey::CodexHook),
        }
    }

    /// Codex runs our hook: after a compaction, and before the model is asked again.
    pub(in crate::daemon) fn codex_hook_asks(
        &mut self,
        base: &mut Base,
        held: &mut HeldByRows,
        params: &HookParams,
        reply: ReplySender,
    ) {
        if !self.is_visible_threads(params) {
            return answer_with_nothing(reply);
        }
        match self.codex.hook_asks(reply) {
            Some((reply, true)) => self.give_by_hook(base, held, reply),
            Some((reply, false)) => answer_with_nothing(reply),
            None => {}
        }
    }

    /// Our hook has no packet to give.
    pub(in crate::daemon) fn settle_hook_packet(&mut self) {
        if let Some(reply) = self.codex.settle_hook_packet() {
            answer_with_nothing(reply);
        }
    }

    fn give_by_hook(&mut self, base: &mut Base, held: &mut HeldByRows, reply: ReplySender) {
        let then = |daemon: &mut Daemon, packet: Option<RecordedPacket>| {
            let text = packet.as_ref().map(|packet| packet.text.clone());
            if let Some(packet) = packet {
                daemon
                    .agents
                    .give_codex(&mut daemon.base, packet, !reply.is_closed());
            }
            answer(reply, Ok(Reply::Hook(HookReply::of_text(text))));
        };
        self.reload_compacted(base, held, ReloadWay::CodexHook, then);
    }

    /// The model goes on without what the hook was to give.
    pub(in crate::daemon) fn codex_hook_gave_nothing(
        &mut self,
        base: &mut Base,
        held: &mut HeldByRows,
    ) {
        if self.codex.hook_missed() {
            tracing::info!("our hook gave codex nothing");
            self.inject_after_compaction(base, held);
        }
    }

    /// A previous daemon or app-server may have ended between a compaction and its packet: one
    /// that our hook asks for, or one that was being made. An app-server that took the thread up
    /// again knows of no compaction, and runs no hook. Returns whether the packet is put in now.
    pub(in crate::daemon) fn find_owed_packet(
        &mut self,
        base: &mut Base,
        held: &mut HeldByRows,
        is_other_server: bool,
    ) -> bool {
        let has_hook = self.codex.wants_hook();
        let world = base.recorder.world();
        let state = world.state_of(Agent::Codex, &RuntimeSession::default());
        let is_owed = state.is_some_and(|state| {
            let compaction = state.unmended_compaction();
            compaction.is_some_and(|compaction| {
                // Where there was nothing to be told, the agent has gone on without.
                let goes_on = state.turns <= compaction.turn.saturating_add(1);
                has_hook || (is_other_server && goes_on)
            })
        });
        if !is_owed {
            self.codex.owes_no_packet();
        } else if !is_other_server {
            if let PacketDue::Now(reply) = self.codex.compaction_recorded(true) {
                self.give_by_hook(base, held, reply);
            }
        } else if !self.reloads.is_mending(Agent::Codex) {
            self.inject_after_compaction(base, held);
        }
        is_owed && is_other_server
    }

    /// Whether the hook runs in the conversation that we follow: the context of a helper is none of
    /// ours. Its rollout is named after the thread (0.169.0, observed).
    fn is_visible_threads(&self, params: &HookParams) -> bool {
        let thread = self.codex.thread().map(ToString::to_string);
        let rollout = params.transcript.as_deref();
        thread.zip(rollout).is_some_and(|(thread, rollout)| {
            let name = rollout.strip_suffix(".jsonl").unwrap_or(rollout);
            name.ends_with(&thread)
        })
    }
}

impl Daemon {
    /// A compaction of Codex's is on record: who gives its packet.
    pub(in crate::daemon) fn packet_is_due(&mut self) {
        let is_trusted = self.agents.codex.hook_review() == Some(&HookReview::Trusted);
        match self.agents.codex.compaction_recorded(is_trusted) {
            PacketDue::Now(reply) => {
                self.agents
                    .give_by_hook(&mut self.base, &mut self.deliveries.held, reply);
                self.compaction_is_over();
            }
            // It runs ahead of whatever the model is asked next.
            PacketDue::Later => self.compaction_is_over(),
            PacketDue::PutIn => self
                .agents
                .inject_after_compaction(&mut self.base, &mut self.deliveries.held),
        }
    }

    /// Codex was not compacted after all.
    pub(in crate::daemon) fn codex_not_compacted(&mut self) {
        if let Some(reply) = self.agents.codex.was_not_compacted() {
            answer_with_nothing(reply);
        }
        self.compaction_is_over();
    }
}

fn answer_with_nothing(reply: ReplySender) {
    answer(reply, Ok(Reply::Hook(HookReply::default())));
}
