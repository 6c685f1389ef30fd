//! A task of a sealed session is opened again: what it is made of stands in the record once more,
//! and nothing of it happens a second time.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::{CLAUDE, CODEX, Record, claim, handoff, id, note};
use crate::agent::{Agent, AgentState, Party};
use crate::entry::{
    AgentChanged, ApprovalKind, ApprovalRequest, ApprovalStep, ArtifactStatus, CarriedEntry,
    ContinuityFact, Entry, EntryKind, ErrorCode, FINDING, FinalityProposal, FindingRecord,
    FindingStep, Message, NoteKind, OnBusy, TASK, TASK_ONLY, TaskStep, TurnFiles,
};
use crate::fold::fold;
use crate::id::{EntryId, FindingId, Seq, SessionId};
use crate::redact::Redactor;
use crate::review::{ImportedFinding, ReviewComment, ReviewPart};
use crate::snapshot::{FindingState, Snapshot};

/// All kinds of notes that say something of a task.
const KINDS: [NoteKind; 11] = [
    NoteKind::Goal,
    NoteKind::Plan,
    NoteKind::Decision,
    NoteKind::Blocker,
    NoteKind::NextStep,
    NoteKind::Question,
    NoteKind::Hypothesis,
    NoteKind::Constraint,
    NoteKind::Assumption,
    NoteKind::Done,
    NoteKind::Note,
];

impl Record {
    fn fold(&mut self, entry: &Entry) -> EntryId {
        fold(&mut self.world, entry);
        entry.id.clone()
    }

    fn push(&mut self, source: Party, content: &str, kind: EntryKind) -> EntryId {
        let entry = self.entry(source, content, kind);
        self.fold(&entry)
    }

    /// An entry of a task that ended in a sealed session, an hour ago.
    fn old(&self, task: usize, source: Party, content: &str, kind: EntryKind) -> Entry {
        let mut entry = self.entry(source, content, kind);
        entry.id = EntryId::new(format!("old-{}", entry.id));
        entry.timestamp_ms -= 3_600_000;
        entry.meta.insert(TASK.to_owned(), json!(id(task)));
        entry.carried = Some(CarriedEntry {
            task_only: true,
            ..CarriedEntry::of(SessionId::new("sealed"), Seq(7))
        });
        entry
    }

    fn opened_again(&mut self, task: usize) {
        for (step, content) in [(TaskStep::Opened, "Fix the login"), (TaskStep::Closed, "")] {
            let entry = self.old(task, Party::Human, content, step.of(id(task)));
            self.fold(&entry);
        }
        self.step(task, TaskStep::Reopened, "Fix the login");
    }
}

/// The world without the tasks and without what says how long the record is.
fn beside_tasks(world: &Snapshot) -> Snapshot {
    let mut world = world.clone();
    world.tasks.clear();
    world.counts.clear();
    (world.seq, world.entries, world.last_at_ms) = (Seq(0), 0, 0);
    world
}

/// A session in which agents are at something, and whatever an old note names is there once more.
struct Busy {
    record: Record,
    handoff: EntryId,
    question: EntryId,
    blocker: EntryId,
    proposal: EntryId,
    asked: EntryId,
    finding: FindingId,
}

impl Busy {
    fn new() -> Self {
        let mut record = Record::default();
        let busy = EntryKind::AgentChanged(AgentChanged {
            agent: Agent::Claude,
            state: AgentState::Busy,
            pid: Some(7),
            thread_id: None,
            why: None,
            until_ms: None,
        });
        record.push(Party::System, "", busy);
        let handoff = record.push(CODEX, "find the leak", handoff());
        let question = Message {
            require_reply: true,
            ..Message::new(OnBusy::Queue)
        };
        let mut question = record.entry(CLAUDE, "which port?", EntryKind::Message(question));
        question.target = Some(CODEX);
        let question = record.fold(&question);
        let blocker = record.push(CLAUDE, "no disk", note(NoteKind::Blocker));
        let proposal = EntryKind::FinalityProposal(FinalityProposal {
            summary: "done".to_owned(),
            ..FinalityProposal::default()
        });
        let proposal = record.push(CLAUDE, "done", proposal);
        let asked = EntryId::new("asked");
        let (key, subject) = (String::new(), "may I?".to_owned());
        let request = ApprovalRequest::new(ApprovalKind::UserQuestion, key, subject);
        let request = ApprovalStep::Asked(Box::new(request)).of(asked.clone(), Agent::Claude);
        record.push(CLAUDE, "may I?", request);
        record.push(CLAUDE, "it is the pool", note(NoteKind::Hypothesis));
        let finding = imported(&mut record);
        Self {
            record,
            handoff,
            question,
            blocker,
            proposal,
            asked,
            finding,
        }
    }

    /// Everything that a note can refer to.
    fn naming_all(&self, kind: NoteKind, withdraws: &EntryId) -> EntryKind {
        let handles = [&self.handoff, &self.question, &self.blocker];
        EntryKind::Note {
            note: kind,
            handles: handles.map(Clone::clone).to_vec(),
            withdraws: Some(withdraws.clone()),
        }
    }
}

fn imported(record: &mut Record) -> FindingId {
    let id = FindingId::new("gh:rc:1");
    let comment = ReviewComment {
        id: id.clone(),
        part: ReviewPart::Finding,
        author: "bot".to_owned(),
        bot: true,
        body: "P1: the list may be empty".to_owned(),
        path: Some("src/a.rs".to_owned()),
        start_line: None,
        line: Some(12),
        commit: None,
        url: None,
        resolved: Some(false),
        outdated: Some(false),
    };
    let read = ImportedFinding::of(&comment, "github.com/acme/api#1", &Redactor::new());
    let read = read.unwrap();
    let kind = EntryKind::Finding(FindingRecord {
        finding: id.clone(),
        step: FindingStep::Imported,
        facts: Some(read.facts),
        suggestions: Vec::new(),
        raw: None,
    });
    record.push(Party::System, &read.text, kind);
    id
}

