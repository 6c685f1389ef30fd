//! An attached deck whose daemon is killed and comes back under what is open: what was read stays, what
//! cannot be done meanwhile is said, and all goes on where it was.

use ctxrelay::core::agent::Agent;
use ctxrelay::core::entry::NoteKind;
use ctxrelay::store::dirs::ProjectDirs;
use rustix::process::Signal;
use serde_json::json;

use crate::support::daemon::Daemon;
use crate::support::panes::{open_row, wait_for_state};
use crate::support::project::Project;
use crate::support::pty::{Key, Pty};
use crate::support::record::{Record, RecordEnd};
use crate::support::wait::{timeout, wait_until};

/// The words of the header while there is no daemon, and of one that answers.
const LOST: &str = "reconnecting";
const BACK: &str = "✓ chain";

/// A project with a record in which some messages are unclear.
fn project() -> Project {
    let project = Project::new();
    let record = Record::of(16);
    let mut end = RecordEnd::of(&record, 1_795_100_000_000);
    end.settle(&record);
    end.note(
        Agent::Codex,
        NoteKind::Plan,
        "plums are kept cold",
        Vec::new(),
    );
    for n in 0..12 {
        end.ambiguous(Agent::Claude, &format!("question {n}"));
    }
    end.note(
        Agent::Codex,
        NoteKind::Plan,
        "plums are eaten in May",
        Vec::new(),
    );
    record.lay_with(&ProjectDirs::new(project.root().to_owned(), None), end);
    project
}

/// So low that nothing is read beside the panes: what is open stands once on the screen.
fn spawn(project: &Project) -> Pty {
    Pty::spawn_sized(&project.ctxrelay([]), 120, 33).labelled("deck")
}

fn deck(project: &Project) -> Pty {
    let mut deck = spawn(project);
    deck.wait_for_text("plums are eaten in May");
    deck.wait_for_text("12 ambiguous");
    deck
}

#[track_caller]
fn lose(daemon: Daemon, deck: &mut Pty) {
    let mut daemon = daemon;
    daemon.crash();
    deck.wait_for_text(LOST);
}

#[track_caller]
fn come_back(project: &Project, deck: &mut Pty) -> Daemon {
    let daemon = project.daemon();
    deck.wait_until_gone(LOST);
    deck.wait_for_text(BACK);
    daemon
}

#[track_caller]
fn close(deck: &mut Pty, gone: &str) {
    deck.press(Key::Escape);
    // A key that comes in one read with an escape is another key.
    deck.wait_until_gone(gone);
}

#[test]
fn an_open_entry_and_a_search_outlive_the_daemon() {
    let project = project();
    let daemon = project.daemon();
    let mut deck = deck(&project);
    deck.press(Key::Char('/'));
    deck.type_text("eaten");
    deck.wait_for_text("1 of 1 in the whole record");
    deck.press(Key::Enter);
    deck.wait_until_gone("esc as it was");
    deck.wait_for_screen("the hit under the cursor", |screen| {
        let mut rows = screen.lines().filter(|line| line.contains('▸'));
        rows.any(|row| row.contains("plums are eaten in May"))
    });
    deck.press(Key::Enter);
    deck.wait_for_text("esc close");
    let line = |screen: &str| {
        let (_, behind) = screen.split_once("╭ Entry ")?;
        behind.split_once(' ').map(|(line, _)| line.to_owned())
    };
    let opened = line(&deck.screen()).unwrap();
    lose(daemon, &mut deck);
    assert_eq!(line(&deck.screen()).as_ref(), Some(&opened));
    deck.press(Key::Char('o'));
    deck.wait_for_text("not connected to the daemon: the thread cannot be read now");
    let daemon = come_back(&project, &mut deck);
    assert_eq!(line(&deck.screen()).as_ref(), Some(&opened));
    deck.press(Key::Char('J'));
    deck.wait_for_screen("the next entry", |screen| {
        line(screen).is_some_and(|next| next != opened)
    });
    close(&mut deck, "esc close");
    close(&mut deck, "/eaten");

    deck.press(Key::Char('/'));
    deck.type_text("plums");
    deck.wait_for_text("1 of 2 in the whole record");
    lose(daemon, &mut deck);
    deck.type_text(" cold");
    deck.wait_until_gone("1 of 2 in the whole record");
    let _daemon = come_back(&project, &mut deck);
    // It is asked again by itself.
    deck.wait_for_text("1 of 1 in the whole record");
    deck.press(Key::Enter);
    deck.wait_until_gone("esc as it was");
    deck.wait_for_screen("the hit under the cursor", |screen| {
        let mut rows = screen.lines().filter(|line| line.contains('▸'));
        rows.any(|row| row.contains("plums are kept cold"))
    });
    deck.press_until_exit(Key::Ctrl('c'));
}

