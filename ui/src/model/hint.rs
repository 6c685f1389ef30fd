//! [`FirstStep`]: what is missing on a first run, and how to get it.

use super::agent::Agent;

/// What the key beside a step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepAct {
    /// Start this agent beside the deck.
    Start(Agent),
    /// Nothing; the command is to be typed elsewhere (a key copies it).
    Copy,
    /// As [`Self::Copy`], and it is no step of the pair: what the daemon says beside that.
    Beside,
}

/// One line of the first run's explanation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstStep {
    /// What is missing, one sentence.
    pub text: String,
    /// The command that gets it.
    pub command: String,
    /// What pressing the step's number does.
    pub act: StepAct,
    /// It is there already; shown ticked.
    pub done: bool,
}
