use std::collections::BTreeMap;

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::agent::{Agent, Party};
use crate::capsule::CapsuleSources;
use crate::entry::{
    Artifact, ArtifactStatus, ContinuityFact, DeliveryRecord, DeliveryResult, Entry, EntryKind,
    FinalityDecision, FinalityProposal, Handoff, Message, NoteKind, OnBusy, TASK, TaskRecord,
    TaskStep, ToldDigest, TurnFiles, exported_words,
};
use crate::fold::fold;
use crate::id::{AttemptId, CapsuleId, EntryId, RuntimeSession, Seq, SessionId};
use crate::snapshot::{
    IMPORTED_MAX, ImportedCapsule, Snapshot, TASK_ITEMS_MAX, TASKS_CLOSED_MAX, TASKS_OPEN_MAX,
    TaskSnapshot,
};
use crate::wire::line::{GENESIS, parse, seal, serialize};

const CLAUDE: Party = Party::Agent(Agent::Claude);
const CODEX: Party = Party::Agent(Agent::Codex);

fn id(number: usize) -> CapsuleId {
    CapsuleId::new(format!("cap_{number:012x}"))
}

/// A record that grows by one entry at a time.
#[derive(Default)]
struct Record {
    world: Snapshot,
}

impl Record {
    /// An entry of the work on a task.
    fn work(&mut self, task: usize, source: Party, content: &str, kind: EntryKind) -> &mut Self {
        let mut entry = self.entry(source, content, kind);
        entry.meta.insert(TASK.to_owned(), json!(id(task)));
        fold(&mut self.world, &entry);
        self
    }

    fn step(&mut self, task: usize, step: TaskStep, content: &str) -> &mut Self {
        let entry = self.entry(Party::Human, content, step.of(id(task)));
        fold(&mut self.world, &entry);
        self
    }

    fn entry(&self, source: Party, content: &str, kind: EntryKind) -> Entry {
        let seq = self.world.seq.0 + 1;
        Entry {
            id: EntryId::new(format!("e{seq}")),
            timestamp_ms: 1_000 + i64::try_from(seq).unwrap(),
            session_id: SessionId::new("session"),
            content: content.to_owned(),
            seq: Seq(seq),
            ..Entry::new(source, kind)
        }
    }

    fn task(&self, task: usize) -> &TaskSnapshot {
        &self.world.tasks[&id(task)]
    }

    fn current(&self) -> Option<&CapsuleId> {
        let pair = RuntimeSession::default();
        self.world.current_task(&pair).map(|task| &task.id)
    }
}

fn note(note: NoteKind) -> EntryKind {
    EntryKind::note(note)
}

fn answer(handoff: &str) -> EntryKind {
    EntryKind::Note {
        note: NoteKind::Note,
        handles: vec![EntryId::new(handoff)],
        withdraws: None,
    }
}

fn handoff() -> EntryKind {
    EntryKind::Handoff(Handoff::default())
}

fn claim(title: &str, status: ArtifactStatus) -> EntryKind {
    artifact("test_report", title, status)
}

fn artifact(kind: &str, title: &str, status: ArtifactStatus) -> EntryKind {
    EntryKind::Artifact(Artifact {
        kind: kind.into(),
        title: title.to_owned(),
        status,
        ..Artifact::default()
    })
}

#[test]
fn words_about_the_work_are_no_runs() {
    let mut record = Record::default();
    record.step(1, TaskStep::Opened, "Fix the login");
    let ran = [
        "test_run",
        "test_report",
        "command_log",
        "release_gate",
        "Benchmark",
        "ci/lint",
    ];
    let said = [
        "patch_summary",
        "review",
        "escalation_suggestion",
        "idle_action_result",
        "latest",
    ];
    for kind in ran.into_iter().chain(said) {
        record.work(1, CLAUDE, "", artifact(kind, kind, ArtifactStatus::Unknown));
    }
    let claims = record.task(1).claims.iter();
    let claims: Vec<&str> = claims.map(|claim| &*claim.title).collect();
    assert_eq!(claims, ran);
}

fn imported_words(digest: &str) -> String {
    ToldDigest::Imported(digest).written()
}

