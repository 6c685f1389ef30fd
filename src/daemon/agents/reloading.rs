//! Gives an agent what the record holds of its work: git is read beside the loop, the packet is
//! made from the world and recorded, and only then may it be given.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use tokio::task::JoinError;
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use crate::adapters::git::deadline::GitDeadline;
use crate::adapters::git::facts::git_facts;
use crate::core::agent::{Agent, Party};
use crate::core::continuity::{GitFacts, Packet, PacketTerms, file_beginnings};
use crate::core::entry::{ContinuityFact, Entry, Reload, ReloadCause, ReloadStep};
use crate::core::hex::hex;
use crate::core::id::RuntimeSession;
use crate::core::instructions::SHARED_CHARS_MAX;
use crate::core::relay_cost::CostSort;
use crate::daemon::agents::reloads::{RecordedPacket, ReloadOrder};
use crate::daemon::agents::reminders::RidesAlong;
use crate::daemon::base::clock::now_ms;
use crate::daemon::base::under_way::WorkBeside;
use crate::daemon::event::{Event, PacketFacts, ToldRules};
use crate::daemon::owners::continuation::ThenReloaded;
use crate::daemon::owners::{Agents, Base, Daemon, HeldByRows};
use crate::wire::control::Refusal;

/// Between a packet and the rules behind it, and between two things that ride along.
const BETWEEN: &str = "\n\n";

/// How an agent reads the rules that had no room.
const MORE_RULES: &str = "read_context {\"view\":\"instructions\"} has all of it";

/// What an agent reads whose person cleared its context, where the record knows of its work.
const CLEARED: &str = "[ctxrelay: your context was cleared. The shared record still holds what you \
    were at; read_context {\"view\":\"resume\"} shows it, if your operator wants you to go on]";

/// What an agent is told once of a compaction of the other one's.
fn peer_compacted(peer: Agent, at_ms: i64) -> String {
    let at = jiff::Timestamp::from_millisecond(at_ms).unwrap_or_default();
    let at = at.strftime("%H:%M UTC");
    let name = peer.title();
    format!(
        "[ctxrelay: {name}'s context was compacted at {at}. Of what you told it before that it has a \
         summary, and what the shared record holds]"
    )
}

/// Whether a read panicked in its time.
fn has_panicked<T>(read: &Result<Result<T, JoinError>, Elapsed>) -> bool {
    matches!(read, Ok(Err(error)) if error.is_panic())
}

impl Agents {
    /// Makes a packet and records it; `then` gets it.
    pub(in crate::daemon) fn reload(
        &mut self,
        base: &mut Base,
        held: &mut HeldByRows,
        order: ReloadOrder,
        then: ThenReloaded,
    ) {
        let root = base.dirs.root.clone();
        let reading = self.packet_rules(base, &order);
        // Where there is nothing to say, nobody waits.
        if reading.is_none() && base.packet(&order, None).is_none() {
            return go_on_without_packet(held, then);
        }
        let heads = base.working_set(&order);
        let read_wait = order.read_wait();
        let number = match self.reloads.begin(order, then) {
            Ok(number) => number,
            Err(then) => return go_on_without_packet(held, then),
        };
        let Some(events) = base.events.upgrade() else {
            return self.on_packet_read(base, held, number, PacketFacts::default());
        };
        let under_way = base.operations.begin_beside();
        let reads = base.reads();
        tokio::spawn(async move {
            let deadline = GitDeadline::within(read_wait);
            let what = WorkBeside::Packet;
            let git = what.begin(move || git_facts(&root, deadline));
            let rules = what.begin(move || reading.map(|reading| reading.read(SHARED_CHARS_MAX)));
            let heads = what.begin(move || heads.read(deadline));
            let (git, rules, heads) = tokio::join!(
                timeout(read_wait, git),
                timeout(read_wait, rules),
                timeout(read_wait, heads)
            );
            // What panicked the packet goes without, and what of it there is the agent is given.
            let has_failed = has_panicked(&git) || has_panicked(&rules) || has_panicked(&heads);
            reads.tell(what, has_failed).await;
            let rules = rules.ok().and_then(Result::ok).flatten();
            let rules = rules.map(|rules| {
                let told = ToldRules {
                    texts: rules.texts,
                    read: Some(Arc::new(rules.read)),
                };
                (rules.shared, told)
            });
            let (rules, told) = rules.unzip();
            let facts = PacketFacts {
                git: git.ok().and_then(Result::ok).flatten(),
                rules,
                told,
                heads: heads.ok().and_then(Result::ok).unwrap_or_default(),
            };
            let read = Event::PacketRead {
                number,
                facts: Box::new(facts),
                under_way,
            };
            let _ = events.send(read).await;
        });
    }

