//! [`Exchange`]: how often the two agents of a pair have answered each other without their person.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{RUNTIME_SESSIONS_MAX, Snapshot};
use crate::agent::Agent;
use crate::id::RuntimeSession;

/// What two agents have said to each other since their person last said or did something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// Who spoke last.
    last: Agent,
    /// How often one of them spoke after the other. What one says in a row counts once.
    answers: u32,
}

impl Snapshot {
    /// An agent says something to the other one of its pair. Returns how often they have answered
    /// each other with that.
    pub(crate) fn answers_with(&mut self, pair: RuntimeSession, from: Agent) -> u32 {
        if self.exchanges.len() >= RUNTIME_SESSIONS_MAX && !self.exchanges.contains_key(&pair) {
            let fewest = self.exchanges.iter().min_by_key(|(_, known)| known.answers);
            let fewest = fewest.map(|(pair, _)| pair.clone());
            self.exchanges
                .retain(|pair, _| Some(pair) != fewest.as_ref());
        }
        let exchange = self.exchanges.entry(pair).or_insert(Exchange {
            last: from,
            answers: 0,
        });
        if std::mem::replace(&mut exchange.last, from) != from {
            exchange.answers = exchange.answers.saturating_add(1);
        }
        exchange.answers
    }

    /// A daemon's life or a session begins, in which the person's prompts are recorded or not. What
    /// the agents said to each other while they were not counts for nothing.
    pub(crate) fn records_prompts(&mut self, is_so: bool) {
        let was_so = std::mem::replace(&mut self.prompts_recorded, is_so);
        if !(was_so && is_so) {
            self.person_is_there(None);
        }
    }

    /// The person is there: the agents of this pair, or of all, begin again.
    pub(crate) fn person_is_there(&mut self, pair: Option<&RuntimeSession>) {
        let is_meant = |of: &RuntimeSession| pair.is_none_or(|pair| pair == of);
        let before = self.exchanges.len();
        self.exchanges.retain(|of, _| !is_meant(of));
        if self.exchanges.len() == before {
            return;
        }
        for message in self.unsettled.values_mut() {
            if message.answers > 0 && is_meant(&message.pair()) {
                Arc::make_mut(message).answers = 0;
            }
        }
    }

    /// Whether the agents of this pair, or of any, have said something to each other since their
    /// person last did.
    pub fn has_exchange(&self, pair: Option<&RuntimeSession>) -> bool {
        match pair {
            Some(pair) => self.exchanges.contains_key(pair),
            None => !self.exchanges.is_empty(),
        }
    }

    /// How often the agents of a pair have answered each other without their person.
    pub fn answers_of(&self, pair: &RuntimeSession) -> u32 {
        self.exchanges.get(pair).map_or(0, |known| known.answers)
    }
}
