//! A text in the person's own editor: the terminal is given and taken back, and whatever becomes of
//! the editor, the daemon that this deck hosts goes on. What was written stays where the terminal
//! does not.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::support::launch::Launch;
use crate::support::mcp::McpClient;
use crate::support::project::Project;
use crate::support::pty::{Key, Pty};
use crate::support::wait::{timeout, wait_until};

/// An editor of this script: it is given the copy as `$1`.
fn with_editor(project: &Project, launch: Launch, script: &str) -> Launch {
    let editor = project.write("editor.sh", script);
    let runtime = project.base().join("runtime");
    std::fs::create_dir_all(&runtime).unwrap();
    launch
        .env_remove("VISUAL")
        .env("XDG_RUNTIME_DIR", &runtime)
        .env("EDITOR", format!("sh {}", editor.display()))
}

/// A deck that hosts, with an editor of this script.
fn deck(project: &Project, script: &str) -> Pty {
    let launch = with_editor(project, project.ctxrelay([]), script);
    let mut deck = Pty::spawn_sized(&launch, 120, 40).labelled("deck");
    deck.wait_for_text("● daemon");
    note(project, "first line\nsecond line");
    deck.wait_for_text("first line");
    deck
}

fn note(project: &Project, text: &str) {
    let mut codex = McpClient::start(&project.ctxrelay(["codex-mcp", "server"]));
    codex.tool("append_note", json!({"text": text}));
}

/// How a program says that the screen is its own.
const TAKEN: &[u8] = b"\x1b[?1049h";

/// What lies in the folder of the copies.
fn copies(project: &Project) -> Vec<PathBuf> {
    let folder = project.base().join("runtime");
    let entries = std::fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.is_dir()).collect()
}

fn is_back(deck: &mut Pty, project: &Project) {
    deck.wait_for_text("1 Agents");
    assert!(deck.with_screen(|screen| screen.alternate_screen()));
    let gone = || copies(project).is_empty().then_some(());
    wait_until("the end of the copy", timeout(), gone);
    // Keys reach the deck again, each of them once.
    deck.press(Key::Char('?'));
    deck.wait_for_text("esc close");
    deck.press(Key::Escape);
    deck.wait_until_gone("esc close");
}

#[test]
fn the_editor_has_the_text_and_the_terminal_and_the_daemon_goes_on_meanwhile() {
    let project = Project::new();
    let script = "cp \"$1\" \"$PWD/seen\"; stat -c %a \"$1\" > \"$PWD/mode\"; \
                  printf 'the editor is here\\r\\n'; read -r line; printf %s \"$line\" > \"$PWD/typed\"";
    let mut deck = deck(&project, script);
    deck.press(Key::Char('e'));
    deck.wait_for_text("the editor is here");
    assert!(!deck.with_screen(|screen| screen.alternate_screen()));
    note(&project, "written meanwhile");
    let seen = |name: &str| std::fs::read_to_string(project.root().join(name)).unwrap();
    assert_eq!(seen("seen"), "first line\nsecond line");
    assert_eq!(seen("mode").trim(), "600");
    assert_eq!(copies(&project).len(), 1);
    // What is typed is the editor's alone.
    deck.type_text("jjq");
    deck.press(Key::Enter);
    is_back(&mut deck, &project);
    assert_eq!(seen("typed"), "jjq");
    deck.wait_for_text("written meanwhile");
}

#[test]
fn an_editor_that_fails_is_said_and_nothing_is_harmed() {
    let project = Project::new();
    let mut deck = deck(&project, "rm \"$1\"; exit 3");
    deck.press(Key::Char('e'));
    deck.wait_for_text("$EDITOR failed with exit code 3");
    is_back(&mut deck, &project);
}

#[test]
fn an_editor_that_writes_nothing_or_is_not_there_changes_nothing() {
    let project = Project::new();
    let mut deck = deck(&project, "true");
    let taken = |deck: &Pty| {
        let transcript = deck.transcript();
        let windows = transcript.windows(TAKEN.len());
        windows.filter(|window| *window == TAKEN).count()
    };
    let before = taken(&deck);
    deck.press(Key::Char('e'));
    // Nothing else tells of such an editor.
    wait_until("the terminal to be taken again", timeout(), || {
        (taken(&deck) > before).then_some(())
    });
    is_back(&mut deck, &project);
    std::fs::remove_file(project.root().join("editor.sh")).unwrap();
    deck.press(Key::Char('e'));
    deck.wait_for_text("$EDITOR failed");
    is_back(&mut deck, &project);
}

