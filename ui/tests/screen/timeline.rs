//! Getting about in a record of any length: jumps, the scroll bar, chips, folded rows, the search.

use crossterm::event::{MouseButton, MouseEventKind};
use ctxrelay_ui::model::{
    Chip, DeckView, EntryPlace, FoldedRows, FoundEntries, SearchScope, ThreadView, TimelineGo,
    TimelineMark, TimelineRow, TimelineWindow, TimelineWish,
};
use ctxrelay_ui::scenes::{
    NOW_MS, disconnected, found_entries, found_everywhere, keys, long_session, pair_at_work,
};
use ctxrelay_ui::{Deck, Effect, Msg, Settings, update};

use crate::kit::{NO_DETAIL, deck_at, deck_with, mouse, selected, shown};

/// The only wish for other rows.
fn wish(effects: &[Effect]) -> &TimelineWish {
    let mut wishes = effects.iter().filter_map(|effect| match effect {
        Effect::ShowTimeline(wish) => Some(wish),
        _ => None,
    });
    let wish = wishes.next().expect("rows are asked for");
    assert_eq!(wishes.next(), None, "once");
    wish
}

fn row(line: u64, text: &str) -> TimelineRow {
    TimelineRow::new(
        line,
        NOW_MS,
        ctxrelay_ui::model::Agent::Codex,
        None,
        "note",
        text,
    )
}

/// The answer to a wish: rows around a line.
fn answer(wish: &TimelineWish, line: Option<u64>, rows: Vec<TimelineRow>) -> DeckView {
    DeckView {
        timeline: rows,
        window: TimelineWindow {
            answered: wish.number,
            has_failed: false,
            line,
            has_older: true,
            has_newer: true,
            head: 1_000_000,
            marks: Vec::new(),
        },
        ..pair_at_work()
    }
}

#[test]
fn the_oldest_and_the_newest_entry_are_one_key_away_however_long_the_record_is() {
    let mut deck = deck_at(long_session(), NO_DETAIL);
    let mut view = long_session();
    view.window.has_older = true;
    update(&mut deck, Msg::View(Box::new(view)));
    let effects = keys(&mut deck, "2G");
    assert_eq!(wish(&effects).go, TimelineGo::Oldest);
    let rows = (1..=90)
        .map(|line| row(line, &format!("note-{line}")))
        .collect();
    let there = answer(wish(&effects), Some(1), rows);
    update(&mut deck, Msg::View(Box::new(there)));
    assert!(selected(&deck).contains("note-1 "), "{}", shown(&deck));
    let effects = keys(&mut deck, "g");
    assert_eq!(wish(&effects).go, TimelineGo::Newest);
    let mut newest = answer(
        wish(&effects),
        Some(1_000_000),
        vec![row(1_000_000, "the last")],
    );
    newest.window.has_newer = false;
    update(&mut deck, Msg::View(Box::new(newest)));
    assert!(shown(&deck).contains("following"), "{}", shown(&deck));
}

#[test]
fn a_jump_that_is_on_its_way_does_not_undo_the_key_behind_it() {
    let mut deck = deck_at(pair_at_work(), NO_DETAIL);
    assert!(keys(&mut deck, "2g").is_empty(), "nothing is newer");
    let late = keys(&mut deck, "#1204<enter>");
    let effects = keys(&mut deck, "g");
    assert_eq!(wish(&effects).go, TimelineGo::Newest);
    let there = answer(wish(&late), Some(1_204), vec![row(1_204, "far back")]);
    update(&mut deck, Msg::View(Box::new(there)));
    let mut newest = answer(
        wish(&effects),
        Some(1_000_000),
        vec![row(1_000_000, "the last")],
    );
    newest.window.has_newer = false;
    update(&mut deck, Msg::View(Box::new(newest)));
    assert!(shown(&deck).contains("following"), "{}", shown(&deck));
}

#[test]
fn a_number_or_a_time_is_gone_to_and_a_wrong_one_is_told_in_place() {
    let mut deck = deck_at(pair_at_work(), NO_DETAIL);
    keys(&mut deck, "1#12 noon<enter>");
    let screen = shown(&deck);
    assert!(screen.contains("neither a number nor a time"), "{screen}");
    assert!(screen.contains("yesterday 9:00"), "{screen}");
    for _ in 0..5 {
        keys(&mut deck, "<backspace>");
    }
    assert!(!shown(&deck).contains("neither a number"));
    let effects = keys(&mut deck, "04<enter>");
    assert_eq!(wish(&effects).go, TimelineGo::Entry(1_204));
    let rows = (1_190..=1_204)
        .map(|line| row(line, &format!("note-{line}")))
        .collect();
    let there = answer(wish(&effects), Some(1_204), rows);
    update(&mut deck, Msg::View(Box::new(there)));
    assert!(selected(&deck).contains("note-1204"), "{}", shown(&deck));
    // Back to where one was: the agents, and a timeline that followed.
    let effects = keys(&mut deck, "<ctrl-o>");
    assert_eq!(wish(&effects).go, TimelineGo::Newest);
    assert_eq!(deck.focus(), ctxrelay_ui::Pane::Agents);
    let effects = keys(&mut deck, "#-2h<enter>");
    assert_eq!(wish(&effects).go, TimelineGo::Time(NOW_MS - 7_200_000));
}

