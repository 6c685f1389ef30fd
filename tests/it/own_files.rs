//! The user's own keys and themes in a real terminal: used, told when they are wrong, read again
//! when they change, and what was chosen is kept.

use std::fs;
use std::path::{Path, PathBuf};

use ctxrelay_ui::theme::ThemeRole;
use ctxrelay_ui::{Depth, Theme};
use ratatui::style::Color;
use serde_json::{Value, json};

use crate::support::mcp::McpClient;
use crate::support::pipe::NamedPipe;
use crate::support::project::Project;
use crate::support::pty::{Key, Pty};
use crate::support::wait::{timeout, wait_until};

fn folder(project: &Project) -> PathBuf {
    let folder = project.base().join("xdg/config/ctxrelay");
    fs::create_dir_all(folder.join("themes")).unwrap();
    folder
}

fn deck(project: &Project) -> Pty {
    Pty::spawn_sized(&project.ctxrelay([]), 120, 40).labelled("deck")
}

/// The ground on which the deck is drawn.
fn ground(deck: &Pty) -> Option<(u8, u8, u8)> {
    deck.with_screen(|screen| match screen.cell(0, 0)?.bgcolor() {
        vt100::Color::Rgb(red, green, blue) => Some((red, green, blue)),
        _ => None,
    })
}

#[track_caller]
fn wait_for_ground(deck: &Pty, theme: &str) {
    let theme = Theme::builtin(theme, Depth::Rgb).unwrap();
    let Some(Color::Rgb(red, green, blue)) = theme.style(ThemeRole::Header).bg else {
        panic!("no ground");
    };
    wait_until("the theme's ground", timeout(), || {
        (ground(deck) == Some((red, green, blue))).then_some(())
    });
}

#[test]
fn a_rebound_key_acts_and_hints_and_help_say_it() {
    let project = Project::new();
    let keymap = "global = [\n  { on = [\"f2\"], run = \"help\" },\n  { on = [\"?\"], run = \"none\" },\n]\n";
    fs::write(folder(&project).join("keymap.toml"), keymap).unwrap();
    let mut deck = deck(&project);
    deck.wait_for_text("f2 help");
    deck.wait_for_text("● daemon");
    deck.press(Key::Char('?'));
    deck.press(Key::Char('m'));
    deck.wait_for_text("Message");
    deck.press(Key::Escape);
    deck.wait_until_gone("characters");
    deck.send(b"\x1bOQ");
    deck.wait_for_text("Keys and marks");
    deck.wait_for_screen("the new key in the help", |screen| {
        let row = screen.lines().find(|line| line.contains("all keys"));
        row.is_some_and(|row| row.contains("f2") && !row.contains('?'))
    });
    deck.press(Key::Escape);
    deck.wait_until_gone("Keys and marks");
    deck.press(Key::Char('q'));
    assert_eq!(deck.wait_exit(), 0);
}

#[test]
fn what_is_wrong_in_a_keymap_is_told_in_the_deck_and_the_rest_counts_at_once_when_it_changes() {
    let project = Project::new();
    let file = folder(&project).join("keymap.toml");
    fs::write(
        &file,
        "global = [\n  { on = [\"f2\"], run = \"jump\" },\n]\n",
    )
    .unwrap();
    let mut deck = deck(&project);
    deck.wait_for_text("keymap.toml: line 2, column 24: no action 'jump'");
    deck.wait_for_text("● daemon");
    deck.press(Key::Escape);
    deck.wait_for_text("? help");
    replace(&file, "global = [{ on = [\"f2\"], run = \"help\" }]\n");
    deck.wait_for_text("in order again");
    deck.send(b"\x1bOQ");
    deck.wait_for_text("Keys and marks");
}

#[test]
fn a_keymap_that_is_a_link_is_read_again_when_what_it_leads_to_changes() {
    let project = Project::new();
    let elsewhere = project.base().join("dotfiles");
    fs::create_dir_all(&elsewhere).unwrap();
    let file = elsewhere.join("keys.toml");
    let help_on = |key: &str| {
        let keymap = format!("global = [{{ on = [\"{key}\"], run = \"help\" }}]\n");
        fs::write(&file, keymap).unwrap();
    };
    help_on("f2");
    let link = folder(&project).join("keymap.toml");
    std::os::unix::fs::symlink(&file, link).unwrap();
    let mut deck = deck(&project);
    deck.wait_for_text("f2 help");
    deck.wait_for_text("● daemon");
    help_on("f3");
    deck.wait_for_text("f3 help");
}