fn kept_words(digest: &str) -> String {
    ToldDigest::Kept(digest).written()
}

#[test]
fn what_goes_out_leaves_the_task_as_it_was_and_tells_what_is_kept() {
    let mut record = Record::default();
    record
        .step(1, TaskStep::Opened, "Fix the login")
        .step(1, TaskStep::Used, "");
    let before = record.task(1).clone();
    let (one, two) = ("1".repeat(64), "2".repeat(64));
    record.step(1, TaskStep::Exported, &exported_words(&one, &[], None));
    assert_eq!(*record.task(1), before);
    assert!(!record.world.has_kept(&before, &one));
    let along = ["a patch", "outputs"];
    let words = exported_words(&two, &along, Some(&one));
    assert!(words.contains("with a patch and outputs, the digest is 2222"));
    record.step(1, TaskStep::Exported, &words);
    let task = record.task(1).clone();
    assert_eq!(
        (task.head, task.updated_ms),
        (before.head, before.updated_ms)
    );
    assert!(record.world.has_kept(&task, &one));
    assert!(!record.world.has_kept(&task, &two));
    // It is carried on with the task.
    let kept = task.kept.unwrap().seq;
    assert!(record.world.entries_of_open_tasks().contains(&kept));
    // What an agent says, and what is no digest, is nothing.
    let entry = record.entry(CLAUDE, &kept_words(&two), TaskStep::Kept.of(id(1)));
    fold(&mut record.world, &entry);
    record.step(1, TaskStep::Kept, "what is kept of it has the digest 2");
    assert!(record.world.has_kept(&record.task(1).clone(), &one));
    // What is kept at its end is kept when it goes on.
    record
        .step(1, TaskStep::Closed, "")
        .step(1, TaskStep::Kept, &kept_words(&two))
        .step(1, TaskStep::Reopened, "");
    assert!(record.world.has_kept(record.task(1), &two));
    // Of a closed one that alone counts which was told since.
    record.step(1, TaskStep::Closed, "");
    let since_close = |record: &Record, digest: &str| {
        let task = record.world.tasks[&id(1)].clone();
        record.world.has_kept_since_close(&task, digest)
    };
    assert_eq!(since_close(&record, &two), None);
    record.step(1, TaskStep::Kept, &kept_words(&one));
    assert_eq!(since_close(&record, &one), Some(true));
    assert_eq!(since_close(&record, &two), Some(false));
    record.step(1, TaskStep::Reopened, "");
    record.step(1, TaskStep::Kept, &kept_words(&two));
    // Before a place where the record was cut anybody can have said so.
    record.world.foreign_through = record.world.seq;
    assert!(!record.world.has_kept(record.task(1), &two));
}

#[test]
fn what_is_said_while_a_task_is_current_is_of_that_task() {
    let mut record = Record::default();
    record
        .step(1, TaskStep::Opened, "Fix the login")
        .step(1, TaskStep::Used, "")
        .work(
            1,
            Party::Human,
            "no logout on restart",
            note(NoteKind::Goal),
        )
        .work(1, CLAUDE, "no new dependency", note(NoteKind::Constraint))
        .work(
            1,
            CODEX,
            "tokens live for one hour",
            note(NoteKind::Decision),
        )
        .work(1, CLAUDE, "it is the cache", note(NoteKind::Hypothesis))
        .work(1, CLAUDE, "write the test", note(NoteKind::NextStep))
        .work(1, CODEX, "ask the operator", note(NoteKind::NextStep))
        .work(1, CLAUDE, "the test is written", note(NoteKind::Done))
        .work(1, CLAUDE, "login", claim("login", ArtifactStatus::Failed))
        .work(1, CLAUDE, "login", claim("login", ArtifactStatus::Passed));
    let files = ContinuityFact::TurnFiles(TurnFiles {
        read: vec!["src/b.rs".to_owned(), "src/a.rs".to_owned()],
        written: vec!["src/a.rs".to_owned()],
        ..TurnFiles::default()
    });
    record.work(1, CODEX, "", files.of(Agent::Codex));
    assert_eq!(record.current(), Some(&id(1)));
    let task = record.task(1);
    assert_eq!(task.title, "Fix the login");
    assert_eq!(task.goal.as_ref().unwrap().text, "no logout on restart");
    assert_eq!(task.constraints[0].by, CLAUDE);
    assert_eq!(task.decisions[0].text, "tokens live for one hour");
    assert_eq!(task.hypothesis.as_ref().unwrap().text, "it is the cache");
    // Claude's are done, Codex's are not.
    let next: Vec<&str> = task.next_steps.iter().map(|said| &*said.text).collect();
    assert_eq!(next, ["ask the operator"]);
    let claims: Vec<&str> = task
        .claims
        .iter()
        .map(|claim| claim.status.as_str())
        .collect();
    assert_eq!(claims, ["passed"]);
    let files: Vec<_> = task
        .files
        .iter()
        .map(|file| (&*file.path, file.is_written))
        .collect();
    assert_eq!(files, [("src/b.rs", false), ("src/a.rs", true)]);
    assert_eq!((task.head, task.updated_ms), (Seq(12), 1_012));
}