#[test]
fn a_time_leads_to_the_first_row_at_or_after_it_also_where_its_entry_is_not_shown() {
    let run = |first| {
        let rows = FoldedRows {
            last: first + 4,
            count: 5,
        };
        TimelineRow::of_folded(first, NOW_MS, rows, "machine")
    };
    let rows = || {
        vec![
            row(10, "before"),
            run(12),
            row(20, "after"),
            row(21, "last"),
        ]
    };
    // The step of a delivery on line 11, or 18, has no row; line 15 is in a folded one.
    for (line, expected) in [
        (11, "machine"),
        (15, "machine"),
        (18, "after"),
        (30, "last"),
    ] {
        for newest_first in [true, false] {
            let settings = Settings {
                newest_first,
                ..Settings::new().expect("keymap")
            };
            let mut deck = deck_with(settings, pair_at_work(), NO_DETAIL);
            let effects = keys(&mut deck, "2#-1h<enter>");
            let there = answer(wish(&effects), Some(line), rows());
            update(&mut deck, Msg::View(Box::new(there)));
            let selected = selected(&deck);
            assert!(selected.contains(expected), "{line}: {selected}");
        }
    }
}

#[test]
fn the_way_back_from_a_hit_is_not_that_from_a_thread_that_was_open_before() {
    let mut deck = deck_at(pair_at_work(), NO_DETAIL);
    keys(&mut deck, "2jj");
    let asked = match &keys(&mut deck, "o")[..] {
        [Effect::OpenThread { place }, ..] => place.clone(),
        effects => panic!("{effects:?}"),
    };
    let line = asked.line;
    let thread = ThreadView {
        asked,
        name: "h7".to_owned(),
        rows: vec![row(line, "x")],
        is_cut: false,
        fault: None,
    };
    update(&mut deck, Msg::Thread(Box::new(thread)));
    keys(&mut deck, "<enter><esc>");
    let effects = keys(&mut deck, "/cookie");
    update(&mut deck, found(&effects));
    let effects = keys(&mut deck, "<enter>");
    assert_eq!(wish(&effects).go, TimelineGo::Entry(871));
    let there = answer(wish(&effects), Some(871), vec![row(871, "x")]);
    update(&mut deck, Msg::View(Box::new(there)));
    // First back to the row, then to the thread, then to the panes: the way one came.
    let effects = keys(&mut deck, "<ctrl-o>");
    assert_eq!(wish(&effects).go, TimelineGo::Line(line));
    let there = answer(wish(&effects), Some(line), vec![row(line, "x")]);
    update(&mut deck, Msg::View(Box::new(there)));
    assert!(shown(&deck).contains("? help"), "{}", shown(&deck));
    keys(&mut deck, "<ctrl-o>");
    assert!(shown(&deck).contains("Thread"), "{}", shown(&deck));
    keys(&mut deck, "<ctrl-o>");
    assert!(shown(&deck).contains("? help"), "{}", shown(&deck));
    keys(&mut deck, "<ctrl-o>");
    let screen = shown(&deck);
    assert!(screen.contains("no reference was followed"), "{screen}");
}

#[test]
fn where_nothing_comes_before_or_after_it_is_said_and_the_cursor_stays() {
    let mut deck = deck_at(pair_at_work(), NO_DETAIL);
    keys(&mut deck, "2jj");
    let before = selected(&deck);
    let effects = keys(&mut deck, "[[]");
    let last = effects.iter().rev().find_map(|effect| match effect {
        Effect::ShowTimeline(wish) => Some(wish.clone()),
        _ => None,
    });
    let last = last.expect("rows are asked for");
    assert!(
        matches!(last.go, TimelineGo::LandmarkNewer(_)),
        "{:?}",
        last.go
    );
    let mut view = pair_at_work();
    view.window.answered = last.number;
    update(&mut deck, Msg::View(Box::new(view)));
    assert!(shown(&deck).contains("no decision, failure or message of yours after this"));
    assert_eq!(selected(&deck), before);
}

