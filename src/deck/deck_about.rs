//! [`DeckAbout`]: the project and the pair of a deck; [`WaitingTrust`]: the parts of its project's
//! configuration that wait for the operator.

use ctxrelay_ui::model::LocalTime;

use crate::wire::config::{Problem, Waiting};

#[derive(Debug, Clone, Default)]
pub struct DeckAbout {
    /// The project's name.
    pub project: String,
    /// Its folder, absolute and without links.
    pub root: String,
    /// The pair.
    pub runtime_session: String,
    /// The agents are scripted.
    pub demo: bool,
    /// What the clocks on the wall show.
    pub local: LocalTime,
}

/// What of `config.json` has power and is not as the operator trusted it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingTrust {
    /// Names all of it: nothing else is trusted.
    pub digest: String,
    /// The keys that wait; one of them at least would change something.
    pub waiting: Vec<Waiting>,
    /// What of `config.json` does not count as it stands there.
    pub problems: Vec<Problem>,
}
