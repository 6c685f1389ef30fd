//! [`Configuration`]: what `config.json` says, as it counts now.

use crate::store::dirs::UserDirs;
use crate::wire::config::Config;

/// What `config.json` says.
#[derive(Debug)]
pub(super) struct Configuration {
    /// Where trust lies.
    pub(super) user: UserDirs,
    /// What counts.
    pub(super) config: Config,
}
