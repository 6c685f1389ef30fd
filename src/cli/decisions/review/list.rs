//! `ctxrelay review list` and `show`.

use serde_json::{Value, json};

use super::named;
use crate::adapters::finding_place::FindingPlaces;
use crate::adapters::git::deadline::GitDeadline;
use crate::cli::connection::record_now::RecordNow;
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::offline::disk;
use crate::cli::output::Tone;
use crate::cli::report::{Report, ReportText};
use crate::cli::text::masking::Masking;
use crate::cli::text::words::{count, short};
use crate::core::entry::{EntryKind, FindingSeverity};
use crate::core::id::FindingId;
use crate::core::review::{FindingPlace, unquoted};
use crate::core::snapshot::{FINDINGS_MAX, FindingCursor, FindingSnapshot, FindingState};

/// How much of a title fits its line, in characters.
const TITLE_CHARS: usize = 60;

/// Findings when nobody names a number.
const LIMIT: usize = 50;

/// The most at once: as many as are kept.
const LIMIT_MAX: u64 = FINDINGS_MAX as u64;

/// Arguments of `review list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ctxrelay review list --json | jq .findings[0].path")]
pub struct ListArgs {
    /// At most this many findings, 2000 at once
    #[arg(long, default_value_t = LIMIT, value_name = "N", value_parser = limit)]
    pub limit: usize,
    /// Go on after this `cursor`
    #[arg(long, value_name = "CURSOR", value_parser = cursor)]
    pub after: Option<FindingCursor>,
}

fn limit(text: &str) -> Result<usize, String> {
    let number = text.parse().ok();
    number
        .filter(|number| (1..=LIMIT_MAX).contains(number))
        .map(|number| number as usize)
        .ok_or_else(|| format!("a number from 1 to {LIMIT_MAX}"))
}

fn cursor(text: &str) -> Result<FindingCursor, String> {
    FindingCursor::read(text).ok_or_else(|| "not the `cursor` of a page before".to_owned())
}

pub(super) fn run(context: &CliContext, args: &ListArgs) -> CliOutcome {
    let record = RecordNow::open(&context.project)?;
    let world = record.world();
    let places = FindingPlaces::open(&context.project.dirs.root, GitDeadline::NONE);
    let mut text = ReportText::new();
    let mut rows = Vec::new();
    let found = match args.after {
        Some(cursor) => world.findings_after(cursor),
        None => world.findings_in_order(),
    };
    let page = &found[..args.limit.min(found.len())];
    for (id, finding) in page {
        // What is over stands where it stood.
        let place = finding.is_live().then(|| places.of(&finding.facts));
        rows.push(row(id, finding, place.as_ref()));
        line(&mut text, id, finding, place.as_ref());
    }
    let blocking = world.blocking_findings().count() as u64;
    if world.findings.is_empty() {
        text.note("no review findings; import some with `ctxrelay review import`");
    } else if blocking > 0 {
        text.note(format!(
            "{} the work from being signed off",
            count(blocking, "finding keeps", "findings keep")
        ));
    }
    let last = page.last().filter(|_| page.len() < found.len());
    let cursor = last.map(|(_, finding)| finding.cursor().to_string());
    if let Some(cursor) = &cursor {
        let limit = match args.limit {
            LIMIT => String::new(),
            limit => format!(" --limit {limit}"),
        };
        text.note(format!(
            "{} more: `ctxrelay review list{limit} --after {cursor}`",
            found.len() - page.len()
        ));
    }
    let total = world.findings.len();
    let value = json!({"findings": rows, "total": total, "cursor": cursor});
    context.out.report(Report::new(&value, text))
}

