//! `ctxrelay recover`: where the work stands, what went wrong, what is open, and how each agent
//! goes on. Read-only.

mod contexts;
mod counted_latest;
mod cut_off;
mod last_conversation;
mod pairs;
mod parts;
mod prompt;
mod state;
mod told_work;
mod tree;

use std::ops::ControlFlow;
use std::sync::Arc;

use ctxrelay_ui::model::{self as ui, AgentRecovery, RecoveryView};
use serde_json::{Value, json};

use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::offline::disk;
use crate::cli::offline::seen_claude::cut_off_turns;
use crate::cli::output::Tone;
use crate::cli::record::status;
use crate::cli::report::{Report, ReportText};
use crate::cli::text::agent_word::agent_word;
use crate::cli::text::masking::Masking;
use crate::cli::text::words::now_ms;
use crate::core::agent::Agent;
use crate::core::entry::DeliveryResult;
use crate::core::fold::fold;
use crate::core::id::EntryId;
use crate::core::snapshot::{MessageSnapshot, Snapshot};
use crate::host::ProjectContext;
use crate::store::ledger;
use crate::store::owner::is_held;
use crate::wire::status::Status;
use contexts::RecoveredContexts;
use cut_off::RecoveredTurns;
pub(in crate::cli) use last_conversation::LastConversation;
use pairs::RecoveredPairs;
use parts::{bounded, parts, show};
use prompt::ResumePrompts;
use tree::RecoveredTree;

/// How many failures and interrupted turns are told: the last ones are what one recovers from.
const RECENT_MAX: usize = 10;

/// How much of a text is told, in characters.
const TEXT_CHARS: usize = 200;

/// Arguments of `recover`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ctxrelay recover --prompt claude | pbcopy")]
pub struct Args {
    /// Print only what to tell this agent so that it goes on
    #[arg(long, value_name = "AGENT", value_parser = agent_word())]
    pub prompt: Option<Agent>,
}

/// What the record tells.
#[derive(Default)]
struct Past {
    world: Snapshot,
    pairs: RecoveredPairs,
    contexts: RecoveredContexts,
    turns: RecoveredTurns,
    /// All of them: a snapshot keeps the latest.
    failures: usize,
}

pub fn run(context: &CliContext, args: &Args) -> CliOutcome {
    let project = &context.project;
    let mut past = past(project)?;
    let tree = RecoveredTree::read(&project.dirs.root);
    let masking = Masking::load(project);
    masking.tell(&|remark| context.out.note(remark));
    if let Some(agent) = args.prompt {
        let prompt = ResumePrompts::new(&masking, &past, &tree).of(agent);
        let value = json!({"agent": agent, "prompt": prompt});
        let mut text = ReportText::new();
        text.block("", prompt);
        return context.out.report(Report::new(&value, text));
    }
    let status = status::read(project)?;
    past.know_cut_off(&status);
    let prompts = ResumePrompts::new(&masking, &past, &tree);
    let value = to_json(&status, &past, &tree, &prompts);
    let text = text(&status, &past, &tree, &prompts);
    context.out.report(Report::new(&value, text))
}

/// From the file itself, whether a daemon runs or not: its record is on the disk before anybody
/// is answered.
fn past(project: &ProjectContext) -> Result<Past, Failure> {
    let mut past = Past {
        pairs: RecoveredPairs::new(project.runtime_session.clone()),
        ..Past::default()
    };
    let Some(believed) = disk::current_reading(project)? else {
        return Ok(past);
    };
    past.world = Snapshot::believing_after(believed.snapshot().foreign_through);
    let path = believed.path();
    // What stands behind its end is not believed, or has come since.
    ledger::read_to(path, believed.stats().bytes, |stored| {
        past.turns.take(&stored.entry, &past.world);
        let before = past.world.errors.back().map(|error| error.seq);
        fold(&mut past.world, &stored.entry);
        let now = past.world.errors.back().map(|error| error.seq);
        past.failures += usize::from(now > before);
        past.world.note_hash(&stored.entry.id, &stored.hash);
        // A task of long ago that was opened again tells nothing of where the work stands, nor does
        // what was said of one that nobody is at.
        if !stored.entry.only_rebuilds_task() && !stored.entry.is_of_task_only() {
            past.pairs.take(&stored.entry);
            past.contexts.take(&stored.entry);
        }
        ControlFlow::Continue(())
    })
    .map_err(|error| disk::unreadable(path, &error))?;
    if !is_held(&project.dirs) {
        past.turns.daemon_ended(&past.world);
        cut_off_turns(&mut past.world, now_ms());
        // No turn runs that anybody is at work in.
        for agent in past.world.agents.values_mut() {
            agent.turn_text = None;
        }
        let asked = &mut past.world.open_approvals;
        asked.retain(|_, asked| asked.outlives_daemon());
    }
    past.turns.see_who_runs(now_ms());
    Ok(past)
}

