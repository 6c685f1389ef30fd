#![allow(clippy::unwrap_used, reason = "tests")]

use serde_json::json;

use super::{DaemonLink, Model};
use crate::core::fold::fold;
use crate::core::id::Seq;
use crate::core::snapshot::Snapshot;
use crate::deck::present::present;
use crate::deck::run::DeckAbout;
use crate::wire::control::EntryPage;

fn model() -> Model {
    Model::new(DaemonLink::Attached, DeckAbout::default())
}

/// A page of what ContextRelay 3 wrote, newest first: no `seq` on any line. Line 3 is none.
fn unchained_page() -> EntryPage {
    let places = vec![5, 4, 2, 1];
    let entry = |place: &u64| {
        json!({"schema": "v1", "id": format!("e{place}"), "timestamp": 1_000 * place,
            "sessionId": "s", "type": "message", "source": "claude", "target": "codex",
            "content": format!("text {place}")})
    };
    EntryPage {
        entries: places.iter().map(entry).collect(),
        places,
        cursor: None,
    }
}

#[test]
fn entries_without_a_number_of_their_own_are_told_apart_by_their_line() {
    let mut model = model();
    let mut world = Snapshot::default();
    for mut entry in super::entries(unchained_page()).into_iter().rev() {
        entry.seq = Seq(entry.seq.0.max(1));
        fold(&mut world, &entry);
    }
    model.reset(world, unchained_page());
    let view = present(&model, 0);
    let rows: Vec<(u64, &str)> = view
        .timeline
        .iter()
        .map(|row| (row.seq, row.text.as_str()))
        .collect();
    assert_eq!(
        rows,
        [
            (1, "text 1"),
            (2, "text 2"),
            (3, "line 3 could not be read"),
            (4, "text 4"),
            (5, "text 5")
        ]
    );
    assert_eq!(view.session_id, "s", "the record that the rows are of");

    let older = unchained_page();
    model.entries.clear();
    model.prepend(older);
    let lines: Vec<u64> = model.entries.iter().map(|entry| entry.seq.0).collect();
    assert_eq!(lines, [1, 2, 4, 5], "on a page of older ones too");
}

#[test]
fn a_page_without_a_row_ends_nothing() {
    let mut model = model();
    let step = |place: u64| {
        json!({"schema": "v1", "id": format!("d{place}"), "timestamp": place, "sessionId": "s",
            "type": "runtime_event", "source": "system", "content": "", "runtimeEvent":
            {"kind": "message_delivery", "status": "confirmed", "messageId": "e1", "to": "codex"}})
    };
    let steps = EntryPage {
        entries: (6..900).rev().map(step).collect(),
        places: (6..900).rev().collect(),
        cursor: Some("6".to_owned()),
    };
    model.reset(Snapshot::default(), EntryPage::default());
    assert!(!model.prepend(steps), "no row came");
    let view = present(&model, 0);
    assert_eq!((view.timeline.len(), view.older), (0, Some(1)));
    assert!(
        model.prepend(unchained_page()),
        "four rows and a bad line came"
    );
    let view = present(&model, 0);
    assert_eq!((view.timeline.len(), view.older), (5, None));
    let outcome = view.timeline[0]
        .outcome
        .as_ref()
        .map(|outcome| outcome.state);
    assert_eq!(
        outcome,
        Some(ctxrelay_ui::model::OutcomeState::Done),
        "a step that was read before its message is known"
    );
}

/// A page of chained entries, newest first.
fn page(lines: &[u64], cursor: Option<&str>) -> EntryPage {
    let entry = |line: &u64| {
        json!({"schema": "v1", "id": format!("e{line}"), "timestamp": line, "sessionId": "s",
            "seq": line, "type": "message", "source": "claude", "target": "codex",
            "content": format!("text {line}")})
    };
    EntryPage {
        entries: lines.iter().map(entry).collect(),
        places: lines.to_vec(),
        cursor: cursor.map(str::to_owned),
    }
}

