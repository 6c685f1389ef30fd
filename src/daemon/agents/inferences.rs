//! [`Inferences`]: what the agents said since they last marked something of their work, and the
//! model that reads it. One question at a time, because each costs.

use std::collections::{BTreeMap, VecDeque};

use tokio::sync::oneshot;

use crate::core::agent::Agent;
use crate::core::continuity::INFERENCE_WORDS_MAX;
use crate::core::id::RuntimeSession;
use crate::daemon::base::recorder::AskedUntil;

/// How many runtime sessions are followed, of both agents together.
const FOLLOWED_MAX: usize = 64;

/// How many tellings wait for the disk; of more the earliest is forgotten, as no model's question
/// is worth the memory.
const HEARD_MAX: usize = 64;

/// Words in memory only, and what stops the model that reads some of them.
#[derive(Debug, Default)]
pub(in crate::daemon) struct Inferences {
    words: BTreeMap<(Agent, RuntimeSession), LatestWords>,
    /// What was heard while the record did not have all yet that came before.
    heard: VecDeque<(AskedUntil, Heard)>,
    /// The day of the last question, and how many were asked on it: the record may take none.
    asked: (i64, u64),
    /// Dropped, it stops it as well.
    stop: Option<oneshot::Sender<()>>,
}

/// What an agent said, masked, and whether a turn ended with it that marked nothing.
#[derive(Debug)]
pub(in crate::daemon) struct Heard {
    pub(in crate::daemon) agent: Agent,
    pub(in crate::daemon) pair: RuntimeSession,
    pub(in crate::daemon) said: Vec<String>,
    pub(in crate::daemon) ended_unmarked: bool,
}

/// Whose words are to be read, and what is known of that.
#[derive(Debug, Clone)]
pub(in crate::daemon) struct Question {
    pub(in crate::daemon) agent: Agent,
    pub(in crate::daemon) pair: RuntimeSession,
    /// Turns that the agent began, and of these since it marked or noted something.
    pub(in crate::daemon) turns: u64,
    pub(in crate::daemon) unwritten: u64,
    /// So many turns lie between two questions.
    pub(in crate::daemon) every_turns: u64,
    /// The day, UTC, counted from the epoch; the questions of it that stand in the record, and how
    /// many there may be.
    pub(in crate::daemon) day: i64,
    pub(in crate::daemon) recorded: u64,
    pub(in crate::daemon) per_day: u64,
}

/// The latest of what an agent said, each with its turn.
#[derive(Debug, Default)]
struct LatestWords {
    texts: VecDeque<(u64, String)>,
    chars: usize,
    /// The turn of the last question.
    asked: Option<u64>,
}

impl Inferences {
    /// Keeps what was heard until the record has what came before it: the beginning of the turn,
    /// which counts, may still be on its way to the disk when the turn ends.
    pub(in crate::daemon) fn hear(&mut self, asked: AskedUntil, heard: Heard) {
        if self.heard.len() == HEARD_MAX {
            self.heard.pop_front();
        }
        self.heard.push_back((asked, heard));
    }

    /// The next of it, once the record has what came before.
    pub(in crate::daemon) fn next_heard(
        &mut self,
        is_recorded: impl Fn(AskedUntil) -> bool,
    ) -> Option<Heard> {
        let (asked, _) = self.heard.front()?;
        is_recorded(*asked)
            .then(|| self.heard.pop_front())
            .flatten()
            .map(|(_, heard)| heard)
    }

    /// An agent said this in a turn of its own; masked already: what is cut here may have no
    /// beginning any more by which a secret is known.
    pub(in crate::daemon) fn said(
        &mut self,
        agent: Agent,
        pair: &RuntimeSession,
        turn: u64,
        text: &str,
    ) {
        let key = (agent, pair.clone());
        if self.words.len() < FOLLOWED_MAX || self.words.contains_key(&key) {
            self.words.entry(key).or_default().push(turn, text);
        }
    }

    /// It begins another conversation: what it said before is of no use.
    pub(in crate::daemon) fn forget(&mut self, agent: Agent, pair: &RuntimeSession) {
        self.heard
            .retain(|(_, heard)| heard.agent != agent || heard.pair != *pair);
        if let Some(words) = self.words.get_mut(&(agent, pair.clone())) {
            words.texts.clear();
            words.chars = 0;
        }
    }

    /// Nobody is to be asked any more.
    pub(in crate::daemon) fn end(&mut self) {
        self.session_began();
    }

    /// Another session begins, which counts turns from 0. Of what was said in the one before nothing
    /// is read any more: that one may have been deleted for it.
    pub(in crate::daemon) fn session_began(&mut self) {
        self.words.clear();
        self.heard.clear();
        self.stop = None;
    }

