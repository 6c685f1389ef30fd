//! [`Record`]: a long ledger as a working pair leaves it, written directly from sealed lines;
//! through the daemon, a million entries would take an hour of disk time. [`RecordEnd`]: the
//! entries that a test wants at its end.

use std::fs::{self, File};
use std::io::{BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use ctxrelay::core::agent::{Agent, AgentState, Party};
use ctxrelay::core::delivery::{DeliveryWay, OnBusy, Outcome};
use ctxrelay::core::entry::{
    AgentChanged, ApprovalKind, ApprovalRequest, ApprovalStep, Artifact, ArtifactStatus,
    DeliveryRecord, DeliveryResult, Entry, EntryKind, Handoff, LifecycleEvent, Message, NoteKind,
    TurnRecord, TurnStatus,
};
use ctxrelay::core::id::{EntryId, RuntimeSession, Seq, SessionId, ThreadId, TurnId};
use ctxrelay::store::dirs::ProjectDirs;
use ctxrelay::wire::line::{GENESIS, seal, serialize};

/// In the file's name: another shape of entries must not be measured as if it were this one.
const SHAPE: u32 = 2;

/// Prose as agents write it, with the odd path and number.
const SENTENCE: &str = "The refresh takes the lock first and reads the token after it; see \
    src/refresh.rs:41, two callers at once got two tokens. ";

/// The latest entries whose messages and handoffs are still open, as in a pair that is at work.
const OPEN: usize = 40;

/// A ledger of so many entries.
#[derive(Debug)]
pub struct Record {
    pub entries: usize,
    path: PathBuf,
}

impl Record {
    /// The record of this length, made when it is not there yet.
    pub fn of(entries: usize) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let path = folder.join(format!("bench-record-{SHAPE}-{entries}.jsonl"));
        if !path.exists() {
            // Whoever finds the name finds the whole file, also when two make it at once.
            let part = tempfile::NamedTempFile::new_in(folder).unwrap();
            write(part.path(), entries);
            part.persist(&path).unwrap();
        }
        Self { entries, path }
    }

    pub fn session() -> SessionId {
        SessionId::new("session_1795000000000_a1b2c3d4")
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Puts a copy into a project as its current session.
    pub fn lay_into(&self, dirs: &ProjectDirs) {
        dirs.create().unwrap();
        fs::copy(&self.path, dirs.ledger(&Self::session())).unwrap();
        fs::write(dirs.current(), format!("{}\n", Self::session())).unwrap();
    }

    /// As [`Self::lay_into`], with more behind it.
    pub fn lay_with(&self, dirs: &ProjectDirs, end: RecordEnd) {
        self.lay_into(dirs);
        let path = dirs.ledger(&Self::session());
        let mut file = File::options().read(true).append(true).open(path).unwrap();
        let mut prev = last_hash(&mut file);
        let mut lines = String::new();
        for entry in end.entries {
            let sealed = seal(serialize(&entry), entry.seq.0, &prev).unwrap();
            lines.push_str(&sealed.line);
            lines.push('\n');
            prev = sealed.hash;
        }
        file.write_all(lines.as_bytes()).unwrap();
    }
}

/// The hash of a file's last line.
fn last_hash(file: &mut File) -> String {
    /// Longer than any line of a [`Record`].
    const TAIL: u64 = 16 * 1024;
    let length = file.metadata().unwrap().len();
    let from = length.saturating_sub(TAIL);
    file.seek(SeekFrom::Start(from)).unwrap();
    let mut tail = Vec::new();
    file.read_to_end(&mut tail).unwrap();
    let tail = String::from_utf8_lossy(&tail);
    let line: serde_json::Value = serde_json::from_str(tail.lines().last().unwrap()).unwrap();
    line["hash"].as_str().unwrap().to_owned()
}

/// Entries of a test's own, for the end of a [`Record`].
#[derive(Debug)]
pub struct RecordEnd {
    entries: Vec<Entry>,
    /// The number of the last one.
    last: usize,
    /// When they are, ms since the epoch.
    at_ms: i64,
}

impl RecordEnd {
    /// Nothing yet.
    pub fn of(record: &Record, at_ms: i64) -> Self {
        Self {
            entries: Vec::new(),
            last: record.entries,
            at_ms,
        }
    }

    /// Settles what the record leaves open: each message has arrived, each handoff is answered.
    pub fn settle(&mut self, record: &Record) {
        for number in record.entries.saturating_sub(OPEN) + 1..=record.entries {
            let (from, to) = direction(number);
            match number % 8 {
                1 | 3 => drop(self.push(from, Some(to), "", delivery(number, to))),
                5 => {
                    self.push(from, Some(to), "", delivery(number, to));
                    self.note(to, NoteKind::Note, "done", vec![id(number)]);
                }
                _ => {}
            }
        }
    }

    fn push(
        &mut self,
        from: impl Into<Party>,
        to: Option<Agent>,
        text: &str,
        kind: EntryKind,
    ) -> EntryId {
        self.last += 1;
        self.at_ms += 1_000;
        let id = id(self.last);
        self.entries.push(Entry {
            id: id.clone(),
            timestamp_ms: self.at_ms,
            session_id: Record::session(),
            target: to.map(Party::from),
            content: text.to_owned(),
            runtime_session: Some(RuntimeSession::default()),
            seq: Seq(self.last as u64),
            ..Entry::new(from.into(), kind)
        });
        id
    }

    /// Work for the other agent, of which there is proof that it has it.
    pub fn handoff(&mut self, from: Agent, ask: &str) -> EntryId {
        let to = from.peer();
        let handed = self.push(from, Some(to), ask, handoff());
        self.push(from, Some(to), "", delivery_of(handed.clone(), to));
        handed
    }

    /// Work for the other agent that waits for it.
    pub fn waiting(&mut self, from: Agent, ask: &str) -> EntryId {
        self.push(from, Some(from.peer()), ask, handoff())
    }

    /// Work for the other agent that was taken back before it had it.
    pub fn taken_back(&mut self, from: Agent, ask: &str) -> EntryId {
        let to = from.peer();
        let handed = self.waiting(from, ask);
        let EntryKind::Delivery(mut record) = delivery_of(handed.clone(), to) else {
            unreachable!("it makes deliveries")
        };
        record.result = DeliveryResult::Cancelled;
        self.push(from, Some(to), "", EntryKind::Delivery(record));
        handed
    }

    /// A note that handles nothing but belongs to these handoffs.
    pub fn note(&mut self, by: Agent, note: NoteKind, text: &str, handles: Vec<EntryId>) {
        let kind = EntryKind::Note {
            note,
            handles,
            withdraws: None,
        };
        self.push(by, None, text, kind);
    }

    /// A message in reply to another one, of which there is proof that it has arrived.
    pub fn reply(&mut self, from: Agent, text: &str, in_reply_to: EntryId) {
        let to = from.peer();
        let EntryKind::Message(mut reply) = message() else {
            unreachable!("it makes messages")
        };
        reply.in_reply_to = Some(in_reply_to);
        let sent = self.push(from, Some(to), text, EntryKind::Message(reply));
        self.push(from, Some(to), "", delivery_of(sent, to));
    }

    /// A message of which nothing more is known.
    pub fn message(&mut self, from: Agent, text: &str) -> EntryId {
        self.push(from, Some(from.peer()), text, message())
    }

    /// One more step of the delivery of a message.
    pub fn step(&mut self, from: Agent, of: &EntryId) {
        let to = from.peer();
        self.push(from, Some(to), "", delivery_of(of.clone(), to));
    }

    /// A message of which nobody can know whether it arrived.
    pub fn ambiguous(&mut self, from: Agent, text: &str) -> EntryId {
        let to = from.peer();
        let sent = self.message(from, text);
        let EntryKind::Delivery(mut record) = delivery_of(sent.clone(), to) else {
            unreachable!("it makes deliveries")
        };
        record.result = DeliveryResult::Ambiguous;
        record.outcome = Some(Outcome::Ambiguous);
        self.push(from, Some(to), "", EntryKind::Delivery(record));
        sent
    }

    /// Codex has a message in this turn.
    pub fn in_turn(&mut self, of: &EntryId, turn: &str) {
        let EntryKind::Delivery(mut record) = delivery_of(of.clone(), Agent::Codex) else {
            unreachable!("it makes deliveries")
        };
        record.turn_id = Some(TurnId::new(turn));
        let kind = EntryKind::Delivery(record);
        self.push(Agent::Claude, Some(Agent::Codex), "", kind);
    }

    /// A turn of Codex's begins, or ends.
    pub fn turn(&mut self, turn: &str, status: TurnStatus, text: &str) {
        let kind = EntryKind::Turn(TurnRecord {
            thread_id: ThreadId::new("thread-1"),
            turn_id: TurnId::new(turn),
            status,
            started_by: Party::Human,
            stopped_by: None,
        });
        self.push(Agent::Codex, None, text, kind);
    }

    /// Codex asks to be allowed a command, and waits.
    pub fn asks(&mut self, command: &str) -> EntryId {
        let id = id(self.last + 1);
        let kind = ApprovalKind::Command;
        let request = ApprovalRequest::new(kind, "item-1".to_owned(), command.to_owned());
        let kind = ApprovalStep::Asked(Box::new(request)).of(id.clone(), Agent::Codex);
        self.push(Agent::Codex, None, "Codex asks", kind);
        id
    }

    /// This agent is in another state from now on.
    pub fn is(&mut self, agent: Agent, state: AgentState) {
        let kind = EntryKind::AgentChanged(AgentChanged {
            agent,
            state,
            pid: None,
            thread_id: None,
            why: None,
            until_ms: None,
        });
        let text = format!("{} {}", agent.title(), state.as_str());
        self.push(agent, None, &text, kind);
    }

    /// Claude, which is this process, has a prompt in this session of its own and does this.
    pub fn converses(&mut self, session: &str, state: AgentState, pid: Option<u32>) {
        let kind = EntryKind::AgentChanged(AgentChanged {
            pid,
            thread_id: Some(ThreadId::new(session)),
            ..AgentChanged::of(Agent::Claude, state)
        });
        let text = format!("Claude converses in session {session}");
        self.push(Party::System, None, &text, kind);
    }

    /// Another daemon begins.
    pub fn daemon_starts(&mut self) {
        let event = LifecycleEvent::DaemonStarted;
        self.push(Party::System, None, "", EntryKind::Lifecycle { event });
    }

    /// This agent has run into its usage limit.
    pub fn limited(&mut self, agent: Agent) {
        let kind = EntryKind::AgentChanged(AgentChanged {
            agent,
            state: AgentState::Limited,
            pid: None,
            thread_id: None,
            why: Some("usage limit".to_owned()),
            until_ms: None,
        });
        let text = format!("{} is at its usage limit", agent.title());
        self.push(Party::System, None, &text, kind);
    }
}

/// An entry that only adds to the record.
pub fn note(number: usize) -> Entry {
    let kind = EntryKind::note(NoteKind::Decision);
    entry(number, Agent::Claude, kind, 1 + number % 3)
}

fn write(path: &Path, entries: usize) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    let mut prev = GENESIS.to_owned();
    for number in 1..=entries {
        let settled = number + OPEN <= entries;
        let sealed = seal(serialize(&nth(number, settled)), number as u64, &prev).unwrap();
        writeln!(file, "{}", sealed.line).unwrap();
        prev = sealed.hash;
    }
    file.into_inner().unwrap().sync_all().unwrap();
}

