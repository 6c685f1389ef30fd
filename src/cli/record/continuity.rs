//! `ctxrelay continuity …`: what each agent would know of its work after a compaction, and the
//! operator's corrections to it.

mod change;
mod compact;
mod pack;
mod packet;
mod show;
mod status;
mod sync_file;

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

pub(in crate::cli) use pack::pack;
pub(in crate::cli) use status::{of_compaction, of_packet};

use crate::cli::context::CliContext;
use crate::cli::exit::CliOutcome;
use crate::cli::text::agent_word::agent_word;
use crate::cli::text::words::said;
use crate::core::agent::Agent;

/// What can be done about it.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// How both agents keep the thread of their work
    #[command(after_help = "Example: ctxrelay continuity status --json")]
    Status,
    /// What an agent is at, or what it was given after its last compaction
    #[command(after_help = "Example: ctxrelay continuity show claude --as packet")]
    Show(ShowStateArgs),
    /// The objective; with a text it is set (operator)
    #[command(after_help = "Example: ctxrelay continuity objective 'nobody is logged out' --pin")]
    Objective(ObjectiveArgs),
    /// Set what a JSON file says: objective, plan, hypothesis; lists of constraints, assumptions,
    /// decisions, questions, which are added to; and nextSteps, which take the place of all but
    /// those that you gave since the agent's last turn began (operator)
    #[command(after_help = "Example: ctxrelay continuity sync state.json --for codex")]
    Sync(SyncArgs),
    /// Have the agents forget a file, or something that was said (operator)
    #[command(after_help = "Example: ctxrelay continuity forget src/old.rs")]
    Forget(ForgetArgs),
    /// Write what the record holds of each agent's work as files, under `state/continuity`
    #[command(after_help = "Example: ctxrelay continuity pack")]
    Pack,
    /// Have the agents forget all of what they are at; the record keeps it (operator)
    #[command(after_help = "Example: ctxrelay continuity reset codex")]
    Reset(ResetArgs),
    /// Compact an agent's context, between its turns; of Codex only (operator)
    #[command(after_help = "Example: ctxrelay continuity compact codex")]
    Compact(CompactContextArgs),
}

/// Arguments of `continuity show`.
#[derive(Debug, clap::Args)]
pub struct ShowStateArgs {
    /// Whose; both without
    #[arg(value_name = "AGENT", value_parser = agent_word())]
    pub agent: Option<Agent>,
    /// What: its state, the packet exactly as it was given, its files and results, or what happened
    #[arg(long = "as", value_name = "FORM", default_value = "state")]
    pub form: StateForm,
}

/// The forms in which it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StateForm {
    /// Each value with who said it and where.
    State,
    /// The text that the agent was given.
    Packet,
    /// The files that it touched last, and its results.
    Index,
    /// What happened in its work, a line each.
    Log,
}

/// Arguments of `continuity objective`.
#[derive(Debug, clap::Args)]
pub struct ObjectiveArgs {
    /// What is to be reached; without, what is held now
    #[arg(value_name = "TEXT", value_parser = said)]
    pub text: Option<String>,
    /// It stays until you change it, whatever an agent says
    #[arg(long, requires = "text")]
    pub pin: bool,
    /// Only of this agent
    #[arg(long = "for", value_name = "AGENT", value_parser = agent_word())]
    pub agent: Option<Agent>,
}

/// Arguments of `continuity sync`.
#[derive(Debug, clap::Args)]
pub struct SyncArgs {
    /// The file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Only of this agent
    #[arg(long = "for", value_name = "AGENT", value_parser = agent_word())]
    pub agent: Option<Agent>,
}

/// Arguments of `continuity forget`.
#[derive(Debug, clap::Args)]
pub struct ForgetArgs {
    /// A file as `continuity show` names it, or the id of a value or the end of it
    #[arg(value_name = "PATH|ID")]
    pub what: String,
}

/// Arguments of `continuity reset`.
#[derive(Debug, clap::Args)]
pub struct ResetArgs {
    /// Whose; both without
    #[arg(value_name = "AGENT", value_parser = agent_word())]
    pub agent: Option<Agent>,
}

/// Arguments of `continuity compact`.
#[derive(Debug, clap::Args)]
pub struct CompactContextArgs {
    /// Whose
    #[arg(value_name = "AGENT", value_parser = agent_word())]
    pub agent: Agent,
}

pub fn run(context: &CliContext, verb: Verb) -> CliOutcome {
    match verb {
        Verb::Status => status::run(context),
        Verb::Show(args) => show::run(context, &args),
        Verb::Objective(args) => change::objective(context, args),
        Verb::Sync(args) => change::sync(context, &args),
        Verb::Forget(args) => change::forget(context, &args.what),
        Verb::Pack => pack::run(context),
        Verb::Reset(args) => change::reset(context, args.agent),
        Verb::Compact(args) => compact::run(context, args.agent),
    }
}
