//! [`Costs`]: how much of ours each agent's model was given today.
//!
//! Knowledge of this process: none of it is in the record, and a daemon that begins counts from
//! there.

use std::collections::BTreeMap;

use crate::core::agent::Agent;
use crate::core::relay_cost::{CostSort, RelayCost, ShownChars};

/// What was counted, by agent, with its day.
#[derive(Debug, Default)]
pub(super) struct Costs {
    counted: BTreeMap<Agent, (jiff::civil::Date, RelayCost)>,
    shown: BTreeMap<Agent, ShownChars>,
}

impl Costs {
    /// How long what is shown of our server is, by agent.
    pub(super) fn shows(&mut self, shown: BTreeMap<Agent, ShownChars>) {
        self.shown = shown;
    }

    /// An agent was given so many characters.
    pub(super) fn add(&mut self, agent: Agent, sort: CostSort, chars: usize, now_ms: i64) {
        let today = day(now_ms);
        let (of, cost) = self
            .counted
            .entry(agent)
            .or_insert_with(|| (today, RelayCost::default()));
        if *of != today {
            (*of, *cost) = (today, RelayCost::default());
        }
        cost.add(sort, chars as u64);
    }

    /// A conversation of the agent's takes in what is shown of our server.
    pub(super) fn conversation_began(&mut self, agent: Agent, now_ms: i64) {
        let shown = self.shown.get(&agent).copied().unwrap_or_default();
        for (sort, chars) in [
            (CostSort::Tools, shown.tools),
            (CostSort::Instructions, shown.instructions),
        ] {
            self.add(
                agent,
                sort,
                usize::try_from(chars).unwrap_or(usize::MAX),
                now_ms,
            );
        }
    }

    /// Of today.
    pub(super) fn today(&self, agent: Agent, now_ms: i64) -> RelayCost {
        let counted = self.counted.get(&agent);
        let of_today = counted.filter(|(of, _)| *of == day(now_ms));
        of_today.map(|(_, cost)| *cost).unwrap_or_default()
    }
}

/// The person's day.
fn day(ms: i64) -> jiff::civil::Date {
    let at = jiff::Timestamp::from_millisecond(ms).unwrap_or_default();
    at.to_zoned(jiff::tz::TimeZone::system()).date()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

    #[test]
    fn what_was_given_is_counted_by_sort_and_begins_anew_each_day() {
        let mut costs = Costs::default();
        let now_ms = 1_795_000_000_000;
        let shown = ShownChars {
            tools: 8_000,
            instructions: 1_001,
        };
        costs.shows(BTreeMap::from([(Agent::Claude, shown)]));
        costs.conversation_began(Agent::Claude, now_ms);
        costs.add(Agent::Claude, CostSort::Envelopes, 300, now_ms);
        costs.add(Agent::Claude, CostSort::Packets, 4_000, now_ms);
        let today = costs.today(Agent::Claude, now_ms);
        assert_eq!((today.chars(), today.tokens_estimate()), (13_301, 3_326));
        assert_eq!(costs.today(Agent::Codex, now_ms), RelayCost::default());
        let later_ms = now_ms + DAY_MS;
        assert_eq!(costs.today(Agent::Claude, later_ms), RelayCost::default());
        costs.add(Agent::Claude, CostSort::Packets, 5, later_ms);
        assert_eq!(costs.today(Agent::Claude, later_ms).chars(), 5);
    }
}