#[test]
fn a_folded_row_says_how_many_it_stands_for_and_enter_asks_for_them() {
    let mut view = pair_at_work();
    let folded = FoldedRows {
        last: 1_310,
        count: 11,
    };
    let text = "daemon started · 10 on messages' way";
    view.timeline
        .push(TimelineRow::of_folded(1_300, NOW_MS, folded, text));
    let mut deck = deck_at(view.clone(), (120, 40));
    let screen = shown(&deck);
    assert!(screen.contains("+11") && screen.contains(text), "{screen}");
    assert!(
        screen.contains("1 300 to 1 310"),
        "it is read beside: {screen}"
    );
    let effects = keys(&mut deck, "2<enter>");
    assert_eq!(wish(&effects).unfolded, [1_300]);
    assert_eq!(wish(&effects).go, TimelineGo::Line(1_300));
    view.window.answered = wish(&effects).number;
    view.window.line = Some(1_300);
    update(&mut deck, Msg::View(Box::new(view)));
    let effects = keys(&mut deck, "<esc>");
    assert_eq!(wish(&effects).unfolded, [0_u64; 0], "escape folds it again");
}

#[test]
fn a_hit_that_is_folded_with_others_is_shown_by_itself() {
    let mut deck = deck_at(pair_at_work(), NO_DETAIL);
    let effects = keys(&mut deck, "/cookie");
    update(&mut deck, found(&effects));
    let effects = keys(&mut deck, "<enter>");
    let asked = wish(&effects);
    assert_eq!(
        (asked.go, asked.unfolded.len()),
        (TimelineGo::Entry(871), 0)
    );
    let rows = FoldedRows {
        last: 1_800,
        count: 1_000,
    };
    let run = TimelineRow::of_folded(801, NOW_MS, rows, "1 000 findings");
    let there = answer(asked, Some(871), vec![row(800, "before"), run]);
    let effects = update(&mut deck, Msg::View(Box::new(there)));
    // Behind the row it stands in, and with nothing pressed.
    let asked = wish(&effects);
    assert_eq!(
        (asked.go, asked.unfolded.clone()),
        (TimelineGo::Entry(871), vec![801])
    );
    let rows = vec![row(870, "another"), row(871, "the cookie"), row(872, "x")];
    let effects = update(
        &mut deck,
        Msg::View(Box::new(answer(asked, Some(871), rows))),
    );
    let again = |effect: &Effect| matches!(effect, Effect::ShowTimeline(wish) if wish.go == TimelineGo::Entry(871));
    assert!(!effects.iter().any(again), "it is there: {effects:?}");
    assert!(
        selected(&deck).contains("the cookie"),
        "{}",
        selected(&deck)
    );
}

#[test]
fn of_a_hit_without_a_row_of_its_own_it_is_said_that_what_came_before_it_is_shown() {
    let mut deck = deck_at(pair_at_work(), NO_DETAIL);
    let effects = keys(&mut deck, "#871<enter>");
    let rows = || vec![row(870, "another"), row(872, "behind it")];
    let there = answer(wish(&effects), Some(871), rows());
    update(&mut deck, Msg::View(Box::new(there)));
    assert!(selected(&deck).contains("another"), "{}", selected(&deck));
    let screen = shown(&deck);
    assert!(screen.contains("no row of its own"), "{screen}");
    let effects = keys(&mut deck, "#872<enter>");
    let there = answer(wish(&effects), Some(872), rows());
    update(&mut deck, Msg::View(Box::new(there)));
    assert!(selected(&deck).contains("behind it"), "{}", selected(&deck));
    let screen = shown(&deck);
    assert!(!screen.contains("no row of its own"), "{screen}");
}

#[test]
fn chips_stay_in_sight_until_they_are_taken_away() {
    for size in [(60, 15), (80, 24), NO_DETAIL] {
        let mut deck = deck_at(pair_at_work(), size);
        let effects = keys(&mut deck, "2fl<space>");
        let asked = wish(&effects);
        assert_eq!(asked.chips.words(), ["handoff"]);
        assert_eq!(asked.go, TimelineGo::Newest, "it follows");
        let effects = keys(&mut deck, "hhhhh<space><esc>");
        assert_eq!(wish(&effects).chips.words(), ["handoff", "waits"]);
        let screen = shown(&deck);
        assert!(screen.contains("●handoff ●waits"), "{size:?}: {screen}");
        let mut none = pair_at_work();
        none.timeline.clear();
        none.window.answered = wish(&effects).number;
        update(&mut deck, Msg::View(Box::new(none)));
        let screen = shown(&deck);
        assert!(
            screen.contains("Nothing in the record is of this sort"),
            "{screen}"
        );
        keys(&mut deck, "<esc><esc>");
        assert!(shown(&deck).contains("●handoff"), "escape leaves them");
        let effects = keys(&mut deck, "fc");
        assert!(wish(&effects).chips.is_empty());
    }
}

