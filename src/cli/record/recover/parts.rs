//! The parts of a recovery, in the order in which they are read, for the terminal and for the deck.

use std::sync::Arc;

use ctxrelay_ui::model::{RecoveryPart, RecoveryRow};

use super::tree::RecoveredTree;
use super::{Past, RECENT_MAX, TEXT_CHARS};
use crate::cli::output::Tone;
use crate::cli::report::ReportText;
use crate::cli::text::words::{ago, short};
use crate::core::entry::{DeliveryResult, handoff_words};
use crate::core::snapshot::HandoffSnapshot;

/// How many rows of a part the deck shows: it draws all of them each time.
const ROWS_MAX: usize = 20;

/// How much of a row the deck shows, in characters.
const ROW_CHARS: usize = 1_000;

/// A heading with the number of what there is; the rows may be the latest of it alone.
pub(super) fn counted(title: &str, n: usize, rows: Vec<RecoveryRow>) -> RecoveryPart {
    RecoveryPart {
        title: title.to_owned(),
        note: n.to_string(),
        at_ms: None,
        rows,
    }
}

/// As [`counted`], and where the record's state keeps no more than so many of them (`is_full`) the
/// heading says that there may have been more.
pub(super) fn counted_to_bound(
    title: &str,
    n: usize,
    is_full: bool,
    rows: Vec<RecoveryRow>,
) -> RecoveryPart {
    let mut part = counted(title, n, rows);
    if is_full {
        part.note.push_str(" or more");
    }
    part
}

/// A row with when it was, and the id by which it can be named.
pub(super) fn row(at_ms: i64, id: &str, text: String) -> RecoveryRow {
    RecoveryRow {
        at_ms: Some(at_ms),
        id: id.to_owned(),
        code: String::new(),
        text,
    }
}

/// A row of words alone.
pub(super) fn words(text: String) -> RecoveryRow {
    RecoveryRow {
        text,
        ..RecoveryRow::default()
    }
}

/// All of it, whether there is anything or not.
pub(super) fn parts(past: &Past, tree: &RecoveredTree) -> Vec<RecoveryPart> {
    let world = &past.world;
    let pairs = &past.pairs;
    let mut parts = pairs.state().parts(world, pairs);
    parts.extend(pairs.part());
    let errors = world.errors.iter().rev().take(RECENT_MAX).map(|error| {
        let text = short(&error.text, TEXT_CHARS);
        RecoveryRow {
            code: error.code.to_string(),
            ..row(error.at_ms, "", text)
        }
    });
    parts.push(counted("Failures", past.failures, errors.collect()));
    parts.extend(past.turns.parts(world, pairs));
    parts.extend(
        past.contexts
            .parts(world, pairs.own(), past.turns.lack_an_end(world)),
    );
    let handoff_row = |handoff: &Arc<HandoffSnapshot>| {
        let to = handoff.to.as_ref().map_or("?", |to| to.as_str());
        let ask = short(handoff_words(&handoff.from, &handoff.ask), TEXT_CHARS);
        let mark = pairs.mark(handoff.runtime_session.as_ref());
        let text = format!("{} → {to}{mark}: {ask}", handoff.from);
        row(handoff.at_ms, handoff.id.as_str(), text)
    };
    let open: Vec<_> = world.standing_handoffs().map(handoff_row).collect();
    parts.push(counted("Open handoffs", open.len(), open));
    let never_had: Vec<_> = world.never_delivered_handoffs().map(handoff_row).collect();
    if !never_had.is_empty() {
        let title = "Handoffs that nobody got (`ctxrelay handoff close ID` ends one)";
        parts.push(counted(title, never_had.len(), never_had));
    }
    let undelivered: Vec<RecoveryRow> = past
        .undelivered()
        .map(|(id, message)| {
            let state = message.result.map_or("pending", DeliveryResult::as_str);
            let mark = pairs.mark(message.runtime_session.as_ref());
            let text = format!("{} → {}{mark}: {state}", message.from, message.to);
            row(message.at_ms, id.as_str(), text)
        })
        .collect();
    parts.push(counted("Not delivered", undelivered.len(), undelivered));
    parts.push(tree.part());
    parts
}

/// A part as the deck shows it, however much of it there is.
pub(super) fn bounded(mut part: RecoveryPart) -> RecoveryPart {
    let more = part.rows.len().saturating_sub(ROWS_MAX);
    part.rows.truncate(ROWS_MAX);
    for row in &mut part.rows {
        row.text = short(&row.text, ROW_CHARS);
    }
    if more > 0 {
        let all = format!("and {more} more: `ctxrelay recover` prints them");
        part.rows.push(words(all));
    }
    part
}

/// A part on the terminal; ages are as of `now_ms`.
pub(super) fn show(out: &mut ReportText, part: &RecoveryPart, now_ms: i64) {
    let mut note = format!("  {}", part.note);
    if let Some(at) = part.at_ms {
        note.push_str(&format!(", {}", ago(now_ms - at)));
    }
    out.spans(&[(Tone::Strong, &part.title), (Tone::Faint, &note)]);
    for row in &part.rows {
        let Some(at) = row.at_ms else {
            out.block("  ", row.text.as_str());
            continue;
        };
        let mut about = format!("  {:>10}  ", ago(now_ms - at));
        if !row.id.is_empty() {
            about.push_str(&row.id);
            about.push_str("  ");
        }
        let mut spans = vec![(Tone::Faint, about.as_str())];
        if !row.code.is_empty() {
            spans.extend([(Tone::Bad, row.code.as_str()), (Tone::Plain, "  ")]);
        }
        spans.push((Tone::Plain, &row.text));
        out.spans(&spans);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deck_gets_a_screen_of_fifty_thousand_handoffs_and_the_command_for_the_rest() {
        let mut rows = vec![RecoveryRow::default(); 50_001];
        rows[0] = words("é".repeat(100_000));
        let part = bounded(counted("Open handoffs", 50_001, rows));
        assert_eq!(part.note, "50001");
        assert_eq!(part.rows.len(), ROWS_MAX + 1);
        assert!(part.rows[0].text.chars().count() <= ROW_CHARS + 1);
        let last = &part.rows[ROWS_MAX].text;
        assert_eq!(last, "and 49981 more: `ctxrelay recover` prints them");
        let few = counted("Plan", 1, vec![words("weigh".to_owned())]);
        assert_eq!(bounded(few.clone()), few);
    }
}
