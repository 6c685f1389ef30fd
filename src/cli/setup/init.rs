//! `ctxrelay init`: prepares a project. Can be repeated.

use std::io::IsTerminal as _;
use std::path::Path;
use std::time::Duration;

use clap::ValueEnum;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::cli::agents::claude::{
    check_plugin, market, plugin_dir, plugin_failure, plugin_spec, write_plugin,
};
use crate::cli::connection::connect::{self, DaemonFound, wait_for};
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, ExitKind, Failure};
use crate::cli::offline::disk::{self, policy_on_disk, unreadable};
use crate::cli::setup::instruction_files::{FILE_BYTES_MAX, Homes, Plan};

use crate::cli::connection::operator;
use crate::cli::output::Tone;
use crate::cli::report::{Report, ReportText};
use crate::core::instructions::managed_instructions;
use crate::core::managed_block::{Unpaired, diff, with_block, without_block};
use crate::core::word::words;
use crate::store::dirs::{exists, if_there, read_private, write_private};
use crate::store::user_file::{behind, replace};

/// How long the daemon that writes the first entry may take to end.
const END_WAIT: Duration = Duration::from_secs(15);

/// Arguments of `init`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ctxrelay init --dry-run")]
pub struct Args {
    /// A managed block in the CLAUDE.md or AGENTS.md that each agent reads, or none
    #[arg(long, value_enum, default_value_t = Instructions::Project)]
    pub instructions: Instructions,
    /// Do not ask before such a file is changed
    #[arg(long)]
    pub yes: bool,
    /// Say what would be done and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Where the instructions go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Instructions {
    /// Into the project's own files.
    Project,
    /// Nowhere.
    Skip,
}

/// One thing that was done, or not.
#[derive(Debug)]
pub struct InitStep {
    pub what: String,
    pub state: InitState,
}

words! {
    /// What became of it.
    pub closed enum InitState {
        Made = "made",
        Removed = "removed",
        /// It was there, as it has to be.
        There = "there",
        /// It stays, though it should not.
        Left = "left",
        /// Only said, and not done.
        Would = "would",
        Absent = "absent",
    }
}

impl InitStep {
    pub(in crate::cli) fn new(what: impl Into<String>, state: InitState) -> Self {
        let what = what.into();
        Self { what, state }
    }
}

pub fn run(context: &CliContext, args: &Args) -> CliOutcome {
    check_plugin(&context.project)?;
    let mut steps = vec![
        session(context, args.dry_run)?,
        config(context, args.dry_run)?,
        plugin(context, args.dry_run)?,
    ];
    steps.extend(installed_plugin(context, args.dry_run)?);
    if args.instructions == Instructions::Project {
        steps.extend(instruct(context, args)?);
    }
    report(context, &steps)?;
    if !args.dry_run {
        context.out.note(
            "next: `ctxrelay pair` opens the deck, Claude Code and Codex; `ctxrelay` the deck alone",
        );
    }
    if let Some(main) = context.project.dirs.main_of_worktree() {
        context.out.note(&format!(
            "this is a git worktree of {}, whose record is another one",
            main.display()
        ));
    }
    Ok(ExitKind::Ok)
}

/// The block in the files that the agents read, and out of those in which it is in the way.
fn instruct(context: &CliContext, args: &Args) -> Result<Vec<InitStep>, Failure> {
    let root = &context.project.dirs.root;
    let plan = Plan::of(root, &Homes::from_env());
    let body = managed_instructions(policy_on_disk(&context.project).coordinator);
    let mut steps = Vec::new();
    for name in &plan.with {
        let change = |text: &str| with_block(text, &body).map(Some);
        let path = root.join(name);
        steps.push(edit(context, &path, args.yes, args.dry_run, change)?);
    }
    for name in &plan.without {
        steps.extend(take_out(context, name, args.yes, args.dry_run)?);
    }
    steps.extend(plan.left.map(|what| InitStep::new(what, InitState::Left)));
    Ok(steps)
}

/// Takes our block out of a file of the project, and the file away when it holds nothing else.
/// `None` when no block is in it.
///
/// # Errors
///
/// As [`edit`].
pub fn take_out(
    context: &CliContext,
    name: &str,
    yes: bool,
    dry_run: bool,
) -> Result<Option<InitStep>, Failure> {
    let path = context.project.dirs.root.join(name);
    let mut step = edit(context, &path, yes, dry_run, without_block)?;
    if step.state == InitState::Made {
        step.state = InitState::Removed;
    }
    Ok((step.state != InitState::There).then_some(step))
}

/// Prints what was done.
///
/// # Errors
///
/// When standard output cannot be written.
pub fn report(context: &CliContext, steps: &[InitStep]) -> CliOutcome {
    let values: Vec<Value> = steps
        .iter()
        .map(|step| json!({"what": step.what, "state": step.state.as_str()}))
        .collect();
    let mut text = ReportText::new();
    for step in steps {
        let tone = match step.state {
            InitState::Made | InitState::Removed => Tone::Good,
            InitState::Left => Tone::Warning,
            InitState::There | InitState::Would | InitState::Absent => Tone::Faint,
        };
        text.spans(&[
            (tone, &format!("{:<8}", step.state.as_str())),
            (Tone::Plain, &step.what),
        ]);
    }
    context
        .out
        .report(Report::new(&json!({"steps": values}), text))
}

