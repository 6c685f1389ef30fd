//! [`Dialed`]: the daemon as a verb found it, for all calls of that verb.

use std::rc::Rc;

use tokio::runtime::Runtime;

use crate::cli::connection::connect::{self, DaemonFound, Live, runtime};
use crate::cli::exit::Failure;
use crate::host::ProjectContext;

/// What was found where the daemon should be, with the runtime in which it is asked. It is looked
/// for once: each further look for one that is silent would wait for it again.
#[derive(Debug)]
pub(in crate::cli) struct Dialed {
    found: DaemonFound,
    /// Goes last: what was found lives in it.
    runtime: Runtime,
}

impl Dialed {
    /// Looks for the project's daemon. Never starts one.
    ///
    /// # Errors
    ///
    /// When there can be no runtime.
    pub(in crate::cli) fn dial(project: &ProjectContext) -> Result<Rc<Self>, Failure> {
        let runtime = runtime()?;
        let found = runtime.block_on(connect::control(project));
        Ok(Rc::new(Self { found, runtime }))
    }

    /// The daemon, where it answers.
    pub(in crate::cli) fn live(&self) -> Option<&Live> {
        match &self.found {
            DaemonFound::Live(live) => Some(live),
            DaemonFound::Nobody | DaemonFound::Unfit(_) => None,
        }
    }

    /// Waits for what it is asked.
    pub(in crate::cli) fn wait_for<T>(&self, asked: impl Future<Output = T>) -> T {
        self.runtime.block_on(asked)
    }
}
