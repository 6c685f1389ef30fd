//! [`RecoveredContexts`]: what the agents' contexts lost, and commands whose end was not seen.

use ctxrelay_ui::model::{RecoveryPart, RecoveryRow};
use serde_json::{Map, Value, json};

use super::counted_latest::CountedLatest;
use super::parts::{counted, row, words};
use super::{RECENT_MAX, TEXT_CHARS};
use crate::cli::record::continuity::{of_compaction, of_packet};
use crate::cli::text::words::short;
use crate::core::agent::{Agent, Party};
use crate::core::entry::{Compaction, ContinuityFact, Entry, EntryKind};
use crate::core::id::RuntimeSession;
use crate::core::snapshot::Snapshot;

/// What is said where a command may have run of which the record does not know.
const NOT_KNOWN: &str = "what ran when a turn lost its daemon or its agent is in no record, nor what runs \
                         now: look at what the agent did last before it goes on";

/// The latest of each, oldest first, [`RECENT_MAX`] at most.
pub(super) struct RecoveredContexts {
    commands: CountedLatest<(Agent, i64, String)>,
    compactions: CountedLatest<(Agent, i64, Compaction)>,
}

impl Default for RecoveredContexts {
    fn default() -> Self {
        Self {
            commands: CountedLatest::new(RECENT_MAX),
            compactions: CountedLatest::new(RECENT_MAX),
        }
    }
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
                    self.commands.push((agent, at, command.clone()));
                }
            }
            ContinuityFact::Compacted(compaction) => {
                self.compactions.push((agent, at, compaction.clone()));
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
            let state = world.work_of(agent, pair);
            let packet = state.and_then(|state| state.packet.as_ref());
            let packet = packet.map(|packet| {
                json!({"seq": packet.seq, "at": packet.at_ms, "state": packet.step.state()})
            });
            packets.insert(agent.to_string(), json!(packet));
        }
        json!({
            "interruptedCommands": commands.collect::<Vec<_>>(),
            "compactions": compactions.collect::<Vec<_>>(),
            "packets": packets,
        })
    }

    /// For people. `may_lack`: some turn has no end on record, so that a command in it has none either.
    pub(super) fn parts(
        &self,
        world: &Snapshot,
        pair: &RuntimeSession,
        may_lack: bool,
    ) -> [RecoveryPart; 3] {
        let commands = self.commands.iter().rev().map(|(agent, at, text)| {
            let text = format!("{agent}: {}", short(text, TEXT_CHARS));
            row(*at, "", text)
        });
        let compactions = self
            .compactions
            .iter()
            .rev()
            .map(|(agent, at, compaction)| {
                let text = format!("{agent}: {}", of_compaction(compaction));
                row(*at, "", text)
            });
        let packets: Vec<RecoveryRow> = Agent::ALL
            .into_iter()
            .filter_map(|agent| {
                let packet = world.work_of(agent, pair)?.packet.as_ref()?;
                let text = format!("{agent}: {}", of_packet(packet));
                Some(row(packet.at_ms, "", text))
            })
            .collect();
        let total = self.commands.total();
        let mut unended = counted("Commands without an end", total, commands.collect());
        if may_lack {
            unended.note = format!("{total} known");
            unended.rows.push(words(NOT_KNOWN.to_owned()));
        }
        [
            unended,
            counted(
                "Compactions",
                self.compactions.total(),
                compactions.collect(),
            ),
            counted("Last packets", packets.len(), packets),
        ]
    }
}