    /// What a packet waited for was read.
    pub(in crate::daemon) fn on_packet_read(
        &mut self,
        base: &mut Base,
        held: &mut HeldByRows,
        number: u64,
        facts: PacketFacts,
    ) {
        let Some((order, then)) = self.reloads.take(number) else {
            return;
        };
        if order.between_turns && !self.codex.is_between_turns() {
            self.codex.is_to_be_told(order.cause);
            return go_on_without_packet(held, then);
        }
        let packet = base.packet(&order, facts.git.as_ref());
        let is_whole = packet
            .as_ref()
            .is_some_and(|packet| packet.left_out.is_empty());
        let mut text = packet.map(|packet| packet.text).unwrap_or_default();
        let spare = order
            .chars_max
            .saturating_sub(text.chars().count() + BETWEEN.len());
        let room = order
            .all_chars_max()
            .saturating_sub(text.chars().count() + BETWEEN.len());
        let has_more = facts.rules.as_ref().is_some_and(|rules| !rules.is_empty());
        let rules = facts.rules.and_then(|rules| rules.text(room, MORE_RULES));
        let told = facts.told.map(|told| ToldRules {
            // What it was to be given and has no room it has as it was before.
            read: told.read.filter(|_| has_more && rules.is_none()),
            ..told
        });
        if let Some(rules) = rules {
            if !text.is_empty() {
                text.push_str(BETWEEN);
            }
            text.push_str(&rules);
        }
        // Last of all: the agent has the files themselves.
        let taken = text.chars().count() + BETWEEN.len();
        let room = spare.min(order.all_chars_max().saturating_sub(taken));
        if let Some(heads) = file_beginnings(&facts.heads, room).filter(|_| is_whole) {
            text.push_str(BETWEEN);
            text.push_str(&heads);
        }
        if text.is_empty() {
            if let Some(told) = told {
                self.rules_are_told(base, order.agent, &order.pair, &told, order.begins());
            }
            return go_on_without_packet(held, then);
        }
        // What git tells was never masked, and what is given is what the record holds.
        let (text, _) = base.recorder.redactor().redact_text(&text);
        let text: String = text.chars().take(order.all_chars_max()).collect();
        base.offer(order, text, told, then);
    }

    /// What rides along with the next prompt of an agent, or the next message to it: a reminder when
    /// it has not said for long what it is at, and that the other one was compacted. Until it is said
    /// to have come it rides along with the one after that.
    pub(in crate::daemon) fn rides_along(
        &self,
        base: &Base,
        agent: Agent,
        pair: &RuntimeSession,
    ) -> Option<RidesAlong> {
        let world = base.recorder.world();
        let state = world.state_of(agent, pair);
        let state = state.filter(|_| base.configuration.reminds());
        let reminder = state.and_then(|state| {
            let text = self.reminders.due(agent, pair, state)?;
            Some((text, state.turns))
        });
        let (reminder, reminded_at) = reminder.unzip();
        let compacted_ms = self.reminders.untold_compaction(world, agent, pair);
        let compacted = compacted_ms.map(|at_ms| peer_compacted(agent.peer(), at_ms));
        let texts: Vec<String> = reminder.into_iter().chain(compacted).collect();
        (!texts.is_empty()).then(|| RidesAlong {
            text: texts.join(BETWEEN),
            reminded_at,
            compacted_ms,
        })
    }

