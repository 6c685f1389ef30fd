//! An agent has marked nothing of its work for a long time: a model reads what it said, if the
//! operator trusts that. What the model infers is recorded, attributed to nobody, when the agent's
//! next turn ends without a marker.

use std::path::Path;

use serde_json::json;

use crate::adapters::claude::inference::{InferenceOrder, PATIENCE, infer};
use crate::core::agent::{Agent, Party};
use crate::core::continuity::{
    ContextMarker, INFERENCE_WORDS_MAX, STATE_TAG, StateTag, day_of, inference_prompt,
    inferred_values,
};
use crate::core::entry::{ContinuityFact, Entry, Inference, InferredValue};
use crate::core::id::RuntimeSession;
use crate::core::redact::Redactor;
use crate::daemon::agents::inferences::{Heard, Question};
use crate::daemon::base::under_way::WorkBeside;
use crate::daemon::event::{Event, WordsRead};
use crate::daemon::owners::{Agents, Base};
use crate::daemon::supervise::supervise;

/// A longer text is read by no model, in bytes: all of it has to be masked on the loop.
const SAID_BYTES_MAX: usize = 64 * 1024;

impl Agents {
    /// An agent said this in a turn, which is over or goes on: what it marked is recorded.
    pub(in crate::daemon) fn hear(
        &mut self,
        base: &mut Base,
        agent: Agent,
        pair: &RuntimeSession,
        said: &[String],
        markers: Vec<ContextMarker>,
        is_over: bool,
    ) {
        if base.configuration.extract().is_some() {
            let heard = Heard {
                agent,
                pair: pair.clone(),
                said: latest_masked(said, base.recorder.redactor()),
                ended_unmarked: is_over && markers.is_empty(),
            };
            self.inferences.hear(base.recorder.asked(), heard);
            self.take_heard(base);
        }
        base.note_markers(agent, pair, markers);
    }

    /// Goes on with what was heard, as far as the record has what came before.
    pub(in crate::daemon) fn take_heard(&mut self, base: &mut Base) {
        while let Some(heard) = self
            .inferences
            .next_heard(|asked| base.recorder.has_answered(asked))
        {
            let (agent, pair) = (heard.agent, &heard.pair);
            let state = base.recorder.world().state_of(agent, pair);
            let turn = state.map_or(0, |state| state.turns);
            for text in &heard.said {
                self.inferences.said(agent, pair, turn, text);
            }
            if heard.ended_unmarked {
                self.ended_without_a_mark(base, agent, pair);
            }
        }
    }

    /// What was taken after an earlier turn is recorded, or a model is asked.
    fn ended_without_a_mark(&mut self, base: &mut Base, agent: Agent, pair: &RuntimeSession) {
        let Some(keys) = base.configuration.extract() else {
            return;
        };
        let (every_turns, per_day) = (keys.every_turns.get(), keys.per_day.get());
        let world = base.recorder.world();
        let Some(state) = world.state_of(agent, pair) else {
            return;
        };
        if let Some(inferred) = &state.inferred {
            if state.turns > inferred.turn {
                let values = inferred.values.clone();
                base.append_inferred(agent, pair, values);
            }
        } else if state.is_inference_due(every_turns) {
            let day = day_of(base.clock.outside_ms());
            let question = Question {
                agent,
                pair: pair.clone(),
                turns: state.turns,
                unwritten: state.turns_since_written,
                every_turns,
                day,
                recorded: world.inferences_on(day),
                per_day,
            };
            self.ask_model(base, &question);
        }
    }