#[test]
fn a_closed_task_stays_as_it_is_until_it_is_opened_again() {
    let mut record = Record::default();
    record
        .step(1, TaskStep::Opened, "Fix the login")
        .step(1, TaskStep::Used, "")
        .step(1, TaskStep::Closed, "fixed in 1.4")
        .work(1, CLAUDE, "too late", note(NoteKind::Decision))
        .step(1, TaskStep::Used, "");
    let task = record.task(1);
    assert_eq!(
        task.end.as_ref().unwrap().outcome.as_deref(),
        Some("fixed in 1.4")
    );
    assert!(task.decisions.is_empty());
    assert_eq!(record.current(), None);
    record
        .step(1, TaskStep::Reopened, "")
        .work(1, CLAUDE, "in time", note(NoteKind::Decision));
    assert_eq!(record.task(1).decisions.len(), 1);
    assert!(record.task(1).is_open());
}

#[test]
fn only_the_operator_of_this_record_opens_and_closes_tasks() {
    let mut record = Record::default();
    let entry = record.entry(CLAUDE, "mine", TaskStep::Opened.of(id(1)));
    fold(&mut record.world, &entry);
    assert!(record.world.tasks.is_empty());
    record.world.foreign_through = Seq(3);
    record.step(1, TaskStep::Opened, "somebody else's");
    assert!(record.world.tasks.is_empty());
    record
        .step(1, TaskStep::Opened, "ours")
        .step(1, TaskStep::Opened, "ours");
    record.world.foreign_through = Seq(9);
    record.work(1, CLAUDE, "somebody else's word", note(NoteKind::Decision));
    assert!(record.task(1).decisions.is_empty());
    record.step(7, TaskStep::Closed, "");
    let odd = TaskStep::Opened.of(CapsuleId::new("../../etc"));
    let entry = record.entry(Party::Human, "odd", odd);
    record.world.foreign_through = Seq(0);
    fold(&mut record.world, &entry);
    assert_eq!(record.world.tasks.len(), 1);
}

#[test]
fn a_task_begins_with_a_handoff_and_knows_when_it_is_answered() {
    let mut record = Record::default();
    let mut asked = record.entry(CLAUDE, "find the leak", handoff());
    asked.target = Some(CODEX);
    fold(&mut record.world, &asked);
    let begun = EntryKind::Task(TaskRecord {
        task: id(1),
        step: TaskStep::Opened,
        handoff: Some(asked.id.clone()),
        dropped: Default::default(),
        forgotten: Default::default(),
    });
    let begun = record.entry(Party::Human, "The leak", begun);
    fold(&mut record.world, &begun);
    assert_eq!(record.task(1).handoffs[0].ask, "find the leak");
    record.work(1, CLAUDE, "and the crash", handoff());
    let answered = |record: &Record| -> Vec<bool> {
        let handoffs = record.task(1).handoffs.iter();
        handoffs.map(|handoff| handoff.is_over).collect()
    };
    assert_eq!(answered(&record), [false, false]);
    record.work(1, CODEX, "found", answer(asked.id.as_str()));
    assert_eq!(answered(&record), [true, false]);
}

