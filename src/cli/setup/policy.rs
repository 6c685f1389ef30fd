//! `ctxrelay coordinator` and `ctxrelay permissions …`: the operator's rules for the agents, and
//! whether each is enforced.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Subcommand, ValueEnum};
use serde_json::{Value, json};

use crate::cli::connection::connect::{self, DaemonFound, wait_for};
use crate::cli::connection::operator;
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::offline::disk::policy_on_disk;
use crate::cli::output::Tone;
use crate::cli::report::{Report, ReportText};
use crate::cli::text::agent_word::agent_word;
use crate::core::agent::Agent;
use crate::core::entry::RuleName;
use crate::core::policy::{Coordinator, Permission, PermissionRule, PolicyChange, RuleInForce};
use crate::wire::control::{Command, PolicySet};
use crate::wire::status::PolicyStatus;

/// What the operator types.
const WORD: &str = "yes";

/// Arguments of `coordinator`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ctxrelay coordinator claude")]
pub struct CoordinatorArgs {
    /// Who alone writes to git from now on (operator); says who it is when left out
    #[arg(value_name = "WHO")]
    pub to: Option<CoordinatorWord>,
}

/// Who writes to git.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CoordinatorWord {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// You, and no agent.
    Human,
    /// No rule: everybody may.
    Nobody,
}

/// What can be done about permissions.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// The rules, and whether each is ENFORCED or ADVISORY
    #[command(after_help = "Example: ctxrelay permissions status --json")]
    Status,
    /// Set what a permission comes to (operator)
    #[command(after_help = "Example: ctxrelay permissions set network ask --agent claude")]
    Set(SetArgs),
    /// The switch with which no agent's tools change files or git (operator)
    #[command(
        name = "read-only",
        after_help = "Example: ctxrelay permissions read-only on"
    )]
    ReadOnly(ReadOnlyArgs),
}

/// Arguments of `permissions set`.
#[derive(Debug, clap::Args)]
pub struct SetArgs {
    /// Which
    #[arg(value_parser = permission(), value_name = "PERMISSION")]
    pub permission: Permission,
    /// What it comes to
    pub rule: RuleWord,
    /// For one agent; for both without it
    #[arg(long, value_name = "AGENT", value_parser = agent_word())]
    pub agent: Option<Agent>,
}

/// What a permission comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RuleWord {
    /// As the agent's own settings have it.
    Allow,
    /// The agent asks you first.
    Ask,
    /// No.
    Deny,
    /// Nothing is said of it here.
    Unset,
}

/// Arguments of `permissions read-only`.
#[derive(Debug, clap::Args)]
pub struct ReadOnlyArgs {
    /// On or off
    pub state: SwitchWord,
}

/// A switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SwitchWord {
    /// On.
    On,
    /// Off.
    Off,
}

fn permission() -> impl TypedValueParser<Value = Permission> {
    let names = PossibleValuesParser::new(Permission::ALL.map(Permission::as_str));
    names.try_map(|word| {
        let mut all = Permission::ALL.into_iter();
        all.find(|it| it.as_str() == word)
            .ok_or("there is no such permission")
    })
}

pub fn coordinator(context: &CliContext, args: &CoordinatorArgs) -> CliOutcome {
    let Some(word) = args.to else {
        return show_coordinator(context);
    };
    let to = match word {
        CoordinatorWord::Claude => Some(Coordinator::Claude),
        CoordinatorWord::Codex => Some(Coordinator::Codex),
        CoordinatorWord::Human => Some(Coordinator::Human),
        CoordinatorWord::Nobody => None,
    };
    let what = match to {
        Some(Coordinator::Human) => "Only you write to git from now on, and no agent.".to_owned(),
        Some(to) => format!("Only {} writes to git from now on; and you.", title(to)),
        None => "Whoever wants to writes to git from now on.".to_owned(),
    };
    change(context, PolicyChange::Coordinator { to }, &what)
}