#[test]
fn a_theme_is_kept_beside_other_keys_and_used_next_time() {
    let project = Project::new();
    let folder = folder(&project);
    fs::write(
        folder.join("config.json"),
        r#"{"notify": ["bell"], "x": 1}"#,
    )
    .unwrap();
    let kept = || {
        let text = fs::read_to_string(folder.join("config.json")).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()
    };
    let mut first = deck(&project);
    first.wait_for_text("● daemon");
    wait_for_ground(&first, "default-dark");
    first.press(Key::Char('t'));
    first.wait_for_text("default-light");
    first.press(Key::Down);
    wait_for_ground(&first, "default-light");
    first.press(Key::Enter);
    wait_until("the choice to be kept", timeout(), || {
        (kept()["theme"] == "default-light").then_some(())
    });
    assert_eq!(kept()["notify"][0], "bell");
    assert_eq!(kept()["x"], 1);
    first.press(Key::Char('q'));
    assert_eq!(first.wait_exit(), 0);
    let mut second = deck(&project);
    second.wait_for_text("● daemon");
    wait_for_ground(&second, "default-light");
}

/// Whole: who watches it sees no empty one.
fn replace(file: &Path, text: &str) {
    let new = file.with_extension("new");
    fs::write(&new, text).unwrap();
    fs::rename(new, file).unwrap();
}