    /// It is known now what became of the packet that was offered to this agent last, if that was
    /// not known yet.
    pub(in crate::daemon) fn settle_reload(
        &mut self,
        base: &mut Base,
        agent: Agent,
        pair: &RuntimeSession,
        step: ReloadStep,
    ) {
        if let Some(offered) = self.reloads.settle(agent, pair) {
            base.note_reload(agent, pair, offered, step);
        }
    }
}

impl Base {
    fn packet(&self, order: &ReloadOrder, git: Option<&GitFacts>) -> Option<Packet> {
        if order.cause == ReloadCause::Cleared {
            let knows = self.recorder.world().state_of(order.agent, &order.pair);
            let knows = knows.is_some_and(|state| state.stated().next().is_some());
            return knows.then(|| Packet {
                text: CLEARED.to_owned(),
                left_out: Vec::new(),
            });
        }
        let is_start = matches!(order.cause, ReloadCause::Started | ReloadCause::Resumed);
        if is_start && !self.configuration.tells_at_start() {
            return None;
        }
        let at = jiff::Timestamp::from_millisecond(now_ms()).unwrap_or_default();
        let terms = PacketTerms {
            agent: order.agent,
            pair: &order.pair,
            cause: &order.cause,
            at: &at.strftime("%Y-%m-%d %H:%M UTC").to_string(),
            chars_max: order.chars_max,
        };
        Packet::of(self.recorder.world(), git, terms)
    }

    /// `told`: the rules that the agent has with it.
    fn offer(
        &mut self,
        order: ReloadOrder,
        text: String,
        told: Option<ToldRules>,
        then: ThenReloaded,
    ) {
        let begins = order.begins();
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
        let mut entry = self.recorder.entry(
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
        let chars = text.chars().count();
        let packet = RecordedPacket {
            id: entry.id.clone(),
            text,
        };
        self.recorder.append(
            vec![entry],
            Box::new(move |daemon, result| {
                if let Err(refusal) = result {
                    tracing::warn!(code = %refusal.code, "a packet could not be recorded");
                    return then(daemon, None);
                }
                let now_ms = daemon.base.clock.outside_ms();
                daemon
                    .agents
                    .costs
                    .add(agent, CostSort::Packets, chars, now_ms);
                if let Some(told) = told {
                    daemon
                        .agents
                        .rules_are_told(&mut daemon.base, agent, &pair, &told, begins);
                }
                if let Some(before) = daemon.agents.reloads.offer(agent, pair.clone(), reload) {
                    let why = "another packet followed before anything was known of it".to_owned();
                    daemon
                        .base
                        .note_reload(agent, &pair, before, ReloadStep::Unknown { why });
                }
                then(daemon, Some(packet));
            }),
        );
    }

    /// Records what became of a packet.
    pub(in crate::daemon) fn note_reload(
        &mut self,
        agent: Agent,
        pair: &RuntimeSession,
        of: Reload,
        step: ReloadStep,
    ) {
        let entry = self.reload_entry(agent, pair, of, step);
        self.recorder.keep_entry(entry);
    }

    /// The entry that says what became of a packet.
    pub(in crate::daemon) fn reload_entry(
        &self,
        agent: Agent,
        pair: &RuntimeSession,
        of: Reload,
        step: ReloadStep,
    ) -> Entry {
        let content = match &step {
            ReloadStep::NotGiven { why } | ReloadStep::Unknown { why } => why.clone(),
            ReloadStep::Offered { .. } | ReloadStep::Given => String::new(),
        };
        let fact = ContinuityFact::Reloaded(Reload { step, ..of }).of(agent);
        let (to, pair) = (Some(agent.into()), Some(pair.clone()));
        self.recorder.entry(Party::System, to, fact, content, pair)
    }
}

fn go_on_without_packet(held: &mut HeldByRows, then: ThenReloaded) {
    let then = |daemon: &mut Daemon, _: Result<(), &Refusal>| then(daemon, None);
    held.go_on(Box::new(then), Ok(()));
}