#[test]
fn the_scroll_bar_shows_the_place_and_the_marks_and_can_be_dragged() {
    let mut view = pair_at_work();
    view.window.has_older = true;
    view.window.head = 1_000_000;
    view.window.marks = vec![
        TimelineMark {
            line: 500_000,
            failed: true,
        },
        TimelineMark {
            line: 250_000,
            failed: false,
        },
    ];
    let mut deck = deck_at(view.clone(), NO_DETAIL);
    let screen = shown(&deck);
    let edge = |screen: &str, mark: char| {
        screen
            .lines()
            .position(|line| line.trim_end_matches('"').ends_with(mark))
    };
    let (failed, decided) = (edge(&screen, '✗'), edge(&screen, '✓'));
    assert!(failed.is_some() && failed < decided, "{screen}");
    // The bar is the frame at the right edge of the screen.
    let down = MouseEventKind::Down(MouseButton::Left);
    let drag = MouseEventKind::Drag(MouseButton::Left);
    let effects = update(&mut deck, mouse(down, 119, 16));
    let number = wish(&effects).number;
    let TimelineGo::Line(line) = wish(&effects).go else {
        panic!("{effects:?}")
    };
    assert!((300_000..700_000).contains(&line), "{line}");
    let held = update(&mut deck, mouse(drag, 70, 20));
    assert_eq!(held, [], "the answer to the one before is to come");
    let held = update(&mut deck, mouse(drag, 3, 2));
    assert_eq!(held, []);
    view.window.answered = number;
    view.window.line = Some(line);
    let next = update(&mut deck, Msg::View(Box::new(view)));
    assert_eq!(
        wish(&next).go,
        TimelineGo::Newest,
        "where it was dragged to last"
    );
    update(
        &mut deck,
        mouse(MouseEventKind::Up(MouseButton::Left), 3, 2),
    );
    assert_eq!(
        update(&mut deck, mouse(drag, 119, 9)),
        [],
        "it was let go of"
    );
}

/// The last question of the effects: its words and its number.
fn question(effects: &[Effect]) -> (String, u64) {
    let found = effects.iter().rev().find_map(|effect| match effect {
        Effect::Search { words, number, .. } => Some((words.clone(), *number)),
        _ => None,
    });
    found.expect("the record is searched")
}

/// The answer to the last question.
fn found(effects: &[Effect]) -> Msg {
    let (words, number) = question(effects);
    Msg::Found(Box::new(FoundEntries {
        number,
        words,
        ..found_entries()
    }))
}

#[test]
fn each_key_searches_the_whole_record_and_only_the_last_answer_counts() {
    let mut deck = deck_at(pair_at_work(), NO_DETAIL);
    let effects = keys(&mut deck, "/cookie");
    assert_eq!(effects.len(), 6, "one question for each key");
    assert_eq!(question(&effects).0, "cookie");
    update(&mut deck, found(&effects[..5]));
    assert!(shown(&deck).contains("searching"), "{}", shown(&deck));
    update(&mut deck, found(&effects));
    let screen = shown(&deck);
    assert!(screen.contains("1 of 5 in the whole record"), "{screen}");
    assert!(screen.contains("^[[2Jcookie<U+202E>"), "{screen}");
    let effects = keys(&mut deck, "<down><down><enter>");
    assert_eq!(wish(&effects).go, TimelineGo::Entry(512));
    let there = answer(
        wish(&effects),
        Some(512),
        vec![row(511, "a"), row(512, "the cookie jar")],
    );
    update(&mut deck, Msg::View(Box::new(there)));
    assert!(
        selected(&deck).contains("the cookie jar"),
        "{}",
        shown(&deck)
    );
    assert!(shown(&deck).contains("/cookie 3 of 5"), "{}", shown(&deck));
    let effects = keys(&mut deck, "n");
    assert_eq!(
        wish(&effects).go,
        TimelineGo::Entry(388),
        "the next hit, loaded or not"
    );
    let effects = keys(&mut deck, "<ctrl-o>");
    assert_eq!(wish(&effects).go, TimelineGo::Line(512));
}

#[test]
fn escape_leaves_all_as_it_was_and_earlier_searches_come_back() {
    let mut deck = deck_at(pair_at_work(), NO_DETAIL);
    let before = shown(&deck);
    keys(&mut deck, "2");
    let focused = shown(&deck);
    assert!(!before.is_empty());
    keys(&mut deck, "/lock<esc>");
    assert_eq!(shown(&deck), focused);
    for words in ["lock", "cookie"] {
        let effects = keys(&mut deck, &format!("/{words}"));
        update(&mut deck, found(&effects));
        let effects = keys(&mut deck, "<enter>");
        let there = answer(wish(&effects), Some(871), vec![row(871, "x")]);
        update(&mut deck, Msg::View(Box::new(there)));
        keys(&mut deck, "<esc>");
    }
    let words = |effects: Vec<Effect>| question(&effects).0;
    assert_eq!(words(keys(&mut deck, "/<up>")), "cookie");
    assert_eq!(words(keys(&mut deck, "<up>")), "lock");
    assert_eq!(keys(&mut deck, "<up>"), [], "there is no earlier one");
    assert_eq!(words(keys(&mut deck, "<down>")), "cookie");
}