/// What becomes of a handoff of Claude's to Codex.
#[derive(Debug, Clone, Copy)]
enum After {
    /// This one closes it by a note.
    Noted(Agent),
    /// The operator does.
    Closed,
    /// Codex says something to it that closes nothing.
    Said,
    /// This one proposes that it is done, and the operator says so.
    Approved(Agent),
    /// The same, and the operator says no.
    Rejected(Agent),
    /// The operator takes it back before Codex has it.
    TakenBack,
    /// The same, when Codex was given it and nobody knows whether it has it.
    GivenBack,
}

impl Record {
    fn goes_on(&mut self, handoff: &EntryId, after: After) {
        let note = answer(handoff.as_str());
        let handles = vec![handoff.clone()];
        let (by, kind) = match after {
            After::Noted(by) => (Party::Agent(by), note),
            After::Closed => (Party::Human, note),
            After::Said => {
                let message = Message {
                    in_reply_to: Some(handoff.clone()),
                    ..Message::new(OnBusy::Queue)
                };
                (CODEX, EntryKind::Message(message))
            }
            After::Approved(by) | After::Rejected(by) => {
                let proposal = FinalityProposal {
                    handles: handles.clone(),
                    ..FinalityProposal::default()
                };
                let proposal = EntryKind::FinalityProposal(proposal);
                let proposed = self.entry(Party::Agent(by), "done", proposal);
                fold(&mut self.world, &proposed);
                let is_approved = matches!(after, After::Approved(_));
                let decision = FinalityDecision {
                    handles,
                    ..FinalityDecision::of(proposed.id, is_approved)
                };
                (Party::Human, EntryKind::FinalityDecision(decision))
            }
            After::TakenBack | After::GivenBack => {
                let is_given = matches!(after, After::GivenBack);
                let delivery = DeliveryRecord {
                    message_id: handoff.clone(),
                    attempt_id: is_given.then(|| AttemptId::new("attempt")),
                    to: Agent::Codex,
                    result: DeliveryResult::Cancelled,
                    outcome: None,
                    rung: None,
                    turn_id: None,
                    given: None,
                };
                (Party::System, EntryKind::Delivery(delivery))
            }
        };
        let entry = self.entry(by, "over", kind);
        fold(&mut self.world, &entry);
    }
}

#[test]
fn a_handoff_counts_as_answered_by_a_word_of_its_receiver_alone() {
    use After::{Approved, Closed, GivenBack, Noted, Rejected, Said, TakenBack};
    let (claude, codex) = (Agent::Claude, Agent::Codex);
    let stories: [(&[After], &str); 17] = [
        (&[], "open"),
        (&[Noted(codex)], "answered"),
        (&[Noted(claude)], "closed"),
        (&[Closed], "closed"),
        (&[Said], "open"),
        (&[Said, Noted(claude)], "answered"),
        (&[Said, Closed], "answered"),
        (&[Approved(codex)], "answered"),
        (&[Approved(claude)], "closed"),
        (&[Said, Approved(claude)], "answered"),
        (&[Noted(claude), Rejected(claude)], "open"),
        (&[TakenBack], "closed"),
        (&[TakenBack, Closed], "closed"),
        (&[GivenBack], "open"),
        (&[Closed, GivenBack], "closed"),
        (&[Closed, TakenBack], "closed"),
        (&[Noted(codex), TakenBack], "answered"),
    ];
    for (after, state) in stories {
        let mut record = Record::default();
        record.step(1, TaskStep::Opened, "Fix the login");
        let mut asked = record.entry(CLAUDE, "find the leak", handoff());
        asked.target = Some(CODEX);
        asked.meta.insert(TASK.to_owned(), json!(id(1)));
        fold(&mut record.world, &asked);
        for after in after {
            record.goes_on(&asked.id, *after);
        }
        let sources = CapsuleSources {
            world: &record.world,
            task: record.task(1),
            git: None,
            files: &BTreeMap::new(),
            gates: &[],
            project: "acme",
            version: "1.0.0",
        };
        let told = &sources.capsule().handoffs[0].state;
        assert_eq!(told.as_str(), state, "{after:?}");
        // As a compaction carries it on.
        let is_unanswered = record.world.is_handoff_unanswered(&asked.id);
        assert_eq!(is_unanswered, state == "closed", "{after:?}");
    }
}