/// The folders, `current` and the first session: what a daemon makes when it starts. One that
/// runs has done so; else one runs for a moment, so that there is one way to begin a record.
fn session(context: &CliContext, dry_run: bool) -> Result<InitStep, Failure> {
    let project = &context.project;
    let what = "the project's record in .contextrelay/".to_owned();
    let begun = disk::current(project)?.is_some_and(|(_, path)| exists(&path));
    if begun {
        return Ok(InitStep::new(what, InitState::There));
    }
    if dry_run {
        return Ok(InitStep::new(what, InitState::Would));
    }
    wait_for(async {
        if let DaemonFound::Live(_) = connect::control(project).await {
            return Ok(());
        }
        operator::lifts_kill(project)?;
        let mut running = project.start_daemon().await?;
        running.handle.shutdown(false).await;
        match timeout(END_WAIT, running.ended()).await {
            Ok(ended) => ended.map_err(Failure::from),
            Err(_) => Err(Failure::internal(
                "begin the record",
                "the daemon did not end in time",
            )),
        }
    })?;
    Ok(InitStep::new(what, InitState::Made))
}

/// An empty configuration to be filled; an existing one is never touched.
fn config(context: &CliContext, dry_run: bool) -> Result<InitStep, Failure> {
    let path = context.project.dirs.config();
    let what = "the configuration .contextrelay/config.json".to_owned();
    if exists(&path) {
        return Ok(InitStep::new(what, InitState::There));
    }
    if !dry_run {
        write_private(&path, b"{\n  \"version\": 1\n}\n")
            .map_err(|error| unwritable(&path, &error))?;
    }
    Ok(InitStep::new(
        what,
        if dry_run {
            InitState::Would
        } else {
            InitState::Made
        },
    ))
}

fn plugin(context: &CliContext, dry_run: bool) -> Result<InitStep, Failure> {
    let project = &context.project;
    let dir = plugin_dir(project);
    let state = if plugin_spec(project).is_current(&dir) {
        InitState::There
    } else if dry_run {
        InitState::Would
    } else {
        write_plugin(project)?;
        InitState::Made
    };
    Ok(InitStep::new(
        format!("the Claude plugin in {}", dir.display()),
        state,
    ))
}

/// The plugin for a plain `claude`, where it was installed for another program or version.
fn installed_plugin(context: &CliContext, dry_run: bool) -> Result<Option<InitStep>, Failure> {
    let project = &context.project;
    let market = market(project);
    if !market.is_there() || market.is_current() {
        return Ok(None);
    }
    let renewed = match dry_run {
        true => Ok(false),
        false => market.renew(),
    };
    let state = match renewed.map_err(|error| plugin_failure(project, &error))? {
        true => InitState::Made,
        false if dry_run => InitState::Would,
        false => InitState::Left,
    };
    let what = match state {
        InitState::Left => "the installed Claude plugin, which is of another program or registry",
        _ => "the installed Claude plugin",
    };
    Ok(Some(InitStep::new(what, state)))
}

/// Changes a file of the user's: shows the diff and asks first. Without a terminal and without
/// `--yes` it is left alone. `change` gives `None` when nothing is to be done; a file in which
/// nothing remains is removed.
///
/// # Errors
///
/// When the file cannot be read or written.
pub fn edit(
    context: &CliContext,
    path: &Path,
    yes: bool,
    dry_run: bool,
    change: impl Fn(&str) -> Result<Option<String>, Unpaired>,
) -> Result<InitStep, Failure> {
    let name = path
        .strip_prefix(&context.project.dirs.root)
        .unwrap_or(path)
        .display()
        .to_string();
    let step = |what: String, state| Ok(InitStep::new(what, state));
    // A link is followed to a file of the project: AGENTS.md is often one to CLAUDE.md.
    let real = match behind(&context.project.dirs.root, path) {
        Ok(real) => real,
        Err(why) => return step(format!("{name}: {why}"), InitState::Left),
    };
    let before = content(&real)?;
    let Ok(text) = str::from_utf8(before.as_deref().unwrap_or_default()) else {
        return step(format!("{name}: it is not text in UTF-8"), InitState::Left);
    };
    let after = match change(text) {
        Ok(Some(after)) if after != text => after,
        Ok(_) => return step(format!("the instructions in {name}"), InitState::There),
        Err(why) => return step(format!("{name}: {why}; mend them by hand"), InitState::Left),
    };
    let mut shown = ReportText::new();
    shown.spans(&[(Tone::Strong, &name)]);
    shown.diff(diff(text, &after));
    context.out.aside(shown)?;
    if dry_run {
        return step(format!("the instructions in {name}"), InitState::Would);
    }
    if !yes && !agrees(context, &name)? {
        return step(
            format!("{name} as it was; change it with --yes"),
            InitState::Left,
        );
    }
    // An editor or an agent may have written it while the question stood.
    if content(&real)? != before {
        return step(
            format!("{name} was changed meanwhile; run it again"),
            InitState::Left,
        );
    }
    if after.trim().is_empty() {
        std::fs::remove_file(&real).map_err(|error| unwritable(&real, &error))?;
    } else {
        replace(&real, &after, before.is_some()).map_err(|error| unwritable(&real, &error))?;
    }
    step(format!("the instructions in {name}"), InitState::Made)
}

/// What a file holds; `None` where there is none.
fn content(path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    if_there(read_private(path, FILE_BYTES_MAX)).map_err(|error| unreadable(path, &error))
}

fn agrees(context: &CliContext, name: &str) -> Result<bool, Failure> {
    if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        return Ok(false);
    }
    let answer = context.out.ask(&format!("Change {name}? [y/N]"))?;
    Ok(matches!(answer.as_deref(), Some("y" | "Y" | "yes")))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::unwritable(
        path,
        error,
        "make it writable for you, or name another folder with --project",
    )
}
