//! [`RecentWrites`]: which files each agent has written in the last minutes.
//!
//! Not in the record: a request for approval that names one of these files says so.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::core::agent::Agent;

/// How long a write is one of the last minutes, in ms.
pub(in crate::daemon) const RECENT_MS: i64 = 10 * 60 * 1_000;

/// How many files of each agent are kept: the latest ones.
const FILES_MAX: usize = 100;

/// The latest writes of each agent.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(in crate::daemon) struct RecentWrites {
    files: BTreeMap<Agent, VecDeque<(String, i64)>>,
}

impl RecentWrites {
    /// An agent has written a file, at this time in ms since the epoch.
    pub(in crate::daemon) fn wrote(&mut self, agent: Agent, path: String, at_ms: i64) {
        let files = self.files.entry(agent).or_default();
        files.retain(|(known, _)| *known != path);
        if files.len() == FILES_MAX {
            files.pop_front();
        }
        files.push_back((path, at_ms));
    }

    /// What it wrote since then, the latest first.
    pub(in crate::daemon) fn since(
        &self,
        agent: Agent,
        since_ms: i64,
    ) -> impl Iterator<Item = &str> {
        let files = self.files.get(&agent).into_iter().flatten().rev();
        files
            .take_while(move |(_, at_ms)| *at_ms >= since_ms)
            .map(|(path, _)| path.as_str())
    }
}
