//! Lines of the record that could not be read: each run of them has a row that can be selected and
//! opened, and is the same row whatever comes.

use ctxrelay_ui::model::{Agent, BadLines, DeckView, TimelineGo, TimelineRow};
use ctxrelay_ui::scenes::{NOW_MS, keys, pair_at_work};
use ctxrelay_ui::{Deck, Effect, Msg, update};

use crate::kit::{NO_DETAIL, deck_at, selected, shown};

fn bad(first: u64, last: u64) -> TimelineRow {
    TimelineRow::of_bad_lines(BadLines { first, last }, NOW_MS)
}

fn note(line: u64) -> TimelineRow {
    let text = format!("note-{line}");
    TimelineRow::new(line, NOW_MS, Agent::Claude, None, "note", text)
}

/// Lines 1 200 to 1 204 and 1 207; the third and what stands before the last one are bad.
fn view() -> DeckView {
    DeckView {
        timeline: vec![
            note(1_200),
            note(1_201),
            bad(1_202, 1_202),
            note(1_203),
            note(1_204),
            bad(1_205, 1_206),
            note(1_207),
        ],
        ..pair_at_work()
    }
}

#[test]
fn lines_that_cannot_be_read_have_a_row_that_says_so_when_opened() {
    let mut deck = deck_at(view(), NO_DETAIL);
    let screen = shown(&deck);
    assert!(screen.contains("line 1 202 could not be read"), "{screen}");
    assert!(screen.contains("lines 1 205 to 1 206 could not be read"));
    // Newest first: the last note, then the run before it.
    assert_eq!(
        keys(&mut deck, "2j<enter>"),
        [],
        "there is nothing to be read"
    );
    let opened = shown(&deck);
    assert!(opened.contains("Line 1 205"), "{opened}");
    assert!(opened.contains("ctxrelay ledger verify"), "{opened}");
    assert!(!opened.contains("being read"), "{opened}");
    assert!(!opened.contains("JSON"), "{opened}");
    assert_eq!(
        keys(&mut deck, "y"),
        [Effect::CopyText(
            "lines 1 205 to 1 206 could not be read".into()
        )]
    );
}

#[test]
fn the_row_stays_under_the_cursor_through_append_page_filter_and_resize() {
    let mut deck = deck_at(view(), NO_DETAIL);
    keys(&mut deck, "2jjjj");
    let is_selected = |deck: &Deck| selected(deck).contains("line 1 202 could not be read");
    assert!(is_selected(&deck), "{}", shown(&deck));

    let mut view = view();
    view.timeline.extend((1_208..1_230).map(note));
    update(&mut deck, Msg::View(Box::new(view.clone())));
    assert!(is_selected(&deck), "after an append: {}", shown(&deck));

    let older = (1_100..1_190).map(note).chain([bad(1_190, 1_199)]);
    view.timeline.splice(0..0, older);
    update(&mut deck, Msg::View(Box::new(view)));
    assert!(is_selected(&deck), "after a page: {}", shown(&deck));

    for size in [(80, 24), (60, 15), (200, 50), NO_DETAIL] {
        update(&mut deck, Msg::Resize(size.0, size.1));
        assert!(is_selected(&deck), "at {size:?}: {}", shown(&deck));
    }
    // What failed, and then everything again: the rows come around the one that is selected.
    let Some(Effect::ShowTimeline(wish)) = keys(&mut deck, "fk<space>").pop() else {
        panic!("nothing is asked for");
    };
    assert_eq!(wish.go, TimelineGo::Line(1_202));
}
