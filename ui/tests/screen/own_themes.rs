//! What is said of a theme that cannot be used while the deck runs.

use ctxrelay_ui::scenes::pair_at_work;
use ctxrelay_ui::{Deck, Keymap, Msg, NotificationSettings, OwnFiles, update};

use crate::kit::{deck, shows};

fn takes(deck: &mut Deck, themes: &[(&str, &str)], theme: Option<&str>) {
    let themes = themes.iter();
    let own = OwnFiles {
        keymap: Keymap::builtin().expect("keymap"),
        themes: themes
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
            .collect(),
        theme: theme.map(str::to_owned),
        notification: NotificationSettings::default(),
        problems: Vec::new(),
    };
    update(deck, Msg::OwnFiles(Box::new(own)));
}

const MINE: (&str, &str) = ("mine", "inherits = \"nord\"");

#[test]
fn a_theme_is_missing_from_the_file_that_names_it_or_has_gone_itself() {
    let mut deck = deck(pair_at_work());
    takes(&mut deck, &[MINE], Some("mine"));
    assert_eq!(deck.theme_name(), "mine");
    takes(&mut deck, &[MINE], Some("nosuch"));
    shows(&deck, "config.json: theme 'nosuch' does not exist");
    takes(&mut deck, &[], None);
    shows(&deck, "theme mine: its file has gone");
    takes(&mut deck, &[("mine", "inherits = 7")], Some("mine"));
    shows(&deck, "theme mine: line 1, column 12: ");
    assert_eq!(deck.theme_name(), "mine", "it stays as it was");
}
