//! Continuity: what an agent has to know again after its context was compacted.
//!
//! - [`ContinuityState`]: what an agent is working on, per agent and runtime session, folded from
//!   entries.
//! - [`StatedText`]: one value of it, with who said it and where.
//! - [`markers`]: what an agent says of it in passing, in its own words.
//! - [`reminder()`]: what it reads when it has not said that for long.
//! - [`inference_prompt`]: the question to a model that reads an agent's words when they hold no
//!   marker.
//! - [`Packet`]: the text that the agent is given, within a budget.
//! - [`WorkFiles`]: all of this as files, to look at.

mod held;
mod inference;
mod marker;
mod packet;
mod packet_sections;
mod pairs;
mod reminder;
mod staleness;
mod state_json;
#[cfg(test)]
mod tests;
mod work_files;

pub use crate::continuity_state::{
    CHANGED_RULES_MAX, CompactionSeen, ContinuityState, LISTED_MAX, PINNED, PacketSeen, READS_MAX,
    RulesSeen, STATE_TAG, StateTag, StatedText, TouchedFile, WORKING_SET_MAX, day_of, is_state,
};
pub use inference::{INFERENCE_WORDS_MAX, inference_prompt, inferred_values};
pub use marker::{
    ContextMarker, MARKER_CHARS_MAX, MARKERS_MAX, markers, markers_of_turn, without_markers,
};
pub(crate) use packet::TAGS;
pub use packet::{
    LeftOut, PACKET_CHARS_MAX, Packet, PacketTerms, SHORT_CHARS_MAX, file_beginnings,
};
pub use packet_sections::GitFacts;
pub use reminder::{REMIND_TURNS, REMINDER_CHARS_MAX, reminder};
pub use staleness::Staleness;
pub use state_json::{StatedField, changed_since_by, state_json, stated_fields};
pub use work_files::{
    RECENT_WORK, WorkEventRow, WorkFileRow, WorkFiles, WorkFolder, WorkResultRow, WorkSources,
};
