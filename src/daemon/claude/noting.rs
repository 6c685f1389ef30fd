//! What an agent says of its work, and what Claude's turns touch, is recorded.

use serde_json::json;

use crate::core::agent::{Agent, Party};
use crate::core::continuity::{ContextMarker, STATE_TAG, StateTag};
use crate::core::entry::{ContinuityFact, EntryKind, NoteKind, TurnFiles};
use crate::core::id::RuntimeSession;
use crate::daemon::owners::Base;

impl Base {
    /// Records what a turn of Claude's touched.
    pub(super) fn append_files(&mut self, pair: &RuntimeSession, files: TurnFiles) {
        let fact = ContinuityFact::TurnFiles(files).of(Agent::Claude);
        let claude = Party::Agent(Agent::Claude);
        let entry = self
            .recorder
            .entry(claude, None, fact, "", Some(pair.clone()));
        self.recorder.append_mere_fact(entry);
    }

    /// Records what an agent said of its work in its own words.
    pub(in crate::daemon) fn note_markers(
        &mut self,
        agent: Agent,
        pair: &RuntimeSession,
        markers: Vec<ContextMarker>,
    ) {
        for marker in markers {
            let kind = EntryKind::Note {
                note: marker.kind,
                handles: Vec::new(),
                withdraws: None,
            };
            let content = match (marker.kind, marker.text) {
                (NoteKind::Done, text) if text.is_empty() => "done".to_owned(),
                (_, text) => text,
            };
            let mut entry =
                self.recorder
                    .entry(agent.into(), None, kind, content, Some(pair.clone()));
            let tag = StateTag::Marker.as_str();
            entry.meta.insert(STATE_TAG.to_owned(), json!(tag));
            self.recorder.append_mere_fact(entry);
        }
    }
}
