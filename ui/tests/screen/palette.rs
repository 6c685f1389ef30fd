//! The palette, the hint bar and the help as a person uses them, with keys and with the mouse.

use ctxrelay_ui::model::{DeckView, Level};
use ctxrelay_ui::scenes::{asked, asked_user, keys, pair_at_work, quiet, trust_waits};
use ctxrelay_ui::{Deck, Effect, Keymap, Msg, Pane, Settings, update};

use crate::kit::{click, deck, deck_at, deck_with, shown};

const SIZE: (u16, u16) = (120, 40);

/// The row on which these words stand, without the quotes around it.
fn row(deck: &Deck, words: &str) -> String {
    let screen = shown(deck);
    let row = screen.lines().find(|line| line.contains(words));
    row.unwrap_or_else(|| panic!("{words} is not in\n{screen}"))
        .to_owned()
}

/// A click on the first letter of these words.
fn click_word(deck: &mut Deck, words: &str) -> Vec<Effect> {
    let screen = shown(deck);
    let found = screen.lines().enumerate().find_map(|(row, line)| {
        let at = line.find(words)?;
        // The line begins with a quote.
        Some((line[..at].chars().count() - 1, row))
    });
    let (column, row) = found.unwrap_or_else(|| panic!("{words} is not in\n{screen}"));
    click(deck, (column as u16, row as u16))
}

#[test]
fn what_does_not_apply_says_why_and_does_nothing() {
    let mut deck = deck(quiet());
    keys(&mut deck, ":approve");
    assert!(row(&deck, "open the card, to approve").contains("nothing waits for an answer"));
    assert_eq!(keys(&mut deck, "<enter>"), []);
    assert!(shown(&deck).contains("Commands"), "it stays open");
    let screen = shown(&deck);
    let last = screen
        .lines()
        .rev()
        .find(|line| line.len() > 2)
        .unwrap_or("");
    assert!(last.contains("nothing waits for an answer"), "{screen}");
}

#[test]
fn the_command_that_starts_the_daemon_does_what_its_key_does_while_one_runs() {
    let asked = keys(&mut deck(quiet()), "R");
    assert_eq!(asked, [Effect::ReadRecovery]);
    assert_eq!(keys(&mut deck(quiet()), ":start daemon<enter>"), asked);
}

#[test]
fn an_action_of_another_pane_finds_its_row() {
    let mut deck = deck(pair_at_work());
    assert_eq!(deck.focus(), Pane::Timeline);
    keys(&mut deck, ":approve");
    assert!(row(&deck, "open the card, to approve").contains("Inbox a"));
    assert_eq!(keys(&mut deck, "<enter>"), [Effect::LookAtTree]);
    assert_eq!(deck.focus(), Pane::Inbox);
    assert!(
        shown(&deck).contains("Is it done?"),
        "it opens the card and decides nothing"
    );
}

#[test]
fn what_waits_for_an_answer_is_found_whatever_it_is() {
    for (world, title) in [
        (asked as fn() -> DeckView, "May it?"),
        (asked_user, "It asks"),
        (trust_waits, "Shall it count?"),
    ] {
        let mut view = world();
        view.inbox.truncate(1);
        let mut deck = deck(view);
        assert_eq!(deck.focus(), Pane::Timeline);
        keys(&mut deck, ":approve<enter>");
        assert!(shown(&deck).contains(title), "{}", shown(&deck));
    }
}

#[test]
fn a_few_letters_are_enough_and_what_was_done_last_stands_first() {
    let mut deck = deck(pair_at_work());
    keys(&mut deck, ":thm");
    assert!(row(&deck, "▸ choose a theme").contains('t'));
    keys(&mut deck, "<enter><esc>:");
    assert!(
        shown(&deck).contains("▸ choose a theme"),
        "{}",
        shown(&deck)
    );
    keys(&mut deck, "filter<enter><esc>:");
    assert!(shown(&deck).contains("▸ filter the timeline"));
}

#[test]
fn a_click_on_a_command_runs_it_and_one_outside_closes() {
    let mut deck = deck(pair_at_work());
    keys(&mut deck, ":");
    assert_eq!(click_word(&mut deck, "hand work to an agent"), []);
    assert!(shown(&deck).contains("Hand off"));
    click(&mut deck, (0, 20));
    assert!(!shown(&deck).contains("Hand off"), "{}", shown(&deck));
    for opened in [":", "?", "t", "C", "m", "<enter>", "1<enter>", "3<enter>"] {
        keys(&mut deck, opened);
        assert!(!shown(&deck).contains("? help"), "{opened} opens something");
        click(&mut deck, (0, 39));
        assert!(
            shown(&deck).contains("? help"),
            "{opened}: {}",
            shown(&deck)
        );
    }
}

