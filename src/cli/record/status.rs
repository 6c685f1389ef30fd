//! `ctxrelay status`.

mod reading_status;

use crate::cli::connection::difference::{Difference, REPLACE_HINT};
use crate::cli::connection::state_elsewhere::StateElsewhere;
use crate::cli::context::CliContext;
use crate::cli::exit::CliOutcome;
use crate::cli::offline::newer_state::newer_state;
use crate::cli::output::Tone;
use crate::cli::report::{Report, ReportText};
use crate::cli::text::words::{age, count, now_ms};
use crate::core::agent::{Agent, AgentState};
use crate::core::context_fill::ContextFill;
use crate::core::delivery::{LimitMode, Watched};
use crate::core::id::RuntimeSession;
use crate::core::resume_command::is_plain;
use crate::wire::status::{
    AbsentPair, ChainState, EitherStatus, LaneStatus, LedgerStatus, LimitStatus, Status,
};

pub use self::reading_status::read;
pub(in crate::cli) use self::reading_status::read_by;

/// A context that is so full is worth a look.
const FULL_PERCENT: u64 = 80;

/// Arguments of `status`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ctxrelay status --json | jq .agents")]
pub struct Args {
    /// Not in this version
    #[arg(long, hide = true)]
    pub all: bool,
}

pub fn run(context: &CliContext, _args: &Args) -> CliOutcome {
    let mut status = read(&context.project)?;
    if let Some(main) = context.project.dirs.main_of_worktree() {
        status.notices.push(format!(
            "this is a git worktree of {}, whose record is another one: look there with --project",
            main.display()
        ));
    }
    if status.answers
        && let Some(difference) = Difference::of(&context.project.dirs)
    {
        status.notices.push(format!("{difference}: {REPLACE_HINT}"));
    }
    let is_elsewhere = !status.answers && StateElsewhere::of(&context.project).is_some();
    let is_newer = newer_state(&context.project).is_some();
    let text = text(&status, is_elsewhere, is_newer);
    context.out.report(Report::new(&status, text))
}

/// `is_elsewhere`: the daemon's state is where we do not look; `is_newer`: a later version wrote the state,
/// so that none of this one starts. A notice says either.
fn text(status: &Status, is_elsewhere: bool, is_newer: bool) -> ReportText {
    let mut out = ReportText::new();
    out.spans(&[(Tone::Strong, &status.project_root)]);
    daemon(&mut out, status, is_elsewhere, is_newer);
    record(&mut out, &status.ledger);
    agents(&mut out, status);
    work(&mut out, status);
    for notice in &status.notices {
        out.spans(&[(Tone::Warning, "!         "), (Tone::Plain, notice)]);
    }
    // More than its first words: somebody has worked here.
    if !status.running && status.ledger.entries > 1 {
        out.spans(&[(Tone::Faint, "`ctxrelay recover` says how to go on")]);
    }
    out
}

fn daemon(out: &mut ReportText, status: &Status, is_elsewhere: bool, is_newer: bool) {
    if status.running && !status.answers {
        let (said, next) = match is_elsewhere {
            true => ("runs, and cannot be asked from here", ""),
            false => (
                "runs (holds the lock) but does not answer",
                " (stop it with `ctxrelay kill`)",
            ),
        };
        let pid = status
            .pid
            .map_or_else(String::new, |pid| format!(", pid {pid}"));
        out.spans(&[
            (Tone::Faint, "daemon    "),
            (Tone::Bad, said),
            (Tone::Plain, &pid),
            (Tone::Faint, next),
        ]);
    } else if status.running {
        let since = status.started_at.map_or_else(String::new, |at| {
            format!(", up {}", age((now_ms() - at).max(0)))
        });
        let text = format!(
            "pid {}, control port {}, proxy port {}{since}",
            status.pid.unwrap_or_default(),
            status.control_port.unwrap_or_default(),
            status.proxy_port.unwrap_or_default(),
        );
        out.spans(&[
            (Tone::Faint, "daemon    "),
            (Tone::Good, "runs"),
            (Tone::Plain, ", "),
            (Tone::Plain, &text),
        ]);
    } else {
        let next = match is_newer {
            true => "",
            false => " (start it with `ctxrelay`)",
        };
        out.spans(&[
            (Tone::Faint, "daemon    "),
            (Tone::Warning, "not running"),
            (Tone::Faint, next),
        ]);
    }
}

fn record(out: &mut ReportText, ledger: &LedgerStatus) {
    let chain = match ledger.chain {
        ChainState::Ok => Tone::Good,
        ChainState::Broken => Tone::Bad,
        _ => Tone::Warning,
    };
    out.spans(&[
        (Tone::Faint, "record    "),
        (Tone::Plain, &count(ledger.entries, "entry", "entries")),
        (Tone::Plain, ", chain "),
        (chain, &ledger.chain.to_string()),
        (
            Tone::Bad,
            &if ledger.bad_lines > 0 {
                format!(", {}", count(ledger.bad_lines, "bad line", "bad lines"))
            } else {
                String::new()
            },
        ),
    ]);
}

