//! [`Costs`]: how much text of ours each agent's model was given today.
//!
//! None of it is in the record. A daemon keeps its sums in a file, and the next one continues from
//! there on the same day, also after a kill.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::core::agent::Agent;
use crate::core::relay_cost::{CostSort, RelayCost, ShownChars};
use crate::store::dirs::{ProjectDirs, read_private};
use crate::store::kept_file::KeptFile;

/// In the state folder.
const FILE: &str = "cost-today.json";

/// More than the file is long.
const FILE_BYTES_MAX: u64 = 4_096;

/// What was counted, by agent, with its day.
#[derive(Debug, Default)]
pub(in crate::daemon) struct Costs {
    counted: BTreeMap<Agent, (jiff::civil::Date, RelayCost)>,
    shown: BTreeMap<Agent, ShownChars>,
    /// For the next daemon.
    file: Option<KeptFile>,
}

impl Costs {
    /// How long what is shown of our server is, by agent.
    pub(in crate::daemon) fn shows(&mut self, shown: BTreeMap<Agent, ShownChars>) {
        self.shown = shown;
    }

    /// An agent was given so many characters.
    pub(in crate::daemon) fn add(
        &mut self,
        agent: Agent,
        sort: CostSort,
        chars: usize,
        now_ms: i64,
    ) {
        let today = day(now_ms);
        let (of, cost) = self
            .counted
            .entry(agent)
            .or_insert_with(|| (today, RelayCost::default()));
        if *of != today {
            (*of, *cost) = (today, RelayCost::default());
        }
        cost.add(sort, chars as u64);
        if let Some(file) = &self.file {
            let kept = CostsKept {
                day: today.to_string(),
                claude: self.today(Agent::Claude, now_ms),
                codex: self.today(Agent::Codex, now_ms),
            };
            // Numbers and a day: there is nothing in it that JSON has not.
            file.put(serde_json::to_vec(&kept).unwrap_or_default());
        }
    }

    /// A conversation of the agent's takes in what is shown of our server.
    pub(in crate::daemon) fn conversation_began(&mut self, agent: Agent, now_ms: i64) {
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

    /// Counts on from what an earlier daemon kept of today, and keeps it from here on. Blocks for the
    /// disk.
    pub(in crate::daemon) fn go_on(&mut self, dirs: &ProjectDirs, now_ms: i64) {
        let path = dirs.state_file(FILE);
        let today = day(now_ms);
        let kept = read_private(&path, FILE_BYTES_MAX);
        let started = KeptFile::start(path);
        if let Err(error) = &started {
            tracing::warn!(%error, "what is given to the agents today is not kept");
        }
        self.file = started.ok();
        let kept = kept
            .ok()
            .and_then(|text| serde_json::from_slice::<CostsKept>(&text).ok());
        let Some(kept) = kept.filter(|kept| kept.day == today.to_string()) else {
            return;
        };
        for (agent, cost) in [(Agent::Claude, kept.claude), (Agent::Codex, kept.codex)] {
            self.counted.insert(agent, (today, cost));
        }
    }

    pub(in crate::daemon) fn today(&self, agent: Agent, now_ms: i64) -> RelayCost {
        let counted = self.counted.get(&agent);
        let of_today = counted.filter(|(of, _)| *of == day(now_ms));
        of_today.map(|(_, cost)| *cost).unwrap_or_default()
    }
}

/// What a daemon leaves to the next.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct CostsKept {
    /// The person's.
    day: String,
    claude: RelayCost,
    codex: RelayCost,
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
    fn the_next_daemon_counts_on_within_the_day() {
        let folder = tempfile::tempdir().unwrap();
        let dirs = ProjectDirs::new(folder.path().to_owned(), None);
        dirs.create().unwrap();
        let now_ms = 1_795_000_000_000;
        let mut costs = Costs::default();
        costs.go_on(&dirs, now_ms);
        costs.add(Agent::Codex, CostSort::Packets, 7, now_ms);
        drop(costs);
        let next = |now_ms| {
            let mut next = Costs::default();
            next.go_on(&dirs, now_ms);
            next.add(Agent::Codex, CostSort::Envelopes, 1, now_ms);
            next.today(Agent::Codex, now_ms).chars()
        };
        assert_eq!((next(now_ms), next(now_ms + DAY_MS)), (8, 1));
        std::fs::write(dirs.state_file(FILE), "no JSON").unwrap();
        assert_eq!(next(now_ms), 1);
    }

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
