//! [`ShownPacket`]: the packet that an agent was given, or would be given.

use serde_json::{Value, json};

use crate::adapters::git::deadline::GitDeadline;
use crate::adapters::git::facts::git_facts;
use crate::cli::context::CliContext;
use crate::cli::exit::Failure;
use crate::cli::offline::disk;
use crate::cli::text::words::{now_ms, time};
use crate::core::agent::Agent;
use crate::core::continuity::{PACKET_CHARS_MAX, Packet, PacketSeen, PacketTerms};
use crate::core::entry::{ContinuityFact, EntryKind, ReloadCause, ReloadStep};
use crate::core::snapshot::Snapshot;

pub(super) enum ShownPacket<'a> {
    /// As the record has it, to the character.
    Given {
        /// How far it came.
        seen: &'a PacketSeen,
        text: String,
        /// Of the text, in lower-case hex, as it was recorded.
        sha256: String,
    },
    /// None was given yet: what a compaction would bring now.
    Expected(Packet),
}

impl<'a> ShownPacket<'a> {
    /// Of this agent; none where the record knows nothing of its work.
    pub(super) fn of(
        context: &CliContext,
        world: &'a Snapshot,
        agent: Agent,
    ) -> Result<Option<Self>, Failure> {
        let pair = &world.pair_of_work(agent, &context.project.runtime_session);
        let state = world.state_of(agent, pair);
        if let Some(seen) = state.and_then(|state| state.packet.as_ref()) {
            return given(context, seen);
        }
        let terms = PacketTerms {
            agent,
            pair,
            cause: &ReloadCause::Compacted,
            at: &time(now_ms(), now_ms()),
            chars_max: PACKET_CHARS_MAX,
        };
        let git = git_facts(&context.project.dirs.root, GitDeadline::NONE);
        Ok(Packet::of(world, git.as_ref(), terms).map(Self::Expected))
    }

    pub(super) fn text(&self) -> &str {
        match self {
            Self::Given { text, .. } => text,
            Self::Expected(packet) => &packet.text,
        }
    }

    /// For a program. What a recorded packet left out stands in its last line.
    pub(super) fn to_json(&self) -> Value {
        match self {
            Self::Given { seen, text, sha256 } => json!({
                "seq": seen.seq,
                "at": seen.at_ms,
                "cause": seen.cause,
                "way": seen.way,
                "state": seen.step.state(),
                "text": text,
                "sha256": sha256,
                "leftOut": null,
            }),
            Self::Expected(packet) => json!({
                "seq": null,
                "state": "expected",
                "text": packet.text,
                "sha256": null,
                "leftOut": packet.left_out,
            }),
        }
    }
}

fn given<'a>(
    context: &CliContext,
    seen: &'a PacketSeen,
) -> Result<Option<ShownPacket<'a>>, Failure> {
    let Some(reading) = disk::current_reading(&context.project)? else {
        return Ok(None);
    };
    let unreadable = |error| disk::unreadable(reading.path(), &error);
    let seq = reading.seq_of(&seen.id).map_err(unreadable)?;
    let seq = seq.unwrap_or(seen.seq);
    let entry = reading
        .read(seq)
        .map_err(unreadable)?
        .map(|stored| stored.entry);
    let Some(entry) = entry else {
        return Ok(None);
    };
    let sha256 = match entry.kind {
        EntryKind::Continuity(record) => match record.fact {
            ContinuityFact::Reloaded(reload) => match reload.step {
                ReloadStep::Offered { sha256 } => Some(sha256),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    };
    Ok(sha256.map(|sha256| ShownPacket::Given {
        seen,
        text: entry.content,
        sha256,
    }))
}
