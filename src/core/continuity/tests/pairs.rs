//! Work in more than one runtime session: whose it is, and who is told of it.

use pretty_assertions::assert_eq;

use super::*;
use crate::continuity::work_files::WorkSources;
use crate::entry::{
    ApprovalKind, ApprovalRecord, ApprovalRequest, ApprovalStep, Artifact, ArtifactStatus,
    CarriedEntry, CommandRun, Handoff, TurnFiles,
};

/// What an agent is given in a runtime session.
fn packet(record: &Record, agent: Agent, pair: &str) -> String {
    let terms = PacketTerms {
        agent,
        pair: &RuntimeSession::new(pair),
        cause: &ReloadCause::Compacted,
        at: "14:05 UTC",
        chars_max: PACKET_CHARS_MAX,
    };
    Packet::of(&record.world, None, terms).map_or_else(String::new, |packet| packet.text)
}

/// The files of an agent's work in a runtime session, as one text.
fn work_files(record: &Record, agent: Agent, pair: &str, entries: &[Entry]) -> String {
    let files = WorkSources {
        world: &record.world,
        agent,
        pair: &RuntimeSession::new(pair),
        entries,
        heads: &[],
        time: &|ms| ms.to_string(),
    }
    .files();
    let files = files
        .into_iter()
        .filter(|(path, _)| path != "EXEC_PACKET.md");
    files
        .map(|(path, text)| format!("{path}\n{text}\n"))
        .collect()
}

fn wrote(agent: Agent, path: &str) -> EntryKind {
    let written = vec![path.to_owned()];
    let files = TurnFiles {
        written,
        ..TurnFiles::default()
    };
    ContinuityFact::TurnFiles(files).of(agent)
}

#[test]
fn codex_is_told_what_the_claude_of_every_pair_decided_and_changed_since() {
    let mut record = Record::default();
    for path in ["src/a.rs", "src/b.rs", "src/c.rs"] {
        record.put_in("default", codex(), "", wrote(Agent::Codex, path));
    }
    record.put_in("second", claude(), "By weight", note(NoteKind::Decision));
    record.put_in("second", claude(), "Sort the plums", note(NoteKind::Goal));
    record.put_in("second", claude(), "", wrote(Agent::Claude, "src/a.rs"));
    record.put_in("default", claude(), "", wrote(Agent::Claude, "src/b.rs"));
    let text = packet(&record, Agent::Codex, "default");
    for told in [
        "- src/a.rs (Claude changed it since: read it again)\n",
        "- src/b.rs (Claude changed it since: read it again)\n",
        "- src/c.rs\n",
        "- By weight [note #4]\n",
        "- Claude's objective: Sort the plums\n",
        "- Claude changed: src/b.rs, src/a.rs\n",
    ] {
        assert!(text.contains(told), "{told}: {text}");
    }
    let files = work_files(&record, Agent::Codex, "default", &[]);
    for told in [
        "| src/a.rs | written | #1 | Claude |\n",
        "| src/b.rs | written | #2 | Claude |\n",
        "| src/c.rs | written | #3 |  |\n",
    ] {
        assert!(files.contains(told), "{told}: {files}");
    }
    // One Claude is not told of the other's.
    record.put_in("default", claude(), "", wrote(Agent::Claude, "src/a.rs"));
    record.put_in("default", claude(), "Sort", note(NoteKind::Goal));
    let text = packet(&record, Agent::Claude, "default");
    assert!(text.contains("- src/a.rs\n"), "{text}");
    assert!(!text.contains("By weight"), "{text}");
}

#[test]
fn results_and_requests_of_one_pair_are_not_told_as_those_of_another() {
    let passed = |title: &str| {
        EntryKind::Artifact(Artifact {
            kind: "test_run".into(),
            title: title.to_owned(),
            status: ArtifactStatus::Passed,
            ..Artifact::default()
        })
    };
    let asked = |id: &str| {
        let request = ApprovalRequest::new(ApprovalKind::Command, id.to_owned(), "make".to_owned());
        EntryKind::Approval(ApprovalRecord {
            approval_id: EntryId::new(id),
            agent: Agent::Claude,
            step: ApprovalStep::Asked(Box::new(request)),
        })
    };
    let mut record = Record::default();
    for pair in ["default", "second"] {
        record.put_in(pair, claude(), "Sort", note(NoteKind::Goal));
        record.put_in(pair, claude(), "", passed(&format!("tests of {pair}")));
        record.put_in(pair, claude(), "", asked(&format!("request of {pair}")));
    }
    record.put_in("second", codex(), "", passed("tests of codex"));
    let text = packet(&record, Agent::Claude, "default");
    let files = work_files(&record, Agent::Claude, "default", &[]);
    for told in [&text, &files] {
        assert!(told.contains("tests of default"), "{told}");
        assert!(!told.contains("tests of second"), "{told}");
    }
    let waits = "requests of yours that wait for the operator: 1\n";
    assert!(text.contains(waits), "{text}");
    let text = packet(&record, Agent::Codex, "default");
    assert!(
        text.contains("tests of codex passed, as you recorded it"),
        "{text}"
    );
}