/// In turns of eight: two messages with what became of them, a handoff with that and its answer,
/// and a note or an artifact.
fn nth(number: usize, settled: bool) -> Entry {
    let (from, to) = direction(number);
    let (kind, target, sentences) = match number % 8 {
        _ if number == 1 => (EntryKind::SessionStarted { predecessor: None }, None, 0),
        1 | 3 => (message(), Some(to), 3),
        2 | 4 | 6 if settled => (delivery(number - 1, to), Some(to), 0),
        5 => (handoff(), Some(to), 2),
        7 if settled => (answer(number - 2), None, 4),
        0 if number.is_multiple_of(16) => (artifact(), None, 1),
        _ => return note(number),
    };
    let mut entry = entry(number, from, kind, sentences);
    entry.target = target.map(Party::from);
    entry
}

/// Who wrote an entry, and who is the other one.
fn direction(number: usize) -> (Agent, Agent) {
    if number % 16 < 8 {
        (Agent::Claude, Agent::Codex)
    } else {
        (Agent::Codex, Agent::Claude)
    }
}

fn entry(number: usize, from: Agent, kind: EntryKind, sentences: usize) -> Entry {
    Entry {
        id: id(number),
        timestamp_ms: 1_795_000_000_000 + number as i64 * 1_000,
        session_id: Record::session(),
        content: format!("{number}: {}", SENTENCE.repeat(sentences)),
        runtime_session: Some(RuntimeSession::default()),
        seq: Seq(number as u64),
        ..Entry::new(from.into(), kind)
    }
}

