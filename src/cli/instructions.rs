//! `ctxrelay instructions`: which rules of the project's files each agent has, and how. Reads only.

use std::collections::BTreeMap;

use serde::Serialize;

use super::context::CliContext;
use super::exit::CliOutcome;
use super::output::Tone;
use super::report::{Report, ReportText};
use super::words::count;
use crate::adapters::codex::instruction_names::{codex_home, fallback_names};
use crate::adapters::project_rules::ProjectRules;
use crate::core::agent::Agent;
use crate::core::instructions::{RuleRow, RuleState, SharedRules, read_by};
use crate::core::redact::Redactor;
use crate::store::config;
use crate::wire::config::ShareMode;

/// Arguments of `instructions`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ctxrelay instructions codex")]
pub struct Args {
    /// Of one agent only
    #[arg(value_parser = ["claude", "codex"])]
    pub agent: Option<String>,
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct InstructionsReport {
    /// Whether rules are given at all.
    share: ShareMode,
    agents: BTreeMap<&'static str, Vec<RuleRow>>,
    /// Files that are there and were not read.
    unread: Vec<UnreadFile>,
}

#[derive(Debug, Serialize)]
struct UnreadFile {
    file: String,
    why: String,
}

pub fn run(context: &CliContext, args: &Args) -> CliOutcome {
    let setting = &context.setting;
    let loaded = config::load(&setting.dirs, &setting.user_dirs);
    let redactor = Redactor::with(loaded.rules);
    let rules = ProjectRules::read(&setting.dirs.root, &redactor);
    let fallbacks = fallback_names(&setting.dirs.root, codex_home().as_deref());
    if let Err(why) = &fallbacks {
        context.out.note(&format!("{why}; Codex may read more"));
    }
    let fallbacks = fallbacks.unwrap_or_default();
    let share = loaded.config.instructions.share;
    let agents = Agent::ALL.into_iter().filter(|agent| {
        args.agent
            .as_ref()
            .is_none_or(|only| only == agent.as_str())
    });
    let agents = agents.map(|agent| {
        let read = read_by(agent, &rules.files, &fallbacks);
        let mut rows = SharedRules::of(agent, &rules.files, &read).rows().to_vec();
        if share == ShareMode::Off {
            rows.iter_mut().for_each(withhold);
        }
        (agent.as_str(), rows)
    });
    let report = InstructionsReport {
        share,
        agents: agents.collect(),
        unread: rules
            .unread
            .into_iter()
            .map(|(file, why)| UnreadFile { file, why })
            .collect(),
    };
    let text = text(&report);
    context.out.report(Report::new(&report, text))
}

fn withhold(row: &mut RuleRow) {
    if row.state == RuleState::Given {
        row.state = RuleState::Withheld;
        "instructions.share is off".clone_into(&mut row.why);
    }
}

fn text(report: &InstructionsReport) -> ReportText {
    let mut out = ReportText::new();
    for (agent, rows) in &report.agents {
        let given: usize = rows
            .iter()
            .filter(|row| row.state == RuleState::Given)
            .map(|row| row.chars)
            .sum();
        let given = format!(
            "{} of other files",
            count(given as u64, "character", "characters")
        );
        out.spans(&[
            (Tone::Strong, agent),
            (Tone::Faint, "  is given "),
            (Tone::Plain, &given),
        ]);
        if rows.is_empty() {
            out.spans(&[(Tone::Faint, "  no instruction file is in this project")]);
        }
        for row in rows {
            let (tone, state) = match row.state {
                RuleState::Native => (Tone::Good, "reads"),
                RuleState::Given => (Tone::Good, "given"),
                RuleState::Withheld => (Tone::Warning, "not given"),
            };
            out.spans(&[
                (tone, &format!("  {state:<10}")),
                (Tone::Plain, &format!("{}: {}", row.file, row.paragraph)),
                (Tone::Faint, &format!("  {}", row.why)),
            ]);
        }
    }
    for UnreadFile { file, why } in &report.unread {
        out.spans(&[
            (Tone::Warning, "not read    "),
            (Tone::Plain, file),
            (Tone::Faint, &format!("  {why}")),
        ]);
    }
    out
}