#[test]
fn what_is_typed_in_the_search_comes_back_after_earlier_searches() {
    let mut deck = at_a_hit();
    let words = |effects: Vec<Effect>| question(&effects).0;
    keys(&mut deck, "<esc>/");
    assert_eq!(words(keys(&mut deck, "plum")), "plum");
    assert_eq!(words(keys(&mut deck, "<up>")), "cookie");
    assert_eq!(keys(&mut deck, "<up>"), [], "there is no earlier one");
    assert_eq!(words(keys(&mut deck, "<down>")), "plum");
    assert_eq!(words(keys(&mut deck, "<up>")), "cookie");
    keys(&mut deck, "s");
    assert_eq!(keys(&mut deck, "<down>"), [], "it is written on");
    assert!(shown(&deck).contains("cookies"), "{}", shown(&deck));
}

#[test]
fn the_wheel_over_a_search_goes_along_the_hits_and_leaves_the_words() {
    let mut deck = at_a_hit();
    let effects = keys(&mut deck, "<esc>/plum");
    update(&mut deck, found(&effects));
    let wheel = |deck: &mut Deck, kind| update(deck, mouse(kind, 60, 10));
    wheel(&mut deck, MouseEventKind::ScrollDown);
    assert!(shown(&deck).contains("4 of 5"), "{}", shown(&deck));
    for _ in 0..3 {
        assert_eq!(wheel(&mut deck, MouseEventKind::ScrollUp), []);
    }
    let screen = shown(&deck);
    assert!(screen.contains("plum"), "{screen}");
    assert!(screen.contains("1 of 5"), "{screen}");
}

/// A search for `cookie` whose second hit was gone to.
fn at_a_hit() -> Deck {
    let mut deck = deck_at(pair_at_work(), NO_DETAIL);
    let effects = keys(&mut deck, "2/cookie");
    update(&mut deck, found(&effects));
    let effects = keys(&mut deck, "<down><enter>");
    let there = answer(wish(&effects), Some(640), vec![row(640, "x")]);
    update(&mut deck, Msg::View(Box::new(there)));
    deck
}

/// The only hit of the last question.
fn one_hit(effects: &[Effect]) -> Msg {
    let (words, number) = question(effects);
    let mut one = found_entries();
    one.rows.truncate(1);
    (one.number, one.words, one.total) = (number, words, 1);
    Msg::Found(Box::new(one))
}

#[test]
fn a_search_that_is_left_leaves_the_hits_of_the_one_before() {
    let mut deck = at_a_hit();
    let before = shown(&deck);
    assert!(before.contains("/cookie 2 of 5"), "{before}");
    let effects = keys(&mut deck, "/s");
    update(&mut deck, one_hit(&effects));
    assert!(shown(&deck).contains("1 of 1 in"), "{}", shown(&deck));
    assert_eq!(keys(&mut deck, "<esc>"), []);
    assert_eq!(shown(&deck), before);
    // What was asked for meanwhile may come late.
    update(&mut deck, one_hit(&effects));
    assert_eq!(shown(&deck), before);
    assert_eq!(wish(&keys(&mut deck, "n")).go, TimelineGo::Entry(512));
}

#[test]
fn chips_narrow_the_hits_that_are_walked_as_well() {
    let narrowed = |effects: &[Effect]| {
        let mut asked = effects.iter().filter_map(|effect| match effect {
            Effect::Search { chips, .. } => Some(chips.words().len()),
            _ => None,
        });
        (question(effects).0, asked.next_back())
    };
    let mut deck = at_a_hit();
    let effects = keys(&mut deck, "f<space>");
    assert_eq!(narrowed(&effects), ("cookie".to_owned(), Some(1)));
    update(&mut deck, one_hit(&effects));
    keys(&mut deck, "<esc>");
    assert!(shown(&deck).contains("/cookie 1 of 1"), "{}", shown(&deck));
    keys(&mut deck, "n");
    assert!(shown(&deck).contains("this is the last hit"));
    let effects = keys(&mut deck, "fc");
    assert_eq!(narrowed(&effects), ("cookie".to_owned(), Some(0)));
    // Those of a search that is left hold for what was marked before too.
    let mut deck = at_a_hit();
    keys(&mut deck, "/s<tab><space><esc>");
    let effects = keys(&mut deck, "<esc>");
    assert_eq!(narrowed(&effects), ("cookie".to_owned(), Some(1)));
}

