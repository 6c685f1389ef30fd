//! The foot of an overlay: its keys stand there whole, and a click on one does what the key does.

use ctxrelay_ui::scenes::{Scene, keys, pair_at_work, scene, screen, terminal};
use ctxrelay_ui::{Deck, Effect, Settings};
use ratatui::buffer::Buffer;

use crate::kit::{click, deck_at};

const SIZES: [(u16, u16); 4] = [(60, 15), (80, 24), (120, 40), (200, 50)];

fn deck(scene: &Scene, size: (u16, u16)) -> Deck {
    scene.deck_with(Settings::new().expect("keymap"), size)
}

/// Where words stand, the lowest ones first.
fn find(buffer: &Buffer, words: &str) -> Option<(u16, u16)> {
    let (columns, rows) = (buffer.area.width, buffer.area.height);
    let places = (0..rows)
        .rev()
        .flat_map(|y| (0..columns).map(move |x| (x, y)));
    places.into_iter().find(|(x, y)| {
        let cells = (*x..columns).map(|x| buffer[(x, *y)].symbol());
        let mut symbols = cells.take(words.chars().count());
        words
            .chars()
            .all(|letter| symbols.next() == Some(letter.to_string().as_str()))
    })
}

#[test]
fn a_click_on_a_key_at_the_foot_of_an_overlay_does_what_the_key_does() {
    // What stands at the foot of which scene, and the key.
    let feet = [
        ("entry_open", "j scroll", "j"),
        ("entry_open", "J next", "J"),
        ("entry_open", "esc close", "<esc>"),
        ("finality_card", "a approve", "a"),
        ("finality_card", "x reject", "x"),
        ("finality_card", "esc later", "<esc>"),
        ("approve", "⏎ approve", "<enter>"),
        ("approve", "esc not yet", "<esc>"),
        ("reject", "esc back", "<esc>"),
        ("agent_open", "m write to it", "m"),
        ("stuck_agent", "esc close", "<esc>"),
        ("ambiguous", "v mark", "v"),
        ("ambiguous", "esc later", "<esc>"),
        ("composer", "ctrl-t agent", "<ctrl-t>"),
        ("composer", "esc draft", "<esc>"),
        ("composer", "ctrl-g editor", "<ctrl-g>"),
        ("found", "tab chips", "<tab>"),
        ("found", "esc as it was", "<esc>"),
        ("chips", "space on or off", "<space>"),
        ("chips", "esc done", "<esc>"),
        ("quit", "⏎ choose", "<enter>"),
        ("quit", "esc close", "<esc>"),
        ("clear_archive", "esc leave everything as it is", "<esc>"),
        ("unlock", "esc leave it", "<esc>"),
        ("thread", "⏎ open", "<enter>"),
        ("help", "esc close", "<esc>"),
        ("recover", "esc close", "<esc>"),
    ];
    for (name, words, key) in feet {
        let scene = scene(name).expect("a scene");
        for size in SIZES {
            let mut clicked = deck(scene, size);
            let mut pressed = clicked.clone();
            let before = screen(&clicked, size);
            let Some((x, y)) = find(&before, words) else {
                let shown = terminal(&clicked, size).backend().to_string();
                panic!("{name} at {size:?} has no {words:?}:\n{shown}");
            };
            // On its last letter, too.
            let end = x + words.chars().count() as u16 - 1;
            let mut at_end = clicked.clone();
            let done = click(&mut clicked, (x, y));
            assert_eq!(done, click(&mut at_end, (end, y)), "{name} {words:?}");
            assert_eq!(done, keys(&mut pressed, key), "{name} {words:?}");
            assert_eq!(
                screen(&clicked, size),
                screen(&pressed, size),
                "{name} {words:?} at {size:?}"
            );
        }
    }
}

#[test]
fn beside_a_key_a_click_does_nothing_and_outside_it_closes() {
    let scene = scene("entry_open").expect("a scene");
    let size = (80, 24);
    let before = screen(&deck(scene, size), size);
    let (x, y) = find(&before, "J next").expect("a key");
    let mut deck = deck(scene, size);
    click(&mut deck, (x - 2, y));
    assert_eq!(screen(&deck, size), before);
    click(&mut deck, (0, 0));
    assert!(find(&screen(&deck, size), "? help").is_some());
    // The place that is typed is no box: it is its line.
    let mut deck = deck_at(pair_at_work(), size);
    keys(&mut deck, "#12");
    click(&mut deck, (3, size.1 - 1));
    assert!(find(&screen(&deck, size), "? help").is_none());
    click(&mut deck, (3, 5));
    assert!(find(&screen(&deck, size), "? help").is_some());
}

#[test]
fn no_word_of_an_answer_is_cut_while_there_is_room() {
    let whole = [
        ("quit", "flowing"),
        ("quit", "queued is kept until you"),
        ("clear", "go on  "),
        ("stop_turn", "the turn ends now"),
    ];
    for (name, words) in whole {
        let scene = scene(name).expect("a scene");
        let size = (60, 15);
        let shown = terminal(&deck(scene, size), size).backend().to_string();
        assert!(shown.contains(words), "{words:?} in {name}:\n{shown}");
    }
}

#[test]
fn an_answer_of_several_lines_is_chosen_by_a_click_on_any_of_them() {
    let size = (60, 15);
    for words in ["the daemon ends", "queued is kept"] {
        let mut deck = deck(scene("quit").expect("a scene"), size);
        let place = find(&screen(&deck, size), words).expect("an answer");
        assert_eq!(click(&mut deck, place), []);
        let quits = click(&mut deck, place);
        assert!(
            matches!(
                quits[..],
                [Effect::Quit(ctxrelay_ui::QuitChoice::KeepStopped)]
            ),
            "{quits:?}"
        );
    }
}
