use crate::agent::{Agent, AgentState, Party};
use crate::entry::{AgentChanged, Entry, EntryKind, LifecycleEvent, NoteKind};
use crate::fold::fold;
use crate::id::{EntryId, Seq, SessionId};
use crate::snapshot::Snapshot;

/// A world that is told entries at minutes of its own.
#[derive(Default)]
struct Told(Snapshot);

impl Told {
    fn at(&mut self, minute: i64, source: Party, kind: EntryKind) {
        let seq = self.0.seq.0 + 1;
        let entry = Entry {
            id: EntryId::new(format!("e{seq}")),
            timestamp_ms: minute * 60_000,
            session_id: SessionId::new("session"),
            content: "the lock is taken twice".to_owned(),
            seq: Seq(seq),
            ..Entry::new(source, kind)
        };
        fold(&mut self.0, &entry);
    }

    fn becomes(&mut self, minute: i64, state: AgentState) {
        let change = AgentChanged {
            agent: Agent::Codex,
            state,
            pid: None,
            thread_id: None,
            why: None,
            until_ms: None,
        };
        self.at(minute, Party::System, EntryKind::AgentChanged(change));
    }

    fn notes(&mut self, minute: i64, by: Party) {
        let note = EntryKind::note(NoteKind::Note);
        self.at(minute, by, note);
    }

    /// Codex's minutes: `.` nothing, `_` worked, a digit for entries, `!` entries without work.
    fn drawn(&self, minute: i64) -> String {
        let minutes = self.0.agent(Agent::Codex).activity_until(minute * 60_000);
        (minutes.into_iter())
            .map(|minute| match (minute.worked, minute.entries) {
                (false, 0) => '.',
                (true, 0) => '_',
                (true, entries) => char::from_digit(entries.into(), 10).unwrap_or('+'),
                (false, _) => '!',
            })
            .collect()
    }
}

#[test]
fn a_turn_is_seen_in_every_minute_that_it_ran_and_still_runs() {
    let mut told = Told::default();
    told.becomes(100, AgentState::Idle);
    told.becomes(102, AgentState::Busy);
    told.notes(104, Party::Agent(Agent::Codex));
    told.notes(104, Party::Agent(Agent::Claude));
    assert_eq!(told.drawn(106), ".......__1__", "it runs on");
    told.becomes(106, AgentState::Waiting);
    assert_eq!(told.drawn(109), "....__1__...", "it waits for the person");
    told.becomes(110, AgentState::Busy);
    told.becomes(110, AgentState::Idle);
    told.notes(111, Party::Agent(Agent::Codex));
    assert_eq!(told.drawn(112), ".__1__..._!.");
}

#[test]
fn nobody_says_that_an_agent_worked_while_no_daemon_was_there() {
    let mut told = Told::default();
    told.becomes(100, AgentState::Busy);
    told.notes(101, Party::Agent(Agent::Codex));
    let event = LifecycleEvent::DaemonStarted;
    told.at(108, Party::System, EntryKind::Lifecycle { event });
    told.becomes(109, AgentState::Idle);
    assert_eq!(told.drawn(110), "._1.........");
}
