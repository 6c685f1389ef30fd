use super::{KeyContext, Keymap};
use crate::action::Action;

fn error(text: &str) -> String {
    Keymap::builtin()
        .unwrap()
        .layered(text)
        .unwrap_err()
        .to_string()
}

#[test]
fn the_nearest_context_wins() {
    let map = Keymap::builtin().unwrap();
    let g = "g".parse().unwrap();
    assert_eq!(
        map.action(&[KeyContext::Timeline, KeyContext::Global], g),
        Some(Action::Newest)
    );
    assert_eq!(
        map.action(&[KeyContext::Inbox, KeyContext::Global], g),
        Some(Action::MoveFirst)
    );
}

#[test]
fn a_layer_takes_a_key_and_keeps_the_words() {
    let map = Keymap::builtin()
        .unwrap()
        .layered("global = [{ on = [\"H\"], run = \"help\" }, { on = [\"C\"], run = \"none\" }]")
        .unwrap();
    assert_eq!(
        map.action(&[KeyContext::Global], "H".parse().unwrap()),
        Some(Action::Help)
    );
    assert_eq!(
        map.action(&[KeyContext::Global], "?".parse().unwrap()),
        Some(Action::Help)
    );
    assert_eq!(
        map.action(&[KeyContext::Global], "C".parse().unwrap()),
        None
    );
    let bindings = map.bindings(KeyContext::Global);
    let help: Vec<_> = bindings
        .iter()
        .filter(|b| b.action == Action::Help)
        .collect();
    // One row, the new key first: hint bar and help say that one.
    assert_eq!(help.len(), 1);
    assert_eq!(help[0].keys_text(), "H ?");
    assert_eq!(help[0].desc, "all keys");
    assert_eq!(help[0].hint.as_deref(), Some("help"));
}

#[test]
fn mistakes_name_their_line() {
    assert_eq!(
        error("\n\nglobl = []"),
        "line 3, column 1: no context 'globl'"
    );
    assert_eq!(
        error("global = [{ on = [\"hyper-x\"], run = \"help\" }]"),
        "line 1, column 19: 'hyper-x' is no key"
    );
    assert_eq!(
        error("global = [\n{ on = [\"j\"], run = \"help\" },\n{ on = [\"j\"], run = \"quit\" }]"),
        "line 3, column 9: 'j' is bound twice in global"
    );
}

#[test]
fn what_is_wrong_is_left_out_and_the_rest_counts() {
    let text = "global = [\n{ on = [\"j\"], run = \"jump\" },\n{ on = [\"H\", \"ctrl-m\"], run = \"help\" }]\n\
                composer = [{ on = [\"x\"], run = \"send\" }]\nsearch = [{ on = [\"p\"], run = \"other place\" }]\noverlay = [{ on = [\"esc\", \"q\"], run = \"help\" }]";
    let (map, wrong) = Keymap::builtin().unwrap().overlaid(text);
    let wrong: Vec<String> = wrong.iter().map(ToString::to_string).collect();
    assert_eq!(
        wrong,
        [
            "line 2, column 21: no action 'jump'",
            "line 3, column 14: terminals send enter for 'ctrl-m': bind that one",
            "line 4, column 21: 'x' types a letter in composer",
            "line 5, column 19: 'p' types a letter in search",
            "line 6, column 27: 'q' is the last key of 'back' in overlay: give that another one as well",
        ]
    );
    let does = |context, key: &str| map.action(&[context], key.parse().unwrap());
    assert_eq!(does(KeyContext::Global, "H"), Some(Action::Help));
    assert_eq!(does(KeyContext::Global, "j"), Some(Action::MoveDown));
    assert_eq!(does(KeyContext::Overlay, "esc"), Some(Action::Help));
    assert_eq!(does(KeyContext::Overlay, "q"), Some(Action::Back));
}

#[test]
fn the_last_key_may_go_where_another_one_comes() {
    let text = "global = [{ on = [\":\"], run = \"help\" }, { on = [\"f1\"], run = \"palette\" }]";
    let map = Keymap::builtin().unwrap().layered(text).unwrap();
    let does = |key: &str| map.action(&[KeyContext::Global], key.parse().unwrap());
    assert_eq!(does(":"), Some(Action::Help));
    assert_eq!(does("f1"), Some(Action::Palette));
}

#[test]
fn the_readme_table_shows_every_context_and_all_keys() {
    let table = Keymap::builtin().unwrap().markdown();
    assert!(table.contains("| `j` `down` | down |"));
    assert!(table.contains("**A card of the inbox**"));
    assert!(!table.contains("``"));
}

#[test]
fn every_action_can_be_reached_by_a_key() {
    let map = Keymap::builtin().unwrap();
    for name in Action::names() {
        let action = Action::parse(name).unwrap();
        assert!(
            KeyContext::ALL.iter().any(|context| map
                .bindings(*context)
                .iter()
                .any(|binding| binding.action == action)),
            "no key for '{name}'"
        );
    }
}
