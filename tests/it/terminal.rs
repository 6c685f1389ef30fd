//! Terminals that are small, old, stopped, gone or do not read: each is given back as it was, and
//! nobody waits for it.

use std::io::Read as _;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::child::Child;
use crate::support::hand_over::stay;
use crate::support::launch::Launch;
use crate::support::mcp::McpClient;
use crate::support::privileged;
use crate::support::project::Project;
use crate::support::pty::{Key, Pty};
use crate::support::wait::{timeout, wait_until};

fn deck(project: &Project, columns: u16, rows: u16) -> Pty {
    Pty::spawn_sized(&project.ctxrelay([]), columns, rows).labelled("deck")
}

fn status(project: &Project) -> Value {
    project.run(["status", "--json"]).expect_success().json()
}

#[track_caller]
fn assert_given_back(deck: &Pty) {
    let kept = deck.with_screen(|screen| {
        (
            screen.alternate_screen(),
            screen.hide_cursor(),
            screen.bracketed_paste(),
            screen.mouse_protocol_mode() != vt100::MouseProtocolMode::None,
        )
    });
    assert_eq!(kept, (false, false, false, false), "{}", deck.screen());
    assert!(!deck.title().contains("ctxrelay"), "{}", deck.title());
}

/// A shell with job control in the terminal, with a command to be started in it.
fn shell(project: &Project) -> Pty {
    let bash = project
        .program("bash")
        .args(["--norc", "--noprofile", "--noediting", "-i"]);
    let bash = bash.envs(project.env()).env("PS1", "ready> ");
    let mut shell = Pty::spawn_sized(&bash, 120, 40).labelled("shell");
    shell.wait_for_text("ready>");
    shell
}

#[test]
fn an_attached_deck_is_suspended_and_comes_back_as_it_was() {
    let project = Project::live();
    let mut shell = shell(&project);
    shell.type_text(&format!("{}\n", env!("CARGO_BIN_EXE_ctxrelay")));
    shell.wait_for_text("attached");
    shell.press(Key::Char('3'));
    for _ in 0..2 {
        shell.press(Key::Ctrl('z'));
        shell.wait_for_text("Stopped");
        assert_given_back(&shell);
        // The shell has its keys and echo back.
        shell.type_text("echo $((40 + 2))\n");
        shell.wait_for_text("42");
        // What it says of the next stop is not to be taken for this one.
        shell.type_text("clear; fg\n");
        shell.wait_for_text("attached");
        assert!(!shell.shows("Stopped"), "{}", shell.screen());
        assert!(shell.with_screen(|screen| screen.alternate_screen()));
    }
    // What happened meanwhile is shown, and keys act.
    shell.press(Key::Ctrl('z'));
    shell.wait_for_text("Stopped");
    let mut codex = McpClient::start(&project.ctxrelay(["codex-mcp", "server"]));
    codex.tool("append_note", json!({"text": "while you were away"}));
    shell.type_text("fg\n");
    shell.wait_for_text("while you were away");
    shell.press(Key::Char('?'));
    shell.wait_for_text("Keys and marks");
    shell.press(Key::Escape);
    // A key that comes in one read with an escape is another key.
    shell.wait_until_gone("Keys and marks");
    shell.press_until(Key::Char('q'), "the shell", |screen| {
        screen.contains("stay in the background") || screen.contains("ready>")
    });
}

/// The daemon, which ends with it, takes longer than the screen.
#[test]
fn what_is_typed_once_the_shells_screen_is_there_again_is_the_shells() {
    let project = Project::new();
    let mut shell = shell(&project);
    shell.type_text(&format!("{}\n", env!("CARGO_BIN_EXE_ctxrelay")));
    shell.wait_for_text("✓ chain");
    shell.press(Key::Char('q'));
    shell.wait_until_gone("✓ chain");
    shell.type_text("echo $((40 + 2))\n");
    shell.wait_for_text("42");
    assert_given_back(&shell);
}

fn name_window(shell: &mut Pty) {
    shell.type_text("printf '\\033]0;my shell\\007'\n");
    wait_for_title(shell, "my shell");
}

#[track_caller]
fn wait_for_title(shell: &Pty, wanted: &str) {
    wait_until(&format!("the title {wanted:?}"), timeout(), || {
        (shell.title() == wanted).then_some(())
    });
}

