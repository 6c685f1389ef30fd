//! `ctxrelay queue drain` and `ctxrelay queue rebuild`: operations on the whole outbox.

use serde_json::json;

use crate::cli::connection::connect::wait_for;
use crate::cli::connection::operator;
use crate::cli::context::CliContext;
use crate::cli::deliveries::queue::{DrainArgs, RebuildArgs, from_disk, rows, table};
use crate::cli::deliveries::queue_names::QueueNames;
use crate::cli::exit::{CliOutcome, ExitKind, Failure};
use crate::cli::offline::alone::{alone, unwritable};
use crate::cli::report::{Report, ReportText};
use crate::cli::text::words::count;
use crate::core::agent::Agent;
use crate::core::id::EntryId;
use crate::store::queue::Queue;
use crate::wire::control::{Command, QueueDrainParams, QueueRow};

/// `queue drain`.
pub fn drain(context: &CliContext, args: &DrainArgs) -> CliOutcome {
    let to = args.to;
    wait_for(async {
        let (_, rows) = rows(context).await?;
        let (taken, left): (Vec<QueueRow>, Vec<QueueRow>) = rows
            .into_iter()
            .filter(|row| to.is_none_or(|to| row.to == to))
            // What Codex has is on no way any more.
            .filter(|row| !row.is_cut_off() || row.to == Agent::Claude)
            .partition(|row| {
                let state = row.state.known();
                row.is_cut_off()
                    || state.is_some_and(|state| QueueRow::can_be_removed(row.to, *state))
            });
        let what = format!(
            "{} taken back and not given again{}",
            are(taken.len()),
            match left.len() {
                0 => String::new(),
                left => format!("; {} on the way, see `ctxrelay queue remove`", are(left)),
            }
        );
        if !args.apply {
            return would(context, "drain", &taken, &what);
        }
        let command = Command::QueueDrain(QueueDrainParams {
            to,
            // What comes meanwhile was not shown, and waits on.
            ids: Some(taken.iter().map(|row| row.id.clone()).collect()),
        });
        let ids: Vec<EntryId> = operator::ask(context, command, &what, "drain").await?;
        done(context, "drain", &ids, "taken back")
    })
}

/// `queue rebuild`: by the daemon, or here under the owner's lock when none runs, so that it does
/// not depend on what it repairs.
pub fn rebuild(context: &CliContext, args: &RebuildArgs) -> CliOutcome {
    let live = match wait_for(rows(context)) {
        Ok((_, rows)) => Some(rows),
        Err(failure) if failure.kind == ExitKind::Unavailable => None,
        Err(failure) => return Err(failure),
    };
    let is_live = live.is_some();
    let unproven: Vec<QueueRow> = match live {
        Some(rows) => rows,
        None => from_disk(context)?,
    }
    .into_iter()
    .filter(|row| !row.is_cut_off())
    .filter(|row| {
        row.state
            .known()
            .copied()
            .is_none_or(QueueRow::becomes_ambiguous)
    })
    .collect();
    let what = format!(
        "the queue is made anew from the record; {} ambiguous by it: none of them is sent again \
         unless you say so (`ctxrelay queue retry ID --apply`), and then as shown before",
        are(unproven.len())
    );
    if !args.apply {
        return would(context, "rebuild", &unproven, &what);
    }
    if is_live {
        return wait_for(async {
            let rebuild = Command::QueueRebuild;
            let ids: Vec<EntryId> = operator::ask(context, rebuild, &what, "rebuild").await?;
            done(context, "rebuild", &ids, "ambiguous now")
        });
    }
    if let Some(refusal) = operator::own_refusal() {
        return Err(refusal);
    }
    operator::confirm(context, &what, "rebuild")?;
    here(context)?;
    let ids: Vec<EntryId> = unproven.into_iter().map(|row| row.id).collect();
    done(context, "rebuild", &ids, "ambiguous from the next start on")
}

/// Without a daemon: the next start finds no queue, and calls ambiguous what has no proof.
fn here(context: &CliContext) -> Result<(), Failure> {
    let dirs = &context.project.dirs;
    let _lock = alone(dirs)?;
    Queue::set_aside(dirs).map_err(|error| unwritable(dirs, error))
}

fn are(number: usize) -> String {
    let verb = if number == 1 { "is" } else { "are" };
    format!("{} {verb}", count(number as u64, "message", "messages"))
}

fn would(context: &CliContext, change: &str, rows: &[QueueRow], what: &str) -> CliOutcome {
    let value = json!({"dryRun": true, "change": change, "messages": rows});
    let text = ReportText::dry_run(what, |text| {
        table(text, rows, &QueueNames::from_disk(context, rows));
    });
    context.out.report(Report::new(&value, text))
}

fn done(context: &CliContext, change: &str, ids: &[EntryId], what: &str) -> CliOutcome {
    let number = count(ids.len() as u64, "message", "messages");
    let value = json!({"change": change, "ids": ids});
    context
        .out
        .report(Report::new(&value, format!("{number} {what}")))
}
