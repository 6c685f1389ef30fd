//! [`Verb`]: those of the contract that this version does not have. They say so and exit with 3.

use std::ffi::OsString;

use clap::Subcommand;

use super::exit::{CliOutcome, Failure};
use crate::wire::control::ProgramCode;

/// Whatever stands behind such a verb.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Not looked at
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    pub rest: Vec<OsString>,
}

/// No help and no completion shows them.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// The browser deck (not in this version)
    #[command(hide = true)]
    Viewer(Args),
    /// Several pairs in one project (not in this version)
    #[command(hide = true)]
    Session(Args),
    /// All projects of this user (not in this version)
    #[command(hide = true)]
    Projects(Args),
    /// All processes of ours (not in this version)
    #[command(hide = true)]
    Ps(Args),
    /// Marks a workspace (not in this version)
    #[command(hide = true)]
    Attach(Args),
    /// Takes such a mark away (not in this version)
    #[command(hide = true)]
    Detach(Args),
    /// An agent without a terminal (not in this version)
    #[command(hide = true)]
    Drive(Args),
    /// The card of an id (not in this version)
    #[command(hide = true)]
    Open(Args),
    /// Keeps the machine awake (not in this version)
    #[command(hide = true)]
    KeepAwake(Args),
    /// Figures for Prometheus (not in this version)
    #[command(hide = true)]
    Metrics(Args),
    /// What may run by itself (not in this version)
    #[command(hide = true)]
    Autonomy(Args),
    /// What was spent (not in this version)
    #[command(hide = true)]
    Usage(Args),
    /// Contained runs that only read (not in this version)
    #[command(hide = true)]
    Headless(Args),
    /// Workers that write (not in this version)
    #[command(hide = true)]
    Work(Args),
    /// The git guard (not in this version)
    #[command(hide = true)]
    Guard(Args),
    /// Conflicts between the agents (not in this version)
    #[command(hide = true)]
    Radar(Args),
    /// Texts that one agent took from the other (not in this version)
    #[command(hide = true)]
    Rescue(Args),
    /// The world as it was (not in this version)
    #[command(hide = true)]
    Replay(Args),
    /// A bounded debate (not in this version)
    #[command(hide = true)]
    Debate(Args),
}

/// Says so.
pub fn refuse() -> CliOutcome {
    Err(Failure::state(
        ProgramCode::NotInThisVersion,
        "not in this version",
        "see `ctxrelay --help` for what there is",
    ))
}
