//! `ctxrelay notify`: how you are notified of what waits while you look elsewhere, and a test.

use std::path::Path;

use ctxrelay_ui::{NotificationSettings, NotificationWay};
use serde_json::json;

use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::report::{Report, ReportText};
use crate::cli::screen::notify_command::NotifyCommand;
use crate::cli::screen::screen_files::{CONFIG, ScreenFiles};
use crate::deck::terminal::term::notification;

/// Arguments of `notify`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ctxrelay notify --test")]
pub struct Args {
    /// Tell me now, in each way that is set
    #[arg(long)]
    pub test: bool,
}

/// What a try says.
const TEST_TEXT: &str = "a try of `ctxrelay notify`: nothing waits";

pub fn run(context: &CliContext, args: &Args) -> CliOutcome {
    let files = ScreenFiles::from_env();
    let own = files
        .read()
        .map_err(|error| Failure::internal("read the keymap", error))?;
    let settings = &own.notification;
    let is_written = args.test && context.out.is_terminal() && !context.out.is_json();
    if is_written {
        let told = notification(&settings.ways, TEST_TEXT);
        context.out.raw(told.as_bytes())?;
    }
    let ran = if args.test {
        let command = NotifyCommand::new(files.folder());
        command.run(&settings.command, TEST_TEXT)
    } else {
        Ok(())
    };
    let problems: Vec<String> = own
        .problems
        .iter()
        .filter(|problem| problem.file == CONFIG)
        .map(ToString::to_string)
        .collect();
    let ways: Vec<&str> = settings.ways.iter().map(|way| way.as_str()).collect();
    let value = json!({
        "notify": ways,
        "notifyCommand": settings.command,
        "quietHours": settings.quiet.map(|quiet| quiet.to_string()),
        "problems": problems,
        "written": is_written,
        "failed": ran.as_ref().err(),
    });
    let mut text = said(settings, &files.folder().join(CONFIG));
    for problem in &problems {
        text.line(problem.as_str());
    }
    if let Err(why) = &ran {
        text.line(why);
    }
    if args.test && !settings.ways.is_empty() && !is_written {
        text.line("nothing was written: standard output is no terminal");
    }
    let ok = problems.is_empty() && ran.is_ok();
    context.out.report(Report::new(&value, text).checked(ok))
}

/// `own`: the person's own file, which alone has these keys: a project's has no say in them.
fn said(settings: &NotificationSettings, own: &Path) -> ReportText {
    let mut text = ReportText::new();
    if settings.is_off() {
        text.line(format!(
            "off: nobody is told; for a bell of the terminal write {{\"notify\": [\"bell\"]}} into {}",
            own.display()
        ));
        let ways = NotificationWay::ALL.iter().map(|way| way.as_str());
        let ways: Vec<&str> = ways.collect();
        text.line(format!(
            "notify takes {}; notifyCommand a program with its arguments: [\"notify-send\", \"ctxrelay\"]",
            ways.join(", ")
        ));
        return text;
    }
    for way in &settings.ways {
        text.line(format!("terminal    {}", way.as_str()));
    }
    if !settings.command.is_empty() {
        text.line(format!("command     {}", settings.command.join(" ")));
    }
    if let Some(quiet) = settings.quiet {
        text.line(format!("not during  {quiet}"));
    }
    text
}
