//! [`Cli`] and [`Verb`]: everything that can be typed, and the grouped `--help`.
//!
//! Knows the words; the file of each verb does the work.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::cli::agents::agent::AgentArgs;
use crate::cli::agents::bridge;
use crate::cli::agents::hold;
use crate::cli::agents::hook;
use crate::cli::agents::statusline;
use crate::cli::capsule;
use crate::cli::decisions::approvals;
use crate::cli::decisions::finality;
use crate::cli::decisions::gates;
use crate::cli::decisions::review;
use crate::cli::deliveries::handoff;
use crate::cli::deliveries::queue;
use crate::cli::help::completions;
use crate::cli::help::guide;
use crate::cli::help::man;
use crate::cli::lifecycle::daemon;
use crate::cli::lifecycle::instances;
use crate::cli::lifecycle::kill;
use crate::cli::record::continuity;
use crate::cli::record::instructions;
use crate::cli::record::ledger;
use crate::cli::record::recover;
use crate::cli::record::redact;
use crate::cli::record::search;
use crate::cli::record::status;
use crate::cli::screen::notify;
use crate::cli::screen::pair;
use crate::cli::setup::claude_plugin;
use crate::cli::setup::codex_mcp;
use crate::cli::setup::config;
use crate::cli::setup::doctor;
use crate::cli::setup::init;
use crate::cli::setup::policy;
use crate::cli::setup::trust;
use crate::cli::setup::unbuilt;
use crate::cli::setup::uninit;
use crate::cli::signing::operator_key;
use crate::cli::text::later::Later;
use crate::demo::SPEEDS;

/// The command line.
#[derive(Debug, Parser)]
#[command(
    name = "ctxrelay",
    version,
    about = "Claude Code and Codex side by side as one auditable team",
    disable_help_subcommand = true,
    after_help = "Example: run `ctxrelay` in a project, then `ctxrelay claude` and `ctxrelay codex` beside it."
)]
pub struct Cli {
    /// The project's folder [default: the nearest folder above with .contextrelay/, else the git
    /// root, else here]
    #[arg(long, global = true, value_name = "DIR")]
    pub project: Option<PathBuf>,
    /// Print exactly one JSON value, also on failure
    #[arg(long, global = true)]
    pub json: bool,
    /// Not in this version
    #[arg(long, hide = true, value_name = "NAME")]
    pub pair: Option<OsString>,
    /// Without one: the deck.
    #[command(subcommand)]
    pub verb: Option<Verb>,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Make a project ready: config, first session, plugin, instructions
    Init(init::Args),
    /// Take back everything that init did
    Uninit(uninit::Args),
    /// Both agents beside the deck, in tmux panes
    Pair(pair::Args),
    /// Claude Code with the plugin
    #[command(after_help = "Example: ctxrelay claude --model opus 'read the open handoffs'")]
    Claude(AgentArgs),
    /// The Codex terminal on the daemon's thread
    #[command(after_help = "Example: ctxrelay codex")]
    Codex(AgentArgs),
    /// The deck on a throw-away project with two scripted agents
    Demo(DemoArgs),
    /// The daemon without a screen
    Daemon(daemon::Args),