#[test]
fn an_editor_that_hangs_is_ended_from_the_keyboard_and_the_deck_is_not() {
    let project = Project::new();
    let mut deck = deck(&project, "printf 'it hangs\\r\\n'; exec sleep 1000");
    deck.press(Key::Char('e'));
    deck.wait_for_text("it hangs");
    // Interrupt reaches the editor's own job, and neither the deck nor its daemon.
    deck.send(b"\x03");
    is_back(&mut deck, &project);
    note(&project, "the daemon lives");
    deck.wait_for_text("the daemon lives");
}

#[test]
fn an_editor_that_is_stopped_goes_on_and_what_it_writes_then_counts() {
    let project = Project::new();
    // The keyboard stops it as its own key does.
    let script = "case $(cat \"$1\") in first*) echo half > \"$1\"; kill -STOP $$; kill -STOP $$; \
                  echo whole > \"$1\";; *) printf 'it waits\\r\\n'; read -r line; \
                  printf %s \"$line\" > \"$1\"; exit 148;; esac";
    let mut deck = deck(&project, script);
    deck.press(Key::Char('m'));
    deck.type_text("first words");
    deck.send(b"\x07");
    deck.wait_for_text("whole");
    deck.send(b"\x07");
    deck.wait_for_text("it waits");
    deck.send(b"\x1a");
    deck.type_text("never sent\n");
    // Its own status, which looks like a stop.
    deck.wait_for_text("$EDITOR failed with exit code 148");
    deck.wait_for_text("whole");
}

#[test]
fn a_draft_is_written_in_the_editor_and_none_is_lost_where_that_fails_or_hangs() {
    let project = Project::new();
    let script = "case $(cat \"$1\") in good*) sed -i s/good/better/ \"$1\";; bad*) echo x > \"$1\"; \
                  exit 3;; *) printf 'it hangs\\r\\n'; exec sleep 1000;; esac";
    let mut deck = deck(&project, script);
    deck.press(Key::Char('m'));
    deck.type_text("good words");
    deck.send(b"\x07");
    deck.wait_for_text("better words");
    deck.send(b"\x15");
    deck.type_text("bad words");
    deck.send(b"\x07");
    deck.wait_for_text("$EDITOR failed with exit code 3");
    deck.wait_for_text("bad words");
    deck.send(b"\x15");
    deck.type_text("more words");
    deck.send(b"\x07");
    deck.wait_for_text("it hangs");
    deck.send(b"\x03");
    deck.wait_for_text("more words");
    let gone = || copies(&project).is_empty().then_some(());
    wait_until("the end of the copies", timeout(), gone);
    deck.press(Key::Enter);
    deck.wait_for_text("1 queued");
    let sent = |line: &serde_json::Value| line["content"] == "more words";
    assert_eq!(project.ledger().iter().filter(|line| sent(line)).count(), 1);
}

#[test]
fn a_deck_that_is_ended_ends_its_editor_and_gives_the_terminal_back() {
    let project = Project::new();
    let script = "echo $$ > \"$PWD/editor.pid\"; printf 'it hangs\\r\\n'; exec sleep 1000";
    let mut deck = deck(&project, script);
    deck.press(Key::Char('e'));
    deck.wait_for_text("it hangs");
    deck.signal(Signal::TERM);
    deck.wait_exit();
    assert!(copies(&project).is_empty());
    let pid = std::fs::read_to_string(project.root().join("editor.pid")).unwrap();
    let lives = || Path::new(&format!("/proc/{}/stat", pid.trim())).exists();
    wait_until("the editor's end", timeout(), || (!lives()).then_some(()));
}

/// What is saved there so far, in the modes of an editor, and what is not.
const SAVES_AND_HANGS: &str =
    "printf 'saved words' > \"$1\"; stty raw -echo; printf 'it hangs\\r\\n'; exec sleep 1000";

