//! [`StateElsewhere`]: this project's daemon keeps its state in another folder than we look in.

use crate::cli::connection::lock_owner::owner;
use crate::cli::exit::Failure;
use crate::cli::text::shell::quote;
use crate::host::ProjectContext;
use crate::store::dirs::ProjectDirs;
use crate::store::registry;
use crate::wire::control::ProgramCode;

/// `CONTEXTRELAY_STATE_DIR` is set in one terminal only. Without this its daemon would pass for one that
/// hangs, for it has the project and nothing of it is found here.
pub(in crate::cli) struct StateElsewhere {
    /// Of the project, as its daemon has them.
    theirs: ProjectDirs,
    /// What it takes to be there too.
    hint: String,
}

impl StateElsewhere {
    /// To be asked before anything that is found in our own state folder counts.
    pub(in crate::cli) fn of(project: &ProjectContext) -> Option<Self> {
        let root = || project.dirs.root.clone();
        let state = registry::state_of_owner(&project.user_dirs, &project.dirs)?;
        let hint = match state == ProjectDirs::new(root(), None).state {
            true => "unset CONTEXTRELAY_STATE_DIR here, and run it again".to_owned(),
            false => format!(
                "set CONTEXTRELAY_STATE_DIR={} here too, and run it again",
                quote(state.as_os_str())
            ),
        };
        let theirs = ProjectDirs::new(root(), Some(state));
        Some(Self { theirs, hint })
    }

    pub(in crate::cli) fn failure(&self) -> Failure {
        Failure::unavailable(ProgramCode::StateElsewhere, self.sentence(), &self.hint)
    }

    /// Both in one, for those who go on.
    pub(in crate::cli) fn notice(&self) -> String {
        format!("{}: {}", self.sentence(), self.hint)
    }

    /// Its process, as [`owner`].
    pub(in crate::cli) fn pid(&self) -> Option<u32> {
        owner(&self.theirs).and_then(|pid| u32::try_from(pid.as_raw_pid()).ok())
    }

    fn sentence(&self) -> String {
        format!(
            "the daemon of this project runs and has its state in {}",
            self.theirs.state.display()
        )
    }
}
