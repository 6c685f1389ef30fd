//! What the record holds of an agent's work, as files.

use std::collections::BTreeMap;

use pretty_assertions::assert_eq;

use super::*;
use crate::continuity::work_files::WorkSources;
use crate::entry::{CarriedEntry, Compaction, CompactionTrigger, Reload, ReloadStep, ReloadWay};

/// The files of Claude's work, by their names.
fn files(record: &Record, entries: &[Entry]) -> BTreeMap<String, String> {
    let files = WorkSources {
        world: &record.world,
        agent: Agent::Claude,
        pair: &RuntimeSession::default(),
        entries,
        heads: &[],
        time: &|ms| format!("at {ms}"),
    }
    .files();
    files.into_iter().collect()
}

impl Record {
    /// Puts an entry in that is looked at later.
    fn keep(&mut self, entries: &mut Vec<Entry>, by: Party, content: &str, kind: EntryKind) {
        let entry = self.entry(by, content, kind);
        fold(&mut self.world, &entry);
        entries.push(entry);
    }
}

#[test]
fn the_log_holds_the_latest_two_hundred_lines() {
    let (mut record, mut entries) = (Record::default(), Vec::new());
    for number in 1..=250 {
        let said = format!("step {number}\nwith {}", "x".repeat(300));
        record.keep(&mut entries, claude(), &said, note(NoteKind::NextStep));
        // What is no state, and what is the other agent's, takes no room of it.
        let other = Party::Agent(Agent::Codex);
        record.keep(&mut entries, other, "its own", note(NoteKind::NextStep));
        record.keep(&mut entries, claude(), "in passing", note(NoteKind::Note));
    }
    let files = files(&record, &entries);
    let lines: Vec<&str> = files["TASKLOG.md"].lines().collect();
    assert_eq!(lines.len(), 200);
    let starts = |line: &str, number: usize| {
        let seq = 3 * number - 2;
        let expected = format!(
            "- at {} #{seq} next_step [note]: step {number} with xxx",
            1_000 * seq
        );
        assert!(line.starts_with(&expected), "{line}");
        assert!(line.ends_with('…'), "{line}");
    };
    starts(lines[0], 51);
    starts(lines[199], 250);
}

#[test]
fn the_log_tells_nothing_of_a_task_of_long_ago_that_is_opened_again() {
    let (mut record, mut entries) = (Record::default(), Vec::new());
    record.keep(&mut entries, claude(), "now", note(NoteKind::Goal));
    let mut old = record.entry(claude(), "then", note(NoteKind::Decision));
    old.carried = Some(CarriedEntry {
        task_only: true,
        ..CarriedEntry::of(SessionId::new("sealed"), Seq(7))
    });
    fold(&mut record.world, &old);
    entries.push(old);
    let files = files(&record, &entries);
    let log = &files["TASKLOG.md"];
    assert!(
        log.contains("goal [note]: now") && !log.contains("then"),
        "{log}"
    );
}

#[test]
fn the_errors_are_the_latest_fifty_packets_that_did_not_come_or_of_which_nobody_knows() {
    let (mut record, mut entries) = (Record::default(), Vec::new());
    let mut put = |agent: Agent, id: &str, step: ReloadStep| {
        let fact = ContinuityFact::Reloaded(Reload {
            packet_id: EntryId::new(id),
            cause: ReloadCause::Compacted,
            way: ReloadWay::Hook,
            step,
        });
        record.keep(&mut entries, Party::System, "", fact.of(agent));
    };
    let offered = || ReloadStep::Offered {
        sha256: String::new(),
    };
    for number in 1..=60 {
        let id = format!("p{number}");
        put(Agent::Claude, &id, offered());
        let why = format!("refused {number}\n\u{1b}[2Jand forged");
        let step = match number % 2 {
            0 => ReloadStep::NotGiven { why },
            _ => ReloadStep::Unknown { why },
        };
        put(Agent::Claude, &id, step);
    }
    put(Agent::Claude, "good", offered());
    put(Agent::Claude, "good", ReloadStep::Given);
    let why = "the other agent's".to_owned();
    put(Agent::Codex, "other", ReloadStep::NotGiven { why });
    let files = files(&record, &entries);
    let lines: Vec<&str> = files["errors.log"].lines().collect();
    assert_eq!(lines.len(), 50);
    let told = |line: &str| line.split_once(" packet ").unwrap().1.to_owned();
    assert_eq!(told(lines[0]), "unknown: refused 11 [2Jand forged");
    assert_eq!(told(lines[49]), "not given: refused 60 [2Jand forged");
    assert!(
        lines[49].starts_with("at 120000 #120 packet "),
        "{}",
        lines[49]
    );
}

/// Claude's order: its packet is made while it compacts, and then its summary comes.
#[test]
fn a_compaction_of_claudes_stands_with_its_summary_and_with_its_own_packet() {
    let mut record = Record::default();
    let mut entries = Vec::new();
    let mut put = |content: &str, by: Party, fact: ContinuityFact| {
        let entry = record.entry(by, content, fact.of(Agent::Claude));
        fold(&mut record.world, &entry);
        entries.push(entry);
    };
    let packet = |id: &str, cause: ReloadCause| {
        ContinuityFact::Reloaded(Reload {
            packet_id: EntryId::new(id),
            cause,
            way: ReloadWay::Hook,
            step: ReloadStep::Offered {
                sha256: String::new(),
            },
        })
    };
    let compacted = || {
        ContinuityFact::Compacted(Compaction {
            trigger: CompactionTrigger::Manual,
            tokens_before: None,
            tokens_after: None,
        })
    };
    for nth in ["first", "second"] {
        let text = format!("the {nth} packet");
        put(&text, Party::System, packet(nth, ReloadCause::Compacted));
        put(&format!("the {nth} summary"), claude(), compacted());
    }
    put(
        "a later start",
        Party::System,
        packet("p", ReloadCause::Started),
    );
    let files = WorkSources {
        world: &record.world,
        agent: Agent::Claude,
        pair: &RuntimeSession::default(),
        entries: &entries,
        heads: &[],
        time: &|ms| ms.to_string(),
    }
    .files();
    let summaries: Vec<&str> = files
        .iter()
        .filter(|(name, _)| name.starts_with("summaries/"))
        .map(|(_, text)| text.as_str())
        .collect();
    let expected = ["first", "second"].map(|nth| {
        format!("\n\n## Summary\n\nthe {nth} summary\n\n## Given after it\n\nthe {nth} packet\n")
    });
    let told = summaries.iter().map(|text| {
        let (_, told) = text.split_at(text.find("\n\n").unwrap());
        told.to_owned()
    });
    assert_eq!(told.collect::<Vec<_>>(), expected);
}
