//! What was said for a task, once another one is current or none.

use pretty_assertions::assert_eq;

use super::*;
use crate::entry::{TASK, TASK_ONLY, TaskStep};
use crate::id::CapsuleId;

fn id(number: u64) -> CapsuleId {
    CapsuleId::new(format!("cap_{number:012x}"))
}

impl Record {
    /// The operator takes a step with a task.
    fn step(&mut self, task: u64, step: TaskStep, title: &str) -> &mut Self {
        self.put(Party::Human, title, step.of(id(task)))
    }

    /// The operator makes a task the current one.
    fn begin(&mut self, task: u64, title: &str) -> &mut Self {
        self.step(task, TaskStep::Opened, title)
            .step(task, TaskStep::Used, title)
    }

    /// Somebody notes something while a task is current.
    fn note_at(&mut self, task: u64, by: Party, kind: NoteKind, text: &str) -> &mut Self {
        self.put_with(by, text, note(kind), json!({TASK: id(task)}))
    }

    /// The sections of Claude's packet that hold what was said of its work.
    fn told(&self) -> Vec<String> {
        let packet = self.packet(PACKET_CHARS_MAX).unwrap().text;
        let (_, sections) = packet.split_once("\n## ").unwrap();
        let (sections, _) = sections.split_once("\n## Before you go on").unwrap();
        let sections = sections.split("\n## ");
        sections
            .map(|section| section.trim_end().replace('\n', " "))
            .collect()
    }
}

/// Task 1, current, with all that the operator says of it, and what an agent says.
fn record() -> Record {
    let mut record = Record::default();
    record.begin(1, "Sort the plums");
    for (kind, text) in [
        (NoteKind::Goal, "all are sorted"),
        (NoteKind::Constraint, "no new scales"),
        (NoteKind::NextStep, "weigh them"),
    ] {
        record.note_at(1, Party::Human, kind, text);
    }
    record.note_at(1, claude(), NoteKind::Decision, "by weight");
    record
}

const FIRST: [&str; 5] = [
    "Task - cap_000000000001: Sort the plums [you #1]",
    "Objective - all are sorted [you #3]",
    "Constraints - no new scales [you #4]",
    "Decisions - by weight [note #6]",
    "Next steps - weigh them [you #5]",
];

#[test]
fn of_a_task_that_is_closed_an_agent_is_told_what_was_decided_alone() {
    let mut record = record();
    assert_eq!(record.told(), FIRST);
    record.step(1, TaskStep::Closed, "done");
    assert_eq!(record.told(), ["Decisions - by weight [note #6]"]);
    record.begin(2, "Sort the pears");
    let task = "Task - cap_000000000002: Sort the pears [you #8]";
    assert_eq!(record.told(), [task, "Decisions - by weight [note #6]"]);
    // What it says of the next one needs no turn that is later.
    record.note_at(2, claude(), NoteKind::Goal, "all pears are sorted");
    let objective = "Objective - all pears are sorted [note #10]";
    assert_eq!(record.told()[..2], [task, objective]);
}

#[test]
fn what_was_said_for_a_task_is_told_again_when_it_is_current_again() {
    let mut record = record();
    record.begin(2, "Sort the pears");
    for kind in [NoteKind::Constraint, NoteKind::NextStep, NoteKind::Done] {
        record.note_at(2, claude(), kind, "no new scales");
    }
    record.step(1, TaskStep::Used, "Sort the plums");
    let done = "Done, do not redo - no new scales [note #11]";
    let told = |goal: &str| {
        let mut told = FIRST.map(str::to_owned).to_vec();
        told[1] = goal.to_owned();
        told.insert(4, done.to_owned());
        told
    };
    assert_eq!(record.told(), told(FIRST[1]));
    // Where the other one's goal took its place, the task itself tells it.
    record.step(2, TaskStep::Used, "Sort the pears");
    record.note_at(2, claude(), NoteKind::Goal, "all pears are sorted");
    record.step(1, TaskStep::Used, "Sort the plums");
    assert_eq!(record.told(), told(FIRST[1]));
}

#[test]
fn a_goal_that_was_said_ahead_of_its_task_is_told_and_one_that_is_forgotten_is_not() {
    let mut record = Record::default();
    record.note(Party::Human, NoteKind::Goal, "the shop opens");
    record.step(1, TaskStep::Opened, "Sort the plums");
    let meta = json!({TASK: id(1), TASK_ONLY: true});
    record.put_with(Party::Human, "all are sorted", note(NoteKind::Goal), meta);
    assert_eq!(record.told(), ["Objective - the shop opens [you #1]"]);
    record.step(1, TaskStep::Used, "Sort the plums");
    let task = "Task - cap_000000000001: Sort the plums [you #2]";
    assert_eq!(record.told(), [task, "Objective - all are sorted [you #3]"]);
    record.note_at(1, Party::Human, NoteKind::Goal, "throw them away");
    assert_eq!(
        record.told(),
        [task, "Objective - throw them away [you #5]"]
    );
    for agent in Agent::ALL {
        let what = Some("n5".to_owned());
        let forgotten = ContinuityFact::Forgotten { what };
        record.put(Party::Human, "", forgotten.of(agent));
    }
    assert_eq!(record.told(), [task]);
}

#[test]
fn what_the_operator_pins_or_says_for_no_task_outlasts_every_task() {
    let mut record = Record::default();
    record.note(Party::Human, NoteKind::Constraint, "no new scales");
    record.begin(1, "Sort the plums");
    let pinned = json!({TASK: id(1), PINNED: true});
    record.put_with(Party::Human, "the shop opens", note(NoteKind::Goal), pinned);
    record.note_at(1, Party::Human, NoteKind::Constraint, "no new scales");
    record.step(1, TaskStep::Closed, "done");
    record.begin(2, "Sort the pears");
    record.note_at(2, claude(), NoteKind::Goal, "all pears are sorted");
    let task = "Task - cap_000000000002: Sort the pears [you #7]";
    let (objective, constraint) = (
        "Objective - the shop opens [you #4]",
        "Constraints - no new scales [you #1]",
    );
    assert_eq!(record.told(), [task, objective, constraint]);
}

#[test]
fn what_is_left_of_other_tasks_takes_no_room_of_the_current_one() {
    let mut record = Record::default();
    record.begin(1, "Sort the plums");
    for number in 0..LISTED_MAX {
        let text = format!("rule {number}");
        record.note_at(1, Party::Human, NoteKind::Constraint, &text);
    }
    record.step(1, TaskStep::Closed, "done");
    record.note(claude(), NoteKind::Constraint, "no new scales");
    let said = record.world.seq;
    let told = format!("Constraints - no new scales [note #{said}]", said = said.0);
    assert_eq!(record.told(), [told]);
}

#[test]
fn codex_is_told_the_current_task_of_every_pair() {
    let mut record = record();
    let opened = TaskStep::Opened.of(id(2));
    record.put_in("two", Party::Human, "Sort the pears", opened);
    let used = TaskStep::Used.of(id(2));
    record.put_in("two", Party::Human, "Sort the pears", used);
    let told = |agent| {
        let packet = record.packet_of(agent, None, PACKET_CHARS_MAX);
        let text = packet.unwrap().text;
        ["Sort the plums", "Sort the pears"].map(|title| text.contains(title))
    };
    assert_eq!(told(Agent::Claude), [true, false]);
    assert_eq!(told(Agent::Codex), [true, true]);
}
