use super::TimelineState;
use crate::model::{Agent, TimelineGo, TimelineRow, TimelineWindow};

fn rows(seqs: std::ops::RangeInclusive<u64>) -> Vec<TimelineRow> {
    seqs.map(|seq| {
        TimelineRow::new(
            seq,
            0,
            Agent::Claude,
            None,
            if seq % 2 == 0 { "note" } else { "message" },
            format!("text {seq}"),
        )
    })
    .collect()
}

fn go_to(state: &mut TimelineState, rows: &[TimelineRow], seq: u64) {
    state.pause(rows);
    state.list.selected = state.at_or_before(rows, seq);
}

fn selected(state: &TimelineState, rows: &[TimelineRow]) -> u64 {
    state.selected(rows).map_or(0, |row| row.seq)
}

#[test]
fn following_stays_on_the_newest_and_paused_stays_on_its_row() {
    for newest_first in [true, false] {
        let mut state = TimelineState::new(newest_first);
        let first = rows(1..=5);
        state.update(&first);
        assert_eq!(selected(&state, &first), 5);
        go_to(&mut state, &first, 3);
        let more = rows(1..=9);
        state.remember(&first);
        state.update(&more);
        assert_eq!(selected(&state, &more), 3);
        state.list.top = state.list.selected;
        state.list.shown = 2;
        assert_eq!(state.missed(&more), 4, "those beyond the screen");
        let older_gone = rows(4..=9);
        state.remember(&more);
        state.update(&older_gone);
        assert_eq!(
            selected(&state, &older_gone),
            4,
            "newest_first {newest_first}"
        );
        state.resume();
        assert_eq!(selected(&state, &older_gone), 9);
        assert_eq!(state.missed(&older_gone), 0);
    }
}

#[test]
fn only_what_came_after_a_far_jump_is_new_however_much_of_the_record_is_loaded_since() {
    for newest_first in [true, false] {
        let mut state = TimelineState::new(newest_first);
        state.update(&rows(201..=300));
        state.list.shown = 10;
        let wish = state.ask(TimelineGo::Line(45), 0);
        let there = rows(1..=90);
        let window = TimelineWindow {
            answered: wish.number,
            line: Some(45),
            has_newer: true,
            head: 300,
            ..TimelineWindow::default()
        };
        state.update(&there);
        assert_eq!(state.answered(&there, &window, 3_000), None);
        for (last, missed) in [(90, 0), (300, 0), (304, 4)] {
            state.remember(&there);
            let loaded = rows(1..=last);
            state.update(&loaded);
            assert_eq!(state.missed(&loaded), missed, "up to {last}");
        }
    }
}

#[test]
fn what_stands_for_a_row_that_is_gone_stays_until_it_is_back() {
    let mut state = TimelineState::new(true);
    let all = rows(3..=9);
    state.update(&all);
    state.remember(&all);
    go_to(&mut state, &all, 4);
    state.remember(&all);
    let talk: Vec<_> = all
        .iter()
        .filter(|row| row.kind == "message")
        .cloned()
        .collect();
    state.update(&talk);
    state.remember(&talk);
    assert_eq!(selected(&state, &talk), 3);
    state.update(&all);
    state.remember(&all);
    assert_eq!(selected(&state, &all), 3, "the nearest one stays");
}

#[test]
fn more_is_asked_for_once_near_the_end_and_a_jump_selects_its_row() {
    for newest_first in [true, false] {
        let mut state = TimelineState::new(newest_first);
        let all = rows(101..=300);
        state.update(&all);
        let mut window = TimelineWindow {
            has_older: true,
            head: 300,
            ..TimelineWindow::default()
        };
        assert_eq!(state.slide(&all, &window, 0), None, "far from the old end");
        go_to(&mut state, &all, 120);
        let wish = state
            .slide(&all, &window, 0)
            .map(|wish| (wish.number, wish.go));
        assert_eq!(wish, Some((1, TimelineGo::Older)));
        assert_eq!(state.slide(&all, &window, 1_000), None, "once");
        assert!(state.slide(&all, &window, 3_000).is_some(), "it never came");

        let wish = state.ask(TimelineGo::Line(7), 3_000);
        let there = rows(1..=90);
        window.answered = wish.number;
        window.line = Some(7);
        state.update(&there);
        assert_eq!(state.answered(&there, &window, 3_000), None);
        assert_eq!(selected(&state, &there), 7);
        assert!(!state.follow);
        state.ask(TimelineGo::LandmarkOlder(7), 4_000);
        assert_eq!(state.ask_next(TimelineGo::Line(9), 4_001), None);
        window.answered += 1;
        window.line = None;
        assert!(
            state.answered(&there, &window, 3_000).is_some(),
            "it is said"
        );
        assert_eq!(selected(&state, &there), 7, "where it was");
        let next = state.take_next(4_002).map(|wish| wish.go);
        assert_eq!(next, Some(TimelineGo::Line(9)));
    }
}
