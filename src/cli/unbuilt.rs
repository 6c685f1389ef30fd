//! Verbs of the contract that this version does not have: they say so and exit with 3.

use std::ffi::OsString;

use super::exit::{CliOutcome, Failure};
use crate::wire::control::ProgramCode;

/// Whatever stands behind such a verb.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Not looked at
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    pub rest: Vec<OsString>,
}

/// Says so.
pub fn refuse() -> CliOutcome {
    Err(Failure::state(
        ProgramCode::NotInThisVersion,
        "not in this version",
        "see `ctxrelay --help` for what there is",
    ))
}
