//! [`Record`]: a long ledger as a working pair leaves it, written straight from sealed lines. By
//! way of the daemon a million entries would take the disk an hour.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use ctxrelay::core::agent::{Agent, Party};
use ctxrelay::core::delivery::{DeliveryWay, OnBusy, Outcome};
use ctxrelay::core::entry::{
    Artifact, ArtifactStatus, DeliveryRecord, DeliveryResult, Entry, EntryKind, Handoff, Message,
    NoteKind,
};
use ctxrelay::core::id::{EntryId, RuntimeSession, Seq, SessionId};
use ctxrelay::store::dirs::ProjectDirs;
use ctxrelay::wire::line::{GENESIS, seal, serialize};
use serde_json::Map;

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
            let part = path.with_extension("part");
            write(&part, entries);
            // Whoever finds the name finds the whole file.
            fs::rename(&part, &path).unwrap();
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
}

/// An entry that only adds to the record.
pub fn note(number: usize) -> Entry {
    let kind = EntryKind::Note {
        note: NoteKind::Decision,
        handles: Vec::new(),
        withdraws: None,
    };
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
    let (from, to) = if number % 16 < 8 {
        (Agent::Claude, Agent::Codex)
    } else {
        (Agent::Codex, Agent::Claude)
    };
    let message = || {
        EntryKind::Message(Message {
            on_busy: OnBusy::Queue,
            require_reply: false,
            handles: Vec::new(),
            in_reply_to: None,
            from_turn: None,
            decision: None,
        })
    };
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

fn entry(number: usize, from: Agent, kind: EntryKind, sentences: usize) -> Entry {
    Entry {
        id: id(number),
        timestamp_ms: 1_795_000_000_000 + number as i64 * 1_000,
        session_id: Record::session(),
        source: from.into(),
        target: None,
        content: format!("{number}: {}", SENTENCE.repeat(sentences)),
        whole: None,
        carried: None,
        kind,
        runtime_session: Some(RuntimeSession::default()),
        meta: Map::new(),
        seq: Seq(number as u64),
    }
}

fn id(number: usize) -> EntryId {
    EntryId::new(format!("0198aa00-0000-7000-8000-{number:012}"))
}

/// The end of a message: Claude's stays until it is acknowledged.
fn delivery(of: usize, to: Agent) -> EntryKind {
    let result = match to {
        Agent::Claude => DeliveryResult::Acknowledged,
        Agent::Codex => DeliveryResult::Confirmed,
    };
    EntryKind::Delivery(DeliveryRecord {
        message_id: id(of),
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
        on_busy: OnBusy::Queue,
        handles: Vec::new(),
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
        kind: "test_report".to_owned(),
        title: "cargo test".to_owned(),
        summary: "118 passed".to_owned(),
        status: ArtifactStatus::Passed,
        evidence: vec!["cargo test --workspace".to_owned()],
        verified: None,
    })
}
