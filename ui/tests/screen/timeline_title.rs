//! What the title of the timeline says where there is little room: how much is new, and which hit of a
//! search is shown, give way to nothing else.

use ctxrelay_ui::model::{Agent, DeckView, TimelineRow};
use ctxrelay_ui::scenes::{NOW_MS, found_entries, keys, long_session};
use ctxrelay_ui::{Deck, Effect, Msg, Pane, update};

use crate::kit::{click, deck_at, shown};

const SIZES: [(u16, u16); 6] = [(60, 15), (72, 24), (80, 24), (99, 40), (100, 24), (120, 40)];

fn timeline_at(view: DeckView, size: (u16, u16)) -> Deck {
    let mut deck = deck_at(view, size);
    keys(&mut deck, "2");
    deck
}

/// The line with the timeline's title.
fn title(deck: &Deck) -> String {
    let screen = shown(deck);
    let line = screen.lines().find(|line| line.contains("2 Timeline"));
    line.unwrap_or_default().to_owned()
}

/// Five hits are found for these words.
fn search(deck: &mut Deck, words: &str) {
    let effects = keys(deck, &format!("/{words}"));
    let number = effects.iter().rev().find_map(|effect| match effect {
        Effect::Search { number, .. } => Some(*number),
        _ => None,
    });
    let mut found = found_entries();
    found.number = number.expect("the record is searched");
    found.words = words.to_owned();
    update(deck, Msg::Found(Box::new(found)));
}

fn come(deck: &mut Deck, view: &mut DeckView, rows: u64) {
    let newest = view.timeline.last().map_or(0, |row| row.seq);
    for seq in newest + 1..=newest + rows {
        let row = TimelineRow::new(seq, NOW_MS, Agent::Claude, None, "note", "new");
        view.timeline.push(row);
    }
    update(deck, Msg::View(Box::new(view.clone())));
}

#[test]
fn how_much_is_new_and_which_hit_is_shown_stand_there_at_every_size() {
    for size in SIZES {
        let mut view = long_session();
        let mut deck = timeline_at(view.clone(), size);
        keys(&mut deck, "jjjj");
        come(&mut deck, &mut view, 12);
        let line = title(&deck);
        assert!(line.contains("paused · 12 new"), "{size:?}: {line}");
        search(&mut deck, "the words that are searched for");
        keys(&mut deck, "<enter>");
        let line = title(&deck);
        for words in ["paused · 12 new", "1 of 5"] {
            assert!(line.contains(words), "{words} at {size:?}: {line}");
        }
        assert!(shown(&deck).contains("3 Inbox  2") || line.contains("3 Inbox 2"));
    }
}

#[test]
fn all_and_the_words_and_following_fall_away_in_that_order() {
    let said = [
        ((120, 40), " /lock 1 of 5  following ●  all ╮"),
        ((88, 24), "  /lock 1 of 5  following ● "),
        ((80, 24), "  1 of 5  following ● "),
        ((70, 24), "  1 of 5  ● "),
        ((60, 15), "  /lock 1 of 5  following ● "),
    ];
    for (size, said) in said {
        let mut deck = timeline_at(long_session(), size);
        search(&mut deck, "lock");
        keys(&mut deck, "<enter>");
        // It is gone to, and left for the newest entry.
        let mut view = long_session();
        view.window.answered = u64::MAX;
        view.window.line = Some(871);
        update(&mut deck, Msg::View(Box::new(view)));
        keys(&mut deck, "<space>");
        let line = title(&deck);
        assert!(line.contains(said), "{said} at {size:?}: {line}");
    }
}

#[test]
fn tabs_without_a_name_are_clicked_where_they_stand() {
    let mut view = long_session();
    let mut deck = timeline_at(view.clone(), (60, 15));
    keys(&mut deck, "jjjj");
    come(&mut deck, &mut view, 12);
    let line = title(&deck);
    assert!(!line.contains("Handoffs"), "{line}");
    // The screen's lines stand in quotes.
    let column = line.find(" 5 ").expect("its number") as u16;
    click(&mut deck, (column, 1));
    assert_eq!(deck.focus(), Pane::Handoffs);
}

#[test]
fn the_title_counts_hits_as_the_search_does() {
    let mut nothing = found_entries();
    nothing.rows.clear();
    nothing.total = 0;
    let mut more = found_entries();
    more.total_is_at_least = true;
    let mut behind = found_entries();
    behind.behind = 3;
    let cases = [
        (more, "1 of 5 or more"),
        (behind, "1 of 5 or more"),
        (nothing, "0 of 0"),
    ];
    for (mut found, said) in cases {
        let mut deck = timeline_at(long_session(), (120, 40));
        // What is marked is searched for again when the chips change.
        search(&mut deck, "lock");
        keys(&mut deck, "<enter>");
        let effects = keys(&mut deck, "f<space>");
        let number = effects.iter().find_map(|effect| match effect {
            Effect::Search { number, .. } => Some(*number),
            _ => None,
        });
        found.number = number.expect("it is searched again");
        found.words = "lock".to_owned();
        update(&mut deck, Msg::Found(Box::new(found)));
        keys(&mut deck, "<esc>");
        let line = title(&deck);
        assert!(line.contains(&format!("/lock {said}  ")), "{said}: {line}");
        keys(&mut deck, "/");
        assert!(shown(&deck).contains(said), "{said}: {}", shown(&deck));
    }
}