    /// What is to be read now, and what stops it; nothing while another one is read, and where it
    /// was asked lately or too often.
    pub(in crate::daemon) fn begin(
        &mut self,
        question: &Question,
    ) -> Option<(Vec<String>, oneshot::Receiver<()>)> {
        let own = (self.asked.0 == question.day).then_some(self.asked.1);
        let times = own.unwrap_or_default().max(question.recorded);
        let words = (self.words).get_mut(&(question.agent, question.pair.clone()))?;
        // More turns than it has begun are those of another count.
        let since = |asked| question.turns.checked_sub(asked);
        let since = words.asked.and_then(since);
        let is_late = since.is_none_or(|since| since >= question.every_turns);
        let from = question.turns.saturating_sub(question.unwritten);
        // Words can come before the record has their turn's beginning: those of a first turn are
        // of none then. As long as nothing was written nothing of them is.
        let texts = words.texts.iter();
        let texts = texts.filter(|(turn, _)| from == 0 || *turn > from);
        let texts: Vec<String> = texts.map(|(_, text)| text.clone()).collect();
        if self.stop.is_some() || !is_late || times >= question.per_day || texts.is_empty() {
            return None;
        }
        words.asked = Some(question.turns);
        self.asked = (question.day, times + 1);
        let (stop, stopped) = oneshot::channel();
        self.stop = Some(stop);
        Some((texts, stopped))
    }

    /// It was read.
    pub(in crate::daemon) fn ended(&mut self) {
        self.stop = None;
    }
}

impl LatestWords {
    fn push(&mut self, turn: u64, text: &str) {
        let text = text.trim();
        let length = text.chars().count();
        let left_out = length.saturating_sub(INFERENCE_WORDS_MAX);
        if length == 0 {
            return;
        }
        let kept = text.chars().skip(left_out).collect();
        self.texts.push_back((turn, kept));
        self.chars += length - left_out;
        while self.chars > INFERENCE_WORDS_MAX
            && let Some((_, oldest)) = self.texts.pop_front()
        {
            self.chars -= oldest.chars().count();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(turns: u64, unwritten: u64) -> Question {
        Question {
            agent: Agent::Codex,
            pair: RuntimeSession::default(),
            turns,
            unwritten,
            every_turns: 5,
            day: 20_000,
            recorded: 0,
            per_day: 2,
        }
    }

    #[test]
    fn the_latest_words_since_it_wrote_something_are_read_and_one_question_is_open() {
        let (mut inferences, pair) = (Inferences::default(), RuntimeSession::default());
        assert!(
            inferences.begin(&question(5, 5)).is_none(),
            "it said nothing"
        );
        let long = "x".repeat(INFERENCE_WORDS_MAX - 2);
        for (turn, text) in [(1, "older"), (2, " "), (2, &long), (3, "ab")] {
            inferences.said(Agent::Codex, &pair, turn, text);
        }
        let (words, stopped) = inferences.begin(&question(5, 5)).unzip();
        assert_eq!(words, Some(vec![long, "ab".to_owned()]));
        assert!(inferences.begin(&question(10, 10)).is_none(), "one is open");
        inferences.ended();
        drop(stopped);
        let (words, _) = inferences.begin(&question(12, 10)).unzip();
        assert_eq!(
            words,
            Some(vec!["ab".to_owned()]),
            "it wrote in its second turn"
        );
        inferences.ended();
        inferences.forget(Agent::Codex, &pair);
        assert!(inferences.begin(&question(20, 20)).is_none());
    }

    #[test]
    fn a_record_that_takes_nothing_makes_no_question_more() {
        let (mut inferences, pair) = (Inferences::default(), RuntimeSession::default());
        inferences.said(Agent::Codex, &pair, 1, "words");
        let mut asked = |question: Question| {
            let is_asked = inferences.begin(&question).is_some();
            inferences.ended();
            is_asked
        };
        assert!(asked(question(5, 5)));
        assert!(!asked(question(9, 9)), "too early, though no entry says so");
        assert!(asked(question(10, 10)));
        assert!(!asked(question(20, 20)), "twice on this day");
        let tomorrow = Question {
            day: 20_001,
            ..question(20, 20)
        };
        let recorded = Question {
            recorded: 2,
            ..tomorrow.clone()
        };
        assert!(!asked(recorded), "before a restart");
        assert!(asked(tomorrow));
    }

    #[test]
    fn the_session_after_is_asked_about_as_early_as_the_one_before_and_of_its_own_words() {
        let (mut inferences, pair) = (Inferences::default(), RuntimeSession::default());
        inferences.said(Agent::Codex, &pair, 40, "older");
        let of_session = |turns| Question {
            per_day: 10,
            ..question(turns, turns)
        };
        assert!(inferences.begin(&of_session(40)).is_some());
        inferences.session_began();
        assert!(
            inferences.begin(&of_session(5)).is_none(),
            "it said nothing"
        );
        inferences.said(Agent::Codex, &pair, 5, "newer");
        let (words, _) = inferences.begin(&of_session(5)).unzip();
        assert_eq!(words.unwrap(), ["newer"]);
        inferences.ended();
        assert!(inferences.begin(&of_session(9)).is_none(), "too early");
        // Also where nothing tells that the count is another one.
        assert!(inferences.begin(&of_session(4)).is_some());
    }

    #[test]
    fn words_that_came_before_the_record_had_their_turn_are_read_too() {
        let mut inferences = Inferences::default();
        let pair = RuntimeSession::default();
        inferences.said(Agent::Codex, &pair, 0, "the pears are washed");
        inferences.said(Agent::Codex, &pair, 2, "the pears are dry");
        let (words, _) = inferences.begin(&question(2, 2)).unzip();
        let both = ["the pears are washed", "the pears are dry"];
        assert_eq!(words.unwrap(), both);
    }
}
