//! `ctxrelay capsule log`: what was recorded for a task.

use std::collections::{HashSet, VecDeque};

use serde_json::{Value, json};

use super::LogArgs;
use super::maker::CapsuleMaker;
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::offline::disk;
use crate::cli::output::Tone;
use crate::cli::report::{Report, ReportText};
use crate::cli::text::words::{count, entry_word, now_ms, short, time};
use crate::core::entry::{Entry, EntryKind, TaskStep};
use crate::core::id::{CapsuleId, EntryId, Seq, SessionId};
use crate::store::ledger::{EntryFilter, Reading, Stored};
use crate::store::sealed_way::WayBack;

/// How many entries are read at once.
const PAGE: usize = 500;

/// How much of an entry's text fits its line, in characters.
const TEXT_CHARS: usize = 90;

pub(super) fn run(context: &CliContext, args: &LogArgs) -> CliOutcome {
    let id = CapsuleMaker::open(&context.project)?.id_of(&args.id)?;
    let limit = match args.all {
        true => usize::MAX,
        false => args.limit as usize,
    };
    let mut log = TaskLog::read(context, id, limit, None)?;
    // What it began with was recorded before it, and only its own beginning names that.
    if let Some(begun) = log.begun.take() {
        log = TaskLog::read(context, log.id, limit, Some(begun))?;
    }
    let (id, total, entries) = (log.id, log.total, log.latest);
    let mut text = ReportText::new();
    if entries.is_empty() {
        text.note("nothing was recorded for it here");
    }
    let now_ms = now_ms();
    let mut session = entries.front().map(|stored| &stored.entry.session_id);
    let is_mixed = entries
        .iter()
        .any(|stored| Some(&stored.entry.session_id) != session);
    if is_mixed && let Some(first) = session {
        text.spans(&[(Tone::Faint, &format!("{first}:"))]);
    }
    for stored in &entries {
        let entry = &stored.entry;
        // Each session counts its entries from 1.
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
    if total > entries.len() {
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

/// What was recorded for a task; of that only the latest entries are held.
struct TaskLog {
    id: CapsuleId,
    limit: usize,
    /// The handoff that it began with.
    begun: Option<EntryId>,
    /// Oldest first.
    latest: VecDeque<Stored>,
    total: usize,
    /// What was carried on counts where it stood first, or where it was carried to if that session is
    /// not reached.
    heard: HashSet<(SessionId, Seq)>,
}

impl TaskLog {
    /// Through the sealed sessions that this one follows, where it was not opened in this one: no
    /// entry has its id before.
    fn read(
        context: &CliContext,
        id: CapsuleId,
        limit: usize,
        begun: Option<EntryId>,
    ) -> Result<Self, Failure> {
        let mut log = Self {
            id,
            limit,
            begun,
            latest: VecDeque::new(),
            total: 0,
            heard: HashSet::new(),
        };
        let Some(current) = disk::current_reading(&context.project)? else {
            return Ok(log);
        };
        let opened = match current.snapshot().tasks.get(&log.id) {
            Some(task) => current.read(task.seq),
            None => Ok(None),
        };
        let opened = opened.map_err(|error| disk::unreadable(current.path(), &error))?;
        let opened = opened.filter(|stored| stored.entry.carried.is_none());
        let begun = log.begun.as_ref().map(|begun| current.seq_of(begun));
        let begun = begun.transpose();
        let begun = begun.map_err(|error| disk::unreadable(current.path(), &error))?;
        // In this session stands what it began with, too, unless that was carried here.
        if let (Some(opened), None | Some(Some(_))) = (opened, begun) {
            let first = begun.flatten().unwrap_or(opened.entry.seq);
            log.hear_from(&current, Some(first.0.saturating_sub(1)))?;
            return Ok(log);
        }
        let mut sessions = Vec::new();
        for reached in WayBack::new(&context.project.dirs, current.snapshot()) {
            match reached {
                Ok(reached) => sessions.push(reached),
                Err(session) => {
                    // Once, where it is read again.
                    if log.begun.is_none() {
                        context.out.note(&format!(
                            "the log begins behind {session}: that session is not as it was sealed"
                        ));
                    }
                    break;
                }
            }
        }
        for session in sessions.iter().rev() {
            let read = session.read(|stored| log.hear(stored));
            read.map_err(|error| disk::unreadable(&session.path, &error))?;
        }
        log.hear_from(&current, None)?;
        Ok(log)
    }

    /// What the current session has behind a place.
    fn hear_from(&mut self, current: &Reading, mut from: Option<u64>) -> Result<(), Failure> {
        loop {
            let page = current.page(&EntryFilter::default(), from, true, PAGE);
            let page = page.map_err(|error| disk::unreadable(current.path(), &error))?;
            page.entries
                .into_iter()
                .for_each(|stored| self.hear(stored));
            from = page.next;
            if from.is_none() {
                return Ok(());
            }
        }
    }

    fn hear(&mut self, stored: Stored) {
        let entry = &stored.entry;
        if let EntryKind::Task(record) = &entry.kind
            && record.task == self.id
            && record.step == TaskStep::Opened
            && self.begun.is_none()
        {
            self.begun.clone_from(&record.handoff);
        }
        let is_its = entry.task().as_ref() == Some(&self.id)
            || entry.hands_over(&self.id)
            || matches!(entry.kind, EntryKind::Handoff(_))
                && self.begun.as_ref() == Some(&entry.id);
        if !is_its || !self.heard.insert(first_place(entry)) {
            return;
        }
        self.total += 1;
        self.latest.push_back(stored);
        if self.latest.len() > self.limit {
            self.latest.pop_front();
        }
    }
}

/// Where an entry stood first, wherever it was carried.
fn first_place(entry: &Entry) -> (SessionId, Seq) {
    match &entry.carried {
        Some(first) => (first.session_id.clone(), first.seq),
        None => (entry.session_id.clone(), entry.seq),
    }
}