#[test]
fn what_was_saved_in_the_editor_of_a_deck_that_is_ended_is_told_and_the_shell_has_its_modes() {
    let project = Project::new();
    // A shell that sets no modes itself.
    let script = format!("{}; stty -a", env!("CARGO_BIN_EXE_ctxrelay"));
    let shell = project.program("sh").args(["-c", &script]);
    let shell = with_editor(&project, shell.envs(project.env()), SAVES_AND_HANGS);
    let mut deck = Pty::spawn(&shell).labelled("deck");
    deck.wait_for_text("● daemon");
    deck.press(Key::Char('m'));
    deck.type_text("old words");
    deck.send(b"\x07");
    deck.wait_for_text("it hangs");
    // It hosts.
    let status = project.run(["status", "--json"]).expect_success().json();
    let pid = status["pid"]
        .as_i64()
        .and_then(|pid| i32::try_from(pid).ok());
    let pid = pid.and_then(Pid::from_raw).expect("its process");
    kill_process(pid, Signal::TERM).unwrap();
    deck.wait_exit();
    let screen = deck.screen();
    assert!(
        screen.contains("not sent before the deck was left: your message to"),
        "{screen}"
    );
    assert!(screen.contains("saved words"), "{screen}");
    assert!(screen.contains("icanon"), "{screen}");
    for mode in ["-icanon", "-isig", "-echo "] {
        assert!(!screen.contains(mode), "{mode}: {screen}");
    }
    assert!(copies(&project).is_empty());
}

#[test]
fn what_is_sent_behind_the_editors_key_is_told_where_the_deck_ends_before_it_leaves() {
    let project = Project::new();
    let launch = with_editor(&project, project.ctxrelay([]), SAVES_AND_HANGS);
    let mut deck = Pty::spawn(&launch).labelled("deck");
    deck.wait_for_text("● daemon");
    deck.press(Key::Char('m'));
    deck.type_text("precious words");
    deck.wait_for_text("precious words");
    // Both keys at once: what the editor leaves is to be sent.
    deck.send(b"\x07\r");
    deck.wait_for_text("it hangs");
    deck.signal(Signal::TERM);
    deck.wait_exit();
    let screen = deck.screen();
    assert!(
        screen.contains("not sent before the deck was left: your message to"),
        "{screen}"
    );
    assert!(screen.contains("saved words"), "{screen}");
}

/// How often an entry of the record has this text.
fn recorded(project: &Project, text: &str) -> usize {
    let lines = project.ledger();
    lines.iter().filter(|line| line["content"] == text).count()
}

#[test]
fn enter_behind_the_editors_key_sends_what_the_editor_leaves() {
    let project = Project::new();
    let mut deck = deck(&project, "printf 'edited words' > \"$1\"");
    deck.press(Key::Char('m'));
    deck.type_text("plain words");
    deck.wait_for_text("plain words");
    deck.send(b"\x07\r");
    deck.wait_for_text("1 queued");
    assert_eq!(recorded(&project, "edited words"), 1);
    assert_eq!(recorded(&project, "plain words"), 0);
}

#[test]
fn enter_behind_two_of_the_editors_keys_sends_what_the_second_editor_leaves() {
    let project = Project::new();
    let mut deck = deck(&project, "printf ' more' >> \"$1\"");
    deck.press(Key::Char('m'));
    deck.type_text("plain words");
    deck.wait_for_text("plain words");
    deck.send(b"\x07\x07\r");
    deck.wait_for_text("1 queued");
    assert_eq!(recorded(&project, "plain words more more"), 1);
    assert_eq!(recorded(&project, "plain words more"), 0);
}

/// A deck that hosts, on a terminal that is gone once this one is crashed.
fn deck_of_script(project: &Project, editor: &str) -> Pty {
    let args = ["-qc", env!("CARGO_BIN_EXE_ctxrelay"), "/dev/null"];
    let script = project.program("script").args(args).envs(project.env());
    let mut deck = Pty::spawn(&with_editor(project, script, editor));
    deck.wait_for_text("● daemon");
    deck
}

/// A file that stays in the folder of the copies, in a folder that the log names.
#[track_caller]
fn kept(project: &Project, name: &str) -> PathBuf {
    let log = project.state().join("state/contextrelay.log");
    wait_until(&format!("a kept {name}"), timeout(), || {
        let log = std::fs::read_to_string(&log).ok()?;
        let folders = copies(project).into_iter();
        let mut named = folders.filter(|folder| log.contains(&*folder.to_string_lossy()));
        named.find_map(|folder| Some(folder.join(name)).filter(|file| file.exists()))
    })
}

/// The file outside of the project that has what was not sent, which the log names.
#[track_caller]
fn kept_unsent(project: &Project) -> PathBuf {
    let log = project.state().join("state/contextrelay.log");
    let folder = project.registry().join("unsent");
    wait_until("what was not sent", timeout(), || {
        let log = std::fs::read_to_string(&log).ok()?;
        let files = std::fs::read_dir(&folder).ok()?;
        let mut files = files.map(|file| file.unwrap().path());
        files.find(|file| log.contains(&*file.to_string_lossy()))
    })
}