#[test]
fn the_windows_title_counts_what_waits_and_is_given_back() {
    let project = Project::live();
    let mut shell = shell(&project);
    name_window(&mut shell);
    let name = project.root().file_name().unwrap().to_string_lossy();
    let nothing_waits = format!("{name} - ctxrelay");
    let one_waits = format!("1 waits - {name} - ctxrelay");
    shell.type_text(&format!("{}\n", env!("CARGO_BIN_EXE_ctxrelay")));
    shell.wait_for_text("attached");
    wait_for_title(&shell, &nothing_waits);
    let mut claude = McpClient::start(&project.ctxrelay(["bridge"]));
    let proposal = json!({"summary": "the lock is in", "evidence": ["cargo test"]});
    claude.tool("propose_final", proposal);
    wait_for_title(&shell, &one_waits);
    // While the shell has the terminal its window has its title.
    shell.press(Key::Ctrl('z'));
    shell.wait_for_text("Stopped");
    wait_for_title(&shell, "my shell");
    shell.type_text("fg\n");
    shell.wait_for_text("attached");
    wait_for_title(&shell, &one_waits);
    shell.press(Key::Char('3'));
    shell.press_until(Key::Enter, "the card", |screen| {
        screen.contains("reject with a reason")
    });
    shell.press(Key::Char('x'));
    shell.type_text("the tests were not run");
    shell.press(Key::Enter);
    wait_for_title(&shell, &nothing_waits);
    stay(&mut shell);
    wait_for_title(&shell, "my shell");
    assert_given_back(&shell);
}

#[test]
fn a_deck_that_was_stopped_from_outside_draws_everything_again() {
    let project = Project::live();
    let mut shell = shell(&project);
    name_window(&mut shell);
    shell.type_text(&format!("{}\n", env!("CARGO_BIN_EXE_ctxrelay")));
    shell.wait_for_text("attached");
    let stop =
        project
            .program("pkill")
            .args(["-STOP", "-f", "-P", &shell.pid().to_string(), "ctxrelay"]);
    assert!(stop.command().status().unwrap().success());
    shell.wait_for_text("Stopped");
    shell.type_text("clear; fg\n");
    shell.wait_for_text("1 Agents");
    shell.wait_for_text("attached");
    shell.press_until(Key::Char('q'), "the shell", |screen| {
        screen.contains("ready>")
    });
    wait_for_title(&shell, "my shell");
}

#[test]
fn a_deck_that_no_shell_controls_stays_and_says_so() {
    let project = Project::live();
    let mut deck = deck(&project, 120, 40);
    deck.wait_for_text("attached");
    deck.press(Key::Ctrl('z'));
    deck.wait_for_text("no shell here could bring it back");
    deck.wait_for_text("? help");
    assert!(deck.with_screen(|screen| screen.alternate_screen()));
}

#[test]
fn ctrl_l_draws_everything_again() {
    let project = Project::new();
    let mut deck = deck(&project, 120, 40);
    deck.wait_for_text("● daemon");
    let before = deck.transcript().len();
    deck.press(Key::Ctrl('l'));
    wait_until("everything to be drawn again", timeout(), || {
        let drawn = deck.transcript().split_off(before);
        let drawn = String::from_utf8_lossy(&drawn).into_owned();
        let has_frames = drawn.matches('╮').count() >= 5;
        (drawn.contains("\u{1b}[2J") && has_frames).then_some(())
    });
}

#[test]
fn a_deck_with_the_daemon_in_it_says_why_it_is_not_suspended() {
    let project = Project::new();
    let mut deck = deck(&project, 120, 40);
    deck.wait_for_text("● daemon");
    deck.press(Key::Ctrl('z'));
    deck.wait_for_text("the daemon runs in this deck");
    deck.press(Key::Char('?'));
    deck.wait_for_text("Keys and marks");
    assert_eq!(status(&project)["running"], true);
}

#[test]
fn every_signal_that_ends_it_gives_the_terminal_back() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let project = Project::new();
        let mut deck = deck(&project, 80, 24);
        deck.wait_for_text("1 Agents");
        deck.press(Key::Char('?'));
        deck.wait_for_text("On the panes");
        deck.signal(signal);
        deck.wait_exit();
        assert_given_back(&deck);
        assert_eq!(status(&project)["running"], false, "{signal:?}");
    }
}

