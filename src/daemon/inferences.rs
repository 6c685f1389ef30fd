//! [`Inferences`]: what the agents said since they last marked something of their work, and the
//! model that reads it. One at a time: it costs.

use std::collections::{BTreeMap, VecDeque};

use tokio::sync::oneshot;

use crate::core::agent::Agent;
use crate::core::continuity::INFERENCE_WORDS_MAX;
use crate::core::id::RuntimeSession;

/// How many runtime sessions are followed, of both agents together.
const FOLLOWED_MAX: usize = 64;

/// Words in memory only, and what stops the model that reads some of them.
#[derive(Debug, Default)]
pub(super) struct Inferences {
    words: BTreeMap<(Agent, RuntimeSession), LatestWords>,
    /// Dropped, it stops it as well.
    stop: Option<oneshot::Sender<()>>,
}

/// The latest of what an agent said.
#[derive(Debug, Default)]
struct LatestWords {
    texts: VecDeque<String>,
    chars: usize,
}

impl Inferences {
    /// An agent said this.
    pub(super) fn said(&mut self, agent: Agent, pair: &RuntimeSession, texts: &[String]) {
        let key = (agent, pair.clone());
        if self.words.len() < FOLLOWED_MAX || self.words.contains_key(&key) {
            let words = self.words.entry(key).or_default();
            texts.iter().for_each(|text| words.push(text));
        }
    }

    /// It has marked something: what it said before is of no use.
    pub(super) fn forget(&mut self, agent: Agent, pair: &RuntimeSession) {
        self.words.remove(&(agent, pair.clone()));
    }

    /// Nobody is to be asked any more.
    pub(super) fn end(&mut self) {
        *self = Self::default();
    }

    /// What is to be read now, and what stops it; nothing while another one is read.
    pub(super) fn begin(
        &mut self,
        agent: Agent,
        pair: &RuntimeSession,
    ) -> Option<(Vec<String>, oneshot::Receiver<()>)> {
        if self.stop.is_some() {
            return None;
        }
        let words = self.words.get(&(agent, pair.clone()))?;
        let (stop, stopped) = oneshot::channel();
        self.stop = Some(stop);
        Some((words.texts.iter().cloned().collect(), stopped))
    }

    /// It was read.
    pub(super) fn ended(&mut self) {
        self.stop = None;
    }
}

impl LatestWords {
    fn push(&mut self, text: &str) {
        let text = text.trim();
        let length = text.chars().count();
        let left_out = length.saturating_sub(INFERENCE_WORDS_MAX);
        if length == 0 {
            return;
        }
        self.texts.push_back(text.chars().skip(left_out).collect());
        self.chars += length - left_out;
        while self.chars > INFERENCE_WORDS_MAX
            && let Some(oldest) = self.texts.pop_front()
        {
            self.chars -= oldest.chars().count();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_words_are_kept_until_something_is_marked_and_one_question_is_open() {
        let (mut inferences, pair) = (Inferences::default(), RuntimeSession::default());
        assert!(
            inferences.begin(Agent::Codex, &pair).is_none(),
            "it said nothing"
        );
        let long = "x".repeat(INFERENCE_WORDS_MAX - 2);
        let texts = ["older", " ", &long, "ab"].map(str::to_owned);
        inferences.said(Agent::Codex, &pair, &texts);
        let (words, stopped) = inferences.begin(Agent::Codex, &pair).unzip();
        assert_eq!(words, Some(vec![long, "ab".to_owned()]));
        assert!(
            inferences.begin(Agent::Codex, &pair).is_none(),
            "one is open"
        );
        inferences.ended();
        drop(stopped);
        inferences.forget(Agent::Codex, &pair);
        assert!(inferences.begin(Agent::Codex, &pair).is_none());
    }
}