#[test]
fn what_a_task_keeps_is_bounded_and_the_rest_is_counted() {
    let mut record = Record::default();
    record.step(1, TaskStep::Opened, "long");
    for number in 0..TASK_ITEMS_MAX + 3 {
        let text = format!("decision {number}");
        record.work(1, CLAUDE, &text, note(NoteKind::Decision));
    }
    let task = record.task(1);
    assert_eq!(task.decisions.len(), TASK_ITEMS_MAX);
    assert_eq!(task.decisions[0].text, "decision 3");
    assert_eq!(task.dropped["decisions"], 3);
    for number in 1..TASKS_OPEN_MAX + 5 {
        record.step(number, TaskStep::Opened, "another");
    }
    assert_eq!(record.world.open_tasks().count(), TASKS_OPEN_MAX);
    for number in 1..TASKS_CLOSED_MAX + 5 {
        record
            .step(number, TaskStep::Closed, "")
            .step(number + 100, TaskStep::Opened, "next")
            .step(number + 100, TaskStep::Closed, "");
    }
    assert_eq!(record.world.tasks.len(), TASKS_CLOSED_MAX);
}

#[test]
fn what_the_operator_pinned_and_what_somebody_said_is_not_replaced_by_less() {
    let mut record = Record::default();
    record.step(1, TaskStep::Opened, "t");
    let with = |record: &mut Record, source: Party, text: &str, meta: serde_json::Value| {
        let mut entry = record.entry(source, text, note(NoteKind::Goal));
        entry.meta = serde_json::from_value(meta).unwrap();
        fold(&mut record.world, &entry);
    };
    with(&mut record, CLAUDE, "said", json!({"task": id(1)}));
    with(
        &mut record,
        CLAUDE,
        "guessed",
        json!({"task": id(1), "stateTag": "auto"}),
    );
    assert_eq!(record.task(1).goal.as_ref().unwrap().text, "said");
    with(
        &mut record,
        Party::Human,
        "pinned",
        json!({"task": id(1), "pinned": true}),
    );
    with(&mut record, CLAUDE, "later", json!({"task": id(1)}));
    assert_eq!(record.task(1).goal.as_ref().unwrap().text, "pinned");
}

#[test]
fn the_operators_goal_stands_and_each_agents_latest_stands_below_it() {
    let mut record = Record::default();
    record
        .step(1, TaskStep::Opened, "t")
        .work(1, CLAUDE, "first", note(NoteKind::Goal))
        .work(1, CODEX, "second", note(NoteKind::Goal));
    assert_eq!(record.task(1).goal.as_ref().unwrap().text, "second");
    record
        .work(1, Party::Human, "mine", note(NoteKind::Goal))
        .work(1, CLAUDE, "third", note(NoteKind::Goal))
        .work(1, CODEX, "fourth", note(NoteKind::Goal));
    let task = record.task(1);
    assert_eq!(task.goal.as_ref().unwrap().text, "mine");
    let theirs: Vec<&str> = task.agent_goals.iter().map(|said| &*said.text).collect();
    assert_eq!(theirs, ["third", "fourth"]);
    record.work(1, Party::Human, "mine, anew", note(NoteKind::Goal));
    assert_eq!(record.task(1).goal.as_ref().unwrap().text, "mine, anew");
    assert_eq!(record.task(1).agent_goals.len(), 2);
}

#[test]
fn of_what_was_imported_the_digest_of_the_latest_file_is_known() {
    let mut record = Record::default();
    let digest = |letter: &str| letter.repeat(64);
    record
        .step(1, TaskStep::Imported, &imported_words(&digest("a")))
        .step(1, TaskStep::Imported, &imported_words(&digest("b")))
        .step(2, TaskStep::Imported, "its digest is none");
    let known: Vec<_> = record.world.imported.iter().collect();
    let expected = ImportedCapsule {
        seq: Seq(2),
        digest: digest("b"),
    };
    assert_eq!(known, [(&id(1), &expected)]);
    assert!(record.world.entries_of_open_tasks().contains(&Seq(2)));
    for number in 2..=IMPORTED_MAX + 2 {
        record.step(number, TaskStep::Imported, &imported_words(&digest("c")));
    }
    assert_eq!(record.world.imported.len(), IMPORTED_MAX);
    assert!(!record.world.imported.contains_key(&id(1)));
}

