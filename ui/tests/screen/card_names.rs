//! What a card names is a row that `enter` follows, and one comes back to the card as it was.

use ctxrelay_ui::model::{DeckView, EntryPlace, FoldedRows, NamedEntry};
use ctxrelay_ui::scenes::{keys, pair_at_work};
use ctxrelay_ui::{Deck, Effect, Msg, update};

use crate::kit::{deck_at, shown};

/// The line under the card's cursor.
fn selected(deck: &Deck) -> Option<String> {
    let screen = shown(deck);
    let mut lines = screen.lines().rev();
    // The header and the list behind have one of their own.
    let is_of_card = |line: &&str| line.contains("entry") || line.contains("h1193");
    let line = lines.find(|line| line.contains('\u{25b8}') && is_of_card(line));
    line.map(str::to_owned)
}

/// The lines of the entries that are asked for.
fn opened(effects: &[Effect]) -> Vec<u64> {
    let opened = effects.iter().filter_map(|effect| match effect {
        Effect::OpenEntry {
            place: EntryPlace { line, .. },
        } => Some(*line),
        _ => None,
    });
    opened.collect()
}

/// A proposal that names an entry in each of its parts, and something that is none.
fn naming() -> DeckView {
    let mut view = pair_at_work();
    let named = |text: &str, line| NamedEntry {
        text: text.to_owned(),
        line: Some(line),
    };
    let card = &mut view.inbox[0];
    card.seq = Some(1_198);
    card.blockers = vec![
        "review finding gh:rc:7 is open".into(),
        named("question of Codex, entry 1 150, has no answer", 1_150),
    ];
    card.evidence = vec!["it works".into(), named("all tests, entry 1 196", 1_196)];
    card.handles = vec![named("h1193 add the tests", 1_193)];
    card.replaces = vec![named("p-1100 of codex: done before", 1_100)];
    view
}

#[test]
fn each_entry_that_a_card_names_is_followed_and_led_back_from() {
    for size in [(80, 24), (120, 40)] {
        for (at, line) in [1_198, 1_150, 1_196, 1_193, 1_100].into_iter().enumerate() {
            let mut deck = deck_at(naming(), size);
            keys(&mut deck, "3<enter>");
            keys(&mut deck, &"<tab>".repeat(at + 1));
            let before = shown(&deck);
            assert!(before.contains("go there"), "{before}");
            let effects = keys(&mut deck, "<enter>");
            assert_eq!(opened(&effects), [line], "{size:?}");
            let title = format!("Entry {}", ctxrelay_ui::text::grouped(line));
            let screen = shown(&deck);
            assert!(screen.contains(&title), "{screen}");
            keys(&mut deck, "<ctrl-o>");
            assert_eq!(shown(&deck), before);
        }
        // Behind the last one the cursor is away, and `enter` says what decides.
        let mut deck = deck_at(naming(), size);
        keys(&mut deck, &format!("3<enter>{}", "<tab>".repeat(6)));
        assert!(!shown(&deck).contains("go there"), "{}", shown(&deck));
        assert_eq!(opened(&keys(&mut deck, "<enter>")), [] as [u64; 0]);
    }
}

#[test]
fn the_row_under_the_cursor_is_in_sight_however_long_the_card() {
    let mut view = naming();
    view.inbox[0].evidence = (0..60).map(|n| format!("claim {n}").into()).collect();
    for size in [(60, 15), (80, 24), (120, 40)] {
        let mut deck = deck_at(view.clone(), size);
        keys(&mut deck, "3<enter><tab><tab><tab>");
        let line = selected(&deck).unwrap_or_else(|| panic!("{}", shown(&deck)));
        assert!(line.contains("h1193"), "{line}");
        // It scrolls on from there.
        keys(&mut deck, "<home>");
        assert!(selected(&deck).is_none_or(|line| !line.contains("h1193")));
    }
}

#[test]
fn what_was_named_is_gone_with_its_card_and_no_key_decides_by_it() {
    let mut deck = deck_at(naming(), (120, 40));
    keys(&mut deck, "3<enter><tab><tab>a");
    let screen = shown(&deck);
    assert!(screen.contains("Record your approval"), "{screen}");
    let effects = keys(&mut deck, "<enter>");
    assert!(
        matches!(&effects[..], [Effect::Approve { .. }, ..]),
        "{effects:?}"
    );
    let mut view = naming();
    view.inbox.clear();
    keys(&mut deck, "3<enter><tab>");
    update(&mut deck, Msg::View(Box::new(view)));
    assert_eq!(opened(&keys(&mut deck, "<enter>")), [] as [u64; 0]);
}

#[test]
fn an_entry_that_a_folded_row_begins_with_is_opened_itself() {
    let mut view = naming();
    let at = view.timeline.iter().position(|row| row.seq == 1_193);
    let row = &mut view.timeline[at.expect("the handoff")];
    row.folded = Some(FoldedRows {
        count: 3,
        last: 1_195,
    });
    let mut deck = deck_at(view, (120, 40));
    keys(&mut deck, "3<enter>");
    keys(&mut deck, &format!("{}<enter>", "<tab>".repeat(4)));
    let screen = shown(&deck);
    assert!(screen.contains("Entry 1 193"), "{screen}");
    assert!(!screen.contains("one by one"), "{screen}");
}
