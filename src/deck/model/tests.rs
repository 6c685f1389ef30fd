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
        [(1, "text 1"), (2, "text 2"), (4, "text 4"), (5, "text 5")]
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
        entries: (6..900).map(step).collect(),
        places: (6..900).collect(),
        cursor: Some("6".to_owned()),
    };
    model.reset(Snapshot::default(), EntryPage::default());
    assert!(!model.prepend(steps), "no row came");
    let view = present(&model, 0);
    assert_eq!((view.timeline.len(), view.older), (0, Some(1)));
    assert!(model.prepend(unchained_page()), "four rows came");
    let view = present(&model, 0);
    assert_eq!((view.timeline.len(), view.older), (4, None));
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