#[test]
fn what_was_saved_in_the_editor_stays_in_its_file_where_the_terminal_is_gone() {
    // An editor that hears of no hangup is ended by force, which takes a while.
    let deaf =
        "trap '' HUP; printf 'saved words' > \"$1\"; printf 'it hangs\\r\\n'; exec sleep 1000";
    for editor in [SAVES_AND_HANGS, deaf] {
        let project = Project::new();
        let mut deck = deck_of_script(&project, editor);
        deck.press(Key::Char('m'));
        deck.type_text("old words");
        deck.send(b"\x07");
        deck.wait_for_text("it hangs");
        deck.crash();
        let copy = kept(&project, "text.md");
        assert_eq!(std::fs::read_to_string(copy).unwrap(), "saved words");
        let unsent = std::fs::read_to_string(kept_unsent(&project)).unwrap();
        assert!(unsent.ends_with("    saved words\n"), "{unsent}");
    }
}

/// What is not saved lies where an editor keeps it for a crash.
const KEEPS_BESIDE_AND_HANGS: &str = "printf 'unsaved words' > \"${1%/*}/.text.md.swp\"; \
                                      printf 'it hangs\\r\\n'; exec sleep 1000";

#[test]
fn what_was_not_saved_in_the_editor_stays_in_the_editors_own_file_and_where_is_told() {
    for is_terminal_gone in [true, false] {
        let project = Project::new();
        let mut deck = match is_terminal_gone {
            true => deck_of_script(&project, KEEPS_BESIDE_AND_HANGS),
            false => deck(&project, KEEPS_BESIDE_AND_HANGS),
        };
        deck.press(Key::Char('m'));
        deck.type_text("old words");
        deck.send(b"\x07");
        deck.wait_for_text("it hangs");
        let told = match is_terminal_gone {
            true => {
                deck.crash();
                std::fs::read_to_string(kept_unsent(&project)).unwrap()
            }
            false => {
                deck.signal(Signal::TERM);
                deck.wait_exit();
                deck.screen().replace('\n', "")
            }
        };
        let own = kept(&project, ".text.md.swp");
        assert_eq!(std::fs::read_to_string(&own).unwrap(), "unsaved words");
        let folder = own.parent().unwrap().to_string_lossy();
        let said = format!("its own files stay in {folder}");
        assert!(
            told.contains("what your editor may not have saved"),
            "{told}"
        );
        assert!(told.contains(&said), "{told}");
    }
}

#[test]
fn what_was_written_and_not_sent_stays_in_a_file_where_the_terminal_is_gone() {
    let project = Project::new();
    let mut deck = deck_of_script(&project, "true");
    deck.press(Key::Char('m'));
    deck.wait_for_text("Message");
    deck.type_text("a long letter");
    deck.wait_for_text("a long letter");
    deck.press(Key::Escape);
    deck.wait_until_gone("a long letter");
    deck.press(Key::Char('h'));
    deck.wait_for_text("Hand off");
    deck.type_text("handoff words");
    deck.wait_for_text("handoff words");
    deck.crash();
    let unsent = kept_unsent(&project);
    let text = std::fs::read_to_string(&unsent).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let [letter, letter_words, handoff, handoff_words] = lines[..] else {
        panic!("{text}");
    };
    let what = |line: &str| line.replace("not sent before the deck was left: ", "");
    assert_eq!(what(letter), "your message to Claude", "{text}");
    assert_eq!(letter_words, "    a long letter");
    assert_eq!(what(handoff), "your handoff to Claude", "{text}");
    assert_eq!(handoff_words, "    handoff words");
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&unsent), 0o600);
    assert_eq!(mode(unsent.parent().unwrap()), 0o700);
    assert_eq!(copies(&project), [] as [PathBuf; 0]);

    // Who opens the next deck is told where it is.
    wait_until("the daemon's end", timeout(), || {
        let status = project.run(["status", "--json"]).json();
        (status["running"] == false).then_some(())
    });
    let mut next = Pty::spawn_sized(&project.ctxrelay([]), 240, 40).labelled("the next deck");
    next.wait_for_text(&unsent.display().to_string());
    assert!(unsent.exists());
}