#[test]
fn a_page_without_hits_is_gone_on_from_where_it_is_not_the_last_one() {
    let mut deck = deck_at(pair_at_work(), NO_DETAIL);
    let number = question(&keys(&mut deck, "/cookie<ctrl-t><ctrl-t>")).1;
    let page = |cursor: &str, goes_on, hits: usize| FoundEntries {
        number,
        rows: found_entries().rows[..hits].to_vec(),
        total: hits as u64,
        cursor: Some(cursor.to_owned()).filter(|cursor| !cursor.is_empty()),
        goes_on,
        ..found_entries()
    };
    let asked_on = |effects: &[Effect]| match effects {
        [
            Effect::Search {
                after, number: of, ..
            },
        ] if *of == number => after.clone(),
        _ => None,
    };
    let take = |deck: &mut Deck, page| update(deck, Msg::Found(Box::new(page)));
    let effects = take(&mut deck, page("a", false, 0));
    assert_eq!(asked_on(&effects).as_deref(), Some("a"));
    let screen = shown(&deck);
    assert!(screen.contains("nothing yet"), "{screen}");
    keys(&mut deck, "<enter>");
    assert!(shown(&deck).contains("it is being searched"));
    let effects = take(&mut deck, page("b", true, 0));
    assert_eq!(asked_on(&effects).as_deref(), Some("b"));
    // What cannot be read is told, and not tried in a circle.
    let mut fault = page("", true, 0);
    fault.fault = Some("the disk is gone".to_owned());
    assert_eq!(take(&mut deck, fault), []);
    assert!(shown(&deck).contains("the disk is gone"));
    let effects = keys(&mut deck, "<down>");
    assert_eq!(asked_on(&effects).as_deref(), Some("b"));
    assert_eq!(take(&mut deck, page("", true, 1)), []);
    assert!(shown(&deck).contains("1 of 1"), "{}", shown(&deck));
}

#[test]
fn what_cannot_be_searched_says_why_and_chips_hold_for_the_search_too() {
    let mut deck = deck_at(pair_at_work(), NO_DETAIL);
    let effects = keys(&mut deck, "/!!");
    let number = question(&effects).1;
    let fault = FoundEntries {
        number,
        rows: Vec::new(),
        total: 0,
        fault: Some("there is no word to search for".to_owned()),
        ..found_entries()
    };
    update(&mut deck, Msg::Found(Box::new(fault)));
    assert!(shown(&deck).contains("there is no word to search for"));
    let effects = keys(&mut deck, "<tab><space>");
    let chips = effects.iter().find_map(|effect| match effect {
        Effect::Search { chips, .. } => Some(chips.on.iter().copied().collect::<Vec<_>>()),
        _ => None,
    });
    assert_eq!(chips, Some(vec![Chip::Message]));
    assert_eq!(wish(&effects).chips.words(), ["message"]);
    assert_eq!(keys(&mut deck, "<esc>x").len(), 1, "back to the words");
}

#[test]
fn what_was_searched_for_without_a_daemon_is_searched_for_by_the_next_one() {
    let mut deck = deck_at(pair_at_work(), NO_DETAIL);
    let effects = keys(&mut deck, "/cook");
    update(&mut deck, found(&effects));
    update(&mut deck, Msg::View(Box::new(disconnected())));
    keys(&mut deck, "ie");
    let effects = update(&mut deck, Msg::View(Box::new(pair_at_work())));
    assert_eq!(question(&effects).0, "cookie");
    // Once.
    let effects = update(&mut deck, Msg::View(Box::new(pair_at_work())));
    assert_eq!(effects, []);
}

#[test]
fn a_hit_of_another_session_is_opened_to_be_read() {
    let mut deck = deck_at(pair_at_work(), NO_DETAIL);
    let effects = keys(&mut deck, "/cookie");
    let mut entries = FoundEntries {
        number: question(&effects).1,
        ..found_entries()
    };
    entries.rows[0].session = Some("session_1_old".to_owned());
    update(&mut deck, Msg::Found(Box::new(entries)));
    let place = EntryPlace {
        session: "session_1_old".to_owned(),
        line: 871,
    };
    assert_eq!(keys(&mut deck, "<enter>"), [Effect::OpenEntry { place }]);
    // It has no neighbours, and says so where they are asked for.
    assert!(!shown(&deck).contains("J next"), "{}", shown(&deck));
    assert_eq!(keys(&mut deck, "J"), []);
    assert!(shown(&deck).contains("nothing is next to it"));
}

