//! What counts of all that was said of an agent's work.

use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;
use crate::entry::{Compaction, CompactionTrigger, TurnFiles};

#[test]
fn a_marker_counts_more_than_a_note_of_its_turn_and_less_than_one_of_the_next() {
    let mut record = Record::default();
    record.turn().marker(NoteKind::Goal, "by marker");
    record.note(claude(), NoteKind::Goal, "by note");
    assert_eq!(record.objective(), "by marker [marker]");
    record.turn().note(claude(), NoteKind::Goal, "by note");
    assert_eq!(record.objective(), "by note [note]");
}

#[test]
fn what_the_operator_pins_stays_until_the_operator_says_otherwise() {
    let mut record = Record::default();
    let pinned = json!({PINNED: true});
    record.put_with(Party::Human, "mine", note(NoteKind::Goal), pinned);
    record.turn().marker(NoteKind::Goal, "another");
    assert_eq!(record.objective(), "mine [you]");
    record.note(Party::Human, NoteKind::Goal, "mine, anew");
    assert_eq!(record.objective(), "mine, anew [you]");
}

/// An agent that rests is still in the turn of its last marker.
#[test]
fn the_operators_word_counts_at_once_and_a_pin_holds_from_there() {
    let mut record = Record::default();
    record.turn().marker(NoteKind::Goal, "by marker");
    record.marker(NoteKind::NextStep, "its step");
    record.note(Party::Human, NoteKind::Goal, "mine");
    assert_eq!(record.objective(), "mine [you]");
    record.note(Party::Human, NoteKind::NextStep, "my step");
    let steps = record.state().next_steps.iter();
    let steps: Vec<&str> = steps.map(|step| step.text.as_str()).collect();
    assert_eq!(steps, ["my step"]);
    record.marker(NoteKind::Goal, "by marker, again");
    assert_eq!(record.objective(), "by marker, again [marker]");
    let pinned = json!({PINNED: true});
    record.put_with(Party::Human, "held", note(NoteKind::Goal), pinned);
    record.marker(NoteKind::Goal, "not this one");
    assert_eq!(record.objective(), "held [you]");
}

#[test]
fn what_the_operator_said_stays_the_operators_whoever_repeats_it_and_however_long_the_list() {
    let mut record = Record::default();
    record.turn();
    record.note(Party::Human, NoteKind::Constraint, "No new crates");
    record.note(claude(), NoteKind::Constraint, "No new crates");
    for at in 0..30 {
        record.note(claude(), NoteKind::Constraint, &at.to_string());
    }
    let auto = json!({STATE_TAG: "auto"});
    record.put_with(claude(), "29", note(NoteKind::Constraint), auto);
    let said = record.state().constraints.iter();
    let said: Vec<(&str, &str)> = said
        .map(|said| (said.text.as_str(), said.tag.as_str()))
        .collect();
    assert_eq!(said[0], ("No new crates", "you"));
    assert_eq!(said.last(), Some(&("29", "note")));
    assert_eq!(said.len(), 20);
    for at in 0..25 {
        record.note(Party::Human, NoteKind::Constraint, &format!("mine {at}"));
    }
    record.note(claude(), NoteKind::Constraint, "one more");
    let said = record.state().constraints.iter();
    let said: Vec<&str> = said.map(|said| said.text.as_str()).collect();
    assert_eq!((said[0], said[19], said.len()), ("mine 5", "mine 24", 20));
}

#[test]
fn a_dialog_and_a_silence_are_no_turn() {
    let mut record = Record::default();
    record.turn().marker(NoteKind::NextStep, "a");
    for between in [AgentState::Waiting, AgentState::Stale, AgentState::Waiting] {
        record.claude_is(between).claude_is(AgentState::Busy);
    }
    record.marker(NoteKind::NextStep, "b");
    assert_eq!(record.state().turns, 1);
    assert_eq!(record.state().next_steps.len(), 2);
    record.turn();
    assert_eq!(record.state().turns, 2);
}

