//! What a model takes from an agent's words, between the turns of that agent.

use pretty_assertions::assert_eq;

use super::*;
use crate::entry::{Inference, InferredValue};

impl Record {
    fn turns(&mut self, n: usize) -> &mut Self {
        for _ in 0..n {
            self.turn();
        }
        self
    }

    fn inferred(&mut self, by: Party, kind: NoteKind, text: &str) -> &mut Self {
        let values = vec![InferredValue {
            kind,
            text: text.to_owned(),
        }];
        self.fact(
            by,
            ContinuityFact::Inferred(Inference {
                model: "haiku".to_owned(),
                values,
                cost_micro_usd: Some(1_600),
                failure: None,
            }),
        )
    }

    /// What was taken is recorded, as nobody's word.
    fn apply(&mut self, kind: NoteKind, text: &str) -> &mut Self {
        let mut entry = self.entry(Party::System, text, note(kind));
        entry.target = Some(claude());
        entry.meta = serde_json::from_value(json!({STATE_TAG: "auto"})).unwrap();
        fold(&mut self.world, &entry);
        self
    }

    fn pending(&self) -> Option<&str> {
        let inferred = self.state().inferred.as_ref()?;
        Some(&inferred.values[0].text)
    }
}

#[test]
fn a_model_is_asked_after_so_many_turns_without_a_word_and_not_again_before_as_many() {
    let mut record = Record::default();
    let due = |record: &Record| record.state().is_inference_due(5);
    record.note(claude(), NoteKind::Goal, "sort").turns(4);
    assert!(!due(&record));
    record.turn();
    assert!(due(&record));
    record.inferred(Party::System, NoteKind::Plan, "by weight");
    assert!(!due(&record), "it waits to be recorded");
    record.turn().apply(NoteKind::Plan, "by weight");
    assert!(!due(&record));
    record.turns(4);
    assert!(due(&record), "nobody said more, also where it was recorded");
    record.note(claude(), NoteKind::Done, "done");
    assert!(!due(&record));
}

#[test]
fn what_was_taken_goes_with_the_agents_own_word_or_after_three_turns() {
    let mut record = Record::default();
    record
        .turns(5)
        .inferred(Party::System, NoteKind::Goal, "sort");
    record.turns(3);
    assert_eq!(record.pending(), Some("sort"));
    record.turn();
    assert_eq!(record.pending(), None);
    record.inferred(Party::System, NoteKind::Goal, "sort");
    record.note(Party::Human, NoteKind::Constraint, "gently");
    assert_eq!(
        record.pending(),
        Some("sort"),
        "the operator said something else"
    );
    record.marker(NoteKind::Question, "which?");
    assert_eq!(record.pending(), None);
}

#[test]
fn recorded_it_counts_least_and_makes_no_agent_one_that_writes() {
    let mut record = Record::default();
    record
        .note(claude(), NoteKind::Goal, "sort the plums")
        .turns(4);
    record.apply(NoteKind::Goal, "sort the pears");
    assert_eq!(record.objective(), "sort the plums [note]");
    record.turn().apply(NoteKind::Goal, "sort the pears");
    assert_eq!(record.objective(), "sort the pears [auto]");
    assert_eq!(record.state().turns_since_written, 5);
    let other = record
        .world
        .state_of(Agent::Codex, &RuntimeSession::default());
    assert_eq!(other.and_then(|state| state.objective.as_ref()), None);
    record.note(claude(), NoteKind::Goal, "wash the plums");
    assert_eq!(record.objective(), "wash the plums [note]");
}

#[test]
fn only_we_say_what_a_model_took_and_a_day_counts_how_often() {
    let mut record = Record::default();
    record.inferred(claude(), NoteKind::Goal, "sort");
    record.inferred(Party::Human, NoteKind::Goal, "sort");
    assert_eq!(record.world.inferences_on(0), 0);
    record.inferred(Party::System, NoteKind::Goal, "sort");
    record.fact(
        Party::System,
        ContinuityFact::Inferred(Inference {
            model: "haiku".to_owned(),
            values: Vec::new(),
            cost_micro_usd: None,
            failure: Some("it said nothing for 30 s".to_owned()),
        }),
    );
    assert_eq!(record.pending(), None);
    let forgotten = ContinuityFact::Forgotten { what: None };
    record.fact(Party::Human, forgotten);
    assert_eq!(
        record.world.inferences_on(0),
        2,
        "also after it was forgotten"
    );
    assert_eq!(record.world.inferences_on(1), 0);
}