/// Nobody tells of an agent while there is no daemon: what it did last is not what it does.
#[test]
fn an_agent_that_a_lost_daemon_told_of_is_stale_and_not_busy() {
    let project = project();
    let daemon = project.daemon();
    let (_bridge, mut hook) = (project.agent("claude"), project.agent("hook"));
    let prompt = json!({"event": "UserPromptSubmit", "claudePid": null});
    hook.expect("hook/report", prompt);
    let mut deck = deck(&project);
    wait_for_state(&mut deck, "Claude", "busy");
    lose(daemon, &mut deck);
    wait_for_state(&mut deck, "Claude", "stale");
    deck.wait_for_text("what you see is as it was at");
    // The panes at the left; the record may tell of what it did.
    let screen = deck.screen();
    let mut lefts = screen
        .lines()
        .map(|line| line.chars().take(42).collect::<String>());
    assert!(!lefts.any(|line| line.contains("busy")), "{screen}");
    let _daemon = come_back(&project, &mut deck);
    deck.wait_until_gone("what you see is as it was at");
    deck.press_until_exit(Key::Ctrl('c'));
}

/// As after `ctrl-z` in the daemon's own terminal: it has the connection, and says nothing.
#[test]
fn a_daemon_that_is_stopped_is_told_and_the_deck_can_be_left() {
    let project = project();
    let mut daemon = project.daemon();
    let mut deck = deck(&project);
    daemon.child().signal(Signal::STOP);
    deck.press(Key::Char('M'));
    deck.wait_for_text("Note · note");
    deck.type_text("plums are dried");
    deck.press(Key::Enter);
    deck.wait_for_text("no answer for");
    daemon.child().signal(Signal::CONT);
    deck.wait_until_gone("no answer for");
    deck.wait_for_text("recorded: your note");
    daemon.child().signal(Signal::STOP);
    deck.press(Key::Enter);
    deck.wait_for_text("no answer for");
    // The call is given up with it: it would be waited for longer than a person is patient.
    deck.press_until_exit(Key::Ctrl('c'));
    daemon.child().signal(Signal::CONT);
}

/// Nothing is sent in the dark, and nothing that was written is gone without a word.
#[test]
fn what_was_not_sent_is_said_when_the_deck_is_left() {
    let project = project();
    let mut daemon = project.daemon();
    let mut deck = deck(&project);
    daemon.child().signal(Signal::STOP);
    for (n, text) in ["plums are dried", "pears are ripe"]
        .into_iter()
        .enumerate()
    {
        deck.press(Key::Char('M'));
        deck.wait_for_text("Note · note");
        deck.type_text(text);
        deck.wait_for_text(text);
        deck.press(Key::Enter);
        deck.wait_until_gone("Note · note");
        if n == 0 {
            deck.wait_for_text("no answer for");
        }
    }
    deck.press_until_exit(Key::Ctrl('c'));
    // The first one has gone out, unless the deck was just reading something when the daemon was
    // stopped: then it waits for that, and the deck may not say that it went out.
    deck.wait_for_screen("what became of the first", |screen| {
        let mut lines = screen.lines();
        let above = lines
            .by_ref()
            .take_while(|line| !line.contains("plums are dried"));
        above.last().is_some_and(|line| {
            line.contains("no answer came to your note: the record says whether it counts")
                || line.contains("not done before the deck was left: your note")
        })
    });
    deck.wait_for_text("plums are dried");
    deck.wait_for_text("not done before the deck was left: your note");
    deck.wait_for_text("pears are ripe");
    daemon.child().signal(Signal::CONT);
}