#[test]
fn a_hint_can_be_clicked() {
    let mut deck = deck(pair_at_work());
    click_word(&mut deck, "hand off");
    assert!(shown(&deck).contains("Hand off →"));
    keys(&mut deck, "<esc>");
    click_word(&mut deck, "? help");
    assert!(shown(&deck).contains("Keys and marks"));
    keys(&mut deck, "<esc>");
    // Between two hints there is nothing.
    let hints = row(&deck, "? help");
    let gap = hints.find("   ").expect("a gap") as u16;
    assert_eq!(click(&mut deck, (gap, 39)), []);
    assert!(shown(&deck).contains("? help"));
}

#[test]
fn a_notice_never_hides_the_hints() {
    for size in [(60, 15), (80, 24), (120, 40), (200, 50)] {
        let mut deck = deck_at(pair_at_work(), size);
        let before = shown(&deck);
        let hints = before.lines().last().expect("a line").to_owned();
        update(
            &mut deck,
            Msg::Notice(Level::Warn, "a sentence to read".into()),
        );
        let screen = shown(&deck);
        let lines: Vec<&str> = screen.lines().collect();
        assert_eq!(lines[lines.len() - 1], hints, "{size:?}");
        assert!(
            lines[lines.len() - 2].contains("a sentence to read"),
            "{screen}"
        );
        // Nothing above it moves.
        let above = |text: &str| {
            let lines = text.lines().take(usize::from(size.1) - 2);
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(above(&screen), above(&before), "{size:?}");
    }
}

#[test]
fn the_whole_help_is_seen_at_once_on_a_common_screen() {
    let mut deck = deck(pair_at_work());
    keys(&mut deck, "?");
    let screen = shown(&deck);
    let before = screen.clone();
    keys(&mut deck, "G");
    assert_eq!(shown(&deck), before, "there is more to scroll to");
    for line in screen.lines() {
        let inside: String = line.chars().skip(4).take(112).collect();
        let is_of_sheet = line.chars().nth(3) == Some('│');
        assert!(!is_of_sheet || !inside.contains('…'), "{line}");
    }
    for words in [
        "On the panes",
        "Whatever is open",
        "Marks",
        "unconfirmed",
        "tick, or not",
        "gates, what differs",
    ] {
        assert!(screen.contains(words), "{words} is not in\n{screen}");
    }
}

#[test]
fn a_key_of_ones_own_is_in_hints_help_and_palette() {
    let own = "global = [{ on = [\"f1\"], run = \"help\" }, { on = [\"?\"], run = \"none\" }]";
    let keymap = Keymap::builtin()
        .and_then(|map| map.layered(own))
        .expect("a keymap");
    let settings = Settings {
        keymap,
        ..Settings::new().expect("keymap")
    };
    let mut deck = deck_with(settings, pair_at_work(), SIZE);
    assert!(shown(&deck).contains("f1 help"));
    keys(&mut deck, "<f1>");
    assert!(row(&deck, "all keys").contains("f1"));
    keys(&mut deck, "<esc>:all keys");
    assert!(row(&deck, "▸ all keys").contains("f1"));
}

#[test]
fn a_key_of_ones_own_in_one_pane_is_in_its_hints_and_the_other_panes_keep_theirs() {
    let keymap = Keymap::builtin()
        .and_then(|map| map.layered("timeline = [{ on = [\"w\"], run = \"message\" }]"))
        .expect("a keymap");
    let settings = Settings {
        keymap,
        ..Settings::new().expect("keymap")
    };
    let mut deck = deck_with(settings, pair_at_work(), (200, 50));
    keys(&mut deck, "3");
    assert!(shown(&deck).contains("m message"), "{}", shown(&deck));
    keys(&mut deck, "2");
    assert!(shown(&deck).contains("w message"), "{}", shown(&deck));
    keys(&mut deck, ":write to an agent");
    let found = row(&deck, "▸ write to an agent");
    let (_, key) = found.split_once("write to an agent").expect("its words");
    assert!(key.trim_start().starts_with('w'), "{found}");
}
