//! `ctxrelay instructions`: which of the project's rules each agent receives, and how. Read-only.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::adapters::codex::instruction_names::{codex_home, fallback_names};
use crate::adapters::project_rules::ProjectRules;
use crate::cli::context::CliContext;
use crate::cli::exit::CliOutcome;
use crate::cli::output::Tone;
use crate::cli::record::status;
use crate::cli::report::{Report, ReportText};
use crate::cli::text::masking::Masking;
use crate::cli::text::words::count;
use crate::core::agent::Agent;
use crate::core::instructions::{FileName, RuleRow, RuleState, SharedRules, read_or_said};
use crate::deck::deck_options::RulesOfFiles;
use crate::host::ProjectContext;
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

/// The files of the project, and what decides who has their rules.
struct FilesRead {
    share: ShareMode,
    files: ProjectRules,
    /// As [`fallback_names`] has them.
    fallbacks: Vec<String>,
    /// Why these are not known.
    doubt: Option<String>,
    masking: Masking,
}

impl FilesRead {
    fn of(project: &ProjectContext) -> Self {
        let loaded = config::load(&project.dirs, &project.user_dirs);
        let masking = Masking::of(&loaded);
        let fallbacks = fallback_names(&project.dirs.root, codex_home().as_deref());
        let doubt = fallbacks.as_ref().err();
        Self {
            share: loaded.config.instructions.share,
            files: ProjectRules::read(&project.dirs.root, &masking.redactor()),
            doubt: doubt.map(|why| format!("{why}; Codex may read more")),
            fallbacks: fallbacks.unwrap_or_default(),
            masking,
        }
    }

    /// A row for each paragraph. `said`: the files that the agent says it read; else the rules of its
    /// version count.
    fn rows(&self, agent: Agent, said: Option<BTreeSet<FileName>>) -> Vec<RuleRow> {
        let files = &self.files.files;
        let read = read_or_said(agent, files, &self.fallbacks, said);
        let mut rows = SharedRules::of(agent, files, &read).rows().to_vec();
        if self.share == ShareMode::Off {
            rows.iter_mut().for_each(withhold);
        }
        rows
    }
}

/// What the project's files tell an agent, for the deck. `said`: the files that it says it read.
pub(in crate::cli) fn rules_of_files(
    project: &ProjectContext,
    agent: Agent,
    said: Option<BTreeSet<FileName>>,
) -> RulesOfFiles {
    let read = FilesRead::of(project);
    RulesOfFiles {
        rows: read.rows(agent, said),
        doubts: read
            .doubt
            .into_iter()
            .chain(read.masking.remark())
            .collect(),
        unread: read.files.unread,
    }
}

pub fn run(context: &CliContext, args: &Args) -> CliOutcome {
    let read = FilesRead::of(&context.project);
    read.masking.tell(&|remark| context.out.note(remark));
    if let Some(doubt) = &read.doubt {
        context.out.note(doubt);
    }
    let agents = Agent::ALL.into_iter().filter(|agent| {
        args.agent
            .as_ref()
            .is_none_or(|only| only == agent.as_str())
    });
    let now = status::read(&context.project)?.agents;
    let agents = agents.map(|agent| {
        let said = &now.of(agent).continuity.instructions_read;
        (agent.as_str(), read.rows(agent, said.clone()))
    });
    let report = InstructionsReport {
        share: read.share,
        agents: agents.collect(),
        unread: read
            .files
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
            out.spans(&[(
                Tone::Faint,
                "  no instruction file of this project says more than our own block",
            )]);
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