#[test]
fn marks_outlive_the_daemon_and_nothing_is_settled_without_it() {
    let project = project();
    let daemon = project.daemon();
    let mut deck = deck(&project);
    let list = "Nobody can know whether Codex has them";
    open_row(&mut deck, &["▲ alarm", "12 ambi"], list);
    deck.wait_for_text("question 0");
    // Each mark goes on to the next.
    deck.press(Key::Char('v'));
    deck.press(Key::Char('v'));
    deck.wait_for_text("2 marked");
    lose(daemon, &mut deck);
    assert!(deck.shows("2 marked"), "{}", deck.screen());
    deck.press(Key::Char('x'));
    deck.wait_for_text("Give up these 2 messages?");
    deck.press(Key::Enter);
    deck.wait_for_text("not connected to the daemon: nothing was decided");
    let _daemon = come_back(&project, &mut deck);
    deck.wait_for_text("2 marked");
    deck.press(Key::Char('x'));
    deck.wait_for_text("Give up these 2 messages?");
    deck.press(Key::Enter);
    deck.wait_until_gone("28  ◆ question 1");
    deck.wait_for_text("◆ question 2");
    close(&mut deck, "esc later");
    deck.wait_for_text("10 ambiguous");
    deck.press_until_exit(Key::Ctrl('c'));
}

#[test]
fn a_sealed_session_is_read_on_without_the_daemon() {
    let project = project();
    let daemon = project.daemon();
    let mut pty = Pty::spawn(&project.ctxrelay(["ledger", "clear", "--apply"]));
    pty.wait_for_text("to go on, anything else");
    pty.type_text("clear\r");
    assert_eq!(pty.wait_exit(), 0, "{}", pty.screen());
    let mut deck = spawn(&project);
    deck.wait_for_text(BACK);
    deck.press(Key::Char('/'));
    deck.type_text("plums");
    deck.send(b"\x14\x14");
    deck.wait_for_text("1 of 2 in all sealed sessions");
    deck.press(Key::Enter);
    deck.wait_for_text(", sealed");
    deck.wait_for_text("plums are");
    lose(daemon, &mut deck);
    assert!(deck.shows(", sealed"), "{}", deck.screen());
    // It lies on the disk: what was not read yet can be read now.
    close(&mut deck, ", sealed");
    deck.press(Key::Char('n'));
    deck.wait_for_text(", sealed");
    deck.wait_for_text("plums are");
    let _daemon = come_back(&project, &mut deck);
    assert!(deck.shows(", sealed"), "{}", deck.screen());
    close(&mut deck, ", sealed");
    deck.press_until_exit(Key::Ctrl('c'));
}

/// How often a text stands in the record as an entry's own.
fn recorded(project: &Project, text: &str) -> usize {
    let lines = project.ledger().into_iter();
    lines.filter(|line| line["content"] == text).count()
}

