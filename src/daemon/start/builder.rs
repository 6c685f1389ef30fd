//! [`Builder`]: what a daemon is made of.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::StartError;
use crate::adapters::program_search::ProgramSearch;
use crate::core::agent::Agent;
use crate::core::relay_cost::ShownChars;
use crate::daemon::base::agent_programs::ProgramLook;
use crate::store::dirs::{ProjectDirs, UserDirs, exists};
use crate::store::ledger::ReadProgress;
use crate::store::registry::Ports;

/// What a daemon is made of. Everything that a test wants to be different is here.
#[derive(Debug, Clone)]
pub struct Builder {
    pub dirs: ProjectDirs,
    /// The user's folders, outside of the project.
    pub user_dirs: UserDirs,
    /// The first port of the first project.
    pub port_base: u16,
    /// All three ports, named by the user: no others are tried.
    pub ports: Option<Ports>,
    /// End by itself when nothing is attached.
    pub detached: bool,
    pub codex_program: ProgramSearch,
    pub claude_program: ProgramSearch,
    /// Our own binary, for `ctxrelay hold`.
    pub own_program: PathBuf,
    /// Clear the `killed` sentinel: an explicit start by a person.
    pub clears_kill: bool,
    /// How long what each agent's model is shown of our server is.
    pub shown: BTreeMap<Agent, ShownChars>,
    /// Told how far the reading of the record is.
    pub reading: ReadProgress,
}

impl Builder {
    pub(super) fn program_look(&self) -> ProgramLook {
        ProgramLook::new([
            (Agent::Claude, self.claude_program.clone()),
            (Agent::Codex, self.codex_program.clone()),
        ])
    }

    pub(super) fn registry_failed(&self, source: std::io::Error) -> StartError {
        let elsewhere = self.unless_begun("CONTEXTRELAY_REGISTRY_DIR");
        StartError::unwritten(self.user_dirs.instances(), source, elsewhere)
    }

    pub(super) fn state_failed(&self, source: std::io::Error) -> StartError {
        self.folder_failed(self.dirs.state.clone(), source)
    }

    /// As [`Self::state_failed`], of another folder of the project's.
    pub(super) fn folder_failed(&self, path: PathBuf, source: std::io::Error) -> StartError {
        StartError::unwritten(path, source, self.unless_begun("--project"))
    }

    /// What names another place, where no record has begun.
    fn unless_begun(&self, elsewhere: &'static str) -> Option<&'static str> {
        (!exists(&self.dirs.current())).then_some(elsewhere)
    }
}
