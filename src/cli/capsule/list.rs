//! `ctxrelay capsule list`.

use serde_json::{Value, json};

use super::CapsuleListArgs;
use super::check::tone;
use super::maker::{CapsuleMaker, MadeCapsule};
use crate::adapters::git::deadline::GitDeadline;
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::output::Tone;
use crate::cli::report::{Report, ReportText};
use crate::cli::text::words::{count, short};
use crate::core::capsule::Freshness;
use crate::store::capsules::{CapsuleOwner, ListPlace};

/// How much of a title fits its line, in characters.
const TITLE_CHARS: usize = 60;

pub(super) fn run(context: &CliContext, args: &CapsuleListArgs) -> CliOutcome {
    let maker = CapsuleMaker::open(&context.project)?;
    let current = maker.world.current_task(&context.project.runtime_session);
    let current = current.map(|task| task.id.clone());
    let mut places = maker.places();
    let total = places.len();
    let before = match &args.after {
        None => 0,
        Some(cursor) => behind(&places, cursor).ok_or_else(|| {
            Failure::invalid(
                format!("`{cursor}` is no cursor"),
                "use the `cursor` of the page before",
            )
        })?,
    };
    places.drain(..before);
    places.truncate(args.limit as usize);
    let cursor = places
        .last()
        .filter(|_| before + places.len() < total)
        .map(ListPlace::to_string);
    let ids = places.iter().map(|place| &place.id);
    maker.ask_git_ahead(ids, GitDeadline::NONE);
    let mut rows = Vec::new();
    let mut text = ReportText::new();
    if total == 0 {
        text.note("no tasks; open one with `ctxrelay capsule new TITLE`");
    }
    for ListPlace { id, .. } in &places {
        let is_current = current.as_ref() == Some(id);
        match maker.freshness(id) {
            Ok((made, freshness)) => {
                let made = maker.shown(made);
                rows.push(row(&made, freshness, is_current));
                line(&mut text, &made, freshness, is_current);
            }
            Err(failure) => {
                rows.push(json!({"id": id, "error": failure.message}));
                let said = format!("{id}  {}", failure.message);
                text.spans(&[(Tone::Bad, &said)]);
            }
        }
    }
    if total > places.len() {
        let (from, to) = (before + 1, before + places.len());
        let all = count(total as u64, "task", "tasks");
        let more = cursor
            .as_ref()
            .map(|cursor| format!("; more with --after {cursor}"));
        text.note(format!(
            "{from} to {to} of {all}{}",
            more.unwrap_or_default()
        ));
    }
    let value = json!({"capsules": rows, "cursor": cursor, "total": total});
    context.out.report(Report::new(&value, text))
}

/// How many stand before what follows a cursor: a place, whatever became of the task that stood
/// there, or the id of a task that is listed.
fn behind(places: &[ListPlace], cursor: &str) -> Option<usize> {
    match ListPlace::parse(cursor) {
        Some(place) => Some(places.partition_point(|it| *it <= place)),
        None => {
            let at = places.iter().position(|it| it.id.as_str() == cursor)?;
            Some(at + 1)
        }
    }
}

fn row(made: &MadeCapsule, freshness: Freshness, is_current: bool) -> Value {
    let capsule = &made.capsule;
    json!({
        "id": capsule.id,
        "title": capsule.title,
        "status": capsule.status,
        "freshness": freshness,
        "bytes": made.bytes.len(),
        "findings": capsule.findings.len(),
        "current": is_current,
        "foreign": made.owner == CapsuleOwner::Foreign,
        "remarks": made.remarks,
    })
}

fn line(out: &mut ReportText, made: &MadeCapsule, freshness: Freshness, is_current: bool) {
    let capsule = &made.capsule;
    let mark = if is_current { "▸ " } else { "  " };
    let whose = match made.owner {
        CapsuleOwner::Project => String::new(),
        CapsuleOwner::Foreign => "  from elsewhere".to_owned(),
    };
    out.spans(&[
        (Tone::Plain, mark),
        (Tone::Faint, &format!("{}  ", capsule.id)),
        (Tone::Plain, &format!("{:<7}", capsule.status.to_string())),
        (tone(freshness), &format!("{:<9}", freshness.as_str())),
        (Tone::Plain, &short(&capsule.title, TITLE_CHARS)),
        (Tone::Faint, &whose),
    ]);
    for remark in &made.remarks {
        out.spans(&[(Tone::Plain, "    "), (Tone::Warning, remark)]);
    }
}