#[test]
fn a_draft_outlives_the_daemon_and_is_sent_once() {
    let project = project();
    let daemon = project.daemon();
    let mut deck = deck(&project);
    deck.press(Key::Char('M'));
    deck.wait_for_text("Note · note");
    deck.type_text("plums are dried");
    deck.wait_for_text("plums are dried");
    lose(daemon, &mut deck);
    deck.press(Key::Enter);
    deck.wait_for_text("not connected to the daemon: the draft is kept, nothing was sent");
    deck.type_text(" in autumn");
    deck.wait_for_text("plums are dried in autumn");
    let daemon = come_back(&project, &mut deck);
    deck.wait_for_text("plums are dried in autumn");
    deck.press(Key::Enter);
    deck.wait_for_text("recorded: your note");
    deck.wait_until_gone("Note · note");
    assert_eq!(recorded(&project, "plums are dried in autumn"), 1);

    // One that was left is there again too.
    deck.press(Key::Char('M'));
    deck.wait_for_text("Note · note");
    deck.type_text("plums are stoned");
    deck.wait_for_text("plums are stoned");
    lose(daemon, &mut deck);
    close(&mut deck, "Note · note");
    let _daemon = come_back(&project, &mut deck);
    deck.press(Key::Char('M'));
    deck.wait_for_text("Note · note");
    deck.wait_for_text("plums are stoned");
    deck.press(Key::Enter);
    deck.wait_until_gone("Note · note");
    wait_until("the note in the record", timeout(), || {
        (recorded(&project, "plums are stoned") == 1).then_some(())
    });
    deck.press_until_exit(Key::Ctrl('c'));
}

#[test]
fn an_editor_outlives_the_daemon_and_what_was_written_in_it_is_sent() {
    let project = project();
    let mut daemon = project.daemon();
    let script = "printf 'the editor is here\\r\\n'; cat \"$1\"; read -r line; \
                  sed -i s/good/better/ \"$1\"";
    let editor = project.write("editor.sh", script);
    let launch = project
        .ctxrelay([])
        .env_remove("VISUAL")
        .env("EDITOR", format!("sh {}", editor.display()));
    let mut deck = Pty::spawn_sized(&launch, 120, 33).labelled("deck");
    deck.wait_for_text("12 ambiguous");
    deck.press(Key::Char('M'));
    deck.wait_for_text("Note · note");
    deck.type_text("plums are good");
    deck.wait_for_text("plums are good");
    deck.send(b"\x07");
    deck.wait_for_text("the editor is here plums are good");
    daemon.crash();
    deck.press(Key::Enter);
    deck.wait_for_text("plums are better");
    deck.wait_for_text(LOST);
    let mut daemon = come_back(&project, &mut deck);
    // It comes and goes while the editor has the terminal.
    deck.send(b"\x07");
    // What the one before printed stands on its screen still.
    deck.wait_for_text("the editor is here plums are better");
    daemon.crash();
    let _daemon = project.daemon();
    deck.press(Key::Enter);
    deck.wait_for_text("Note · note");
    deck.wait_until_gone(LOST);
    deck.wait_for_text(BACK);
    // It may learn only now that its daemon is another one, and keeps the text then.
    deck.press_until(Key::Enter, "the note", |screen| {
        screen.contains("recorded: your note")
    });
    assert_eq!(recorded(&project, "plums are better"), 1);
    deck.press_until_exit(Key::Ctrl('c'));
}

#[test]
fn a_question_outlives_the_daemon_and_is_answered_once_it_is_back() {
    let project = project();
    let daemon = project.daemon();
    let mut codex = project.agent("codex");
    let ask = json!({"agent": "codex", "question": "May the plums go?", "choices": ["yes, now"],
        "timeoutMs": 60_000});
    codex.expect("user/ask", ask);
    let mut deck = deck(&project);
    open_row(&mut deck, &["? question", "May the"], "Answers");
    deck.wait_for_text("yes, now");
    deck.press(Key::Char('a'));
    deck.wait_for_text("Codex asks you a question");
    deck.wait_for_text("not now");
    lose(daemon, &mut deck);
    deck.press(Key::Enter);
    deck.wait_for_text("not connected to the daemon: nothing was answered");
    deck.wait_until_gone("not now");
    // It is in the record, and waits on.
    let daemon = come_back(&project, &mut deck);
    deck.wait_for_text("May the plums go?");
    deck.press(Key::Char('a'));
    deck.wait_for_text("not now");
    deck.press(Key::Down);
    deck.press(Key::Enter);
    deck.wait_for_text("Your answer");
    deck.type_text("the ripe ones");
    deck.wait_for_text("the ripe ones");
    lose(daemon, &mut deck);
    deck.press(Key::Enter);
    deck.wait_for_text("not connected to the daemon: nothing was decided");
    deck.wait_for_text("the ripe ones");
    let _daemon = come_back(&project, &mut deck);
    deck.wait_for_text("the ripe ones");
    deck.press(Key::Enter);
    deck.wait_for_text("answered, on record");
    let answers = project.ledger().into_iter().filter(|line| {
        let text = line["content"].as_str().unwrap_or_default();
        line["type"] == "message" && text.starts_with("the ripe ones\n")
    });
    assert_eq!(answers.count(), 1);
    deck.press_until_exit(Key::Ctrl('c'));
}