pub fn permissions(context: &CliContext, verb: &Verb) -> CliOutcome {
    match verb {
        Verb::Status => status(context),
        Verb::Set(args) => {
            let rule = match args.rule {
                RuleWord::Allow => Some(PermissionRule::Allow),
                RuleWord::Ask => Some(PermissionRule::Ask),
                RuleWord::Deny => Some(PermissionRule::Deny),
                RuleWord::Unset => None,
            };
            let wanted = PolicyChange::Permission {
                permission: args.permission,
                agent: args.agent,
                rule,
            };
            change(context, wanted, &format!("From now on: {wanted}."))
        }
        Verb::ReadOnly(args) => {
            let on = args.state == SwitchWord::On;
            let what = match on {
                true => "No agent's tools change files or git from now on.",
                false => "The agents' tools change files and git again.",
            };
            change(context, PolicyChange::ReadOnly { on }, what)
        }
    }
}

fn change(context: &CliContext, change: PolicyChange, what: &str) -> CliOutcome {
    let command = Command::SetPolicy(change);
    let set: PolicySet = wait_for(operator::ask(context, command, what, WORD))?;
    let policy = policy(context)?;
    let mut text = ReportText::new();
    text.note(format!("{change}, recorded as entry {}", set.seq));
    for name in &set.rewritten {
        text.note(format!(
            "{name} says so now; agents read it when they start"
        ));
    }
    for why in &set.left {
        text.spans(&[(Tone::Warning, "left  "), (Tone::Plain, why)]);
    }
    rows(&mut text, &policy.rules);
    let PolicySet {
        entry_id,
        seq,
        rewritten,
        left,
    } = set;
    let mut value = to_json(&policy);
    value["entryId"] = json!(entry_id);
    value["seq"] = json!(seq);
    value["rewritten"] = json!(rewritten);
    value["left"] = json!(left);
    context.out.report(Report::new(&value, text))
}

fn title(coordinator: Coordinator) -> &'static str {
    match coordinator.agent() {
        Some(agent) => agent.title(),
        None => "the operator",
    }
}

/// As the daemon has it, else as the disk does.
fn policy(context: &CliContext) -> Result<PolicyStatus, Failure> {
    wait_for(async {
        match connect::control(&context.project).await {
            DaemonFound::Live(live) => Ok(live.status().await?.policy),
            DaemonFound::Nobody | DaemonFound::Unfit(_) => Ok(policy_on_disk(&context.project)),
        }
    })
}

fn show_coordinator(context: &CliContext) -> CliOutcome {
    let policy = policy(context)?;
    let mut text = ReportText::new();
    match policy.coordinator {
        Some(coordinator) => text.line(format!("{} alone writes to git", title(coordinator))),
        None => text.line("nobody is the coordinator: whoever wants to writes to git"),
    }
    let of_git: Vec<RuleInForce> = policy
        .rules
        .iter()
        .filter(|rule| rule.rule == RuleName::Coordinator)
        .cloned()
        .collect();
    rows(&mut text, &of_git);
    let value = json!({"coordinator": policy.coordinator, "rules": of_git});
    context.out.report(Report::new(&value, text))
}

fn status(context: &CliContext) -> CliOutcome {
    let policy = policy(context)?;
    let mut text = ReportText::new();
    if policy.rules.is_empty() {
        text.line("no rule is in force: each agent does what its own settings allow");
    }
    if policy.tools_read_only {
        text.line("read only is on");
    }
    rows(&mut text, &policy.rules);
    context.out.report(Report::new(&to_json(&policy), text))
}

fn to_json(policy: &PolicyStatus) -> Value {
    json!({
        "coordinator": policy.coordinator,
        "readOnly": policy.tools_read_only,
        "rules": policy.rules,
    })
}

fn rows(text: &mut ReportText, rules: &[RuleInForce]) {
    for rule in rules {
        let tone = match rule.enforced {
            true => Tone::Good,
            false => Tone::Warning,
        };
        let said = format!(
            "{:<13}{:<8}{:<6}",
            rule.rule,
            rule.agent.title(),
            // As text: what is written piece by piece is not padded.
            rule.comes_to.to_string()
        );
        text.spans(&[
            (tone, &format!("{}  ", rule.mark())),
            (Tone::Plain, &said),
            (Tone::Faint, &rule.why),
        ]);
    }
}