#[test]
fn a_storm_of_sizes_ends_in_a_whole_picture() {
    let project = Project::new();
    let mut deck = deck(&project, 120, 40);
    deck.wait_for_text("● daemon");
    for step in 0..300_u16 {
        deck.resize(1 + step * 37 % 200, 1 + step * 17 % 60);
        if step % 7 == 0 {
            deck.press(Key::Tab);
        }
    }
    deck.resize(1, 1);
    deck.resize(120, 40);
    deck.wait_for_text("5 Handoffs");
    deck.wait_for_text("? help");
    deck.press(Key::Char('q'));
    assert_eq!(deck.wait_exit(), 0);
    assert_given_back(&deck);
}

#[test]
fn a_key_that_comes_together_with_a_new_size_is_read_without_another_one() {
    let project = Project::new();
    let mut deck = deck(&project, 120, 40);
    deck.wait_for_text("● daemon");
    deck.press(Key::Char('m'));
    deck.wait_for_text("your message");
    for typed in 1..=100_u16 {
        deck.resize(110 + typed % 7, 40);
        deck.press(Key::Char('x'));
        // The next one would bring it.
        deck.wait_for_text(&format!(" {typed} character"));
    }
}

#[test]
fn one_cell_is_enough_to_live_in() {
    let project = Project::new();
    let mut deck = deck(&project, 1, 1);
    wait_until("the daemon", timeout(), || {
        (status(&project)["running"] == true).then_some(())
    });
    deck.resize(120, 40);
    deck.wait_for_text("● daemon");
    deck.resize(1, 1);
    deck.wait_for_screen("one cell", |screen| screen.trim() == "…");
    deck.press(Key::Char('q'));
    assert_eq!(deck.wait_exit(), 0);
}

/// A deck in a terminal of this kind.
fn deck_in(project: &Project, change: impl FnOnce(Launch) -> Launch) -> Pty {
    Pty::spawn_sized(&change(project.ctxrelay([])), 120, 40).labelled("deck")
}

#[test]
fn a_terminal_without_colours_or_utf8_gets_none() {
    let project = Project::new();
    let old = |launch: Launch| {
        let launch = launch.env("TERM", "dumb").env_remove("COLORTERM");
        launch.env("LANG", "C").env_remove("LC_ALL")
    };
    let mut deck = deck_in(&project, old);
    deck.wait_for_text("1 Agents");
    deck.wait_for_text("daemon");
    let transcript = deck.transcript();
    assert!(transcript.is_ascii(), "{}", deck.screen());
    let colours = deck.with_screen(|screen| {
        let (rows, columns) = screen.size();
        let places = (0..rows.get()).flat_map(|y| (0..columns.get()).map(move |x| (y, x)));
        let cells = places.filter_map(|(y, x)| screen.cell(y, x));
        let is_coloured = |cell: &&vt100::Cell| {
            (cell.fgcolor(), cell.bgcolor()) != (vt100::Color::Default, vt100::Color::Default)
        };
        cells.filter(is_coloured).count()
    });
    assert_eq!(colours, 0);
    assert!(
        !transcript.windows(5).any(|bytes| bytes == b"\x1b]11;"),
        "it is not asked"
    );
    deck.press(Key::Char('q'));
    assert_eq!(deck.wait_exit(), 0);
}

#[test]
fn without_a_terminal_it_says_what_to_do_and_draws_nothing() {
    let project = Project::new();
    let mut command = project.ctxrelay([]).command();
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    let mut drawn = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut drawn)
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(2));
    assert!(said.contains("the deck needs a terminal"), "{said}");
    assert!(!drawn.contains('\u{1b}'), "{drawn}");
}

#[test]
fn a_terminal_that_stops_reading_holds_up_nobody_and_shows_all_later() {
    let project = Project::live();
    let mut deck = deck(&project, 200, 50);
    deck.wait_for_text("attached");
    deck.stop_reading();
    let mut codex = McpClient::start(&project.ctxrelay(["codex-mcp", "server"]));
    for n in 0..120 {
        let text = format!("note {n} {}", "of a long day ".repeat(20));
        codex.tool("append_note", json!({"text": text}));
        if n % 10 == 0 {
            deck.press(Key::Char('j'));
        }
    }
    assert_eq!(status(&project)["running"], true);
    deck.read_again();
    deck.press(Key::Char('g'));
    deck.wait_for_text("note 119");
    // One that never reads again is left by a signal all the same.
    deck.stop_reading();
    for n in 120..200 {
        let text = format!("note {n} {}", "of a long day ".repeat(20));
        codex.tool("append_note", json!({"text": text}));
    }
    deck.signal(Signal::TERM);
    wait_until("the deck's end", timeout(), || deck.exit_code());
}