impl Past {
    /// What Claude's turns left unread: while a daemon runs, it alone knows.
    fn know_cut_off(&mut self, status: &Status) {
        let world = &mut self.world;
        for id in &status.agents.claude.cut_off_ids {
            if let Some(message) = world.unsettled.get(id) {
                world.cut_off.insert(id.clone(), Arc::clone(message));
            }
        }
    }

    fn undelivered(&self) -> impl Iterator<Item = (&EntryId, &Arc<MessageSnapshot>)> {
        let messages = self.world.unsettled.iter();
        messages.filter(|(_, message)| !message.is_proven())
    }
}

/// For the deck; the record is read from the disk, and the daemon is asked what it alone knows.
/// Otherwise a sentence.
pub(in crate::cli) fn recovery_view(project: &ProjectContext) -> Result<RecoveryView, String> {
    let mut past = past(project).map_err(|failure| failure.to_string())?;
    // What the record tells is shown without it too.
    if let Ok(status) = status::read(project) {
        past.know_cut_off(&status);
    }
    let tree = RecoveredTree::read(&project.dirs.root);
    let prompts = ResumePrompts::new(&Masking::load(project), &past, &tree);
    let of = |agent, of| AgentRecovery {
        agent: of,
        command: past.pairs.state().resume_command(agent),
        prompt: prompts.of(agent),
    };
    Ok(RecoveryView {
        parts: parts(&past, &tree).into_iter().map(bounded).collect(),
        agents: vec![
            of(Agent::Claude, ui::Agent::Claude),
            of(Agent::Codex, ui::Agent::Codex),
        ],
    })
}

fn to_json(
    status: &Status,
    past: &Past,
    tree: &RecoveredTree,
    prompts: &ResumePrompts<'_>,
) -> Value {
    let world = &past.world;
    let errors: Vec<_> = world.errors.iter().rev().take(RECENT_MAX).collect();
    let handoffs: Vec<_> = world.standing_handoffs().collect();
    let never_had: Vec<_> = world.never_delivered_handoffs().collect();
    let undelivered = past.undelivered().map(|(id, message)| {
        json!({
            "id": id,
            "seq": message.seq,
            "from": message.from,
            "to": message.to,
            "pair": message.pair(),
            "at": message.at_ms,
            "state": message.result.map_or("pending", DeliveryResult::as_str),
        })
    });
    let mut told = json!({
        "running": status.running,
        "sessionId": status.session_id,
        "errors": errors,
        "openHandoffs": handoffs,
        "handoffsNobodyGot": never_had,
        "undelivered": undelivered.collect::<Vec<_>>(),
        "pendingProposals": world.pending_proposals.keys().collect::<Vec<_>>(),
        "git": tree.to_json(),
        "resume": {
            "claude": prompts.of(Agent::Claude),
            "codex": prompts.of(Agent::Codex),
        },
        "commands": {
            "claude": past.pairs.state().resume_command(Agent::Claude),
            "codex": past.pairs.state().resume_command(Agent::Codex),
        },
    });
    let parts = [
        past.turns.to_json(world),
        past.pairs.to_json(),
        past.pairs.state().to_json(world, past.pairs.own()),
        past.contexts.to_json(world, past.pairs.own()),
    ];
    for part in parts {
        if let (Value::Object(told), Value::Object(part)) = (&mut told, part) {
            told.extend(part);
        }
    }
    told
}

fn text(
    status: &Status,
    past: &Past,
    tree: &RecoveredTree,
    prompts: &ResumePrompts<'_>,
) -> ReportText {
    let mut text = ReportText::new();
    let out = &mut text;
    if !status.running {
        out.spans(&[
            (Tone::Warning, "no daemon runs"),
            (Tone::Faint, "; start it with `ctxrelay`"),
        ]);
    }
    let now = now_ms();
    for part in parts(past, tree) {
        show(out, &part, now);
    }
    for agent in Agent::ALL {
        let command = past.pairs.state().resume_command(agent);
        out.spans(&[
            (Tone::Strong, &format!("Tell {}", agent.title())),
            (Tone::Faint, &format!("  after `{command}`")),
        ]);
        let earlier: Vec<&str> = past.pairs.state().conversations().skip(1).collect();
        if agent == Agent::Claude && !earlier.is_empty() {
            let told = format!("  conversations before that one: {}", earlier.join(", "));
            out.spans(&[(Tone::Faint, &told)]);
        }
        out.block("  ", prompts.of(agent));
    }
    text
}
