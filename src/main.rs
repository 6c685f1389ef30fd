//! `ctxrelay`: parse, run the verb, exit with its code.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use color_eyre::config::{HookBuilder, Theme};
use ctxrelay::cli::output::wants_colour;
use ctxrelay::cli::run::run;

fn main() -> ExitCode {
    // color-eyre colours its report in a pipe and in spite of NO_COLOR.
    let mut hooks = HookBuilder::default().display_env_section(false);
    if !(std::io::stderr().is_terminal() && wants_colour()) {
        hooks = hooks.theme(Theme::new());
    }
    // Only a second installation fails, and then the first one stands.
    let _ = hooks.install();
    run(std::env::args_os().collect()).into()
}