pub(super) fn show(context: &CliContext, name: &str) -> CliOutcome {
    let record = RecordNow::open(&context.project)?;
    let world = record.world();
    let (id, finding) = named(world, name)?;
    let masking = Masking::load(&context.project);
    masking.tell(&|remark| context.out.note(remark));
    let places = FindingPlaces::open(&context.project.dirs.root, GitDeadline::NONE);
    let place = places.shown(&finding.facts, &masking.redactor());
    let mut value = row(id, finding, Some(&place));
    let mut text = ReportText::new();
    line(&mut text, id, finding, Some(&place));
    let (words, suggestions) = said(&record, finding)?;
    if let Some(url) = &finding.facts.url {
        text.spans(&[(Tone::Faint, "  "), (Tone::Faint, url)]);
    }
    if let Some(claim) = &finding.claim {
        let claimed = format!("  claimed by {} in entry {}", claim.by, claim.seq);
        text.spans(&[(Tone::Faint, &claimed)]);
    }
    if let Some(verdict) = finding
        .verdict
        .as_ref()
        .filter(|verdict| !verdict.reason.is_empty())
    {
        text.spans(&[(Tone::Faint, "  you      "), (Tone::Plain, &verdict.reason)]);
    }
    text.block("  ", &words);
    for suggestion in &suggestions {
        text.spans(&[(Tone::Faint, "  it suggests")]);
        text.block("  + ", suggestion);
    }
    if !place.lines.is_empty() {
        text.spans(&[(Tone::Faint, &format!("  the file now: {}", place.told()))]);
    }
    for (number, shown) in (place.first..).zip(&place.lines) {
        let is_it = place.is_at(number);
        let mark = if is_it { "▸" } else { " " };
        let tone = if is_it { Tone::Warning } else { Tone::Plain };
        text.spans(&[
            (Tone::Faint, &format!("  {mark}{number:>5}  ")),
            (tone, shown),
        ]);
    }
    value["text"] = words.into();
    value["suggestions"] = json!(suggestions);
    value["place"] = json!(place);
    value["reason"] = json!(finding.verdict.as_ref().map(|verdict| &verdict.reason));
    context.out.report(Report::new(&value, text))
}

/// Its words and what it suggests, from the entry that has them.
fn said(record: &RecordNow, finding: &FindingSnapshot) -> Result<(String, Vec<String>), Failure> {
    let stored = record.read(finding.seq);
    let stored = stored.map_err(|error| disk::unreadable(record.path(), &error))?;
    Ok(match stored.map(|stored| stored.entry) {
        Some(entry) => match entry.kind {
            EntryKind::Finding(record) => (unquoted(&entry.content), record.suggestions),
            _ => Default::default(),
        },
        None => Default::default(),
    })
}

fn row(id: &FindingId, finding: &FindingSnapshot, place: Option<&FindingPlace>) -> Value {
    let facts = &finding.facts;
    json!({
        "id": finding.id,
        "externalId": id,
        "severity": facts.severity,
        "severityBy": facts.severity_by,
        "state": finding.state,
        "path": facts.path_here(),
        "outside": facts.is_outside(),
        "startLine": facts.start_line,
        "line": facts.line,
        "startNow": place.and_then(|place| place.start_now),
        "lineNow": place.and_then(|place| place.line_now),
        "lineFate": place.map(|place| &place.fate),
        "title": facts.title,
        "author": facts.author,
        "bot": facts.bot,
        "url": facts.url,
        "seq": finding.seq,
        "review": facts.review,
        "outdated": facts.outdated,
        "claimedBy": finding.claim.as_ref().map(|claim| claim.by),
        "blocks": finding.is_blocking(),
        "since": finding.since(),
    })
}

fn line(
    out: &mut ReportText,
    id: &FindingId,
    finding: &FindingSnapshot,
    place: Option<&FindingPlace>,
) {
    let facts = &finding.facts;
    let severity = facts.severity.as_ref();
    let tone = match severity {
        _ if !finding.is_live() => Tone::Faint,
        _ if finding.is_blocking() => Tone::Bad,
        Some(FindingSeverity::Medium) => Tone::Warning,
        _ => Tone::Plain,
    };
    let word = severity.map_or_else(|| "-".to_owned(), ToString::to_string);
    let state = match &finding.state {
        FindingState::Open => Tone::Warning,
        FindingState::Claimed => Tone::Plain,
        _ => Tone::Faint,
    };
    let at = facts.told_place().unwrap_or_else(|| "the whole".to_owned());
    let now = place.and_then(FindingPlace::told_elsewhere);
    let now = now.map(|now| format!(" ({now})"));
    let outdated = if facts.outdated { ", outdated" } else { "" };
    let since = finding.since().map(|since| format!(", {since}"));
    let since = since.unwrap_or_default();
    let bot = if facts.bot { " (bot)" } else { "" };
    out.spans(&[
        (tone, &format!("{word:<9}")),
        (state, &format!("{:<10}", finding.state.to_string())),
        (
            Tone::Plain,
            &format!("{at}{}{outdated}{since}  ", now.unwrap_or_default()),
        ),
        (Tone::Plain, &short(&facts.title, TITLE_CHARS)),
        (Tone::Faint, &format!("  {}{bot}  {id}", facts.author)),
    ]);
}