/// Who draws may be held up by the machine alone: a frame takes two seconds longer here.
#[test]
fn a_terminal_is_given_back_also_behind_a_frame_that_takes_long() {
    if !privileged::granted() {
        return;
    }
    let project = Project::live();
    let mut deck = deck(&project, 80, 24);
    deck.wait_for_text("the daemon started");
    let drawing = thread_of(deck.pid(), "deck-draw");
    let strace = project
        .program("strace")
        .args(["-qq", "-o", "/dev/null", "-e", "trace=write"])
        .args(["-e", "inject=write:delay_enter=2000000:when=1", "-p"])
        .arg(drawing.to_string());
    let _strace = Child::spawn(&strace);
    let status = format!("/proc/{drawing}/status");
    wait_until("strace at the thread", timeout(), || {
        let status = std::fs::read_to_string(&status).ok()?;
        (!status.contains("TracerPid:\t0\n")).then_some(())
    });
    deck.press(Key::Char('?'));
    wait_until("a frame that is held up", timeout(), || {
        let status = std::fs::read_to_string(&status).ok()?;
        status.contains("State:\tt").then_some(())
    });
    deck.signal(Signal::TERM);
    deck.wait_exit();
    assert_given_back(&deck);
}

/// The thread of a process with this name.
fn thread_of(pid: u32, name: &str) -> u32 {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let named = threads.flatten().find(|thread| {
        let comm = std::fs::read_to_string(thread.path().join("comm"));
        comm.is_ok_and(|comm| comm.trim() == name)
    });
    let named = named.unwrap().file_name();
    named.to_str().unwrap().parse().unwrap()
}

#[test]
fn a_deck_with_the_daemon_in_it_holds_nobody_up_when_its_terminal_stops_reading() {
    let project = Project::new();
    let mut deck = deck(&project, 200, 50);
    deck.wait_for_text("● daemon");
    deck.stop_reading();
    let mut codex = McpClient::start(&project.ctxrelay(["codex-mcp", "server"]));
    for n in 0..120 {
        let text = format!("note {n} {}", "of a long day ".repeat(20));
        codex.tool("append_note", json!({"text": text}));
    }
    assert_eq!(status(&project)["running"], true);
    let is_last = |line: &Value| line.to_string().contains("note 119 ");
    assert!(project.ledger().iter().any(is_last), "it is on record");
    deck.read_again();
    deck.press(Key::Char('g'));
    deck.wait_for_text("note 119");
}

#[test]
fn a_paste_with_escape_sequences_is_recorded_as_text_and_a_huge_one_is_cut() {
    let project = Project::new();
    let mut deck = deck(&project, 120, 40);
    deck.wait_for_text("● daemon");
    deck.press(Key::Char('m'));
    deck.wait_for_text("0 characters");
    deck.send("\x1b[200~one \x1b[2J\x1b]0;title\x07\u{202e}漢字 שלום\ntwo\x1b[201~".as_bytes());
    deck.wait_for_text("left out of the paste");
    deck.wait_for_text("2 lines");
    deck.press(Key::Enter);
    let sent = wait_until("the message", timeout(), || {
        let mut lines = project.ledger().into_iter();
        lines.find(|line| line["type"] == "message")
    });
    let text = sent["content"].as_str().unwrap();
    assert!(
        text.starts_with("one ") && text.ends_with("漢字 שלום\ntwo"),
        "{text:?}"
    );
    assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text:?}");
    deck.press(Key::Char('m'));
    deck.wait_for_text("0 characters");
    let megabyte = "0123456789abcde\n".repeat(64 * 1024);
    deck.send(format!("\x1b[200~{megabyte}\x1b[201~").as_bytes());
    deck.wait_for_text("left out of the paste");
    deck.press(Key::Enter);
    deck.wait_for_text("0123456789abcde");
    assert_eq!(status(&project)["running"], true);
}