#[test]
fn an_old_note_of_any_kind_claims_answers_withdraws_and_tells_nothing_now() {
    for kind in KINDS {
        for by in [CLAUDE, CODEX, Party::Human] {
            let mut now = Busy::new();
            now.record.opened_again(1);
            let before = beside_tasks(&now.record.world);
            for withdraws in [&now.proposal, &now.asked] {
                let said = now.naming_all(kind, withdraws);
                let mut said = now.record.old(1, by.clone(), "words of then", said);
                let finding = now.finding.as_str();
                said.meta.insert(FINDING.to_owned(), json!(finding));
                fold(&mut now.record.world, &said);
            }
            assert_eq!(beside_tasks(&now.record.world), before, "{kind:?} {by}");
            let state = &now.record.world.findings[&now.finding].state;
            assert_eq!(*state, FindingState::Open);
        }
    }
}

#[test]
fn what_an_old_note_names_is_acted_on_by_one_of_now() {
    // Else the test above would hold for a note that names nothing.
    let mut now = Busy::new();
    for withdraws in [now.proposal.clone(), now.asked.clone()] {
        let said = now.naming_all(NoteKind::Note, &withdraws);
        let mut said = now.record.entry(CLAUDE, "words of now", said);
        let finding = now.finding.as_str();
        said.meta.insert(FINDING.to_owned(), json!(finding));
        fold(&mut now.record.world, &said);
    }
    let world = &now.record.world;
    assert!(world.open_handoffs.is_empty() && world.open_questions.is_empty());
    assert!(world.open_blockers.is_empty() && world.open_approvals.is_empty());
    assert!(world.pending_proposals.is_empty());
    assert_eq!(world.findings[&now.finding].state, FindingState::Claimed);
}

#[test]
fn old_results_and_files_are_of_the_task_and_not_of_what_agents_are_at() {
    let mut now = Busy::new();
    now.record.opened_again(1);
    let before = beside_tasks(&now.record.world);
    let files = ContinuityFact::TurnFiles(TurnFiles {
        written: vec!["src/a.rs".to_owned()],
        unfinished: vec!["cargo test".to_owned()],
        ..TurnFiles::default()
    });
    for kind in [
        claim("login", ArtifactStatus::Passed),
        files.of(Agent::Claude),
    ] {
        let old = now.record.old(1, CLAUDE, "", kind);
        fold(&mut now.record.world, &old);
    }
    assert_eq!(beside_tasks(&now.record.world), before);
    let task = now.record.task(1);
    assert_eq!(task.claims[0].title, "login");
    assert_eq!(task.files[0].path, "src/a.rs");
}

#[test]
fn a_task_that_is_opened_again_has_what_was_said_of_it() {
    let mut now = Busy::new();
    let entry = now
        .record
        .old(1, Party::Human, "Fix the login", TaskStep::Opened.of(id(1)));
    fold(&mut now.record.world, &entry);
    for (by, kind) in KINDS
        .into_iter()
        .flat_map(|kind| [(CLAUDE, kind), (CODEX, kind)])
    {
        let old = now.record.old(1, by, kind.as_str(), note(kind));
        fold(&mut now.record.world, &old);
    }
    let closed = now
        .record
        .old(1, Party::Human, "", TaskStep::Closed.of(id(1)));
    fold(&mut now.record.world, &closed);
    now.record.step(1, TaskStep::Reopened, "Fix the login");
    let task = now.record.task(1);
    assert!(task.is_open());
    let said: Vec<&str> = task.stated().map(|said| &*said.text).collect();
    for kind in [
        "goal",
        "hypothesis",
        "constraint",
        "decision",
        "assumption",
        "question",
    ] {
        assert!(said.contains(&kind), "{kind}: {said:?}");
    }
    assert!(task.handoffs.is_empty());
}

#[test]
fn a_note_that_a_rollover_carries_still_claims_the_finding_of_an_open_task() {
    let mut now = Busy::new();
    let finding = now.finding.as_str().to_owned();
    let mut fixed = now.record.entry(CLAUDE, "fixed", note(NoteKind::Note));
    fixed.meta.insert(FINDING.to_owned(), json!(finding));
    fixed.meta.insert(TASK_ONLY.to_owned(), json!(true));
    fixed.carried = Some(CarriedEntry::of(SessionId::new("sealed"), Seq(7)));
    fold(&mut now.record.world, &fixed);
    let state = &now.record.world.findings[&now.finding].state;
    assert_eq!(*state, FindingState::Claimed);
}

#[test]
fn what_no_task_is_made_of_does_not_hide_behind_one() {
    let mut now = Busy::new();
    let kind = EntryKind::Error {
        code: ErrorCode::ForeignHistory,
    };
    let old = now.record.old(1, Party::System, "somebody else's", kind);
    fold(&mut now.record.world, &old);
    assert_eq!(now.record.world.errors.len(), 1);
}

#[test]
fn files_of_a_task_that_is_not_current_are_not_what_an_agent_works_on() {
    let mut record = Record::default();
    let files = ContinuityFact::TurnFiles(TurnFiles {
        written: vec!["src/a.rs".to_owned()],
        ..TurnFiles::default()
    });
    let mut old = record.entry(CLAUDE, "", files.of(Agent::Claude));
    old.meta.insert(TASK_ONLY.to_owned(), json!(true));
    fold(&mut record.world, &old);
    assert!(record.world.continuity.is_empty());
}
