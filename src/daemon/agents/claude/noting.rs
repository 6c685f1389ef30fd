//! Records what an agent says of its work, and which files Claude's turns touch.

use serde_json::json;

use crate::core::agent::{Agent, Party};
use crate::core::continuity::{ContextMarker, STATE_TAG, StateTag};
use crate::core::entry::{ContinuityFact, Entry, NoteKind, TurnFiles};
use crate::core::id::RuntimeSession;
use crate::daemon::owners::{Agents, Base};

impl Agents {
    /// What turns that run have touched for a task, to be recorded before somebody reads the tasks: of
    /// a turn that the person stopped no hook tells the end.
    pub(in crate::daemon) fn touched_for_tasks(&mut self, base: &Base) -> Vec<Entry> {
        let world = base.recorder.world();
        let touched = world.current_tasks.keys().filter_map(|pair| {
            let files = self.touched.take(pair)?;
            Some(base.files_entry(pair, files))
        });
        touched.collect()
    }
}

impl Base {
    /// Records what a turn of Claude's touched.
    pub(super) fn append_files(&mut self, pair: &RuntimeSession, files: TurnFiles) {
        let entry = self.files_entry(pair, files);
        self.recorder.keep_entry(entry);
    }

    fn files_entry(&self, pair: &RuntimeSession, files: TurnFiles) -> Entry {
        let fact = ContinuityFact::TurnFiles(files).of(Agent::Claude);
        let claude = Party::Agent(Agent::Claude);
        self.recorder
            .entry(claude, None, fact, "", Some(pair.clone()))
    }

    /// Records what an agent said of its work in its own words.
    pub(in crate::daemon) fn note_markers(
        &mut self,
        agent: Agent,
        pair: &RuntimeSession,
        markers: Vec<ContextMarker>,
    ) {
        for marker in markers {
            let content = match (marker.kind, marker.text) {
                (NoteKind::Done, text) if text.is_empty() => "done".to_owned(),
                (_, text) => text,
            };
            let mut entry =
                self.recorder
                    .entry(agent.into(), None, marker.kind, content, Some(pair.clone()));
            let tag = StateTag::Marker.as_str();
            entry.meta.insert(STATE_TAG.to_owned(), json!(tag));
            self.recorder.keep_entry(entry);
        }
    }
}
