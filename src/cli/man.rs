//! `ctxrelay man`.

use serde_json::json;

use super::args::command;
use super::exit::{CliOutcome, Failure};
use super::output::Output;
use super::report::Report;

/// Arguments of `man`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ctxrelay man | man -l -")]
pub struct Args {}

pub fn run(out: &Output, _args: &Args) -> CliOutcome {
    let mut page = Vec::new();
    clap_mangen::Man::new(command())
        .render(&mut page)
        .map_err(|error| Failure::internal("write the manual page", error))?;
    let value = json!({"format": "roff", "page": String::from_utf8_lossy(&page)});
    out.report(Report::new(&value, page))
}
