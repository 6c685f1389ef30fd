mod beginnings;
mod file_names;
mod inferring;
mod markers;
mod packet;
mod pairs;
mod precedence;
mod tags;
mod tasks;
mod work_files;

use serde_json::json;

use super::*;
use crate::agent::{Agent, AgentState, Party};
use crate::entry::{AgentChanged, ContinuityFact, Entry, EntryKind, NoteKind, ReloadCause};
use crate::fold::fold;
use crate::id::{EntryId, RuntimeSession, Seq, SessionId};
use crate::snapshot::Snapshot;

/// A record that grows by one entry at a time.
#[derive(Default)]
struct Record {
    world: Snapshot,
}

impl Record {
    fn put(&mut self, source: Party, content: &str, kind: EntryKind) -> &mut Self {
        self.put_with(source, content, kind, json!({}))
    }

    fn put_with(
        &mut self,
        source: Party,
        content: &str,
        kind: EntryKind,
        meta: serde_json::Value,
    ) -> &mut Self {
        let mut entry = self.entry(source, content, kind);
        entry.meta = serde_json::from_value(meta).unwrap();
        fold(&mut self.world, &entry);
        self
    }

    fn entry(&self, source: Party, content: &str, kind: EntryKind) -> Entry {
        let seq = self.world.seq.0 + 1;
        Entry {
            id: EntryId::new(format!("n{seq}")),
            timestamp_ms: 1_000 * i64::try_from(seq).unwrap(),
            session_id: SessionId::new("session_1_aaaaaaaa"),
            content: content.to_owned(),
            seq: Seq(seq),
            ..Entry::new(source, kind)
        }
    }

    fn put_to_claude(&mut self, content: &str, kind: EntryKind) -> &mut Self {
        let mut entry = self.entry(Party::Agent(Agent::Codex), content, kind);
        entry.target = Some(claude());
        fold(&mut self.world, &entry);
        self
    }

    /// As [`Self::put`], in a runtime session.
    fn put_in(&mut self, pair: &str, source: Party, content: &str, kind: EntryKind) -> &mut Self {
        let mut entry = self.entry(source, content, kind);
        entry.runtime_session = Some(RuntimeSession::new(pair));
        fold(&mut self.world, &entry);
        self
    }

    fn note(&mut self, by: Party, kind: NoteKind, text: &str) -> &mut Self {
        self.put(by, text, note(kind))
    }

    fn marker(&mut self, kind: NoteKind, text: &str) -> &mut Self {
        let meta = json!({STATE_TAG: "marker"});
        self.put_with(claude(), text, note(kind), meta)
    }

    fn turn(&mut self) -> &mut Self {
        self.claude_is(AgentState::Idle).claude_is(AgentState::Busy)
    }

    fn claude_is(&mut self, state: AgentState) -> &mut Self {
        let change = AgentChanged {
            agent: Agent::Claude,
            state,
            pid: None,
            thread_id: None,
            why: None,
            until_ms: None,
        };
        self.put(Party::System, "", EntryKind::AgentChanged(change))
    }

    fn fact(&mut self, by: Party, fact: ContinuityFact) -> &mut Self {
        self.put(by, "", fact.of(Agent::Claude))
    }

    fn state(&self) -> &ContinuityState {
        let pair = RuntimeSession::default();
        self.world.state_of(Agent::Claude, &pair).unwrap()
    }

    fn objective(&self) -> String {
        let said = self.state().objective.as_ref().unwrap();
        format!("{} [{}]", said.text, said.tag.as_str())
    }

    fn packet(&self, chars_max: usize) -> Option<Packet> {
        self.packet_of(Agent::Claude, None, chars_max)
    }

    fn packet_of(&self, agent: Agent, git: Option<&GitFacts>, chars_max: usize) -> Option<Packet> {
        let terms = PacketTerms {
            agent,
            pair: &RuntimeSession::default(),
            cause: &ReloadCause::Compacted,
            at: "14:05 UTC",
            chars_max,
        };
        Packet::of(&self.world, git, terms)
    }
}

fn note(kind: NoteKind) -> EntryKind {
    EntryKind::note(kind)
}

fn claude() -> Party {
    Party::Agent(Agent::Claude)
}

fn codex() -> Party {
    Party::Agent(Agent::Codex)
}
