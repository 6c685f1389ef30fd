//! Gives an agent what the record holds of its work: git is read beside the loop, the packet is
//! made of the world and recorded, and only then may it be given.

use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tokio::time::timeout;

use super::continuation::ThenReloaded;
use super::event::Event;
use super::owners::Daemon;
use super::reloads::{RecordedPacket, ReloadOrder};
use crate::adapters::git_facts::git_facts;
use crate::core::agent::{Agent, Party};
use crate::core::continuity::{GitFacts, Packet, PacketTerms};
use crate::core::entry::{ContinuityFact, Reload, ReloadStep};
use crate::core::id::RuntimeSession;
use crate::wire::line::hex;

/// How long a packet waits for git. Without it the packet says less; a hook must not wait longer.
const GIT_WAIT: Duration = Duration::from_millis(500);

impl Daemon {
    /// Makes a packet and records it; `then` gets it.
    pub(super) fn reload(&mut self, order: ReloadOrder, then: ThenReloaded) {
        let root = self.dirs.root.clone();
        // Where there is nothing to say, nobody waits for git.
        if self.packet(&order, None).is_none() {
            return then(self, None);
        }
        let number = match self.reloads.begin(order, then) {
            Ok(number) => number,
            Err(then) => return then(self, None),
        };
        let Some(events) = self.events.upgrade() else {
            return self.on_packet_git(number, None);
        };
        let under_way = self.operations.begin_beside();
        tokio::spawn(async move {
            let read = tokio::task::spawn_blocking(move || git_facts(&root));
            let git = timeout(GIT_WAIT, read).await;
            let git = git.ok().and_then(Result::ok).flatten();
            let read = Event::PacketGit {
                number,
                git,
                under_way,
            };
            let _ = events.send(read).await;
        });
    }

    /// What a packet waited for was read.
    pub(super) fn on_packet_git(&mut self, number: u64, git: Option<&GitFacts>) {
        let Some((order, then)) = self.reloads.take(number) else {
            return;
        };
        let Some(packet) = self.packet(&order, git) else {
            return then(self, None);
        };
        // What git tells was never masked, and what is given is what the record holds.
        let (text, _) = self.recorder.redactor().redact_text(&packet.text);
        let text: String = text.chars().take(order.chars_max).collect();
        self.offer(order, text, then);
    }

    fn packet(&self, order: &ReloadOrder, git: Option<&GitFacts>) -> Option<Packet> {
        let at = jiff::Timestamp::from_millisecond(self.clock.now_ms()).unwrap_or_default();
        let terms = PacketTerms {
            agent: order.agent,
            pair: &order.pair,
            cause: &order.cause,
            at: &at.strftime("%Y-%m-%d %H:%M UTC").to_string(),
            chars_max: order.chars_max,
        };
        Packet::of(self.recorder.world(), git, terms)
    }

    fn offer(&mut self, order: ReloadOrder, text: String, then: ThenReloaded) {
        let ReloadOrder {
            agent,
            pair,
            cause,
            way,
            ..
        } = order;
        let step = ReloadStep::Offered {
            sha256: hex(&Sha256::digest(text.as_bytes())),
        };
        let fact = ContinuityFact::Forgotten { what: None }.of(agent);
        let mut entry = self.entry(
            Party::System,
            Some(agent.into()),
            fact,
            text.clone(),
            Some(pair.clone()),
        );
        let reload = Reload {
            packet_id: entry.id.clone(),
            cause,
            way,
            step,
        };
        entry.kind = ContinuityFact::Reloaded(reload.clone()).of(agent);
        let packet = RecordedPacket {
            id: entry.id.clone(),
            text,
        };
        self.record(
            vec![entry],
            Box::new(move |daemon, result| {
                if let Err(refusal) = result {
                    tracing::warn!(code = %refusal.code, "a packet could not be recorded");
                    return then(daemon, None);
                }
                if let Some(before) = daemon.reloads.offer(agent, pair.clone(), reload) {
                    let why = "another packet followed before anything was known of it".to_owned();
                    daemon.note_reload(agent, &pair, before, ReloadStep::Unknown { why });
                }
                then(daemon, Some(packet));
            }),
        );
    }

    /// It is known now what became of the packet that was offered to this agent last, if that was
    /// not known yet.
    pub(super) fn settle_reload(&mut self, agent: Agent, pair: &RuntimeSession, step: ReloadStep) {
        if let Some(offered) = self.reloads.settle(agent, pair) {
            self.note_reload(agent, pair, offered, step);
        }
    }

    fn note_reload(&mut self, agent: Agent, pair: &RuntimeSession, of: Reload, step: ReloadStep) {
        let content = match &step {
            ReloadStep::NotGiven { why } | ReloadStep::Unknown { why } => why.clone(),
            ReloadStep::Offered { .. } | ReloadStep::Given => String::new(),
        };
        let fact = ContinuityFact::Reloaded(Reload { step, ..of }).of(agent);
        let to = Some(agent.into());
        let entry = self.entry(Party::System, to, fact, content, Some(pair.clone()));
        self.record_mere_fact(entry);
    }
}