mod opened_again;

/// A turn of Claude's in which these files were read, and these written.
fn turn(record: &mut Record, read: &[String], written: &[String]) {
    let files = TurnFiles {
        read: read.to_vec(),
        written: written.to_vec(),
        ..TurnFiles::default()
    };
    let fact = ContinuityFact::TurnFiles(files);
    record.work(1, CLAUDE, "", fact.of(Agent::Claude));
}

#[test]
fn what_was_written_stays_behind_any_number_of_files_that_were_read() {
    let mut record = Record::default();
    record.step(1, TaskStep::Opened, "Fix the login");
    turn(&mut record, &[], &["src/login.rs".to_owned()]);
    let read: Vec<String> = (0..TASK_ITEMS_MAX).map(|n| format!("src/{n}.rs")).collect();
    turn(&mut record, &read, &[]);
    let task = record.task(1);
    assert!(task.files.iter().any(|file| file.path == "src/login.rs"));
    assert_eq!(
        (task.files.len(), task.dropped["touched"]),
        (TASK_ITEMS_MAX, 1)
    );
    // And of those that were written the earliest goes.
    let written: Vec<String> = (0..TASK_ITEMS_MAX).map(|n| format!("lib/{n}.rs")).collect();
    turn(&mut record, &[], &written);
    let paths = record.task(1).files.iter().map(|file| &file.path);
    assert_eq!(paths.cloned().collect::<Vec<_>>(), written);
}

#[test]
fn what_is_looked_at_again_and_again_is_left_out_once() {
    let mut record = Record::default();
    record.step(1, TaskStep::Opened, "Fix the login");
    let files: Vec<String> = (0..60).map(|n| format!("src/{n}.rs")).collect();
    for _ in 0..10 {
        for file in &files {
            turn(&mut record, &[], std::slice::from_ref(file));
        }
    }
    assert_eq!(record.task(1).dropped["touched"], 10);
    for round in 0..3 {
        for n in 0..55 {
            let said = format!("decision {n}");
            record.work(1, CLAUDE, &said, note(NoteKind::Decision));
        }
        assert_eq!(record.task(1).dropped["decisions"], 5, "{round}");
    }
}

#[test]
fn what_was_left_out_in_the_session_before_is_not_left_out_once_more() {
    let mut before = Record::default();
    before.step(1, TaskStep::Opened, "Fix the login");
    let files: Vec<String> = (0..60).map(|n| format!("src/{n}.rs")).collect();
    turn(&mut before, &files, &[]);
    let task = before.task(1).clone();
    assert_eq!(task.dropped["touched"], 10);
    // As a rollover carries it on.
    let mut after = Record::default();
    let opened = EntryKind::Task(TaskRecord {
        task: id(1),
        step: TaskStep::Opened,
        handoff: None,
        dropped: task.dropped,
        forgotten: task.forgotten,
    });
    let opened = after.entry(Party::Human, "Fix the login", opened);
    let line = seal(serialize(&opened), 1, GENESIS).unwrap().line;
    let opened = parse(line.as_bytes()).unwrap().entry;
    fold(&mut after.world, &opened);
    after.step(1, TaskStep::Used, "");
    for file in files.iter().chain(&files) {
        turn(&mut after, std::slice::from_ref(file), &[]);
    }
    assert_eq!(after.task(1).dropped["touched"], 10);
}

#[test]
fn a_path_is_kept_as_it_is_or_counted() {
    let mut record = Record::default();
    record.step(1, TaskStep::Opened, "Fix the login");
    let paths = ["a  b.md".to_owned(), "x".repeat(250)];
    for _ in 0..2 {
        turn(&mut record, &[], &paths);
        turn(&mut record, &["y".repeat(401)], &[]);
    }
    let kept = record.task(1).files.iter().map(|file| file.path.clone());
    assert_eq!(kept.collect::<Vec<_>>(), paths);
    assert_eq!(record.task(1).dropped["touched"], 1);
}