#[test]
fn a_theme_of_ones_own_is_drawn_anew_when_its_file_changes_and_a_broken_one_is_told() {
    let project = Project::new();
    let folder = folder(&project);
    let mine = folder.join("themes/mine.toml");
    let with =
        |ground: &str| format!("inherits = \"default-dark\"\n[palette]\nraised = \"{ground}\"\n");
    fs::write(&mine, with("#010203")).unwrap();
    fs::write(folder.join("config.json"), r#"{"theme": "mine"}"#).unwrap();
    let mut deck = deck(&project);
    deck.wait_for_text("● daemon");
    assert_eq!(ground(&deck), Some((1, 2, 3)));
    replace(&mine, &with("#040506"));
    wait_until("the new ground", timeout(), || {
        (ground(&deck) == Some((4, 5, 6))).then_some(())
    });
    replace(&mine, &with("#04050"));
    deck.wait_for_text("theme mine: line 3, column 10: '#04050' is no colour");
    assert_eq!(ground(&deck), Some((4, 5, 6)), "it stays as it was");
    // One that begins in a circle is told at the start as well, and the default is used.
    replace(&mine, "inherits = \"mine\"\n");
    deck.wait_for_text("theme mine: line 1, column 12: 'mine' is inherited in a circle");
    deck.press(Key::Char('q'));
    assert_eq!(deck.wait_exit(), 0);
    let mut again = self::deck(&project);
    again.wait_for_text("is inherited in a circle");
    again.wait_for_text("● daemon");
    wait_for_ground(&again, "default-dark");
}

#[test]
fn a_theme_that_does_not_exist_is_told_of_the_file_that_names_it_and_of_no_place() {
    let project = Project::new();
    let config = folder(&project).join("config.json");
    fs::write(&config, r#"{"theme": "nosuch"}"#).unwrap();
    let mut deck = deck(&project);
    deck.wait_for_text("config.json: theme 'nosuch' does not exist");
    deck.wait_for_text("● daemon");
    wait_for_ground(&deck, "default-dark");
    fs::write(&config, r#"{"theme": "nord"}"#).unwrap();
    deck.wait_for_text("in order again");
    wait_for_ground(&deck, "nord");
    // The one in use stays.
    fs::write(&config, r#"{"theme": "nowhere"}"#).unwrap();
    deck.wait_for_text("config.json: theme 'nowhere' does not exist");
    wait_for_ground(&deck, "nord");
    deck.press(Key::Char('q'));
    assert_eq!(deck.wait_exit(), 0);
}

#[test]
fn huge_and_unreadable_files_are_told_and_the_deck_starts() {
    let project = Project::new();
    let folder = folder(&project);
    fs::write(folder.join("keymap.toml"), vec![b'#'; 100 * 1024]).unwrap();
    fs::create_dir(folder.join("config.json")).unwrap();
    let mut deck = deck(&project);
    deck.wait_for_text("keymap.toml: it is larger than 64 KiB");
    deck.wait_for_text("and 1 more");
    deck.wait_for_text("● daemon");
    wait_for_ground(&deck, "default-dark");
}

#[test]
fn a_theme_that_is_huge_or_no_text_is_told_and_the_default_is_used_until_it_can_be_read() {
    let project = Project::new();
    let folder = folder(&project);
    let mine = folder.join("themes/mine.toml");
    fs::write(folder.join("config.json"), r#"{"theme": "mine"}"#).unwrap();
    let told = |what: &str| {
        let mut deck = deck(&project);
        deck.wait_for_text(what);
        deck.wait_for_text("● daemon");
        wait_for_ground(&deck, "default-dark");
        // Keys act meanwhile.
        deck.press(Key::Char('?'));
        deck.wait_for_text("Keys and marks");
        deck.press(Key::Escape);
        deck.wait_until_gone("Keys and marks");
        deck
    };
    let leave = |mut deck: Pty| {
        deck.press(Key::Char('q'));
        assert_eq!(deck.wait_exit(), 0);
    };
    fs::write(&mine, vec![b'#'; 100 * 1024]).unwrap();
    leave(told("themes/mine.toml: it is larger than 64 KiB"));
    fs::write(&mine, [0xff, 0xfe]).unwrap();
    leave(told("themes/mine.toml: it is not UTF-8"));
    fs::remove_file(&mine).unwrap();
    fs::create_dir(&mine).unwrap();
    let mut deck = told("themes/mine.toml: it is not a plain file");
    fs::remove_dir(&mine).unwrap();
    let mended = "inherits = \"default-dark\"\n[palette]\nraised = \"#010203\"\n";
    fs::write(&mine, mended).unwrap();
    deck.wait_for_text("in order again");
    wait_until("the theme's ground", timeout(), || {
        (ground(&deck) == Some((1, 2, 3))).then_some(())
    });
    // A huge one in its place leaves the ground that there is.
    replace(&mine, &"#".repeat(100 * 1024));
    deck.wait_for_text("themes/mine.toml: it is larger than 64 KiB");
    assert_eq!(ground(&deck), Some((1, 2, 3)));
    leave(deck);
}

#[test]
fn a_keymap_that_cannot_be_read_is_told_and_the_built_in_keys_act_until_it_can() {
    let project = Project::new();
    let file = folder(&project).join("keymap.toml");
    let told = |what: &str| {
        let mut deck = deck(&project);
        deck.wait_for_text(what);
        deck.wait_for_text("● daemon");
        deck.press(Key::Char('?'));
        deck.wait_for_text("Keys and marks");
        deck.press(Key::Escape);
        deck.wait_until_gone("Keys and marks");
        deck
    };
    fs::write(&file, [0xff, 0xfe]).unwrap();
    let mut first = told("keymap.toml: it is not UTF-8");
    first.press(Key::Char('q'));
    assert_eq!(first.wait_exit(), 0);
    fs::remove_file(&file).unwrap();
    // Who opens a pipe as a file waits for its other end.
    let _pipe = NamedPipe::new(file.clone());
    let mut second = told("keymap.toml: it is not a plain file");
    replace(&file, "global = [{ on = [\"f2\"], run = \"help\" }]\n");
    second.wait_for_text("in order again");
    second.send(b"\x1bOQ");
    second.wait_for_text("Keys and marks");
}

#[test]
fn on_a_light_terminal_the_light_theme_is_used_unless_one_was_chosen() {
    let project = Project::new();
    let light = Some("rgb:ffff/fafa/f0f0");
    let mut first = Pty::spawn_on(&project.ctxrelay([]), 120, 40, light);
    first.wait_for_text("● daemon");
    wait_for_ground(&first, "default-light");
    first.press(Key::Char('q'));
    assert_eq!(first.wait_exit(), 0);
    let folder = folder(&project);
    fs::write(folder.join("config.json"), r#"{"theme": "nord"}"#).unwrap();
    let mut second = Pty::spawn_on(&project.ctxrelay([]), 120, 40, light);
    second.wait_for_text("● daemon");
    wait_for_ground(&second, "nord");
    second.press(Key::Char('q'));
    assert_eq!(second.wait_exit(), 0);
    let asked = b"\x1b]11;?";
    let asks = |deck: &Pty| deck.transcript().windows(6).any(|window| window == asked);
    assert!(asks(&first));
    assert!(!asks(&second), "who has chosen is not asked");
}

fn told(deck: &Pty) -> Vec<String> {
    let transcript = String::from_utf8_lossy(&deck.transcript()).into_owned();
    let pieces = transcript.split("\x1b]9;").skip(1);
    pieces
        .map(|piece| piece.split('\x07').next().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn who_looks_at_another_window_is_told_that_something_waits() {
    let project = Project::new();
    let heard = project.base().join("heard");
    let command = [
        "sh",
        "-c",
        "printf '%s' \"$1\" > \"$0\"",
        heard.to_str().unwrap(),
    ];
    let config = json!({"notify": "osc9", "notifyCommand": command});
    fs::write(folder(&project).join("config.json"), config.to_string()).unwrap();
    let mut deck = deck(&project);
    deck.wait_for_text("● daemon");
    let name = project
        .root()
        .file_name()
        .unwrap()
        .to_string_lossy()
        .into_owned();
    let proposal = json!({"summary": "the lock is in", "evidence": ["cargo test"]});
    // While one looks.
    deck.send(b"\x1b[I");
    let mut claude = McpClient::start(&project.ctxrelay(["bridge"]));
    claude.tool("propose_final", proposal.clone());
    deck.wait_for_text("Inbox 1");
    // In another window. The key is behind the focus in the same stream.
    deck.send(b"\x1b[O");
    deck.press(Key::Char('?'));
    deck.wait_for_text("Keys and marks");
    deck.press(Key::Escape);
    let mut codex = McpClient::start(&project.ctxrelay(["codex-mcp", "server"]));
    codex.tool("propose_final", proposal);
    let sentence = format!("{name}: Codex says that the work is done");
    wait_until("the notification", timeout(), || {
        (!told(&deck).is_empty()).then_some(())
    });
    wait_until("the command", timeout(), || {
        (fs::read_to_string(&heard).ok()? == sentence).then_some(())
    });
    deck.wait_for_text("Inbox 2");
    assert_eq!(told(&deck), [sentence]);
}

#[test]
fn a_try_says_how_one_is_told_and_what_is_wrong() {
    let project = Project::new();
    let config = folder(&project).join("config.json");
    let off = project.run(["notify"]);
    assert!(off.stdout.contains("off: nobody is told"), "{}", off.stdout);
    // What to write, and where: the project's own file has no say in it.
    let words = format!("{{\"notify\": [\"bell\"]}} into {}", config.display());
    assert!(off.stdout.contains(&words), "{}", off.stdout);
    assert!(off.stdout.contains("bell, osc9, osc777"), "{}", off.stdout);
    let wrong = json!({
        "notify": ["loud", "bell"],
        "notifyCommand": ["/nowhere/at-all"],
        "quietHours": "at night",
        "notfyCommand": ["beep"],
    });
    fs::write(config, wrong.to_string()).unwrap();
    let tried = project.run(["--json", "notify", "--test"]);
    let said: Value = serde_json::from_str(&tried.stdout).unwrap();
    assert_eq!(said["notify"], json!(["bell"]));
    assert!(said["failed"].as_str().unwrap().contains("/nowhere/at-all"));
    for (at, key) in ["notify has", "quietHours", "notfyCommand"]
        .into_iter()
        .enumerate()
    {
        let problem = said["problems"][at].as_str().unwrap();
        assert!(problem.contains(key), "{problem}");
    }
    assert_eq!(tried.code(), 6, "{said}");
}