#[test]
fn an_agent_cannot_pin() {
    let mut record = Record::default();
    let pinned = json!({PINNED: true});
    record.put_with(claude(), "first", note(NoteKind::Goal), pinned);
    record.turn().marker(NoteKind::Goal, "second");
    assert_eq!(record.objective(), "second [marker]");
}

#[test]
fn the_next_steps_are_those_of_the_last_turn_that_named_any_and_done_clears_them() {
    let mut record = Record::default();
    record.turn().marker(NoteKind::NextStep, "a");
    record.marker(NoteKind::NextStep, "b");
    record.turn().marker(NoteKind::NextStep, "c");
    record.marker(NoteKind::NextStep, "d");
    let steps = |record: &Record| -> Vec<String> {
        let steps = record.state().next_steps.iter();
        steps.map(|step| step.text.clone()).collect()
    };
    assert_eq!(steps(&record), ["c", "d"]);
    record.marker(NoteKind::Done, "all of it");
    assert!(steps(&record).is_empty());
}

#[test]
fn turns_without_a_word_are_counted_and_files_are_the_latest() {
    let mut record = Record::default();
    record
        .turn()
        .note(claude(), NoteKind::Goal, "x")
        .turn()
        .turn();
    for at in 0..12 {
        let files = TurnFiles {
            written: vec![format!("src/{at}.rs"), "src/same.rs".to_owned()],
            ..TurnFiles::default()
        };
        record.fact(claude(), ContinuityFact::TurnFiles(files));
    }
    let state = record.state();
    assert_eq!((state.turns, state.turns_since_written), (3, 2));
    let paths: Vec<&str> = state.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths.len(), WORKING_SET_MAX);
    assert_eq!(paths[8..], ["src/11.rs", "src/same.rs"]);
}

#[test]
fn nobody_speaks_of_another_agents_context() {
    let mut record = Record::default();
    let compaction = ContinuityFact::Compacted(Compaction {
        trigger: CompactionTrigger::Auto,
        tokens_before: None,
        tokens_after: None,
    });
    let files = ContinuityFact::TurnFiles(TurnFiles::default());
    let forgotten = ContinuityFact::Forgotten { what: None };
    record.note(claude(), NoteKind::Goal, "x");
    let before = record.state().clone();
    record.fact(Party::Agent(Agent::Codex), compaction);
    record.fact(Party::Human, files);
    record.fact(claude(), forgotten);
    assert_eq!(record.state(), &before);
}

proptest! {
    #[test]
    fn what_is_said_later_in_a_turn_never_lowers_the_rank_and_a_pin_holds(
        said in prop::collection::vec((0..5_usize, any::<bool>()), 1..30)
    ) {
        let mut record = Record::default();
        record.turn();
        // What holds: its rank, its turn, and whether the operator pinned it.
        let (mut holds, mut turn) = (None::<(u8, usize, bool)>, 0);
        for (at, (how, next)) in said.into_iter().enumerate() {
            if next {
                record.turn();
                turn += 1;
            }
            let text = at.to_string();
            let (tag, rank) = [("auto", 0), ("note", 1), ("marker", 2), ("you", 1), ("you", 1)][how];
            let (is_operators, is_pinned) = (how >= 3, how == 4);
            let (by, meta) = match is_operators {
                true => (Party::Human, json!({PINNED: is_pinned})),
                false => (claude(), json!({STATE_TAG: tag, PINNED: true})),
            };
            record.put_with(by, &text, note(NoteKind::Goal), meta);
            let wins = match holds {
                None => true,
                Some(_) if is_operators => true,
                Some((_, _, true)) => false,
                Some((0, _, _)) if rank == 0 => true,
                Some((_, of, _)) if rank == 0 => turn >= of + 5,
                Some((old, of, _)) => turn > of || rank >= old,
            };
            if wins {
                holds = Some((rank, turn, is_pinned));
                prop_assert_eq!(record.objective(), format!("{text} [{tag}]"));
            } else {
                prop_assert_ne!(&record.state().objective.as_ref().unwrap().text, &text);
            }
        }
    }
}
