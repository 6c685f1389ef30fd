//! [`ResumePrompts`]: the prompts with which an agent continues where it stopped.

use super::Past;
use super::tree::RecoveredTree;
use crate::cli::text::masking::Masking;
use crate::cli::text::words::{now_ms, time};
use crate::core::agent::Agent;
use crate::core::continuity::{PACKET_CHARS_MAX, Packet, PacketTerms};
use crate::core::entry::ReloadCause;
use crate::core::redact::Redactor;

/// What stands before the packet: an operator says it, who sends it.
const GO_ON: &str = "Go on with the work of this project. Call read_context and task_state first; \
    the record is the truth, your memory may be older.";

/// The prompts of both agents, as of one reading.
pub(super) struct ResumePrompts<'a> {
    past: &'a Past,
    tree: &'a RecoveredTree,
    redactor: Redactor,
    /// When, in words for the agent.
    at: String,
}

impl<'a> ResumePrompts<'a> {
    pub(super) fn new(masking: &Masking, past: &'a Past, tree: &'a RecoveredTree) -> Self {
        let now = now_ms();
        Self {
            past,
            tree,
            // The record is masked; names of files and subjects of commits come from git.
            redactor: masking.redactor(),
            at: time(now, now),
        }
    }

    /// A sentence to go on by, and the packet that a resumed conversation would be given, whole:
    /// [`PACKET_CHARS_MAX`] characters and a few hundred.
    pub(super) fn of(&self, agent: Agent) -> String {
        let world = &self.past.world;
        let mut text = GO_ON.to_owned();
        let terms = PacketTerms {
            agent,
            pair: &world.pair_of_work(agent, self.past.pairs.own()),
            cause: &ReloadCause::Resumed,
            at: &self.at,
            chars_max: PACKET_CHARS_MAX,
        };
        if let Some(packet) = Packet::of(world, self.tree.facts.as_ref(), terms) {
            text.push_str("\n\n");
            text.push_str(packet.text.trim_end());
        }
        self.redactor.redact_text(&text).0.into_owned()
    }
}
