//! [`AgentPrograms`]: where the agents' programs are; [`ProgramLook`]: reports to the loop that one
//! was installed, moved or removed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::task::JoinError;

use crate::adapters::program_search::ProgramSearch;
use crate::core::agent::Agent;
use crate::daemon::base::under_way::WorkBeside;

/// The path of each agent's program; a program that is not there has no entry.
pub type FoundPrograms = BTreeMap<Agent, PathBuf>;

/// The paths of the agents' programs, as last found.
#[derive(Debug, Default)]
pub(in crate::daemon) struct AgentPrograms {
    found: FoundPrograms,
}

impl AgentPrograms {
    /// They were looked for. Whether that is news.
    pub(in crate::daemon) fn looked(&mut self, found: FoundPrograms) -> bool {
        let is_news = found != self.found;
        self.found = found;
        is_news
    }

    /// Where an agent's program is.
    pub(in crate::daemon) fn of_agent(&self, agent: Agent) -> Option<&Path> {
        self.found.get(&agent).map(PathBuf::as_path)
    }

    /// Whether it was found.
    pub(in crate::daemon) fn is_installed(&self, agent: Agent) -> bool {
        self.found.contains_key(&agent)
    }
}

/// Searches for the programs beside the loop, for callers whose answer depends on them.
#[derive(Debug, Clone)]
pub(in crate::daemon) struct ProgramLook {
    searches: Arc<BTreeMap<Agent, ProgramSearch>>,
    /// When the last search that was reported to the loop began. Locked while a search runs or is
    /// being reported: so the last report has the latest result, and a disk that hangs blocks one
    /// thread.
    told: Arc<Mutex<Option<Instant>>>,
}

/// The result of a search. No other search begins before it is dropped.
#[derive(Debug)]
pub(in crate::daemon) struct ProgramsLooked {
    found: FoundPrograms,
    begun: Instant,
    told: OwnedMutexGuard<Option<Instant>>,
}

impl ProgramsLooked {
    /// Tells the loop what was found.
    pub(in crate::daemon) async fn tell<T>(
        mut self,
        tell: impl AsyncFnOnce(FoundPrograms) -> Option<T>,
    ) {
        if tell(self.found).await.is_some() {
            *self.told = Some(self.begun);
        }
    }
}

impl ProgramLook {
    pub(in crate::daemon) fn new(
        searches: impl IntoIterator<Item = (Agent, ProgramSearch)>,
    ) -> Self {
        Self {
            searches: Arc::new(searches.into_iter().collect()),
            told: Arc::default(),
        }
    }

    /// Where they are now. Waits for the disk.
    pub(in crate::daemon) fn find_programs(&self) -> FoundPrograms {
        let found = |(agent, search): (&Agent, &ProgramSearch)| Some((*agent, search.find()?));
        self.searches.iter().filter_map(found).collect()
    }

    /// Where they are once nobody else looks; nothing where the loop was told not longer than `age`
    /// ago.
    ///
    /// # Errors
    ///
    /// When the look panicked.
    pub(in crate::daemon) async fn look(
        &self,
        age: Duration,
    ) -> Result<Option<ProgramsLooked>, JoinError> {
        let told = Arc::clone(&self.told).lock_owned().await;
        if told.is_some_and(|begun| begun.elapsed() < age) {
            return Ok(None);
        }
        let (look, begun) = (self.clone(), Instant::now());
        let looked = WorkBeside::ProgramLook.begin(move || ProgramsLooked {
            found: look.find_programs(),
            begun,
            told,
        });
        looked.await.map(Some)
    }
}