    /// What runs, and how it is
    Status(status::Args),
    /// What went wrong, what is open, and how to go on
    Recover(recover::Args),
    /// What each agent would know after a compaction
    #[command(subcommand, after_help = "Example: ctxrelay continuity show claude")]
    Continuity(Later<continuity::Verb>),
    /// Tasks that can travel: opened, shown, checked, exported
    #[command(
        subcommand,
        after_help = "Example: ctxrelay capsule list\n\n\
            What says (operator) is recorded by the project's daemon: `ctxrelay` or `ctxrelay daemon \
            --detach` starts one. The rest needs none."
    )]
    Capsule(Later<capsule::Verb>),
    /// What reviews of a pull request say, and what becomes of it
    #[command(subcommand, after_help = "Example: ctxrelay review import 12")]
    Review(Later<review::Verb>),
    /// Which rules of the project's files each agent reads or is given
    Instructions(instructions::Args),
    /// Words in the record, in archives and in tasks
    Search(search::Args),
    /// The record
    #[command(
        subcommand,
        after_help = "Example: ctxrelay ledger search \"login page\""
    )]
    Ledger(Later<ledger::Verb>),
    /// Messages on their way, both directions
    #[command(subcommand, after_help = "Example: ctxrelay queue list")]
    Queue(Later<queue::Verb>),
    /// Work that was handed over
    #[command(subcommand, after_help = "Example: ctxrelay handoff close 01997b2e-…")]
    Handoff(Later<handoff::Verb>),
    /// Sign-off: proposals that the work is done
    #[command(subcommand, after_help = "Example: ctxrelay finality list")]
    Finality(Later<finality::Verb>),
    /// What the agents ask you before they go on, and your answer
    #[command(subcommand, after_help = "Example: ctxrelay approvals list")]
    Approvals(Later<approvals::Verb>),
    /// Evidence: the project's commands that you trust, run by the daemon
    #[command(subcommand, after_help = "Example: ctxrelay gates run")]
    Gates(Later<gates::Verb>),
    /// Run all required gates and record one release gate (operator)
    #[command(name = "release-gate")]
    ReleaseGate(gates::ReleaseArgs),
    /// Who alone writes to git
    Coordinator(policy::CoordinatorArgs),
    /// What the agents may do, and whether each rule is enforced
    #[command(subcommand, after_help = "Example: ctxrelay permissions status")]
    Permissions(Later<policy::Verb>),

    /// The plugin for a plain `claude`
    #[command(
        subcommand,
        name = "claude-plugin",
        after_help = "Example: ctxrelay claude-plugin install"
    )]
    ClaudePlugin(Later<claude_plugin::Verb>),
    /// The MCP server for a plain `codex`
    #[command(
        subcommand,
        name = "codex-mcp",
        after_help = "Example: ctxrelay codex-mcp install"
    )]
    CodexMcp(Later<codex_mcp::Verb>),

    /// Check the project, the daemon and the agents
    Doctor(doctor::Args),
    /// The projects on this machine
    Instances(instances::Args),
    /// Stop the daemon, and keep the agents from starting it again
    Kill(kill::Args),
    /// How you are told that something waits, and a try of it
    Notify(notify::Args),
    /// See what the redaction would mask in a file
    Redact(redact::Args),
    /// The project's configuration
    #[command(subcommand, after_help = "Example: ctxrelay config show")]
    Config(Later<config::Verb>),
    /// See and trust what has power in the project's configuration
    Trust(trust::Args),
    /// The key that signs your decisions
    #[command(subcommand, after_help = "Example: ctxrelay operator key new")]
    Operator(Later<operator_key::Verb>),
    /// Completions for a shell
    Completions(completions::Args),
    /// The manual page
    Man(man::Args),
    /// The guide, page by page
    Guide(guide::Args),

    /// The MCP server that Claude starts
    #[command(hide = true)]
    Bridge(bridge::Args),
    /// The plugin's monitor, which wakes Claude
    #[command(hide = true)]
    Doorbell,
    /// A hook of Claude
    #[command(hide = true)]
    Hook(hook::Args),
    /// What Claude shows below its composer
    #[command(hide = true)]
    Statusline(statusline::Args),
    /// A child that dies with its owner
    #[command(hide = true)]
    Hold(hold::Args),
    /// Run a program in a session of its own
    #[command(hide = true)]
    Apart(hold::Args),

    /// The scripted app-server of the demo
    #[command(
        hide = true,
        name = "demo-codex",
        disable_help_flag = true,
        disable_version_flag = true
    )]
    DemoCodex(DemoCodexArgs),

    /// Not in this version
    #[command(
        hide = true,
        name = unbuilt::VERBS[0],
        aliases = &unbuilt::VERBS[1..],
        override_usage = "ctxrelay COMMAND"
    )]
    Unbuilt(unbuilt::Args),
}

impl Cli {
    /// Whether this version only says that it does not have it.
    pub fn is_unbuilt(&self) -> bool {
        self.pair.is_some() || self.verb.as_ref().is_some_and(Verb::is_unbuilt)
    }
}

impl Verb {
    fn is_unbuilt(&self) -> bool {
        match self {
            Self::Claude(args) | Self::Codex(args) => args.pair.is_some(),
            Self::Config(Later(config::Verb::Show { origin })) => *origin,
            Self::Search(args) => args.place == search::SearchPlace::Unbuilt,
            Self::Unbuilt(_)
            | Self::Config(Later(config::Verb::Set(_) | config::Verb::Unset(_))) => true,
            Self::Doctor(args) => args.contract.is_some(),
            Self::Status(args) => args.all,
            _ => false,
        }
    }
}

/// Arguments of `demo`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ctxrelay demo --speed 2")]
pub struct DemoArgs {
    /// How fast the scripted agents work, 0.02 to 1000; 1 is the pace of a reader
    #[arg(long, default_value_t = 1.0, value_name = "N", value_parser = speed)]
    pub speed: f64,
}

fn speed(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|speed| SPEEDS.contains(speed))
        .ok_or_else(|| format!("a number from {} to {}", SPEEDS.start(), SPEEDS.end()))
}

