//! `ctxrelay claude-plugin statusline …`: our line below Claude's composer, with the person's.

use std::io;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use serde_json::json;

use crate::adapters::claude::status_line::{
    SettingsError, StatusLineFound, find, with_ours, without_ours,
};
use crate::cli::connection::operator::may_change;
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::offline::disk::unreadable;
use crate::cli::output::Tone;
use crate::cli::report::{Report, ReportText};
use crate::cli::settings::environment;
use crate::cli::setup::vendor_command::{VendorChangeArgs, changed};
use crate::core::managed_block::diff;
use crate::store::dirs::read_private;
use crate::store::user_file::replace;
use crate::wire::control::ProgramCode;

/// More than any settings are long, in bytes.
const SETTINGS_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// What can be done with our status line.
#[derive(Debug, Subcommand)]
pub enum StatusLineVerb {
    /// Show the pair below Claude's composer; a status line of yours goes on beside it
    #[command(after_help = "Example: ctxrelay claude-plugin statusline install")]
    Install(VendorChangeArgs),
    /// Take it away; yours is as before
    #[command(after_help = "Example: ctxrelay claude-plugin statusline remove --yes")]
    Remove(VendorChangeArgs),
    /// Whether it is there
    #[command(after_help = "Example: ctxrelay claude-plugin statusline status --json")]
    Status,
}

/// The person's Claude settings.
struct ClaudeSettings {
    path: PathBuf,
    /// `None` when there is no file.
    text: Option<String>,
}

impl ClaudeSettings {
    /// `$CLAUDE_CONFIG_DIR`, or `.claude` in the home; a link leads to the file behind it.
    fn read() -> Result<Self, Failure> {
        let dir = |name| environment(name).map(PathBuf::from);
        let home = || Some(dir("HOME")?.join(".claude"));
        let folder = dir("CLAUDE_CONFIG_DIR").or_else(home).ok_or_else(|| {
            Failure::state(
                ProgramCode::NoHome,
                "it is not known where your Claude settings are",
                "set HOME or CLAUDE_CONFIG_DIR",
            )
        })?;
        let path = folder.join("settings.json");
        let path = path.canonicalize().unwrap_or(path);
        let text = match read_private(&path, SETTINGS_BYTES_MAX) {
            Ok(bytes) => Some(
                String::from_utf8(bytes)
                    .map_err(|_| not_understood(&path, "they are not UTF-8"))?,
            ),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(unreadable(&path, &error)),
        };
        Ok(Self { path, text })
    }

    fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    fn understood<T>(&self, result: Result<T, SettingsError>) -> Result<T, Failure> {
        result.map_err(|error| not_understood(&self.path, &error.to_string()))
    }

    /// Shows what changes, asks, and writes it.
    fn change(
        &self,
        context: &CliContext,
        after: &str,
        what: &str,
        yes: bool,
    ) -> Result<(), Failure> {
        let mut shown = ReportText::new();
        shown.spans(&[(Tone::Strong, &self.path.display().to_string())]);
        shown.diff(diff(self.text(), after));
        context.out.aside(shown)?;
        may_change(context, what, yes)?;
        // Claude writes them too, and the person took their time.
        if Self::read()?.text != self.text {
            return Err(Failure::state(
                ProgramCode::SettingsChanged,
                "your Claude settings were changed meanwhile, and stay as they are now",
                "run the command again",
            ));
        }
        let unwritable = |error| {
            Failure::unwritable(
                &self.path,
                error,
                "see that the file is yours and can be written",
            )
        };
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder).map_err(unwritable)?;
        }
        replace(&self.path, after, self.text.is_some()).map_err(unwritable)
    }
}

pub(super) fn run(context: &CliContext, verb: &StatusLineVerb) -> CliOutcome {
    let settings = ClaudeSettings::read()?;
    let program = &context.project.own_program;
    match verb {
        StatusLineVerb::Install(args) => install(context, &settings, program, args.yes),
        StatusLineVerb::Remove(args) => remove(context, &settings, args.yes),
        StatusLineVerb::Status => status(context, &settings, program),
    }
}

fn install(
    context: &CliContext,
    settings: &ClaudeSettings,
    program: &Path,
    yes: bool,
) -> CliOutcome {
    let after = settings.understood(with_ours(settings.text(), program))?;
    if let StatusLineFound::Ours {
        is_current: true, ..
    } = settings.understood(find(settings.text(), program))?
    {
        return changed(context, "there", "it is there already");
    }
    let what = "This puts ctxrelay's status line into your Claude settings (user scope); a status \
                line of yours runs in it.";
    settings.change(context, &after, what, yes)?;
    changed(
        context,
        "installed",
        "installed; a Claude that runs shows it in a moment",
    )
}

fn remove(context: &CliContext, settings: &ClaudeSettings, yes: bool) -> CliOutcome {
    let Some(after) = settings.understood(without_ours(settings.text()))? else {
        return changed(context, "absent", "it is not installed");
    };
    let what = "This takes ctxrelay's status line out of your Claude settings (user scope).";
    settings.change(context, &after, what, yes)?;
    changed(
        context,
        "removed",
        "removed; a status line of yours is as before",
    )
}

fn status(context: &CliContext, settings: &ClaudeSettings, program: &Path) -> CliOutcome {
    let (state, around, more) = match settings.understood(find(settings.text(), program))? {
        StatusLineFound::Absent => ("absent", None, ["", ""]),
        StatusLineFound::Ours {
            around,
            is_current: true,
        } => ("installed", around, ["", ""]),
        StatusLineFound::Ours {
            around,
            is_current: false,
        } => {
            let more = [", as another ctxrelay wrote it", "; `install` renews it"];
            ("outdated", around, more)
        }
    };
    let path = settings.path.display().to_string();
    let value = json!({"settings": path, "state": state, "around": around});
    let yours = around.map_or_else(String::new, |around| format!(", around yours: {around}"));
    let [written, renewed] = more;
    let line = format!("{state}{written}{yours}{renewed} ({path})");
    context.out.report(Report::new(&value, line))
}

fn not_understood(path: &Path, why: &str) -> Failure {
    Failure::state(
        ProgramCode::SettingsNotUnderstood,
        format!(
            "your Claude settings in {} stay as they are: {why}",
            path.display()
        ),
        "mend the file by hand, and run the command again",
    )
}
