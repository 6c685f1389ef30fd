//! `ctxrelay capsule log`: what was recorded for a task.

use std::io;

use serde_json::{Value, json};

use super::maker::CapsuleMaker;
use crate::cli::context::CliContext;
use crate::cli::disk;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::output::Tone;
use crate::cli::report::{Report, ReportText};
use crate::cli::words::{now_ms, short, time};
use crate::core::entry::Predecessor;
use crate::core::id::{CapsuleId, SessionId};
use crate::store::ledger::{EntryFilter, Reading, Stored};

/// How many entries are read at once.
const PAGE: usize = 500;

/// How many sessions are followed back.
const SESSIONS_MAX: usize = 100;

/// How much of an entry's text fits its line, in characters.
const TEXT_CHARS: usize = 90;

pub(super) fn run(context: &CliContext, name: &str) -> CliOutcome {
    let id = CapsuleMaker::open(&context.setting)?.id_of(name)?;
    let entries = entries(context, &id)?;
    let mut text = ReportText::new();
    if entries.is_empty() {
        text.note("nothing was recorded for it here");
    }
    let now_ms = now_ms();
    for stored in &entries {
        let entry = &stored.entry;
        let at = format!("{:>6}  {}  ", entry.seq.0, time(entry.timestamp_ms, now_ms));
        let what = format!("{:<14}", entry.kind.type_name());
        let said = format!("{}: {}", entry.source, short(&entry.content, TEXT_CHARS));
        text.spans(&[
            (Tone::Faint, &at),
            (Tone::Faint, &what),
            (Tone::Plain, &said),
        ]);
    }
    let entries: Vec<Value> = entries.iter().map(Stored::to_value).collect();
    let value = json!({"id": id, "entries": entries});
    context.out.report(Report::new(&value, text))
}

/// Oldest first, through the sealed sessions that this one follows; what was carried on counts
/// where it stood first.
fn entries(context: &CliContext, id: &CapsuleId) -> Result<Vec<Stored>, Failure> {
    let mut sessions = Vec::new();
    let mut next = disk::current_reading(&context.setting)?;
    while let Some(reading) = next.take() {
        let (mut found, before) =
            of_session(&reading, id).map_err(|error| disk::unreadable(reading.path(), &error))?;
        if let Some(before) = before.filter(|_| sessions.len() < SESSIONS_MAX) {
            next = sealed(context, &before.session_id);
            if next.is_some() {
                found.retain(|stored| stored.entry.carried.is_none());
            }
        }
        sessions.push(found);
    }
    Ok(sessions.into_iter().rev().flatten().collect())
}

/// A session that is not there any more ends the log.
fn sealed(context: &CliContext, session: &SessionId) -> Option<Reading> {
    disk::reading(&context.setting, session.as_str()).ok()
}

fn of_session(reading: &Reading, id: &CapsuleId) -> io::Result<(Vec<Stored>, Option<Predecessor>)> {
    let mut found = Vec::new();
    let mut from = None;
    loop {
        let page = reading.page(&EntryFilter::default(), from, true, PAGE)?;
        let of_task = page.entries.into_iter();
        found.extend(of_task.filter(|stored| stored.entry.task().as_ref() == Some(id)));
        from = page.next;
        if from.is_none() {
            return Ok((found, reading.snapshot().predecessor.clone()));
        }
    }
}
