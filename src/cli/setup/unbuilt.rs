//! The verbs of the contract that this version does not have. They say so and exit with 3.

use std::ffi::OsString;

use crate::cli::exit::{CliOutcome, Failure};
use crate::wire::control::ProgramCode;

/// Their names. No help and no completion shows them.
pub const VERBS: [&str; 19] = [
    "viewer",
    "session",
    "projects",
    "ps",
    "attach",
    "detach",
    "drive",
    "open",
    "keep-awake",
    "metrics",
    "autonomy",
    "usage",
    "headless",
    "work",
    "guard",
    "radar",
    "rescue",
    "replay",
    "debate",
];

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_names_them_all() {
        let limits = include_str!("../../guide/limits.md");
        let left_out = VERBS
            .iter()
            .filter(|verb| !limits.contains(&format!("`{verb}`")));
        assert_eq!(left_out.collect::<Vec<_>>(), Vec::<&&str>::new());
        for option in [
            "--pair NAME",
            "config show --origin",
            "status --all",
            "doctor --contract",
            "search --in transcripts",
        ] {
            assert!(limits.contains(option), "{option}");
        }
    }
}