#[test]
fn from_an_open_entry_one_goes_on_though_the_timeline_has_followed_what_came_since() {
    let rows = |last| {
        (1..=last)
            .map(|line| row(line, &format!("note-{line}-")))
            .collect()
    };
    let mut view = pair_at_work();
    view.timeline = rows(9);
    let mut deck = deck_at(view.clone(), NO_DETAIL);
    keys(&mut deck, "2<enter>");
    assert!(shown(&deck).contains("Entry 9"), "{}", shown(&deck));
    view.timeline = rows(12);
    update(&mut deck, Msg::View(Box::new(view)));
    assert!(shown(&deck).contains("J next"), "{}", shown(&deck));
    keys(&mut deck, "J");
    assert!(shown(&deck).contains("Entry 8"), "{}", shown(&deck));
    keys(&mut deck, "KK");
    assert!(shown(&deck).contains("Entry 10"), "{}", shown(&deck));
    keys(&mut deck, "<esc>");
    assert!(selected(&deck).contains("note-10-"), "{}", shown(&deck));
}

#[test]
fn sealed_sessions_are_searched_on_a_key_and_said_to_be() {
    let mut deck = deck_at(pair_at_work(), NO_DETAIL);
    let effects = keys(&mut deck, "/cookie");
    update(&mut deck, found(&effects));
    let effects = keys(&mut deck, "<ctrl-t><ctrl-t>");
    let [.., Effect::Search { place, words, .. }] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!((*place, words.as_str()), (SearchScope::Archives, "cookie"));
    let screen = shown(&deck);
    assert!(
        screen.contains("searching"),
        "no hits of the record: {screen}"
    );
    assert!(
        screen.contains("chips count in the record only"),
        "{screen}"
    );
    let mut entries = FoundEntries {
        number: question(&effects).1,
        ..found_entries()
    };
    for row in &mut entries.rows {
        row.session = Some("session_1795300000000_0a1b2c3d".to_owned());
    }
    update(&mut deck, Msg::Found(Box::new(entries)));
    let screen = shown(&deck);
    assert!(screen.contains("1 of 5 in all sealed sessions"), "{screen}");
    assert!(screen.contains("in 0a1b2c3d"), "{screen}");
    let opened = keys(&mut deck, "<enter>");
    assert!(
        matches!(&opened[..], [Effect::OpenEntry { .. }]),
        "{opened:?}"
    );
    let screen = shown(&deck);
    assert!(screen.contains("of session 0a1b2c3d, sealed"), "{screen}");
    let effects = keys(&mut deck, "<esc>/<ctrl-t><ctrl-t>");
    assert!(
        matches!(
            &effects[..],
            [
                ..,
                Effect::Search {
                    place: SearchScope::Record,
                    ..
                }
            ]
        ),
        "and back: {effects:?}"
    );
}

#[test]
fn hits_of_the_words_before_are_not_taken_for_those_that_are_typed() {
    let mut deck = deck_at(pair_at_work(), NO_DETAIL);
    let effects = keys(&mut deck, "/cookie");
    update(&mut deck, found(&effects));
    let effects = keys(&mut deck, "s<enter>");
    assert!(
        matches!(&effects[..], [Effect::Search { .. }]),
        "nothing is opened: {effects:?}"
    );
    assert!(
        shown(&deck).contains("it is being searched"),
        "{}",
        shown(&deck)
    );
}

#[test]
fn a_hit_of_all_places_is_read_and_the_chips_that_may_hide_it_stay() {
    let mut deck = deck_at(pair_at_work(), NO_DETAIL);
    keys(&mut deck, "2fl<space><esc>");
    let mut effects = keys(&mut deck, "/cookie");
    while !matches!(
        effects.last(),
        Some(Effect::Search {
            place: SearchScope::All,
            ..
        })
    ) {
        effects = keys(&mut deck, "<ctrl-t>");
    }
    update(&mut deck, found(&effects));
    let place = EntryPlace {
        session: deck.view().session_id.clone(),
        line: 871,
    };
    assert_eq!(keys(&mut deck, "<enter>"), [Effect::OpenEntry { place }]);
    assert!(shown(&deck).contains("Entry 871"), "{}", shown(&deck));
    keys(&mut deck, "<esc>");
    assert!(shown(&deck).contains("only ●"), "{}", shown(&deck));
}

