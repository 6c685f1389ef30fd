use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{KeyContext, Keymap};
use crate::action::Action;
use crate::key::Key;

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
fn a_key_of_one_context_has_the_words_of_what_counts_together_with_it() {
    let map = Keymap::builtin()
        .unwrap()
        .layered(
            "timeline = [{ on = [\"w\"], run = \"message\" }]\n\
             entry = [{ on = [\"b\"], run = \"back\" }]\n\
             inbox = [{ on = [\"H\"], run = \"handoff\", desc = \"give it away\" }]\n\
             agents = [{ on = [\"S\"], run = \"clear chips\" }]",
        )
        .unwrap();
    let words = |context, action| {
        let bindings = map.bindings(context).iter();
        let mut of_it = bindings.filter(|binding| binding.action == action);
        let binding = of_it.next().unwrap();
        (binding.desc.as_str(), binding.hint.as_deref())
    };
    let message = words(KeyContext::Timeline, Action::Message);
    assert_eq!(message, ("write to an agent", Some("message")));
    let back = words(KeyContext::Entry, Action::Back);
    assert_eq!(back, ("close", Some("close")));
    let handoff = words(KeyContext::Inbox, Action::Handoff);
    assert_eq!(handoff, ("give it away", Some("hand off")));
    // Nothing that counts there says what it does.
    let chips = words(KeyContext::Agents, Action::ClearChips);
    assert_eq!(chips, ("clear chips", None));
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

fn overlaid(text: &str) -> (Keymap, Vec<String>) {
    let (map, wrong) = Keymap::builtin().unwrap().overlaid(text);
    (map, wrong.iter().map(ToString::to_string).collect())
}

#[test]
fn a_nearer_context_takes_no_last_key_of_what_is_needed_either() {
    let (map, wrong) = overlaid("entry = [{ on = [\"esc\", \"q\"], run = \"copy\" }]");
    let why =
        "line 1, column 25: 'q' is the last key of 'back' in entry: give that another one as well";
    assert_eq!(wrong, [why]);
    let entry = [KeyContext::Entry, KeyContext::Overlay];
    assert_eq!(
        map.action(&entry, "esc".parse().unwrap()),
        Some(Action::Copy)
    );
    // What is left of it is the key that is shown.
    assert_eq!(map.key_of(&entry, Action::Back).as_deref(), Some("q"));
    let (_, wrong) = overlaid(
        "entry = [{ on = [\"esc\"], run = \"copy\" }]\nagent = [{ on = [\"q\"], run = \"none\" }]",
    );
    // Both count where a recovery is read.
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    let (_, wrong) = overlaid(
        "entry = [{ on = [\"esc\", \"q\"], run = \"copy\" }]\noverlay = [{ on = [\"f1\"], run = \"back\" }]",
    );
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn a_key_that_a_nearer_context_has_taken_is_named_for_nothing_else() {
    let text = "timeline = [{ on = [\"m\", \"q\", \":\"], run = \"newest\" }]";
    let (map, wrong) = overlaid(text);
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    assert!(wrong[0].contains("':' is the last key of 'palette' in timeline"));
    let timeline = [KeyContext::Timeline, KeyContext::Global];
    let key = |action| map.key_of(&timeline, action);
    assert_eq!(key(Action::Newest).as_deref(), Some("m"));
    assert_eq!(key(Action::Quit).as_deref(), Some("ctrl-c"));
    assert_eq!(key(Action::Palette).as_deref(), Some(":"));
    assert_eq!(key(Action::Message), None);
    let inbox = [KeyContext::Inbox, KeyContext::Global];
    assert_eq!(map.key_of(&inbox, Action::Message).as_deref(), Some("m"));
}

#[test]
fn a_key_of_nothing_does_nothing_also_where_a_farther_context_binds_it() {
    let (map, wrong) = overlaid("inbox = [{ on = [\"C\"], run = \"none\" }]");
    assert_eq!(wrong, [""; 0]);
    let clears = |pane| {
        let stack = [pane, KeyContext::Global];
        let action = map.action(&stack, "C".parse().unwrap());
        assert_eq!(
            map.key_of(&stack, Action::Clear).is_some(),
            action.is_some()
        );
        action == Some(Action::Clear)
    };
    assert!(!clears(KeyContext::Inbox));
    assert!(clears(KeyContext::Tasks));
    // The next layer binds it again.
    let again = map
        .layered("inbox = [{ on = [\"C\"], run = \"copy\" }]")
        .unwrap();
    let action = again.action(&[KeyContext::Inbox], "C".parse().unwrap());
    assert_eq!(action, Some(Action::Copy));
}

#[test]
fn a_key_that_is_pressed_as_another_one_is_bound_as_that() {
    let text = "global = [{ on = [\"ctrl-]\"], run = \"palette\" }, { on = [\":\"], run = \"none\" },\n\
                { on = [\"shift-enter\", \"shift-2\", \"ctrl-shift-p\"], run = \"help\" }]";
    let (map, wrong) = overlaid(text);
    assert_eq!(
        wrong,
        [
            "line 2, column 9: terminals send enter for 'shift-enter': bind that one",
            "line 2, column 24: 'shift-2' is not what it types: bind that character",
            "line 2, column 35: terminals send ctrl-p for 'ctrl-shift-p': bind that one",
        ]
    );
    // As the terminal's byte is read.
    let read = KeyEvent::new(KeyCode::Char('5'), KeyModifiers::CONTROL);
    let action = map.action(&[KeyContext::Global], Key::from_event(&read));
    assert_eq!(action, Some(Action::Palette));
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
