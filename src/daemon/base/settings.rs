//! [`SettingsRead`] and [`SettingsKept`]: `config.json` and what the operator trusts of it are read
//! and written beside the loop, one change after the other. The entry of a change is recorded
//! between reading and writing.

use crate::core::policy::{PolicyChange, PolicyRules};
use crate::daemon::base::under_way::UnderWay;
use crate::daemon::reply::ReplySender;
use crate::store::config::Loaded;
use crate::store::dirs::UserDirs;
use crate::wire::control::{PolicySet, Recorded, TrustParams};

/// What is to become of the settings.
#[derive(Debug)]
pub enum SettingsChange {
    /// A rule for the agents.
    Policy(PolicyChange),
    /// The file is trusted as it is.
    Trust {
        /// Which file, and what it needs.
        params: Box<TrustParams>,
        /// The signer's key is not known outside of the project any more.
        is_signer_forgotten: bool,
    },
}

/// The settings were read for a change of them.
#[derive(Debug)]
pub struct SettingsRead {
    pub(in crate::daemon) change: SettingsChange,
    pub(in crate::daemon) user: UserDirs,
    pub(in crate::daemon) loaded: Loaded,
    /// What could not be written on the way; why.
    pub(in crate::daemon) not_kept: Option<String>,
    pub(in crate::daemon) reply: ReplySender,
    /// Until this is heard.
    pub(in crate::daemon) under_way: UnderWay,
}

/// A change was recorded and written, or could not be.
#[derive(Debug)]
pub struct SettingsKept {
    pub(in crate::daemon) kept: SettingsWritten,
    pub(in crate::daemon) reply: ReplySender,
    /// Until this is heard.
    pub(in crate::daemon) under_way: UnderWay,
}

#[derive(Debug)]
pub(in crate::daemon) enum SettingsWritten {
    Policy(KeptPolicy),
    Trust(KeptTrust),
}

/// A rule that was written, with what it was recorded as.
#[derive(Debug)]
pub(in crate::daemon) struct KeptPolicy {
    pub(in crate::daemon) change: PolicyChange,
    pub(in crate::daemon) set: PolicySet,
    /// The rules as they are now, and the file; why they could not be written.
    pub(in crate::daemon) kept: Result<(PolicyRules, Loaded), String>,
}

/// What is trusted now, and what it was recorded as.
#[derive(Debug)]
pub(in crate::daemon) struct KeptTrust {
    pub(in crate::daemon) recorded: Recorded,
    /// The signer's key could not be kept; why.
    pub(in crate::daemon) signer: Option<String>,
    /// The rules, where they name another coordinator: the instruction files are to say so. And the
    /// file as it counts now; why it does not.
    pub(in crate::daemon) kept: Result<(Option<PolicyRules>, Loaded), String>,
}