#[test]
fn all_hits_are_reached_however_many_there_are() {
    const ALL: u64 = 352;
    let mut deck = deck_at(pair_at_work(), NO_DETAIL);
    let asked = keys(&mut deck, "/cookie");
    let page = |effects: &[Effect]| {
        let asked = effects.iter().rev().find_map(|effect| match effect {
            Effect::Search { number, after, .. } => Some((*number, after.clone())),
            _ => None,
        });
        let (number, after) = asked?;
        let from: u64 = after
            .as_ref()
            .map_or(0, |after| after.parse().expect("a cursor"));
        let to = (from + 100).min(ALL);
        let row = |n: u64| ctxrelay_ui::model::FoundRow {
            seq: 10_000 - n,
            ..found_entries().rows[0].clone()
        };
        Some(Msg::Found(Box::new(FoundEntries {
            number,
            rows: (from..to).map(row).collect(),
            total: ALL,
            cursor: (to < ALL).then(|| to.to_string()),
            goes_on: after.is_some(),
            ..found_entries()
        })))
    };
    update(&mut deck, page(&asked).expect("a search"));
    let mut pages = 1;
    for _ in 1..ALL {
        let effects = keys(&mut deck, "<down>");
        if let Some(more) = page(&effects) {
            pages += 1;
            update(&mut deck, more);
        }
    }
    let screen = shown(&deck);
    assert!(
        screen.contains("352 of 352 in the whole record"),
        "{screen}"
    );
    assert_eq!(pages, 4);
    assert_eq!(
        wish(&keys(&mut deck, "<enter>")).go,
        TimelineGo::Entry(10_000 - 351)
    );
    keys(&mut deck, "n");
    assert!(
        shown(&deck).contains("this is the last hit"),
        "{}",
        shown(&deck)
    );
    // A page of a search that is no more is no page of this one.
    let asked = keys(&mut deck, "/cookies");
    let mut late = found_entries();
    late.number = question(&asked).1 - 1;
    late.goes_on = true;
    update(&mut deck, Msg::Found(Box::new(late)));
    update(&mut deck, found(&asked));
    assert!(shown(&deck).contains("1 of 5 in"), "{}", shown(&deck));
}

#[test]
fn each_place_is_a_chip_that_a_key_or_a_click_chooses_and_a_task_opens_its_card() {
    for size in [(60, 15), (80, 24), NO_DETAIL] {
        let mut deck = deck_at(pair_at_work(), size);
        keys(&mut deck, "/cookie");
        let marked = |deck: &Deck| {
            let screen = shown(deck);
            let names = ["record", "capsules", "archives", "all"];
            names.map(|name| screen.contains(&format!("●{name}")))
        };
        assert_eq!(marked(&deck), [true, false, false, false]);
        let mut places = Vec::new();
        for _ in 0..4 {
            let effects = keys(&mut deck, "<ctrl-t>");
            let [Effect::Search { place, .. }] = &effects[..] else {
                panic!("{effects:?}");
            };
            places.push(*place);
        }
        let [record, capsules, archives, all] = SearchScope::ALL;
        assert_eq!(places, [capsules, archives, all, record]);
        // The word itself is clicked on.
        let screen = shown(&deck);
        let rows: Vec<&str> = screen.lines().collect();
        let y = rows
            .iter()
            .position(|row| row.contains("capsules"))
            .expect("the row");
        let before = rows[y].find("capsules").expect("the place");
        // Behind the quotation mark that begins each row.
        let x = rows[y][..before].chars().count() - 1;
        let down = MouseEventKind::Down(MouseButton::Left);
        let effects = update(&mut deck, mouse(down, x as u16, y as u16));
        let number = question(&effects).1;
        assert_eq!(marked(&deck), [false, true, false, false]);
        let found = FoundEntries {
            number,
            ..found_everywhere()
        };
        update(&mut deck, Msg::Found(Box::new(found)));
        let screen = shown(&deck);
        assert!(screen.contains("in all capsules"), "{screen}");
        assert!(screen.contains("touched"), "{screen}");
        let effects = keys(&mut deck, "<down><enter>");
        let id = "cap_9f3e1d2c4b5a".to_owned();
        assert_eq!(effects, [Effect::ReadCapsule { id }]);
        assert!(shown(&deck).contains("Capsule"), "{}", shown(&deck));
        // It is no hit among the rows below, where there is room to say so.
        keys(&mut deck, "<esc>");
        let screen = shown(&deck);
        assert!(
            size != NO_DETAIL || screen.contains("/cookie 2 of 6 in capsules"),
            "{screen}"
        );
    }
}

#[test]
fn another_record_forgets_places_and_hits_of_the_one_before() {
    let mut deck = deck_at(pair_at_work(), NO_DETAIL);
    let effects = keys(&mut deck, "/cookie");
    update(&mut deck, found(&effects));
    let mut cleared = pair_at_work();
    cleared.session_id = "another".to_owned();
    cleared.timeline.clear();
    update(&mut deck, Msg::View(Box::new(cleared)));
    assert!(!shown(&deck).contains("of 5 in the whole record"));
    keys(&mut deck, "<esc>");
    assert_eq!(keys(&mut deck, "<ctrl-o>"), [], "nowhere to go back to");
}
