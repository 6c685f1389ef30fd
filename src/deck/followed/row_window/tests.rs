use proptest::prelude::*;
use serde_json::{Value, json};

use super::{RowWindow, WindowPage};
use crate::core::entry::Entry;
use crate::deck::deck_about::DeckAbout;
use crate::deck::followed::model::{DaemonLink, Model};
use crate::wire::window::{RowQuery, WindowRow};

/// What a row shows, as far as these tests care: its lines, and whether it is a folded one.
type Row = (u64, u64, bool);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Message,
    News,
    Finding,
}

fn entry(line: Line, number: u64) -> Entry {
    let mut value = match line {
        Line::Message => json!({"type": "message", "source": "claude", "target": "codex"}),
        Line::News => json!({"type": "runtime_event", "source": "system", "runtimeEvent":
            {"kind": "lifecycle", "status": "daemon_started", "event": "daemon_started"}}),
        Line::Finding => json!({"type": "artifact", "source": "system",
            "artifact": {"kind": "review_finding", "finding": format!("gh:rc:{number}"), "step": "gone"}}),
    };
    value["schema"] = "v1".into();
    value["id"] = format!("e{number}").into();
    value["timestamp"] = (1_000 * number).into();
    value["sessionId"] = "s".into();
    value["content"] = "text".into();
    read(value, number)
}

fn read(value: Value, number: u64) -> Entry {
    crate::deck::followed::model::entry(value, Some(number)).unwrap()
}

/// The rows as they are read anew: what is next to its own sort is one row.
fn folded(lines: &[Line]) -> Vec<Row> {
    let mut rows: Vec<(Line, Row)> = Vec::new();
    for (line, number) in lines.iter().zip(1..) {
        match rows.last_mut() {
            Some((before, (_, last, folds))) if before == line && *line != Line::Message => {
                (*last, *folds) = (number, true);
            }
            _ => rows.push((*line, (number, number, *line == Line::News))),
        }
    }
    rows.into_iter().map(|(_, row)| row).collect()
}

fn model() -> Model {
    Model::new(DaemonLink::Attached, DeckAbout::default())
}

/// A window that has read these rows, of a record that ends at this line.
fn window(rows: Vec<WindowRow>, head: u64) -> RowWindow {
    let page = WindowPage {
        rows,
        head,
        ..WindowPage::default()
    };
    RowWindow::of(&model().row_facts(), page)
}

fn shown(window: &RowWindow) -> Vec<Row> {
    let rows = window.rows(&RowQuery::default()).into_iter();
    rows.map(|row| match row.folded {
        Some(folded) => (row.seq, folded.last, true),
        None => (row.seq, row.seq, false),
    })
    .collect()
}

fn append(window: &mut RowWindow, lines: impl IntoIterator<Item = (Line, u64)>) {
    for (line, number) in lines {
        let entry = entry(line, number);
        window.append(&model().row_facts(), &RowQuery::default(), &entry, false);
    }
}

fn unfolded(lines: &[Line]) -> Vec<WindowRow> {
    let lines = lines.iter().zip(1..);
    lines
        .map(|(line, number)| WindowRow::of(entry(*line, number)))
        .collect()
}

proptest! {
    #[test]
    fn what_comes_live_folds_as_what_is_read(
        lines in prop::collection::vec(
            prop_oneof![Just(Line::Message), Just(Line::News), Just(Line::Finding)],
            1..40,
        ),
    ) {
        let mut live = window(Vec::new(), 0);
        append(&mut live, lines.iter().copied().zip(1..));
        prop_assert_eq!(shown(&live), folded(&lines));
    }
}

#[test]
fn a_thousand_findings_that_come_in_are_one_row_behind_what_is_there() {
    let mut window = window(unfolded(&[Line::Message]), 1);
    append(&mut window, (2..=1_001).map(|line| (Line::Finding, line)));
    assert_eq!(shown(&window), [(1, 1, false), (2, 1_001, true)]);
    let row = window.rows(&RowQuery::default()).pop().unwrap();
    assert_eq!(row.text, "1 000 findings of reviews, new or changed");
    assert_eq!(row.kind, "finding");
}

#[test]
fn the_next_finding_stands_by_itself_where_they_stand_one_by_one() {
    let two = [Line::Finding, Line::Finding];
    let mut window = window(unfolded(&two), 2);
    append(&mut window, [(Line::Finding, 3)]);
    assert_eq!(
        shown(&window),
        [(1, 1, false), (2, 2, false), (3, 3, false)]
    );
    // What comes behind something else is another run.
    append(
        &mut window,
        [(Line::News, 4), (Line::Finding, 5), (Line::Finding, 6)],
    );
    assert_eq!(shown(&window)[3..], [(4, 4, true), (5, 6, true)]);
}

#[test]
fn one_finding_at_the_end_of_what_is_read_takes_in_the_next_one() {
    let mut window = window(unfolded(&[Line::Message, Line::Finding]), 2);
    append(&mut window, [(Line::Finding, 3)]);
    assert_eq!(shown(&window), [(1, 1, false), (2, 3, true)]);
}

#[test]
fn a_finding_does_not_join_one_behind_which_something_stands_that_is_hidden() {
    let only_finding = vec![WindowRow::of(entry(Line::Finding, 1))];
    // Line 2 is a message, which the chips hide.
    let mut window = window(only_finding, 2);
    append(&mut window, [(Line::Finding, 3)]);
    assert_eq!(shown(&window), [(1, 1, false), (3, 3, false)]);
}

#[test]
fn a_run_that_grows_has_the_words_and_the_time_of_its_latest_news() {
    let mut window = window(Vec::new(), 0);
    for (number, said) in [(1, "the daemon started"), (2, "Codex left")] {
        let mut entry = entry(Line::News, number);
        said.clone_into(&mut entry.content);
        window.append(&model().row_facts(), &RowQuery::default(), &entry, false);
        let rows = window.rows(&RowQuery::default());
        assert_eq!(rows.len(), 1, "{rows:?}");
        // The same row: by its first line the cursor stays on it.
        assert_eq!(
            (rows[0].seq, rows[0].at_ms),
            (1, 1_000 * i64::try_from(number).unwrap())
        );
        assert!(rows[0].text.starts_with(said), "{rows:?}");
    }
}