#[test]
fn what_passed_once_and_failed_since_is_not_done() {
    let ran = |exit_code| {
        let ran = CommandRun::ended("cargo test", exit_code, None).unwrap();
        EntryKind::Artifact(Artifact {
            kind: "test_report".into(),
            title: "unit".to_owned(),
            summary: ran.in_words(),
            status: ran.status(),
            ran: Some(ran),
            ..Artifact::default()
        })
    };
    let mut record = Record::default();
    record.put_in("default", claude(), "Sort", note(NoteKind::Goal));
    record.put_in("default", claude(), "", ran(0));
    record.put_in("default", claude(), "", ran(0));
    let text = packet(&record, Agent::Claude, "default");
    assert_eq!(
        text.matches("unit passed, when you ran it").count(),
        1,
        "{text}"
    );
    record.put_in("default", claude(), "", ran(101));
    let text = packet(&record, Agent::Claude, "default");
    assert!(!text.contains("unit passed"), "{text}");
}

#[test]
fn what_the_operator_notes_in_a_pair_stands_in_the_log_of_codexs_work_too() {
    let mut record = Record::default();
    let mut said = record.entry(Party::Human, "By weight", note(NoteKind::Decision));
    said.runtime_session = Some(RuntimeSession::new("second"));
    fold(&mut record.world, &said);
    let entries = [said];
    for (agent, pair, is_told) in [
        (Agent::Codex, "default", true),
        (Agent::Claude, "second", true),
        (Agent::Claude, "default", false),
    ] {
        let files = work_files(&record, agent, pair, &entries);
        let is_there = files.contains("decision [you]: By weight");
        assert_eq!(is_there, is_told, "{agent} {pair}: {files}");
    }
}

#[test]
fn a_handoff_is_told_as_answered_where_its_receiver_closed_it() {
    let handoff = || EntryKind::Handoff(Handoff::default());
    let closes = |id: EntryId| EntryKind::Note {
        note: NoteKind::Note,
        handles: vec![id],
        withdraws: None,
    };
    for (by, how) in [(codex(), "closed"), (claude(), "answered")] {
        let mut record = Record::default();
        record.put_to_claude("Sort the plums", handoff());
        let id = record.world.open_handoffs.keys().next().unwrap().clone();
        record.put(by, "", closes(id.clone()));
        let text = packet(&record, Agent::Claude, "default");
        let told = format!("- handoff {id} is {how}: Sort the plums\n");
        assert!(text.contains(&told), "{text}");
    }
}

/// A Codex that a person runs in a pair of its own: what it said itself may not come along.
#[test]
fn what_the_operator_said_to_both_stays_with_the_codex_that_had_it() {
    let second = RuntimeSession::new("second");
    let mut record = Record::default();
    record.put_in("second", codex(), "Sort", note(NoteKind::Goal));
    let mut said = record.entry(Party::Human, "By weight", note(NoteKind::Constraint));
    said.runtime_session = Some(second.clone());
    fold(&mut record.world, &said);
    let codex_pair = record.world.codex_pair_of(&said);
    assert_eq!(codex_pair.as_ref(), Some(&second));
    // Its peer is the Claude of its own pair.
    record.put_in("default", claude(), "By hand", note(NoteKind::Decision));
    record.put_in("second", claude(), "In rows", note(NoteKind::Decision));
    let text = packet(&record, Agent::Codex, "second");
    assert!(
        text.contains("In rows") && !text.contains("By hand"),
        "{text}"
    );

    let mut next = Record::default();
    said.seq = Seq(1);
    said.carried = Some(CarriedEntry {
        codex_pair,
        ..CarriedEntry::of(said.session_id.clone(), Seq(2))
    });
    fold(&mut next.world, &said);
    let stands = |pair| {
        let state = next.world.state_of(Agent::Codex, pair);
        state.is_some_and(|state| state.stated().any(|said| said.text == "By weight"))
    };
    assert!(stands(&second));
    assert!(!stands(&RuntimeSession::default()));
}
