//! [`SettingsRead`] and [`SettingsKept`]: `config.json` and what the operator trusts of it are read
//! and written beside the loop, one change after the other. The entry of a change is recorded
//! between reading and writing.

use crate::core::policy::{PolicyChange, PolicyRules};
use crate::daemon::base::under_way::UnderWay;
use crate::daemon::reply::ReplySender;
use crate::store::config::Loaded;
use crate::store::dirs::UserDirs;
use crate::wire::control::{PolicySet, Recorded, TrustParams};

/// A change of the settings.
#[derive(Debug)]
pub enum SettingsChange {
    /// A rule for the agents.
    Policy(PolicyChange),
    /// The file is trusted as it is.
    Trust {
        /// Which file, and what it needs.
        params: Box<TrustParams>,
        /// The signer's key is no longer known outside the project.
        is_signer_forgotten: bool,
    },
}

/// The settings as read for a change, as an event.
#[derive(Debug)]
pub struct SettingsRead {
    pub(in crate::daemon) change: SettingsChange,
    pub(in crate::daemon) user: UserDirs,
    pub(in crate::daemon) loaded: Loaded,
    /// Why something could not be written on the way.
    pub(in crate::daemon) not_kept: Option<String>,
    pub(in crate::daemon) reply: ReplySender,
    /// Until this is heard.
    pub(in crate::daemon) under_way: UnderWay,
}

/// A change that was recorded and written, or could not be, as an event.
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

/// A rule that was written, with its entry.
#[derive(Debug)]
pub(in crate::daemon) struct KeptPolicy {
    pub(in crate::daemon) change: PolicyChange,
    pub(in crate::daemon) set: PolicySet,
    /// The current rules and the file, or why they could not be written.
    pub(in crate::daemon) kept: Result<(PolicyRules, Loaded), String>,
}

/// The settings that are trusted now, with their entry.
#[derive(Debug)]
pub(in crate::daemon) struct KeptTrust {
    pub(in crate::daemon) recorded: Recorded,
    /// Why the signer's key could not be kept.
    pub(in crate::daemon) signer: Option<String>,
    /// The rules, if they name another coordinator, for the instruction files; and the file in
    /// force, or why it is not.
    pub(in crate::daemon) kept: Result<(Option<PolicyRules>, Loaded), String>,
}
