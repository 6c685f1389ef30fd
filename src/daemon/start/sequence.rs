//! How a [`Builder`] goes through the stages.

use axum::Router;

use super::claimed::Claimed;
use super::{Builder, StartError, descriptors};
use crate::daemon::handle::DaemonHandle;
use crate::daemon::running::Running;
use crate::daemon::takeover::Takeover;

impl Builder {
    /// Starts the daemon on the current runtime, in place of the one that left a takeover if there
    /// is one. `mcp` makes the service behind `/mcp`. `yielded`: asked for once nothing can fail any
    /// more, and says whether the one before lets go of what it left.
    ///
    /// # Errors
    ///
    /// See [`StartError`]; nothing is left running then.
    pub async fn start<F>(
        self,
        takeover: Option<Takeover>,
        yielded: impl Future<Output = bool> + Send,
        mcp: impl FnOnce(DaemonHandle) -> F + Send,
    ) -> Result<Running, StartError>
    where
        F: Future<Output = Router> + Send,
    {
        descriptors::raise_limit();
        let claimed = Claimed::claim(self, takeover).await?;
        let opened = claimed.open()?;
        let bound = opened.bind().await?;
        bound.run(yielded, mcp).await
    }
}
