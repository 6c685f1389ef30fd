//! `ctxrelay man`.

use std::io;

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use serde_json::json;

use crate::cli::exit::{CliOutcome, ExitKind, Failure};
use crate::cli::output::Output;
use crate::cli::report::Report;

/// How wide the lines of a command's help are: a page is indented, and shown on 80 columns.
const HELP_COLUMNS: usize = 72;

/// Arguments of `man`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ctxrelay man | man -l -")]
pub struct Args {}

/// Of the whole command line.
pub fn run(out: &Output, _args: &Args, command: Command) -> CliOutcome {
    if out.is_terminal() && !out.is_json() {
        // Its source is for a program to read.
        out.line("The manual page goes to a program that shows it: `ctxrelay man | man -l -`.")?;
        out.line("To keep it: `ctxrelay man > ~/.local/share/man/man1/ctxrelay.1`")?;
        return Ok(ExitKind::Ok);
    }
    let mut page = Vec::new();
    write(&mut page, command).map_err(|error| Failure::internal("write the manual page", error))?;
    let value = json!({"format": "roff", "page": String::from_utf8_lossy(&page)});
    out.report(Report::new(&value, page))
}

/// One page for all commands: what is installed is one program, and nothing puts a page for each of
/// them where `man` looks.
fn write(page: &mut Vec<u8>, mut command: Command) -> io::Result<()> {
    let main = Man::new(command.clone());
    main.render_title(page)?;
    main.render_name_section(page)?;
    main.render_synopsis_section(page)?;
    main.render_description_section(page)?;
    main.render_options_section(page)?;
    command.build();
    let mut roff = Roff::new();
    roff.control("SH", ["COMMANDS"]);
    for verb in visible(&command) {
        add(&mut roff, verb);
    }
    roff.to_writer(page)?;
    main.render_extra_section(page)?;
    main.render_version_section(page)
}

/// A command as its `--help` tells of it, or those below it.
fn add(roff: &mut Roff, command: &Command) {
    let below: Vec<_> = visible(command).collect();
    if !below.is_empty() {
        return below.into_iter().for_each(|command| add(roff, command));
    }
    let name = command.get_bin_name().unwrap_or_default();
    let mut shown = command.clone().term_width(HELP_COLUMNS);
    let help = shown.render_long_help().to_string();
    roff.control("SS", [name]);
    roff.control("nf", []);
    for line in help.lines() {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    let below = command.get_subcommands();
    below.filter(|below| !below.is_hide_set() && below.get_name() != "help")
}