fn id(number: usize) -> EntryId {
    EntryId::new(format!("0198aa00-0000-7000-8000-{number:012}"))
}

fn message() -> EntryKind {
    EntryKind::Message(Message::new(OnBusy::Queue))
}

/// The end of a message: Claude's stays until it is acknowledged.
fn delivery(of: usize, to: Agent) -> EntryKind {
    delivery_of(id(of), to)
}

fn delivery_of(message_id: EntryId, to: Agent) -> EntryKind {
    let result = match to {
        Agent::Claude => DeliveryResult::Acknowledged,
        Agent::Codex => DeliveryResult::Confirmed,
    };
    EntryKind::Delivery(DeliveryRecord {
        message_id,
        attempt_id: None,
        to,
        result,
        outcome: Some(Outcome::DeliveredLive),
        rung: Some(DeliveryWay::Queue),
        turn_id: None,
        given: None,
    })
}

fn handoff() -> EntryKind {
    EntryKind::Handoff(Handoff {
        reason: "two candidates".to_owned(),
        context_refs: vec!["src/refresh.rs:41".to_owned()],
        ..Handoff::default()
    })
}

fn answer(to: usize) -> EntryKind {
    EntryKind::Note {
        note: NoteKind::Note,
        handles: vec![id(to)],
        withdraws: None,
    }
}

fn artifact() -> EntryKind {
    EntryKind::Artifact(Artifact {
        kind: "test_report".into(),
        title: "cargo test".to_owned(),
        summary: "118 passed".to_owned(),
        status: ArtifactStatus::Passed,
        evidence: vec!["cargo test --workspace".to_owned()],
        ..Artifact::default()
    })
}