fn agents(out: &mut ReportText, status: &Status) {
    for of in Agent::ALL {
        let (told, lane) = (status.agents.of(of), status.queue.of(of));
        match told.state {
            // What else is told of it, its daemon alone knows.
            AgentState::Unknown => out.spans(&[
                (Tone::Faint, &format!("{of:<10}")),
                (Tone::Warning, "not known"),
            ]),
            _ => agent(out, of, &told, lane),
        }
        let wanted = match of {
            Agent::Claude => {
                let claude = &status.agents.claude;
                for pair in &claude.pairs {
                    let said = format!("pair {}: {}", pair.pair, pair.state.as_str());
                    out.spans(&[(Tone::Faint, "          "), (Tone::Plain, &said)]);
                }
                for absent in &claude.absent_pairs {
                    let said = absent_words(absent);
                    out.spans(&[(Tone::Faint, "          "), (Tone::Warning, &said)]);
                }
                claude.why.clone().filter(|_| claude.tools_gone)
            }
            Agent::Codex => {
                let codex = &status.agents.codex;
                let is_held_up = codex.held || codex.needs_sign_in || lane.pending > 0;
                let held = codex.why.clone().filter(|_| is_held_up);
                let retrying = codex.retrying.as_ref().map(|retrying| {
                    let since = age((now_ms() - retrying.since).max(0));
                    format!("retrying for {since}: {}", retrying.why)
                });
                held.or(retrying)
            }
        };
        fill(out, told.context);
        attention(out, &told, lane, wanted);
    }
}

/// For whom messages wait, and how it is started.
fn absent_words(absent: &AbsentPair) -> String {
    let AbsentPair { pair, unread } = absent;
    let is_first = *pair == RuntimeSession::default().as_str();
    let start = match (is_first, is_plain(pair)) {
        (true, _) => "; start it with `ctxrelay claude`".to_owned(),
        (false, true) => {
            format!("; start it with `CONTEXTRELAY_RUNTIME_SESSION={pair} ctxrelay claude`")
        }
        // It is no word for a shell.
        (false, false) => String::new(),
    };
    format!("pair {pair}: not here, {unread} waiting{start}")
}

/// Tasks, reviews and what waits for the operator.
fn work(out: &mut ReportText, status: &Status) {
    for exchange in &status.exchanges {
        let told = format!(
            "{}; let it go on with `ctxrelay queue retry {} --apply`, or write to either of them",
            exchange.told(),
            exchange.message
        );
        out.spans(&[(Tone::Faint, "held      "), (Tone::Warning, &told)]);
    }
    let tasks = &status.tasks;
    out.spans(&[
        (Tone::Faint, "tasks     "),
        (
            Tone::Plain,
            &format!(
                "{} open, {} active, {} blocked, {} stale, {} done",
                tasks.open, tasks.active, tasks.blocked, tasks.stale, tasks.done
            ),
        ),
        (Tone::Faint, ": handoffs, by how they stand"),
    ]);
    // The word has two uses; the other is a task that travels.
    let current = status.capsule.as_ref().map(ToString::to_string);
    let current = current.unwrap_or_else(|| "none is current".to_owned());
    out.spans(&[
        (Tone::Faint, "capsule   "),
        (Tone::Plain, &current),
        (Tone::Faint, ": the task that the work of now belongs to"),
    ]);
    let questions = status.handoffs.questions;
    if questions > 0 {
        let text = count(questions, "question has", "questions have");
        let waits = format!("{text} no answer yet");
        out.spans(&[
            (Tone::Faint, "questions "),
            (Tone::Plain, &waits),
            (
                Tone::Faint,
                ": `ctxrelay recover` names them, `ctxrelay handoff close ID` ends one",
            ),
        ]);
    }
    let findings = &status.findings;
    if findings.open > 0 {
        let tone = match findings.blocking {
            0 => Tone::Plain,
            _ => Tone::Warning,
        };
        let open = count(
            findings.open,
            "review finding stands",
            "review findings stand",
        );
        let blocking = format!("{open}, {} of high severity", findings.blocking);
        out.spans(&[(Tone::Faint, "reviews   "), (tone, &blocking)]);
    }
    let asked = status.approvals.pending;
    if asked > 0 {
        let text = count(asked, "request waits", "requests wait");
        out.spans(&[
            (Tone::Faint, "asked     "),
            (Tone::Warning, &text),
            (Tone::Faint, " for your answer: `ctxrelay approvals list`"),
        ]);
    }
    if !status.finality.pending.is_empty() {
        let text = count(
            status.finality.pending.len() as u64,
            "proposal waits",
            "proposals wait",
        );
        out.spans(&[
            (Tone::Faint, "sign-off  "),
            (Tone::Warning, &text),
            (Tone::Faint, " for you: `ctxrelay finality list`"),
        ]);
    }
}