fn world_at(line: u64) -> Snapshot {
    Snapshot {
        seq: Seq(line),
        ..Snapshot::default()
    }
}

/// The timeline's rows; those of bad lines as first and last line.
fn rows(model: &Model) -> Vec<(u64, Option<u64>)> {
    let rows = present(model, 0).timeline.into_iter();
    rows.map(|row| (row.seq, row.bad_lines.map(|lines| lines.last)))
        .collect()
}

#[test]
fn lines_that_could_not_be_read_have_a_row_on_a_page_between_pages_and_at_the_beginning() {
    let mut model = model();
    model.reset(world_at(20), page(&[20, 19, 17], Some("17")));
    let first = [(17, None), (18, Some(18)), (19, None), (20, None)];
    assert_eq!(rows(&model), first, "nothing is said of what is not loaded");

    assert!(model.prepend(page(&[12, 11], Some("11"))));
    let mut both = vec![(11, None), (12, None), (13, Some(16))];
    both.extend(first);
    assert_eq!(rows(&model), both, "between two pages");

    assert!(model.prepend(page(&[], None)), "bad lines are rows");
    both.insert(0, (1, Some(10)));
    assert_eq!(rows(&model), both, "before the first entry");

    let new = super::entries(page(&[21], None)).remove(0);
    assert!(model.append(&new));
    both.push((21, None));
    assert_eq!(rows(&model), both, "after an append");
}

#[test]
fn an_entry_that_was_not_told_of_is_no_bad_line() {
    let mut model = model();
    model.reset(world_at(2), page(&[4, 2, 1], None));
    let late = super::entries(page(&[5], None)).remove(0);
    assert!(!model.append(&late), "read again");
    assert_eq!(rows(&model), [(1, None), (2, None), (5, None)]);
}

#[test]
fn a_daemon_that_names_no_places_has_no_bad_lines() {
    let mut model = model();
    let mut unnamed = page(&[9, 4], None);
    unnamed.places.clear();
    model.reset(world_at(9), unnamed);
    assert_eq!(rows(&model), [(4, None), (9, None)]);
}

#[test]
fn what_was_let_go_of_is_read_again_with_its_bad_lines() {
    let mut model = model();
    model.reset(world_at(6), page(&[6, 5, 3, 1], None));
    assert_eq!(rows(&model)[1], (2, Some(2)));
    let new: Vec<u64> = (7..2_005).rev().collect();
    for entry in super::entries(page(&new, None)).into_iter().rev() {
        assert!(model.append(&entry));
    }
    assert_eq!(rows(&model).first(), Some(&(5, None)), "the oldest one");
    assert_eq!(model.older.as_deref(), Some("5"), "where it goes on");
    assert!(model.prepend(page(&[3, 1], None)));
    let oldest = [(1, None), (2, Some(2)), (3, None), (4, Some(4)), (5, None)];
    assert_eq!(rows(&model)[..5], oldest);
}

#[test]
fn a_message_that_is_read_again_has_the_steps_that_were_kept() {
    let mut model = model();
    model.reset(world_at(1), page(&[1], None));
    let step = json!({"schema": "v1", "id": "d2", "timestamp": 2, "sessionId": "s", "seq": 2,
        "type": "runtime_event", "source": "system", "content": "", "runtimeEvent":
        {"kind": "message_delivery", "status": "confirmed", "messageId": "e1", "to": "codex"}});
    assert!(model.append(&super::entry(step, None).unwrap()));
    let new: Vec<u64> = (3..2_002).rev().collect();
    let mut new = super::entries(page(&new, None)).into_iter().rev();
    assert!(new.all(|entry| model.append(&entry)));
    assert_eq!(rows(&model).first(), Some(&(3, None)), "message 1 is gone");
    assert!(model.prepend(page(&[1], None)));
    let outcome = present(&model, 0).timeline[0].outcome.clone();
    assert_eq!(
        outcome.map(|outcome| outcome.state),
        Some(ctxrelay_ui::model::OutcomeState::Done)
    );
}