#[test]
fn what_was_written_of_a_task_outlives_the_daemon() {
    let project = project();
    let mut daemon = project.daemon();
    let mut new = Pty::spawn(&project.ctxrelay(["capsule", "new", "Keep the plums"]));
    assert_eq!(new.wait_exit(), 0, "{}", new.screen());
    let script = "printf 'the editor is here\\r\\n'; grep title: \"$1\"; read -r line; \
                  sed -i s/Keep/Dry/ \"$1\"";
    let editor = project.write("editor.sh", script);
    let launch = project
        .ctxrelay([])
        .env_remove("VISUAL")
        .env("EDITOR", format!("sh {}", editor.display()));
    let mut deck = Pty::spawn_sized(&launch, 120, 33).labelled("deck");
    deck.wait_for_text("12 ambiguous");
    deck.press(Key::Char('T'));
    deck.wait_for_text("tasks that travel  1 open");
    deck.press(Key::Enter);
    deck.wait_for_text("e edit");
    deck.press(Key::Char('e'));
    deck.wait_for_text("title: Keep the plums");
    daemon.crash();
    deck.press(Key::Enter);
    deck.wait_for_text("what you wrote is kept");
    deck.wait_for_text(LOST);
    let daemon = come_back(&project, &mut deck);
    deck.press(Key::Char('e'));
    deck.wait_for_text("title: Dry the plums");
    deck.press(Key::Enter);
    deck.wait_for_text("recorded as yours");
    deck.wait_for_text("e edit");

    deck.press(Key::Char('c'));
    deck.wait_for_text("what came of it?");
    deck.type_text("they are dry");
    deck.wait_for_text("they are dry");
    lose(daemon, &mut deck);
    deck.press(Key::Enter);
    deck.wait_for_text("not connected to the daemon: nothing was recorded");
    let _daemon = come_back(&project, &mut deck);
    deck.wait_for_text("they are dry");
    deck.press(Key::Enter);
    deck.wait_for_text("is closed by entry");
    let list = project.run(["capsule", "list", "--json"]);
    let listed = list.expect_success().json()["capsules"][0].clone();
    assert_eq!(listed["title"], "Dry the plums", "{listed}");
    let show = ["capsule", "show", listed["id"].as_str().unwrap(), "--json"];
    let shown = project.run(show).expect_success().json();
    assert_eq!(shown["outcome"]["text"], "they are dry", "{shown}");
    deck.press_until_exit(Key::Ctrl('c'));
}

/// What the header says, the banner says too: nobody waits for an answer of one that was ended.
#[test]
fn a_daemon_that_the_operator_killed_is_said_to_be_killed() {
    let project = project();
    let _daemon = project.daemon();
    let mut deck = deck(&project);
    let mut kill = Pty::spawn(&project.ctxrelay(["kill"]));
    kill.wait_for_text("Type `kill`");
    kill.type_text("kill\r");
    assert_eq!(kill.wait_exit(), 0, "{}", kill.screen());
    deck.wait_for_text("the daemon was killed: `ctxrelay daemon` starts it again; what you see");
    assert!(!deck.shows("does not answer"), "{}", deck.screen());
    deck.press_until_exit(Key::Ctrl('c'));
}
