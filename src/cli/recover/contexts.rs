//! [`RecoveredContexts`]: what the agents' contexts lost, and commands of which no end was seen.

use std::collections::VecDeque;

use serde_json::{Map, Value, json};

use super::{RECENT_MAX, TEXT_CHARS, heading, line};
use crate::cli::continuity::{of_compaction, of_packet};
use crate::cli::report::ReportText;
use crate::cli::words::short;
use crate::core::agent::{Agent, Party};
use crate::core::entry::{Compaction, ContinuityFact, Entry, EntryKind};
use crate::core::id::RuntimeSession;
use crate::core::snapshot::Snapshot;

/// The latest of each, oldest first, [`RECENT_MAX`] at most.
#[derive(Default)]
pub(super) struct RecoveredContexts {
    commands: VecDeque<(Agent, i64, String)>,
    compactions: VecDeque<(Agent, i64, Compaction)>,
}

impl RecoveredContexts {
    /// Takes in an entry. An agent tells of itself alone.
    pub(super) fn take(&mut self, entry: &Entry) {
        let EntryKind::Continuity(record) = &entry.kind else {
            return;
        };
        let (agent, at) = (record.agent, entry.timestamp_ms);
        if entry.source != Party::Agent(agent) {
            return;
        }
        match &record.fact {
            ContinuityFact::TurnFiles(files) => {
                for command in &files.unfinished {
                    push(&mut self.commands, (agent, at, command.clone()));
                }
            }
            ContinuityFact::Compacted(compaction) => {
                push(&mut self.compactions, (agent, at, compaction.clone()));
            }
            _ => {}
        }
    }

    /// For a program, with the packets of this pair's agents.
    pub(super) fn to_json(&self, world: &Snapshot, pair: &RuntimeSession) -> Value {
        let commands = self.commands.iter().rev().map(
            |(agent, at, text)| json!({"agent": agent, "at": at, "text": short(text, TEXT_CHARS)}),
        );
        let compactions = self
            .compactions
            .iter()
            .rev()
            .map(|(agent, at, compaction)| {
                json!({
                    "agent": agent,
                    "at": at,
                    "trigger": compaction.trigger,
                    "tokensBefore": compaction.tokens_before,
                    "tokensAfter": compaction.tokens_after,
                })
            });
        let mut packets = Map::new();
        for agent in Agent::ALL {
            let state = world.state_of(agent, pair);
            let packet = state.and_then(|state| state.packet.as_ref());
            let packet = packet.map(|packet| {
                json!({"seq": packet.seq, "at": packet.at_ms, "state": packet.step.as_str()})
            });
            packets.insert(agent.to_string(), json!(packet));
        }
        json!({
            "interruptedCommands": commands.collect::<Vec<_>>(),
            "compactions": compactions.collect::<Vec<_>>(),
            "packets": packets,
        })
    }

    /// For people.
    pub(super) fn show(
        &self,
        out: &mut ReportText,
        world: &Snapshot,
        pair: &RuntimeSession,
        now_ms: i64,
    ) {
        heading(out, "Commands without an end", self.commands.len());
        for (agent, at, text) in self.commands.iter().rev() {
            let text = format!("{agent}: {}", short(text, TEXT_CHARS));
            line(out, now_ms - at, "", &text);
        }
        heading(out, "Compactions", self.compactions.len());
        for (agent, at, compaction) in self.compactions.iter().rev() {
            let text = format!("{agent}: {}", of_compaction(compaction));
            line(out, now_ms - at, "", &text);
        }
        for agent in Agent::ALL {
            let state = world.state_of(agent, pair);
            if let Some(packet) = state.and_then(|state| state.packet.as_ref()) {
                out.line(format!(
                    "  {}, {}",
                    agent.title(),
                    of_packet(packet, now_ms)
                ));
            }
        }
    }
}

fn push<T>(kept: &mut VecDeque<T>, item: T) {
    if kept.len() == RECENT_MAX {
        kept.pop_front();
    }
    kept.push_back(item);
}