/// How full its context is, on a line below its agent.
fn fill(out: &mut ReportText, context: &ContextFill) {
    let Some(used) = context.used else { return };
    let tone = match context.percent {
        Some(FULL_PERCENT..) => Tone::Warning,
        _ => Tone::Plain,
    };
    let mut text = match (context.percent, context.window) {
        (Some(percent), Some(window)) => format!("context {percent}%, {used} of {window} tokens"),
        _ => format!("context {used} tokens, of how many is not known"),
    };
    match context.turns_left {
        Some(0) => text.push_str(", will be compacted"),
        Some(turns) => text.push_str(&format!(", about {} left", count(turns, "turn", "turns"))),
        None => {}
    }
    if context.compactions > 0 {
        let times = count(context.compactions, "time", "times");
        text.push_str(&format!(", compacted {times}"));
    }
    out.spans(&[(Tone::Faint, "          "), (tone, &text)]);
}

/// What it wants of its human, a silent turn, a usage limit, and what lost its turn, each on a line
/// below its agent.
fn attention(
    out: &mut ReportText,
    told: &EitherStatus<'_>,
    lane: &LaneStatus,
    wanted: Option<String>,
) {
    let mut line = |text: String| {
        out.spans(&[(Tone::Faint, "          "), (Tone::Warning, &text)]);
    };
    if let Some(wanted) = wanted {
        line(wanted);
    }
    if let Some(silence) = told.silence.filter(|silence| silence.level > Watched::Fine) {
        let silent = age(i64::try_from(silence.seconds).unwrap_or(0) * 1_000);
        line(format!(
            "{}: no sign of its turn for {silent}",
            silence.level.as_str()
        ));
    }
    if let Some(limit) = told.limit.filter(|limit| limit.mode != LimitMode::Off) {
        line(limit_words(limit, lane, now_ms()));
    }
    if told.cut_off > 0 {
        let messages = count(told.cut_off, "message", "messages");
        line(format!(
            "{messages} whose turn ended early: `ctxrelay queue list` has them"
        ));
    }
}

/// When a limit ends, and what then happens by itself.
fn limit_words(limit: &LimitStatus, lane: &LaneStatus, now: i64) -> String {
    let ends = match limit.resets_at {
        Some(at) if at > now => format!("ends in {}", age(at - now)),
        Some(_) => "should be over".to_owned(),
        None => "its end was not said".to_owned(),
    };
    let waits = lane.pending > 0 || lane.in_flight > 0 || limit.again > 0;
    let then = match limit.next_try {
        Some(at) if waits => format!("tried in {}", age((at - now).max(0))),
        Some(_) => "nothing is sent then by itself".to_owned(),
        None => "waits for a turn that works, or for you in the deck".to_owned(),
    };
    format!("usage limit, {ends}; {then}")
}

fn agent(out: &mut ReportText, agent: Agent, told: &EitherStatus<'_>, lane: &LaneStatus) {
    let tone = match told.state {
        AgentState::Idle | AgentState::Busy => Tone::Good,
        AgentState::Waiting | AgentState::Limited | AgentState::Stale => Tone::Warning,
        AgentState::Offline | AgentState::Unknown => Tone::Faint,
    };
    let mut rest = String::new();
    if !told.installed {
        rest.push_str(", program not found");
    }
    if told.state.is_attached() {
        let proof = if told.delivery.proven {
            "proven"
        } else {
            "not proven yet"
        };
        rest.push_str(&format!(", by {} ({proof})", told.delivery.rung));
    }
    for (n, word) in [(lane.pending, "waiting"), (lane.in_flight, "on the way")] {
        if n > 0 {
            rest.push_str(&format!(", {n} {word}"));
        }
    }
    let ambiguous = if lane.ambiguous > 0 {
        format!(", {} ambiguous", lane.ambiguous)
    } else {
        String::new()
    };
    let word = match told.state {
        AgentState::Idle | AgentState::Busy if told.continuity.compacting => "compacting",
        state => state.as_str(),
    };
    out.spans(&[
        (Tone::Faint, &format!("{agent:<10}")),
        (tone, word),
        (Tone::Plain, &rest),
        (Tone::Bad, &ambiguous),
    ]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_at_which_nothing_waits_promises_no_try() {
        let limit = LimitStatus {
            resets_at: Some(60_000),
            next_try: Some(62_000),
            ..LimitStatus::default()
        };
        let nothing = "usage limit, ends in 1 min; nothing is sent then by itself";
        assert_eq!(limit_words(&limit, &LaneStatus::default(), 0), nothing);
        let tried = "usage limit, ends in 1 min; tried in 1 min";
        for (pending, in_flight, again) in [(1, 0, 0), (0, 1, 0), (0, 0, 1)] {
            let limit = LimitStatus {
                again,
                ..limit.clone()
            };
            let lane = LaneStatus {
                pending,
                in_flight,
                ambiguous: 0,
            };
            assert_eq!(limit_words(&limit, &lane, 0), tried);
        }
    }
}