    fn ask_model(&mut self, base: &Base, question: &Question) {
        let (Some(keys), Some(user)) = (base.configuration.extract(), base.configuration.user())
        else {
            return;
        };
        let (model, max_usd) = (keys.model.clone(), f64::from(keys.max_usd));
        let folder = user.inference(&base.dirs.instance_id());
        // Without the program nobody is asked; `ctxrelay doctor` says so.
        let (Some(program), Some(events)) = (
            base.programs.of_agent(Agent::Claude).map(Path::to_owned),
            base.events.upgrade(),
        ) else {
            return;
        };
        let Some((words, stop)) = self.inferences.begin(question) else {
            return;
        };
        let (agent, pair) = (question.agent, question.pair.clone());
        let order = InferenceOrder {
            program,
            hold_program: base.identity.own_program().to_owned(),
            folder,
            model: model.clone(),
            max_usd,
            prompt: inference_prompt(agent, &words),
            patience: PATIENCE,
        };
        let failed = Event::WorkFailed {
            what: WorkBeside::Inference {
                agent,
                pair: pair.clone(),
                model: model.clone(),
            },
            under_way: None,
        };
        let ask = async move {
            tracing::debug!("a model is asked");
            if let Some(answer) = infer(order, stop).await {
                let read = WordsRead {
                    agent,
                    pair,
                    model,
                    answer,
                };
                let _ = events.send(Event::WordsRead(read)).await;
            }
        };
        supervise(base.events.clone(), failed, ask);
    }

    /// A model has read what an agent said, or could not.
    pub(in crate::daemon) fn on_words_read(&mut self, base: &mut Base, read: WordsRead) {
        let WordsRead {
            agent,
            pair,
            model,
            answer,
        } = read;
        self.inferences.ended();
        if answer.text.is_ok() {
            let (pair, model) = (pair.clone(), model.clone());
            base.work_done(&WorkBeside::Inference { agent, pair, model });
        }
        let (mut values, failure) = match answer.text {
            Ok(text) => (inferred_values(&text), None),
            Err(why) => (Vec::new(), Some(why)),
        };
        let state = base.recorder.world().state_of(agent, &pair);
        // By now it may have said it itself, or the operator wants none any more.
        let is_off = base.configuration.extract().is_none();
        if is_off || state.is_none_or(|state| state.turns_since_written == 0) {
            values.clear();
        }
        let lines = values
            .iter()
            .map(|value| format!("{}: {}", value.kind.as_str().replace('_', " "), value.text));
        let content = match &failure {
            Some(why) => why.clone(),
            None => lines.collect::<Vec<_>>().join("\n"),
        };
        let fact = ContinuityFact::Inferred(Inference {
            model,
            values,
            cost_micro_usd: answer.cost_micro_usd,
            failure,
        });
        let entry = base
            .recorder
            .entry(Party::System, None, fact.of(agent), content, Some(pair));
        base.recorder.keep_entry(entry);
    }
}

impl Base {
    fn append_inferred(&mut self, agent: Agent, pair: &RuntimeSession, values: Vec<InferredValue>) {
        let notes = values.into_iter().map(|value| {
            let (us, to) = (Party::System, Some(agent.into()));
            let mut note = self
                .recorder
                .entry(us, to, value.kind, value.text, Some(pair.clone()));
            let tag = StateTag::Auto.as_str();
            note.meta.insert(STATE_TAG.to_owned(), json!(tag));
            note
        });
        let notes: Vec<Entry> = notes.collect();
        self.recorder.append(
            notes,
            Box::new(|_, result| {
                // It stays what it was, and is tried again when the next turn ends.
                if let Err(refusal) = result {
                    tracing::warn!(code = %refusal.code, "inferred notes could not be recorded");
                }
            }),
        );
    }
}

/// The latest of what was said, masked: of what would not be kept nothing is.
fn latest_masked(said: &[String], redactor: &Redactor) -> Vec<String> {
    let mut chars = 0;
    let latest_first = said.iter().rev();
    let latest_first = latest_first.filter(|text| text.len() <= SAID_BYTES_MAX);
    let masked = latest_first.map_while(|text| {
        if chars >= INFERENCE_WORDS_MAX {
            return None;
        }
        let (text, _) = redactor.redact_text(text);
        chars += text.trim().chars().count();
        Some(text.into_owned())
    });
    let mut masked: Vec<String> = masked.collect();
    masked.reverse();
    masked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_words_no_more_are_masked_than_a_model_is_given() {
        let text = |number: usize| format!("{number}{}", "x".repeat(INFERENCE_WORDS_MAX / 3));
        let mut said: Vec<String> = (0..9).map(text).collect();
        said.insert(8, "y".repeat(SAID_BYTES_MAX + 1));
        let masked = latest_masked(&said, &Redactor::new());
        assert_eq!(masked, [text(6), text(7), text(8)]);
        assert_eq!(latest_masked(&said[..2], &Redactor::new()), said[..2]);
    }
}