/// Arguments of the scripted app-server; it reads them itself, as the real one would.
#[derive(Debug, clap::Args)]
pub struct DemoCodexArgs {
    /// Everything
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub args: Vec<OsString>,
}

/// The groups of the help, in its order.
const GROUPS: [(&str, &[&str]); 4] = [
    (
        "Work",
        &[
            "init", "uninit", "pair", "claude", "codex", "demo", "daemon",
        ],
    ),
    (
        "Look",
        &[
            "status",
            "recover",
            "continuity",
            "capsule",
            "review",
            "instructions",
            "search",
            "ledger",
            "queue",
            "handoff",
            "finality",
            "approvals",
            "gates",
            "release-gate",
            "coordinator",
            "permissions",
        ],
    ),
    ("Plain agents", &["claude-plugin", "codex-mcp"]),
    (
        "Care",
        &[
            "doctor",
            "instances",
            "kill",
            "notify",
            "redact",
            "config",
            "trust",
            "operator",
            "completions",
            "guide",
            "man",
        ],
    ),
];

/// The whole command line, with its help in groups; the words behind a verb are there once it is
/// built.
pub fn command() -> clap::Command {
    let command = Cli::command();
    let groups = grouped(&command);
    command.help_template(format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}{{after-help}}"
    ))
}

/// The command line without what is hidden in it, for a shell that offers what can be typed. clap's own
/// generators offer hidden commands too.
pub fn offered() -> clap::Command {
    let mut command = Cli::command();
    // With the words behind each verb, and with clap's own help, which it adds again.
    command.build();
    without_hidden(&command)
}

fn without_hidden(command: &clap::Command) -> clap::Command {
    let args = command
        .get_arguments()
        .filter(|arg| !(arg.is_hide_set() || ["help", "version"].contains(&arg.get_id().as_str())));
    let visible = command
        .get_subcommands()
        .filter(|sub| !(sub.is_hide_set() || sub.get_name() == "help"));
    clap::Command::new(command.get_name().to_owned())
        .disable_help_subcommand(true)
        .about(command.get_about().cloned().unwrap_or_default())
        .args(args.cloned())
        .subcommands(visible.map(without_hidden))
}

fn grouped(command: &clap::Command) -> String {
    let mut text = String::from("Alone, `ctxrelay` opens the deck of this project.\n\n");
    for (heading, names) in GROUPS {
        let _ = writeln!(text, "{heading}:");
        for name in names {
            let about = command
                .find_subcommand(name)
                .and_then(clap::Command::get_about)
                .map(ToString::to_string)
                .unwrap_or_default();
            let _ = writeln!(text, "  {name:<15}{about}");
        }
        text.push('\n');
    }
    text
}

/// Reads a command line.
///
/// # Errors
///
/// What clap says, `--help` and `--version` included.
pub fn parse(args: Vec<OsString>) -> Result<Cli, clap::Error> {
    let matches = command().try_get_matches_from(args)?;
    Cli::from_arg_matches(&matches)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn the_help_names_every_verb_once_and_each_has_an_example() {
        let mut command = command();
        let abouts = |command: &clap::Command| -> Vec<String> {
            let verbs = command.get_subcommands();
            verbs
                .map(|verb| format!("{:?}", verb.get_about()))
                .collect()
        };
        let before = abouts(&command);
        command.build();
        assert_eq!(abouts(&command), before);
        let shown: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
            let count = shown
                .iter()
                .filter(|name| **name == verb.get_name())
                .count();
            assert_eq!(count, 1, "{}", verb.get_name());
            let mut leaves: Vec<&clap::Command> = verb.get_subcommands().collect();
            leaves.push(verb);
            for leaf in leaves.iter().filter(|leaf| !leaf.is_hide_set()) {
                let help = leaf
                    .get_after_help()
                    .map(ToString::to_string)
                    .unwrap_or_default();
                assert!(
                    help.starts_with("Example"),
                    "{} has no example",
                    leaf.get_name()
                );
            }
        }
        for name in shown {
            assert!(command.find_subcommand(name).is_some(), "{name}");
        }
    }

    #[test]
    fn an_agents_own_flags_are_kept_as_they_are() {
        let words = [
            "ctxrelay",
            "claude",
            "--dry-run",
            "-p",
            "--model",
            "x",
            "say hi",
            "--json",
        ];
        let cli = parse(words.iter().map(OsString::from).collect()).unwrap();
        let Some(Verb::Claude(args)) = cli.verb else {
            panic!("{cli:?}")
        };
        assert!(args.dry_run);
        assert_eq!(args.args, ["-p", "--model", "x", "say hi", "--json"]);
        assert!(!cli.json);
    }
}
