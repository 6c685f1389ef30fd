//! `ctxrelay capsule log`: what was recorded for a task.

use std::collections::HashSet;
use std::io;

use serde_json::{Value, json};

use super::LogArgs;
use super::maker::CapsuleMaker;
use crate::cli::context::CliContext;
use crate::cli::disk;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::output::Tone;
use crate::cli::report::{Report, ReportText};
use crate::cli::words::{count, entry_word, now_ms, short, time};
use crate::core::entry::Entry;
use crate::core::id::{CapsuleId, Seq, SessionId};
use crate::store::ledger::{EntryFilter, Reading, Stored};
use crate::store::sealed_way::way_back;

/// How many entries are read at once.
const PAGE: usize = 500;

/// How much of an entry's text fits its line, in characters.
const TEXT_CHARS: usize = 90;

pub(super) fn run(context: &CliContext, args: &LogArgs) -> CliOutcome {
    let id = CapsuleMaker::open(&context.setting)?.id_of(&args.id)?;
    let mut entries = entries(context, &id)?;
    let total = entries.len();
    let earlier = total.saturating_sub(args.limit as usize);
    let entries = entries.split_off(earlier);
    let mut text = ReportText::new();
    if entries.is_empty() {
        text.note("nothing was recorded for it here");
    }
    let now_ms = now_ms();
    let mut session = entries.first().map(|stored| &stored.entry.session_id);
    let is_mixed = entries
        .iter()
        .any(|stored| Some(&stored.entry.session_id) != session);
    if is_mixed && let Some(first) = session {
        text.spans(&[(Tone::Faint, &format!("{first}:"))]);
    }
    for stored in &entries {
        let entry = &stored.entry;
        // Each session counts its entries anew.
        if session != Some(&entry.session_id) {
            session = Some(&entry.session_id);
            text.spans(&[(Tone::Faint, &format!("{}:", entry.session_id))]);
        }
        let at = format!("{:>6}  {}  ", entry.seq.0, time(entry.timestamp_ms, now_ms));
        let what = format!("{:<20}  ", entry_word(&stored.to_value()));
        let said = format!("{}: {}", entry.source, short(&entry.content, TEXT_CHARS));
        text.spans(&[
            (Tone::Faint, &at),
            (Tone::Faint, &what),
            (Tone::Plain, &said),
        ]);
    }
    if earlier > 0 {
        let all = count(total as u64, "entry", "entries");
        text.note(format!(
            "the latest {} of {all}: `--limit {total}` shows all",
            entries.len()
        ));
    }
    let entries: Vec<Value> = entries.iter().map(Stored::to_value).collect();
    let value = json!({"id": id, "entries": entries, "total": total});
    context.out.report(Report::new(&value, text))
}

/// Oldest first, through the sealed sessions that this one follows; what was carried on counts
/// where it stood first, or where it was carried to if that session is not reached.
fn entries(context: &CliContext, id: &CapsuleId) -> Result<Vec<Stored>, Failure> {
    let of_task = |reading: &Reading| {
        of_session(reading, id).map_err(|error| disk::unreadable(reading.path(), &error))
    };
    let Some(current) = disk::current_reading(&context.setting)? else {
        return Ok(Vec::new());
    };
    let mut sessions = vec![of_task(&current)?];
    let way = way_back(&context.setting.dirs, current.snapshot());
    for reached in way {
        let reached = match reached {
            Ok(reached) => reached,
            Err(session) => {
                context.out.note(&format!(
                    "the log begins behind {session}: that session is not as it was sealed"
                ));
                break;
            }
        };
        let reading = disk::reading(&context.setting, reached.session_id.as_str())?;
        sessions.push(of_task(&reading)?);
    }
    let mut shown = HashSet::new();
    let oldest_first = sessions.into_iter().rev().flatten();
    let once = oldest_first.filter(|stored| shown.insert(first_place(&stored.entry)));
    Ok(once.collect())
}

/// Where an entry stood first, wherever it was carried.
fn first_place(entry: &Entry) -> (SessionId, Seq) {
    match &entry.carried {
        Some(first) => (first.session_id.clone(), first.seq),
        None => (entry.session_id.clone(), entry.seq),
    }
}

fn of_session(reading: &Reading, id: &CapsuleId) -> io::Result<Vec<Stored>> {
    let mut found = Vec::new();
    let mut from = None;
    loop {
        let page = reading.page(&EntryFilter::default(), from, true, PAGE)?;
        let of_task = page.entries.into_iter();
        found.extend(of_task.filter(|stored| stored.entry.task().as_ref() == Some(id)));
        from = page.next;
        if from.is_none() {
            return Ok(found);
        }
    }
}
